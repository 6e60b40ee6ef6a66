"""The charts of one estimator side by side: the scatter at the left, residuals above the coverage at the right."""

from statistics import median

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from inspector.core.words import plural
from inspector.gui.look.build import column, holding, row, splitter
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import LIST_HEAD
from inspector.gui.panels.calibration.charts import ResidualChart, ScatterChart
from inspector.gui.panels.calibration.coverage_chart import CoverageChart
from inspector.gui.panels.calibration.fits import EstimatorFit
from inspector.gui.widgets.small import Elided

HEAD = LIST_HEAD
"""Margins of a chart's heading."""
EXPECTED_WORDS = "stroke: expected share"


class CalibrationPlot(QWidget):
    """The charts of one estimator.

    `moved` carries the request whose point was clicked, `hovered` a text about the point under the mouse.
    """

    moved = Signal(object)
    hovered = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.found: EstimatorFit | None = None
        self.scatter = ScatterChart(theme)
        self.residuals = ResidualChart(theme)
        self.coverage = CoverageChart(theme)
        self.hidden_words = Elided("quiet")
        self.residual_words = Elided("quiet")
        self.coverage_words = Elided("quiet")
        for chart in (self.scatter, self.residuals):
            chart.moved.connect(self.moved)
            chart.hovered.connect(self.hovered)
        left = _chart_page("REPORTED AND ESTIMATED TOKENS", self.hidden_words, self.scatter)
        upper = _chart_page("RESIDUALS OF EACH SEGMENT'S LINE", self.residual_words, self.residuals)
        lower = _chart_page("COVERAGE OF THE PREDICTION BANDS", self.coverage_words, self.coverage)
        self._split = splitter(
            left, splitter(upper, lower, down=True, shares=(11, 9)), shares=(1, 1)
        )
        self._split.setSizes([500, 500])
        column(self._split, of=self, gap=0)

    def show_found(self, estimator_fit: EstimatorFit | None, title: str) -> None:
        """Show how well an estimator fits; `title` is its name on screen."""
        self.found = estimator_fit
        segments = estimator_fit.segments if estimator_fit is not None else ()
        self.scatter.estimator = title
        for chart in (self.scatter, self.residuals):
            chart.show_segments(
                segments, estimator_fit.predicted if estimator_fit is not None else {}
            )
        self.coverage.show_coverage(estimator_fit.coverage if estimator_fit is not None else ())
        hidden = self.scatter.hidden_count
        self.hidden_words.show_text(f"{plural(hidden, 'point')} outside the axes" if hidden else "")
        self.residual_words.show_text(self._residual_words())
        self.coverage_words.show_text(EXPECTED_WORDS if self.coverage.rows else "")

    def _residual_words(self) -> str:
        """Return `median 1,703 tokens, largest 6,055`."""
        sizes = [abs(residual) for _, residual, _ in self.residuals.residuals]
        if not sizes:
            return ""
        return (
            f"median {grouped(round(median(sizes)))} tokens, largest {grouped(round(max(sizes)))}"
        )

    def show_playhead(self, at: int | None) -> None:
        """Mark a request in the charts; None removes the mark."""
        self.scatter.show_playhead(at)
        self.residuals.show_playhead(at)


def _chart_page(title: str, beside: Elided, chart: QWidget) -> QWidget:
    """Put a heading above a chart, with words at its right."""
    head = row(label(title, role="caption"), 12, (beside, 1), margins=HEAD)
    return holding(column(head, (chart, 1), gap=0))
