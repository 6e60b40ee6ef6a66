"""The base of all plots made with pyqtgraph: axes, view boxes, overlays and mouse handling.

This is the only file that imports pyqtgraph. Its methods that Qt calls are guarded like our own, because a drawing
error must not end the program. A panel loads this module when it is first shown (`panels.panel.PlotPanel`), because
importing it takes 0.4 s with numpy.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from math import floor, log10
from typing import Any, TypeAlias

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPicture
from PySide6.QtWidgets import QGraphicsItem, QSizePolicy, QWidget

from inspector.gui.guard import Guarded, guarded, is_guarded, overrides
from inspector.gui.look.build import column
from inspector.gui.look.colours import ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.number_formats import short
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.overlay import Overlay, area_of, label_size
from inspector.gui.widgets.request_range import end_place

__all__ = [
    "Axis",
    "Overlay",
    "Plot",
    "Spell",
    "area_of",
    "end_place",
    "label_size",
    "pg",
    "set_height",
]

Spell: TypeAlias = Callable[[float], str]

# -- pyqtgraph, guarded ------------------------------------------------------------------------------------------------

_CALLED = ("paint", "event", "eventFilter", "boundingRect", "shape")
"""Methods besides event handlers that Qt calls. pyqtgraph has other methods with Qt's names that only Python calls."""


def classes() -> Iterator[type]:
    """Yield the classes of pyqtgraph that are Qt classes."""
    for name, module in tuple(sys.modules.items()):
        if name.startswith("pyqtgraph"):
            for kind in tuple(vars(module).values()):
                if (
                    isinstance(kind, type)
                    and kind.__module__ == name
                    and issubclass(kind, QObject | QGraphicsItem)
                ):
                    yield kind


def called(kind: type) -> Iterator[str]:
    """Yield the names of the methods of a pyqtgraph class that Qt calls."""
    for name, method in tuple(vars(kind).items()):
        if (
            callable(method)
            and (name in _CALLED or name.endswith("Event"))
            and overrides(kind, name)
        ):
            yield name


for _kind in classes():
    for _name in called(_kind):
        if not is_guarded(vars(_kind)[_name]):
            setattr(_kind, _name, guarded(_name, vars(_kind)[_name]))


# -- the parts of a plot -----------------------------------------------------------------------------------------------

NUMBERS_APART, MOST_NUMBERS = 1.7, 8
"""Minimum distance of two numbers of an axis as a multiple of the letter height, and the maximum count of numbers."""


class PlayheadBox(Guarded, pg.ViewBox):  # type: ignore[misc]
    """A view box: left click and drag select a request, the wheel zooms, the right button moves."""

    pointed = Signal(float)
    offered = Signal(float, object)
    """Emitted on a right click, with the request and the position on the screen."""
    all_wanted = Signal()
    lifted = Signal(float, bool)
    """Emitted while a line is dragged, with its height and whether the mouse button was released."""

    def __init__(self) -> None:
        super().__init__(enableMenu=False)
        self.grip: Callable[[QPointF], bool] = lambda place: False
        """Returns True if a drag from this position moves a line and not the playhead."""
        self._gripped = False
        self.setMouseEnabled(x=True, y=False)
        self.setDefaultPadding(0)

    def mouseClickEvent(self, event: Any) -> None:
        """Select a request on a click, show all requests on a double click, request the menu on a right click."""
        if event.button() == Qt.MouseButton.RightButton:
            event.accept()
            self.offered.emit(self.mapToView(event.pos()).x(), event.screenPos().toPoint())
            return
        if event.button() != Qt.MouseButton.LeftButton:
            return
        event.accept()
        if event.double():
            self.all_wanted.emit()
        else:
            self.pointed.emit(self.mapToView(event.pos()).x())

    def mouseDragEvent(self, event: Any, axis: int | None = None) -> None:
        """Drag the playhead or a line with the left button, and the view with any other button."""
        if event.button() == Qt.MouseButton.LeftButton:
            event.accept()
            if event.isStart():
                self._gripped = self.grip(self.mapToView(event.buttonDownPos()))
            place = self.mapToView(event.pos())
            if self._gripped:
                self.lifted.emit(place.y(), event.isFinish())
            else:
                self.pointed.emit(place.x())
        else:
            super().mouseDragEvent(event, axis)


