"""Mouse and keyboard handling of the timeline's plot: move the playhead, the view and watermarks; select requests."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QToolTip

from inspector.gui.look.labels import tip
from inspector.gui.panels.timeline.frame import STEP, ZOOM, TimelineFrame
from inspector.gui.panels.timeline.line_drag import REACH, LineDrag
from inspector.gui.panels.timeline.plot_picture import PlotPicture
from inspector.workbench.pressure.scale import GaugeLine

DRAG = 4
"""Pixels of movement after which a press becomes a drag."""
_KEYS = {Qt.Key.Key_W: "in", Qt.Key.Key_S: "out", Qt.Key.Key_A: "left", Qt.Key.Key_D: "right"}


class PlotCanvas(PlotPicture):
    """The interactive plot of the timeline.

    A click moves the playhead. A drag moves the view (the playhead while the whole session is shown); with Shift it
    selects requests. The keys W, A, S and D zoom and move the view while the plot has the focus.
    """

    offered = Signal(int, object)
    """Emitted on a right click, with the request and the position on the screen."""
    all_wanted = Signal()
    chose = Signal(object)
    """Emitted with the `range` of requests that the user selected; None if the selection was cleared."""

    def __init__(self, frame: TimelineFrame, drag: LineDrag) -> None:
        super().__init__(frame)
        self._line_drag = drag
        self.about: Callable[[int], str] = lambda at: ""
        """Returns the tooltip of a request."""
        self._mode = ""
        """What the mouse drags: `line`, `playhead`, `view` or `selection`; `press` before it moves; empty: no button is
        down."""
        self._pressed = QPointF()
        self._former_first = 0.0
        """First edge of the visible range when the button was pressed, in requests."""
        self._former_at: int | None = None
        """The request of the playhead before the last click."""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def line_at(self, place: QPointF) -> GaugeLine | None:
        """Return the watermark within reach of a position; None if there is none."""
        reachable = self.area.adjusted(-2 * REACH, 0, 0, 0)
        if not reachable.contains(place):
            return None
        distances = [abs(self.up.pixel(line.tokens) - place.y()) for line in self.lines.watermarks]
        if not distances or min(distances) > REACH:
            return None
        return self.lines.watermarks[distances.index(min(distances))]

    def request_at(self, place: QPointF) -> int | None:
        """Return the request at a position; None if there is none."""
        if not self._frame.range.count:
            return None
        return self._frame.range.nearest(self.across.value(place.x()))

    def _is_on_ruler(self, place: QPointF) -> bool:
        return place.y() > self.area.bottom()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.RightButton:
            request = self.request_at(event.position())
            if request is not None:
                self.offered.emit(request, event.globalPosition().toPoint())
            return
        if event.button() != Qt.MouseButton.LeftButton:
            return
        self._pressed = event.position()
        self._mode = "press"
        self._former_first = self._frame.range.first
        line = self.line_at(event.position())
        if line is not None:
            self._mode = "line"
            self._line_drag.take(line)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = event.position()
        if self._mode == "press" and (place - self._pressed).manhattanLength() >= DRAG:
            self._mode = self._drag_mode(event)
        if self._mode == "line":
            self._line_drag.move(self.up.value(place.y()))
        elif self._mode == "playhead":
            self._frame.moved.emit(self.request_at(place))
        elif self._mode == "view":
            self._drag_view(place)
        elif self._mode == "selection":
            self._select_to(place)
        elif not self._mode:
            self._hover(place)

    def _drag_mode(self, event: QMouseEvent) -> str:
        """Return what a drag moves.

        If the whole session is shown, that is the playhead, because the view cannot move.
        """
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            return "selection"
        if self._is_on_ruler(self._pressed) or self._frame.range.is_whole:
            return "playhead"
        self.setCursor(Qt.CursorShape.ClosedHandCursor)
        return "view"

    def _drag_view(self, place: QPointF) -> None:
        shift = (self._pressed.x() - place.x()) / (self.across.per_value or 1)
        self._frame.range.move(self._former_first + shift - self._frame.range.first)

    def _select_to(self, place: QPointF) -> None:
        first, last = sorted((self.request_at(self._pressed) or 0, self.request_at(place) or 0))
        self._frame.chosen = range(first, last + 1)
        self.redraw()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        mode = self._mode
        self._mode = ""
        if mode == "press":
            self._former_at = self._frame.at
            request = self.request_at(self._pressed)
            if request is not None:
                self._frame.moved.emit(request)
        elif mode == "line":
            self._line_drag.drop()
        elif mode == "selection":
            self.chose.emit(self._frame.chosen)
        self._hover(event.position())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show the whole session, and move the playhead back to its position before the first click.

        On a watermark, restore the policy's own value.
        """
        line = self.line_at(event.position())
        if line is not None:
            self._line_drag.give_back(line)
            return
        if event.button() == Qt.MouseButton.LeftButton and self._frame.range.count:
            self._frame.moved.emit(self._former_at)
            self.all_wanted.emit()

    def _hover(self, place: QPointF) -> None:
        shape = Qt.CursorShape.ArrowCursor
        if self.line_at(place) is not None:
            shape = Qt.CursorShape.SplitVCursor
        elif self.area.contains(place) and not self._frame.range.is_whole:
            shape = Qt.CursorShape.OpenHandCursor
        self.setCursor(shape)
        self._frame.hovered.emit(self.request_at(place) if self._is_over_data(place) else None)

    def _is_over_data(self, place: QPointF) -> bool:
        return self.area.left() <= place.x() <= self.area.right()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._frame.hovered.emit(None)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the mouse position; move with Shift or a horizontal wheel."""
        self._frame.turn_wheel(event, self.width())

    # -- keys ----------------------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        visible = self._frame.range
        act = self._act_of(event)
        if act == "in":
            visible.zoom(1 / ZOOM, self._zoom_middle())
        elif act == "out":
            visible.zoom(ZOOM, self._zoom_middle())
        elif act:
            direction = 1 if act == "right" else -1
            visible.move(STEP * visible.width * direction)
        elif event.key() == Qt.Key.Key_Escape and self._frame.chosen is not None:
            self.chose.emit(None)
        else:
            super().keyPressEvent(event)

    def _zoom_middle(self) -> float:
        """Return the axis position that a zoom by key keeps: the playhead if it is visible, otherwise the middle."""
        visible = self._frame.range
        playhead = self._frame.place(self._frame.at)
        if visible.first <= playhead <= visible.last:
            return playhead
        return (visible.first + visible.last) / 2

    @staticmethod
    def _act_of(event: QKeyEvent) -> str:
        """Return what a key does to the view: in, out, left or right; empty for nothing."""
        is_plain = event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        )
        return _KEYS.get(Qt.Key(event.key()), "") if is_plain else ""

    def event(self, event: QEvent) -> bool:
        """Claim W, A, S and D, which the window uses as shortcuts, and show the tooltip."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and self._act_of(event)
        ):
            event.accept()
            return True
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), tip(self.words_at(QPointF(event.pos()))), self)
            return True
        return super().event(event)

    def words_at(self, place: QPointF) -> str:
        """Return the tooltip at a position: of the label there, or of the request if there is no label."""
        about_label = self.gutter.about(place)
        request = self.request_at(place)
        if about_label or request is None or not self._is_over_data(place):
            return about_label
        return self.about(request)
