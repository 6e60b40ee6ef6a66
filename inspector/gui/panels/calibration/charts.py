"""The charts of a calibration with a point for each request: reported over estimated tokens, and residuals."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen, QResizeEvent

from inspector.core.tokens.fit import Sample
from inspector.core.tokens.segments import CallSegment
from inspector.core.words import per_cent
from inspector.gui.look.colours import ink
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import CONTROL_GAP, GAP, INSET
from inspector.gui.panels.calibration.marks import (
    equation_words,
    paint_point,
    segment_colour,
    segment_words,
)
from inspector.gui.widgets.chart import (
    AXIS_GAP,
    NUMBERS_APART,
    LinearScale,
    bold_font,
    paint_axis_numbers,
    paint_grid,
    paint_horizontal,
    paint_ring,
    round_values,
    solid_pen,
)
from inspector.gui.widgets.chart_widget import Chart, robust_reach

MOST_POINTS = 4_000
"""Most points that are painted; if there are more samples, only every n-th is painted."""
NEAR = 8
"""Largest distance in pixels at which the mouse is over a point."""
MOST_LISTED = 4
"""Most segments whose equations are written above the scatter."""
FADED = 0.2
"""Opacity of the segments whose equations are not written."""
BINS = 13
"""Bars of the histogram."""
HISTOGRAM_SHARE = 0.18
"""Share of the width that the histogram takes."""
HEADROOM = 1.05


class SegmentChart(Chart):
    """A chart of samples in the colours of their segments, with a mark at the request of the playhead."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__(theme, name)
        self.segments: Sequence[CallSegment] = ()
        self._samples: Mapping[int, tuple[Sample, int]] = {}
        """The sample of each request and the number of its segment."""
        self._predicted: Mapping[int, int] = {}
        self._at: int | None = None
        self._scales: tuple[LinearScale, LinearScale] | None = None

    def show_segments(self, segments: Sequence[CallSegment], predicted: Mapping[int, int]) -> None:
        """Show the samples of these segments.

        Args:
            predicted: tokens predicted for each request before its report.
        """
        self.segments = segments
        self._predicted = predicted
        samples = dict[int, tuple[Sample, int]]()
        for number, segment in enumerate(segments):
            samples |= {sample.request: (sample, number) for sample in segment.samples}
        self._samples = samples
        self.redraw()

    def show_playhead(self, at: int | None) -> None:
        """Mark the sample of a request; None removes the mark."""
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
            words.append(
                f"{grouped(self._predicted[at])} predicted ({per_cent(error, places=2, sign='+').replace('-', '−')})"
            )
        words.append(f"estimate {grouped(sample.estimated)}")
        residual = self.segments[number].residual(sample)
        if residual is not None:
            words.append(f"residual {signed(round(residual))}")
        return f"Request {at:,}: {', '.join(words)}"

    def make_scales(self) -> tuple[LinearScale, LinearScale]:
        """Return the horizontal and the vertical scale. O(samples)."""
        raise NotImplementedError

    def place_of(self, sample: Sample, number: int) -> QPointF | None:
        """Return the position in pixels of a sample of segment `number`; None if the sample is not painted."""
        raise NotImplementedError

    @property
    def scales(self) -> tuple[LinearScale, LinearScale]:
        """The horizontal and the vertical scale, kept until the samples or the size of the chart change."""
        if self._scales is None:
            self._scales = self.make_scales()
        return self._scales

    def redraw(self) -> None:
        """Discard the scales and the cached picture, and repaint."""
        self._scales = None
        super().redraw()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._scales = None

    def request_at(self, place: QPointF) -> int | None:
        """Return the request whose point is nearest to a position; None if none is within `NEAR` pixels."""
        distances = list[tuple[float, int]]()
        for sample, number in self.painted_samples():
            point = self.place_of(sample, number)
            if point is not None:
                distances.append(((point - place).manhattanLength(), sample.request))
        distance, request = min(distances, default=(NEAR + 1.0, -1))
        return request if distance <= NEAR else None

    def paint_points(self, painter: QPainter) -> None:
        """Paint every sample in the colour and shape of its segment."""
        painter.setPen(Qt.PenStyle.NoPen)
        for sample, number in self.painted_samples():
            point = self.place_of(sample, number)
            if point is not None:
                painter.setOpacity(self.opacity_of(number))
                painter.setBrush(ink(segment_colour(self._theme.colours, number)))
                paint_point(painter, point, number)
        painter.setOpacity(1)

    def opacity_of(self, number: int) -> float:
        """Return the opacity of segment `number`, from 0 to 1."""
        return 1

    def paint_playhead(self, painter: QPainter) -> None:
        """Paint a ring around the sample of the playhead."""
        if self._at is None or self._at not in self._samples:
            return
        sample, number = self._samples[self._at]
        point = self.place_of(sample, number)
        if point is not None:
            paint_ring(
                painter,
                middle=point,
                radius=7,
                pen=solid_pen(self._theme.colours.playhead, width=1.6),
            )


