"""Parts of a plot: a view box whose left button moves the playhead, and an axis that writes `50k`."""

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal

from inspector.gui.numbers import short


class PlayheadBox(pg.ViewBox):  # type: ignore[misc]
    """Left click and drag point at a request; the wheel and the right button zoom and move along the requests."""

    pointed = Signal(float)

    def __init__(self) -> None:
        super().__init__(enableMenu=False)
        self.setMouseEnabled(x=True, y=False)
        self.setDefaultPadding(0)

    def mouseClickEvent(self, event: Any) -> None:
        """A click stands; a double click shows all again."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        event.accept()
        if event.double():
            limits = self.state["limits"]["xLimits"]
            self.setXRange(limits[0] + 1.5, limits[1] - 2.3, padding=0.01)
        else:
            self.pointed.emit(self.mapToView(event.pos()).x())

    def mouseDragEvent(self, event: Any, axis: int | None = None) -> None:
        """Left drags the playhead, others the view."""
        if event.button() == Qt.MouseButton.LeftButton:
            event.accept()
            self.pointed.emit(self.mapToView(event.pos()).x())
        else:
            super().mouseDragEvent(event, axis)


class TokenAxis(pg.AxisItem):  # type: ignore[misc]
    """Ticks in thousands, few of them."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation, maxTickLength=0)
        self.setStyle(tickTextOffset=6, autoExpandTextSpace=False, autoReduceTextSpace=True)
        self.enableAutoSIPrefix(False)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """`0`, `50k`, `100k`."""
        return [short(value) for value in values]
