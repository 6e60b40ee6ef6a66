"""Tells how the run stands, one standing after the other, never two at a time; streaming text at a pace for the eye."""

import threading
from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any, TypeAlias

from inspector.agent.standing import Standing

Tell: TypeAlias = Callable[[Standing], None]
PACE_S = 1 / 30
"""Between two standings that only have more text."""


class Voice:
    """What was told last, and the one who hears it."""

    def __init__(self, tell: Tell, first: Standing) -> None:
        self._tell = tell
        self._lock = threading.RLock()
        self._standing = first
        self._due = 0.0
        self._pieces: list[str] | None = None

    @property
    def standing(self) -> Standing:
        """As it was told last."""
        return self._standing

    def say(self, **changes: Any) -> None:
        """The standing has changed in these fields."""
        with self._lock:
            self._standing = replace(self._standing, **changes)
            self._tell(self._standing)

    def listen(self) -> Callable[[str], None]:
        """Who is told each bit of an answer's text, on whatever thread. Bits that come after `hush` are dropped."""
        with self._lock:
            pieces: list[str] = []
            self._pieces = pieces

        def hear(piece: str) -> None:
            with self._lock:
                if self._pieces is not pieces:
                    return
                pieces.append(piece)
                if monotonic() >= self._due:
                    self._due = monotonic() + PACE_S
                    self.say(text="".join(pieces))

        return hear

    def hush(self) -> None:
        """The call is over: its text stands in the buffer now, or nowhere."""
        with self._lock:
            self._pieces = None
            if self._standing.text:
                self._standing = replace(self._standing, text="")
