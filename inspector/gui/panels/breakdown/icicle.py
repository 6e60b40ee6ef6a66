"""The breakdown as an icicle: every level a row, every part as wide as its share; what is chosen is as wide as all.

A difference below zero has no width: the other parts, which are more than their sum then, share the whole width.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from inspector.core.findings.breakdown import BreakdownNode
from inspector.core.words import per_cent, plural
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, ink, mixed
from inspector.gui.look.labels import part_title, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line
from inspector.gui.widgets.painted import MIDDLE, RIGHT

PartPath: TypeAlias = tuple[str, ...]
"""Names from the category down; empty = all of the buffer."""
LEVELS = 5
HIGH = 48
"""Most pixels of a level; at least its words have room."""
_NARROW = 2.0
"""What is narrower is painted, but not what is in it."""
_THIN = 0.5
"""Pixels. The parts that are narrower are painted as one, after the others: there may be 100,000 of them."""
_GROUP = 24.0
"""Pixels of the thin parts that are painted as one, or as many as the widest part has."""
_WORDS = 34
"""Pixels from which on a part has words in it."""
_LETTERS = 4
"""Fewer of a name that is cut say nothing."""
_FOLDER = re.compile(r"^\S*[/\\](?=[^\s/\\]+$)")
_PALE = 0.35
_BRIGHT = 0.5
"""From here on words are dark."""
_DARK_INK, _LIGHT_INK = "#14181d", "#ffffff"


@dataclass(frozen=True, slots=True)
class IcicleCell:
    """A part where it is painted."""

    rect: QRectF
    part: PartPath
    node: BreakdownNode
    rest: bool = False
    """Is it the cell of all parts that are too thin? A click on it selects the part that contains them."""

    @property
    def leads_to(self) -> PartPath:
        """The part that a click selects."""
        return self.part[:-1] if self.rest else self.part


class Icicle(Guarded, QWidget):
    """A click chooses a part, a double click or Enter opens it; arrows walk, Escape goes back to all."""

    chosen = Signal(tuple)
    opened = Signal(tuple)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._tree: BreakdownNode | None = None
        self.part: PartPath = ()
        self.cells: tuple[IcicleCell, ...] = ()
        """What is painted, from the root down."""
        self.faded = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(160, 2 * (self.fontMetrics().height() + 1))
        self.setAccessibleName("What fills the buffer, level by level")

    def sizeHint(self) -> QSize:
        return QSize(520, 30 * LEVELS)

    def show_tree(self, tree: BreakdownNode | None, part: PartPath) -> None:
        """This buffer, with that part taking the whole width."""
        self._tree, self.part = tree, part
        self.setAccessibleDescription(spoken(tree, part))
        self._lay_out()

    def fade(self, out: bool) -> None:
        """Pale where another buffer is looked at by now."""
        if out != self.faded:
            self.faded = out
            self.update()

    def cell_at(self, where: QPointF) -> IcicleCell | None:
        """Return the cell at a place."""
        return next((cell for cell in self.cells if cell.rect.contains(where)), None)

    def _lay_out(self) -> None:
        self.cells = tuple(self._rows(self._tree)) if self._tree is not None and self._tree.tokens > 0 else ()
        self.update()

    def _rows(self, tree: BreakdownNode) -> Iterator[IcicleCell]:
        """The ancestors of what is chosen and itself over the whole width, what is in it below."""
        width, least = float(self.width()), self.fontMetrics().height() + 1
        levels = max(1, min(LEVELS, self.height() // least))
        high = max(least, min(HIGH, self.height() / levels))
        for depth, node in enumerate(tree.along(self.part)):
            yield (cell := IcicleCell(QRectF(0, depth * high, width, high), self.part[:depth], node))
        yield from self._inside(cell)

    def _inside(self, cell: IcicleCell) -> Iterator[IcicleCell]:
        whole, above = cell.node, cell.rect
        parts = [child for child in whole.children if child.tokens > 0]
        if not parts or above.bottom() + above.height() > self.height() + 1:
            return
        pixels = above.width() / sum(child.tokens for child in parts)
        left = above.left()
        thin = [child for child in parts if child.tokens * pixels < _THIN]
        for child in parts:
            width = child.tokens * pixels
            if width < _THIN:
                continue
            inner = IcicleCell(QRectF(left, above.bottom(), width, above.height()), (*cell.part, child.name), child)
            left += width
            yield inner
            if width >= _NARROW:
                yield from self._inside(inner)
        for group in _gather(thin, _widest_group(parts, pixels)):
            tokens = sum(child.tokens for child in group)
            smaller = BreakdownNode(plural(len(group), "smaller part"), "text", tokens)
            room = QRectF(left, above.bottom(), tokens * pixels, above.height())
            left += room.width()
            yield IcicleCell(room, (*cell.part, smaller.name), smaller, rest=True)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def paintEvent(self, event: QPaintEvent) -> None:
        colours, grounds = self._theme.colours, dict[tuple[str, int], QColor]()
        with QPainter(self) as painter:
            painter.setOpacity(_PALE if self.faded else 1)
            for cell in self.cells:
                of = cell.part[0] if cell.part else "", len(cell.part)
                if (ground := grounds.get(of)) is None:
                    ground = grounds[of] = cell_colour(colours, cell.part)
                self._paint_cell(painter, cell, ground)
            if self.hasFocus() and self.cells:
                current = next((cell for cell in self.cells if cell.part == self.part), self.cells[0])
                painter.setPen(QPen(ink(self._theme.colours.playhead), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(current.rect.adjusted(1, 1, -1, -2))

    def _paint_cell(self, painter: QPainter, cell: IcicleCell, ground: QColor) -> None:
        inner = cell.rect.adjusted(0, 0, -1 if cell.rect.width() > 3 else 0, -1)
        painter.fillRect(inner, ground)
        if inner.width() < _WORDS:
            return
        room = inner.adjusted(5, 0, -5, 0)
        metrics, number = painter.fontMetrics(), grouped(cell.node.tokens)
        name = shown_name(cell.node)
        if cell.node.kind == "file" and metrics.horizontalAdvance(name) > room.width():
            name = _FOLDER.sub("", name, count=1)  # of a path that is too long, the file
        painter.setPen(ink(_DARK_INK if _brightness(ground) > _BRIGHT else _LIGHT_INK))
        figures = metrics.horizontalAdvance(number)
        if room.width() > metrics.horizontalAdvance(name[:12]) + figures + 8:
            painter.drawText(room, int(RIGHT), number)
            room.setRight(room.right() - figures - 8)
        elided = metrics.elidedText(name, Qt.TextElideMode.ElideRight, int(room.width()))
        if elided == name or (len(elided) >= _LETTERS and not cell.rest):
            painter.drawText(room, int(MIDDLE), elided)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Chosen; what was chosen already, or the root, goes back."""
        cell = self.cell_at(event.position())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(cell.leads_to)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Opened: the first press has chosen it, so it lies over the whole width."""
        cell = self.cell_at(event.position())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self.opened.emit(cell.leads_to)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moved = self._walked(Qt.Key(event.key()))
        if moved is not None:
            self.chosen.emit(moved)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(self.part)
        else:
            super().keyPressEvent(event)

    def _walked(self, key: Qt.Key) -> PartPath | None:
        nodes = self._tree.along(self.part) if self._tree is not None else ()
        if not nodes:
            return None
        if key == Qt.Key.Key_Escape:
            return ()
        if key == Qt.Key.Key_Down and nodes[-1].children:
            return (*self.part, nodes[-1].children[0].name)
        if key == Qt.Key.Key_Up and self.part:
            return self.part[:-1]
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and len(nodes) > 1:
            beside = [child.name for child in nodes[-2].children]
            at = beside.index(nodes[-1].name) + (1 if key == Qt.Key.Key_Right else -1)
            return (*self.part[:-1], beside[at % len(beside)])
        return None

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            cell = self.cell_at(QPointF(event.pos()))
            words = about(cell.node, cell.part, self._tree.tokens) if cell is not None and self._tree else ""
            QToolTip.showText(event.globalPos(), tip(words), self)
            return True
        return super().event(event)


def _widest_group(parts: Sequence[BreakdownNode], pixels: float) -> float:
    """Return the tokens that a group of thin parts may have: those of the largest part; no limit if all are thin."""
    largest = max(part.tokens for part in parts)
    return max(largest, _GROUP / pixels) if largest * pixels >= _THIN else float("inf")


def _gather(nodes: Sequence[BreakdownNode], most: float) -> Iterator[list[BreakdownNode]]:
    """Yield the nodes in groups of at most `most` tokens, so that no group looks larger than a part."""
    group = list[BreakdownNode]()
    tokens = 0
    for node in nodes:
        if group and tokens + node.tokens > most:
            yield group
            group, tokens = [], 0
        group.append(node)
        tokens += node.tokens
    if group:
        yield group


def _brightness(colour: QColor) -> float:
    """0 to 1, as the eye weighs red, green and blue (ITU-R BT.601)."""
    return 0.299 * colour.redF() + 0.587 * colour.greenF() + 0.114 * colour.blueF()


def cell_colour(colours: Colours, part: PartPath) -> QColor:
    """The colour of the category; nearer to the window with every level below it."""
    if not part:
        return ink(colours.raised)
    base = {str(name): colour for name, colour in colours.categories.items()}.get(part[0], colours.missing)
    return mixed(colours.window, base, max(0.25, 1 - 0.2 * (len(part) - 1)))


def shown_name(node: BreakdownNode) -> str:
    """In one line, as the gauge calls it."""
    return part_title(node.name) if node.kind == "category" else line(node.name, 300)


def about(node: BreakdownNode, part: PartPath, total: int) -> str:
    """`tool results › Read › src/a.py`, and how much that is."""
    share = f" · {per_cent(node.tokens / total, 1)}" if total else ""
    calls = f" · {plural(node.calls, 'call')}" if node.calls else ""
    message_count = f" · {plural(len(node.messages), 'message')}" if node.messages else ""
    where = " › ".join((*part[:-1], shown_name(node))) if part else "all of the buffer"
    return f"{where}\n{grouped(node.tokens)} tokens{share}{calls}{message_count}"


def spoken(tree: BreakdownNode | None, part: PartPath) -> str:
    """What is chosen, and the largest parts of it."""
    if tree is None:
        return "nothing open"
    node = tree.along(part)[-1]
    inner = ", ".join(f"{shown_name(child)} {grouped(child.tokens)}" for child in node.children[:5])
    return f"{about(node, part, tree.tokens)}: {inner}" if inner else about(node, part, tree.tokens)