class Axis(Guarded, pg.AxisItem):  # type: ignore[misc]
    """An axis with its own number format and without ticks, whose numbers are neither cut nor overlapping.

    pyqtgraph records an axis in a QPicture and replays it in every frame; drawing these few texts is ten times as fast.
    """

    def __init__(self, side: str, spell: Spell, line: bool = True) -> None:
        super().__init__(side, maxTickLength=0)
        self._spell = spell
        self._lined = line
        self._widest = "+1000k"
        self._line: tuple[QPointF, QPointF] | None = None
        self._texts: list[tuple[QRectF, int, str]] = []
        self.picture: QPicture | None = None
        self.setStyle(tickTextOffset=5, autoExpandTextSpace=False, autoReduceTextSpace=True)
        self.enableAutoSIPrefix(False)

    def respell(self, spell: Spell, widest: str) -> None:
        """Change how the numbers are written; none may be wider than `widest`."""
        self._spell = spell
        self._widest = widest
        self.picture = None
        self._fit()

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the numbers as they are written, such as `50k`."""
        return [self._spell(value) for value in values]

    def tickSpacing(self, low: float, high: float, size: float) -> list[tuple[float, float]]:
        """Return the distance of the numbers beside a plot: as small as possible without overlaps."""
        if self.orientation != "left" or not high > low:
            return list(super().tickSpacing(low, high, size))
        least_pixels = NUMBERS_APART * self._metrics().height()
        least_share = max(least_pixels / size, 1 / MOST_NUMBERS)
        least = (high - low) * least_share
        power = floor(log10(least))
        steps = [
            factor * 10.0 ** (power + exponent) for exponent in (-1, 0, 1) for factor in (1, 2, 5)
        ]
        step = next(size for size in steps if size >= least)
        visible_steps = (size for size in steps if size <= min(step, high))
        return [(max(visible_steps, default=step), 0.0)]

    def restyle(self, theme: Theme) -> None:
        """Apply pens and font of the theme, and fit the width of a vertical axis to its numbers."""
        self.setPen(QPen(QColor(theme.colours.line)))
        self.setTextPen(QColor(theme.colours.quiet))
        self.setTickFont(ui_font(theme.small))
        self._fit()

    def _fit(self) -> None:
        if self.orientation == "left":
            self.setWidth(self._metrics().horizontalAdvance(self._widest) + 10)

    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(self.style["tickFont"] or self.font())

    def _updateWidth(self) -> None:
        """Keep the width: pyqtgraph sets it to 0 while the plot is hidden, and does not restore it."""
        super()._updateWidth()
        if self.fixedWidth is not None:
            self.setMaximumWidth(self.fixedWidth)
            self.setMinimumWidth(self.fixedWidth)

    def paint(self, painter: QPainter, option: Any, widget: Any) -> None:
        """Paint the numbers. Their positions are computed again if the range or the size has changed."""
        font = self.style["tickFont"] or self.font()
        if self.picture is None:  # pyqtgraph's sign that the range or the size has changed
            canvas = QPicture()
            measuring = QPainter(canvas)
            measuring.setFont(font)
            specs = self.generateDrawSpecs(measuring)
            measuring.end()
            self.picture = canvas
            self._line = specs[0][1:] if specs and self._lined else None
            self._texts = list(self._fit_texts(specs[2] if specs else ()))
        if self._line is not None:
            painter.setPen(self.pen())
            painter.drawLine(*self._line)
        painter.setFont(font)
        painter.setPen(self.textPen())
        for rect, flags, text in self._texts:
            painter.drawText(rect, int(flags), text)

    def _fit_texts(
        self, texts: Iterable[tuple[QRectF, int, str]]
    ) -> Iterator[tuple[QRectF, int, str]]:
        """Move the numbers at the ends inside the axis, and skip a number that would overlap the previous one."""
        room = self.mapRectFromParent(self.geometry())
        last = QRectF()
        for rect, flags, text in texts:
            across = _shift_into(rect.left(), rect.right(), room.left(), room.right())
            down = _shift_into(rect.top(), rect.bottom(), room.top(), room.bottom())
            place = rect.translated(across, down)
            if not place.adjusted(0, -1, 0, 1).intersects(last):
                yield place, flags, text
                last = place

    @property
    def numbers(self) -> list[tuple[QRectF, str]]:
        """Rectangles and texts of the numbers as last painted."""
        return [(rect, text) for rect, _, text in self._texts]

    def levels(self, low: float, high: float) -> list[float]:
        """Return the values of the numbers, at which the grid lines are painted."""
        if not (height := self.geometry().height()):
            return []  # a maximised neighbour takes all the room
        ticks = self.tickValues(low, high, height + 2)  # the length that pyqtgraph uses itself
        return [float(value) for value in ticks[0][1]] if ticks else []


def token_axis() -> Axis:
    """Return a vertical axis of tokens in thousands, without a line."""
    return Axis("left", short, line=False)


def request_axis() -> Axis:
    """Return a horizontal axis of requests."""
    return Axis("bottom", _spell_request)


def _spell_request(place: float) -> str:
    """Return the number of a request; empty between two requests and before the first one."""
    is_request = place >= 0 and abs(place - round(place)) < 1e-6
    return f"{round(place):,}" if is_request else ""


class _GridLines(Guarded, pg.GraphicsObject):  # type: ignore[misc]
    """Hairlines below the curves, at the numbers of the axis."""

    def __init__(self, box: pg.ViewBox, axis: Axis, theme: Theme) -> None:
        super().__init__()
        self._box = box
        self._axis = axis
        self._theme = theme
        self.setZValue(-10)

    def boundingRect(self) -> QRectF:
        """Return the visible range."""
        return QRectF(self._box.viewRect())

    def paint(self, painter: QPainter, option: Any, widget: Any) -> None:
        """Paint a line at each number."""
        seen = self._box.viewRect()
        pen = QPen(ink(self._theme.colours.faint), 1)
        pen.setCosmetic(True)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(pen)
        for level in self._axis.levels(seen.top(), seen.bottom()):
            painter.drawLine(QPointF(seen.left(), level), QPointF(seen.right(), level))


class Plot(Guarded, QWidget):
    """A widget with one or several plots over the requests of a thread.

    `moved` is emitted with the request that the user clicked, `hovered` with the text about what is under the mouse,
    and `offered` on a right click with the request and the position on the screen.
    """

    moved = Signal(object)
    hovered = Signal(str)
    offered = Signal(int, object)

    def __init__(self, theme: Theme, name: str, margins: tuple[int, int, int, int]) -> None:
        super().__init__()
        self._theme = theme
        self.count = 0
        """Number of requests of the thread."""
        self._axes: list[Axis] = []
        self._boxes: list[PlayheadBox] = []
        """The view boxes whose horizontal axis shows requests."""
        self._graphics = pg.GraphicsLayoutWidget()
        self._graphics.ci.layout.setContentsMargins(*margins)
        self._graphics.scene().sigMouseMoved.connect(self._hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(name)
        self._graphics.setAccessibleName(name)
        self._graphics.setObjectName("PlotView")
        self._column = column(self._graphics, of=self, gap=0)

    def _add_plot(
        self, row: int = 0, col: int = 0, rows: int = 1, requests: bool = True, **axes: Axis
    ) -> pg.PlotItem:
        """Add a plot, over requests or not, with the given axes by side; the default left axis shows tokens, with a
        grid."""
        box = PlayheadBox()
        box.all_wanted.connect(self.show_all)
        if requests:
            box.pointed.connect(self._point)
            box.offered.connect(self._offer)
            self._boxes.append(box)
        if "left" not in axes:
            axes["left"] = axis = token_axis()
            box.addItem(_GridLines(box, axis, self._theme), ignoreBounds=True)
        plot = self._graphics.addPlot(row=row, col=col, rowspan=rows, viewBox=box, axisItems=axes)
        plot.hideButtons()
        plot.setMenuEnabled(False)
        plot.destroyed.connect(plot.ctrlMenu.deleteLater)  # pyqtgraph gives the menu no owner
        if "bottom" not in axes:
            plot.hideAxis("bottom")
        self._axes += axes.values()
        return plot

    @staticmethod
    def _add_curve(plot: pg.PlotItem) -> pg.PlotDataItem:
        """Add a curve that draws no more points than there are pixels."""
        curve = plot.plot()
        curve.setDownsampling(auto=True, method="peak")
        curve.setClipToView(True)
        return curve

    def describe(self, words: str) -> None:
        """Describe the plot for screen readers."""
        self._graphics.setAccessibleDescription(words)

    # -- what is seen --------------------------------------------------------------------------------------------------

    def show_count(self, count: int) -> None:
        """Set the number of requests. Call before setting a range, which is clamped to it."""
        self.count = count
        for box in self._boxes:
            box.setLimits(xMin=-2, xMax=count + 2, minXRange=4)

    def show_all(self) -> None:
        """Show every request of the thread."""
        self._boxes[0].setXRange(-0.5, max(1, self.count) - 0.3, padding=0.01)

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def about(self, at: int) -> str:
        """Return the text about the request under the mouse."""
        raise NotImplementedError

    def nearest(self, x: float) -> int | None:
        """Return the request nearest to an axis position; None in an empty thread."""
        return max(0, min(round(x), self.count - 1)) if self.count else None

    def under(self, where: QPointF) -> int | None:
        """Return the request at a position in the scene; None in an empty thread."""
        return self.nearest(self._boxes[0].mapSceneToView(where).x())

    def _hover(self, where: QPointF) -> None:
        bar = self.under(where)
        self.hovered.emit("" if bar is None else self.about(bar))

    def leaveEvent(self, event: QEvent) -> None:
        """Clear the text about the request under the mouse."""
        super().leaveEvent(event)
        self.hovered.emit("")

    def _point(self, x: float) -> None:
        bar = self.nearest(x)
        if bar is not None:
            self.moved.emit(bar)

    def _offer(self, x: float, where: QPoint) -> None:
        bar = self.nearest(x)
        if bar is not None:
            self.offered.emit(bar, where)

    # -- looks ---------------------------------------------------------------------------------------------------------

    def restyle(self) -> None:
        """Apply pens and background of the theme."""
        self._graphics.setBackground(QColor(self._theme.colours.window))
        for axis in self._axes:
            axis.restyle(self._theme)
        self._set_pens()

    def _set_pens(self) -> None:
        raise NotImplementedError


_ABOVE_WINDOW = 1.04
"""Factor by which the axis extends above the context window, so that the window's line is visible."""


def set_height(plot: pg.PlotItem, top: float, window: int | None, headroom: float) -> None:
    """Set the axis range so that it ends above the highest value and above the context window, in tokens."""
    plot.setYRange(0, max(top * headroom, (window or 0) * _ABOVE_WINDOW), padding=0)


def _shift_into(first: float, last: float, low: float, high: float) -> float:
    """Return by how much the stretch from `first` to `last` must be moved to lie between `low` and `high`."""
    return max(low - first, min(0.0, high - last))
