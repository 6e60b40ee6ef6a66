"""A group of choices shown as chips, one of them checked, in as many lines as needed."""

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QMargins, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QLayout, QLayoutItem, QPushButton, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.build import button

GAP = 6


class Flow(Guarded, QLayout):
    """Lays widgets out from left to right, and continues in the next line when a line is full."""

    def __init__(self, gap: int = GAP) -> None:
        super().__init__()
        self._gap = gap
        self._items: list[QLayoutItem] = []
        self._high = 0
        """Height of all lines at the current width."""
        self.setContentsMargins(QMargins(0, 0, 0, 0))

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        edges = self.contentsMargins()
        inner = QRect(0, 0, width - edges.left() - edges.right(), 0)
        return self._place(inner, only_measure=True) + edges.top() + edges.bottom()

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        high = self._place(rect.marginsRemoved(self.contentsMargins()), only_measure=False)
        owner = self.parentWidget()
        if high != self._high and owner is not None and owner.isVisible():
            self._high = high
            self.update()

    def sizeHint(self) -> QSize:
        """Return the size of all widgets in one line."""
        sizes = [item.sizeHint() for item in self._items if not item.isEmpty()]
        wide = sum(size.width() + self._gap for size in sizes) - self._gap
        return QSize(max(0, wide), max((size.height() for size in sizes), default=0)).grownBy(
            self.contentsMargins()
        )

    def minimumSize(self) -> QSize:
        """Return the width of the widest widget and the height of all lines, so that no line covers a widget below."""
        size = QSize(0, self._high)
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size.grownBy(self.contentsMargins())

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def _place(self, rect: QRect, only_measure: bool) -> int:
        """Lay out the widgets, or only measure them if `only_measure`, and return the height."""
        x = rect.left()
        y = rect.top()
        row_height = 0
        placed: list[tuple[QLayoutItem, QRect]] = []
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint()
            if x > rect.left() and x + size.width() > rect.right() + 1:
                x = rect.left()
                y += row_height + self._gap
                row_height = 0
            placed.append((item, QRect(QPoint(x, y), size)))
            x += size.width() + self._gap
            row_height = max(row_height, size.height())
        if not only_measure:
            _centre_in_rows(placed)
        return y + row_height - rect.top()


def flow(
    *widgets: QWidget, margins: tuple[int, int, int, int] | None = None, gap: int = GAP
) -> Flow:
    """Return a layout of these widgets in as many lines as they need."""
    layout = Flow(gap)
    if margins is not None:
        layout.setContentsMargins(QMargins(*margins))
    for widget in widgets:
        layout.addWidget(widget)
    return layout


class Chips(QWidget):
    """A group of chips. `chosen` is emitted with the word of the chip that was clicked."""

    chosen = Signal(str)

    def __init__(self, name: str, choices: Iterable[tuple[str, str]]) -> None:
        """Create the chips.

        Args:
            name: What the chips select, for screen readers.
            choices: The word on each chip, and its tooltip.
        """
        super().__init__()
        self.setAccessibleName(name)
        self.buttons: dict[str, QPushButton] = {}
        self._group = QButtonGroup(self)
        flow = Flow()
        self.setLayout(flow)
        for word, what in choices:
            chip = self.buttons[word] = button(word, about=what, role="chip")
            chip.setCheckable(True)
            chip.setAccessibleName(f"{name}: {word}")
            chip.setAccessibleDescription(what)
            self._group.addButton(chip)
            flow.addWidget(chip)
        self._group.buttonClicked.connect(lambda chip: self.chosen.emit(chip.text()))

    def select(self, word: str) -> None:
        """Check the chip of `word` without emitting `chosen`."""
        if word in self.buttons:
            self.buttons[word].setChecked(True)


def _centre_in_rows(placed: Sequence[tuple[QLayoutItem, QRect]]) -> None:
    """Give the items their places, each in the middle of its row, which is as high as its highest item."""
    row_heights: dict[int, int] = {}
    for _, place in placed:
        row_heights[place.y()] = max(place.height(), row_heights.get(place.y(), 0))
    for item, place in placed:
        spare = row_heights[place.y()] - place.height()
        item.setGeometry(place.translated(0, spare // 2))
