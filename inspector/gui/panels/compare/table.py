"""The two lists of the comparison: a policy a row with its figures, beneath each its difference from what happened; and
what was needed again of what one of them lost. How each policy is drawn stands first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QIcon, QPainter, QPen, QPixmap

from inspector.core.replay.pins import pins_kept
from inspector.core.replay.ranking import rank_policies
from inspector.core.replay.regret import Regret
from inspector.core.replay.report import ReplayReport
from inspector.core.usage import HOUR
from inspector.core.words import per_cent, plural, priced_words
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import dollars, grouped, lifetime, signed
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.painted import RIGHT, PaintedCell, paint_text
from inspector.gui.widgets.table import Column, Index, Rows
from inspector.workbench.compare import BASE, FIGURES, NAMES, PLAIN, Comparison, Figure, Number


@dataclass(frozen=True, slots=True)
class PolicyStyle:
    """`strokes`: lengths of stroke, gap, stroke ... in pixels; empty = solid. `#rrggbb` on dark and on light."""

    letter: str
    strokes: tuple[float, ...]
    dark: str = ""
    light: str = ""

    def colour(self, colours: Colours) -> str:
        """In one of the two palettes."""
        return (self.dark if colours.dark else self.light) or colours.missing

    def pen(self, colours: Colours, width: float = 1.0) -> QPen:
        """A cosmetic one."""
        pen = QPen(ink(self.colour(colours)), width)
        pen.setCosmetic(True)
        if self.strokes:
            pen.setDashPattern([length / width for length in self.strokes])
        return pen


STYLES: Mapping[str, PolicyStyle] = {
    "roku": PolicyStyle("R", (), "#56b4e9", "#0072b2"),
    "pulse": PolicyStyle("P", (7, 3), "#e69f00", "#a86f00"),
    "pi": PolicyStyle("π", (2, 2), "#2fb888", "#007a58"),
    "learn-claude-code": PolicyStyle("L", (9, 3, 2, 3), "#cc79a7", "#a8447d"),
    "claude-code": PolicyStyle("CC", (5, 2), "#9cc3dd", "#35657f"),
    "codex": PolicyStyle("C", (14, 4), "#e8743b", "#c04f00"),
    "anthropic-editing": PolicyStyle("A", (4, 4), "#a394f0", "#6a55d0"),
    "opencode": PolicyStyle("O", (1, 3), "#f0e442", "#7a7200"),
    "gemini": PolicyStyle("G", (7, 3, 2, 3, 2, 3), "#c79a6b", "#7a4a12"),
    PLAIN: PolicyStyle("N", ()),
    BASE: PolicyStyle("S", (18, 3, 2, 3), "#ffffff", "#000000"),
}
"""Okabe and Ito's colours, made darker where they must stand on white."""


def style_of(name: str) -> PolicyStyle:
    """Of the policy of that name; any other one's initial, dotted."""
    number = name.partition(" ")[0]
    if number.isdecimal():  # a point of a sweep
        like = list(STYLES.values())[(int(number) - 1) % (len(STYLES) - 2)]
        return PolicyStyle(number, like.strokes, like.dark, like.light)
    return STYLES.get(name) or PolicyStyle(name[:1].upper(), (2, 4))


SAMPLE = QSize(22, 12)


def paint_sample(painter: QPainter, room: QRectF, name: str, colours: Colours) -> None:
    """A piece of its line across the middle of `room`."""
    painter.setPen(style_of(name).pen(colours, 2))
    painter.drawLine(QPointF(room.left(), room.center().y()), QPointF(room.right(), room.center().y()))


