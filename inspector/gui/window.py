"""The main window: it connects bars, notice, panels and commands. Everything that they show comes from the State.

Every command is defined here once, with its text and keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QGuiApplication, QIcon, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QWidget

from inspector.core.heavy import load_module
from inspector.core.tokens.estimators import ESTIMATORS
from inspector.core.tokens.exact import load_tokenizer
from inspector.gui.bars import Notice, StatusStrip, TopBar
from inspector.gui.bridge import Bridge
from inspector.gui.commands import Command, Keys
from inspector.gui.desk import Desk
from inspector.gui.dialogs.ask import ask_file, ask_window
from inspector.gui.dialogs.key_list import KeyList
from inspector.gui.dialogs.palette import CommandPalette
from inspector.gui.docks import Docks
from inspector.gui.edits.manual_edits import edit_commands
from inspector.gui.guard import Guarded, attempt
from inspector.gui.history import History
from inspector.gui.look.build import column, holding
from inspector.gui.look.theme import Theme
from inspector.gui.opening import FileDrop, Follow, Opener
from inspector.gui.panels.panel import Panel, Place, PlotPanel
from inspector.gui.panels.tiers.commands import stepper_commands
from inspector.gui.policy_desk import PolicyDesk
from inspector.gui.proxies.desk import ProxyDesk
from inspector.gui.reading_order import next_stop, place_beside
from inspector.gui.runs.desk import RunDesk
from inspector.gui.settings import Settings
from inspector.gui.sharing.desk import SharingDesk
from inspector.gui.welcome import Welcome, sample_path
from inspector.gui.window_commands import find_offers, view_commands, walk_commands
from inspector.gui.work_notice import WorkNotice
from inspector.resources import resource
from inspector.workbench.state import Following, State
from inspector.workbench.stepping import Answerers, refuse_models
from inspector.workbench.workbench import Workbench

_BENEATH = (
    "inspector.transcripts.discover",
    "inspector.workbench.compare",
    "inspector.proxy.live_proxy",
)
"""Modules that the panels use and that contain no Qt classes: two thirds of the loading time, so a job loads them."""
_LARGE = (
    *("breakdown", "cost", "diff", "glance", "proxy"),
    *("timeline", "compare", "calibration", "run", "tiers", "steps", "buffer"),
)
"""Panels that are imported one per turn of the event loop, so that the window responds in between.

