"""Draw grids of figures as a picture (SVG) for `replay --sweep --heatmap`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

CELL, HEIGHT, LABEL, TOP, GAP = 92, 34, 150, 70, 40
_CHAR_WIDTH = 7
_LOW, _HIGH = (0xF7, 0xFB, 0xFF), (0x08, 0x51, 0x9C)
"""Light and dark blue: the ends of a scale that differs only in brightness."""
_NO_FIGURE = "#eeeeee"
_DARK_INK, _LIGHT_INK = "#111111", "#ffffff"
_DARK_FROM = 0.55
"""Share of the range above which a cell is dark and its text light."""


@dataclass(frozen=True, slots=True)
class HeatGrid:
    """The values of one figure at all points of a sweep."""

    title: str
    values: Mapping[tuple[str, str], float | None]
    """Values by (row, column); None if there is no value."""
    labels: Mapping[tuple[str, str], str]
    """Printed values by (row, column)."""

    def share(self, row: str, column: str) -> float | None:
        """Return the position of a value between the lowest (0) and the highest (1); None if there is no value."""
        value = self.values.get((row, column))
        if value is None:
            return None
        figures = [figure for figure in self.values.values() if figure is not None]
        low = min(figures)
        high = max(figures)
        if low == high:
            return 0.0
        return (value - low) / (high - low)


def draw_grids(rows: Sequence[str], columns: Sequence[str], grids: Sequence[HeatGrid]) -> str:
    """Draw the grids side by side. A darker cell means a larger value; each cell also shows its value."""
    longest_title = max((len(grid.title) for grid in grids), default=0)
    grid_width = LABEL + CELL * len(columns)
    title_width = _CHAR_WIDTH * longest_title
    across = max(grid_width, title_width) + GAP
    width = len(grids) * across
    height = TOP + HEIGHT * len(rows) + GAP
    parts = [
        _HEAD.format(width=width, height=height),
        _BACKGROUND.format(width=width, height=height),
    ]
    for index, grid in enumerate(grids):
        parts += _draw_grid(grid, rows, columns, left=index * across)
    parts.append("</svg>\n")
    return "\n".join(parts)


_HEAD = '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">'
_BACKGROUND = '<rect width="{width}" height="{height}" fill="#ffffff"/>'
_CELL = '<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}"/>'


def _draw_grid(
    grid: HeatGrid, rows: Sequence[str], columns: Sequence[str], left: int
) -> Iterator[str]:
    """Yield the title of a grid, the names of its columns, and each row with its name."""
    yield _text(left + 8, 24, grid.title, bold=True)
    first_column = left + LABEL
    for place, column in enumerate(columns):
        yield _text(first_column + CELL * place + 6, TOP - 10, column)
    for index, row in enumerate(rows):
        top = TOP + HEIGHT * index
        yield _text(left + 8, top + 22, row)
        for place, column in enumerate(columns):
            yield from _draw_cell(grid, row, column, left=first_column + CELL * place, top=top)


def _draw_cell(grid: HeatGrid, row: str, column: str, left: int, top: int) -> Iterator[str]:
    """Yield the coloured cell and the text of a value."""
    share = grid.share(row, column)
    fill = _NO_FIGURE
    ink = _DARK_INK
    if share is not None:
        fill = _colour(share)
        ink = _LIGHT_INK if share > _DARK_FROM else _DARK_INK
    yield _CELL.format(x=left, y=top, width=CELL - 2, height=HEIGHT - 2, fill=fill)
    label = grid.labels.get((row, column), "-")
    yield _text(left + 8, top + 21, label, ink)


def _colour(share: float) -> str:
    """Return the colour at a position between light and dark blue, as `#rrggbb`."""
    colour = "#"
    for low, high in zip(_LOW, _HIGH, strict=True):
        channel = round(low + (high - low) * share)
        colour += f"{channel:02x}"
    return colour


def _text(x: int, y: int, text: str, ink: str = _DARK_INK, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="12" fill="{ink}"{weight}>{escape(text)}</text>'
