"""The sums of the selected requests, right of the timeline."""

from collections.abc import Sequence
from decimal import Decimal

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from inspector.core.words import plural
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, column, holding, row, scrolled, small_button
from inspector.gui.look.colours import ink
from inspector.gui.look.labels import label, say
from inspector.gui.look.number_formats import dollars, grouped, signed
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import BOX_GAP, CHIP_GAP, INSET, LINE_GAP
from inspector.gui.look.visible import line
from inspector.gui.panels.timeline.ruler import range_words
from inspector.gui.widgets.chart import paint_rounded
from inspector.gui.widgets.small import Elided
from inspector.workbench.pressure.range_summary import LargestGrowth, RangeSummary

WIDTH = 300
"""Width of the panel in pixels."""
MOST_PARTS = 5
"""Maximum number of categories that are listed. The others are summed in one row."""
NAME_WIDTH = 104
SWATCH = 9


class PartBars(Guarded, QWidget):
    """The added tokens by category: a swatch, a name, a bar and the number of tokens for each."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.parts: tuple[tuple[str, int, str], ...] = ()
        """Name, tokens and colour of each part."""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def show_parts(self, parts: Sequence[tuple[str, int, str]]) -> None:
        """Replace the parts, given as (name, tokens, colour)."""
        self.parts = tuple(parts)
        self.setAccessibleName(
            ", ".join(f"{name} {grouped(tokens)} tokens" for name, tokens, _ in self.parts)
        )
        self.updateGeometry()
        self.update()

    @property
    def _row_height(self) -> int:
        return self.fontMetrics().height() + 4

    def sizeHint(self) -> QSize:
        return QSize(200, self._row_height * len(self.parts))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        high = self._row_height
        bars = self._bars_room()
        most = max((tokens for _, tokens, _ in self.parts), default=0) or 1
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for index, (name, tokens, colour) in enumerate(self.parts):
                row_room = QRectF(0, index * high, self.width(), high)
                middle = row_room.center().y()
                paint_rounded(
                    painter,
                    room=QRectF(0, middle - SWATCH / 2, SWATCH, SWATCH),
                    colour=colour,
                    radius=2,
                )
                bar = QRectF(bars.left(), middle - 3, bars.width() * tokens / most, 6)
                painter.drawRoundedRect(bar, min(3.0, bar.width() / 2), 3)
                self._paint_words(painter, row_room, name, grouped(tokens))

    def _bars_room(self) -> QRectF:
        """Return a rectangle from the names to the numbers. Only its left edge and its width are meaningful."""
        metrics = QFontMetricsF(self.font())
        number_widths = [metrics.horizontalAdvance(grouped(tokens)) for _, tokens, _ in self.parts]
        name_widths = [metrics.horizontalAdvance(name) for name, _, _ in self.parts]
        names = max(NAME_WIDTH, round(max(name_widths, default=0)))
        left = SWATCH + 8 + names + 8
        width = self.width() - left - max(number_widths, default=0.0) - 10
        return QRectF(left, 0, max(0.0, width), self.height())

    def _paint_words(self, painter: QPainter, row_room: QRectF, name: str, number: str) -> None:
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setPen(ink(self._theme.colours.text))
        painter.drawText(row_room.adjusted(SWATCH + 8, 0, 0, 0), middle, name)
        painter.drawText(row_room, middle | Qt.AlignmentFlag.AlignRight, number)


class RangePanel(QWidget):
    """Shows a RangeSummary, or an ellipsis for each sum until it is computed."""

    cleared = Signal()
    zoomed = Signal()
    messages_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._title = label(role="strong")
        self._times = label(role="quiet")
        self._clear = small_button("Clear", self.cleared.emit, name="Clear the selection")
        self._names = ("Growth", "Cost", "Cache misses", "Output")
        self.values = {name: label(role="strong") for name in self._names}
        self.parts = PartBars(theme)
        self._parts_title = label("WHAT CAME IN", role="caption")
        self._largest = label(role="quiet", wrap=True)
        self._subject = Elided()
        self._zoom = button("Zoom to range", self.zoomed.emit, role="primary")
        self._messages = button("Show messages", self.messages_wanted.emit)
        self.setFixedWidth(WIDTH)
        self.setAccessibleName("Selected range")
        caption = row(label("SELECTED RANGE", role="caption"), ..., self._clear)
        head = (caption, self._title, self._times)
        sums = [row(label(name, role="quiet"), ..., self.values[name]) for name in self._names]
        parts = (self._parts_title, 2, self.parts, 4, self._largest, self._subject)
        buttons = row(self._zoom, 8, self._messages, ...)
        inner = column(
            *head,
            6,
            *sums,
            6,
            *parts,
            6,
            buttons,
            ...,
            margins=(INSET, BOX_GAP, INSET, CHIP_GAP),
            gap=LINE_GAP,
        )
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scrolled(holding(inner), "Sums of the selected requests"))

    def show_range(self, requests: range, times: Sequence[str]) -> None:
        """Show which requests are selected, before their sums are computed."""
        first, last = requests.start, requests.stop - 1
        words, _, clock = range_words(first, last, times, is_whole=True).partition(", ")
        self._title.setText(words)
        count = plural(len(requests), "request")
        say(self._times, f"{count}, {clock}" if clock else count)
        for name in self._names:
            self.values[name].setText("…")
        self._show_parts(None)

    def show_summary(self, summary: RangeSummary) -> None:
        """Show the sums of the selected requests."""
        for name, words in zip(self._names, summary_words(summary), strict=True):
            self.values[name].setText(words)
        self._show_parts(summary)

    def _show_parts(self, summary: RangeSummary | None) -> None:
        colours = self._theme.colours
        came_in = summary.came_in if summary is not None else ()
        parts = [
            (str(name), tokens, colours.categories[name]) for name, tokens in came_in[:MOST_PARTS]
        ]
        if len(came_in) > MOST_PARTS:
            parts.append(
                ("others", sum(tokens for _, tokens in came_in[MOST_PARTS:]), colours.missing)
            )
        self.parts.show_parts(parts)
        self._parts_title.setVisible(bool(parts))
        self._show_largest(summary.largest if summary is not None else None)
        self._messages.setEnabled(summary is not None and bool(summary.first_message))

    def _show_largest(self, largest: LargestGrowth | None) -> None:
        words = subject = ""
        if largest is not None:
            words = largest_words(largest)
            subject = line(f"{largest.tool} {largest.subject}".strip(), 200)
        say(self._largest, words)
        self._subject.show_text(subject)
        self._subject.setVisible(bool(subject))


def summary_words(summary: RangeSummary) -> tuple[str, str, str, str]:
    """Return growth, cost, cache misses and output in words."""
    growth = "unknown" if summary.growth is None else f"{signed(summary.growth)} tokens"
    return growth, _cost_words(summary), _miss_words(summary), f"{grouped(summary.output)} tokens"


def _cost_words(summary: RangeSummary) -> str:
    if summary.cost is None:
        return "no price"
    share = ""
    if summary.whole_cost:
        share = f" of {dollars(summary.whole_cost)}"
    return f"{dollars(summary.cost)}{share}"


def _miss_words(summary: RangeSummary) -> str:
    if not summary.misses:
        return "none"
    cost: Decimal | None = summary.missed_cost
    money = f", {dollars(cost)}" if cost is not None else ""
    return f"{summary.misses:,} ({grouped(summary.missed_tokens)} tokens{money})"


def largest_words(largest: LargestGrowth) -> str:
    """Return a text such as `Largest: request 105, +21,744 tokens`."""
    return f"Largest: request {largest.request:,}, {signed(largest.tokens)} tokens"