The first ones import most of the modules that the others use.
"""
LEAST = QSize(640, 480)
"""Minimum size of the window in pixels."""
_REST = 400
"""Milliseconds between building two hidden panels while the user works."""


class MainWindow(Guarded, QMainWindow):
    """A window with one workbench. The panels are built when there is something to show in them."""

    def __init__(
        self, theme: Theme, settings: Settings, answerers: Answerers = refuse_models
    ) -> None:
        super().__init__()
        self.theme, self.settings = theme, settings
        self.bridge = Bridge(self)
        self.workbench = Workbench(self.bridge.work, answerers)
        self.policies = PolicyDesk(self, self.workbench, self.bridge, settings)
        self.opener = Opener(self.workbench, self.bridge, settings, choose=self._offer_sessions)
        self.follow = Follow(self.workbench, self.bridge, self.opener)
        self.runs = RunDesk(
            self.workbench, self.bridge, settings, window=self, follow=self.follow_path
        )
        self.proxies = ProxyDesk(
            self.workbench, self.bridge, settings, window=self, follow=self.follow_path
        )
        self.desk = self._make_desk(theme)
        self.docks = Docks(self.desk)
        self.docks.changed.connect(lambda name: self.top.workspaces.show_name(name))
        self.run_bar: QWidget | None = None
        self.proxy_bar: QWidget | None = None
        self.receiver_bar: QWidget | None = None
        self._build()
        self.history = History(
            self, self.workbench, self.docks, self.reopen_path, changed=self.top.show_history
        )
        self.top.back.clicked.connect(self.history.go_back)
        self.top.forward.clicked.connect(self.history.go_forward)
        self.commands = self._commands()
        self._keys = Keys(self, self.commands)
        self.palette_box = CommandPalette(
            self, theme, commands=lambda: self.commands, offers=partial(find_offers, self)
        )
        theme.changed.connect(self._restyle)
        self.workbench.subscribe(self.show_state)

    def _make_desk(self, theme: Theme) -> Desk:
        """Collect what the panels use of the window."""
        return Desk(
            self.workbench,
            self.bridge,
            theme,
            self.settings,
            self.open_path,
            self.show_panel,
            say=lambda message: self.notice.say(message),
            leave_page=lambda: self.docks.leave_page(),
            runs=self.runs,
            proxies=self.proxies,
        )

    def _build(self) -> None:
        self.setWindowTitle("Context Inspector")
        self.setWindowIcon(QIcon(str(resource("icons/context-inspector.svg"))))
        FileDrop(self, self.open_path, lambda over: self.welcome.drop.show_over(over))
        self.setMinimumSize(LEAST)
        intents = (
            self.choose_file,
            self.open_palette,
            self.choose_window,
            self.follow_session,
            self.choose_workspace,
        )
        self.top = TopBar(
            self.workbench,
            *intents,
            commands=lambda: self.commands,
            open_policy=self.policies.choose_file,
        )
        self.notice = Notice(self.theme, self.opener.cancel, self.workbench.dismiss)
        live = (self.proxies.watch, self.proxies.receive)
        self.welcome = Welcome(
            self.settings,
            self.bridge,
            self.theme,
            self.open_path,
            self.choose_file,
            self.runs,
            *live,
        )
        self.work = WorkNotice(self.bridge, lambda titles: self.docks.show_cancelled(titles))
        self.status = StatusStrip(lambda: self.show_panel("Problems"), self.work)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.welcome)
        self.pages.addWidget(self.docks)
        self._column = column(self.top, self.notice, (self.pages, 1), self.status, gap=0)
        self.setCentralWidget(holding(self._column))
        if not self.restoreGeometry(self.settings.data("geometry")):
            self.resize(self._first_size())
        room = self.screen().availableGeometry()
        self.resize(self.size().boundedTo(room.size()))  # the stored size may be of a larger screen
        QTimer.singleShot(0, self, self._after_first_paint)

    def _after_first_paint(self) -> None:
        """Start what can wait until the window has been painted: recent files, window sizes and the panels' modules."""
        self.welcome.refresh()
        self.bridge.run(
            lambda task: _user_windows(),
            self.workbench.use_windows,
            lambda error: self.notice.say(str(error)),
        )
        self.bridge.run(
            lambda task: [load_module(name) for name in _BENEATH],
            lambda _: self.bridge.in_turns(self._load_panels()),
        )

    def _load_panels(self) -> Iterator[None]:
        for name in _LARGE:
            import_module(f"inspector.gui.panels.{name}.panel")
            yield
        self._know_panels()

    # -- State ---------------------------------------------------------------------------------------------------------

    def show_state(self, state: State) -> None:
        """Show the State in the bars and in all panels."""
        self.bridge.give_way()
        self._insert_bars(state)
        for part in (self.top, self.notice, self.status):
            attempt(partial(part.show_state, state))
        if state.session is None:
            self.pages.setCurrentWidget(self.welcome)
            self.setWindowTitle("Context Inspector")
            self.docks.tell(state)  # hidden panels must not keep the old session in memory
            return
        self.setWindowTitle(
            f"{Path(state.session.path).name or state.session.format} – Context Inspector"
        )
        self._show_docks()
        self.docks.tell(state)

    def _insert_bars(self, state: State) -> None:
        """Insert the bar of the first run, proxy or receiver. Each bar then shows and hides itself."""
        if state.run is not None and self.run_bar is None:
            from inspector.gui.panels.run.bar import RunBar

            self.run_bar = RunBar(self.runs, self.workbench, self.bridge, show=self._bring_run)
            self._column.insertWidget(2, self.run_bar)
        show_panel = partial(self.show_panel, "Proxy")
        if state.proxy is not None and self.proxy_bar is None:
            from inspector.gui.panels.proxy.bar import ProxyBar

            self.proxy_bar = ProxyBar(self.proxies, self.workbench, show_panel)
            self._column.insertWidget(2, self.proxy_bar)
        if state.receiver is not None and self.receiver_bar is None:
            from inspector.gui.panels.proxy.bar import ReceiverBar

            self.receiver_bar = ReceiverBar(self.proxies, self.workbench, show_panel)
            self._column.insertWidget(2, self.receiver_bar)

    def _bring_run(self) -> None:
        self.runs.show()
        self.show_panel("Run")

    def _know_panels(self) -> None:
        if not self.docks.titles:
            self.docks.announce(_panels())
            show = self.show_panel
            self.commands += tuple(
                Command(f"Show {name.lower()}", partial(show, name), (), "View")
                for name in self.docks.titles
            )
            self._build_next()

    def _build_next(self) -> None:
        """Build one panel per turn of the event loop.

        Hidden panels are built slowly while the user works, and not at all while a file is being read.
        """
        state, rests = self.workbench.state, self.docks.ready
        if rests and state.opening is not None:
            QTimer.singleShot(_REST, self, self._build_next)
            return
        more = self.docks.build_next()
        if self.docks.ready:
            self.opener.placed.set()
        if more:
            waits = rests and state.session is not None
            QTimer.singleShot(_REST if waits else 0, self, self._build_next)
        elif isinstance(timeline := self.docks.panel("Timeline"), PlotPanel):
            timeline.load_plot()  # loading pyqtgraph is slow: better now than when a file opens
            if state.session is None and state.opening is None:
                self.bridge.run(lambda task: load_tokenizer(), lambda _: None)

    def _show_docks(self) -> None:
        self._know_panels()  # a file may be opened before the panels are announced
        self.docks.build("", self.docks.current.name)
        if self.pages.currentWidget() is not self.docks:
            self.pages.setCurrentWidget(self.docks)
            self.docks.show_layout()
            self.docks.panel("Buffer").setFocus()

    def _restyle(self) -> None:
        self.top.update()
        self.docks.restyle()

    # -- commands ------------------------------------------------------------------------------------------------------

    def _commands(self) -> tuple[Command, ...]:
        """Return all commands of the window, without those that show a panel, which are added later."""
        bench, ask = self.workbench, self.ask_panel
        return (
            Command("Open a transcript…", self.choose_file, ("Ctrl+O",), "Session"),
            Command("Open the sample", self.open_sample, (), "Session"),
            Command("Open a policy file…", self.policies.choose_file, (), "Session"),
            Command("Follow the session while it is written", self.follow_session, (), "Session"),
            Command(
                "Follow the newest session of this project", self.follow_project, (), "Session"
            ),
            *SharingDesk(self.desk, self).commands(),
            Command("Close the session", self.close_session, ("Ctrl+W",), "Session"),
            *walk_commands(self),
            *stepper_commands(bench),
            *edit_commands(self.desk, self),
            *self.runs.commands(),
            *self.proxies.commands(),
            Command("Compare policies", partial(ask, "Compare"), (), "Session"),
            Command(
                "Pin the selected text or sentence",
                partial(ask, "Message", bring=False),
                ("Ctrl+Shift+D",),
                "Find",
            ),
            Command("Filter the buffer", partial(ask, "Buffer"), ("/",), "Find", typed=True),
            Command("Search the session", partial(ask, "Search"), ("Ctrl+F",), "Find"),
            Command("Commands…", partial(self.open_palette, ">"), ("Ctrl+Shift+P",), "Find"),
            Command("Search or run a command…", self.open_palette, ("Ctrl+K",), "Find"),
            Command("Cancel the work under way", self.work.cancel_work, (), "Session"),
            Command("Set the window…", self.choose_window, (), "Numbers"),
            *view_commands(self),
            *(
                Command(f"Estimate by {name}", partial(bench.set_estimator, name), (), "Numbers")
                for name in ESTIMATORS
            ),
            Command("Keys", self.show_keys, ("F1",), "Help"),
            Command("Quit", self.close, ("Ctrl+Q",), "Session"),
        )

    # -- intents -------------------------------------------------------------------------------------------------------

    def open_path(self, path: str) -> None:
        """Open the transcript at a path."""
        self.opener.open(path)

    def reopen_path(self, path: str, following: Following) -> None:
        """Open a transcript again, and follow it if `following` says so."""
        if following:
            self.follow_path(path)
        else:
            self.open_path(path)

    def open_sample(self) -> None:
        """Open the session that ships with the program."""
        self.open_path(str(sample_path()))

    def choose_file(self) -> None:
        """Ask for a transcript and open it."""
        path = ask_file(self, self.settings)
        if path:
            self.open_path(path)

    def follow_session(self) -> None:
        """Start or stop following the open transcript while an agent writes it."""
        self.follow.toggle("file")

    def follow_project(self) -> None:
        """Start or stop following the newest session of the folder in which the agent of the open session worked."""
        self.follow.toggle("project")

    def follow_path(self, path: str) -> None:
        """Open a transcript that is being written, and follow it."""
        self.opener.cancel()
        self.settings.remember(path)
        self.follow.begin(path)

    def choose_window(self) -> None:
        """Ask the user for the size of the context window in tokens."""
        tokens = ask_window(self, self.workbench.state.window)
        if tokens:
            self.workbench.set_window(tokens)

    def close_session(self) -> None:
        """Close the session and return to the welcome page."""
        self.opener.cancel()
        self.workbench.close()
        self.welcome.refresh()

    def open_palette(self, text: str = "") -> None:
        """Open the command palette with `text` already typed."""
        self.palette_box.open(text if isinstance(text, str) else "")

    def ask_panel(self, title: str, text: str = "", bring: bool = True) -> None:
        """Pass a command to a panel if a session is open.

        Args:
            title: Title of the panel.
            text: The text that the user typed for the command.
            bring: Bring the panel to the front first.
        """
        if self.workbench.state.session is not None:
            if bring:
                self.docks.bring(title)
            self.docks.panel(title).take(text)

    def step_in(self, title: str, rows: int, bring: bool = False) -> None:
        """Move the selection in a panel by `rows` messages, marks or changes; negative moves backwards."""
        if self.workbench.state.session is not None:
            if bring:
                self.docks.bring(title)
            self.docks.panel(title).step(rows)

    def step_hit(self, by: int) -> None:
        """Go to the next search hit (`by` 1) or the previous one (-1), and show it in Search, Buffer and Message."""
        if self.workbench.state.session is not None:
            self.docks.panel("Search").step(by)
            if self.docks.current.name == self.docks.home("Search"):
                self.docks.bring_in_front(("Buffer", "Message"), self.docks.maximised)

    def seek_message(self, kind: str, by: int) -> None:
        """Go to the next message of a kind in the buffer (`by` 1), or to the previous one (-1)."""
        if self.workbench.state.session is not None:
            self.docks.panel("Buffer").seek(kind, by)

    def next_compaction(self) -> None:
        """Go to the next recorded compaction; after the last one to the first."""
        self._say_if_none(self.workbench.next_compaction())

    def previous_compaction(self) -> None:
        """Go to the previous recorded compaction; before the first one to the last."""
        self._say_if_none(self.workbench.previous_compaction())

    def _say_if_none(self, has_compactions: bool) -> None:
        if not has_compactions and self.workbench.state.session is not None:
            self.notice.say("This conversation has no compaction.")

    def show_keys(self) -> None:
        """Show the list of keyboard shortcuts."""
        KeyList(self, self.commands).exec()

    def _first_size(self) -> QSize:
        """Return the size of a new window: most of the screen, at most 1440 x 900 pixels."""
        room = self.screen().availableGeometry()
        return QSize(min(1440, room.width()), min(900, room.height()))

    def choose_workspace(self, name: str) -> None:
        """Show the workspace if a session is open."""
        if self.workbench.state.session is not None:
            self.docks.choose_soon(name)

    def show_panel(self, title: str) -> None:
        """Bring the panel to the front if a session is open."""
        if self.workbench.state.session is not None:
            self.docks.bring(title)

    def _offer_sessions(self, tries: int = 40) -> None:
        """Bring the list of sessions of the open file to the front; try again while the panels are still being laid
        out."""
        panel = self.docks.panels.get("Sessions")
        if panel is None or not panel.seen:
            self.show_panel("Sessions")
            if tries:
                QTimer.singleShot(50, self, lambda: self._offer_sessions(tries - 1))

    def tell_trouble(self, sentence: str, report: str) -> None:
        """Report a bug, with a button that copies a report for the developers."""
        self.notice.say(
            sentence, "Copy a report", lambda: QGuiApplication.clipboard().setText(report)
        )

    # -- Qt ------------------------------------------------------------------------------------------------------------

    def focusNextPrevChild(self, is_forward: bool) -> bool:
        """Move the focus on Tab and Shift+Tab. Qt also calls this when the focused widget is hidden or disabled."""
        focus = self.focusWidget()
        if focus is not None and not (focus.isVisible() and focus.isEnabled()):
            place_beside(self, focus).setFocus()
            return True
        stop = next_stop(self, focus, is_forward)
        if stop is not None:
            stop.setFocus(
                Qt.FocusReason.TabFocusReason if is_forward else Qt.FocusReason.BacktabFocusReason
            )
        return stop is not None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle an Escape that no widget handled: restore a maximised panel, leave a page, or close the drawers."""
        if event.key() == Qt.Key.Key_Escape and self.docks.maximised:
            self.docks.restore_all()
        elif event.key() == Qt.Key.Key_Escape and self.docks.is_page:
            self.docks.leave_page()
        elif event.key() == Qt.Key.Key_Escape and self.docks.close_drawers():
            return
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the palette, because its position would be wrong after a resize."""
        super().resizeEvent(event)
        self.palette_box.hide()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Store the layout and stop the jobs.

        If a run is active or the proxy holds requests, the user is asked first. The run is then stopped, and the held
        requests are forwarded and answered.
        """
        if not (self.runs.may_close(self.close) and self.proxies.may_close(self.close)):
            event.ignore()
            return
        self.runs.controller.close()
        self.proxies.close()
        self.settings.keep_data("geometry", self.saveGeometry())
        self.docks.keep(self.settings)
        self.bridge.close()
        super().closeEvent(event)


def _panels() -> Sequence[tuple[str, Place, type[Panel]]]:
    """Return the list of panels. Its module imports most of the program, so it is imported after the first paint."""
    from inspector.gui.panels.catalogue import PANELS

    return PANELS


def _user_windows() -> Mapping[str, int]:
    """Return the context window sizes in tokens that the user configured, by model."""
    from inspector.extensions.windows import user_windows

    return user_windows()
