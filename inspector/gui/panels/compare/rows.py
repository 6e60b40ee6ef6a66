"""The two lists of the comparison: a policy a row with its figures, and what one of them came to regret."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from inspector.core.replay.regret import Regret
from inspector.core.replay.report import Report
from inspector.core.usage import HOUR
from inspector.gui.look.number_formats import grouped, lifetime, percent, signed
from inspector.gui.panels.compare.look import look
from inspector.gui.widgets.rows import Column
from inspector.workbench.compare import BASE, FIGURES, NAMES, Comparison, Figure, Number


@dataclass(frozen=True, slots=True)
class Standing:
    """A policy of the table."""

    report: Report
    comparison: Comparison

    @property
    def name(self) -> str:
        """As in `--policy`."""
        return self.report.policy


def shown(figure: Figure, row: Standing) -> str:
    """A figure as people read it."""
    value = figure.of(row.report)
    if value is None:
        return "no price"
    if figure.name == "overflows" and row.report.over:
        return f"{grouped(int(value))}, {grouped(row.report.over)} left"
    hourly = row.report.spent.cache_write_1h
    if figure.name == "cache written" and hourly:
        part = "" if hourly == value else f", {grouped(hourly)}"
        return f"{grouped(int(value))}{part} for {lifetime(HOUR)}"
    return f"${value:,.2f}" if figure.unit == "money" else grouped(int(value))


def differs(figure: Figure, row: Standing) -> str:
    """Its difference from what happened: a share where there is something to be a share of."""
    gap = row.comparison.difference(figure, row.report)
    if gap is None or row.name == BASE:
        return ""
    base = figure.of(row.report)
    plain = (base or 0) - gap
    if figure.unit != "count" and plain:
        return f"{'−' if gap < 0 else '+'}{percent(abs(float(gap / plain)))}"
    return _money(gap) if figure.unit == "money" else signed(int(gap))


def _money(gap: Number) -> str:
    return f"{'−' if gap < 0 else '+'}${abs(gap):,.2f}"


def _cell(figure: Figure) -> Callable[[Standing], str]:
    def text(row: Standing) -> str:
        gap = differs(figure, row)
        return f"{shown(figure, row)} ({gap})" if gap else shown(figure, row)

    return text


_WIDTHS = {"compactions": 11, "peak": 8, "cache written": 17, "facts lost": 9, "cost": 8, "regret": 6}

COLUMNS: Sequence[Column[Standing]] = (
    Column("policy", lambda row: f"{look(row.name).letter} {NAMES.get(row.name, row.name)}", 23),
    *(Column(figure.name, _cell(figure), _WIDTHS.get(figure.name, 11), figures=True) for figure in FIGURES),
)


def ordered(found: Comparison, by: int, falling: bool) -> list[Standing]:
    """By a column; 0 = by name. Equal ones stay in the catalogue's order, what is unknown comes last."""
    rows = [Standing(one, found) for one in found.reports]
    if by <= 0:
        return sorted(rows, key=lambda row: row.report.title.lower(), reverse=falling) if by == 0 else rows
    figure = FIGURES[by - 1]

    def key(row: Standing) -> tuple[bool, Number]:
        value = figure.of(row.report)
        return value is None, Decimal(0) if value is None else -value if falling else value

    return sorted(rows, key=key)


def as_table(rows: Sequence[Standing]) -> str:
    """For a spreadsheet: a line a policy, cells between tabs, numbers plain, each with its difference."""
    heads = ["policy", *(head for one in FIGURES for head in (one.name, f"{one.name}, difference"))]
    lines = [heads]
    for row in rows:
        cells = [row.name]
        for figure in FIGURES:
            value, gap = figure.of(row.report), row.comparison.difference(figure, row.report)
            cells += ["" if number is None else f"{number}" for number in (value, gap)]
        lines.append(cells)
    return "\n".join("\t".join(cells) for cells in lines)


# -- regrets -----------------------------------------------------------------------------------------------------------

LOST = 1
"""The column whose click leads to the loss, not to the need."""

REGRETS: Sequence[Column[Regret]] = (
    Column("needed by", lambda one: f"{one.needed_by} ({one.how})", 11),
    Column("lost by", lambda one: f"{one.at.tier} before {one.at.before_request}", 17),
    Column("kind", lambda one: "URL" if one.fact.kind == "url" else one.fact.kind, 9),
    Column("regretted fact", lambda one: one.fact.text),
    Column("read again", lambda one: f"{one.price:,} tokens" if one.repaired else "", 12, figures=True),
)


def told(one: Report) -> str:
    """What a policy lost and came to regret, in a sentence."""
    losses = one.losses
    if not losses.facts:
        return f"{one.title} removed nothing: nothing could be regretted."
    again = f", {losses.rereads:,} read again for {losses.reread_tokens:,} tokens" if losses.rereads else ""
    lost = f"{losses.lost:,} of {losses.facts:,} facts lost"
    return f"{one.title}: {lost}, {len(losses.regrets):,} regretted{again}."