def sample_icon(name: str, colours: Colours, scale: float) -> QIcon:
    """For a chip."""
    picture = QPixmap(SAMPLE * scale)
    picture.setDevicePixelRatio(scale)
    picture.fill(Qt.GlobalColor.transparent)
    with QPainter(picture) as painter:
        paint_sample(painter, QRectF(0, 0, SAMPLE.width() - 3, SAMPLE.height()), name, colours)
    return QIcon(picture)


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A policy of the table."""

    report: ReplayReport
    comparison: Comparison
    in_front: bool = False
    """No feasible policy beats it on both cost and what was needed again."""

    @property
    def name(self) -> str:
        """As in `--policy`."""
        return self.report.policy

    @property
    def title(self) -> str:
        """As people read it."""
        return NAMES.get(self.name, self.report.title)

    @property
    def too_large(self) -> int:
        """How many requests the model would have refused; 0 for what happened, where the window is at fault."""
        return 0 if self.name == BASE else self.report.over

    @property
    def mark(self) -> str:
        """Return `infeasible: 53 too large` or `not beaten on cost and needs`; empty if neither holds."""
        if self.too_large:
            return f"infeasible: {grouped(self.too_large)} too large"
        return "not beaten on cost and needs" if self.in_front else ""


def shown(figure: Figure, row: PolicyRow) -> str:
    """A figure as people read it."""
    if words := figure.words(row.report):
        return words
    value = figure.of(row.report)
    if value is None:
        return "no price"
    if figure.name == "overflows" and row.report.over:
        return f"{grouped(int(value))} ({grouped(row.report.over)} remain)"
    hourly = row.report.spent.cache_write_1h
    if figure.name == "cache written" and hourly:
        part = "" if hourly == value else f", {grouped(hourly)}"
        return f"{grouped(int(value))}{part} for {lifetime(HOUR)}"
    return dollars(Decimal(value)) if figure.unit == "money" else grouped(int(value))


def differs(figure: Figure, row: PolicyRow) -> str:
    """Its difference from what happened: a share where there is something to be a share of."""
    gap = row.comparison.difference(figure, row.report)
    if gap is None or row.name == BASE:
        return ""
    base = figure.of(row.report)
    plain = (base or 0) - gap
    if not gap:
        return "0"
    if figure.unit != "count" and plain:
        return f"{'−' if gap < 0 else '+'}{per_cent(abs(float(gap / plain)), 1)}"
    return f"{'+' if gap > 0 else ''}{dollars(Decimal(gap))}" if figure.unit == "money" else signed(int(gap))


def _cell(figure: Figure) -> Callable[[PolicyRow], str]:
    def text(row: PolicyRow) -> str:
        gap = differs(figure, row)
        return f"{shown(figure, row)}\n({gap})" if gap else shown(figure, row)

    return text


def _named(row: PolicyRow) -> str:
    words = f"{style_of(row.name).letter} {row.title}"
    return f"{words}\n{row.mark}" if row.mark else words


_APART = 6
"""Pixels between a policy's letters, the sample of its line, and its name."""
_WIDTHS = {"compactions": 11, "fullest request": 8, "cache written": 17, "facts lost": 9, "cost": 8, "needed again": 7}

COLUMNS: Sequence[Column[PolicyRow]] = (
    Column("policy", _named, 27, least=21),
    *(Column(figure.name, _cell(figure), _WIDTHS.get(figure.name, 11), figures=True) for figure in FIGURES),
)


def ordered(comparison: Comparison, by: int, falling: bool) -> list[PolicyRow]:
    """By a column; 0 = by name. Equal ones stay in the catalogue's order, what is unknown comes last. What happened
    stays the first row: all others are compared with it."""
    front = {standing.policy for standing in rank_policies(comparison.reports) if standing.in_front}
    rows = [
        PolicyRow(report, comparison, report.policy in front and len(comparison.reports) > 1)
        for report in comparison.reports
    ]
    if by == 0:
        rows.sort(key=lambda row: row.report.title.lower(), reverse=falling)
    elif by > 0:
        figure = FIGURES[by - 1]

        def key(row: PolicyRow) -> tuple[bool, Number]:
            value = figure.of(row.report)
            if value is None:
                return True, Decimal(0)
            return False, -value if falling else value

        rows.sort(key=key)
    return sorted(rows, key=lambda row: row.name != BASE)


