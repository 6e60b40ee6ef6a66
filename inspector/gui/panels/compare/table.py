"""The two tables of the comparison: the policies with their figures and, below each, its difference from the recorded
run; and the lost facts of one policy that were needed again. The style of each policy's curve is defined here, too."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QIcon, QPainter, QPen, QPixmap

from inspector.core.replay.pins import pins_kept
from inspector.core.replay.ranking import rank_policies
from inspector.core.replay.regret import Regret
from inspector.core.replay.report import ReplayReport
from inspector.core.usage import HOUR_S
from inspector.core.words import per_cent, plural, priced_words
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import dollars, grouped, lifetime, signed
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.chart import bold_font, paint_horizontal
from inspector.gui.widgets.painted import RIGHT, PaintedCell, paint_text
from inspector.gui.widgets.table import Column, Index, Rows
from inspector.workbench.compare import BASE, FIGURES, NAMES, PLAIN, Comparison, Figure, Number


@dataclass(frozen=True, slots=True)
class PolicyStyle:
    """How the curve of a policy looks."""

    letter: str
    strokes: tuple[float, ...]
    """Lengths of stroke, gap, stroke, ... in pixels; empty for a solid line."""
    dark: str = ""
    """Colour of the curve on a dark background."""
    light: str = ""
    """Colour of the curve on a light background."""

    def colour(self, colours: Colours) -> str:
        """Return the colour of the curve in a palette."""
        return (self.dark if colours.dark else self.light) or colours.missing

    def pen(self, colours: Colours, width: float = 1.0) -> QPen:
        """Return a pen whose width does not scale with the plot."""
        pen = QPen(ink(self.colour(colours)), width)
        pen.setCosmetic(True)
        if self.strokes:
            pen.setDashPattern([length / width for length in self.strokes])
        return pen


STYLES: Mapping[str, PolicyStyle] = {
    "roku": PolicyStyle("R", strokes=(), dark="#56b4e9", light="#0072b2"),
    "pulse": PolicyStyle("P", strokes=(7, 3), dark="#e69f00", light="#a86f00"),
    "pi": PolicyStyle("π", strokes=(2, 2), dark="#2fb888", light="#007a58"),
    "learn-claude-code": PolicyStyle("L", strokes=(9, 3, 2, 3), dark="#cc79a7", light="#a8447d"),
    "claude-code": PolicyStyle("CC", strokes=(5, 2), dark="#9cc3dd", light="#35657f"),
    "codex": PolicyStyle("C", strokes=(14, 4), dark="#e8743b", light="#c04f00"),
    "anthropic-editing": PolicyStyle("A", strokes=(4, 4), dark="#a394f0", light="#6a55d0"),
    "opencode": PolicyStyle("O", strokes=(1, 3), dark="#f0e442", light="#7a7200"),
    "gemini": PolicyStyle("G", strokes=(7, 3, 2, 3, 2, 3), dark="#c79a6b", light="#7a4a12"),
    PLAIN: PolicyStyle("N", ()),
    BASE: PolicyStyle("S", strokes=(18, 3, 2, 3), dark="#ffffff", light="#000000"),
}
"""Okabe and Ito's colours, darker on a light background."""


def style_of(name: str) -> PolicyStyle:
    """Return the style of a policy; an unknown policy gets its initial and a dotted line.

    Args:
        name: name of a policy, or of a point of a sweep, which begins with the number of the point.
    """
    number = name.partition(" ")[0]
    if number.isdecimal():
        styles = list(STYLES.values())[:-2]
        style = styles[(int(number) - 1) % len(styles)]
        return PolicyStyle(number, style.strokes, style.dark, style.light)
    return STYLES.get(name) or PolicyStyle(name[:1].upper(), (2, 4))


SAMPLE = QSize(22, 12)
"""Size in pixels of a sample of a curve."""


def paint_sample(painter: QPainter, room: QRectF, name: str, colours: Colours) -> None:
    """Paint a sample of a policy's curve across the middle of `room`."""
    pen = style_of(name).pen(colours, 2)
    paint_horizontal(painter, room.center().y(), room.left(), room.right(), pen)


