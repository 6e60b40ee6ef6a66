"""The charts of a calibration: reported over estimated tokens, residuals with a histogram, coverage of bands."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen, QResizeEvent

from inspector.core.tokens.fit import Sample
from inspector.core.tokens.segments import BandCoverage, CallSegment
from inspector.core.words import per_cent
from inspector.gui.look.colours import ink
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.theme import Theme
from inspector.gui.panels.calibration.marks import equation_words, paint_point, segment_colour, segment_words
from inspector.gui.widgets.chart import (
    AXIS_GAP,
    NUMBERS_APART,
    LinearScale,
    paint_axis_numbers,
    paint_grid,
    round_values,
)
from inspector.gui.widgets.chart_widget import Chart, robust_reach

MOST_POINTS = 4_000
"""Points that are painted; of more samples every n-th."""
NEAR = 8
"""Pixels from a point within which it is under the mouse."""
MOST_LISTED = 4
"""Segments whose equations are written above the scatter."""
BINS = 13
"""Bars of the histogram."""
HISTOGRAM_SHARE = 0.18
"""Of the width, for the histogram."""
HEADROOM = 1.05


class SegmentChart(Chart):
    """A chart of samples by segment; the playhead is a request."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__(theme, name)
        self.segments: Sequence[CallSegment] = ()
        self._samples: Mapping[int, tuple[Sample, int]] = {}
        """By request: the sample and the number of its segment."""
        self._predicted: Mapping[int, int] = {}
        self._at: int | None = None
        self._scales: tuple[LinearScale, LinearScale] | None = None

    def show_segments(self, segments: Sequence[CallSegment], predicted: Mapping[int, int]) -> None:
        """Show these samples; `predicted`: tokens that were shown of a request before its report."""
        self.segments, self._predicted = segments, predicted
        self._samples = {
            sample.request: (sample, n) for n, segment in enumerate(segments) for sample in segment.samples
        }
        self.redraw()

    def show_playhead(self, at: int | None) -> None:
        """Mark this request; None: none."""
        self._at = at
        self.update()

    def painted_samples(self) -> Iterator[tuple[Sample, int]]:
        """Yield the samples that are painted, each with the number of its segment."""
        pairs = list(self._samples.values())
        yield from pairs[:: len(pairs) // MOST_POINTS + 1]

    def about(self, at: int) -> str:
        """Return `Request 105: 85,585 reported, 85,590 predicted, estimate 54,000, residual +312`."""
        sample, number = self._samples[at]
        words = [f"{grouped(sample.reported)} reported"]
        if at in self._predicted:
            error = self._predicted[at] / sample.reported - 1
            words.append(f"{grouped(self._predicted[at])} predicted ({per_cent(error, 2, '+').replace('-', '−')})")
        words.append(f"estimate {grouped(sample.estimated)}")
        residual = self.segments[number].residual(sample)
        if residual is not None:
            words.append(f"residual {signed(round(residual))}")
        return f"Request {at:,}: {', '.join(words)}"

    def make_scales(self) -> tuple[LinearScale, LinearScale]:
        """Return the scales across and up. O(samples)."""
        raise NotImplementedError

    def place_of(self, sample: Sample, number: int) -> QPointF | None:
        """Return where a sample is painted; None if it is not."""
        raise NotImplementedError

    @property
    def scales(self) -> tuple[LinearScale, LinearScale]:
        """The scales across and up, kept until samples or size change."""
        if self._scales is None:
            self._scales = self.make_scales()
        return self._scales

    def redraw(self) -> None:
        """Paint everything again."""
        self._scales = None
        super().redraw()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._scales = None

    def request_at(self, place: QPointF) -> int | None:
        """Return the request of the nearest point within reach."""
        near = list[tuple[float, int]]()
        for sample, number in self.painted_samples():
            point = self.place_of(sample, number)
            if point is not None and (away := (point - place).manhattanLength()) <= NEAR:
                near.append((away, sample.request))
        return min(near)[1] if near else None

    def paint_points(self, painter: QPainter) -> None:
        """Paint every sample in the colour and shape of its segment."""
        painter.setPen(Qt.PenStyle.NoPen)
        for sample, number in self.painted_samples():
            point = self.place_of(sample, number)
            if point is not None:
                painter.setBrush(ink(segment_colour(self._theme.colours, number)))
                paint_point(painter, point, number)

    def paint_playhead(self, painter: QPainter) -> None:
        """Paint a ring around the sample of the playhead."""
        numbered_sample = self._samples.get(-1 if self._at is None else self._at)
        point = self.place_of(*numbered_sample) if numbered_sample is not None else None
        if point is not None:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(ink(self._theme.colours.playhead), 1.6))
            painter.drawEllipse(point, 7, 7)


