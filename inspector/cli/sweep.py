"""A sweep over the settings of a policy, as `replay --sweep` prints it: a table, JSON, CSV, and a picture.

The picture (SVG) has one grid a figure, side by side, so that cost can be compared with regret.
"""

import argparse
import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from html import escape
from typing import Any

from inspector.cli.output import number, plain, table, write_json, write_lines
from inspector.cli.select import chosen_pairs, chosen_policy
from inspector.core.errors import InspectorError
from inspector.core.policies.settings import window_pairs
from inspector.core.words import dollars, per_cent
from inspector.sweep import Cell, Sweep, joined, sweep
from inspector.transcripts.saving import save_text

_SWEPT = ("compactions", "peak", "overflows", "prompt", "cost_usd", "lost", "regret", "reread_tokens", "pins_kept")


def sweep_command(arguments: argparse.Namespace, show: Callable[[str, int, int], None]) -> None:
    """Do it and print it. Raises InspectorError."""
    if len(arguments.policy or ()) > 1:
        raise InspectorError("a sweep varies the settings of one policy.")
    by = chosen_policy(arguments)
    if arguments.answerer != "offline":
        raise InspectorError("a sweep answers offline: with a model every point of the grid would cost its calls.")
    wanted = Sweep(
        (arguments.file, *arguments.more),
        by.reference,
        tuple(arguments.sweep),
        (*window_pairs(arguments.window), *chosen_pairs(arguments, by)),
        arguments.thread,
        arguments.format,
        arguments.window,
        arguments.remote,
        tuple(arguments.pin),
    )
    cells = sweep(wanted, workers=arguments.jobs, dask=arguments.dask, progress=partial(show, "sweep"))
    show("", 0, 0)
    if all(cell.error for cell in cells):
        raise InspectorError(cells[0].error)
    if arguments.keep_pins:
        cells = keeping(cells)
    if arguments.heatmap:
        save_text(sweep_heatmap(wanted, cells), arguments.heatmap, force=False)
    if arguments.json:
        write_json(sweep_document(wanted, cells))
    elif arguments.csv:
        write_lines(sweep_csv(wanted, cells))
    else:
        write_lines(sweep_lines(wanted, cells))


def cost_words(cost: Decimal | float | None, plainly: Decimal | None = None) -> str:
    """US dollars, compared with what happened."""
    if cost is None:
        return "-"
    text = dollars(cost)
    return f"{text} ({per_cent(float(cost) / float(plainly) - 1, sign='+')})" if plainly else text


def keeping(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells of the points under which no pin goes, in no session. Raises InspectorError where there is none."""
    gone = {cell.point for cell in cells if not cell.error and cell.figures["pins_kept"] < cell.figures["pins"]}
    kept = tuple(cell for cell in cells if cell.point not in gone)
    if all(cell.error for cell in kept):
        raise InspectorError(
            "all pins stay under none of these settings; the sweep without --keep-pins says how many do."
        )
    return kept


def _points(wanted: Sweep, cells: Sequence[Cell]) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Every point that has cells, with its figures over all sessions."""
    by_point = {point: [cell for cell in cells if cell.point == point] for point in wanted.points()}
    return [(dict(point), joined(found)) for point, found in by_point.items() if found]


def sweep_lines(wanted: Sweep, cells: Sequence[Cell]) -> list[str]:
    """A row a point, all sessions together."""
    keys = [key for key, _ in wanted.grid]
    heads = (*keys, *(f">{name.removesuffix('_usd').replace('_', ' ')}" for name in _SWEPT))
    rows = [
        (*point.values(), *(cost_words(f.get(n)) if n == "cost_usd" else number(f.get(n)) for n in _SWEPT))
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
    points = [
        (point, " / ".join(value for key, value in point.items() if key != first) or "all", found)
        for point, found in _points(wanted, cells)
    ]
    others = " / ".join(key for key, _ in wanted.grid[1:])
    across_keys = f", across: {others}" if others else ""
    grids = []
    for name, title in (("cost_usd", "cost"), ("regret", "regret")):
        figures = {(point[first], across): found.get(name) for point, across, found in points}
        shown = {at: cost_words(value) if name == "cost_usd" else number(value) for at, value in figures.items()}
        values = {at: None if value is None else float(value) for at, value in figures.items()}
        grids.append(HeatGrid(f"{title} of {wanted.policy}; down: {first}{across_keys}", values, shown))
    rows = list(dict.fromkeys(point[first] for point, _, _ in points))
    return svg(rows, list(dict.fromkeys(across for _, across, _ in points)), grids)


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


CELL, HEIGHT, LABEL, TOP, GAP = 92, 34, 150, 70, 40
_LOW, _HIGH = (0xF7, 0xFB, 0xFF), (0x08, 0x51, 0x9C)
"""Light to dark blue: told apart by brightness alone."""


@dataclass(frozen=True, slots=True)
class HeatGrid:
    """One figure over all points: `values[row, column]`, None where there is no figure. `shown` = as it is printed."""

    title: str
    values: Mapping[tuple[str, str], float | None]
    shown: Mapping[tuple[str, str], str]


def svg(rows: Sequence[str], columns: Sequence[str], grids: Sequence[HeatGrid]) -> str:
    """The grids side by side. Darker is more; every cell also says its figure."""
    across = max(LABEL + CELL * len(columns), 7 * max((len(grid.title) for grid in grids), default=0)) + GAP
    width = len(grids) * across
    height = TOP + HEIGHT * len(rows) + GAP
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">']
    parts.append(f'<rect width="{width}" height="{height}" fill="#ffffff"/>')
    for n, grid in enumerate(grids):
        parts += _grid(grid, rows, columns, n * across)
    return "\n".join([*parts, "</svg>", ""])


def _grid(grid: HeatGrid, rows: Sequence[str], columns: Sequence[str], left: int) -> list[str]:
    known = [value for value in grid.values.values() if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    parts = [_label(left + 8, 24, grid.title, bold=True)]
    parts += [_label(left + LABEL + CELL * n + 6, TOP - 10, name) for n, name in enumerate(columns)]
    for at, row in enumerate(rows):
        top = TOP + HEIGHT * at
        parts.append(_label(left + 8, top + 22, row))
        for n, column in enumerate(columns):
            value = grid.values.get((row, column))
            share = 0.0 if value is None or high == low else (value - low) / (high - low)
            place = f'x="{left + LABEL + CELL * n}" y="{top}" width="{CELL - 2}" height="{HEIGHT - 2}"'
            parts.append(f'<rect {place} fill="{"#eeeeee" if value is None else _colour(share)}"/>')
            ink = "#ffffff" if share > 0.55 else "#111111"
            parts.append(_label(left + LABEL + CELL * n + 8, top + 21, grid.shown.get((row, column), "-"), ink))
    return parts


def _colour(share: float) -> str:
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(_LOW, _HIGH, strict=True))


def _label(x: int, y: int, text: str, ink: str = "#111111", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="12" fill="{ink}"{weight}>{escape(text)}</text>'
