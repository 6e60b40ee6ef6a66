"""A layout that goes on in the next line where the room ends: for chips."""

from PySide6.QtCore import QMargins, QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

from inspector.gui.guard import Guarded

GAP = 6


class Flow(Guarded, QLayout):
    """From left to right, then down."""

    def __init__(self) -> None:
        super().__init__()
        self._held: list[QLayoutItem] = []
        self.setContentsMargins(QMargins(0, 0, 0, 0))

    def addItem(self, item: QLayoutItem) -> None:
        """Qt's way in."""
        self._held.append(item)

    def add(self, widget: QWidget) -> None:
        """One more at the end."""
        self.addWidget(widget)

    def count(self) -> int:
        """How many."""
        return len(self._held)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """The one at `index`."""
        return self._held[index] if 0 <= index < len(self._held) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """The one at `index`, no longer laid out here."""
        return self._held.pop(index) if 0 <= index < len(self._held) else None

    def hasHeightForWidth(self) -> bool:
        """The narrower, the higher."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Pixels."""
        return self._place(QRect(0, 0, width, 0), only_measure=True)

    def setGeometry(self, rect: QRect) -> None:
        """Put all in their places."""
        super().setGeometry(rect)
        self._place(rect, only_measure=False)

    def sizeHint(self) -> QSize:
        """No wider than need be."""
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        """Room for the largest."""
        size = QSize()
        for held in self._held:
            size = size.expandedTo(held.minimumSize())
        return size

    def _place(self, rect: QRect, only_measure: bool) -> int:
        x, y, high = rect.left(), rect.top(), 0
        for held in self._held:
            if held.isEmpty():
                continue
            size = held.sizeHint()
            if x > rect.left() and x + size.width() > rect.right() + 1:
                x, y, high = rect.left(), y + high + GAP, 0
            if not only_measure:
                held.setGeometry(QRect(QPoint(x, y), size))
            x, high = x + size.width() + GAP, max(high, size.height())
        return y + high - rect.top()

    def expandingDirections(self) -> Qt.Orientation:
        """Neither."""
        return Qt.Orientation(0)
