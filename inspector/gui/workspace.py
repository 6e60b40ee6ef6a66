"""One workspace: the panels for one kind of work as docks around the one in the middle. They can be moved, tabbed,
floated, closed and maximised."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QByteArray, QChildEvent, QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QTabWidget, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.build import delayed, row
from inspector.gui.look.labels import label
from inspector.gui.panels.panel import Panel, Place

_AREAS: dict[Place, Qt.DockWidgetArea] = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "top": Qt.DockWidgetArea.TopDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}
_CORNERS: dict[Qt.Corner, Place] = {
    Qt.Corner.TopLeftCorner: "top",
    Qt.Corner.TopRightCorner: "top",
    Qt.Corner.BottomLeftCorner: "left",
    Qt.Corner.BottomRightCorner: "right",
}
WORKSPACES = ("Read", "Compact", "Cost", "Compare", "Calibrate", "Live")
"""Names, in the order of their keys (Ctrl+1 ...)."""
PAGES: Mapping[str, str] = {"What was lost": "Compact"}
"""Pages that have all the room beside the gauge, and the workspace to which each belongs. They have no tab."""
DRAWERS: Mapping[str, str] = {"Search": "At a glance"}
"""Panels below all others of their workspace, shown when they are asked for, and the panel that makes room for each."""
VERSION = 8
"""Version of the remembered layout: a layout of another version is not restored."""


class WorkspacePage(Guarded, QMainWindow):
    """Panels of one place are tabs, but at the top: there they stand one below the other."""

    rearranged = Signal()
    """Another panel is in front."""

    def __init__(self, name: str, maximise: Callable[[str], None]) -> None:
        super().__init__()
        self.name, self._maximise = name, maximise
        self.setObjectName(f"{name}WorkspacePage")
        self.setWindowFlags(Qt.WindowType.Widget)
        self.docks: dict[str, QDockWidget] = {}
        self._places: list[tuple[Place, str]] = []
        self._opened = set[str]()
        """Titles of the drawers that were opened before, whose height is the user's."""
        self.fresh = QByteArray()
        """The layout as it is without a user's hand; empty until the last panel was placed."""
        self.laid_out = False
        """Was it shown with its sizes?"""
        self._soon = delayed(self, 0, self._hide_left_bars)
        self.setDockOptions(
            QMainWindow.DockOption.AllowNestedDocks | QMainWindow.DockOption.AllowTabbedDocks
        )
        self.setDocumentMode(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        for corner, place in _CORNERS.items():
            self.setCorner(corner, _AREAS[place])

    def place(self, panel: Panel, place: Place) -> None:
        """A panel where it belongs."""
        if place == "centre":
            self.setCentralWidget(panel)
            return
        if panel.TITLE in DRAWERS:
            for corner in (Qt.Corner.BottomLeftCorner, Qt.Corner.BottomRightCorner):
                self.setCorner(corner, _AREAS[place])  # it is as wide as the workspace
        neighbours = self._at(place)
        dock = QDockWidget(panel.TITLE)
        dock.setObjectName(f"{panel.objectName()}Dock")
        dock.setWidget(panel)
        self.docks[panel.TITLE] = dock
        self._places.append((place, panel.TITLE))
        panel.windowTitleChanged.connect(dock.setWindowTitle)
        panel.heightened.connect(lambda: self._keep_neighbours(dock))
        self.addDockWidget(_AREAS[place], dock)
        if neighbours and place == "top":
            self.splitDockWidget(neighbours[-1], dock, Qt.Orientation.Vertical)
        elif neighbours:
            self.tabifyDockWidget(neighbours[-1], dock)
        dock.topLevelChanged.connect(lambda _: self._retitle())
        dock.dockLocationChanged.connect(lambda _: self._retitle())
        dock.visibilityChanged.connect(panel.come_forward)
        dock.visibilityChanged.connect(lambda _: self._retitle())
        dock.visibilityChanged.connect(lambda _: self.rearranged.emit())

    def _keep_neighbours(self, dock: QDockWidget) -> None:
        """It gets another height: the panel in the middle has the difference, not those that stand above or below."""
        tabs, area = self.tabifiedDockWidgets(dock), self.dockWidgetArea(dock)
        beside = [
            dock
            for dock in self.docks.values()
            if dock is not dock and self.dockWidgetArea(dock) == area
        ]
        others = [
            dock
            for dock in beside
            if dock.isVisible() and not dock.isFloating() and dock not in tabs
        ]
        heights = [other.height() for other in others]

        def as_before() -> None:
            for layout in (dock.layout(), self.layout()):
                if layout is not None:
                    layout.activate()  # it takes the difference from them
            self.resizeDocks(others, heights, Qt.Orientation.Vertical)

        if self.laid_out and others:
            QTimer.singleShot(0, self, as_before)

    @property
    def is_placed(self) -> bool:
        """Are all panels of the workspace placed?"""
        return not self.fresh.isEmpty()

    def placed(self) -> None:
        """Finish the layout after the last panel was placed."""
        for place in _AREAS:
            for dock in self._at(place)[:1]:
                dock.raise_()
        for title in self.drawers:
            self.docks[title].hide()
        self._retitle()
        self.fresh = self.saveState(VERSION)

    @property
    def drawers(self) -> list[str]:
        """Titles of the drawers of the workspace."""
        return [title for title in DRAWERS if title in self.docks]

    def open_drawer(self, title: str, height: int) -> None:
        """Show a drawer in place of the panel that makes room for it, the first time with a height in pixels."""
        self._show_drawer(title, is_open=True)
        if title not in self._opened and not self.docks[title].isFloating():
            self._opened.add(title)
            self.resizeDocks([self.docks[title]], [height], Qt.Orientation.Vertical)

    def close_drawer(self, title: str) -> None:
        """Hide a drawer, and show the panel that made room for it."""
        self._show_drawer(title, is_open=False)

    def _show_drawer(self, title: str, *, is_open: bool) -> None:
        dock, neighbour = self.docks[title], self.docks.get(DRAWERS[title])
        if neighbour is not None and not dock.isFloating():
            neighbour.setVisible(not is_open)
        dock.setVisible(is_open)

    def _at(self, place: Place) -> list[QDockWidget]:
        """The docks that belong there, in their order."""
        return [self.docks[title] for where, title in self._places if where == place]

    def lay_out(self, stored: QByteArray, sizes: dict[str, int], is_low: bool) -> None:
        """Restore the layout as the user left it, or lay out the panels for the first time.

        Args:
            sizes: pixels by title: the width of panels at the sides, the height of those above and below.
            is_low: the panels at the top become tabs, too.
        """
        self.laid_out = True
        if stored.isEmpty() or not self._restore(stored):
            above = self._at("top")
            for dock in above[1:] if is_low else ():
                self.tabifyDockWidget(above[0], dock)
                above[0].raise_()
            for way, places in (
                (Qt.Orientation.Horizontal, ("left", "right")),
                (Qt.Orientation.Vertical, ("top", "bottom")),
            ):
                chosen = [
                    (self.docks[title], sizes[title])
                    for place, title in self._places
                    if place in places and title in sizes
                ]
                self.resizeDocks([dock for dock, _ in chosen], [size for _, size in chosen], way)

    def reset_to(self, sizes: dict[str, int], is_low: bool) -> None:
        """Restore the layout of a new window."""
        self.show_only("")
        self._restore(self.fresh)
        self.lay_out(QByteArray(), sizes, is_low)

    def _restore(self, stored: QByteArray) -> bool:
        for bar in self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            bar.hide()  # Qt makes new ones and leaves the old where they were
        return self.restoreState(stored, VERSION)

    def kept(self) -> QByteArray:
        """Return the layout as bytes, to be stored."""
        return self.saveState(VERSION)

    def show_only(self, title: str) -> None:
        """Hide all panels but one; without a title show the one in the middle, which no layout contains."""
        for name, dock in self.docks.items():
            if title and name != title and not dock.isFloating():
                dock.hide()
        if (centre := self.centralWidget()) is not None:
            centre.setVisible(not title or title not in self.docks)

    def restore_docks(self, stored: QByteArray) -> None:
        """The layout from before `show_only`."""
        self.show_only("")
        self._restore(stored)

    def _hide_left_bars(self) -> None:
        """Hide tab bars without docks, which Qt keeps painting."""
        docks = [
            dock for dock in self.docks.values() if not dock.isHidden() and not dock.isFloating()
        ]
        groups = set()
        for dock in docks:
            tabbed = [
                neighbour for neighbour in self.tabifiedDockWidgets(dock) if neighbour in docks
            ]
            groups.add(frozenset(member.windowTitle() for member in (dock, *tabbed)))
        for bar in reversed(
            self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        ):
            titles = frozenset(map(bar.tabText, range(bar.count())))
            if titles in groups and len(titles) > 1:
                groups.remove(titles)  # an older one of the same tabs was left, too
            else:
                bar.hide()

    def _retitle(self) -> None:
        """A dock alone has a caption to be dragged by; one among tabs has its tab; one that floats has a frame."""
        self._soon.start()
        for title, dock in self.docks.items():
            tabbed = bool(self.tabifiedDockWidgets(dock)) and not dock.isFloating()
            own = getattr(dock.widget(), "HEADED", False)
            head = "none" if tabbed or own else "caption"
            if dock.isFloating():
                head = "frame"
            if dock.property("head") != head:
                dock.setProperty("head", head)
                dock.setTitleBarWidget(self._head(head, title))  # type: ignore[arg-type]  # None brings Qt's own back

    def _head(self, kind: str, title: str) -> QWidget | None:
        if kind == "frame":
            return None
        head = _Caption(lambda: self._maximise(title))
        if kind == "none":
            head.setFixedHeight(0)
        else:
            row(label(title.upper(), role="caption"), ..., of=head, margins=(13, 9, 13, 2))
        return head

    def childEvent(self, event: QChildEvent) -> None:
        """A double click on a tab maximises its panel: Qt makes the bars as it needs them."""
        super().childEvent(event)
        if event.type() != QEvent.Type.ChildPolished:
            return  # to say what a layout is, PySide6 makes ready every type that it might be
        if isinstance(bar := event.child(), QTabBar):
            bar.tabBarDoubleClicked.connect(lambda at: self._tab(bar, at))

    def _tab(self, bar: QTabBar, at: int) -> None:
        title = next(
            (name for name, dock in self.docks.items() if dock.windowTitle() == bar.tabText(at)), ""
        )
        if title:
            self._maximise(title)


class _Caption(Guarded, QWidget):
    """Of a dock without a tab: dragged by it, maximised by a double click."""

    def __init__(self, double_clicked: Callable[[], None]) -> None:
        super().__init__()
        self._double_clicked = double_clicked

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Not Qt's own meaning, to float."""
        self._double_clicked()
        event.accept()
