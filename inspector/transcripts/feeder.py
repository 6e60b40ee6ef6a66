"""Turn bytes into lines and lines into parsed values for a reader. Opening and following share this code.

Every byte is inspected a fixed number of times, however long the lines are. A line that cannot be read becomes a
Problem with its number; the other lines are read.
"""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Any, TypeAlias

from inspector.core.jsontext import NotJson, dumped, loads
from inspector.core.session import Problem
from inspector.transcripts.unpack import LONGEST

Line: TypeAlias = bytes | bytearray | memoryview
Value: TypeAlias = tuple[int, Any]
"""(line number, value)."""

_KEPT = 1000
_EXCERPT = 120
_BLANK = b" \t\r\n\0"
_TORN = "torn last line: its {:,} bytes are no complete JSON value; it was left out"


class Feeder:
    """Parses the lines of one file, however its bytes are divided into chunks."""

    def __init__(self, file: str = "", is_text: bool = False) -> None:
        """Prepare to parse a file.

        Args:
            file: Name of the file, for problems.
            is_text: The lines are not parsed; each value is the text of a line.
        """
        self._is_text = is_text
        self.line = 0
        """Number of lines so far."""
        self.values = 0
        """Number of values so far."""
        self.longest = LONGEST
        """Maximum number of bytes of a line; a longer line is left out."""
        self.parse: Callable[[Line, list[str]], Any] = loads
        """Parses a line, as `jsontext.loads` does."""
        self.opens = False
        """True if the first line is only the beginning of a JSON value, so that the file may be one JSON document."""
        self._file = file
        self._rest = bytearray()
        self._early = False
        """True if the last line was read before its newline arrived (`read_early`)."""
        self._dropped = 0
        self._problems: list[Problem] = []
        self._more = 0
        self._odd: list[str] = []
        """Oddities in the most recently parsed line that did not prevent reading it."""

    @property
    def problems(self) -> list[Problem]:
        """Return what could not be read: the first thousand problems one by one, then the number of the others."""
        if not self._more:
            return list(self._problems)
        return [
            *self._problems,
            Problem(line=0, what=f"{self._more:,} more lines could not be read", file=self._file),
        ]

    def read(self, chunk: bytes) -> list[Value]:
        """Return the values of the lines that end in the chunk. The bytes after the last newline wait for more."""
        if self._early and chunk:
            chunk = self._without_early_end(chunk)
        values: list[Value] = []
        view = memoryview(chunk)
        start = 0
        end = chunk.find(b"\n")
        if end >= 0 and (self._rest or self._dropped):
            self._wait(view[:end])
            values += self._end_of_line()
            start = end + 1
            end = chunk.find(b"\n", start)
        while end >= 0:
            values += self._line(view[start:end])
            start = end + 1
            end = chunk.find(b"\n", start)
        if start < len(chunk):
            self._wait(view[start:])
        return values

    def _without_early_end(self, chunk: bytes) -> bytes:
        """Remove the end of a line that was already read early, which would count as a blank line."""
        end = chunk.find(b"\n") + 1
        if end > 0 and not chunk[:end].strip():
            self._early = False
            return chunk[end:]
        self._early = not chunk.strip()
        return b"" if self._early else chunk

    def finish(self) -> Sequence[Value]:
        """Return what follows the last newline, now that the file has ended. A torn value becomes a Problem."""
        return self._end_of_line(last=True) if self._rest.strip(_BLANK) or self._dropped else ()

    def read_early(self) -> Sequence[Value]:
        """Return the value of the last line if it is complete although it has no newline yet; otherwise nothing.

        Call when the file has no more bytes for now. An incomplete line waits for its remaining bytes.
        """
        if self._is_text or not self._rest[-16:].rstrip().endswith((b"}", b"]")):
            return ()
        try:
            value = loads(self._rest)
        except NotJson:
            return ()
        self._rest = bytearray()
        self._early = True
        self.line += 1
        return self._number_values(value)

    def torn(self) -> list[Problem]:
        """Return the incomplete value after the last newline as a problem, for callers that do not wait for more
        bytes.
        """
        if self._is_text or not self._rest.strip(_BLANK):
            return []
        return [
            Problem(
                self.line + 1,
                what=_TORN.format(len(self._rest)),
                excerpt=line_excerpt(bytes(self._rest)),
                file=self._file,
            )
        ]

    def _wait(self, piece: memoryview) -> None:
        if self._dropped or len(self._rest) + len(piece) > self.longest:
            self._dropped += len(self._rest) + len(piece)
            self._rest = bytearray()
        else:
            self._rest += piece

    def _end_of_line(self, last: bool = False) -> Sequence[Value]:
        line = self._rest
        self._rest = bytearray()
        if not self._dropped:
            return self._line(line, last)
        self.line += 1
        what = f"the line is longer than {self.longest >> 20:,} MB ({self._dropped:,} bytes); it was left out"
        self._problem(what, b"")
        self._dropped = 0
        return ()

    def _line(self, line: Line, last: bool = False) -> Sequence[Value]:
        self.line += 1
        if self._is_text:
            return self._number_values(bytes(line).decode("utf-8", "replace").rstrip("\r"))
        try:
            value = self.parse(line, self._odd)
        except NotJson as why:
            return self._read_bad_line(bytes(line), str(why), last)
        for what in self._odd:
            self._problem(what, bytes(line))
        self._odd.clear()
        self.values += 1
        return ((self.line, value),)

    def _number_values(self, *values: Any) -> Sequence[Value]:
        self.values += len(values)
        return [(self.line, value) for value in values]

    def _read_bad_line(self, line: bytes, why: str, last: bool) -> Sequence[Value]:
        """Read a line that is not one JSON value: empty, with NUL bytes, with several values, torn, or not JSON."""
        if not line.strip():
            return ()
        if nuls := line.count(0):
            return self._without_nuls(line, nuls, last)
        text = line.decode("utf-8", errors="replace")
        if "Extra data" in why and (several := values_of(text)):
            self._problem(f"{len(several)} JSON values are on one line; all were read", line)
            return self._number_values(*(value for _, value in several))
        if last and "nested" not in why:
            self._problem(_TORN.format(len(line)), line)
            return ()
        place = _PLACE.search(why)
        is_cut_off = place is not None and int(place[2]) >= len(text.rstrip())
        self.opens = self.opens or (is_cut_off and not self.values and not self._problems)
        # Without the parser's line number, which is not that of the file.
        reason = _PLACE.sub(r" at column \1", why)
        self._problem(f"not JSON: {reason}; the line was left out", line)
        return ()

    def _without_nuls(self, line: bytes, count: int, last: bool) -> Sequence[Value]:
        what = (
            f"{count:,} NUL bytes are in the line (a write that was cut short); they were skipped"
        )
        line = line.replace(b"\0", b"")
        self._problem(what, line)
        if not line.strip():
            return ()
        self.line -= 1  # the same line is parsed again
        return self._line(line, last)

    def _problem(self, what: str, line: bytes) -> None:
        if len(self._problems) < _KEPT:
            self._problems.append(Problem(self.line, what, line_excerpt(line), self._file))
        else:
            self._more += 1


