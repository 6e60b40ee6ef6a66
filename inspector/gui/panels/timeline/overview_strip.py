"""The strip below the timeline: the whole session, with a frame around the part that the plot shows."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPixmap, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink, mixed
from inspector.gui.panels.timeline.frame import GUTTER_INSET, SPACE, TimelineFrame, measure_overview
from inspector.gui.widgets.chart import LinearScale, paint_rounded, paint_vertical, solid_pen
from inspector.gui.widgets.request_range import LEAST
from inspector.gui.widgets.stacked_areas import Frame, StackedAreas

REACH = 6
"""Pixels from an edge of the frame within which it can be dragged."""
CLICK = 3
"""Maximum pixels between press and release of a click."""
_HANDLE = (5, 12)
"""Width and height of the frame's handles in pixels."""
_CURSORS = {
    "first": Qt.CursorShape.SizeHorCursor,
    "last": Qt.CursorShape.SizeHorCursor,
    "whole": Qt.CursorShape.OpenHandCursor,
    "new": Qt.CursorShape.CrossCursor,
}
"""The mouse cursor, by what a drag would change."""


class OverviewStrip(Guarded, QWidget):
    """The overview of the session. The brush is the frame around the visible part.

    Dragging an edge of the brush resizes it, dragging its middle moves it, and dragging beside it draws a new brush.
    """

    all_wanted = Signal()

    def __init__(self, frame: TimelineFrame) -> None:
        super().__init__()
        self._frame = frame
        self._areas: StackedAreas | None = None
        self._top = 1.0
        self._picture: QPixmap | None = None
        self._grip = ""
        """What is dragged: `first` or `last` edge, `whole` brush, `new` brush; empty for nothing."""
        self._pressed_place = 0.0
        """Axis position at which the drag began, in requests."""
        self._pressed = QPointF()
        self._former_range = (0.0, 0.0)
        """The visible range when the drag began."""
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Overview of the whole session")
        frame.range.changed.connect(self.update)
        frame.gutters_changed.connect(self.restyle)

    def show_heights(self, heights: Sequence[int | None], top: float) -> None:
        """Show the pressure of every request; `top` is the number of tokens at the upper edge."""
        self._areas = StackedAreas([[height or 0 for height in heights]]) if heights else None
        self._top = top
        self.restyle()

    def restyle(self) -> None:
        """Discard the cached picture and repaint."""
        self._picture = None
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, measure_overview(self._frame.metrics))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    @property
    def across(self) -> LinearScale:
        """The horizontal scale of the whole session."""
        first, last = self._frame.range.whole
        part = self._frame.across(self.width())
        return LinearScale(first, high=last, start=part.start, end=part.end)

    @property
    def room(self) -> QRectF:
        """The rectangle of the session in pixels."""
        across = self.across
        return QRectF(across.start, SPACE, across.end - across.start, self.height() - 2 * SPACE)

    @property
    def brush(self) -> QRectF:
        """The rectangle of the visible part in pixels."""
        across = self.across
        room = self.room
        left, right = across.pixel(self._frame.range.first), across.pixel(self._frame.range.last)
        return QRectF(left, room.top(), max(2.0, right - left), room.height())

    # -- painting ------------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._picture = None

    def paintEvent(self, event: QPaintEvent) -> None:
        frame = self._frame
        room = self.room
        if self._picture is None:
            self._picture = self._draw()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(frame.font)
            painter.drawPixmap(0, 0, self._picture)
            self._paint_brush(painter)
            x = self.across.pixel(frame.place(frame.at))
            pen = solid_pen(frame.theme.colours.playhead, width=1.5)
            paint_vertical(painter, x, room.top(), room.bottom(), pen)
            if frame.left > 2 * GUTTER_INSET:
                self._paint_words(painter)

    def _paint_words(self, painter: QPainter) -> None:
        """Paint the name of the strip to its left, and the visible share to its right."""
        painter.setPen(ink(self._frame.theme.colours.quiet))
        middle = Qt.AlignmentFlag.AlignVCenter
        before = QRectF(0, 0, self._frame.left - GUTTER_INSET + 2, self.height())
        painter.drawText(before, middle | Qt.AlignmentFlag.AlignRight, "Whole session")
        left = self.room.right() + GUTTER_INSET
        behind = QRectF(left, 0, self._frame.right - GUTTER_INSET, self.height())
        painter.drawText(behind, middle, self.words)

    @property
    def words(self) -> str:
        """The visible share in words, such as `40 of 132 shown`."""
        visible = self._frame.range
        if visible.is_whole:
            return "All requests shown"
        first, last = visible.requests
        return f"{last - first + 1:,} of {visible.count:,} shown"

    def _draw(self) -> QPixmap:
        """Return a picture of the session without the brush."""
        ratio = self.devicePixelRatioF()
        colours = self._frame.theme.colours
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(ink(colours.window))
        with QPainter(picture) as painter:
            painter.fillRect(self.room, ink(colours.raised))
            if self._areas is not None:
                self._paint_areas(painter, self._areas, ratio)
        return picture

    def _paint_areas(self, painter: QPainter, areas: StackedAreas, ratio: float) -> None:
        room = self.room
        colours = self._frame.theme.colours
        width, height = round(room.width() * ratio), round((room.height() - 2) * ratio)
        if min(width, height) < 1:
            return
        first, last = self._frame.range.whole
        frame = Frame(first, last, self._top, width, height, ratio)
        colour = mixed(colours.window, colours.missing, share=0.6).name()
        painter.drawImage(QPointF(room.left(), room.top() + 2), areas.image(frame, [colour]))

    def _paint_brush(self, painter: QPainter) -> None:
        """Paint the frame of the visible part with a handle at each edge, and dim the other parts."""
        colours = self._frame.theme.colours
        room = self.room
        brush = self.brush
        veil = ink(colours.window).toRgb()
        veil.setAlpha(150)
        before = QRectF(room)
        behind = QRectF(room)
        before.setRight(brush.left())
        behind.setLeft(brush.right())
        painter.fillRect(before, veil)
        painter.fillRect(behind, veil)
        painter.setPen(solid_pen(colours.accent, width=1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(brush, 3, 3)
        handle = QRectF(0, 0, *_HANDLE)
        for x in (brush.left(), brush.right()):
            handle.moveCenter(QPointF(x, brush.center().y()))
            paint_rounded(painter, room=handle, colour=colours.accent, radius=2)

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
            self._pressed = event.position()
            self._pressed_place = self.across.value(event.position().x())
            self._former_range = self._frame.range.first, self._frame.range.last

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grip:
            self._drag_to(event.position())
        else:
            self.setCursor(_CURSORS[self._grip_at(event.position())])

    def _drag_to(self, position: QPointF) -> None:
        """Change the visible range according to what is dragged."""
        visible = self._frame.range
        (first, last) = self._former_range
        lowest, highest = visible.whole
        place = max(lowest, min(self.across.value(position.x()), highest))
        if self._grip == "first":
            visible.show(min(place, last - LEAST), last)
        elif self._grip == "last":
            visible.show(first, max(place, first + LEAST))
        elif self._grip == "whole":
            shift = max(lowest - first, min(place - self._pressed_place, highest - last))
            visible.show(first + shift, last + shift)
        elif not self._is_click(position):
            visible.show(*sorted((self._pressed_place, place)))

    def _is_click(self, position: QPointF) -> bool:
        return abs(position.x() - self._pressed.x()) <= CLICK

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Move the brush to a click beside it."""
        visible = self._frame.range
        if self._grip == "new" and self._is_click(event.position()) and not visible.is_whole:
            visible.move(self._pressed_place - visible.first - visible.width / 2)
        self._grip = ""

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._frame.turn_wheel(event, self.width())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._grip = ""
        self.all_wanted.emit()
