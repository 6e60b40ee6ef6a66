"""Files that hold many conversations (samples, tasks, trials): one is read, the others are named.

A format of such files says how a value is taken apart; the reader of one conversation knows nothing of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from inspector.core.formats.format import Reader
from inspector.core.session import HeldSession, Session
from inspector.core.untyped import digits_of

Split: TypeAlias = Callable[[Any], Sequence[tuple[HeldSession | None, Any]]]
"""The conversations in a value, each as its own reader is fed it; without a name: what belongs to the one before."""


def place_of(held: Sequence[HeldSession], wanted: str) -> int | None:
    """Which one is meant, by its id or its number (from 0); empty = the first. None where there is no such one."""
    if not wanted:
        return 0 if held else None
    for n, one in enumerate(held):
        if one.id == wanted:
            return n
    number = digits_of(wanted)
    return number if number is not None and number < len(held) else None


class ManyReader:
    """A `Reader` of the conversation that is wanted."""

    def __init__(self, format_: str, split: Split, start: Callable[[], Reader], wanted: str = "") -> None:
        self._format, self._split, self._start, self._wanted = format_, split, start, wanted
        self._held: list[HeldSession] = []
        self._told: list[list[tuple[int, Any]]] = []
        """Lines and values of each."""
        self._chosen: tuple[int, Reader] | None = None
        self._fed = 0
        """Values that the reader of the chosen one has."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take a document, or the line of one conversation."""
        del file  # such files have no companions
        for held, one in self._split(value):
            if held is not None or not self._told:
                self._held.append(_named(held or HeldSession(""), len(self._held)))
                self._told.append([])
            self._told[-1].append((line, one))

    def session(self) -> Session:
        """The wanted session; one without threads where there is none such."""
        place = place_of(self._held, self._wanted)
        several = tuple(self._held) if len(self._held) > 1 else ()
        if place is None:
            return Session(self._format, held=several)
        if self._chosen is None or self._chosen[0] != place:
            self._chosen, self._fed = (place, self._start()), 0
        for line, value in self._told[place][self._fed :]:
            self._chosen[1].feed(line, value)
        self._fed = len(self._told[place])
        session = self._chosen[1].session()
        return replace(session, id=self._held[place].id, held=several)


def _named(held: HeldSession, number: int) -> HeldSession:
    return held if held.id else replace(held, id=str(number))