def line_excerpt(line: bytes) -> str:
    """Return the beginning of a line, at most 120 printable characters."""
    text = line[: 4 * _EXCERPT].decode("utf-8", errors="replace").strip()
    printable = "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:_EXCERPT]
    )
    is_whole = len(text) <= _EXCERPT and len(line) <= 4 * _EXCERPT
    return printable if is_whole else printable[: _EXCERPT - 1] + "…"


_PLACE = re.compile(r": line \d+ column (\d+) \(char (\d+)\)$")


def values_of(text: str) -> list[tuple[int, Any]]:
    """Return consecutive JSON values with the lines (from 1) that they begin on; empty if the text holds anything
    else.
    """
    decoder = json.JSONDecoder()
    values: list[tuple[int, Any]] = []
    position = 0
    line = 1
    while (start := _NOT_BLANK.search(text, position)) is not None:
        line += text.count("\n", position, start.start())
        position = start.start()
        try:
            _, end = decoder.raw_decode(text, position)
            values.append((line, loads(text[position:end].encode("utf-8", errors="replace"))))
        except (ValueError, RecursionError):
            return []
        line += text.count("\n", position, end)
        position = end
    return values


_NOT_BLANK = re.compile(r"\S")


class RepeatedList:
    """Parses lines that repeat the list of an earlier line and extend it. The common beginning is parsed only once.

    The result is that of `jsontext.loads` for the whole line; the lists share their items.
    """

    _SIZES = range(1 << 14, 1 << 23)
    """Lengths in bytes of lines that are worth this and may be copied."""
    _SAME = token_hex(16)
    """A random text that replaces the known items while the rest of the line is parsed, so no file can contain it."""

    def __init__(self, path: Sequence[str]) -> None:
        """`path`: the names that lead to the list in the object on a line."""
        self._path = path
        self._mark = b'"%b":[' % path[-1].encode()
        self._items: list[Any] = []
        self._written = b""
        """The JSON text of the last list, as it was written. `_items` are its parsed items."""

    def parse(self, line: Line, odd_words: list[str]) -> Any:
        """Parse a line as `jsontext.loads` does."""
        if len(line) not in self._SIZES or (position := (text := bytes(line)).find(self._mark)) < 0:
            return loads(line, odd_words)
        start = position + len(self._mark)
        if self._items and text.startswith(self._written, start):
            rest = text[start + len(self._written) :]
            odd = list[str]()
            with suppress(NotJson):
                value = loads(b'%b"%b"%b' % (text[:start], self._SAME.encode(), rest), odd)
                items = self._list(value)
                if items[:1] == [self._SAME] and not odd:
                    items[:1] = self._items
                    self._keep(items, text, start)
                    return value
        value = loads(text, odd_words)
        self._items = []
        self._written = b""
        self._keep(self._list(value), text, start)
        return value

    def _list(self, value: Any) -> list[Any]:
        for name in self._path:
            value = value.get(name) if isinstance(value, dict) else None
        return value if isinstance(value, list) else []

    def _keep(self, items: list[Any], text: bytes, start: int) -> None:
        """Remember a list if its new items are written the way we write JSON, because only then its end is known."""
        new = dumped(items[len(self._items) :])[1:-1]
        if self._items and new:
            new = b"," + new
        end = start + len(self._written)
        is_found = text.startswith(new + b"]", end)
        self._items, self._written = (
            (items, text[start : end + len(new)]) if is_found else ([], b"")
        )
