"""B-trees of a database: rows of a table, rows by number, and the numbers that an index has for a value.

What was read of a page is kept until the page is written again, so looking again costs what has changed.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from struct import error, unpack_from

from inspector.transcripts.database.pages import Pages, Torn
from inspector.transcripts.database.records import Value, columns, varint

_LONGEST = 1 << 30
"""Bytes of a row. A damaged file may claim any number."""


class Node:
    """A page of a tree. A leaf of a table holds row numbers and cells, an inner page what stands below which number."""

    __slots__ = ("below", "cells", "data", "entries", "fresh", "keys", "kind")

    def __init__(self, number: int, data: bytes) -> None:
        start = 100 if number == 1 else 0
        self.kind, self.data, self.fresh = data[start], data, True
        """Fresh: read since the last look."""
        inner = self.kind in (2, 5)
        count = unpack_from(">H", data, start + 3)[0]
        self.cells: Sequence[int] = unpack_from(f">{count}H", data, start + (12 if inner else 8))
        self.below: list[int] = []
        self.keys: list[int] = []
        self.entries: list[tuple[bytes, int]] | None = None
        """Of an index, once asked for: the first column in an order of bytes, and the row."""
        if inner:
            self.below = [unpack_from(">I", data, at)[0] for at in self.cells]
            self.below.append(unpack_from(">I", data, start + 8)[0])
        if self.kind == 5:
            self.keys = [varint(data, at + 4)[0] for at in self.cells]
        elif self.kind == 13:
            self.keys = [varint(data, varint(data, at)[1])[0] for at in self.cells]


class Trees:
    """The trees of one database."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._nodes: dict[int, Node] = {}
        self._leaf_of: dict[int, int] = {}
        """Which leaf a page of overflow belongs to."""

    def forget(self, changed: set[int] | None) -> None:
        """These pages have been written; None = any may have been."""
        if changed is None:
            self._nodes.clear()
            self._leaf_of.clear()
            return
        for node in self._nodes.values():
            node.fresh = False
        for number in changed:
            self._nodes.pop(number, None)
            self._nodes.pop(self._leaf_of.pop(number, 0), None)

    def _node(self, number: int, *kinds: int) -> Node:
        node = self._nodes.get(number)
        if node is None:
            try:
                node = self._nodes[number] = Node(number, self._pages.page(number))
            except (IndexError, error) as why:
                raise Torn(f"page {number:,} is damaged: {why}") from None
        if node.kind not in kinds:
            raise Torn(f"page {number:,} is of kind {node.kind}, where one of {kinds} should stand")
        return node

    # ---- tables ----------------------------------------------------------------------------------------------------

    def rows(self, root: int, wanted: Sequence[int] | None = None) -> Iterator[tuple[int, "Cell"]]:
        """Number and cell of all rows in order, or of those wanted (ascending). O(pages that hold them)."""
        stack: list[tuple[int, int, int]] = [(root, 0, 0 if wanted is None else len(wanted))]
        seen: set[int] = set()
        while stack:
            number, start, end = stack.pop()
            if number in seen:
                raise Torn("a table goes in circles")
            seen.add(number)
            node = self._node(number, 5, 13)
            if node.kind == 13:
                yield from self._leaf_rows(number, node, wanted, start, end)
            elif wanted is None:
                stack += [(below, 0, 0) for below in reversed(node.below)]
            else:
                stack += reversed(list(_share(node, wanted, start, end)))

    def _leaf_rows(
        self, number: int, node: Node, wanted: Sequence[int] | None, start: int, end: int
    ) -> Iterator[tuple[int, "Cell"]]:
        if wanted is None:
            for at, key in enumerate(node.keys):
                yield key, Cell(self, number, node, at)
            return
        for key in wanted[start:end]:
            at = bisect_left(node.keys, key)
            if at < len(node.keys) and node.keys[at] == key:
                yield key, Cell(self, number, node, at)

    def payload(self, leaf: int, node: Node, cell: int, *, whole: bool = True) -> bytes:
        """What a cell holds; not `whole`: as much of it as lies in the page itself."""
        try:
            length, at = varint(node.data, node.cells[cell])
            if node.kind == 13:
                _, at = varint(node.data, at)
            elif node.kind == 2:
                length, at = varint(node.data, node.cells[cell] + 4)
            local = _local(length, self._pages.usable, node.kind == 13)
        except IndexError:
            raise Torn(f"page {leaf:,} is damaged") from None
        if length > _LONGEST:
            raise Torn(f"a row of page {leaf:,} is too long: {length:,} bytes")
        data = node.data[at : at + local]
        if local == length or not whole:
            return data
        return data + self._overflow(leaf, node.data[at + local : at + local + 4], length - local)

    def _overflow(self, leaf: int, first: bytes, length: int) -> bytes:
        pieces, number = [], int.from_bytes(first, "big")
        while length > 0:
            page = self._pages.page(number)
            self._leaf_of[number] = leaf
            pieces.append(page[4 : min(self._pages.usable, 4 + length)])
            if not (taken := len(pieces[-1])):
                raise Torn(f"page {number:,} is damaged")
            length -= taken
            number = int.from_bytes(page[:4], "big")
        return b"".join(pieces)

    # ---- indexes ---------------------------------------------------------------------------------------------------

    def numbers(self, root: int, value: str) -> list[int]:
        """The row numbers that an index has under `value` in its first column, ascending. O(those, and the depth)."""
        sought, found = value.encode(), list[int]()
        stack, seen = [root], set[int]()
        while stack:
            number = stack.pop()
            if number in seen:
                raise Torn("an index goes in circles")
            seen.add(number)
            node = self._node(number, 2, 10)
            entries = self._entries(number, node)
            at = bisect_left(entries, (sought, -(1 << 63)))
            while at < len(entries) and entries[at][0] == sought:
                if node.below:
                    stack.append(node.below[at])
                found.append(entries[at][1])
                at += 1
            if node.below:
                stack.append(node.below[at])
        return sorted(found)

    def _entries(self, number: int, node: Node) -> list[tuple[bytes, int]]:
        if node.entries is None:
            node.entries = [_first_and_last(self.payload(number, node, at)) for at in range(len(node.cells))]
        return node.entries


