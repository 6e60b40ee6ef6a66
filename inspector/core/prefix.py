"""The first n items of a list that only grows: an immutable view that costs nothing to take."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Prefix(Sequence[T_co], Generic[T_co]):
    """View of the first `length` items of `items`. The owner of `items` may append to it, never change it."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: Sequence[T_co] = (), length: int | None = None) -> None:
        self._items = items
        self._length = len(items) if length is None else length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        if isinstance(index, slice):
            return tuple(self._items[i] for i in range(*index.indices(self._length)))
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(index)
        return self._items[index]

    def __iter__(self) -> Iterator[T_co]:
        return islice(iter(self._items), self._length)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Prefix({list(self)!r})"
