"""A workspace: the panels for one kind of work, as docks around a central panel.

The docks can be moved, tabbed, floated, closed and maximised.
"""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QByteArray, QChildEvent, QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QTabWidget, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.build import delayed, row
from inspector.gui.look.labels import label
from inspector.gui.look.tokens import LIST_HEAD
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
"""Names of the workspaces, in the order of their keys (Ctrl+1, Ctrl+2, ...)."""
PAGES: Mapping[str, str] = {"What was lost": "Compact"}
"""Pages, which fill the window except for the gauge, and the workspace that each belongs to. Pages have no tab."""
DRAWERS: Mapping[str, str] = {"Search": "At a glance"}
"""Panels that are shown below all others of their workspace on request, and the panel that each replaces."""
VERSION = 8
"""Version of the stored layout. A layout of another version is not restored."""


class WorkspacePage(Guarded, QMainWindow):
    """A workspace or the frame around the workspaces. Docks in the same area are tabs, except at the top.

    At the top they are placed below each other.
    """

    rearranged = Signal()
    """Emitted when another panel is brought to the front."""

    def __init__(self, name: str, maximise: Callable[[str], None]) -> None:
        super().__init__()
        self.name = name
        self._maximise = maximise
        self.setObjectName(f"{name}WorkspacePage")
        self.setWindowFlags(Qt.WindowType.Widget)
        self.docks: dict[str, QDockWidget] = {}
        self._places: list[tuple[Place, str]] = []
        self._opened = set[str]()
        """Titles of the drawers that were opened before. Their height is left to the user."""
        self.fresh = QByteArray()
        """The initial layout, without changes by the user; empty until all panels are placed."""
        self.laid_out = False
        """True once the page was laid out with its sizes."""
        self._soon = delayed(self, milliseconds=0, call=self._hide_left_bars)
        self.setDockOptions(
            QMainWindow.DockOption.AllowNestedDocks | QMainWindow.DockOption.AllowTabbedDocks
        )
        self.setDocumentMode(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        for corner, place in _CORNERS.items():
            self.setCorner(corner, _AREAS[place])

    def place(self, panel: Panel, place: Place) -> None:
        """Add a panel at its place."""
        if place == "centre":
            self.setCentralWidget(panel)
            return
        if panel.TITLE in DRAWERS:
            for corner in (Qt.Corner.BottomLeftCorner, Qt.Corner.BottomRightCorner):
                self.setCorner(corner, _AREAS[place])  # a drawer is as wide as the workspace
        neighbours = self._docks_at(place)
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
        """Keep the heights of the other docks when a dock changes its height, so that the central panel absorbs the
        change."""
        tabs = self.tabifiedDockWidgets(dock)
        area = self.dockWidgetArea(dock)
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
                    layout.activate()  # takes the difference from the other docks
            self.resizeDocks(others, heights, Qt.Orientation.Vertical)

        if self.laid_out and others:
            QTimer.singleShot(0, self, as_before)

    @property
    def is_placed(self) -> bool:
        """True if all panels of the workspace are placed."""
        return not self.fresh.isEmpty()

    def placed(self) -> None:
        """Finish the layout after the last panel was placed."""
        for place in _AREAS:
            for dock in self._docks_at(place)[:1]:
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
        """Show a drawer in place of the panel that it replaces; the first time with a height in pixels."""
        self._show_drawer(title, is_open=True)
        if title not in self._opened and not self.docks[title].isFloating():
            self._opened.add(title)
            self.resizeDocks([self.docks[title]], [height], Qt.Orientation.Vertical)

    def close_drawer(self, title: str) -> None:
        """Hide a drawer, and show the panel that it replaced."""
        self._show_drawer(title, is_open=False)

    def _show_drawer(self, title: str, *, is_open: bool) -> None:
        dock = self.docks[title]
        neighbour = self.docks.get(DRAWERS[title])
        if neighbour is not None and not dock.isFloating():
            neighbour.setVisible(not is_open)
        dock.setVisible(is_open)

    def _docks_at(self, place: Place) -> list[QDockWidget]:
        """Return the docks of a place, in the order in which they were added."""
        return [self.docks[title] for where, title in self._places if where == place]

    def lay_out(self, stored: QByteArray, sizes: dict[str, int], is_low: bool) -> None:
        """Restore the layout that the user left, or lay out the panels for the first time.

        Args:
            stored: The stored layout; empty if there is none.
            sizes: Pixels by title: the width of panels at the sides, the height of panels above and below.
            is_low: Show the panels at the top as tabs, because the window is too low to stack them.
        """
        self.laid_out = True
        if stored.isEmpty() or not self._restore(stored):
            above = self._docks_at("top")
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
            bar.hide()  # Qt creates new tab bars and leaves the old ones visible
        return self.restoreState(stored, VERSION)

    def kept(self) -> QByteArray:
        """Return the layout as bytes, to be stored."""
        return self.saveState(VERSION)

    def show_only(self, title: str) -> None:
        """Hide all panels except one. Without a title, show the central panel, which no stored layout contains."""
        for name, dock in self.docks.items():
            if title and name != title and not dock.isFloating():
                dock.hide()
        if (centre := self.centralWidget()) is not None:
            centre.setVisible(not title or title not in self.docks)

    def restore_docks(self, stored: QByteArray) -> None:
        """Restore the layout from before `show_only`."""
        self.show_only("")
        self._restore(stored)

    def _hide_left_bars(self) -> None:
        """Hide tab bars without docks, which Qt would keep painting."""
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
                groups.remove(titles)  # a second bar with the same tabs is left over, too
            else:
                bar.hide()

    def _retitle(self) -> None:
        """Choose the head of each dock: a caption to drag a single dock, the tab of a tabbed dock, a frame if it
        floats."""
        self._soon.start()
        for title, dock in self.docks.items():
            tabbed = bool(self.tabifiedDockWidgets(dock)) and not dock.isFloating()
            own = getattr(dock.widget(), "HEADED", False)
            head = "none" if tabbed or own else "caption"
            if dock.isFloating():
                head = "frame"
            if dock.property("head") != head:
                dock.setProperty("head", head)
                dock.setTitleBarWidget(self._head(head, title))  # type: ignore[arg-type]  # None restores Qt's own

    def _head(self, kind: str, title: str) -> QWidget | None:
        if kind == "frame":
            return None
        head = _Caption(lambda: self._maximise(title))
        if kind == "none":
            head.setFixedHeight(0)
        else:
            row(label(title.upper(), role="caption"), ..., of=head, margins=LIST_HEAD)
        return head

    def childEvent(self, event: QChildEvent) -> None:
        """Maximise a panel on a double click on its tab. Qt creates tab bars when it needs them."""
        super().childEvent(event)
        if event.type() != QEvent.Type.ChildPolished:
            return  # other events: PySide6 would have to prepare many types to convert the child
        if isinstance(bar := event.child(), QTabBar):
            bar.tabBarDoubleClicked.connect(lambda at: self._tab(bar, at))

    def _tab(self, bar: QTabBar, at: int) -> None:
        title = next(
            (name for name, dock in self.docks.items() if dock.windowTitle() == bar.tabText(at)), ""
        )
        if title:
            self._maximise(title)


class _Caption(Guarded, QWidget):
    """The caption of a dock without a tab: drag it to move the dock, double-click it to maximise the panel."""

    def __init__(self, double_clicked: Callable[[], None]) -> None:
        super().__init__()
        self._double_clicked = double_clicked

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Maximise the panel, although a double click on a title bar in Qt makes the dock float."""
        self._double_clicked()
        event.accept()
