"""Read one conversation of a file that holds many (samples, tasks, trials), and list the names of all.

Such a format gives a function that splits a value into conversations, and a function that reads one conversation.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from inspector.core.formats.format import BuiltReader, FedValues
from inspector.core.session import HeldSession, Session
from inspector.core.untyped import digits_of

Split: TypeAlias = Callable[[Any], Sequence[tuple[HeldSession | None, Any]]]
"""Splits a value into pairs of a name and a conversation. A None as name continues the previous conversation."""


def find_place(held: Sequence[HeldSession], name: str) -> int | None:
    """Return the index of a session by its id or its number from 0; None if not found.

    An empty name means the first session.
    """
    if not name:
        return 0 if held else None
    for n, session in enumerate(held):
        if session.id == name:
            return n
    number = digits_of(name)
    return number if number is not None and number < len(held) else None


class ManyReader(BuiltReader):
    """A `Reader` of one conversation, called `name`; empty means the first. `read` builds its session."""

    def __init__(
        self, format_: str, split: Split, read: Callable[[FedValues], Session], name: str = ""
    ) -> None:
        super().__init__()
        self._format, self._split, self._read, self._wanted = format_, split, read, name
        self._held: list[HeldSession] = []
        self._told: list[list[tuple[int, Any, str]]] = []
        """Line, value and file of the values of each conversation."""

    def _take(self, line: int, value: Any, file: str) -> None:
        for held, conversation in self._split(value):
            if held is not None or not self._told:
                held = held or HeldSession("")
                self._held.append(held if held.id else replace(held, id=str(len(self._held))))
                self._told.append([])
            self._told[-1].append((line, conversation, file))

    def _build(self) -> Session:
        """Return the wanted session; a session without threads if it is not in the file."""
        place = find_place(self._held, self._wanted)
        several = tuple(self._held) if len(self._held) > 1 else ()
        if place is None:
            return Session(self._format, held=several)
        return replace(self._read(self._told[place]), id=self._held[place].id, held=several)
