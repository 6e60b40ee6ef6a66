"""Ask the user on the terminal whether a tool call may run, showing exactly what will run or be written.

Text of the model follows a bar, so that none of its lines can look like the program's. White space is kept; characters
that a terminal would hide are spelled out; a long line continues in the next row after a broken bar. Cuts are marked.
"""

import os
import re
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from inspector.agent.status import Permission, Permit
from inspector.agent.tools.common import Question
from inspector.cli.output import columns, exact

ROWS = 60
"""Number of rows that are shown unless the user asks for the whole text."""
_ANSWERS: dict[str, Permit] = {
    "y": "once",
    "yes": "once",
    "a": "always",
    "always": "always",
    "n": "no",
    "no": "no",
}
_BLANKS = re.compile(r" +$")


def ask_person(permission: Permission) -> Permit:
    """Ask the user. Only a clear yes counts as permission; keys typed before the question are discarded."""
    forget_typed()
    is_cut = show(permission.what, ROWS)
    while True:
        more = "[w]hole text; " if is_cut else ""
        sys.stderr.write(f"{more}[y]es, this once; [a]lways; [n]o: ")
        sys.stderr.flush()
        answer = "no"
        with suppress(EOFError):
            answer = input().strip().lower() or "no"
        if answer in _ANSWERS:
            return _ANSWERS[answer]
        if answer in ("w", "whole"):
            is_cut = show(permission.what, 0)


def forget_typed() -> None:
    """Discard what was typed before a question."""
    with suppress(OSError, ValueError, termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def show(what: Question, most: int) -> bool:
    """Write a question with at most `most` rows (0: all). Return whether it was cut."""
    width = 80
    with suppress(OSError, ValueError):
        width = max(20, os.get_terminal_size(sys.stderr.fileno()).columns or 80)
    rows, left = question_rows(what, width, most)
    sys.stderr.write("".join(f"{row}\n" for row in ("", *rows)))
    return bool(left)


def question_rows(what: Question, width: int, most: int) -> tuple[list[str], int]:
    """Return the rows of a question, and the number of its characters that were cut."""
    body = []
    used = 0
    for row, count in islice(_rows(what.exact, width), most or None):
        body.append(row)
        used += count
    left = len(what.exact) - used
    if left > 0:
        lines = what.exact.count("\n", used)
        body.append(
            f"… cut here: {left:,} more characters, {lines:,} more line ends; w shows the whole"
        )
    # These texts may contain file names.
    ours = ["".join(map(exact, _BLANKS.sub(_spelt, text))) for text in (what.says, what.covers)]
    return [ours[0], "", *body, *([""] if body else []), ours[1]], max(0, left)


def _spelt(blanks: re.Match[str]) -> str:
    """Spell out blanks at the end of a row."""
    return "\u2420" * len(blanks[0])


def _rows(text: str, width: int) -> Iterator[tuple[str, int]]:
    """Yield the rows of a text after a bar, and how many of its characters each one shows."""
    for line in text.split("\n") if text else ():
        line = _BLANKS.sub(_spelt, line)
        row = "│ "
        used = 2
        count = 0
        for char in line:
            sign = exact(char)
            size = max(1, columns(sign))
            if used + size > width:
                yield row, count
                row = "┆ "
                used = 2
                count = 0
            row += sign
            used += size
            count += 1
        yield row, count + 1
