"""The bar at the top: open, which thread, which estimator, which window, and the box that finds everything."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QPushButton, QToolButton

from inspector.core.session import Thread
from inspector.core.tokens.catalogue import USUAL_WINDOWS
from inspector.core.tokens.estimators import ESTIMATORS
from inspector.core.tokens.windows import model_at
from inspector.gui.commands import Command
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import grouped, plural
from inspector.workbench.state.state import State
from inspector.workbench.workbench import Workbench

LIVE = ("Run a live demo", "Run an agent…", "Run from here…", "Resume this run", "Watch an agent…")
"""Commands by which something begins that is looked at while it runs."""
TITLE_WIDTH = 48
"""Characters of a sub-agent's title in the menu."""


class TopBar(QFrame):
    """Shows the State's choices; what is chosen goes to the workbench."""

    def __init__(
        self,
        workbench: Workbench,
        open_file: Callable[[], None],
        find: Callable[[], None],
        ask_window: Callable[[], None],
        follow: Callable[[], None],
        commands: Callable[[], Sequence[Command]],
    ) -> None:
        super().__init__()
        self.setObjectName("TopBar")
        self._workbench, self._ask_window, self._commands = workbench, ask_window, commands
        self.opener = QPushButton("Open…")
        self.opener.clicked.connect(open_file)
        self.follow = QPushButton("Follow")
        self.follow.setCheckable(True)
        self.follow.setToolTip(tip("Show every new request while the agent writes this transcript"))
        self.follow.clicked.connect(follow)
        self.live = _drop_down("Run or watch an agent", self._fill_live)
        self.live.setText("Live ▾")
        self.agent = _drop_down("Which agent's requests", self._fill_threads)
        self.estimator = _drop_down("Which estimator", self._fill_estimators)
        self.limit = _drop_down("How large the window is", self._fill_windows)
        self.box = QPushButton("Search, or type > for a command      Ctrl+K")
        self.box.setAccessibleName("Search or run a command")
        self.box.setProperty("role", "field")
        self.box.clicked.connect(find)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 7, 12, 7)
        row.setSpacing(8)
        row.addWidget(self.opener)
        row.addWidget(self.live)
        row.addWidget(self.follow)
        row.addSpacing(14)
        for button in (self.agent, self.estimator, self.limit):
            row.addWidget(button)
        row.addStretch()
        row.addWidget(self.box)

    def show_state(self, state: State) -> None:
        """The chosen ones as the buttons' words."""
        thread = state.thread
        for button in (self.agent, self.estimator, self.limit):
            button.setVisible(thread is not None)
        self.follow.setVisible(state.session is not None and bool(state.session.path))
        self.follow.setChecked(bool(state.following))
        self.follow.setText("Following" if state.following else "Follow")
        self.follow.setEnabled(state.opening is None)
        if thread is None:
            return
        self.agent.setText(f"{_cut(_name(thread), 26)} ▾")
        self.agent.setToolTip(tip(f"{_name(thread)}\n{plural(len(thread.requests), 'request')}"))
        self.estimator.setText(f"{state.estimator} ▾")
        window, model = state.window, model_at(thread, state.at) or "model unknown"
        tokens = grouped(window.tokens) if window and window.tokens else "window"
        source = window.source if window else "unknown"
        self.limit.setText(f"{_cut(model, 30)} · {tokens} {source} ▾")
        told = (model, window.basis, *window.warnings) if window else (model,)
        self.limit.setToolTip(tip("\n".join(filter(None, told))))

    # -- menus ---------------------------------------------------------------------------------------------------------

    def _fill_live(self, menu: QMenu) -> None:
        for command in self._commands():
            if command.words in LIVE:  # behind the tab its key is shown, which the window hears
                menu.addAction(f"{command.words}\t{command.shown_keys}").triggered.connect(command.run)

    def _fill_threads(self, menu: QMenu) -> None:
        state = self._workbench.state
        threads: Iterable[Thread] = state.session.threads if state.session else ()
        chosen = state.thread
        for thread in threads:
            words = f"{_cut(_name(thread), TITLE_WIDTH)}    {plural(len(thread.requests), 'request')}"
            _add(menu, words, thread is chosen, partial(self._workbench.choose_thread, thread.id))

    def _fill_estimators(self, menu: QMenu) -> None:
        for name in ESTIMATORS:
            _add(menu, name, name == self._workbench.state.estimator, partial(self._workbench.set_estimator, name))

    def _fill_windows(self, menu: QMenu) -> None:
        state = self._workbench.state
        found = state.window.source if state.window and state.window.source != "user" else ""
        words = (
            f"As found ({grouped(state.window.tokens)}, {found})"
            if found and state.window and state.window.tokens
            else "As found"
        )
        _add(menu, words, state.user_window is None, partial(self._workbench.set_window, None))
        menu.addSeparator()
        sizes: Sequence[int] = sorted({*USUAL_WINDOWS, *((state.user_window,) if state.user_window else ())})
        for size in sizes:
            _add(menu, grouped(size), size == state.user_window, partial(self._workbench.set_window, size))
        menu.addSeparator()
        menu.addAction("Other…").triggered.connect(self._ask_window)


def _name(thread: Thread) -> str:
    return f"{thread.id}: {thread.title}" if thread.title and thread.id != "main" else thread.id


def _cut(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _add(menu: QMenu, words: str, checked: bool, chosen: Callable[[], None]) -> None:
    action = menu.addAction(words.replace("&", "&&"))
    action.setCheckable(True)
    action.setChecked(checked)
    action.triggered.connect(lambda _: chosen())


def _drop_down(name: str, fill: Callable[[QMenu], None]) -> QToolButton:
    """A button whose menu is filled when it is opened."""
    button = QToolButton()
    button.setAccessibleName(name)
    button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    menu = QMenu(button)

    def refill() -> None:
        menu.clear()
        fill(menu)

    menu.aboutToShow.connect(refill)
    button.setMenu(menu)
    return button
