"""The panels as docks around the buffer list: movable, floating, tabbed; where they stand is remembered."""

from dataclasses import fields, replace
from functools import partial

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QTabWidget, QWidget

from inspector.gui.desk import Desk
from inspector.gui.guard import attempt
from inspector.gui.look.build import row
from inspector.gui.look.labels import label
from inspector.gui.panels.panel import Panel, Place
from inspector.workbench.state import State

_AREAS: dict[Place, Qt.DockWidgetArea] = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "top": Qt.DockWidgetArea.TopDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}
_LIVE = ("run", "proxy")
"""What of a State is for those panels only that say so."""
_CONCERNS = tuple(field.name for field in fields(State) if field.name not in ("opening", "failure", *_LIVE))
"""What of a State is for all panels: how far a reading is and what failed is shown above them."""
VERSION = 2
"""Of the remembered layout: a layout of another version is not restored."""


class Docks(QMainWindow):
    """Holds every panel of the list; hands each the State."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._places: list[tuple[Place, str]] = []
        self.setWindowFlags(Qt.WindowType.Widget)
        self.panels: dict[str, Panel] = {}
        self.docks: dict[str, QDockWidget] = {}
        self._set_up()
        self._shown: State | None = None
        self.fresh = QByteArray()
        """The layout as it is without a user's hand; empty until the last panel was placed."""

    @property
    def ready(self) -> bool:
        """Have all panels been placed?"""
        return not self.fresh.isEmpty()

    def place(self, place: Place, make: type[Panel]) -> None:
        """Build one panel and put it where it belongs. One by one, so that nobody waits for all of them."""
        made: list[Panel] = []
        bridge = self._desk.bridge.for_part(lambda error: made[0].fall(error) if made else None)
        made.append(panel := make(replace(self._desk, bridge=bridge)))
        self._place(panel, place)
        self._places.append((place, panel.TITLE))

    def placed(self) -> None:
        """That was the last one."""
        for place in ("right", "bottom"):
            for dock in self._at(place)[:1]:
                dock.raise_()
        self._retitle()
        self.fresh = self.saveState(VERSION)

    def _set_up(self) -> None:
        self.setDockOptions(QMainWindow.DockOption.AllowNestedDocks | QMainWindow.DockOption.AllowTabbedDocks)
        self.setDocumentMode(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        left, right = _AREAS["left"], _AREAS["right"]
        for corner in (Qt.Corner.TopLeftCorner, Qt.Corner.BottomLeftCorner):
            self.setCorner(corner, left)
        for corner in (Qt.Corner.TopRightCorner, Qt.Corner.BottomRightCorner):
            self.setCorner(corner, right)

    def _place(self, panel: Panel, place: Place) -> None:
        self.panels[panel.TITLE] = panel
        if place == "centre":
            self.setCentralWidget(panel)
            return
        neighbours = self._at(place)
        dock = QDockWidget(panel.TITLE)
        dock.setObjectName(f"{panel.objectName()}Dock")
        dock.setWidget(panel)
        self.docks[panel.TITLE] = dock
        panel.windowTitleChanged.connect(dock.setWindowTitle)
        self.addDockWidget(_AREAS[place], dock)
        if neighbours:
            self.tabifyDockWidget(neighbours[-1], dock)
        dock.topLevelChanged.connect(lambda _: self._retitle())
        dock.dockLocationChanged.connect(lambda _: self._retitle())
        dock.visibilityChanged.connect(panel.come_forward)
        dock.visibilityChanged.connect(lambda _: self._retitle())

    def _at(self, place: Place) -> list[QDockWidget]:
        """The docks that belong there, in their order."""
        return [self.docks[title] for where, title in self._places if where == place and title in self.docks]

    def first_sizes(self, width: int, height: int) -> None:
        """Sizes that suit a window of so many pixels."""
        sides: dict[Place, int] = {"left": 226, "right": max(280, width * 26 // 100)}
        heights: dict[Place, int] = {"top": max(170, height * 26 // 100), "bottom": max(170, height * 27 // 100)}
        for sizes, way in ((sides, Qt.Orientation.Horizontal), (heights, Qt.Orientation.Vertical)):
            chosen = [(dock, size) for place, size in sizes.items() for dock in self._at(place)[:1]]
            self.resizeDocks([dock for dock, _ in chosen], [size for _, size in chosen], way)

    def _retitle(self) -> None:
        """A dock alone has a caption to be dragged by; one among tabs has its tab; one that floats has a frame."""
        for title, dock in self.docks.items():
            tabbed = bool(self.tabifiedDockWidgets(dock)) and not dock.isFloating()
            wanted = "frame" if dock.isFloating() else "none" if tabbed or title == "Timeline" else "caption"
            if dock.property("head") != wanted:
                dock.setProperty("head", wanted)
                dock.setTitleBarWidget(_head(wanted, title))  # type: ignore[arg-type]  # None brings Qt's own back

    @property
    def titles(self) -> tuple[str, ...]:
        """Of all panels."""
        return tuple(self.panels)

    @property
    def centre(self) -> Panel:
        """The panel in the middle: the buffer list."""
        return next(self.panels[title] for place, title in self._places if place == "centre")

    def tell(self, state: State) -> None:
        """Every panel is given what concerns it; those that cannot be seen show it later."""
        told, self._shown = self._shown, state
        same = told is not None and _is_same(told, state)
        if same and told is not None and _is_same(told, state, _LIVE):
            return
        for panel in self.panels.values():
            if (panel.LIVE or not same) and (failure := attempt(partial(panel.receive, state))):
                panel.fall(failure)

    def is_current(self, panel: Panel) -> bool:
        """Does the panel show what it was last given, and is that the state?"""
        names = (*_CONCERNS, *_LIVE) if panel.LIVE else _CONCERNS
        return panel.shown is not None and _is_same(panel.shown, self._desk.workbench.state, names)

    def restyle(self) -> None:
        """The colours have changed."""
        for panel in self.panels.values():
            attempt(panel.restyle)

    def bring(self, title: str) -> None:
        """The panel of that title to the front. Raises KeyError for an unknown one."""
        dock = self.docks.get(title)
        if dock is not None:
            dock.show()
            dock.raise_()
        self.panels[title].setFocus()

    def make_room(self, title: str, share: float) -> None:
        """That panel is to have so much of the height at least, where it stands in a dock."""
        dock, wanted = self.docks.get(title), int(self.height() * share)
        if dock is not None and not dock.isFloating() and dock.height() < wanted:
            self.resizeDocks([dock], [wanted], Qt.Orientation.Vertical)

    def restore(self, kept: QByteArray) -> bool:
        """Take a remembered layout. Returns whether it could be used."""
        if kept.isEmpty():
            return False
        for bar in self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            bar.hide()  # Qt makes new ones and leaves the old where they were
        return self.restoreState(kept, VERSION)

    def kept(self) -> QByteArray:
        """The layout to remember."""
        return self.saveState(VERSION)


def _is_same(one: State, other: State, names: tuple[str, ...] = _CONCERNS) -> bool:
    """For panels."""
    return all(getattr(one, name) is getattr(other, name) for name in names)


def _head(kind: str, title: str) -> QWidget | None:
    if kind == "frame":
        return None
    head = QWidget()
    if kind == "none":
        head.setFixedHeight(0)
    else:
        row(label(title.upper(), role="caption"), ..., of=head, margins=(13, 9, 13, 2))
    return head
