"""The row of marks below the curves: compactions, cache misses, pins that went, steps, hits of the search.

Marks of one kind that would lie on each other fold into one with their number: the mouse over it shows all of them, a
click walks through. Marks of different kinds at the same place are drawn side by side, never as one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from inspector.core.words import plural
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line
from inspector.workbench.pressure.timeline import Mark, MarkKind

SIZE = 9
"""Pixels of a mark ..."""
APART = 3
"""... and least pixels between two."""
_TOLD = 12
"""Marks of a fold that are told by name."""
_SHAPES: Mapping[MarkKind, Sequence[tuple[float, float]]] = {
    "compaction": ((0, 0.1), (1, 0.1), (0.5, 0.95)),
    "drop": ((0, 0.9), (1, 0.9), (0.5, 0.05)),
    "cache miss": (),
    "pin removed": (),
    "step": ((0.5, 0), (1, 0.5), (0.5, 1), (0, 0.5)),
    "search hit": ((0.35, 0), (0.65, 0), (0.65, 1), (0.35, 1)),
}
"""Corners, as shares of the square; the others are a cross and a disc."""
_MANY = {"cache miss": "cache misses", "pin removed": "pins removed"}
RANKS: tuple[MarkKind, ...] = tuple(_SHAPES)
"""The order of the kinds that are at one place."""


class Fold:
    """Marks of one kind that are drawn as one."""

    def __init__(self, mark: Mark) -> None:
        self.kind = mark.kind
        self.marks = [mark]
        self.room = QRectF()

    @property
    def words(self) -> str:
        """A line a mark."""
        lines = [f"{grouped(mark.at)}: {line(mark.label, 110)}" for mark in self.marks[:_TOLD]]
        more = len(self.marks) - _TOLD
        return "\n".join([*lines, *([f"… and {more:,} more"] if more > 0 else [])])

    def width(self, metrics: QFontMetricsF) -> float:
        """Pixels of the sign, with the number of marks if there are several."""
        return SIZE + (2 + metrics.horizontalAdvance(str(len(self.marks))) if len(self.marks) > 1 else 0)


class Cluster:
    """Marks that are too close to be drawn each at its place: one fold a kind, side by side from the first place on."""

    def __init__(self, left: float, metrics: QFontMetricsF) -> None:
        self._left, self._metrics = left, metrics
        self._folds: dict[MarkKind, Fold] = {}

    @property
    def right(self) -> float:
        """Where it ends."""
        widths = [fold.width(self._metrics) for fold in self._folds.values()]
        return self._left + sum(widths) + APART * (len(widths) - 1)

    def add(self, mark: Mark) -> None:
        """Count a mark with those of its kind."""
        if mark.kind in self._folds:
            self._folds[mark.kind].marks.append(mark)
        else:
            self._folds[mark.kind] = Fold(mark)

    def placed(self, top: float) -> Iterator[Fold]:
        """The folds, each with its room, in the order of the kinds."""
        x = self._left
        for fold in sorted(self._folds.values(), key=lambda fold: RANKS.index(fold.kind)):
            fold.room = QRectF(x, top, fold.width(self._metrics), SIZE)
            x = fold.room.right() + APART
            yield fold


class MarkRow(Guarded, QWidget):
    """`scale` gives what says where a mark stands now, in pixels of this row; outside `span` nothing is shown."""

    picked = Signal(object)
    hovered = Signal(str)

    def __init__(
        self, theme: Theme, scale: Callable[[], Callable[[Mark], float]], span: Callable[[], tuple[float, float]]
    ) -> None:
        super().__init__()
        self._theme, self._scale, self._span = theme, scale, span
        self._given: tuple[Mark, ...] = ()
        self.marks: tuple[Mark, ...] = ()
        self.folds: list[Fold] = []
        self._at: int | None = None
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Marks of the timeline")

    def show_marks(self, marks: Iterable[Mark]) -> None:
        """These, and no others."""
        given = tuple(marks)
        if given == self._given:  # where the playhead moved only
            return
        self._given, self.marks = given, tuple(sorted(given, key=lambda mark: (mark.at, RANKS.index(mark.kind))))
        counts = {kind: sum(mark.kind == kind for mark in self.marks) for kind in RANKS}
        words = [plural(many, kind, _MANY.get(kind, "")) for kind, many in counts.items() if many]
        self.setAccessibleDescription(", ".join(words) or "none")
        self.update()

    def show_playhead(self, at: int | None) -> None:
        """A click on a fold goes to its next mark after this request."""
        self._at = at

    def sizeHint(self) -> QSize:
        return QSize(200, max(SIZE, round(QFontMetricsF(self._font()).height())) + 4)

    def _font(self) -> QFont:
        return ui_font(self._theme.small)

    def fold(self) -> list[Fold]:
        """The marks where they are now; marks of different kinds are never drawn as one. O(marks)."""
        (left, right), x_of = self._span(), self._scale()
        metrics, clusters = QFontMetricsF(self._font()), list[Cluster]()
        for mark in self.marks:
            x = x_of(mark) - SIZE / 2
            if not left - SIZE <= x <= right:
                continue
            if not clusters or x >= clusters[-1].right + APART:
                clusters.append(Cluster(x, metrics))
            clusters[-1].add(mark)
        top = (self.height() - SIZE) / 2
        return [fold for cluster in clusters for fold in cluster.placed(top)]

    def paintEvent(self, event: QPaintEvent) -> None:
        self.folds = self.fold()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(self._font())
            for one in self.folds:
                paint_mark(painter, one.room.topLeft(), one.kind, self._theme.colours)
                if len(one.marks) > 1:
                    painter.setPen(ink(self._theme.colours.quiet))
                    room = QRectF(one.room.left() + SIZE + 2, 0, one.room.width(), self.height())
                    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, str(len(one.marks)))

    def under(self, x: float) -> Fold | None:
        """What stands there."""
        return next((one for one in self.folds if one.room.left() - 2 <= x <= one.room.right() + 2), None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """To the next mark of the fold; from its last one to its first."""
        one = self.under(event.position().x())
        if one is not None and event.button() == Qt.MouseButton.LeftButton:
            places, here = [mark.at for mark in one.marks], self._at if self._at is not None else -1
            inside = places[0] <= here <= places[-1]
            self.picked.emit(next((at for at in places if inside and at > here), places[0]))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """What is under the mouse is told above the curves, too."""
        one = self.under(event.position().x())
        self.setCursor(Qt.CursorShape.PointingHandCursor if one is not None else Qt.CursorShape.ArrowCursor)
        self.hovered.emit(one.words.replace("\n", " · ") if one is not None else "")

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit("")

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            one = self.under(event.pos().x())
            QToolTip.showText(event.globalPos(), tip(one.words) if one is not None else "", self)
            return True
        return super().event(event)


def mark_colour(colours: Colours, kind: MarkKind) -> str:
    """Each kind has a shape besides."""
    return {
        "compaction": colours.good,
        "drop": colours.high,
        "cache miss": colours.high,
        "pin removed": colours.categories["thinking"],
        "step": colours.accent,
        "search hit": colours.low,
    }[kind]


def paint_mark(painter: QPainter, corner: QPointF, kind: MarkKind, colours: Colours) -> None:
    """Its shape in its square."""
    colour, square = ink(mark_colour(colours, kind)), QRectF(corner.x(), corner.y(), SIZE, SIZE)
    if kind == "cache miss":
        painter.setPen(QPen(colour, 1.8))
        inner = square.adjusted(1, 1, -1, -1)
        painter.drawLine(inner.topLeft(), inner.bottomRight())
        painter.drawLine(inner.bottomLeft(), inner.topRight())
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    if kind == "pin removed":
        painter.drawEllipse(square.adjusted(0.5, 0.5, -0.5, -0.5))
    else:
        painter.drawPolygon([QPointF(corner.x() + x * SIZE, corner.y() + y * SIZE) for x, y in _SHAPES[kind]])