def sample_icon(name: str, colours: Colours, scale: float) -> QIcon:
    """Return a sample of a policy's curve for its chip."""
    picture = QPixmap(SAMPLE * scale)
    picture.setDevicePixelRatio(scale)
    picture.fill(Qt.GlobalColor.transparent)
    with QPainter(picture) as painter:
        paint_sample(
            painter,
            room=QRectF(0, 0, SAMPLE.width() - 3, SAMPLE.height()),
            name=name,
            colours=colours,
        )
    return QIcon(picture)


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A row of the comparison: the report of a policy."""

    report: ReplayReport
    comparison: Comparison
    in_front: bool = False
    """Is the policy beaten by no feasible policy on both cost and facts needed again?"""

    @property
    def name(self) -> str:
        """The policy's name, as given to `--policy`."""
        return self.report.policy

    @property
    def title(self) -> str:
        """The policy's name on screen."""
        return NAMES.get(self.name, self.report.title)

    @property
    def too_large(self) -> int:
        """Number of requests that the model would have refused.

        0 for the recorded run: its requests were accepted, so if they exceed the window, the window is wrong.
        """
        return 0 if self.name == BASE else self.report.over

    @property
    def mark(self) -> str:
        """Return `infeasible: 53 too large` or `on the front`; empty if neither holds."""
        if self.too_large:
            return f"infeasible: {grouped(self.too_large)} too large"
        return "on the front" if self.in_front else ""


def figure_text(figure: Figure, row: PolicyRow) -> str:
    """Return the text of a figure in the table."""
    words = figure.words(row.report)
    if words:
        return words
    value = figure.of(row.report)
    if value is None:
        return "no price"
    count = grouped(int(value))
    if figure.name == "overflows" and row.report.over:
        return f"{count} ({grouped(row.report.over)} remain)"
    hourly = row.report.spent.cache_write_1h
    if figure.name == "cache written" and hourly:
        part = "" if hourly == value else f", {grouped(hourly)}"
        return f"{count}{part} for {lifetime(HOUR_S)}"
    return dollars(Decimal(value)) if figure.unit == "money" else count


def difference_text(figure: Figure, row: PolicyRow) -> str:
    """Return the difference of a figure from the recorded run, in percent if possible; empty if there is none."""
    gap = row.comparison.difference(figure, row.report)
    if gap is None or row.name == BASE:
        return ""
    if not gap:
        return "0"
    recorded = (figure.of(row.report) or 0) - gap
    if figure.unit != "count" and recorded:
        sign = "−" if gap < 0 else "+"
        return f"{sign}{per_cent(abs(float(gap / recorded)), places=1)}"
    if figure.unit == "money":
        sign = "+" if gap > 0 else ""
        return f"{sign}{dollars(Decimal(gap))}"
    return signed(int(gap))


def _cell_text(figure: Figure) -> Callable[[PolicyRow], str]:
    """Return a function that returns the figure of a row and, in a second line, its difference."""

    def text(row: PolicyRow) -> str:
        gap = difference_text(figure, row)
        value = figure_text(figure, row)
        return f"{value}\n({gap})" if gap else value

    return text


def _policy_text(row: PolicyRow) -> str:
    words = f"{style_of(row.name).letter} {row.title}"
    return f"{words}\n{row.mark}" if row.mark else words


_APART = 6
"""Pixels between a policy's letter, the sample of its curve, and its name."""
_WIDTHS = {
    "compactions": 11,
    "fullest request": 8,
    "cache written": 17,
    "facts lost": 9,
    "cost": 8,
    "needed again": 7,
}

COLUMNS: Sequence[Column[PolicyRow]] = (
    Column("policy", _policy_text, width=27, least=21),
    *(
        Column(figure.name, _cell_text(figure), _WIDTHS.get(figure.name, 11), figures=True)
        for figure in FIGURES
    ),
)


def sort_policies(comparison: Comparison, column: int, falling: bool) -> list[PolicyRow]:
    """Return the rows of the table, the recorded run always first, since all others are compared with it.

    Args:
        column: index of the column to sort by (0: the policy's name); negative: keep the order of the catalogue.
        falling: sort in descending order; unknown figures come last in any case.
    """
    front = {standing.policy for standing in rank_policies(comparison.reports) if standing.in_front}
    has_front = len(comparison.reports) > 1
    rows = [
        PolicyRow(report, comparison, has_front and report.policy in front)
        for report in comparison.reports
    ]
    if column == 0:
        rows.sort(key=lambda row: row.report.title.lower(), reverse=falling)
    elif column > 0:
        figure = FIGURES[column - 1]
        rows.sort(key=lambda row: _sort_key(figure.of(row.report), falling))
    return sorted(rows, key=lambda row: row.name != BASE)


def _sort_key(value: Number | None, falling: bool) -> tuple[bool, Number]:
    if value is None:
        return True, Decimal(0)
    return False, -value if falling else value


