"""The parts of the timeline below its heading: the plot with its ruler, the rows of marks, the overview of the session.

If there is little height, the overview is hidden first and then the rows, so that the plot stays readable.
"""

from collections.abc import Collection, Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.core.session import Thread
from inspector.core.words import part_title, per_cent
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column
from inspector.gui.look.colours import Colours
from inspector.gui.look.number_formats import cache_words, grouped
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line
from inspector.gui.panels.timeline.canvas import PlotCanvas
from inspector.gui.panels.timeline.curves import Curves
from inspector.gui.panels.timeline.frame import ROWS, TimelineFrame
from inspector.gui.panels.timeline.line_drag import LineDrag, line_colours
from inspector.gui.panels.timeline.line_labels import TimelineLines, is_roomy, label_lines
from inspector.gui.panels.timeline.mark_rows import Band, BandRow, MarkRows
from inspector.gui.panels.timeline.overview_strip import OverviewStrip
from inspector.gui.panels.timeline.ruler import range_words
from inspector.gui.widgets.stacked_areas import StackedAreas
from inspector.workbench.pressure.filling import DIFFERENCE, NO_TOOL, OTHER_TOOLS, UNSEEN, Areas
from inspector.workbench.pressure.scale import Firing, GaugeLine
from inspector.workbench.pressure.timeline import Mark, Series

LEAST_PLOT = 70
"""Minimum height of the plot in pixels. If less is left, the overview and then the rows of marks are hidden."""
MOST_NAMED = 4
"""Maximum number of areas that a tooltip lists, the largest first."""
TOOL_COLOURS = (
    "#e69f00",
    "#56b4e9",
    "#009e73",
    "#f0e442",
    "#0072b2",
    "#cc79a7",
    "#8f7ee6",
    "#994f00",
)
"""Colours of the largest tool, the second largest and so on (Okabe and Ito)."""


