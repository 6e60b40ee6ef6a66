"""An immutable view of the first n items of a growing list, made in O(1); and the common beginning of two sequences."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Generic, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Prefix(Sequence[T_co], Generic[T_co]):
    """View of the first `length` items of `items`, followed by the items of `then`.

    The owner of `items` may append to it, but never changes existing items. `then` holds items that are not final: a
    later view may have other items there.
    """

    __slots__ = ("_items", "_length", "_then")

    def __init__(
        self, items: Sequence[T_co] = (), length: int | None = None, then: Sequence[T_co] = ()
    ) -> None:
        self._items = items
        self._length = len(items) if length is None else length
        self._then = tuple(then)

    def __len__(self) -> int:
        return self._length + len(self._then)

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        if isinstance(index, slice):
            return self._slice(*index.indices(len(self)))
        length = self._length
        if 0 <= index < length:
            return self._items[index]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._items[index] if index < length else self._then[index - length]

    def _slice(self, start: int, stop: int, step: int) -> tuple[T_co, ...]:
        """Return the items of a slice with these bounds."""
        if step != 1:
            return tuple(self[place] for place in range(start, stop, step))
        length = self._length
        if stop <= length:
            return tuple(self._items[start:stop])
        then_start = max(0, start - length)
        return (*self._items[start:length], *self._then[then_start : stop - length])

    def __iter__(self) -> Iterator[T_co]:
        return chain(islice(iter(self._items), self._length), self._then)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence) and not isinstance(other, str) and list(self) == list(other)
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Prefix({list(self)!r})"


def common_length(before: Sequence[object], after: Sequence[object]) -> int:
    """Return the number of items, or characters, that two sequences begin with in common.

    Both must be of one type, such as two strings or two tuples: slices of different types are never equal. Uses a
    binary search, because comparing slices is fast.
    """
    low = 0
    high = min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
