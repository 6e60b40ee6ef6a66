"""The chart of the prediction bands: the share of the reports that each contains, and the share expected."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter

from inspector.core.tokens.segments import BandCoverage
from inspector.core.words import per_cent
from inspector.gui.look.colours import ink
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.chart import (
    LinearScale,
    paint_rounded,
    paint_vertical,
    solid_pen,
)
from inspector.gui.widgets.chart_widget import Chart


class CoverageChart(Chart):
    """A chart with a bar for each prediction band: the share of reports inside it. A mark shows the expected share.

    Bands for whose words the chart is not high enough are left out, the last ones first.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Coverage of the prediction bands")
        self.rows: Sequence[BandCoverage] = ()

    def show_coverage(self, rows: Sequence[BandCoverage]) -> None:
        """Replace the bands that are shown."""
        self.rows = rows
        words = [
            f"{_band_name(row)}: {_inside_words(row)}, expected {per_cent(row.expected)}"
            for row in rows
        ]
        self.setAccessibleDescription("; ".join(words))
        self.redraw()

    @property
    def area(self) -> QRectF:
        """The rectangle of the bars in pixels."""
        metrics = self.metrics
        names = [metrics.horizontalAdvance(_band_name(row)) for row in self.rows]
        left = max(names, default=80.0) + 24
        right = metrics.horizontalAdvance("100% inside, 10,000 of 10,000") + 20
        foot = 2 * metrics.height() + 12
        width = max(1.0, self.width() - left - right)
        return QRectF(left, 4, width, max(1.0, self.height() - 4 - foot))

    def paint_data(self, painter: QPainter) -> None:
        area = self.area
        metrics = self.metrics
        across = LinearScale(low=0, high=1, start=area.left(), end=area.right())
        pen = solid_pen(self._theme.colours.faint)
        for share in (0, 0.25, 0.5, 0.75, 1):
            paint_vertical(
                painter, x=across.pixel(share), top=area.top(), bottom=area.bottom(), pen=pen
            )
        self.paint_bottom_numbers(painter, area, across, spell=per_cent, least=0.25)
        self.paint_titles(painter, area, below="Share of the reports inside the band", beside="")
        most = max(1, int(area.height() // metrics.height()))
        painted = self.rows[:most]
        row_height = area.height() / max(1, len(painted))
        for n, row in enumerate(painted):
            middle = area.top() + (n + 0.5) * row_height
            self._paint_row(painter, row, middle, across, metrics)

    def _paint_row(
        self,
        painter: QPainter,
        row: BandCoverage,
        middle: float,
        across: LinearScale,
        metrics: QFontMetricsF,
    ) -> None:
        """Paint the name of a band, its bar, the mark at the expected share, and the numbers."""
        colours = self._theme.colours
        height = metrics.height()
        top = middle - height / 2
        painter.setPen(ink(colours.text))
        name_room = QRectF(0, top, across.start - 10, height)
        alignment = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(name_room, alignment, _band_name(row))
        bar = QRectF(across.start, middle - 5, row.share * across.per_value, 10)
        paint_rounded(painter, room=bar, colour=colours.missing, radius=2)
        x = across.pixel(row.expected)
        for pen in (solid_pen(colours.window, width=4), solid_pen(colours.text, width=2)):
            paint_vertical(painter, x, top=middle - 9, bottom=middle + 9, pen=pen)
        painter.setPen(ink(colours.text))
        painter.drawText(QPointF(across.end + 14, top + metrics.ascent()), _inside_words(row))


def _band_name(row: BandCoverage) -> str:
    """Return `50% band, ±0.09%`, or the name of the range on the gauge."""
    if row.width is None:
        return "Range on the gauge"
    return f"{per_cent(row.expected)} band, ±{per_cent(row.width, places=2)}"


def _inside_words(row: BandCoverage) -> str:
    """Return `66% inside, 73 of 111`."""
    return f"{per_cent(row.share)} inside, {row.inside:,} of {row.count:,}"