class ScatterChart(SegmentChart):
    """Reported over estimated tokens, with a line for each segment."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Reported over estimated tokens")
        self.estimator = ""
        """Its name on the screen."""

    @property
    def _listed(self) -> list[int]:
        """The numbers of the segments whose equations are written: those at the end."""
        return list(range(max(0, len(self.segments) - MOST_LISTED), len(self.segments)))

    @property
    def area(self) -> QRectF:
        """Where the data lies: below the equations."""
        metrics = self.metrics
        left = 2 * metrics.height() + metrics.horizontalAdvance("1,000,000") + AXIS_GAP
        head = (len(self._listed) + 1) * (metrics.height() + 3) + 8
        foot = 2 * metrics.height() + 12
        return QRectF(left, head, max(1.0, self.width() - left - 16), max(1.0, self.height() - head - foot))

    def make_scales(self) -> tuple[LinearScale, LinearScale]:
        area, samples = self.area, [sample for sample, _ in self._samples.values()]
        right = robust_reach([sample.estimated for sample in samples]) * HEADROOM
        top = robust_reach([sample.reported for sample in samples]) * HEADROOM
        return LinearScale(0, right, area.left(), area.right()), LinearScale(0, top, area.bottom(), area.top())

    @property
    def hidden_count(self) -> int:
        """Samples beyond the axes, which reach as far as all but a few samples."""
        across, up = self.scales
        samples = (sample for sample, _ in self._samples.values())
        return sum(sample.estimated > across.high or sample.reported > up.high for sample in samples)

    def place_of(self, sample: Sample, number: int) -> QPointF | None:
        across, up = self.scales
        if sample.estimated > across.high or sample.reported > up.high:
            return None
        return QPointF(across.pixel(sample.estimated), up.pixel(sample.reported))

    def paint_data(self, painter: QPainter) -> None:
        (across, up), area, colours = self.scales, self.area, self._theme.colours
        values = round_values(up, 2 * NUMBERS_APART * self.metrics.height(), least=1)
        paint_grid(painter, area, up, values, colours.faint)
        paint_axis_numbers(painter, area, up, values, colours.quiet, lambda value: grouped(round(value)))
        self.paint_bottom_numbers(painter, area, across, lambda value: grouped(round(value)), least=1)
        name = f"Estimated by {self.estimator} (tokens)"
        self.paint_titles(painter, area, name, "Reported by the provider (tokens)")
        painter.setClipRect(area)
        painter.setPen(QPen(ink(colours.quiet), 1.2, Qt.PenStyle.DotLine))
        end = min(across.high, up.high)
        painter.drawLine(QPointF(across.pixel(0), up.pixel(0)), QPointF(across.pixel(end), up.pixel(end)))
        for number, segment in enumerate(self.segments):
            self._paint_line(painter, number, segment, across, up)
        self.paint_points(painter)
        painter.setClipping(False)
        self._paint_equations(painter)

    def _paint_line(
        self, painter: QPainter, number: int, segment: CallSegment, across: LinearScale, up: LinearScale
    ) -> None:
        if segment.fit is None:
            return
        sizes = [sample.estimated for sample in segment.samples]
        painter.setPen(QPen(ink(segment_colour(self._theme.colours, number)), 1.4))
        ends = [
            QPointF(across.pixel(size), up.pixel(segment.fit.overhead + segment.fit.slope * size))
            for size in (min(sizes), max(sizes))
        ]
        painter.drawLine(*ends)

    def _paint_equations(self, painter: QPainter) -> None:
        """Write above the plot what each line is, and what the dotted one is."""
        metrics, colours = self.metrics, self._theme.colours
        high, top = metrics.height() + 3, 2.0
        bold = QFont(self.font_small)
        bold.setWeight(QFont.Weight.DemiBold)
        for number in self._listed:
            segment = self.segments[number]
            foot = top + metrics.ascent()
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ink(segment_colour(colours, number)))
            paint_point(painter, QPointF(self.area.left() + 6, top + metrics.height() / 2), number, 3.4)
            painter.setPen(ink(colours.quiet))
            painter.setFont(self.font_small)
            words = segment_words(segment, number)
            if len({segment.model for segment in self.segments}) > 1:
                words += f", {segment.model or 'unknown model'}"
            painter.drawText(QPointF(self.area.left() + 18, foot), words)
            painter.setFont(bold)
            painter.setPen(ink(segment_colour(colours, number)))
            left = self.area.left() + 18 + metrics.horizontalAdvance(words) + 12
            painter.drawText(QPointF(left, foot), equation_words(segment))
            top += high
        painter.setFont(self.font_small)
        middle = top + metrics.height() / 2
        painter.setPen(QPen(ink(colours.quiet), 1.2, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(self.area.left(), middle), QPointF(self.area.left() + 13, middle))
        painter.setPen(ink(colours.quiet))
        more = len(self.segments) - len(self._listed)
        words = "reported = estimated" + (f"; {more:,} earlier segments without an equation here" if more else "")
        painter.drawText(QPointF(self.area.left() + 18, top + metrics.ascent()), words)


class ResidualChart(SegmentChart):
    """Reported tokens less those of the segment's line, over the requests, with a histogram at the right."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Residuals of each segment's line")

    @property
    def residuals(self) -> list[tuple[int, float, int]]:
        """(request, residual in tokens, number of the segment) of every sample whose segment has a line."""
        residuals = list[tuple[int, float, int]]()
        for request, (sample, number) in self._samples.items():
            residual = self.segments[number].residual(sample)
            if residual is not None:
                residuals.append((request, residual, number))
        return residuals

    def redraw(self) -> None:
        self._reach = robust_reach([residual for _, residual, _ in self.residuals]) * HEADROOM
        super().redraw()

    @property
    def area(self) -> QRectF:
        """Where the points lie, left of the histogram."""
        metrics = self.metrics
        left = 2 * metrics.height() + metrics.horizontalAdvance("+100,000") + AXIS_GAP
        width = (self.width() - left - 16) * (1 - HISTOGRAM_SHARE) - 12
        foot = 2 * metrics.height() + 12
        return QRectF(left, 8, max(1.0, width), max(1.0, self.height() - 8 - foot))

    @property
    def histogram_area(self) -> QRectF:
        """Where the histogram lies."""
        area = self.area
        left = area.right() + 14
        return QRectF(left, area.top(), max(1.0, self.width() - 16 - left), area.height())

    def make_scales(self) -> tuple[LinearScale, LinearScale]:
        area, last = self.area, max(self._samples, default=1)
        return (
            LinearScale(-0.5, last + 0.5, area.left(), area.right()),
            LinearScale(-self._reach, self._reach, area.bottom(), area.top()),
        )

    def place_of(self, sample: Sample, number: int) -> QPointF | None:
        residual = self.segments[number].residual(sample)
        if residual is None or abs(residual) > self._reach:
            return None
        across, up = self.scales
        return QPointF(across.pixel(sample.request), up.pixel(residual))

    def paint_data(self, painter: QPainter) -> None:
        (across, up), area, colours = self.scales, self.area, self._theme.colours
        values = round_values(up, NUMBERS_APART * self.metrics.height(), least=1)
        whole = QRectF(area.left(), area.top(), self.histogram_area.right() - area.left(), area.height())
        paint_grid(painter, whole, up, values, colours.faint)
        paint_grid(painter, whole, up, [0.0], colours.quiet)
        paint_axis_numbers(painter, area, up, values, colours.quiet, lambda value: signed(round(value)))
        self.paint_bottom_numbers(painter, area, across, lambda value: f"{round(value):,}", least=1)
        self.paint_titles(painter, area, "Request", "Residual (tokens)")
        self.paint_points(painter)
        self._paint_histogram(painter, up)

    def bins(self) -> list[list[int]]:
        """Count the residuals in each bin, from the lowest, by segment."""
        counts = [[0] * len(self.segments) for _ in range(BINS)]
        for _, residual, number in self.residuals:
            place = int((residual + self._reach) / (2 * self._reach) * BINS)
            counts[max(0, min(place, BINS - 1))][number] += 1
        return counts

    def _paint_histogram(self, painter: QPainter, up: LinearScale) -> None:
        room, colours, counts = self.histogram_area, self._theme.colours, self.bins()
        most = max((sum(count) for count in counts), default=0) or 1
        across = LinearScale(0, most, room.left(), room.right())
        edges = [-self._reach + 2 * self._reach * n / BINS for n in range(BINS + 1)]
        painter.setPen(Qt.PenStyle.NoPen)
        for (low, high), count in zip(pairwise(edges), counts, strict=True):
            left = room.left()
            top, bottom = up.pixel(high) + 1, up.pixel(low)
            for number, many in enumerate(count):
                wide = many * across.per_value
                painter.fillRect(QRectF(left, top, wide, bottom - top), ink(segment_colour(colours, number)))
                left += wide
        painter.setPen(ink(colours.quiet))
        metrics = self.metrics
        foot = room.bottom() + 6 + metrics.ascent()
        painter.drawText(QPointF(room.left(), foot), "0")
        words = f"{most:,}"
        painter.drawText(QPointF(room.right() - metrics.horizontalAdvance(words), foot), words)
        painter.setPen(ink(colours.text))
        title = QRectF(room.left() - 20, room.bottom() + 8 + metrics.height(), room.width() + 36, metrics.height() + 2)
        painter.drawText(title, Qt.AlignmentFlag.AlignCenter, "Requests")


