"""Chance that falls the same on every machine and every Python: numbers from a hash of a name and a counter."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
HEX, BASE62 = "0123456789abcdef", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Dice:
    """An endless row of numbers, fixed by its name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thrown = 0

    def bits(self) -> int:
        """256 bits."""
        self._thrown += 1
        return int.from_bytes(
            hashlib.sha256(f"{self._name}/{self._thrown}".encode()).digest(), "big"
        )

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + self.bits() % (high - low + 1)

    def choice(self, things: Sequence[T]) -> T:
        """One of them."""
        return things[self.bits() % len(things)]

    def word(self, letters: str, length: int) -> str:
        """That many letters."""
        out, bits = [], 0
        for n in range(length):
            if n % 32 == 0:
                bits = self.bits()
            bits, digit = divmod(bits, len(letters))
            out.append(letters[digit])
        return "".join(out)
