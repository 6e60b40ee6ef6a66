"""The breakdown as an icicle chart: a row for each level, in which parts are as wide as their shares. The chosen part
takes the whole width.

A part with a negative number of tokens (a difference) has no width. The other parts, which then add up to more than
their parent, share the whole width.
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
from inspector.core.words import part_title, per_cent, plural
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, ink, mixed
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line
from inspector.gui.widgets.painted import MIDDLE, RIGHT

PartPath: TypeAlias = tuple[str, ...]
"""The path of a part: the names from its category down to the part. Empty for the whole buffer."""
LEVELS = 5
HIGH = 48
"""Largest height of a level in pixels. The smallest height is that of a line of text."""
_NARROW = 2.0
"""Width in pixels below which the children of a part are not painted."""
_THIN = 0.5
"""Width in pixels below which parts are combined into groups, as there may be 100,000 of them."""
_GROUP = 24.0
"""Largest width in pixels of a group of thin parts, unless the widest part is wider."""
_WORDS = 34
"""Smallest width in pixels of a part whose name is painted."""
_LETTERS = 4
"""Fewest characters of a truncated name; if fewer fit, the name is not painted."""
_FOLDER = re.compile(r"^\S*[/\\](?=[^\s/\\]+$)")
_PALE = 0.35
"""Opacity of a faded chart."""
_BRIGHT = 0.5
"""Brightness of a cell, from 0 to 1, above which its text is dark."""
_DARK_INK, _LIGHT_INK = "#14181d", "#ffffff"


@dataclass(frozen=True, slots=True)
class IcicleCell:
    """A part and the rectangle in which it is painted."""

    rect: QRectF
    part: PartPath
    node: BreakdownNode
    rest: bool = False
    """Is this the cell of a group of parts that are too thin to be painted? A click on it selects their parent."""

    @property
    def leads_to(self) -> PartPath:
        """The part that a click selects."""
        return self.part[:-1] if self.rest else self.part


class Icicle(Guarded, QWidget):
    """An icicle chart of a buffer. A click chooses a part, a double click or Enter opens it.

    Arrow keys choose the parent, a child or a sibling, Escape chooses the whole buffer.
    """

    chosen = Signal(tuple)
    opened = Signal(tuple)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._tree: BreakdownNode | None = None
        self.part: PartPath = ()
        self.cells: tuple[IcicleCell, ...] = ()
        """The cells that are painted, from the root down."""
        self.faded = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(160, 2 * (self.fontMetrics().height() + 1))
        self.setAccessibleName("What fills the buffer, level by level")

    def sizeHint(self) -> QSize:
        return QSize(520, 30 * LEVELS)

    def show_tree(self, tree: BreakdownNode | None, part: PartPath) -> None:
        """Show the breakdown of a buffer, with the chosen part as wide as the chart."""
        self._tree = tree
        self.part = part
        self.setAccessibleDescription(spoken(tree, part))
        self._lay_out()

    def fade(self, out: bool) -> None:
        """Paint the chart pale while it shows a former buffer, or (`out` False) normally again."""
        if out != self.faded:
            self.faded = out
            self.update()

    def cell_at(self, where: QPointF) -> IcicleCell | None:
        """Return the cell at a position of the widget; None if there is none."""
        return next((cell for cell in self.cells if cell.rect.contains(where)), None)

    def _lay_out(self) -> None:
        if self._tree is not None and self._tree.tokens > 0:
            self.cells = tuple(self._rows(self._tree))
        else:
            self.cells = ()
        self.update()

    def _rows(self, tree: BreakdownNode) -> Iterator[IcicleCell]:
        """Yield the cells of the chosen part and its ancestors, over the whole width, then those of its descendants."""
        width = float(self.width())
        least = self.fontMetrics().height() + 1
        levels = max(1, min(LEVELS, self.height() // least))
        height = max(least, min(HIGH, self.height() / levels))
        for depth, node in enumerate(tree.along(self.part)):
            rect = QRectF(0, depth * height, width, height)
            cell = IcicleCell(rect, self.part[:depth], node)
            yield cell
        yield from self._cells_inside(cell)

    def _cells_inside(self, cell: IcicleCell) -> Iterator[IcicleCell]:
        """Yield the cells of the descendants of a part."""
        above = cell.rect
        top, height = above.bottom(), above.height()
        parts = [child for child in cell.node.children if child.tokens > 0]
        if not parts or top + height > self.height() + 1:
            return
        per_token = above.width() / sum(child.tokens for child in parts)
        left = above.left()
        thin = list[BreakdownNode]()
        for child in parts:
            width = child.tokens * per_token
            if width < _THIN:
                thin.append(child)
                continue
            inner = IcicleCell(QRectF(left, top, width, height), (*cell.part, child.name), child)
            left += width
            yield inner
            if width >= _NARROW:
                yield from self._cells_inside(inner)
        for group in _gather(thin, _widest_group(parts, per_token)):
            tokens = sum(child.tokens for child in group)
            rest = BreakdownNode(plural(len(group), "smaller part"), "text", tokens)
            rect = QRectF(left, top, tokens * per_token, height)
            left += rect.width()
            yield IcicleCell(rect, (*cell.part, rest.name), rest, rest=True)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def paintEvent(self, event: QPaintEvent) -> None:
        backgrounds = dict[tuple[str, int], QColor]()
        with QPainter(self) as painter:
            painter.setOpacity(_PALE if self.faded else 1)
            for cell in self.cells:
                category = cell.part[0] if cell.part else ""
                key = category, len(cell.part)
                if key not in backgrounds:
                    backgrounds[key] = cell_colour(self._theme.colours, cell.part)
                self._paint_cell(painter, cell, backgrounds[key])
            if self.hasFocus() and self.cells:
                self._paint_focus(painter)

    def _paint_focus(self, painter: QPainter) -> None:
        """Paint a frame around the chosen part."""
        current = next((cell for cell in self.cells if cell.part == self.part), self.cells[0])
        painter.setPen(QPen(ink(self._theme.colours.playhead), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(current.rect.adjusted(1, 1, -1, -2))

    def _paint_cell(self, painter: QPainter, cell: IcicleCell, background: QColor) -> None:
        """Paint a part, with its name and its tokens if they fit."""
        gap = 1 if cell.rect.width() > 3 else 0
        inner = cell.rect.adjusted(0, 0, -gap, -1)
        painter.fillRect(inner, background)
        if inner.width() < _WORDS:
            return
        room = inner.adjusted(5, 0, -5, 0)
        metrics = painter.fontMetrics()
        number = grouped(cell.node.tokens)
        name = shown_name(cell.node)
        if cell.node.kind == "file" and metrics.horizontalAdvance(name) > room.width():
            name = _FOLDER.sub("", name, count=1)  # the file name of a path that is too long
        is_bright = _brightness(background) > _BRIGHT
        painter.setPen(ink(_DARK_INK if is_bright else _LIGHT_INK))
        number_width = metrics.horizontalAdvance(number)
        if room.width() > metrics.horizontalAdvance(name[:12]) + number_width + 8:
            painter.drawText(room, int(RIGHT), number)
            room.setRight(room.right() - number_width - 8)
        elided = metrics.elidedText(name, Qt.TextElideMode.ElideRight, int(room.width()))
        if elided == name or (len(elided) >= _LETTERS and not cell.rest):
            painter.drawText(room, int(MIDDLE), elided)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the part under the mouse."""
        cell = self.cell_at(event.position())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(cell.leads_to)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Open the part under the mouse, which the first click has chosen and made as wide as the chart."""
        cell = self.cell_at(event.position())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self.opened.emit(cell.leads_to)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        target = self._target_of(Qt.Key(event.key()))
        if target is not None:
            self.chosen.emit(target)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(self.part)
        else:
            super().keyPressEvent(event)

    def _target_of(self, key: Qt.Key) -> PartPath | None:
        """Return the part to which a key moves: a child, the parent, a sibling or the whole buffer; None if to none."""
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
            siblings = [child.name for child in nodes[-2].children]
            step = 1 if key == Qt.Key.Key_Right else -1
            place = siblings.index(nodes[-1].name) + step
            return (*self.part[:-1], siblings[place % len(siblings)])
        return None

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            cell = self.cell_at(QPointF(event.pos()))
            words = ""
            if cell is not None and self._tree:
                words = about(cell.node, cell.part, self._tree.tokens)
            QToolTip.showText(event.globalPos(), tip(words), self)
            return True
        return super().event(event)


def _widest_group(parts: Sequence[BreakdownNode], pixels: float) -> float:
    """Return the most tokens that a group of thin parts may have; infinity if all parts are thin.

    Args:
        pixels: width of one token.
    """
    largest = max(part.tokens for part in parts)
    return max(largest, _GROUP / pixels) if largest * pixels >= _THIN else float("inf")


def _gather(nodes: Sequence[BreakdownNode], most: float) -> Iterator[list[BreakdownNode]]:
    """Yield the nodes in groups of at most `most` tokens, so that no group looks larger than a part."""
    group = list[BreakdownNode]()
    tokens = 0
    for node in nodes:
        if group and tokens + node.tokens > most:
            yield group
            group = []
            tokens = 0
        group.append(node)
        tokens += node.tokens
    if group:
        yield group


def _brightness(colour: QColor) -> float:
    """Return the perceived brightness from 0 to 1 (ITU-R BT.601)."""
    return 0.299 * colour.redF() + 0.587 * colour.greenF() + 0.114 * colour.blueF()


def cell_colour(colours: Colours, part: PartPath) -> QColor:
    """Return the colour of a part: that of its category, paler with each level below it."""
    if not part:
        return ink(colours.raised)
    base = {str(name): colour for name, colour in colours.categories.items()}.get(
        part[0], colours.missing
    )
    return mixed(colours.window, base, max(0.25, 1 - 0.2 * (len(part) - 1)))


def shown_name(node: BreakdownNode) -> str:
    """Return the name of a part in one line; categories have the names of the gauge."""
    return part_title(node.name) if node.kind == "category" else line(node.name, 300)


def about(node: BreakdownNode, part: PartPath, total: int) -> str:
    """Return `tool results › Read › src/a.py` and, in a second line, its tokens, share, calls and messages."""
    share = f" · {per_cent(node.tokens / total, places=1)}" if total else ""
    calls = f" · {plural(node.calls, 'call')}" if node.calls else ""
    message_count = f" · {plural(len(node.messages), 'message')}" if node.messages else ""
    where = " › ".join((*part[:-1], shown_name(node))) if part else "all of the buffer"
    return f"{where}\n{grouped(node.tokens)} tokens{share}{calls}{message_count}"


def spoken(tree: BreakdownNode | None, part: PartPath) -> str:
    """Describe the chosen part and its largest children for screen readers."""
    if tree is None:
        return "nothing open"
    node = tree.along(part)[-1]
    inner = ", ".join(f"{shown_name(child)} {grouped(child.tokens)}" for child in node.children[:5])
    return f"{about(node, part, tree.tokens)}: {inner}" if inner else about(node, part, tree.tokens)