def as_table(rows: Sequence[PolicyRow]) -> str:
    """For a spreadsheet: a line a policy, cells between tabs, known numbers plain, each with its difference."""
    heads = ["policy", *(head for figure in FIGURES for head in (figure.name, f"{figure.name}, difference"))]
    lines = [heads]
    for row in rows:
        cells = [row.name]
        for figure in FIGURES:
            value, gap = figure.of(row.report), row.comparison.difference(figure, row.report)
            plain = ["" if number is None else f"{number}" for number in (value, gap)]
            cells += [figure.words(row.report) or plain[0], plain[1]]
        lines.append(cells)
    return "\n".join("\t".join(cells) for cells in lines)


class CompareTable(Rows[PolicyRow]):
    """`picked` carries the name of the policy that was chosen."""

    LINES: ClassVar[float] = 2.1
    SPREADS: ClassVar[bool] = True
    picked = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__("Policies side by side", COLUMNS)
        self._comparison = Comparison()
        self._by, self._falling = -1, True
        self.setSelectionMode(self.SelectionMode.SingleSelection)
        self.setItemDelegate(_TwoLines(theme, self))
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self._sort)
        what = "\n".join(f"{figure.name}: {figure.what}" for figure in FIGURES)
        header.setToolTip(tip(f"{what}\nBeneath each: the difference from what happened. A click sorts."))
        self.chosen.connect(lambda row, _: self.picked.emit(self.rows[row].name))

    def show_comparison(self, comparison: Comparison, picked: str) -> None:
        """These rows, that one selected."""
        self._comparison = comparison
        pins = next(n for n, figure in enumerate(FIGURES, 1) if figure.name == "pins kept")
        self.leave_out(pins, not any(pins_kept(report.pins)[1] for report in comparison.reports))
        self.show_rows(ordered(comparison, self._by, self._falling))
        place = next((n for n, row in enumerate(self.rows) if row.name == picked), -1)
        if place >= 0:
            self.setCurrentIndex(self.model().index(place, max(0, self.currentIndex().column())))
        else:
            self.clearSelection()

    def _sort(self, column: int) -> None:
        """The largest first, by a second click the smallest, by a third as chosen."""
        if column != self._by:
            self._by, self._falling = column, column > 0
        elif self._falling == (column > 0):
            self._falling = not self._falling
        else:
            self._by = -1
        self._model.order = (self._by, self._falling) if self._by >= 0 else None
        current_row = self.currentIndex().row()
        self.show_comparison(self._comparison, self.rows[current_row].name if current_row >= 0 else "")

    def copied(self) -> str:
        """All of it, for a spreadsheet."""
        return as_table(self.rows)


