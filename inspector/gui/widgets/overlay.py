"""A layer over a plot that paints playhead, labels and the value at the mouse."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QGraphicsView, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.label_space import LABELS_APART, LabelSpace
from inspector.gui.widgets.request_range import end_place

ViewBox: TypeAlias = Any
"""A view box of pyqtgraph, which only `plot.py` imports."""


class Overlay(Guarded, QWidget):
    """A transparent widget over a plot, which paints everything that pyqtgraph does not. It passes mouse events
    through.

    It reads positions from the view box whenever it paints.
    """

    def __init__(self, view: QGraphicsView, theme: Theme, box: ViewBox) -> None:
        super().__init__(view.viewport())
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setStyleSheet("background: transparent")
        view.viewport().installEventFilter(self)
        box.sigRangeChanged.connect(self.update)
        self._view = view
        self._theme = theme
        self._box = box
        self._at: int | None = None
        self._picture: QPixmap | None = None
        """The last picture; None if it is outdated."""
        self._pictured: tuple[object, ...] = ()
        """Geometry, font and colours of the last picture."""
        self._area = QRectF()
        self._pixels = QRectF()
        self._range = QRectF()
        """The covered pixels, the visible range in pixels, and the visible range in requests and tokens, set when
        painting."""
        self.labels = LabelSpace(self._area)
        """The labels of the last picture."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the overlay as large as the plot."""
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._view.viewport().rect())
        return False

    def show_playhead(self, at: int | None) -> None:
        """Show the playhead at request `at`; None: after the last request."""
        self._at = at
        self.update()

    def update(self, *_: object) -> None:
        """Discard the picture and schedule a repaint."""
        self._picture = None
        super().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint everything, or copy the last picture if only the plot below has changed."""
        self._area, self._range = area_of(self._box), QRectF(self._box.viewRect())
        self._pixels = QRectF(self._box.mapRectToScene(self._box.rect()))
        font = ui_font(self._theme.small)
        ratio = self.devicePixelRatioF()
        key = (self._area, self._range, self._pixels, self.size(), ratio, font, self._theme.colours)
        if self._picture is None or self._pictured != key:
            picture = QPixmap(self.size() * ratio)
            picture.setDevicePixelRatio(ratio)
            picture.fill(Qt.GlobalColor.transparent)
            with QPainter(picture) as painter:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setFont(font)
                self.labels = LabelSpace(self._area, self._is_crossed)
                self._paint(painter, self._area)
            self._picture = picture
            self._pictured = key
        with QPainter(self) as painter:
            painter.drawPixmap(0, 0, self._picture)

    def _is_crossed(self, room: QRectF) -> bool:
        return False

    def _paint(self, painter: QPainter, area: QRectF) -> None:
        raise NotImplementedError

    def _point(self, x: float, y: float) -> QPointF:
        """Convert request and tokens to pixels.

        Computed here because Qt's mapping takes six calls for each of many points.
        """
        area = self._pixels
        seen = self._range
        right = (x - seen.left()) / seen.width() * area.width()
        up = (y - seen.top()) / seen.height() * area.height()
        return QPointF(area.left() + right, area.bottom() - up)

    def _place(self, at: int | None, count: int) -> float:
        """Return the axis position of a request in a thread of `count` requests; `at` None: the position of the end."""
        return end_place(count) if at is None else float(at)

    def _paint_playhead(self, painter: QPainter, x: float, foot: float, above: float = 2) -> None:
        """Paint the line from the top down to `foot`, and the request number `above` pixels above the bottom."""
        area = self._area
        colour = self._theme.colours.playhead
        painter.setPen(QPen(ink(colour), 1.5))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, foot))
        word = "end" if self._at is None else f"{self._at:,}"
        size = label_size(painter, word)
        top = area.bottom() - size.height() - above
        far = size.width()
        near = (x + 4, x - far - 4)
        others = (x + 9, *(x - far - away for away in range(9, 60, 5)))
        ups = [top - line * size.height() for line in range(9)]
        corners = [QPointF(left, up) for up in (top, area.top() + 1) for left in near]
        corners += [QPointF(left, up) for up in ups for left in (*near, *others)]
        room = self.labels.place(size, corners) or QRectF(
            corners[0 if x + far + 4 < area.right() else 1], size
        )
        self._paint_on_ground(painter, room, word, colour)

    def _paint_label(
        self,
        painter: QPainter,
        words: str,
        corners: Iterable[QPointF],
        colour: str,
        slides: bool = False,
        short: str = "",
        over: bool = True,
    ) -> None:
        """Paint a label at the first free one of its possible top left corners, or skip it if none is free.

        Tries the whole text, then `short`; if `over`, then on top of a curve.

        Args:
            painter: The active painter.
            words: The text of the label.
            corners: Possible top left corners, in order of preference.
            colour: Colour of the text.
            slides: As in `LabelSpace.place`.
            short: A shorter text that is tried before a curve is covered.
            over: As in `LabelSpace.place`.
        """
        places = list(corners)
        tries = ((words, False), (short, False), *(((short or words, True),) if over else ()))
        for text, on_curve in tries:
            if not text:
                continue
            room = self.labels.place(
                label_size(painter, text), places, slides, LABELS_APART / 2, on_curve
            )
            if room is not None:
                self._paint_on_ground(painter, room, words=text, colour=colour)
                return

    def _paint_on_ground(self, painter: QPainter, room: QRectF, words: str, colour: str) -> None:
        """Paint a text on a background that covers curves and lines."""
        if not self.labels.is_crossed(room):  # the background would hide the curve
            painter.fillRect(room, ink(self._theme.colours.window))
        painter.setPen(ink(colour))
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, words)


def label_size(painter: QPainter, words: str) -> QSizeF:
    """Return the size of a label in the painter's font, with a margin on either side."""
    metrics = QFontMetricsF(painter.font())
    return QSizeF(metrics.horizontalAdvance(words) + 4, metrics.height())


def area_of(box: ViewBox) -> QRectF:
    """Return the pixels that a view box covers."""
    return QRectF(box.mapRectToScene(box.boundingRect()))
