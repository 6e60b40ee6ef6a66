"""Where a body ends (RFC 9112, sections 6 and 7). Fed with bytes as they pass; nothing is waited for, nothing changed.

`feed(data)` says how many of the bytes belong to the body, and hands what they carry (chunk marks taken off) to `take`.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

Take: TypeAlias = Callable[[bytes], None]
_LONGEST_LINE = 1 << 16
_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}(?:[ \t]*;[^\r\0]*)?")
"""A chunk's line, to the letter."""


class BadFraming(ValueError):
    """The chunks are not chunks."""


class Nothing:
    """No body."""

    done = True

    def feed(self, data: bytes, take: Take) -> int:
        """Nothing belongs to it."""
        return 0

    def ends_well(self) -> bool:
        """Always."""
        return True


class Length:
    """As many bytes as Content-Length says."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.done = length == 0

    def feed(self, data: bytes, take: Take) -> int:
        """As many as are still to come."""
        part = data if len(data) <= self._left else data[: self._left]
        if part:
            take(part)
        self._left -= len(part)
        self.done = self._left == 0
        return len(part)

    def ends_well(self) -> bool:
        """Is it a good end, if nothing more comes?"""
        return self.done


class UntilClosed:
    """All that comes until the other end closes."""

    done = False

    def feed(self, data: bytes, take: Take) -> int:
        """All of it."""
        if data:
            take(data)
        return len(data)

    def ends_well(self) -> bool:
        """Closing is the end."""
        return True


class Chunked:
    """Chunks, each behind a line with its size; after the last of size 0 perhaps trailers, and an empty line.

    `strict`: lines end in CR LF and hold nothing else, so that no other reader finds another end. A provider's answer
    is read as clients read it, who take more.
    """

    def __init__(self, *, strict: bool) -> None:
        self.done = False
        self._is_strict = strict
        self._line = b""
        self._left = 0
        self._state = "size"

    def ends_well(self) -> bool:
        """Is it a good end, if nothing more comes?"""
        return self.done

    def feed(self, data: bytes, take: Take) -> int:
        """Raises BadFraming."""
        at, end = 0, len(data)
        while at < end and not self.done:
            if self._state == "data":
                part = data[at : at + self._left] if at or end > self._left else data
                take(part)
                at += len(part)
                self._left -= len(part)
                if not self._left:
                    self._state = "behind"
                continue
            stop = data.find(b"\n", at)
            self._line += data[at:] if stop < 0 else data[at : stop + 1]
            if len(self._line) > _LONGEST_LINE:
                raise BadFraming("a chunk's line is too long")
            if stop < 0:
                return end
            at = stop + 1
            line, self._line = self._line, b""
            if self._is_strict and (not line.endswith(b"\r\n") or b"\r" in line[:-2]):
                raise BadFraming("a chunk's line does not end in CR LF")
            self._take_line(line[:-1].removesuffix(b"\r"))
        return at

    def _take_line(self, line: bytes) -> None:
        if self._state == "behind":
            if line:
                raise BadFraming("a chunk is longer than it says")
            self._state = "size"
        elif self._state == "trailers":
            self.done = not line
        else:
            if self._is_strict and not _SIZE.fullmatch(line):
                raise BadFraming("a chunk does not say its size")
            self._left = _size(line)
            self._state = "data" if self._left else "trailers"


def _size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip(b" \t")
    if not 0 < len(digits) <= 15 or digits.strip(b"0123456789abcdefABCDEF"):
        raise BadFraming("a chunk does not say its size")
    return int(digits, 16)


Framing: TypeAlias = Nothing | Length | UntilClosed | Chunked
