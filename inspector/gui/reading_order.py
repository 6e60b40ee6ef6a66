"""The order in which Tab moves through a window: part by part, row by row, visible widgets only."""

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QDockWidget, QFrame, QMainWindow, QTabBar, QWidget

from inspector.gui.panels.panel import Panel

LOW = 60
"""Pixels; a higher widget forms its own row."""


def focus_stops(window: QWidget) -> Sequence[QWidget]:
    """Return the widgets that Tab reaches, in order: the top bar, each panel, the strip at the bottom."""
    blocks = dict[QWidget, list[QWidget]]()
    for widget in window.findChildren(QWidget):
        if _is_stop(widget, window):
            blocks.setdefault(_block_of(widget, window), []).append(widget)
    panel_below = dict[QWidget, QWidget]()
    for block in blocks:
        tabs = _tabs_above(block, blocks, window)
        if tabs is not None:
            panel_below[tabs] = block
    stops = list[QWidget]()
    for block in _sort_by_rows(blocks.keys() - panel_below.values(), window):
        stops += _sort_by_rows(blocks[block], window)
        if block in panel_below:
            stops += _sort_by_rows(blocks[panel_below[block]], window)
    return stops


def _tabs_above(block: QWidget, blocks: Iterable[QWidget], window: QWidget) -> QWidget | None:
    """Return the tab bar directly above a panel, which belongs to it; None if there is none."""
    corner = block.mapTo(window, QPoint(0, 0))
    for bar in blocks:
        if not isinstance(bar, QTabBar) or bar is block:
            continue
        foot = bar.mapTo(window, bar.rect().bottomLeft())
        sideways = abs(corner.x() - foot.x())
        below = corner.y() - foot.y()
        if sideways < LOW and 0 <= below < LOW:
            return bar
    return None


def next_stop(window: QWidget, now: QWidget | None, is_forward: bool) -> QWidget | None:
    """Return the widget that Tab leads to.

    Args:
        now: the widget with the focus.
        is_forward: True: Tab; False: Shift+Tab.

    Returns:
        None if the window has no widget to focus.
    """
    stops = focus_stops(window)
    if not stops:
        return None
    step, end = (1, 0) if is_forward else (-1, -1)
    while now is not None and now is not window:
        if now in stops:
            return stops[(stops.index(now) + step) % len(stops)]
        inner = [stop for stop in stops if now.isAncestorOf(stop)]
        if inner:
            return inner[end]
        now = now.parentWidget()  # the focus is in an editor within a list
    return stops[end]


def place_beside(window: QWidget, vanished: QWidget) -> QWidget:
    """Return the widget that takes over the focus of a widget that was hidden or disabled.

    It is the panel around that widget, because a key presses no button there, or the window if there is no such panel.
    """
    widget: QWidget | None = vanished
    while widget is not None and widget is not window:
        if isinstance(widget, Panel) and widget.isVisible() and widget.isEnabled():
            proxy = widget.focusProxy()
            if proxy is None or (proxy.isVisible() and proxy.isEnabled()):
                return widget
        widget = widget.parentWidget()
    return window


def _is_stop(widget: QWidget, window: QWidget) -> bool:
    """Return True if Tab reaches the widget and no other widget covers it."""
    takes_focus = (
        bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
    )
    if not takes_focus or not widget.isEnabled() or widget.window() is not window:
        return False
    region = widget.visibleRegion()
    if not widget.isVisible() or region.isEmpty():
        return False
    middle = widget.mapTo(window, region.boundingRect().center())
    top = window.childAt(middle)
    return top is widget or (top is not None and widget.isAncestorOf(top))


def _block_of(widget: QWidget, window: QWidget) -> QWidget:
    """Return the dock or panel of a widget, the widget itself if it is a tab bar of panels, or the bar around it."""
    inner = widget
    outermost = widget
    parent = inner.parentWidget()
    while parent is not None and parent is not window:
        is_tab_bar = isinstance(parent, QMainWindow) and inner is widget
        if isinstance(inner, Panel) or is_tab_bar:
            return parent if isinstance(parent, QDockWidget) else inner
        if isinstance(inner, QFrame):
            outermost = inner
        inner = parent
        parent = parent.parentWidget()
    return outermost


def _sort_by_rows(widgets: Iterable[QWidget], window: QWidget) -> list[QWidget]:
    """Sort widgets from top to bottom, and those of a row from left to right."""
    rooms = {widget: QRect(widget.mapTo(window, QPoint(0, 0)), widget.size()) for widget in widgets}
    rows = list[list[QWidget]]()
    for widget in sorted(rooms, key=lambda widget: (rooms[widget].top(), rooms[widget].left())):
        if rows and _share_row(rooms[widget], rooms[rows[-1][0]]):
            rows[-1].append(widget)
        else:
            rows.append([widget])
    stops = list[QWidget]()
    for row in rows:
        stops += sorted(row, key=lambda widget: rooms[widget].left())
    return stops


def _share_row(room: QRect, first: QRect) -> bool:
    """Return True if both rectangles are low and the middle of `room` is beside `first`."""
    is_low = max(room.height(), first.height()) < LOW
    return is_low and room.center().y() <= first.bottom()
