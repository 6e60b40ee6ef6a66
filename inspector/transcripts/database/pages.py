"""The pages of a database at one moment: the main file, and over it what its write-ahead log has committed.

The log is read from where the last look stopped. As long as its header stays the same, whatever changes is in it, so
what is known of other pages stays true. `check` says afterwards whether all that was read belongs together.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import unpack_from

from inspector.core.errors import NothingToRead
from inspector.transcripts.growing import Standing, standing

MAGIC = b"SQLite format 3\x00"
_HOT_JOURNAL = bytes.fromhex("d9d505f920a163d7")
_LOG_HEADER, _FRAME_HEADER = 32, 24
_SETTLED_NS = 12_000_000
"""A file that was written less long ago may be written again at the same time of its clock: that ticks every 10 ms."""
_CHUNK = 1 << 22
_BINARY = getattr(os, "O_BINARY", 0)


class Torn(Exception):
    """It changed while it was read: what was read does not belong together. Look again."""


class Pages:
    """One database. Use `page` only inside `reading`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log_path = path.with_name(path.name + "-wal")
        self.size = 0
        """Bytes of a page."""
        self.usable = 0
        """Bytes of a page that SQLite uses."""
        self._main = self._log = -1
        self._standing: Standing | None = None
        self._header = b""
        """Of the log; empty = there is none."""
        self._frames: dict[int, int] = {}
        """Where in the log the newest committed version of a page lies."""
        self._end = _LOG_HEADER

    def standings(self) -> tuple[Standing | None, Standing | None]:
        """How the files stand now: both equal = nobody has written."""
        return standing(self.path), standing(self._log_path)

    @contextmanager
    def reading(self) -> Iterator[set[int] | None]:
        """Opens the files. Gives the pages that were written since the last time; None = any may have been.

        Raises Torn, at the latest when it is left.
        """
        try:
            self._main = os.open(self.path, os.O_RDONLY | _BINARY)
            self._log = self._open_log()
            self._refuse_fresh()
            try:
                yield self._look()
                self._check()
            except Torn:
                self._standing = None  # what was read meanwhile may be of two moments: none of it counts
                raise
        except OSError as error:
            raise Torn(f"{self.path} cannot be read: {error.strerror or error}") from error
        finally:
            for handle in (self._main, self._log):
                if handle >= 0:
                    os.close(handle)
            self._main = self._log = -1

    def _open_log(self) -> int:
        try:
            return os.open(self._log_path, os.O_RDONLY | _BINARY)
        except FileNotFoundError:
            return -1

    def page(self, number: int) -> bytes:
        """A page. Raises Torn where the file is too short for it."""
        at = self._frames.get(number)
        if at is not None:
            data = _read_at(self._log, self.size, at)
        else:
            data = _read_at(self._main, self.size, (number - 1) * self.size)
        if number < 1 or len(data) < self.size:
            raise Torn(f"{self.path}: page {number:,} is not there")
        return data

    # ---- one moment ------------------------------------------------------------------------------------------------

    def _refuse_fresh(self) -> None:
        if 0 <= time.time_ns() - self._stand()[3] < _SETTLED_NS:
            raise Torn(f"{self.path} is being written")

    def _look(self) -> set[int] | None:
        former, self._standing = self._standing, self._stand()
        header = self._read_header()
        self._refuse_hot_journal(header)
        same = former is not None and former[:2] == self._standing[:2] and header == self._header
        known = same and (bool(header) or former == self._standing)
        if not known:
            self._header, self._frames, self._end = header, {}, _LOG_HEADER
        self._read_sizes()
        changed = self._read_log() if header else set()
        return changed if known else None

    def _stand(self) -> Standing:
        about = os.fstat(self._main)
        return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns

    def _check(self) -> None:
        if (
            self._stand() != self._standing
            or standing(self.path) != self._standing
            or self._read_header() != self._header
        ):
            raise Torn(f"{self.path} changed while it was read")

    def _read_header(self) -> bytes:
        header = _read_at(self._log, _LOG_HEADER, 0) if self._log >= 0 else b""
        whole = len(header) == _LOG_HEADER and header[:4] in (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
        return header if whole else b""

    def _refuse_hot_journal(self, header: bytes) -> None:
        """Without a log the main file itself is changed, and the journal says that this is under way."""
        try:
            journal = self.path.with_name(self.path.name + "-journal").open("rb", buffering=0)
        except OSError:
            return
        with journal:
            if not header and journal.read(8) == _HOT_JOURNAL:
                raise Torn(f"{self.path} is being written")

    def _read_sizes(self) -> None:
        first = _read_at(self._main, 100, 0)
        if self._header:
            self.size = int.from_bytes(self._header[8:12], "big")
        elif first.startswith(MAGIC):
            self.size = int.from_bytes(first[16:18], "big")
            self.size = 65536 if self.size == 1 else self.size
        if not first.startswith(MAGIC) and first:
            raise NothingToRead(f"{self.path} is no SQLite database")
        if self.size < 512 or self.size > 65536 or self.size & (self.size - 1):
            raise NothingToRead(f"{self.path} holds nothing yet, or is damaged: its page size is {self.size:,}")
        self.usable = self.size - (first[20] if first else 0)
        if self.usable < 480:
            raise NothingToRead(f"{self.path} is damaged: {self.usable:,} bytes of a page are in use")

    # ---- the log ---------------------------------------------------------------------------------------------------

    def _read_log(self) -> set[int]:
        """Take the frames that were committed since the last look. Their pages."""
        found: dict[int, int] = {}
        committed: dict[int, int] = {}
        at = end = self._end
        for at, number, commits in self._new_frames():
            found[number] = at + _FRAME_HEADER
            if commits:
                end = at + _FRAME_HEADER + self.size
                committed |= found
                found = {}
        self._frames |= committed
        self._end = end
        return set(committed)

    def _new_frames(self) -> Iterator[tuple[int, int, bool]]:
        """Place, page and is-it-a-commit of the frames that are whole. The last of each stretch is checked in full."""
        length, salts = _FRAME_HEADER + self.size, self._header[16:24]
        at = self._end
        count = max(1, _CHUNK // length)
        while data := _read_at(self._log, count * length, at):
            whole = len(data) // length
            heads = [unpack_from(">II", data, n * length) for n in range(whole)]
            fresh = next((n for n in range(whole) if data[n * length + 8 : n * length + 16] != salts), whole)
            commits = [n for n in range(fresh) if heads[n][1]]
            while commits and not self._is_whole(data, commits[-1] * length, at):
                fresh = commits.pop()  # its bytes have not all come yet
            for n in range(fresh):
                yield at + n * length, heads[n][0], bool(heads[n][1])
            if fresh < count:
                return
            at += whole * length

    def _is_whole(self, data: bytes, start: int, at: int) -> bool:
        """Does the frame's checksum follow from the one before? It is written in order: what stands before is whole."""
        if start:
            before = unpack_from(">II", data, start - self.size - 8)
        elif at + start > _LOG_HEADER:
            before = unpack_from(">II", _read_at(self._log, 8, at + start - self.size - 8))
        else:
            before = unpack_from(">II", self._header, 24)
        order = ">" if self._header[3] & 1 else "<"
        body = data[start : start + 8] + data[start + _FRAME_HEADER : start + _FRAME_HEADER + self.size]
        told = unpack_from(">II", data, start + 16)
        return checksum(body, order, before) == told


def checksum(data: bytes, order: str, before: tuple[int, ...]) -> tuple[int, int]:
    """The log's running checksum over 8 bytes at a time."""
    one, two = before[0], before[1]
    words = unpack_from(f"{order}{len(data) // 4}I", data)
    for n in range(0, len(words), 2):
        one = (one + words[n] + two) & 0xFFFFFFFF
        two = (two + words[n + 1] + one) & 0xFFFFFFFF
    return one, two


def _read_at(handle: int, size: int, at: int) -> bytes:
    os.lseek(handle, at, os.SEEK_SET)
    return os.read(handle, size)