class TimelinePlot(Guarded, QWidget):
    """The plot with rows of marks and overview.

    `moved` is emitted with the request that the user selected, `hovered` with the text about what is under the mouse.
    """

    moved = Signal(object)
    hovered = Signal(str)
    offered = Signal(int, object)
    chose = Signal(object)
    range_changed = Signal()
    parts_changed = Signal()
    """Emitted when rows or overview are hidden or shown."""
    rows_changed = Signal()
    """Emitted when the number of rows of marks changes."""

    def __init__(self, theme: Theme, drag: LineDrag) -> None:
        super().__init__()
        self._theme = theme
        self._thread: Thread | None = None
        self.areas: Areas | None = None
        """What fills the buffer; None while curves are shown."""
        self.hidden: set[str] = set()
        """Names of the hidden areas."""
        self.firings: tuple[Firing, ...] = ()
        self.frame = TimelineFrame(theme, self)
        self.canvas = PlotCanvas(self.frame, drag)
        self.mark_rows = MarkRows(self.frame)
        self.overview = OverviewStrip(self.frame)
        self.canvas.about = self.about
        self.frame.moved.connect(self.moved)
        self.frame.hovered.connect(
            lambda at: self.hovered.emit("" if at is None else self.headline(at))
        )
        self.frame.range.changed.connect(self.range_changed)
        self.mark_rows.picked.connect(self.moved)
        self.mark_rows.named.connect(self.hovered)
        self.mark_rows.rows_changed.connect(self._fit)
        self.mark_rows.rows_changed.connect(self.rows_changed)
        self.mark_rows.hidden_changed.connect(self.parts_changed)
        self.canvas.offered.connect(self.offered)
        self.canvas.chose.connect(self.chose)
        self.canvas.all_wanted.connect(self.show_all)
        self.overview.all_wanted.connect(self.show_all)
        self.mark_rows.setFocusProxy(self.canvas)
        self.overview.setFocusProxy(self.canvas)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        column((self.canvas, 1), self.mark_rows, self.overview, of=self, gap=0)

    # -- what is shown -------------------------------------------------------------------------------------------------

    @property
    def curves(self) -> Curves:
        """The curves. They are also kept while areas are shown."""
        return self.canvas.curves

    @property
    def count(self) -> int:
        """Number of requests of the thread."""
        return self.frame.range.count

    def show_curves(self, curves: Curves, thread: Thread | None) -> None:
        """Show another thread, or the same thread with more requests.

        With more requests, a zoomed view stays, or follows the end.
        """
        keeps_view = is_grown(self._thread, thread)
        self._thread = thread
        self.canvas.curves = curves
        requests = thread.requests if thread is not None else ()
        self.canvas.ruler.times = [request.time for request in requests]
        if not keeps_view:
            self.select(None)
        self.frame.range.set_count(len(requests), keeps_view)
        self._show_overview()
        self.canvas.redraw()

    def _show_overview(self) -> None:
        self.overview.show_heights(self.curves.heights, self.canvas.top)

    def show_areas(self, areas: Areas | None) -> None:
        """Show what fills the buffer; None: show the curves."""
        self.areas = areas
        if areas is None:
            self.canvas.show_areas(None, ())
            return
        parts = [index for index, name in enumerate(areas.names) if name not in self.hidden]
        colours = area_colours(self._theme.colours, areas)
        stacked = StackedAreas([areas.tokens[index] for index in parts] or [[0] * self.count])
        self.canvas.show_areas(
            stacked, [colours[index] for index in parts] or [self._theme.colours.window]
        )

    def hide_names(self, names: Collection[str]) -> None:
        """Hide exactly these areas and curves."""
        self.hidden = set(names)
        self.canvas.hidden = frozenset(names)
        if self.areas is not None:
            self.show_areas(self.areas)
        else:
            self.canvas.redraw()

    def show_lines(self, lines: TimelineLines) -> None:
        """Show the window, the watermarks, and the size at which the recorded client compacts."""
        top = self.canvas.top
        self.canvas.show_lines(lines)
        self._fit_gutters()
        if self.canvas.top != top:
            self._show_overview()

    def show_firings(self, firings: tuple[Firing, ...]) -> None:
        """Show the requests above each line: one row for the lines of the scale, and one row for each other line."""
        self.firings = firings
        colours = line_colours(self._theme.colours, [firing.line for firing in firings])
        pairs = list(zip(firings, colours, strict=True))
        scale = [pair for pair in pairs if pair[0].line.is_scale]
        if scale:
            rows = [
                _band_row(f"Over {', '.join(_share(firing.line) for firing, _ in scale)}", scale)
            ]
        else:
            rows = []
        rows += [
            _band_row(f"Over {pair[0].line.label}", [pair])
            for pair in pairs
            if not pair[0].line.is_scale
        ]
        self.mark_rows.show_bands(tuple(row for row in rows if row.count))

    def show_marks(self, marks: Sequence[Mark], at: int | None) -> None:
        """Show these marks, those of the curves (compactions and drops), and the playhead at request `at`."""
        self.mark_rows.show_marks((*self.curves.series.marks, *marks))
        self.frame.at = at
        if self.canvas.effects:
            self.canvas.redraw()
        for part in (self.canvas, self.mark_rows, self.overview):
            part.update()

    def select(self, requests: range | None) -> None:
        """Select these requests; None: clear the selection."""
        self.frame.chosen = requests
        self.canvas.redraw()

    def show_all(self) -> None:
        """Show every request of the session."""
        self.frame.range.show_all()

    @property
    def range_words(self) -> str:
        """The visible requests in words."""
        visible = self.frame.range
        return range_words(*visible.requests, self.canvas.ruler.times, visible.is_whole)

    def describe(self, words: str) -> None:
        """Describe the plot for screen readers."""
        self.canvas.setAccessibleDescription(words)

    # -- sizes ---------------------------------------------------------------------------------------------------------

    @property
    def _plot_above_rows(self) -> int:
        """Height of the plot in pixels if the rows of marks are shown and the overview is hidden."""
        rows = max(ROWS, len(self.mark_rows.titles)) * self.mark_rows.row_height
        return self.height() - round(self.canvas.height() - self.canvas.area.height()) - rows

    @property
    def is_low(self) -> bool:
        """True if there is too little height for the rows of marks."""
        return self._plot_above_rows < LEAST_PLOT

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
        self._fit_gutters()

    def _fit(self) -> None:
        self.mark_rows.setVisible(not self.is_low)
        self.overview.setVisible(
            self._plot_above_rows - self.overview.sizeHint().height() >= LEAST_PLOT
        )
        self.parts_changed.emit()

    def _fit_gutters(self) -> None:
        labels = label_lines(
            self.canvas.lines,
            effect=None,
            colours=self._theme.colours,
            is_roomy=is_roomy(self.width()),
        )
        beside = self.frame.metrics.horizontalAdvance("All requests shown")
        self.frame.fit_gutters(self.width(), max(self.canvas.gutter.label_width(labels), beside))

    def restyle(self) -> None:
        """Apply colours and font sizes of the theme."""
        self._fit_gutters()
        self._fit()
        self.show_areas(self.areas)
        self.show_firings(self.firings)
        self.overview.restyle()
        self.mark_rows.restyle()
        self.canvas.redraw()

    # -- words ---------------------------------------------------------------------------------------------------------

    def headline(self, at: int) -> str:
        """Return a text such as `Request 105: 85,585 tokens (42.8%), 09:45:25`."""
        height = self.curves.heights[at] if at < len(self.curves.heights) else None
        tokens = "unknown size" if height is None else f"{grouped(height)} tokens"
        window = self.canvas.lines.window
        if height is not None and window and not self.canvas.lines.is_assumed:
            tokens += f" ({per_cent(height / window, places=1)})"
        time = self.canvas.ruler.times[at][11:19]
        return f"Request {at:,}: {tokens}" + (f", {time}" if time else "")

    def about(self, at: int) -> str:
        """Return the tooltip of a request, with a line each for size, every count, what fills the buffer, and the
        cache."""
        series = self.curves.series
        thread = self._thread
        if thread is None or at >= len(series.kinds):
            return ""
        lines = [self.headline(at), ", ".join(_sizes(series, at)), self._filling_words(at)]
        lines += [cache_words(thread.requests[at].usage), self.firing_words(at)]
        return "\n".join(filter(None, lines))

    def _filling_words(self, at: int) -> str:
        if self.areas is None:
            return ""
        sizes = list[tuple[int, str]]()
        for name, row in zip(self.areas.names, self.areas.tokens, strict=True):
            if at < len(row) and row[at]:
                sizes.append((row[at], name))
        largest = sorted(sizes, reverse=True)[:MOST_NAMED]
        return ", ".join(
            f"{line(area_title(name), 40)} {grouped(tokens)}" for tokens, name in largest
        )

    def firing_words(self, at: int) -> str:
        """Return a text such as `L1, L2 would have fired`; empty if the request exceeds no line."""
        above = [firing.line for firing in self.firings if _is_in_run(at, firing.runs)]
        tiers = [_tiers(line) for line in above]
        return f"{', '.join(tiers)} would have fired" if tiers else ""


