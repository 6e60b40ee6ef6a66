"""What `replay` prints: policies side by side, their regrets, a sweep as a table, as JSON, as CSV."""

import csv
import io
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from inspector.cli.output import number, plain, table
from inspector.core.replay.heatmap import HeatGrid, svg
from inspector.core.replay.report import RECORDED, ReplayReport
from inspector.sweep import Cell, Sweep, joined

_HEADS = (
    "policy", ">compactions", ">peak", ">overflows", ">sent", ">cache read", ">written", ">summaries", ">cost",
    ">lost", ">regret", ">read again",
)  # fmt: skip
_SWEPT = ("compactions", "peak", "overflows", "prompt", "cost_usd", "lost", "regret", "reread_tokens")
LONGEST_FACT = 60


def policies_lines(reports: Sequence[ReplayReport], window: int | None) -> list[str]:
    """A row a policy, what happened first; costs compared with that."""
    plainly = next((one.spent.cost_usd for one in reports if one.policy == RECORDED), None)
    count = len(reports[0].rows)
    lines = [f"{count:,} request{'s' * (count != 1)}, window {number(window)}", ""]
    lines += table(_HEADS, [_policy(one, plainly) for one in reports])
    if any(one.over for one in reports):
        lines += ["", "Overflows behind the stroke: requests too large for the window even after what the policy did."]
    return lines


def _policy(one: ReplayReport, plainly: Decimal | None) -> tuple[str, ...]:
    micro = sum(step.kind == "micro" for step in one.compactions)
    spent, losses = one.spent, one.losses
    return (
        one.policy,
        f"{len(one.compactions) - micro}" + (f" + {micro} micro" if micro else ""),
        number(one.peak),
        f"{one.overflows}" + (f" / {one.over}" if one.over else ""),
        number(spent.prompt),
        number(spent.cache_read),
        number(spent.cache_write),
        number(spent.summariser_input + spent.summariser_output),
        _cost(spent.cost_usd, None if one.policy == RECORDED else plainly),
        f"{losses.lost:,} of {losses.facts:,}",
        number(len(losses.regrets)),
        f"{losses.rereads} / {losses.reread_tokens:,}" if losses.rereads else "0",
    )


def _cost(cost: Decimal | float | None, plainly: Decimal | None = None) -> str:
    if cost is None:
        return "-"
    text = f"${cost:,.2f}"
    return f"{text} ({float(cost) / float(plainly) - 1:+.0%})" if plainly else text


def regrets_lines(reports: Sequence[ReplayReport]) -> Iterator[str]:
    """Each regret with the step that lost the fact and the request that needed it."""
    for one in reports:
        yield ""
        yield f"{one.policy}: {len(one.losses.regrets):,} regrets"
        rows = [
            (
                regret.fact.kind,
                plain(regret.fact.text, LONGEST_FACT),
                f"{regret.at.tier} before {regret.at.before_request}",
                f"{regret.needed_by}",
                regret.how + (f", read again for {regret.price:,} tokens" if regret.repaired else ""),
            )
            for regret in one.losses.regrets
        ]
        if rows:
            yield from table(("kind", "fact", "lost by", ">needed by", "in"), rows)


def _points(wanted: Sweep, cells: Sequence[Cell]) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Every point with its figures over all sessions."""
    by_point = {point: [cell for cell in cells if cell.point == point] for point in wanted.points()}
    return [(dict(point), joined(found)) for point, found in by_point.items()]


def sweep_lines(wanted: Sweep, cells: Sequence[Cell]) -> list[str]:
    """A row a point, all sessions together."""
    keys = [key for key, _ in wanted.grid]
    heads = (*keys, *(f">{name.removesuffix('_usd').replace('_', ' ')}" for name in _SWEPT))
    rows = [
        (*point.values(), *(_cost(f.get(n)) if n == "cost_usd" else number(f.get(n)) for n in _SWEPT))
        for point, f in _points(wanted, cells)
    ]
    broken = {cell.file: cell.error for cell in cells if cell.error}
    lines = [f"{wanted.policy}, {len(wanted.files) - len(broken)} of {len(wanted.files)} sessions together", ""]
    return [*lines, *table(heads, rows), *(f"{plain(file)}: {plain(why)}" for file, why in broken.items())]


def sweep_document(wanted: Sweep, cells: Sequence[Cell]) -> dict[str, Any]:
    """`grid`: every point over all sessions; `cells`: every point on every session."""
    return {
        "policy": wanted.policy,
        "settings": dict(wanted.settings),
        "sweep": {key: list(values) for key, values in wanted.grid},
        "grid": [{"set": point, **figures} for point, figures in _points(wanted, cells)],
        "cells": [
            {"file": cell.file, "set": dict(cell.point), **cell.figures, "error": cell.error or None} for cell in cells
        ],
    }


def sweep_heatmap(wanted: Sweep, cells: Sequence[Cell]) -> str:
    """Cost beside regret as a picture (SVG): the first key down, the others across."""
    first = wanted.grid[0][0]
    points = [(point, _others(point, first), figures) for point, figures in _points(wanted, cells)]
    others = " / ".join(key for key, _ in wanted.grid[1:])
    across_keys = f", across: {others}" if others else ""
    grids = []
    for name, title in (("cost_usd", "cost"), ("regret", "regret")):
        figures = {(point[first], across): found.get(name) for point, across, found in points}
        shown = {at: _cost(value) if name == "cost_usd" else number(value) for at, value in figures.items()}
        values = {at: None if value is None else float(value) for at, value in figures.items()}
        grids.append(HeatGrid(f"{title} of {wanted.policy}; down: {first}{across_keys}", values, shown))
    rows = list(dict.fromkeys(point[first] for point, _, _ in points))
    return svg(rows, list(dict.fromkeys(across for _, across, _ in points)), grids)


def _others(point: dict[str, str], first: str) -> str:
    return " / ".join(value for key, value in point.items() if key != first) or "all"


def sweep_csv(wanted: Sweep, cells: Sequence[Cell]) -> Iterator[str]:
    """A line a cell. Empty where there is no figure."""
    keys = [key for key, _ in wanted.grid]
    names = next((list(cell.figures) for cell in cells if not cell.error), [])
    yield _csv_line(["file", *keys, *names, "error"])
    for cell in cells:
        values = ["" if (value := cell.figures.get(name)) is None else value for name in names]
        yield _csv_line([cell.file, *dict(cell.point).values(), *values, cell.error])


def _csv_line(values: Sequence[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()
