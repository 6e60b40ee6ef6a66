"""A sweep as a picture: one grid a figure, side by side, so that cost can be held against regret. Pure text (SVG)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

CELL, HEIGHT, LABEL, HEAD, GAP = 92, 34, 150, 70, 40
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
    height = HEAD + HEIGHT * len(rows) + GAP
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">']
    parts.append(f'<rect width="{width}" height="{height}" fill="#ffffff"/>')
    for n, grid in enumerate(grids):
        parts += _grid(grid, rows, columns, n * across)
    return "\n".join([*parts, "</svg>", ""])


def _grid(grid: HeatGrid, rows: Sequence[str], columns: Sequence[str], left: int) -> list[str]:
    known = [value for value in grid.values.values() if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    parts = [_text(left + 8, 24, grid.title, bold=True)]
    parts += [_text(left + LABEL + CELL * n + 6, HEAD - 10, name) for n, name in enumerate(columns)]
    for at, row in enumerate(rows):
        top = HEAD + HEIGHT * at
        parts.append(_text(left + 8, top + 22, row))
        for n, column in enumerate(columns):
            value = grid.values.get((row, column))
            share = 0.0 if value is None or high == low else (value - low) / (high - low)
            place = f'x="{left + LABEL + CELL * n}" y="{top}" width="{CELL - 2}" height="{HEIGHT - 2}"'
            parts.append(f'<rect {place} fill="{"#eeeeee" if value is None else _colour(share)}"/>')
            ink = "#ffffff" if share > 0.55 else "#111111"
            parts.append(_text(left + LABEL + CELL * n + 8, top + 21, grid.shown.get((row, column), "-"), ink))
    return parts


def _colour(share: float) -> str:
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(_LOW, _HIGH, strict=True))


def _text(x: int, y: int, text: str, ink: str = "#111111", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="12" fill="{ink}"{weight}>{escape(text)}</text>'
