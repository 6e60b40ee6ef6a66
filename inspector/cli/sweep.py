"""Run a sweep over the settings of a policy for `replay --sweep`, and print it as a table, JSON, CSV or a picture.

The picture has one grid per figure, side by side, so that cost can be compared with what was needed again.
"""

import argparse
import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from inspector.cli.heatmap import HeatGrid, draw_grids
from inspector.cli.output import number, plain, table, write_json, write_lines
from inspector.cli.select import chosen_pairs, chosen_policy
from inspector.core.errors import InspectorError
from inspector.core.policies.settings import SettingPairs, window_pairs
from inspector.core.words import dollars, per_cent
from inspector.sweep import Cell, Sweep, joined, sweep
from inspector.transcripts.saving import save_text

_SWEPT = (
    "compactions",
    "peak",
    "overflows",
    "prompt",
    "cost_usd",
    "lost",
    "regret",
    "reread_tokens",
    "pins_kept",
)


def sweep_command(arguments: argparse.Namespace, show: Callable[[str, int, int], None]) -> None:
    """Run the sweep and print it. Raises InspectorError."""
    if len(arguments.policy or ()) > 1:
        raise InspectorError("A sweep varies the settings of one policy: give one --policy.")
    if arguments.answerer != "offline":
        raise InspectorError("A sweep uses offline summaries only: leave --answerer out.")
    plan = _plan_sweep(arguments)
    cells = sweep(
        plan, workers=arguments.jobs, dask=arguments.dask, progress=partial(show, "sweep")
    )
    show("", 0, 0)
    if all(cell.error for cell in cells):
        raise InspectorError(cells[0].error)
    if arguments.keep_pins:
        cells = keep_pinned(cells)
    if arguments.heatmap:
        save_text(sweep_heatmap(plan, cells), arguments.heatmap, force=False)
    if arguments.json:
        write_json(sweep_document(plan, cells))
    elif arguments.csv:
        write_lines(sweep_csv(plan, cells))
    else:
        write_lines(sweep_lines(plan, cells))


def _plan_sweep(arguments: argparse.Namespace) -> Sweep:
    policy = chosen_policy(arguments)
    pairs = (*window_pairs(arguments.window), *chosen_pairs(arguments, policy))
    files = (arguments.file, *arguments.more)
    return Sweep(
        files=files,
        policy=policy.reference,
        grid=tuple(arguments.sweep),
        settings=pairs,
        thread=arguments.thread,
        format=arguments.format,
        window=arguments.window,
        remote=arguments.remote,
        pins=tuple(arguments.pin),
    )


def compared_cost(cost: Decimal | float | None, recorded: Decimal | None = None) -> str:
    """Return the cost in words, compared with the recorded cost if that is known: `$8.66 (-1%)`."""
    if cost is None:
        return "-"
    if not recorded:
        return dollars(cost)
    return f"{dollars(cost)} ({per_cent(float(cost) / float(recorded) - 1, sign='+')})"


def keep_pinned(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return the cells of the points at which every pin is kept in every session.

    Raises:
        InspectorError: There is no such point.
    """
    gone = {
        cell.point
        for cell in cells
        if not cell.error and cell.figures["pins_kept"] < cell.figures["pins"]
    }
    remaining = tuple(cell for cell in cells if cell.point not in gone)
    if all(cell.error for cell in remaining):
        raise InspectorError(
            "None of these settings keeps all pins. Without --keep-pins the sweep shows how many each one keeps."
        )
    return remaining


def _points(plan: Sweep, cells: Sequence[Cell]) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Return every point that has cells, with its figures over all sessions."""
    by_point: dict[SettingPairs, list[Cell]] = {point: [] for point in plan.points()}
    for cell in cells:
        by_point[cell.point].append(cell)
    return [
        (dict(point), joined(point_cells)) for point, point_cells in by_point.items() if point_cells
    ]


def sweep_lines(plan: Sweep, cells: Sequence[Cell]) -> list[str]:
    """Return a table with a row for each point, over all sessions."""
    keys = [key for key, _ in plan.grid]
    heads = (*keys, *(f">{_head(name)}" for name in _SWEPT))
    rows = [(*point.values(), *_figures(figures)) for point, figures in _points(plan, cells)]
    broken = {cell.file: cell.error for cell in cells if cell.error}
    lines = [
        f"{plan.policy}, {len(plan.files) - len(broken)} of {len(plan.files)} sessions together",
        "",
    ]
    lines += table(heads, rows)
    lines += [f"{plain(file)}: {plain(why)}" for file, why in broken.items()]
    return lines


def _head(figure: str) -> str:
    return figure.removesuffix("_usd").replace("_", " ")


def _figures(figures: Mapping[str, Any]) -> list[str]:
    return [_figure(name, figures.get(name)) for name in _SWEPT]


def _figure(name: str, value: Any) -> str:
    return compared_cost(value) if name == "cost_usd" else number(value)


def sweep_document(plan: Sweep, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the sweep as JSON: `grid` holds every point over all sessions, `cells` every point for each session."""
    return {
        "policy": plan.policy,
        "settings": dict(plan.settings),
        "sweep": {key: list(values) for key, values in plan.grid},
        "grid": [{"set": point, **figures} for point, figures in _points(plan, cells)],
        "cells": [
            {
                "file": cell.file,
                "set": dict(cell.point),
                **cell.figures,
                "error": cell.error or None,
            }
            for cell in cells
        ],
    }


def sweep_heatmap(plan: Sweep, cells: Sequence[Cell]) -> str:
    """Draw grids of cost and regret side by side (SVG), with the first setting down and the others across."""
    first, *others = (key for key, _ in plan.grid)
    figures_at: dict[tuple[str, str], Mapping[str, Any]] = {}
    for point, figures in _points(plan, cells):
        across = " / ".join(point[key] for key in others) or "all"
        figures_at[point[first], across] = figures
    axes = f"down: {first}"
    if others:
        axes += f", across: {' / '.join(others)}"
    grids = []
    for name, title in (("cost_usd", "cost"), ("regret", "regret")):
        values = {place: _as_float(figures.get(name)) for place, figures in figures_at.items()}
        labels = {place: _figure(name, figures.get(name)) for place, figures in figures_at.items()}
        grids.append(HeatGrid(f"{title} of {plan.policy}; {axes}", values, labels))
    rows = dict.fromkeys(row for row, _ in figures_at)
    columns = dict.fromkeys(column for _, column in figures_at)
    return draw_grids(list(rows), list(columns), grids)


def _as_float(value: Any) -> float | None:
    return None if value is None else float(value)


def sweep_csv(plan: Sweep, cells: Sequence[Cell]) -> Iterator[str]:
    """Yield a CSV line for each cell. A field is empty if there is no value."""
    keys = [key for key, _ in plan.grid]
    names = next((list(cell.figures) for cell in cells if not cell.error), [])
    yield _csv_line(["file", *keys, *names, "error"])
    for cell in cells:
        values = [cell.figures.get(name) for name in names]
        yield _csv_line([cell.file, *dict(cell.point).values(), *values, cell.error])


def _csv_line(values: Sequence[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()
