"""What lies in the plain-text view's document, and the way back: from Qt's positions to pieces to the original text."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from inspector.gui.widgets.sections import Piece


class Laid(NamedTuple):
    """A piece in the document, from `start` to `end` in Qt's positions (UTF-16 units)."""

    start: int
    end: int
    piece: Piece

    def code_point(self, at: int) -> int:
        """Qt's position as one of the piece's text."""
        text, local = self.piece.shown.text, at - self.start
        if self.end - self.start == len(text):
            return local
        return len(text.encode("utf-16-le")[: 2 * local].decode("utf-16-le", "ignore"))

    def position(self, at: int) -> int:
        """A position of the piece's text as Qt's."""
        text = self.piece.shown.text
        if self.end - self.start == len(text):
            return self.start + at
        return self.start + len(text[:at].encode("utf-16-le")) // 2


class LaidText:
    """All pieces of a document in order. They touch: where one ends the next begins."""

    def __init__(self) -> None:
        self._laid: list[Laid] = []
        self._starts: list[int] = []

    @property
    def pieces(self) -> Sequence[Laid]:
        """In order."""
        return self._laid

    def add(self, laid: Laid) -> None:
        """One more, at the end."""
        self._laid.append(laid)
        self._starts.append(laid.start)

    def between(self, start: int, end: int) -> Iterator[tuple[Laid, int, int]]:
        """The pieces that have a part between Qt's positions, each with that part of its text (code points)."""
        for index in range(max(0, bisect_right(self._starts, start) - 1), len(self._laid)):
            laid = self._laid[index]
            if laid.start >= end:
                return
            if laid.end > start:
                yield laid, laid.code_point(max(start, laid.start)), laid.code_point(min(end, laid.end))

    def original(self, start: int, end: int) -> str:
        """The original of what is displayed between Qt's positions."""
        return "".join(laid.piece.shown.origin(first, last) for laid, first, last in self.between(start, end))
