"""What filled the buffer, request by request, as areas one on the other below the curve of the pressure.

Only what can be seen is painted, thinned to about a point a pixel; polygons are kept until the range changes.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPolygonF

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line
from inspector.gui.widgets.plot import pg
from inspector.workbench.filling import NO_TOOL, OTHER_TOOLS, UNSEEN, Areas

_POINTS = 700
"""At most so many requests are painted; in a longer range only every so-many-th."""
_SOLID = 175
"""Of 255: lines and words over the areas stay readable."""
_TOOLS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#cc79a7", "#8f7ee6", "#994f00")
"""Of the heaviest tool, the second, ... (Okabe and Ito)."""
_TOLD = 3
"""Areas that are told of a request under the mouse."""


class StackedAreas(Guarded, pg.GraphicsObject):  # type: ignore[misc]
    """Behind the curves, before the grid."""

    def __init__(self, box: pg.ViewBox, theme: Theme) -> None:
        super().__init__()
        self._box, self._theme = box, theme
        self.areas: Areas | None = None
        self._levels = np.zeros((1, 0))
        """Where each area begins, lowest first, and the top."""
        self._range: tuple[int, int] | None = None
        self._polygons: list[QPolygonF] = []
        self.setZValue(-5)

    def show_areas(self, areas: Areas | None) -> None:
        """These from now on; None for none."""
        self.areas, self._range = areas, None
        rows = np.array(areas.tokens if areas is not None else (), dtype=np.float64)
        self._levels = np.vstack([np.zeros((1, rows.shape[1])), rows.cumsum(axis=0)]) if rows.size else np.zeros((1, 0))
        self.update()

    def boundingRect(self) -> QRectF:
        """All that can be seen."""
        return QRectF(self._box.viewRect())

    def paint(self, painter: QPainter, option: Any, widget: Any) -> None:
        """One polygon an area."""
        if self.areas is None:
            return
        self._shape()
        painter.setPen(Qt.PenStyle.NoPen)
        for colour, polygon in zip(area_colours(self._theme.colours, self.areas), self._polygons, strict=False):
            ground = QColor(colour)
            ground.setAlpha(_SOLID)
            painter.setBrush(ground)
            painter.drawPolygon(polygon)

    def _shape(self) -> None:
        """The polygons of the range that is seen."""
        count = self._levels.shape[1]
        left, right = self._box.viewRange()[0]
        first, last = max(0, min(floor(left), count - 1)), max(0, min(ceil(right), count - 1))
        if (first, last) == self._range:
            return
        self._range = first, last
        step = max(1, (last - first) // _POINTS)
        places = [*range(first, last, step), last] if count else []
        edges = [[QPointF(x, y) for x, y in zip(places, level[places], strict=True)] for level in self._levels]
        self._polygons = [QPolygonF([*low, *reversed(high)]) for low, high in pairwise(edges) if low]

    def about(self, at: int) -> str:
        """The largest areas of a request: `tool results 71,133, tool calls 23,858, ...`; empty where none are shown."""
        if self.areas is None or at >= self._levels.shape[1]:
            return ""
        sizes = [(row[at], name) for name, row in zip(self.areas.names, self.areas.tokens, strict=True) if row[at]]
        return ", ".join(f"{line(name, 40)} {grouped(tokens)}" for tokens, name in sorted(sizes, reverse=True)[:_TOLD])


def area_colours(colours: Colours, areas: Areas) -> Sequence[str]:
    """Of each area, lowest first: of the gauge for categories, the heaviest tool's first for tools."""
    known = {str(name): colour for name, colour in colours.categories.items()} if areas.kind == "category" else {}
    tools = [name for name in reversed(areas.names) if name not in (UNSEEN, NO_TOOL, OTHER_TOOLS)]
    known |= {} if areas.kind == "category" else dict(zip(tools, _TOOLS, strict=False))
    known |= {UNSEEN: colours.missing, NO_TOOL: colours.categories["system"], OTHER_TOOLS: colours.categories["tools"]}
    return [known[name] for name in areas.names]
