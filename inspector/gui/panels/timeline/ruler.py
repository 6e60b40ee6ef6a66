"""The ruler below the plot: request numbers with times of day below them, and the flag of the playhead."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter

from inspector.gui.look.colours import ink
from inspector.gui.panels.timeline.frame import (
    GUTTER_INSET,
    SMALLEST_GUTTER,
    TICK,
    TimelineFrame,
    measure_ruler,
)
from inspector.gui.widgets.chart import (
    LinearScale,
    bold_font,
    paint_rounded,
    paint_vertical,
    round_step,
    solid_pen,
)

APART = 22
"""Minimum pixels between two numbers."""
FLAG_INSET = 7
"""Pixels on each side of the text in the flag."""


def clock_time(moment: str) -> str:
    """Return the hours and minutes of an ISO time, such as `14:02`; empty if there is none."""
    return moment[11:16]


def range_words(first: int, last: int, times: Sequence[str], is_whole: bool) -> str:
    """Return a text such as `Requests 41 to 78 of 225, 14:02 to 14:40`, with dates if they differ.

    Args:
        first: Index of the first request.
        last: Index of the last request.
        times: ISO time of each request; empty texts if not recorded.
        is_whole: Leave out `of 225`, because all requests are shown.
    """
    count = len(times)
    if not count:
        return "No requests"
    words = f"Request {first:,}" if first == last else f"Requests {first:,} to {last:,}"
    if not is_whole:
        words += f" of {count:,}"
    began = times[first]
    ended = times[last]
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
        """ISO time of each request; empty texts if not recorded."""
        self.numbers: list[tuple[QRectF, str]] = []
        """Rectangles and texts of the numbers as last painted."""

    @property
    def height(self) -> int:
        """Height of ticks, numbers and times in pixels."""
        return measure_ruler(self._frame.metrics)

    def paint(self, painter: QPainter, top: float, across: LinearScale, flag: QRectF) -> None:
        """Paint ticks, numbers and times.

        Args:
            painter: The active painter.
            top: Upper edge of the ruler in pixels.
            across: The horizontal scale in requests.
            flag: The rectangle of the flag, at which no number is painted; empty without a flag.
        """
        step = self._number_step(across)
        self._paint_ticks(painter, top, across, step)
        self.numbers = []
        for value in self._multiples_in_sight(step):
            self._paint_number(painter, top, x=across.pixel(value), at=value, flag=flag)
        if self._frame.left > SMALLEST_GUTTER:
            self._paint_names(painter, top)

    @property
    def _widest(self) -> float:
        """Width in pixels of the widest number or time."""
        metrics = self._frame.metrics
        largest_number = f"{self._frame.range.count:,}"
        return max(metrics.horizontalAdvance(largest_number), metrics.horizontalAdvance("00:00"))

    def _number_step(self, across: LinearScale) -> int:
        """Return how many requests apart the numbers must be so that they do not touch."""
        least = (self._widest + APART) / across.per_value
        return int(max(1, round_step(least)))

    def _multiples_in_sight(self, step: int) -> range:
        """Return the visible requests that are multiples of `step`."""
        first, last = self._frame.range.requests
        first_multiple = -(-first // step) * step
        return range(first_multiple, last + 1, step)

    def _paint_names(self, painter: QPainter, top: float) -> None:
        """Paint the names of the two rows in the left gutter, but not where the first number may extend into it."""
        painter.setPen(ink(self._frame.theme.colours.quiet))
        alignment = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        beside = max(2 * GUTTER_INSET, self._widest / 2 + GUTTER_INSET)
        height = self._frame.metrics.height()
        room = QRectF(0, top + TICK, self._frame.left - beside, height)
        painter.drawText(room, alignment, "Request")
        if any(self.times):
            painter.drawText(room.translated(0, height), alignment, "Time")

    def _paint_ticks(self, painter: QPainter, top: float, across: LinearScale, step: int) -> None:
        """Paint a tick at every number, and shorter ticks between them."""
        pen = solid_pen(self._frame.theme.colours.quiet)
        parts = next((parts for parts in (5, 2) if step % parts == 0), 1)
        for value in self._multiples_in_sight(step // parts):
            length = TICK if value % step == 0 else TICK / 2
            paint_vertical(painter, x=across.pixel(value), top=top, bottom=top + length, pen=pen)

    def _paint_number(self, painter: QPainter, top: float, x: float, at: int, flag: QRectF) -> None:
        """Paint the number and the time of a request, unless the flag would cover them."""
        colours = self._frame.theme.colours
        metrics = self._frame.metrics
        words = f"{at:,}"
        time = self._time_of(at)
        width = metrics.horizontalAdvance(words)
        time_width = metrics.horizontalAdvance(time)
        half = max(width, time_width) / 2
        if flag.left() < x + half and x - half < flag.right():
            return
        room = QRectF(x - width / 2, top + TICK, width, metrics.height())
        self.numbers.append((room, words))
        painter.setPen(ink(colours.text))
        painter.drawText(QPointF(room.left(), room.top() + metrics.ascent()), words)
        painter.setPen(ink(colours.quiet))
        painter.drawText(QPointF(x - time_width / 2, room.bottom() + metrics.ascent()), time)

    def _time_of(self, at: int) -> str:
        return clock_time(self.times[at]) if at < len(self.times) else ""

    def flag_room(self, top: float, x: float, width: int) -> QRectF:
        """Return the rectangle of the playhead's flag, which is always inside the widget.

        Args:
            top: Upper edge of the ruler in pixels.
            x: X coordinate of the playhead in pixels.
            width: Width of the widget in pixels.
        """
        metrics = QFontMetricsF(bold_font(self._frame.font))
        widest = max(metrics.horizontalAdvance(words) for words in self._flag_words)
        flag_width = widest + 2 * FLAG_INSET
        left = max(0.0, min(x - flag_width / 2, width - flag_width))
        has_time = bool(self._flag_words[1])
        height = self.height - 2 if has_time else self._frame.metrics.height() + TICK
        return QRectF(left, top + 1, flag_width, height)

    @property
    def _flag_words(self) -> tuple[str, str]:
        """The texts of the flag: the request of the playhead, and its time."""
        request = self._frame.at
        if request is None:
            return "end", clock_time(self.times[-1]) if self.times else ""
        return f"{request:,}", self._time_of(request)

    def paint_flag(self, painter: QPainter, top: float, x: float, width: int) -> None:
        """Paint the flag with the request of the playhead and its time. The arguments are those of `flag_room`."""
        colours = self._frame.theme.colours
        room = self.flag_room(top, x, width)
        paint_rounded(painter, room, colour=colours.playhead, radius=3)
        painter.setPen(ink(colours.window))
        number, time = self._flag_words
        line_height = (room.height() - TICK) / (2 if time else 1)
        upper = QRectF(room.left(), room.top() + TICK / 2, room.width(), line_height)
        painter.setFont(bold_font(self._frame.font))
        painter.drawText(upper, Qt.AlignmentFlag.AlignCenter, number)
        painter.setFont(self._frame.font)
        painter.drawText(upper.translated(0, line_height), Qt.AlignmentFlag.AlignCenter, time)
