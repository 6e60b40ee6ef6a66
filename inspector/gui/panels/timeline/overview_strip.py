"""The strip below the timeline: the whole session in small, with a brush over the part that the plot shows."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink, mixed
from inspector.gui.panels.timeline.frame import GUTTER_INSET, SPACE, TimelineFrame, measure_overview
from inspector.gui.widgets.chart import LinearScale
from inspector.gui.widgets.request_range import LEAST
from inspector.gui.widgets.stacked_areas import Frame, StackedAreas

REACH = 6
"""Pixels from an edge of the brush at which it can be taken."""
CLICK = 3
"""Pixels within which a press and a release are a click."""
_HANDLE = (5, 12)


class OverviewStrip(Guarded, QWidget):
    """Drag an edge of the brush to show more or less, its middle to move it; drag beside it to draw another one."""

    all_wanted = Signal()

    def __init__(self, frame: TimelineFrame) -> None:
        super().__init__()
        self._frame = frame
        self._areas: StackedAreas | None = None
        self._top = 1.0
        self._picture: QPixmap | None = None
        self._grip = ""
        """What is dragged: first, last, whole, new; empty for nothing."""
        self._from = 0.0
        """The place where the drag began, in requests."""
        self._start = QPointF()
        self._began = (0.0, 0.0)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Overview of the whole session")
        frame.range.changed.connect(self.update)
        frame.gutters_changed.connect(self.restyle)

    def show_heights(self, heights: Sequence[int | None], top: float) -> None:
        """Show the pressure of every request; `top`: tokens at the upper edge."""
        self._areas = StackedAreas([[height or 0 for height in heights]]) if heights else None
        self._top = top
        self.restyle()

    def restyle(self) -> None:
        """Draw everything again."""
        self._picture = None
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, measure_overview(self._frame.metrics))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    @property
    def across(self) -> LinearScale:
        """The scale of all requests."""
        first, last = self._frame.range.whole
        part = self._frame.across(self.width())
        return LinearScale(first, last, part.start, part.end)

    @property
    def room(self) -> QRectF:
        """Where the session is drawn."""
        across = self.across
        return QRectF(across.start, SPACE, across.end - across.start, self.height() - 2 * SPACE)

    @property
    def brush(self) -> QRectF:
        """Where the visible part lies."""
        across, room = self.across, self.room
        left, right = across.pixel(self._frame.range.first), across.pixel(self._frame.range.last)
        return QRectF(left, room.top(), max(2.0, right - left), room.height())

    # -- painting ------------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._picture = None

    def paintEvent(self, event: QPaintEvent) -> None:
        frame, colours = self._frame, self._frame.theme.colours
        if self._picture is None:
            self._picture = self._draw()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(frame.font)
            painter.drawPixmap(0, 0, self._picture)
            self._paint_brush(painter)
            x = self.across.pixel(frame.place(frame.at))
            painter.setPen(QPen(ink(colours.playhead), 1.5))
            painter.drawLine(QPointF(x, self.room.top()), QPointF(x, self.room.bottom()))
            if frame.left <= 2 * GUTTER_INSET:
                return
            painter.setPen(ink(colours.quiet))
            middle = Qt.AlignmentFlag.AlignVCenter
            name = QRectF(0, 0, frame.left - GUTTER_INSET + 2, self.height())
            painter.drawText(name, middle | Qt.AlignmentFlag.AlignRight, "Whole session")
            beside = QRectF(self.room.right() + GUTTER_INSET, 0, frame.right - GUTTER_INSET, self.height())
            painter.drawText(beside, middle, self.words)

    @property
    def words(self) -> str:
        """How much is shown: `40 of 132 shown`."""
        visible = self._frame.range
        if visible.is_whole:
            return "All requests shown"
        first, last = visible.requests
        return f"{last - first + 1:,} of {visible.count:,} shown"

    def _draw(self) -> QPixmap:
        """Return the session without the brush."""
        ratio, room, colours = self.devicePixelRatioF(), self.room, self._frame.theme.colours
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(ink(colours.window))
        with QPainter(picture) as painter:
            painter.fillRect(room, ink(colours.raised))
            width, height = round(room.width() * ratio), round((room.height() - 2) * ratio)
            if self._areas is not None and width > 0 and height > 0:
                first, last = self._frame.range.whole
                frame = Frame(first, last, self._top, width, height, ratio)
                image = self._areas.image(frame, [mixed(colours.window, colours.missing, 0.6).name()])
                painter.drawImage(QPointF(room.left(), room.top() + 2), image)
        return picture

    def _paint_brush(self, painter: QPainter) -> None:
        colours, room, brush = self._frame.theme.colours, self.room, self.brush
        veil = ink(colours.window).toRgb()
        veil.setAlpha(150)
        painter.fillRect(QRectF(room.left(), room.top(), brush.left() - room.left(), room.height()), veil)
        painter.fillRect(QRectF(brush.right(), room.top(), room.right() - brush.right(), room.height()), veil)
        painter.setPen(QPen(ink(colours.accent), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(brush, 3, 3)
        wide, high = _HANDLE
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink(colours.accent))
        for x in (brush.left(), brush.right()):
            painter.drawRoundedRect(QRectF(x - wide / 2, brush.center().y() - high / 2, wide, high), 2, 2)

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def _grip_at(self, place: QPointF) -> str:
        brush = self.brush
        if abs(place.x() - brush.left()) <= REACH:
            return "first"
        if abs(place.x() - brush.right()) <= REACH:
            return "last"
        is_on_brush = brush.left() < place.x() < brush.right()
        return "whole" if is_on_brush and not self._frame.range.is_whole else "new"

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._grip = self._grip_at(event.position())
            self._start = event.position()
            self._from = self.across.value(event.position().x())
            self._began = self._frame.range.first, self._frame.range.last

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        visible, (first, last) = self._frame.range, self._began
        lowest, highest = visible.whole
        place = max(lowest, min(self.across.value(event.position().x()), highest))
        if not self._grip:
            cursors = {"first": Qt.CursorShape.SizeHorCursor, "last": Qt.CursorShape.SizeHorCursor}
            cursors |= {"whole": Qt.CursorShape.OpenHandCursor, "new": Qt.CursorShape.CrossCursor}
            self.setCursor(cursors[self._grip_at(event.position())])
        elif self._grip == "first":
            visible.show(min(place, last - LEAST), last)
        elif self._grip == "last":
            visible.show(first, max(place, first + LEAST))
        elif self._grip == "whole":
            moved = max(lowest - first, min(place - self._from, highest - last))
            visible.show(first + moved, last + moved)
        elif abs(event.position().x() - self._start.x()) > CLICK:
            visible.show(*sorted((self._from, place)))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click beside the brush moves it there."""
        is_click = abs(event.position().x() - self._start.x()) <= CLICK
        if self._grip == "new" and is_click and not self._frame.range.is_whole:
            half = self._frame.range.width / 2
            self._frame.range.move(self._from - self._frame.range.first - half)
        self._grip = ""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom as the plot does."""
        self._frame.turn_wheel(event, self.width())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show the whole session."""
        self._grip = ""
        self.all_wanted.emit()
