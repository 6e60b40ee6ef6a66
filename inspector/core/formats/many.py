"""Files that hold many conversations (samples, tasks, trials): one is read, the others are named.

A format of such files says how a value is taken apart; what reads one conversation knows nothing of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from inspector.core.formats.format import BuiltReader, FedValues
from inspector.core.session import HeldSession, Session
from inspector.core.untyped import digits_of

Split: TypeAlias = Callable[[Any], Sequence[tuple[HeldSession | None, Any]]]
"""The conversations in a value, each as it is read; without a name: what belongs to the one before."""


def find_place(held: Sequence[HeldSession], name: str) -> int | None:
    """Which one is meant, by its id or its number (from 0); empty = the first. None where there is no such one."""
    if not name:
        return 0 if held else None
    for n, session in enumerate(held):
        if session.id == name:
            return n
    number = digits_of(name)
    return number if number is not None and number < len(held) else None


class ManyReader(BuiltReader):
    """A `Reader` of the conversation that is wanted: `read` makes its session, and never raises for what it holds."""

    def __init__(
        self, format_: str, split: Split, read: Callable[[FedValues], Session], name: str = ""
    ) -> None:
        super().__init__()
        self._format, self._split, self._read, self._wanted = format_, split, read, name
        self._held: list[HeldSession] = []
        self._told: list[list[tuple[int, Any, str]]] = []
        """Lines and values of each."""

    def _take(self, line: int, value: Any, file: str) -> None:
        for held, conversation in self._split(value):
            if held is not None or not self._told:
                held = held or HeldSession("")
                self._held.append(held if held.id else replace(held, id=str(len(self._held))))
                self._told.append([])
            self._told[-1].append((line, conversation, file))

    def _build(self) -> Session:
        """The wanted session; one without threads where there is none such."""
        place = find_place(self._held, self._wanted)
        several = tuple(self._held) if len(self._held) > 1 else ()
        if place is None:
            return Session(self._format, held=several)
        return replace(self._read(self._told[place]), id=self._held[place].id, held=several)
