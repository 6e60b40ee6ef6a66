"""The plot of the timeline under the mouse and the keys: the playhead, the view, watermarks, selected requests."""

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
"""Pixels from which on a press becomes a drag."""
_KEYS = {Qt.Key.Key_W: "in", Qt.Key.Key_S: "out", Qt.Key.Key_A: "left", Qt.Key.Key_D: "right"}


class PlotCanvas(PlotPicture):
    """A click moves the playhead, a drag the view (or the playhead while the whole session is shown), Shift and a drag
    select. Keys W, A, S and D zoom and move the view while the canvas has the focus."""

    offered = Signal(int, object)
    """A right click at a request, and where on the screen."""
    all_wanted = Signal()
    chose = Signal(object)
    """The user selected this `range` of requests; None: no longer any."""

    def __init__(self, frame: TimelineFrame, drag: LineDrag) -> None:
        super().__init__(frame)
        self._line_drag = drag
        self.about: Callable[[int], str] = lambda at: ""
        """What a hover says of a request."""
        self._mode = ""
        """What the mouse drags: line, playhead, view, selection; `press` before it is known."""
        self._pressed = QPointF()
        self._began = (0.0, 0.0)
        self._before: int | None = None
        """Where the playhead was before the last click."""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def line_at(self, place: QPointF) -> GaugeLine | None:
        """Return the watermark within reach of a place."""
        area, up = self.area, self.up
        if not area.left() - 2 * REACH <= place.x() <= area.right() or not area.top() <= place.y() <= area.bottom():
            return None
        near = [(abs(up.pixel(line.tokens) - place.y()), line) for line in self.lines.watermarks]
        near = [pair for pair in near if pair[0] <= REACH]
        return min(near, key=lambda pair: pair[0])[1] if near else None

    def request_at(self, place: QPointF) -> int | None:
        """Return the request at a place; None if there is none."""
        if not self._frame.range.count:
            return None
        return self._frame.range.nearest(self.across.value(place.x()))

    def _is_on_ruler(self, place: QPointF) -> bool:
        return place.y() > self.area.bottom()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.RightButton:
            at = self.request_at(event.position())
            if at is not None:
                self.offered.emit(at, event.globalPosition().toPoint())
            return
        if event.button() != Qt.MouseButton.LeftButton:
            return
        self._pressed, self._mode = event.position(), "press"
        self._began = self._frame.range.first, self._frame.range.last
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
        """Return what this drag moves: of a session that is shown whole the playhead, as there is no view to move."""
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            return "selection"
        if self._is_on_ruler(self._pressed) or self._frame.range.is_whole:
            return "playhead"
        self.setCursor(Qt.CursorShape.ClosedHandCursor)
        return "view"

    def _drag_view(self, place: QPointF) -> None:
        moved = (self._pressed.x() - place.x()) / (self.across.per_value or 1)
        self._frame.range.move(self._began[0] + moved - self._frame.range.first)

    def _select_to(self, place: QPointF) -> None:
        first, last = sorted((self.request_at(self._pressed) or 0, self.request_at(place) or 0))
        self._frame.chosen = range(first, last + 1)
        self.redraw()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        mode, self._mode = self._mode, ""
        if mode == "press":
            self._before = self._frame.at
            at = self.request_at(self._pressed)
            if at is not None:
                self._frame.moved.emit(at)
        elif mode == "line":
            self._line_drag.drop()
        elif mode == "selection":
            self.chose.emit(self._frame.chosen)
        self._hover(event.position())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show the whole session; the playhead goes back to where it was before the first click. On a watermark: put it
        back where the policy has it."""
        line = self.line_at(event.position())
        if line is not None:
            self._line_drag.give_back(line)
            return
        if event.button() == Qt.MouseButton.LeftButton and self._frame.range.count:
            self._frame.moved.emit(self._before)
            self.all_wanted.emit()

    def _hover(self, place: QPointF) -> None:
        is_line = self.line_at(place) is not None
        shape = Qt.CursorShape.SplitVCursor if is_line else Qt.CursorShape.ArrowCursor
        if not is_line and self.area.contains(place) and not self._frame.range.is_whole:
            shape = Qt.CursorShape.OpenHandCursor
        self.setCursor(shape)
        is_data = self.area.left() <= place.x() <= self.area.right()
        self._frame.hovered.emit(self.request_at(place) if is_data else None)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._frame.hovered.emit(None)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the mouse; with Shift, or sideways, move."""
        self._frame.turn_wheel(event, self.width())

    # -- keys ----------------------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        visible, act = self._frame.range, self._act_of(event)
        if act == "in" or act == "out":
            current = self._frame.place(self._frame.at)
            is_visible = visible.first <= current <= visible.last
            middle = current if is_visible else (visible.first + visible.last) / 2
            visible.zoom(1 / ZOOM if act == "in" else ZOOM, middle)
        elif act:
            visible.move(STEP * visible.width * (1 if act == "right" else -1))
        elif event.key() == Qt.Key.Key_Escape and self._frame.chosen is not None:
            self.chose.emit(None)
        else:
            super().keyPressEvent(event)

    @staticmethod
    def _act_of(event: QKeyEvent) -> str:
        is_plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        return _KEYS.get(Qt.Key(event.key()), "") if is_plain else ""

    def event(self, event: QEvent) -> bool:
        """Keep W, A, S and D from the window's own keys."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._act_of(event):
            event.accept()
            return True
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), tip(self.words_at(QPointF(event.pos()))), self)
            return True
        return super().event(event)

    def words_at(self, place: QPointF) -> str:
        """Return what a hover says at a place: of a label, else of the request there."""
        label = self.gutter.about(place)
        at = self.request_at(place)
        is_data = self.area.left() <= place.x() <= self.area.right()
        return label or (self.about(at) if is_data and at is not None else "")