class CoverageChart(Chart):
    """For each band a bar: the share of the reports inside it, and a stroke where it should end."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Coverage of the prediction bands")
        self.rows: Sequence[BandCoverage] = ()

    def show_coverage(self, rows: Sequence[BandCoverage]) -> None:
        """Show these bands, and no others."""
        self.rows = rows
        words = [f"{_band_name(row)}: {_inside_words(row)}, expected {per_cent(row.expected)}" for row in rows]
        self.setAccessibleDescription("; ".join(words))
        self.redraw()

    @property
    def area(self) -> QRectF:
        """Where the bars lie."""
        metrics = self.metrics
        left = max((metrics.horizontalAdvance(_band_name(row)) for row in self.rows), default=80.0) + 24
        right = metrics.horizontalAdvance("100% inside, 10,000 of 10,000") + 20
        foot = 2 * metrics.height() + 12
        width = max(1.0, self.width() - left - right)
        return QRectF(left, 4, width, max(1.0, self.height() - 4 - foot))

    def paint_data(self, painter: QPainter) -> None:
        area, colours, metrics = self.area, self._theme.colours, self.metrics
        across = LinearScale(0, 1, area.left(), area.right())
        painter.setPen(QPen(ink(colours.faint), 1))
        for share in (0, 0.25, 0.5, 0.75, 1):
            x = across.pixel(share)
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        self.paint_bottom_numbers(painter, area, across, per_cent, least=0.25)
        self.paint_titles(painter, area, "Share of the reports inside the band", "")
        step = area.height() / max(1, len(self.rows))
        for n, row in enumerate(self.rows):
            self._paint_row(painter, row, area.top() + (n + 0.5) * step, across, metrics)

    def _paint_row(
        self, painter: QPainter, row: BandCoverage, middle: float, across: LinearScale, metrics: QFontMetricsF
    ) -> None:
        colours, high = self._theme.colours, metrics.height()
        painter.setPen(ink(colours.text))
        name = QRectF(0, middle - high / 2, across.start - 10, high)
        painter.drawText(name, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, _band_name(row))
        bar = QRectF(across.start, middle - 5, row.share * across.per_value, 10)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink(colours.missing))
        painter.drawRoundedRect(bar, 2, 2)
        x = across.pixel(row.expected)
        painter.setPen(QPen(ink(colours.window), 4))
        painter.drawLine(QPointF(x, middle - 9), QPointF(x, middle + 9))
        painter.setPen(QPen(ink(colours.text), 2))
        painter.drawLine(QPointF(x, middle - 9), QPointF(x, middle + 9))
        painter.setPen(ink(colours.text))
        painter.drawText(QPointF(across.end + 14, middle - high / 2 + metrics.ascent()), _inside_words(row))


def _band_name(row: BandCoverage) -> str:
    """Return `50% band, ±0.09%`; of the range on the gauge its name."""
    if row.width is None:
        return "Range on the gauge"
    return f"{per_cent(row.expected)} band, ±{per_cent(row.width, 2)}"


def _inside_words(row: BandCoverage) -> str:
    """Return `66% inside, 73 of 111`."""
    return f"{per_cent(row.share)} inside, {row.inside:,} of {row.count:,}"
