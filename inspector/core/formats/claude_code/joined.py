"""A list that only grows, with a tail that may still change, as one sequence."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar, overload

from inspector.core.prefix import Prefix

T_co = TypeVar("T_co", covariant=True)


class Joined(Sequence[T_co], Generic[T_co]):
    """What is settled (shared with the reader), then what is not yet (a few items, copied)."""

    __slots__ = ("_open", "_settled")

    def __init__(self, settled: Sequence[T_co], still_open: Sequence[T_co]) -> None:
        self._settled = Prefix(settled)
        self._open = tuple(still_open)

    def __len__(self) -> int:
        return len(self._settled) + len(self._open)

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if index < 0:
            index += len(self)
        settled = len(self._settled)
        return self._settled[index] if 0 <= index < settled else self._open[_inside(index - settled)]

    def __iter__(self) -> Iterator[T_co]:
        return chain(self._settled, self._open)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Joined({list(self)!r})"


def _inside(index: int) -> int:
    if index < 0:
        raise IndexError(index)
    return index
