"""What the command line prints: one JSON document, or tables for people. Nothing else writes to stdout.

Transcript text is untrusted: tables show control and direction characters as visible signs, so that no transcript can
drive the terminal.
"""

import io
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.tokens.pressure import Pressures

D = TypeVar("D")

_UNSEEN = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that count as printable, and show nothing."""
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")


def use_utf8() -> None:
    """Make stdout and stderr UTF-8 whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


class _ClosedStdout(io.TextIOBase):
    """Stands for a standard output that was closed before the program began."""

    def write(self, text: str) -> int:
        raise InspectorError("Standard output is closed, so the answer cannot be written.")


def open_closed_streams() -> None:
    """Give the program all three standard streams, also if it was started with some of them closed.

    Otherwise the next file that is opened, a recording for one, would become the closed one.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - until the process ends
    sys.stdout = sys.stdout or _ClosedStdout()
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends


def silence_stdout() -> None:
    """After a broken pipe: the interpreter flushes stdout once more at its end, let that go nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # stdout is no file of the system's
        return


def write_json(document: object) -> None:
    """One JSON document and a line end. Non-ASCII as it is."""
    sys.stdout.write(dumps(document))
    sys.stdout.write("\n")


def write_answer(document: D, json: bool, lines: Callable[[D], Iterable[str]]) -> None:
    """The document, as JSON or as `lines` for people."""
    if json:
        write_json(document)
    else:
        write_lines(lines(document))


def picked(value: object, fields: str) -> dict[str, Any]:
    """Fields for a document, in this order; each null where there is no value.

    A field is the name of an attribute; `key=thread.id` has another key, `usd:6` is rounded to so many places.
    """
    found: dict[str, Any] = {}
    for key, attribute, places in _fields(fields):
        one = attribute(value) if value is not None else None
        found[key] = float(one) if isinstance(one, Decimal) and places is None else one
        if places is not None and one is not None:
            found[key] = float(round(one, places))
    return found


@cache
def _fields(named: str) -> list[tuple[str, Callable[[object], Any], int | None]]:
    split = [re.fullmatch(r"(\w+)(?:=([\w.]+))?(?::(\d))?", one) for one in named.split()]
    return [(one[1], attrgetter(one[2] or one[1]), int(one[3]) if one[3] else None) for one in split if one]


def ratio(tokens: int | None, window: int | None) -> float | None:
    """The share of the window that is filled; None where one of the two is not known."""
    return None if tokens is None or not window else round(tokens / window, 6)


def pressure_document(pressures: Pressures, at: int, window: int | None, believed: int) -> dict[str, Any]:
    """How large request `at` is, as `follow` and `proxy` report it. `believed`: by the chosen policy."""
    pressure = pressures[at]
    return {
        **picked(pressure, "reported estimated calibrated"),
        "predicted": pressure.predicted.tokens if pressure.predicted else None,
        "believed": believed,
        **picked(pressure, "tokens kind band"),
        "unseen": pressures.scale(at).unseen,
        "window": window,
        "ratio": ratio(pressure.tokens, window),
    }


def write_lines(lines: Iterable[str]) -> None:
    """Lines of a human answer, each one line whatever stands in it."""
    for line in lines:
        sys.stdout.write(signed(line))
        sys.stdout.write("\n")


def note(sentence: str) -> None:
    """A diagnostic: stderr."""
    sys.stderr.write(f"context-inspector: {signed(sentence)}\n")


def progress_line() -> Callable[[int, int], None] | None:
    """Shows how far reading has come, where somebody watches: None unless stderr is a terminal."""
    if not sys.stderr.isatty():
        return None
    shown = -1

    def show(done: int, total: int) -> None:
        nonlocal shown
        percent = 100 * done // total if total else 100
        if percent != shown and total > 20_000_000:
            shown = percent
            end = "\r\x1b[K" if percent >= 100 else ""
            sys.stderr.write(f"\rreading {percent}%{end}")
            sys.stderr.flush()

    return show


def number(value: int | float | None) -> str:
    """12,345; a dash where it is not known."""
    return "-" if value is None else f"{value:,}"


def plain(text: str, width: int = 0) -> str:
    """The text on one line, control characters visible, cut to `width` columns (0 = not cut)."""
    if width:
        text = text[: 4 * width]
    shown = signed(" ".join(text.split()))
    return _cut(shown, width) if width else shown


def signed(text: str) -> str:
    """The text with control and direction characters visible."""
    return text if text.isascii() and text.isprintable() else "".join(map(_sign, text))


def exact(char: str) -> str:
    """A character that nobody can take for another: what shows nothing, or no more than a blank, is spelled."""
    if char == " " or (char.isprintable() and not _UNSEEN.match(char)):
        return char
    sign = _sign(char)
    return sign if sign != char else f"\\u{ord(char):04x}"


def _sign(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0x80 <= code < 0xA0 or char in _BIDI or 0xD800 <= code < 0xE000:
        return f"\\u{code:04x}"
    return char


def columns(text: str) -> int:
    """Width on a terminal: wide characters take two columns, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_char_columns, text))


@lru_cache(maxsize=1 << 12)
def _char_columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _cut(text: str, width: int) -> str:
    if columns(text) <= width:
        return text
    if text.isascii():
        return text[: width - 1] + "…"
    out, used = [], 0
    for char in text:
        used += _char_columns(char)
        if used > width - 1:
            break
        out.append(char)
    return "".join(out) + "…"


def pairs(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Name and value, aligned."""
    width = max((columns(name) for name, _ in rows), default=0)
    return [f"{_pad(name, width, False)}  {value}".rstrip() for name, value in rows]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned columns. A head that begins with `>` is of a column of numbers: flush right."""
    right = [head.startswith(">") for head in heads]
    names = [head.removeprefix(">") for head in heads]
    widths = [max([columns(name), *(columns(row[n]) for row in rows)]) for n, name in enumerate(names)]
    return ["  ".join(map(_pad, row, widths, right)).rstrip() for row in (names, *rows)]


CellColumn: TypeAlias = str | tuple[str, Callable[[Mapping[str, Any]], str]]


def listing(documents: Iterable[Mapping[str, Any]], *columns: CellColumn) -> list[str]:
    """A table of documents, a row each.

    A column is a heading with what tells the cell, or a key: `>tokens` a number (of a list, how many), `title/50` a
    text of so many columns, `thread?` with a dash where it is empty, `id=thread` headed so.
    """
    heads, cells = zip(*map(_column, columns), strict=True)
    return table(heads, [[cell(one) for cell in cells] for one in documents])


def _column(spec: CellColumn) -> tuple[str, Callable[[Mapping[str, Any]], str]]:
    if not isinstance(spec, str):
        return spec
    named, _, head = spec.removeprefix(">").partition("=")
    key, _, width = named.removesuffix("?").partition("/")
    head = head or key.replace("_", " ")
    if spec.startswith(">"):
        return f">{head}", lambda one: number(len(one[key]) if isinstance(one[key], list | tuple) else one[key])
    empty = "-" if named.endswith("?") else ""
    return head, lambda one: plain(one[key], int(width or 0)) or empty


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - columns(text))
    return space + text if right else text + space
