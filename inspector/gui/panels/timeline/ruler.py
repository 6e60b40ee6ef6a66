"""The ruler below the plot: requests and, below them, the time of day; and the flag of the playhead on it."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen

from inspector.gui.look.colours import ink
from inspector.gui.panels.timeline.frame import GUTTER_INSET, SMALLEST_GUTTER, TICK, TimelineFrame, measure_ruler
from inspector.gui.widgets.chart import LinearScale, round_step

APART = 22
"""Pixels between two numbers."""
FLAG_INSET = 7
"""Pixels beside the words of the flag."""


def clock_time(moment: str) -> str:
    """Return `14:02` of an ISO time; empty if there is none."""
    return moment[11:16]


def range_words(first: int, last: int, times: Sequence[str], is_whole: bool) -> str:
    """Return `Requests 41 to 78 of 225, 14:02 to 14:40`, with dates if they differ; without `of` for a whole session.

    Args:
        times: of each request, in ISO format; empty if not recorded.
    """
    count = len(times)
    if not count:
        return "No requests"
    words = f"Request {first:,}" if first == last else f"Requests {first:,} to {last:,}"
    if not is_whole:
        words += f" of {count:,}"
    began, ended = times[first], times[last]
    if not clock_time(began) or not clock_time(ended):
        return words
    if began[:10] != ended[:10]:
        return f"{words}, {began[:10]} {clock_time(began)} to {ended[:10]} {clock_time(ended)}"
    if first == last:
        return f"{words}, {clock_time(began)}"
    return f"{words}, {clock_time(began)} to {clock_time(ended)}"


class Ruler:
    """Paints the ruler of one plot."""

    def __init__(self, frame: TimelineFrame) -> None:
        self._frame = frame
        self.times: Sequence[str] = ()
        """Of each request, in ISO format."""
        self.numbers: list[tuple[QRectF, str]] = []
        """The requests that were written last."""

    @property
    def height(self) -> int:
        """Pixels of both rows with the ticks."""
        return measure_ruler(self._frame.metrics)

    def paint(self, painter: QPainter, top: float, across: LinearScale, flag: QRectF) -> None:
        """Paint ticks, requests and times, without those that `flag` would hide."""
        frame, metrics, colours = self._frame, self._frame.metrics, self._frame.theme.colours
        widest = max(metrics.horizontalAdvance(f"{frame.range.count:,}"), metrics.horizontalAdvance("00:00"))
        step = int(max(1, round_step((widest + APART) / across.per_value)))
        self._paint_ticks(painter, top, across, step)
        self.numbers = []
        high = metrics.height()
        first, last = frame.range.requests
        for at in range(-(-first // step) * step, last + 1, step):
            self._paint_tick(painter, top, across.pixel(at), at, flag)
        if frame.left <= SMALLEST_GUTTER:
            return
        painter.setPen(ink(colours.quiet))
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        names = ("Request", "Time") if any(self.times) else ("Request",)
        for n, name in enumerate(names):
            beside = max(2 * GUTTER_INSET, widest / 2 + GUTTER_INSET)  # the first time reaches into the gutter
            room = QRectF(0, top + TICK + n * high, frame.left - beside, high)
            painter.drawText(room, flags, name)

    def _paint_ticks(self, painter: QPainter, top: float, across: LinearScale, step: int) -> None:
        """Paint a stroke at every number, and shorter ones between them."""
        painter.setPen(QPen(ink(self._frame.theme.colours.quiet), 1))
        between = next((step // parts for parts in (5, 2) if step % parts == 0), step)
        first, last = self._frame.range.requests
        for at in range(-(-first // between) * between, last + 1, between):
            x, long = across.pixel(at), TICK if at % step == 0 else TICK / 2
            painter.drawLine(QPointF(x, top), QPointF(x, top + long))

    def _paint_tick(self, painter: QPainter, top: float, x: float, at: int, flag: QRectF) -> None:
        colours, metrics = self._frame.theme.colours, self._frame.metrics
        time = clock_time(self.times[at]) if at < len(self.times) else ""
        words = f"{at:,}"
        wide = max(metrics.horizontalAdvance(words), metrics.horizontalAdvance(time))
        if flag.left() < x + wide / 2 and x - wide / 2 < flag.right():
            return
        wide, high = metrics.horizontalAdvance(words), metrics.height()
        room = QRectF(x - wide / 2, top + TICK, wide, high)
        self.numbers.append((room, words))
        painter.setPen(ink(colours.text))
        painter.drawText(QPointF(room.left(), room.top() + metrics.ascent()), words)
        painter.setPen(ink(colours.quiet))
        left = x - metrics.horizontalAdvance(time) / 2
        painter.drawText(QPointF(left, room.bottom() + metrics.ascent()), time)

    def flag_room(self, top: float, x: float, width: int) -> QRectF:
        """Return where the flag of the playhead lies; it never leaves the widget."""
        metrics = QFontMetricsF(self._bold)
        wide = max(metrics.horizontalAdvance(words) for words in self._flag_words) + 2 * FLAG_INSET
        left = max(0.0, min(x - wide / 2, width - wide))
        return QRectF(left, top + 1, wide, self.height - 2)

    @property
    def _bold(self) -> QFont:
        bold = QFont(self._frame.font)
        bold.setWeight(QFont.Weight.DemiBold)
        return bold

    @property
    def _flag_words(self) -> tuple[str, str]:
        at = self._frame.at
        if at is None:
            return "end", clock_time(self.times[-1]) if self.times else ""
        return f"{at:,}", clock_time(self.times[at]) if at < len(self.times) else ""

    def paint_flag(self, painter: QPainter, top: float, x: float, width: int) -> None:
        """Paint where the playhead is: its request and the time, inverted."""
        colours, room = self._frame.theme.colours, self.flag_room(top, x, width)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink(colours.playhead))
        painter.drawRoundedRect(room, 3, 3)
        painter.setPen(ink(colours.window))
        number, time = self._flag_words
        half = QRectF(room.left(), room.top() + TICK / 2, room.width(), (room.height() - TICK) / 2)
        painter.setFont(self._bold)
        painter.drawText(half, Qt.AlignmentFlag.AlignCenter, number)
        painter.setFont(self._frame.font)
        painter.drawText(half.translated(0, half.height()), Qt.AlignmentFlag.AlignCenter, time)
