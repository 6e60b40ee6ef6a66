"""JSON objects and lists that can be folded to their first line.

Folded lines stay in the document and are only hidden, so finding, selecting and copying work on the whole text.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from PySide6.QtGui import QTextBlock, QTextDocument

from inspector.core.words import plural
from inspector.gui.widgets.pieces import PlacedPiece

TALL = 24
"""Maximum number of lines of a nested object or list that is initially unfolded."""
LEAST = 4
"""Minimum number of lines between the brackets of an object or list that can be folded."""


class JsonFold(NamedTuple):
    """An object or list of JSON, by the block numbers of the lines that open and close it."""

    first: int
    last: int
    entries: int
    """Number of entries; 0 until the closing bracket has been inserted."""
    sign: str
    """The closing bracket."""
    tall: bool
    """True if it is initially folded."""

    @property
    def words(self) -> str:
        """The text shown in place of the folded lines."""
        return f"⋯ {plural(self.entries, 'entry', 'entries')} {self.sign}" if self.entries else "⋯"


class JsonFolds:
    """The folds of one document, which only grows at its end."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document
        self._all = dict[int, JsonFold]()
        """Folds by the number of the block in which each begins."""
        self._folded = set[int]()
        self._open = list[int]()
        """Numbers of the blocks whose brackets are not closed yet."""

    def clear(self) -> None:
        """Remove all folds. Call this before another text is inserted."""
        self._all.clear()
        self._folded.clear()
        self._open.clear()

    def add(self, placed: PlacedPiece) -> None:
        """Add the folds of an inserted piece. Nested objects and lists with more than TALL lines are folded at once."""
        piece = placed.piece
        begins = self._document.findBlock(placed.start).blockNumber()
        for place, count in piece.brackets:
            position = piece.display.place(place)
            number = self._document.findBlock(placed.position(position)).blockNumber()
            if not count:
                self._open.append(number)
            elif number - (first := self._open.pop()) >= LEAST:
                self._put(
                    JsonFold(
                        first,
                        last=number,
                        entries=count,
                        sign=piece.display.text[position],
                        tall=bool(self._open),
                    ),
                    begins,
                )
        if self._open[1:]:
            self._put(
                JsonFold(
                    self._open[1],
                    last=self._document.blockCount() - 2,
                    entries=0,
                    sign="",
                    tall=True,
                ),
                begins,
            )

    def _put(self, fold: JsonFold, begins: int) -> None:
        """Add or extend a fold, whose lines from block `begins` on are new."""
        fold = fold._replace(tall=fold.tall and fold.last - fold.first > TALL)
        if not fold.entries and not fold.tall:
            return
        if fold.tall and fold.first not in self._all:
            self._folded.add(fold.first)
        self._all[fold.first] = fold
        if fold.first in self._folded:
            self._show(range(max(fold.first + 1, begins - TALL - 1), fold.last + 1), False)

    def at(self, block: QTextBlock) -> JsonFold | None:
        """Return the fold that begins in a block; None if there is none."""
        return self._all.get(block.blockNumber())

    def around(self, block: QTextBlock) -> JsonFold | None:
        """Return the fold that begins in a block, or the innermost fold around the block; None if there is none."""
        number = block.blockNumber()
        holding = (fold for fold in self._all.values() if fold.first <= number <= fold.last)
        return max(holding, key=lambda fold: fold.first, default=None)

    def is_folded(self, fold: JsonFold) -> bool:
        """Return True if only the first line of the fold is shown."""
        return fold.first in self._folded

    def after(self, block: QTextBlock) -> QTextBlock:
        """Return the next visible block."""
        fold = self._all.get(block.blockNumber())
        if fold is not None and fold.first in self._folded:
            return self._document.findBlockByNumber(fold.last + 1)
        return block.next()

    def toggle(self, fold: JsonFold) -> None:
        """Fold an object or list, or unfold it; nested folds stay folded."""
        if fold.first not in self._folded:
            self._folded.add(fold.first)
            self._show(range(fold.first + 1, fold.last + 1), False)
        else:
            self._folded.remove(fold.first)
            self._show(self._blocks_shown_by(fold), True)

    def reveal(self, block: QTextBlock) -> None:
        """Unfold every fold that hides a block."""
        number = block.blockNumber()
        for first in sorted(self._folded):
            if first < number <= self._all[first].last:
                self.toggle(self._all[first])

    def set_all(self, folded: bool) -> None:
        """Unfold everything, or restore the initial folds if `folded`."""
        for first, fold in sorted(self._all.items()):
            if (first in self._folded) != (folded and fold.tall):
                self.toggle(fold)

    def _blocks_shown_by(self, fold: JsonFold) -> Iterator[int]:
        """Yield the numbers of the blocks that unfolding would show. Nested folds that are folded stay folded."""
        number = fold.first + 1
        while number <= fold.last:
            yield number
            inner = self._all.get(number)
            number = inner.last + 1 if inner is not None and number in self._folded else number + 1

    def _show(self, numbers: Iterable[int], is_shown: bool) -> None:
        begin = end = -1
        block = QTextBlock()
        for number in numbers:
            follows = block.isValid() and block.blockNumber() == number - 1
            block = block.next() if follows else self._document.findBlockByNumber(number)
            if block.isVisible() != is_shown:
                block.setVisible(is_shown)
                block.setLineCount(int(is_shown))
                begin, end = (
                    block.position() if begin < 0 else begin,
                    block.position() + block.length(),
                )
        if begin >= 0:
            self._document.markContentsDirty(begin, end - begin)