class ScatterChart(SegmentChart):
    """A scatter chart of reported over estimated tokens, with a fitted line for each segment."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Reported over estimated tokens")
        self.estimator = ""
        """The name of the estimator on screen."""

    @property
    def _listed_segments(self) -> range:
        """The numbers of the segments whose equations are written: the last ones."""
        first = max(0, len(self.segments) - MOST_LISTED)
        return range(first, len(self.segments))

    def opacity_of(self, number: int) -> float:
        """Fade the segments whose equations are not written."""
        return 1 if number in self._listed_segments else FADED

    @property
    def area(self) -> QRectF:
        """The rectangle of the data in pixels, below the equations."""
        metrics = self.metrics
        left = 2 * metrics.height() + metrics.horizontalAdvance("1,000,000") + AXIS_GAP
        head = (len(self._listed_segments) + 1) * (metrics.height() + 3) + 8
        foot = 2 * metrics.height() + 12
        width = self.width() - left - 16
        return QRectF(left, head, max(1.0, width), max(1.0, self.height() - head - foot))

    def make_scales(self) -> tuple[LinearScale, LinearScale]:
        area = self.area
        samples = [sample for sample, _ in self._samples.values()]
        right = robust_reach([sample.estimated for sample in samples]) * HEADROOM
        top = robust_reach([sample.reported for sample in samples]) * HEADROOM
        across = LinearScale(low=0, high=right, start=area.left(), end=area.right())
        up = LinearScale(low=0, high=top, start=area.bottom(), end=area.top())
        return across, up

    @property
    def hidden_count(self) -> int:
        """Number of samples outside the axes, whose ranges leave out a few outliers."""
        across, up = self.scales
        samples = (sample for sample, _ in self._samples.values())
        return sum(
            sample.estimated > across.high or sample.reported > up.high for sample in samples
        )

    def place_of(self, sample: Sample, number: int) -> QPointF | None:
        across, up = self.scales
        if sample.estimated > across.high or sample.reported > up.high:
            return None
        return QPointF(across.pixel(sample.estimated), up.pixel(sample.reported))

    def paint_data(self, painter: QPainter) -> None:
        (across, up) = self.scales
        area = self.area
        colours = self._theme.colours
        values = round_values(up, 2 * NUMBERS_APART * self.metrics.height(), least=1)
        paint_grid(painter, area, scale=up, values=values, colour=colours.faint)
        paint_axis_numbers(
            painter,
            area,
            scale=up,
            values=values,
            colour=colours.quiet,
            spell=lambda value: grouped(round(value)),
        )
        self.paint_bottom_numbers(
            painter, area, across, spell=lambda value: grouped(round(value)), least=1
        )
        name = f"Estimated by {self.estimator} (tokens)"
        self.paint_titles(painter, area, below=name, beside="Reported by the provider (tokens)")
        painter.setClipRect(area)
        self._paint_diagonal(painter, across, up)
        for number in range(len(self.segments)):
            self._paint_line(painter, number, across, up)
        self.paint_points(painter)
        painter.setClipping(False)
        self._paint_equations(painter)

    @property
    def _diagonal_pen(self) -> QPen:
        """The pen of the line on which estimates are exact."""
        return QPen(ink(self._theme.colours.quiet), 1.2, Qt.PenStyle.DotLine)

    def _paint_diagonal(self, painter: QPainter, across: LinearScale, up: LinearScale) -> None:
        end = min(across.high, up.high)
        painter.setPen(self._diagonal_pen)
        start = QPointF(across.pixel(0), up.pixel(0))
        painter.drawLine(start, QPointF(across.pixel(end), up.pixel(end)))

    def _paint_line(
        self, painter: QPainter, number: int, across: LinearScale, up: LinearScale
    ) -> None:
        """Paint the fitted line of a segment from its smallest to its largest sample."""
        segment = self.segments[number]
        fit = segment.fit
        if fit is None:
            return
        sizes = [sample.estimated for sample in segment.samples]
        ends = list[QPointF]()
        for size in (min(sizes), max(sizes)):
            ends.append(QPointF(across.pixel(size), up.pixel(fit.overhead + fit.slope * size)))
        painter.setPen(solid_pen(segment_colour(self._theme.colours, number), width=1.4))
        painter.setOpacity(self.opacity_of(number))
        painter.drawLine(*ends)
        painter.setOpacity(1)

    def _paint_equations(self, painter: QPainter) -> None:
        """Write above the plot the equation of each line, and the meaning of the dotted line."""
        metrics = self.metrics
        left = self.area.left()
        top = 2.0
        for number in self._listed_segments:
            self._paint_equation(painter, number, top)
            top += metrics.height() + 3
        painter.setFont(self.font_small)
        middle = top + metrics.height() / 2
        paint_horizontal(painter, y=middle, left=left, right=left + 13, pen=self._diagonal_pen)
        words = "reported = estimated"
        more = len(self.segments) - len(self._listed_segments)
        if more:
            words += f"; equations of {more:,} earlier segments not shown"
        painter.setPen(ink(self._theme.colours.quiet))
        painter.drawText(QPointF(left + 18, top + metrics.ascent()), words)

    def _paint_equation(self, painter: QPainter, number: int, top: float) -> None:
        """Write the name of a segment and the equation of its line, further left if it would leave the chart."""
        metrics = self.metrics
        left = self.area.left()
        colour = segment_colour(self._theme.colours, number)
        segment = self.segments[number]
        baseline = top + metrics.ascent()
        words = segment_words(segment, number)
        models = {other.model for other in self.segments}
        if len(models) > 1:
            words += f", {segment.model or 'unknown model'}"
        bold = bold_font(self.font_small)
        equation = equation_words(segment)
        equation_width = QFontMetricsF(bold).horizontalAdvance(equation)
        width = 18 + metrics.horizontalAdvance(words) + GAP + equation_width
        left = max(float(INSET), min(left, self.width() - width - CONTROL_GAP))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink(colour))
        paint_point(
            painter, place=QPointF(left + 6, top + metrics.height() / 2), number=number, half=3.4
        )
        painter.setPen(ink(self._theme.colours.quiet))
        painter.setFont(self.font_small)
        painter.drawText(QPointF(left + 18, baseline), words)
        painter.setFont(bold)
        painter.setPen(ink(colour))
        painter.drawText(QPointF(left + width - equation_width, baseline), equation)


class ResidualChart(SegmentChart):
    """A chart of residuals over the requests, with a histogram of the residuals at the right.

    A residual is the reported tokens of a request minus those of its segment's line.
    """

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
        """The rectangle of the points in pixels, left of the histogram."""
        metrics = self.metrics
        left = 2 * metrics.height() + metrics.horizontalAdvance("+100,000") + AXIS_GAP
        width = (self.width() - left - 16) * (1 - HISTOGRAM_SHARE) - 12
        foot = 2 * metrics.height() + 12
        return QRectF(left, 8, max(1.0, width), max(1.0, self.height() - 8 - foot))

    @property
    def histogram_area(self) -> QRectF:
        """The rectangle of the histogram in pixels."""
        area = self.area
        left = area.right() + 14
        return QRectF(left, area.top(), max(1.0, self.width() - 16 - left), area.height())

    def make_scales(self) -> tuple[LinearScale, LinearScale]:
        area = self.area
        last = max(self._samples, default=1)
        across = LinearScale(low=-0.5, high=last + 0.5, start=area.left(), end=area.right())
        up = LinearScale(-self._reach, high=self._reach, start=area.bottom(), end=area.top())
        return across, up

    def place_of(self, sample: Sample, number: int) -> QPointF | None:
        residual = self.segments[number].residual(sample)
        if residual is None or abs(residual) > self._reach:
            return None
        across, up = self.scales
        return QPointF(across.pixel(sample.request), up.pixel(residual))

    def paint_data(self, painter: QPainter) -> None:
        (across, up) = self.scales
        area = self.area
        colours = self._theme.colours
        values = round_values(up, NUMBERS_APART * self.metrics.height(), least=1)
        whole = QRectF(
            area.left(), area.top(), self.histogram_area.right() - area.left(), area.height()
        )
        paint_grid(painter, area=whole, scale=up, values=values, colour=colours.faint)
        paint_grid(painter, area=whole, scale=up, values=[0.0], colour=colours.quiet)
        paint_axis_numbers(
            painter,
            area,
            scale=up,
            values=values,
            colour=colours.quiet,
            spell=lambda value: signed(round(value)),
        )
        self.paint_bottom_numbers(
            painter, area, across, spell=lambda value: f"{round(value):,}", least=1
        )
        self.paint_titles(painter, area, below="Request", beside="Residual (tokens)")
        self.paint_points(painter)
        self._paint_histogram(painter, up)

    def bins(self) -> list[list[int]]:
        """Return the number of residuals of each segment in each bin, from the lowest bin to the highest."""
        counts = [[0] * len(self.segments) for _ in range(BINS)]
        for _, residual, number in self.residuals:
            share = (residual + self._reach) / (2 * self._reach)
            place = max(0, min(int(share * BINS), BINS - 1))
            counts[place][number] += 1
        return counts

    def _paint_histogram(self, painter: QPainter, up: LinearScale) -> None:
        """Paint a horizontal bar for each bin, stacked by segment."""
        room = self.histogram_area
        bins = self.bins()
        most = max((sum(counts) for counts in bins), default=0) or 1
        per_request = room.width() / most
        edges = [-self._reach + 2 * self._reach * index / BINS for index in range(BINS + 1)]
        painter.setPen(Qt.PenStyle.NoPen)
        for (low, high), counts in zip(pairwise(edges), bins, strict=True):
            left, top = room.left(), up.pixel(high) + 1
            height = up.pixel(low) - top
            for number, count in enumerate(counts):
                colour = segment_colour(self._theme.colours, number)
                width = count * per_request
                painter.fillRect(QRectF(left, top, width, height), ink(colour))
                left += width
        self._paint_histogram_axis(painter, room, most)

    def _paint_histogram_axis(self, painter: QPainter, room: QRectF, most: int) -> None:
        """Write 0 and the largest number of requests below the histogram, and below them the title."""
        metrics = self.metrics
        colours = self._theme.colours
        baseline = room.bottom() + 6 + metrics.ascent()
        painter.setPen(ink(colours.quiet))
        painter.drawText(QPointF(room.left(), baseline), "0")
        words = f"{most:,}"
        right = room.right() - metrics.horizontalAdvance(words)
        painter.drawText(QPointF(right, baseline), words)
        painter.setPen(ink(colours.text))
        top = room.bottom() + 8 + metrics.height()
        title = QRectF(room.left() - 20, top, room.width() + 36, metrics.height() + 2)
        painter.drawText(title, Qt.AlignmentFlag.AlignCenter, "Requests")