def as_table(rows: Sequence[PolicyRow]) -> str:
    """Return the table for a spreadsheet: a policy per line, cells between tabs, each figure with its difference."""
    heads = ["policy"]
    for figure in FIGURES:
        heads += [figure.name, f"{figure.name}, difference"]
    lines = [heads]
    for row in rows:
        cells = [row.name]
        for figure in FIGURES:
            value = figure.words(row.report) or _number_text(figure.of(row.report))
            gap = row.comparison.difference(figure, row.report)
            cells += [value, _number_text(gap)]
        lines.append(cells)
    return "\n".join("\t".join(cells) for cells in lines)


def _number_text(number: Number | None) -> str:
    return "" if number is None else f"{number}"


class CompareTable(Rows[PolicyRow]):
    """The policies side by side. `picked` carries the name of the policy that was chosen."""

    LINES: ClassVar[float] = 2.1
    SPREADS: ClassVar[bool] = True
    picked = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__("Policies side by side", COLUMNS)
        self._comparison = Comparison()
        self._by = -1
        self._falling = True
        self.setSelectionMode(self.SelectionMode.SingleSelection)
        self.setItemDelegate(_TwoLines(theme, self))
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self._sort)
        what = "\n".join(f"{figure.name}: {figure.what}" for figure in FIGURES)
        header.setToolTip(
            tip(
                f"{what}\nBelow each figure: its difference from what happened. Click a head to sort."
            )
        )
        self.chosen.connect(lambda row, _: self.picked.emit(self.rows[row].name))

    def show_comparison(self, comparison: Comparison, picked: str) -> None:
        """Show the policies of a comparison, with the picked one selected."""
        self._comparison = comparison
        pins = next(index for index, figure in enumerate(FIGURES, 1) if figure.name == "pins kept")
        self.leave_out(pins, not any(pins_kept(report.pins)[1] for report in comparison.reports))
        self.show_rows(sort_policies(comparison, self._by, self._falling))
        place = next((index for index, row in enumerate(self.rows) if row.name == picked), -1)
        if place >= 0:
            self.setCurrentIndex(self.model().index(place, max(0, self.currentIndex().column())))
        else:
            self.clearSelection()

    def _sort(self, column: int) -> None:
        """Sort by a column: largest first, smallest first on a second click, unsorted on a third."""
        if column != self._by:
            self._by = column
            self._falling = column > 0
        elif self._falling == (column > 0):
            self._falling = not self._falling
        else:
            self._by = -1
        self._model.order = (self._by, self._falling) if self._by >= 0 else None
        current_row = self.currentIndex().row()
        self.show_comparison(
            self._comparison, self.rows[current_row].name if current_row >= 0 else ""
        )

    def copied(self) -> str:
        """Return the whole table for a spreadsheet."""
        return as_table(self.rows)


