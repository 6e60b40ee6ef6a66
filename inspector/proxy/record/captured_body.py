"""What passed, kept until it is written down: bounded in memory, whatever passes.

Forwarding never waits for the recording. Where more would be kept than `Budget` allows, the body at hand is left out
of the recording, and its record says so.
"""

from collections.abc import Iterable, Sequence
from pickle import PickleBuffer
from threading import Lock
from typing import Any

LARGEST = 64_000_000
"""Bytes of one body, as sent."""
ALL = 256_000_000
"""Bytes of all bodies that wait to be written down."""


class Budget:
    """Bytes that are kept, of all exchanges together. Asked by the server, given back by the recorder's thread."""

    def __init__(self, limit: int = ALL) -> None:
        self._left, self._lock = limit, Lock()

    def take(self, count: int) -> bool:
        """May so many more be kept?"""
        with self._lock:
            if count > self._left:
                return False
            self._left -= count
            return True

    def give_back(self, count: int) -> None:
        with self._lock:
            self._left += count


class CapturedBody:
    """The pieces of one body, as they passed."""

    __slots__ = ("_budget", "_kept", "_pieces", "left_out", "size")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._pieces: list[bytes] = []
        self._kept = 0
        self.size = 0
        """Bytes that passed, kept or not."""
        self.left_out = ""
        """Why nothing is kept; empty where all is."""

    @classmethod
    def of(cls, pieces: Iterable[bytes], size: int, left_out: str) -> "CapturedBody":
        """One that passed elsewhere."""
        made = cls(Budget())
        made._pieces, made.size, made.left_out = list(pieces), size, left_out
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return CapturedBody.of, ([PickleBuffer(piece) for piece in self._pieces], self.size, self.left_out)

    def copy(self) -> "CapturedBody":
        """The same bytes, whatever becomes of this one."""
        return CapturedBody.of(self._pieces, self.size, self.left_out)

    def add(self, data: bytes) -> None:
        self.size += len(data)
        if self.left_out:
            return
        if self.size > LARGEST:
            self._leave_out(f"the body is larger than {LARGEST:,} bytes")
        elif not self._budget.take(len(data)):
            self._leave_out("too much was waiting to be written down")
        else:
            self._pieces.append(data)
            self._kept += len(data)

    def _leave_out(self, why: str) -> None:
        self.left_out = why
        self.free()

    def join(self) -> bytes:
        """All of it in one. Empty where it was left out."""
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def pieces(self) -> Sequence[bytes]:
        """As they were added. Empty where it was left out."""
        return self._pieces

    def free(self) -> None:
        """It is needed no longer."""
        self._pieces = []
        self._budget.give_back(self._kept)
        self._kept = 0
