"""Arrange all panels: gauge and timeline, which are always shown, around the current workspace.

Showing a panel shows its workspace. The panels of a workspace are built when the workspace is shown, when something in
it may need the user, or earlier while the program is idle. The layout of each workspace is stored.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import cast

from PySide6.QtCore import QByteArray, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QStackedWidget, QWidget

from inspector.gui.commands import Command
from inspector.gui.desk import Desk
from inspector.gui.guard import attempt
from inspector.gui.panels.panel import Panel, Place
from inspector.gui.settings import Settings
from inspector.gui.timeline_height import TimelineHeight
from inspector.gui.workspace import DRAWERS, PAGES, WORKSPACES, WorkspacePage
from inspector.workbench.state import State

_ALL = (*WORKSPACES, *PAGES)
_LIVE = ("run", "proxy")
"""Fields of a State that concern only the panels whose LIVE is set."""
_CONCERNS = tuple(
    field.name
    for field in fields(State)
    if field.name not in ("opening", "behind", "failure", *_LIVE)
)
"""Fields of a State that concern every panel. The bars show progress and failures, so the panels do not need these."""

_CALLING = {"run": "Live", "proxy": "Live", "receiver": "Live", "asking": "Compact"}
"""Workspace to build at once, by the field of a State that is not None when the workspace may need the user."""
LINES = 38
"""Lines of text that must fit in the window's height so that panels can be placed below the middle panel."""


COLUMNS = 132
"""Digits that must fit in the window's width so that the unfolded gauge can be shown beside everything else."""