def _share(node: Node, wanted: Sequence[int], start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Which of the wanted rows lie below which page."""
    for below, upto in zip(node.below, [*node.keys, None], strict=True):
        stop = end if upto is None else bisect_left(wanted, upto + 1, start, end)
        if stop > start:
            yield below, start, stop
        start = stop


def _first_and_last(payload: bytes) -> tuple[bytes, int]:
    """An index record: the bytes of its first column (none sorts before all texts), and the row it points to."""
    try:
        end, at = varint(payload, 0)
        last = -1
        while at < end:
            _, at = varint(payload, at)
            last += 1
        first, row = columns(payload, (0, last)) if last > 0 else (None, None)
    except IndexError:
        raise Torn("an index is damaged") from None
    return _order(first), row if isinstance(row, int) else 0


def _order(value: Value) -> bytes:
    return value.encode() if isinstance(value, str) else b"" if not isinstance(value, bytes) else b"\xff" + value


def _local(length: int, usable: int, table: bool) -> int:
    """How much of a payload lies in the page itself."""
    most = usable - 35 if table else (usable - 12) * 64 // 255 - 23
    if length <= most:
        return length
    least = (usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (usable - 4)
    return local if local <= most else least


class Cell:
    """A row that is not read yet."""

    __slots__ = ("_at", "_leaf", "_node", "_trees")

    def __init__(self, trees: Trees, leaf: int, node: Node, at: int) -> None:
        self._trees, self._leaf, self._node, self._at = trees, leaf, node, at

    @property
    def fresh(self) -> bool:
        """Was its page written since the last look?"""
        return self._node.fresh

    def payload(self) -> bytes:
        """All of it."""
        return self._trees.payload(self._leaf, self._node, self._at)

    def columns(self, wanted: Sequence[int]) -> list[Value]:
        """The values of these columns (ascending), from the page alone where that is enough."""
        try:
            return columns(self._trees.payload(self._leaf, self._node, self._at, whole=False), wanted)
        except IndexError:
            pass
        try:
            return columns(self.payload(), wanted)
        except IndexError:
            raise Torn("a row is damaged") from None
