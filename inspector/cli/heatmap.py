"""Grids of figures as a picture (SVG): the one that `replay --sweep --heatmap` writes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

CELL, HEIGHT, LABEL, TOP, GAP = 92, 34, 150, 70, 40
_CHAR_WIDTH = 7
_LOW, _HIGH = (0xF7, 0xFB, 0xFF), (0x08, 0x51, 0x9C)
"""Light to dark blue, which differ by brightness alone."""
_NO_FIGURE = "#eeeeee"
_DARK_INK, _LIGHT_INK = "#111111", "#ffffff"
_DARK_FROM = 0.55
"""Share of the range above which a cell is dark and its ink light."""


@dataclass(frozen=True, slots=True)
class HeatGrid:
    """One figure over all points of a sweep."""

    title: str
    values: Mapping[tuple[str, str], float | None]
    """By (row, column); None for no figure."""
    labels: Mapping[tuple[str, str], str]
    """By (row, column): the value as it is printed."""

    def share(self, row: str, column: str) -> float | None:
        """Return where a value is between the lowest (0) and the highest (1); None for no figure."""
        value = self.values.get((row, column))
        if value is None:
            return None
        figures = [figure for figure in self.values.values() if figure is not None]
        low, high = min(figures), max(figures)
        return 0.0 if low == high else (value - low) / (high - low)


def draw_grids(rows: Sequence[str], columns: Sequence[str], grids: Sequence[HeatGrid]) -> str:
    """Draw the grids side by side. Darker is more; each cell also shows its figure."""
    longest_title = max((len(grid.title) for grid in grids), default=0)
    across = max(LABEL + CELL * len(columns), _CHAR_WIDTH * longest_title) + GAP
    width = len(grids) * across
    height = TOP + HEIGHT * len(rows) + GAP
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">']
    parts.append(f'<rect width="{width}" height="{height}" fill="#ffffff"/>')
    for n, grid in enumerate(grids):
        parts += _draw_grid(grid, rows, columns, n * across)
    return "\n".join([*parts, "</svg>", ""])


def _draw_grid(grid: HeatGrid, rows: Sequence[str], columns: Sequence[str], left: int) -> Iterator[str]:
    yield _text(left + 8, 24, grid.title, bold=True)
    for n, column in enumerate(columns):
        yield _text(left + LABEL + CELL * n + 6, TOP - 10, column)
    for at, row in enumerate(rows):
        top = TOP + HEIGHT * at
        yield _text(left + 8, top + 22, row)
        for n, column in enumerate(columns):
            yield from _draw_cell(grid, row, column, left + LABEL + CELL * n, top)


def _draw_cell(grid: HeatGrid, row: str, column: str, left: int, top: int) -> Iterator[str]:
    share = grid.share(row, column)
    place = f'x="{left}" y="{top}" width="{CELL - 2}" height="{HEIGHT - 2}"'
    yield f'<rect {place} fill="{_NO_FIGURE if share is None else _colour(share)}"/>'
    ink = _LIGHT_INK if share is not None and share > _DARK_FROM else _DARK_INK
    yield _text(left + 8, top + 21, grid.labels.get((row, column), "-"), ink)


def _colour(share: float) -> str:
    channels = [round(low + (high - low) * share) for low, high in zip(_LOW, _HIGH, strict=True)]
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def _text(x: int, y: int, text: str, ink: str = _DARK_INK, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="12" fill="{ink}"{weight}>{escape(text)}</text>'