class _TwoLines(PaintedCell):
    def __init__(self, theme: Theme, table: CompareTable) -> None:
        super().__init__(theme, table)
        self._table = table

    def paint_cell(
        self, painter: QPainter, rect: QRect, index: Index, chosen: bool, colours: Colours
    ) -> None:
        row = self._table.rows[index.row()]
        inner = rect.adjusted(9, 2, -9, -2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(ink(colours.line))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        if index.column() == 0:
            self._paint_name(painter, room=inner, row=row, picked=chosen, colours=colours)
        else:
            self._paint_figure(
                painter, room=inner, row=row, figure=FIGURES[index.column() - 1], colours=colours
            )

    def _paint_name(
        self, painter: QPainter, room: QRect, row: PolicyRow, picked: bool, colours: Colours
    ) -> None:
        """Paint letter, sample and title of a policy and, below the title, whether it is infeasible or on the front."""
        style = style_of(row.name)
        bold = bold_font(painter.font())
        painter.setFont(bold)
        paint_text(painter, room, text=style.letter, colour=style.colour(colours))
        room = room.adjusted(painter.fontMetrics().horizontalAdvance("CC") + _APART, 0, 0, 0)
        sample = QRectF(room.left(), room.top(), SAMPLE.width(), room.height())
        paint_sample(painter, room=sample, name=row.name, colours=colours)
        room = room.adjusted(SAMPLE.width() + _APART, 0, 0, 0)
        if not picked:
            bold.setWeight(QFont.Weight.Normal)
            painter.setFont(bold)
        if not row.mark:
            self._paint_title(painter, room, row.title, colours)
            return
        upper, lower = _split_room(room)
        paint_text(
            painter,
            room=upper,
            text=row.title,
            colour=colours.quiet if row.too_large else colours.text,
        )
        painter.setFont(ui_font(self._theme.small))
        paint_text(
            painter,
            room=lower,
            text=row.mark,
            colour=colours.high if row.too_large else colours.good,
        )

    def _paint_title(self, painter: QPainter, room: QRect, title: str, colours: Colours) -> None:
        """Paint a title, on two lines if it needs exactly two."""
        metrics = painter.fontMetrics()
        wraps = Qt.TextFlag.TextWordWrap | Qt.TextFlag.TextDontClip
        whole = metrics.boundingRect(0, 0, room.width(), 0, wraps, title)
        has_two_lines = whole.height() == 2 * metrics.height()
        if has_two_lines and whole.width() <= room.width():
            painter.setPen(ink(colours.text))
            flags = int(Qt.AlignmentFlag.AlignVCenter) | int(wraps)
            painter.drawText(room, flags, title)
        else:
            paint_text(painter, room, text=title, colour=colours.text)

    def _paint_figure(
        self, painter: QPainter, room: QRect, row: PolicyRow, figure: Figure, colours: Colours
    ) -> None:
        """Paint a figure and, below it, its difference; highlight the figures that make a policy infeasible."""
        value = figure_text(figure, row)
        gap = difference_text(figure, row)
        colour = colours.text
        if row.too_large:
            is_cause = figure.name in ("fullest request", "overflows")
            colour = colours.high if is_cause else colours.quiet
        if not gap:
            paint_text(painter, room, text=value, colour=colour, how=RIGHT)
            return
        upper, lower = _split_room(room)
        paint_text(painter, room=upper, text=value, colour=colour, how=RIGHT)
        small = QFont(painter.font())
        small.setPointSizeF(self._theme.small)
        painter.setFont(small)
        paint_text(painter, room=lower, text=gap, colour=colours.quiet, how=RIGHT)


def _split_room(room: QRect) -> tuple[QRect, QRect]:
    """Return the upper and the lower half of a cell."""
    half = room.height() // 2
    return room.adjusted(0, 0, 0, half - room.height()), room.adjusted(0, half, 0, 0)


LOST = 1
"""Index of the column in which a click goes to the compaction that lost the fact, not to the request that needed it."""

REGRETS: Sequence[Column[Regret]] = (
    Column("needed by", lambda regret: f"{regret.needed_by} ({regret.how})", width=11, least=12),
    Column(
        "lost by",
        lambda regret: f"{regret.at.tier} before {regret.at.before_request:,}",
        width=19,
        least=17,
    ),
    Column("fact needed again", lambda regret: regret.fact.text, least=34, lines=3),
    Column(
        "read again",
        lambda regret: f"{regret.price:,} tokens" if regret.repaired else "",
        width=12,
        figures=True,
    ),
    Column(
        "kind", lambda regret: "URL" if regret.fact.kind == "url" else regret.fact.kind, width=9
    ),
)


NEEDS_UNKNOWN = (
    "It is unknown what was needed again, because a summary is not readable in this file."
)


def no_regret_words(report: ReplayReport) -> str:
    """Return the sentence shown in an empty list of facts needed again."""
    return "No lost fact was needed again." if report.losses.needs_are_known else NEEDS_UNKNOWN


def infeasible_words(row: PolicyRow) -> str:
    """Return a sentence that says why a policy is infeasible; empty if it is feasible."""
    report = row.report
    if not row.too_large or report.window is None:
        return ""
    many = f"{grouped(row.too_large)} of {plural(len(report.rows), 'request')}"
    return (
        f"{row.title} is infeasible: {many} exceed the window of {grouped(report.window)} tokens."
    )


def regret_words(report: ReplayReport) -> str:
    """Return sentences that say how many facts a policy lost and how many of them were needed again."""
    losses = report.losses
    if not losses.facts:
        return f"{report.title} removed nothing."
    summaries = report.spent.summaries_usd
    estimated = report.spent.estimated_usd
    priced = ""
    if report.policy == BASE and summaries:
        part = f", {dollars(estimated)} estimated" if estimated else ""
        if estimated == summaries:
            part = ", estimated"
        priced = f" {dollars(summaries)} of its cost are for summaries{part}."
    elif summaries:
        priced = (
            f" Of its cost {priced_words(summaries, report.summaries_most_usd)} is for summaries."
        )
    again = ""
    if losses.rereads:
        again = f", {losses.rereads:,} of these read again for {losses.reread_tokens:,} tokens"
    lost = f"{losses.lost_words} of {losses.facts:,} facts lost"
    if losses.needs_are_known:
        return f"{report.title}: {lost}, {losses.needed_words} of them needed again{again}.{priced}"
    return f"{report.title}: {lost}. {NEEDS_UNKNOWN}{priced}"
