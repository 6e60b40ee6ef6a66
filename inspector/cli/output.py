"""The output of the command line: one JSON document, or tables for people. Only this module writes to stdout.

Transcript text is untrusted: tables show control and direction characters as visible symbols, so that no transcript can
control the terminal.
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
from inspector.core.session import Thread
from inspector.core.tokens.believing import known_counts
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, estimator
from inspector.core.tokens.pressure import Pressures

D = TypeVar("D")

_UNSEEN = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that count as printable but show nothing."""
_BIDI = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"
)


def use_utf8() -> None:
    """Make stdout and stderr UTF-8, regardless of the locale."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


class _ClosedStdout(io.TextIOBase):
    """A standard output that was closed before the program began."""

    def write(self, text: str) -> int:
        raise InspectorError("Standard output is closed, so the answer cannot be written.")


def open_closed_streams() -> None:
    """Give the program all three standard streams, even if it was started with some of them closed.

    Without this, the next file that is opened (a recording, for example) would take the place of a closed one.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - until the process ends
    sys.stdout = sys.stdout or _ClosedStdout()
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends


def silence_stdout() -> None:
    """Discard further output after a broken pipe: the interpreter flushes stdout once more when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # stdout is not a real file
        return


def write_json(document: object) -> None:
    """Write one JSON document and a line end. Non-ASCII characters are not escaped."""
    sys.stdout.write(dumps(document))
    sys.stdout.write("\n")


def write_answer(document: D, json: bool, lines: Callable[[D], Iterable[str]]) -> None:
    """Write the document as JSON, or as text with the lines of `lines`."""
    if json:
        write_json(document)
    else:
        write_lines(lines(document))


def picked(value: object, fields: str) -> dict[str, Any]:
    """Return fields of `value` for a document, in this order. If `value` is None, all fields are null.

    A field is the name of an attribute. `key=thread.id` gives it another key; `usd:6` rounds it to 6 decimal places.
    """
    document: dict[str, Any] = {}
    for key, attribute, places in _parse_fields(fields):
        item = attribute(value) if value is not None else None
        if places is not None and item is not None:
            item = float(round(item, places))
        elif isinstance(item, Decimal):
            item = float(item)
        document[key] = item
    return document


_FIELD = re.compile(r"(\w+)(?:=([\w.]+))?(?::(\d))?")


@cache
def _parse_fields(fields: str) -> list[tuple[str, Callable[[object], Any], int | None]]:
    """Return (key, function that reads the attribute, decimal places) for each field."""
    parsed: list[tuple[str, Callable[[object], Any], int | None]] = []
    for word in fields.split():
        if match := _FIELD.fullmatch(word):
            key, attribute, places = match.groups()
            parsed.append((key, attrgetter(attribute or key), int(places) if places else None))
    return parsed


def ratio(tokens: int | None, window: int | None) -> float | None:
    """Return the share of the window that is filled; None if tokens or window are unknown."""
    if tokens is None or not window:
        return None
    return round(tokens / window, 6)


def pressure_document(
    thread: Thread, pressures: Pressures, at: int, window: int | None, believed: int
) -> dict[str, Any]:
    """Return the size of request `at` in the form that `follow` and `proxy` report.

    Args:
        thread: The thread.
        pressures: Its pressures.
        at: Index of the request.
        window: The window in tokens; None if it is unknown.
        believed: The chosen policy's own count in tokens.
    """
    pressure = pressures[at]
    return {
        "reported": pressure.reported,
        **picked(known_counts(thread, estimator(DEFAULT_ESTIMATOR)).at(at), "estimated calibrated"),
        "predicted": pressure.predicted.tokens if pressure.predicted else None,
        "believed": believed,
        **picked(pressure, "tokens kind band"),
        "unseen": pressures.scale(at).unseen,
        "window": window,
        "ratio": ratio(pressure.tokens, window),
    }


def write_lines(lines: Iterable[str]) -> None:
    """Write lines for people. Line breaks and control characters within a line become visible symbols."""
    for line in lines:
        sys.stdout.write(signed(line))
        sys.stdout.write("\n")


def note(sentence: str) -> None:
    """Write a message to stderr."""
    sys.stderr.write(f"context-inspector: {signed(sentence)}\n")


def progress_line() -> Callable[[int, int], None] | None:
    """Return a function that shows the progress of reading a file; None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        return None
    last_percent = -1

    def show(done: int, total: int) -> None:
        nonlocal last_percent
        percent = 100 * done // total if total else 100
        if percent != last_percent and total > 20_000_000:
            last_percent = percent
            end = "\r\x1b[K" if percent >= 100 else ""
            sys.stderr.write(f"\rreading {percent}%{end}")
            sys.stderr.flush()

    return show


def number(value: int | float | None) -> str:
    """Return the number with thousands separated by commas, or a dash for None."""
    return "-" if value is None else f"{value:,}"


def plain(text: str, width: int = 0) -> str:
    """Return the text on one line, with visible control characters, cut to `width` columns (0: not cut)."""
    if width:
        text = text[: 4 * width]
    line = signed(" ".join(text.split()))
    return _cut(line, width) if width else line


def signed(text: str) -> str:
    """Return the text with control and direction characters made visible."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_sign, text))


def exact(char: str) -> str:
    """Return a character that is always visible: one that shows nothing, or only a blank, is spelled out."""
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
    """Return the width on a terminal: wide characters take two columns, combining ones none."""
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
    out = []
    used = 0
    for char in text:
        used += _char_columns(char)
        if used > width - 1:
            break
        out.append(char)
    return "".join(out) + "…"


def pairs(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return lines of name and value, aligned."""
    width = max((columns(name) for name, _ in rows), default=0)
    return [f"{_pad(name, width, right=False)}  {value}".rstrip() for name, value in rows]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines with aligned columns. A heading that begins with `>` is right-aligned, for numbers."""
    right = [head.startswith(">") for head in heads]
    names = [head.removeprefix(">") for head in heads]
    lines = (names, *rows)
    widths = [max(map(columns, cells)) for cells in zip(*lines, strict=True)]
    return ["  ".join(map(_pad, line, widths, right)).rstrip() for line in lines]


CellColumn: TypeAlias = str | tuple[str, Callable[[Mapping[str, Any]], str]]


def listing(documents: Iterable[Mapping[str, Any]], *columns: CellColumn) -> list[str]:
    """Return a table with one row per document.

    A column is a heading with a function that makes the cell, or the key of a field. `>tokens` is a number (for a list,
    its length); `title/50` is a text of at most 50 columns; `thread?` shows a dash if it is empty; `id=thread` has the
    heading "thread".
    """
    heads, cells = zip(*map(_column, columns), strict=True)
    return table(heads, [_make_row(document, cells) for document in documents])


def _make_row(
    document: Mapping[str, Any], cells: Iterable[Callable[[Mapping[str, Any]], str]]
) -> list[str]:
    return [cell(document) for cell in cells]


def _column(spec: CellColumn) -> tuple[str, Callable[[Mapping[str, Any]], str]]:
    if not isinstance(spec, str):
        return spec
    named, _, head = spec.removeprefix(">").partition("=")
    key, _, width = named.removesuffix("?").partition("/")
    head = head or key.replace("_", " ")
    if spec.startswith(">"):
        return f">{head}", lambda row: number(_count(row[key]))
    empty = "-" if named.endswith("?") else ""
    return head, lambda row: plain(row[key], int(width or 0)) or empty


def _count(value: Any) -> Any:
    return len(value) if isinstance(value, list | tuple) else value


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - columns(text))
    return space + text if right else text + space