class _TwoLines(PaintedCell):
    def __init__(self, theme: Theme, table: CompareTable) -> None:
        super().__init__(theme, table)
        self._table = table

    def paint_cell(self, painter: QPainter, rect: QRect, index: Index, chosen: bool, c: Colours) -> None:
        row, inner = self._table.rows[index.row()], rect.adjusted(9, 2, -9, -2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(ink(c.line))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        if index.column() == 0:
            self._paint_name(painter, inner, row, chosen, c)
        else:
            self._paint_figure(painter, inner, row, FIGURES[index.column() - 1], c)

    def _paint_name(self, painter: QPainter, room: QRect, row: PolicyRow, picked: bool, c: Colours) -> None:
        bold = QFont(painter.font())
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold)
        paint_text(painter, room, style_of(row.name).letter, style_of(row.name).colour(c))
        left = room.adjusted(painter.fontMetrics().horizontalAdvance("CC") + _APART, 0, 0, 0)
        paint_sample(painter, QRectF(left.left(), left.top(), SAMPLE.width(), left.height()), row.name, c)
        left = left.adjusted(SAMPLE.width() + _APART, 0, 0, 0)
        if not picked:
            bold.setWeight(QFont.Weight.Normal)
            painter.setFont(bold)
        if row.mark:
            half = left.height() // 2
            title = c.quiet if row.too_large else c.text
            paint_text(painter, left.adjusted(0, 0, 0, half - left.height()), row.title, title)
            painter.setFont(ui_font(self._theme.small))
            paint_text(painter, left.adjusted(0, half, 0, 0), row.mark, c.high if row.too_large else c.good)
        else:
            self._paint_title(painter, left, row.title, c)

    def _paint_title(self, painter: QPainter, room: QRect, title: str, c: Colours) -> None:
        """On two lines if one is too short and two are enough."""
        metrics, wraps = painter.fontMetrics(), Qt.TextFlag.TextWordWrap | Qt.TextFlag.TextDontClip
        whole = metrics.boundingRect(0, 0, room.width(), 0, wraps, title)
        if whole.width() <= room.width() and whole.height() == 2 * metrics.height():
            painter.setPen(ink(c.text))
            painter.drawText(room, int(Qt.AlignmentFlag.AlignVCenter) | int(wraps), title)
        else:
            paint_text(painter, room, title, c.text)

    def _paint_figure(self, painter: QPainter, room: QRect, row: PolicyRow, figure: Figure, c: Colours) -> None:
        gap = differs(figure, row)
        is_cause = figure.name in ("fullest request", "overflows")
        colour = c.text
        if row.too_large:
            colour = c.high if is_cause else c.quiet
        if not gap:
            paint_text(painter, room, shown(figure, row), colour, RIGHT)
            return
        half = room.height() // 2
        paint_text(painter, room.adjusted(0, 0, 0, half - room.height()), shown(figure, row), colour, RIGHT)
        small = QFont(painter.font())
        small.setPointSizeF(self._theme.small)
        painter.setFont(small)
        paint_text(painter, room.adjusted(0, half, 0, 0), gap, c.quiet, RIGHT)


LOST = 1
"""The column whose click leads to the loss, not to the need."""

REGRETS: Sequence[Column[Regret]] = (
    Column("needed by", lambda regret: f"{regret.needed_by} ({regret.how})", 11, least=12),
    Column("lost by", lambda regret: f"{regret.at.tier} before {regret.at.before_request}", 19, least=17),
    Column("fact needed again", lambda regret: regret.fact.text, least=34, lines=3),
    Column("read again", lambda regret: f"{regret.price:,} tokens" if regret.repaired else "", 12, figures=True),
    Column("kind", lambda regret: "URL" if regret.fact.kind == "url" else regret.fact.kind, 9),
)


NEEDS_UNKNOWN = "A summary cannot be read here, so what was needed again is unknown."


def nothing_regretted(report: ReplayReport) -> str:
    """What stands instead of the list of regrets where it is empty."""
    return "No lost fact was needed again." if report.losses.needs_are_known else NEEDS_UNKNOWN


def infeasible_words(row: PolicyRow) -> str:
    """Say in a sentence why a policy is infeasible; empty if it is not."""
    report = row.report
    if not row.too_large or report.window is None:
        return ""
    many = f"{grouped(row.too_large)} of {plural(len(report.rows), 'request')}"
    return f"{row.title} is infeasible: {many} exceed the window of {grouped(report.window)} tokens."


def regret_words(report: ReplayReport) -> str:
    """Say in a sentence what a policy lost, and what of it was needed again."""
    losses = report.losses
    if not losses.facts:
        return f"{report.title} removed nothing."
    summaries, estimated = report.spent.summaries_usd, report.spent.estimated_usd
    priced = ""
    if report.policy == BASE and summaries:
        part = f", {dollars(estimated)} estimated" if estimated else ""
        if estimated == summaries:
            part = ", estimated"
        priced = f" {dollars(summaries)} of its cost are for summaries{part}."
    elif summaries:
        priced = f" Of its cost {priced_words(summaries, report.summaries_most_usd)} is for summaries."
    again = f", {losses.rereads:,} read again for {losses.reread_tokens:,} tokens" if losses.rereads else ""
    lost = f"{losses.lost_words} of {losses.facts:,} facts lost"
    if losses.needs_are_known:
        return f"{report.title}: {lost}, {losses.needed_words} of them needed again{again}.{priced}"
    return f"{report.title}: {lost}. {NEEDS_UNKNOWN}{priced}"
