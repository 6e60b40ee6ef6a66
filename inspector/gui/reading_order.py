"""Tab goes through a window as it is read: part after part, row after row, only to what can be seen."""

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QDockWidget, QFrame, QMainWindow, QTabBar, QWidget

from inspector.gui.panels.panel import Panel

LOW = 60
"""Pixels: what is higher has a row of its own."""


def focus_stops(window: QWidget) -> Sequence[QWidget]:
    """The widgets that Tab reaches, in their order: the top bar, panel after panel, the strip at the foot."""
    blocks = dict[QWidget, list[QWidget]]()
    for widget in window.findChildren(QWidget):
        if _is_stop(widget, window):
            blocks.setdefault(_block(widget, window), []).append(widget)
    under = {_tabs_over(block, blocks, window): block for block in blocks}
    under.pop(None, None)
    order = list[QWidget]()
    for block in _in_rows(blocks.keys() - under.values(), window):
        order += (block, under[block]) if block in under else (block,)
    return [widget for block in order for widget in _in_rows(blocks[block], window)]


def _tabs_over(block: QWidget, blocks: Iterable[QWidget], window: QWidget) -> QWidget | None:
    """The tabs that a panel stands under: a part of it, whatever stands beside both."""
    corner = block.mapTo(window, QPoint(0, 0))
    for bar in blocks:
        if isinstance(bar, QTabBar) and bar is not block:
            foot = bar.mapTo(window, bar.rect().bottomLeft())
            if abs(corner.x() - foot.x()) < LOW and 0 <= corner.y() - foot.y() < LOW:
                return bar
    return None


def next_stop(window: QWidget, now: QWidget | None, on: bool) -> QWidget | None:
    """Where Tab leads from there (`on` = False: Shift+Tab); None where there is nowhere to go."""
    stops = focus_stops(window)
    if not stops:
        return None
    while now is not None and now is not window:
        if now in stops:
            return stops[(stops.index(now) + (1 if on else -1)) % len(stops)]
        inner = [stop for stop in stops if now.isAncestorOf(stop)]
        if inner:
            return inner[0 if on else -1]
        now = now.parentWidget()  # an editor within a list
    return stops[0 if on else -1]


def place_beside(window: QWidget, vanished: QWidget) -> QWidget:
    """Return what takes the focus of a widget that was hidden or disabled: its panel, where a key presses nothing; the
    window, if that cannot be seen either."""
    at: QWidget | None = vanished
    while at is not None and at is not window:
        if isinstance(at, Panel) and at.isVisible() and at.isEnabled():
            proxy = at.focusProxy()
            if proxy is None or (proxy.isVisible() and proxy.isEnabled()):
                return at
        at = at.parentWidget()
    return window


def _is_stop(widget: QWidget, window: QWidget) -> bool:
    if not widget.focusPolicy() & Qt.FocusPolicy.TabFocus or not widget.isEnabled() or widget.focusProxy() is not None:
        return False
    if widget.window() is not window or not widget.isVisible() or widget.visibleRegion().isEmpty():
        return False
    top = window.childAt(widget.mapTo(window, widget.visibleRegion().boundingRect().center()))
    return top is widget or (top is not None and widget.isAncestorOf(top))  # and nothing lies over it


def _block(widget: QWidget, window: QWidget) -> QWidget:
    """The dock or panel that it belongs to; itself for tabs of panels; else the bar that holds it."""
    at, outermost = widget, widget
    while (above := at.parentWidget()) is not None and above is not window:
        if isinstance(at, Panel) or (isinstance(above, QMainWindow) and at is widget):
            return above if isinstance(above, QDockWidget) else at
        outermost = at if isinstance(at, QFrame) else outermost
        at = above
    return outermost


def _in_rows(widgets: Iterable[QWidget], window: QWidget) -> list[QWidget]:
    """From top to bottom; those that stand beside each other from left to right."""
    rooms = {widget: QRect(widget.mapTo(window, QPoint(0, 0)), widget.size()) for widget in widgets}
    rows = list[list[QWidget]]()
    for widget in sorted(rooms, key=lambda widget: (rooms[widget].top(), rooms[widget].left())):
        low = rows and max(rooms[widget].height(), rooms[rows[-1][0]].height()) < LOW
        if low and rooms[widget].center().y() <= rooms[rows[-1][0]].bottom():
            rows[-1].append(widget)
        else:
            rows.append([widget])
    return [widget for row in rows for widget in sorted(row, key=lambda widget: rooms[widget].left())]