def _band_row(title: str, firings: Sequence[tuple[Firing, str]]) -> BandRow:
    """Return a row of the requests above some lines. The bands of the last line are painted on top."""
    bands = [Band(first, last, colour) for firing, colour in firings for first, last in firing.runs]
    requests = set[int]()
    for band in bands:
        requests.update(range(band.first, band.last + 1))
    words = "\n".join(fired_words(firing) for firing, _ in firings)
    return BandRow(title, requests=tuple(sorted(requests)), bands=tuple(bands), words=words)


def _share(line: GaugeLine) -> str:
    """Return the share in a line's label, such as `60%` of `60% L1, L2`."""
    return line.label.split(" ")[0]


def _tiers(line: GaugeLine) -> str:
    """Return the tiers of a line, such as `L1, L2`; for another policy with its title: `Codex compact`."""
    names = ", ".join(line.watermark.tiers)
    return names if line.is_scale else f"{line.title} {names}"


def fired_words(firing: Firing) -> str:
    """Return how many requests exceed a line, such as `L1, L2 would have fired at 43 requests, first at 172`.

    The count assumes that no tier had fired before.
    """
    tiers = _tiers(firing.line)
    if not firing.count:
        return f"No request would have fired {tiers}"
    requests = f"{firing.count:,} {'request' if firing.count == 1 else 'requests'}"
    return f"{tiers} would have fired at {requests}, first at {grouped(firing.runs[0][0])}"


def _sizes(series: Series, at: int) -> tuple[str, ...]:
    """Return the known sizes of a request: `84,210 reported`, `84,190 predicted`, `83,100 own count` of the policy."""
    kind = series.kinds[at]
    height = series.heights[at]
    predicted = series.predicted[at]
    words = [f"{grouped(height)} {kind}" if height is not None else kind]
    if kind == "reported" and predicted is not None:
        words.append(f"{grouped(predicted)} predicted")
    if at < len(series.believed):
        words.append(f"{grouped(series.believed[at])} own count")
    return tuple(words)


def is_grown(before: Thread | None, now: Thread | None) -> bool:
    """Return True if `now` is the same thread as `before`, unchanged or with more requests."""
    if (
        before is None
        or now is None
        or before.id != now.id
        or len(now.requests) < len(before.requests)
    ):
        return False
    return _beginning(before) == _beginning(now)


def _beginning(thread: Thread) -> tuple[str, int, int] | None:
    if not thread.requests:
        return None
    request = thread.requests[0]
    return request.time, request.line, len(request.view)


def area_title(name: str) -> str:
    """Return the name of an area as it is written on the screen."""
    return part_title(name)


def area_colours(colours: Colours, areas: Areas) -> list[str]:
    """Return the colour of each area, lowest first. Categories have the colours of the gauge.

    For tools, the largest tool gets the first of TOOL_COLOURS.
    """
    by_name: dict[str, str] = {
        UNSEEN: colours.missing,
        DIFFERENCE: colours.categories["difference"],
    }
    if areas.kind == "category":
        by_name |= {str(name): colour for name, colour in colours.categories.items()}
    else:
        tools = [
            name
            for name in reversed(areas.names)
            if name not in (UNSEEN, NO_TOOL, OTHER_TOOLS, DIFFERENCE)
        ]
        by_name |= dict(zip(tools, TOOL_COLOURS, strict=False))
        by_name |= {NO_TOOL: colours.categories["system"], OTHER_TOOLS: colours.categories["tools"]}
    return [by_name[name] for name in areas.names]


def _is_in_run(at: int, runs: Sequence[tuple[int, int]]) -> bool:
    """Return True if a request is in one of these runs of requests, whose two ends belong to the run."""
    return any(first <= at <= last for first, last in runs)