class Docks(WorkspacePage):
    """Holds every panel and passes the State to each. The central widget is the current workspace."""

    changed = Signal(str)
    """Emitted with the name of the workspace that is now shown."""

    def __init__(self, desk: Desk) -> None:
        super().__init__("", lambda title: self.maximise(title))
        self.setCorner(Qt.Corner.TopLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        self._desk = desk
        self._stack = QStackedWidget()
        self.setCentralWidget(self._stack)
        self.panels: dict[str, Panel] = {}
        """The panels that were built, by title."""
        self._unbuilt: list[tuple[str, Place, type[Panel]]] = []
        self.workspaces = {name: WorkspacePage(name, self.maximise) for name in _ALL}
        for workspace in self.workspaces.values():
            self._stack.addWidget(workspace)
            workspace.rearranged.connect(self.rearranged)
        self.changed.connect(lambda _: self.rearranged.emit())
        self._home: dict[str, str] = {}
        """Name of each panel's workspace, by the panel's title; empty for panels that are always shown."""
        self._shown: State | None = None
        self._coming = ""
        """Name of the workspace that will be shown when its panels are built."""
        self._maximised: tuple[str, QByteArray, QByteArray] | None = None
        """Title of the maximised panel, and the layouts of the frame and the workspace before it; None if none is
        maximised."""
        self._frame_layout: QByteArray | None = None
        """The layout of gauge and timeline before a page was opened; None while no page is shown."""
        self._left = WORKSPACES[0]
        """Name of the workspace that was shown before the page was opened."""
        self._last = ""
        """Title of the panel that had the focus last."""
        self.timeline_height = TimelineHeight(
            self,
            desk.settings,
            workspace=lambda: self.current.name,
            is_maximised=lambda: bool(self.maximised),
        )
        cast(QGuiApplication, QGuiApplication.instance()).focusObjectChanged.connect(
            self._note_focus
        )

    def announce(self, panels: Sequence[tuple[str, Place, type[Panel]]]) -> None:
        """Set all panels that can be built, in the order of their tabs."""
        self._unbuilt = list(panels)
        self._home = {kind.TITLE: workspace for workspace, _, kind in panels}

    @property
    def ready(self) -> bool:
        """True if all panels in the frame and in the current workspace were built."""
        return self.is_placed and self.current.is_placed

    def build(self, *workspaces: str) -> None:
        """Build the missing panels of the named workspaces; the empty name is the frame."""
        for name in workspaces:
            while self._lacks_panels(name):
                self._build_first(name)

    def build_next(self) -> bool:
        """Build one more panel, beginning with the visible ones. Return False if none is left."""
        missing = {home for home, _, _ in self._unbuilt}
        if missing:
            visible_first = ("", self.current.name, *_ALL)
            self._build_first(next(name for name in visible_first if name in missing))
        return bool(self._unbuilt)

    def _build_first(self, workspace: str) -> None:
        first = next(index for index, (home, _, _) in enumerate(self._unbuilt) if home == workspace)
        _, place, make = self._unbuilt.pop(first)
        self._desk.bridge.give_way()
        built: list[Panel] = []
        bridge = self._desk.bridge.for_part(
            make.TITLE, lambda error: built[0].fall(error) if built else None
        )
        built.append(panel := make(replace(self._desk, bridge=bridge)))
        self.panels[panel.TITLE] = panel
        page = self.workspaces[workspace] if workspace else self
        page.place(panel, place)
        if not workspace:
            panel.note_workspace(self.current.name)
        if panel.TITLE == "Timeline":
            panel.height_changed.connect(self.timeline_height.fit)
        panel.closed.connect(self.close_drawers)
        if self._shown is not None:
            _hand_state(panel, self._shown)
        if not self._lacks_panels(workspace):
            page.placed()

    def _lacks_panels(self, workspace: str) -> bool:
        """Are there panels of the workspace that were not built yet?"""
        return any(home == workspace for home, _, _ in self._unbuilt)

    # -- workspaces ----------------------------------------------------------------------------------------------------

    @property
    def current(self) -> WorkspacePage:
        """The workspace that is shown."""
        return self.workspaces[_ALL[self._stack.currentIndex()]]

    def choose_soon(self, name: str) -> None:
        """Show a workspace once its panels are built: one per turn of the event loop, so that the window stays
        responsive."""
        self._coming = name
        self._desk.bridge.in_turns(self._build_workspace(name))

    def _build_workspace(self, name: str) -> Iterator[None]:
        while self._coming == name and self._lacks_panels(name):
            self._build_first(name)
            yield
        if self._coming == name:
            self.choose(name)

    def choose(self, name: str) -> None:
        """Show a workspace by its name."""
        self._coming = ""
        if self._stack.currentWidget() is not self.workspaces[name]:
            if self.isVisible():
                self.build(name)
            self.restore_all()
            self._make_room_for_page(name in PAGES)
            self._stack.setCurrentWidget(self.workspaces[name])
            for title, panel in self.panels.items():
                if not self._home[title]:
                    panel.note_workspace(name)
            self.timeline_height.fit()
        self.changed.emit(PAGES.get(name, name))
        self._lay_out(self.current)

    def _make_room_for_page(self, to_page: bool) -> None:
        """Hide the timeline and fold the gauge while a page is shown."""
        if to_page and self._frame_layout is None:
            self._left, self._frame_layout = self.current.name, self.kept()
            if not (timeline := self.docks["Timeline"]).isFloating():
                timeline.hide()
            folded = self.panels["Pressure"].preferred_width(is_narrow=True)
            self.resizeDocks([self.docks["Pressure"]], [folded], Qt.Orientation.Horizontal)
        elif not to_page and self._frame_layout is not None:
            frame = self._frame_layout
            self._frame_layout = None
            self.restore_docks(frame)

    @property
    def is_page(self) -> bool:
        """True if a page is shown, not a workspace."""
        return self.current.name in PAGES

    def leave_page(self) -> None:
        """Return to the workspace from which the page was opened."""
        if self.is_page:
            self.choose(self._left)

    def _lay_out(self, page: WorkspacePage) -> None:
        if self.ready and self.isVisible() and not page.laid_out:
            page.lay_out(self._desk.settings.data(_key(page)), self._sizes(), self._is_low)
            self.timeline_height.fit()
            self._make_room_for_run()

    def _make_room_for_run(self) -> None:
        """Hide the table of exchanges if there is a run but no proxy or receiver, and the run if there is none."""
        live = self.workspaces["Live"]
        state = self._desk.workbench.state
        # Both are None before the panels are placed.
        dock = live.docks.get("Run")
        table = live.centralWidget()
        if dock is not None and table is not None and live.laid_out and not dock.isFloating():
            dock.setVisible(state.run is not None)
            table.setVisible(state.run is None or bool(state.proxy or state.receiver))

    def show_layout(self) -> None:
        """Restore the stored layouts of the frame and of the current workspace.

        Other workspaces follow when they are shown.
        """
        for page in (self, self.current):
            self._lay_out(page)

    def _sizes(self) -> dict[str, int]:
        """Return the preferred width or height in pixels of panels in this window, by title."""
        gauge = self._gauge_width()
        figure = self.fontMetrics().horizontalAdvance("0")
        width = self.width() - gauge
        height = self.height()
        line_height = self.fontMetrics().height()
        return {
            "Pressure": gauge,
            "Timeline": self.timeline_height.preferred,
            "Buffer": width * 58 // 100,
            "Message": width * 42 // 100,
            "Tiers": max(min(33 * figure, width * 44 // 100), width * 32 // 100),
            "Lost": max(height * 31 // 100, 10 * line_height),
            "Search": max(height * 27 // 100, 9 * line_height),
            "Run": width * 45 // 100,
        }

    def _gauge_width(self) -> int:
        """Return the preferred width of the gauge in pixels; it is folded in a narrow window."""
        is_narrow = self.width() < COLUMNS * self.fontMetrics().horizontalAdvance("0")
        return self.panels["Pressure"].preferred_width(is_narrow)

    @property
    def _is_low(self) -> bool:
        """True if the letters are so large, or the window is so low, that panels cannot be placed below each other."""
        return self.height() < LINES * self.fontMetrics().height()

    def reset(self) -> None:
        """Reset every layout to that of a new window."""
        self.restore_all()
        self.leave_page()
        self.timeline_height.reset()
        for page in (self, *self.workspaces.values()):
            if page.laid_out:
                page.reset_to(self._sizes(), self._is_low)
        self._make_room_for_run()

    def keep(self, settings: Settings) -> None:
        """Store the layouts. The current workspace is not stored: every start shows the first workspace."""
        self.restore_all()
        self.leave_page()
        for workspace in self.workspaces.values():
            for title in workspace.drawers:
                workspace.close_drawer(title)
        self.timeline_height.keep(settings)
        for page in (self, *self.workspaces.values()):
            if page.laid_out:
                settings.keep_data(_key(page), page.kept())

    # -- one panel -----------------------------------------------------------------------------------------------------

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of all panels, docked or not."""
        return tuple(self._home)

    def panel(self, title: str) -> Panel:
        """Return the panel with that title, and build it first if needed. Raises KeyError if there is none."""
        self.build(self._home[title])
        return self.panels[title]

    def home(self, title: str) -> str:
        """Return the name of a panel's workspace; empty for panels that are always shown."""
        return self._home[title]

    def dock(self, title: str) -> QDockWidget | None:
        """Return the dock of a panel; None for the panel in the middle of its workspace."""
        home = self._home[title]
        return (self.workspaces[home] if home else self).docks.get(title)

    def bring(self, title: str) -> None:
        """Show the panel with that title, with its workspace, and give it the focus.

        Raises KeyError if there is none.
        """
        if self._maximised is not None and self._maximised[0] != title:
            self.restore_all()
        if self._home[title]:
            self.choose(self._home[title])
        dock = self.dock(title)
        if dock is not None:
            if title in self.current.drawers:
                self.current.open_drawer(title, self._sizes()[title])
            for drawer in self.current.drawers:
                if DRAWERS[drawer] == title:
                    self.current.close_drawer(drawer)  # there is no room for both
            dock.show()
            dock.raise_()
        self.panel(title).setFocus()

    def close_drawers(self) -> bool:
        """Close the drawers of the workspace, so that the panel above has its full room.

        Return True if one was open.
        """
        page = self.current
        opened = [title for title in page.drawers if not page.docks[title].isHidden()]
        had_focus = self.focused in opened
        for title in opened:
            page.close_drawer(title)
        if had_focus and "Buffer" in self.panels:
            self.panels["Buffer"].setFocus()
        return bool(opened)

    def _note_focus(self, focus: QObject | None) -> None:
        for title, panel in self.panels.items():
            if isinstance(focus, QWidget) and (panel is focus or panel.isAncestorOf(focus)):
                self._last = title

    @property
    def focused(self) -> str:
        """Title of the visible panel that had the focus last, for example before the palette took it.

        Without such a panel, the title of the middle panel of the workspace, which is the buffer in Read.
        """
        if self._last and self.panels[self._last].seen:
            return self._last
        middle = self.current.centralWidget() or self.panels.get("Buffer")
        return next(
            (title for title, panel in self.panels.items() if panel is middle and panel.seen), ""
        )

    def maximise(self, title: str) -> None:
        """Maximise the panel; if one is maximised already, restore the layout instead."""
        if self._maximised is not None:
            self.restore_all()
            return
        dock = self.dock(title)
        if dock is not None and dock.isFloating():
            dock.showNormal() if dock.isMaximized() else dock.showMaximized()
            return
        self.bring(title)
        self._maximised = (title, self.kept(), self.current.kept())
        if self._home[title]:
            self.show_only("none")
            self.current.show_only(title)
        else:
            self.show_only(title)

    @property
    def maximised(self) -> str:
        """Title of the maximised panel; empty if there is none."""
        return self._maximised[0] if self._maximised is not None else ""

    @property
    def in_front(self) -> tuple[str, ...]:
        """Titles of the visible panels of the frame and of the current workspace."""
        homes = (self.current.name, "")
        return tuple(
            title
            for title, panel in self.panels.items()
            if self._home[title] in homes and panel.seen
        )

    def bring_in_front(self, titles: Sequence[str], maximised: str) -> None:
        """Show these panels of the current workspace in front of the panels tabbed with them."""
        if maximised != self.maximised:
            self.restore_all()
        for title in titles:
            dock = self.dock(title)
            if dock is not None and not self.panel(title).seen:
                dock.show()
                dock.raise_()
        if maximised and not self.maximised:
            self.maximise(maximised)

    def maximise_focused(self) -> None:
        """Maximise the panel that has the focus. Before the panels are placed, none has it."""
        if title := self.focused:
            self.maximise(title)

    def restore_all(self) -> None:
        """Restore the layout if a panel is maximised."""
        if self._maximised is not None:
            _, frame, inner = self._maximised
            self._maximised = None
            self.restore_docks(frame)
            self.current.restore_docks(inner)
            self._make_room_for_run()

    def float(self) -> None:
        """Move the panel with the focus into a separate window, or back into its dock."""
        self.restore_all()
        if (title := self.focused) and (dock := self.dock(title)):
            dock.setFloating(not dock.isFloating())

    def close_panel(self) -> None:
        """Hide the panel with the focus. A command that shows the panel brings it back."""
        self.restore_all()
        if (title := self.focused) in self.current.drawers:
            self.close_drawers()
        elif title and (dock := self.dock(title)):
            dock.hide()

    # -- State ---------------------------------------------------------------------------------------------------------

    def tell(self, state: State) -> None:
        """Pass the State to every panel that it concerns. Panels that cannot be seen show it later."""
        former = self._shown
        self._shown = state
        self.build(*(home for field, home in _CALLING.items() if getattr(state, field) is not None))
        if former is None or _live_parts(former) != _live_parts(state):
            self._make_room_for_run()
        same = former is not None and _is_same(former, state)
        if same and former is not None and _is_same(former, state, _LIVE):
            return
        # A copy, because a panel may show another one, which is built then.
        for panel in list(self.panels.values()):
            if panel.LIVE or not same:
                _hand_state(panel, state)

    def is_current(self, panel: Panel) -> bool:
        """Return True if the panel shows the current State."""
        names = (*_CONCERNS, *_LIVE) if panel.LIVE else _CONCERNS
        return panel.shown is not None and _is_same(panel.shown, self._desk.workbench.state, names)

    def show_cancelled(self, titles: Sequence[str]) -> None:
        """Say in these panels that their work was cancelled, with a button that starts it again."""
        for title in titles:
            if title in self.panels:
                self.panels[title].show_cancelled()

    def restyle(self) -> None:
        """Apply changed colours to all panels."""
        for panel in self.panels.values():
            attempt(panel.restyle)


def _hand_state(panel: Panel, state: State) -> None:
    if failure := attempt(partial(panel.receive, state)):
        panel.fall(failure)


def _live_parts(state: State) -> tuple[bool, ...]:
    """Return which live parts (run, proxy, ...) the state has."""
    return tuple(getattr(state, name) is not None for name in _LIVE)


def _is_same(state: State, other: State, names: tuple[str, ...] = _CONCERNS) -> bool:
    """Return True if these fields of both states are the same objects."""
    return all(getattr(state, name) is getattr(other, name) for name in names)


def _key(page: WorkspacePage) -> str:
    return f"layout/{page.name or 'frame'}"


def layout_commands(docks: Docks, choose: Callable[[str], None]) -> tuple[Command, ...]:
    """Return the commands that show workspaces and arrange panels."""
    return (
        *(
            Command(f"Workspace: {name}", partial(choose, name), (f"Ctrl+{number}",), "View")
            for number, name in enumerate(WORKSPACES, 1)
        ),
        Command("Maximise the panel, or restore it", docks.maximise_focused, ("F11",), "View"),
        Command("Float the panel, or dock it", docks.float, (), "View"),
        Command("Close the panel", docks.close_panel, (), "View"),
        Command("Reset layout", docks.reset, (), "View"),
    )
