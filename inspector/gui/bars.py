"""The window's bars: the top bar with controls to open, choose and search, the notice below it, and the status bar."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QMargins, QSignalBlocker, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QTabBar, QToolButton

from inspector.core.session import BEGINS_LATE, Session, Thread, compaction_count
from inspector.core.tokens.catalogue import USUAL_WINDOWS
from inspector.core.tokens.windows import model_at
from inspector.core.words import plural, sentence_case
from inspector.extensions.policies import offered_policies
from inspector.gui.commands import Command
from inspector.gui.guard import Guarded
from inspector.gui.look.build import (
    button,
    checked_action,
    delayed,
    mark,
    menu_button,
    row,
    small_button,
)
from inspector.gui.look.glossary import explain
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import BAND, CONTROL_GAP, GAP, LINE_GAP, PAGE_HEAD, STRIP
from inspector.gui.widgets.small import ProgressBar
from inspector.gui.work_notice import WorkNotice
from inspector.gui.workspace import WORKSPACES
from inspector.workbench.pressure.scale import policy_title
from inspector.workbench.state import Following, OpeningProgress, State
from inspector.workbench.workbench import Workbench

LIVE = (
    "Run a live demo", "Run an agent…", "Run from here…", "Resume this run", "Watch an agent…",
    "Receive the spans of a traced agent",
)  # fmt: skip
"""Commands in the Run menu: each starts something that the window shows while it runs."""
_DATE = re.compile(r"-\d{8}$")
"""Pattern of the date at the end of a model's name, which the bar leaves out."""
TITLE_WIDTH = 48
"""Maximum number of characters of a sub-agent's title in the menu."""


_FOLLOWING: Mapping[Following, str] = {
    "": "",
    "file": "following · ",
    "project": "following the newest session of this project · ",
}


class TopBar(Guarded, QFrame):
    """The bar at the top: shows the choices in the State and passes new choices to the workbench."""

    def __init__(
        self,
        workbench: Workbench,
        open_file: Callable[[], None],
        find: Callable[[], None],
        ask_window: Callable[[], None],
        follow: Callable[[], None],
        choose_workspace: Callable[[str], None],
        commands: Callable[[], Sequence[Command]],
        open_policy: Callable[[], None],
    ) -> None:
        super().__init__()
        self.setObjectName("TopBar")
        self._workbench = workbench
        self._ask_window = ask_window
        self._commands = commands
        self._open_policy = open_policy
        self._limits: Sequence[str] = ("",)
        self.back = small_button("←", about="Go back (Alt+Left)", name="Back")
        self.forward = small_button("→", about="Go forward (Alt+Right)", name="Forward")
        self.show_history(has_back=False, has_forward=False)
        self.opener = button("Open…", open_file)
        about = "Show every new request while the agent writes this transcript"
        self.follow = button("Follow", follow, about=about, checkable=True)
        self.live = _drop_down("Run ▾", "Run or watch an agent", self._fill_live)
        self.workspaces = WorkspaceTabs(choose_workspace)
        self.agent = _drop_down("", "Agent whose requests are shown", self._fill_threads)
        self.policy = _drop_down("", "Policy whose tiers are shown", self._fill_policies)
        self.policy.setToolTip(tip(explain("policy")))
        self.limit = _drop_down("", "Context window in tokens", self._fill_windows)
        self.box = button(
            "Search    Ctrl+K", find, role="field", about="Search, or type > for a command"
        )
        self.box.setAccessibleName("Search or run a command")
        self._row = self._lay_out()

    def _lay_out(self) -> QHBoxLayout:
        history = row(self.back, self.forward, gap=LINE_GAP)
        opening = (self.opener, self.live, self.follow)
        choices = (self.agent, self.policy, self.limit)
        left = (history, *opening, 8, self.workspaces, 8, *choices)
        return row(*left, ..., self.box, of=self, margins=PAGE_HEAD, gap=CONTROL_GAP)

    def show_state(self, state: State) -> None:
        """Show the chosen agent, policy and context window on their buttons."""
        thread = state.thread
        self.workspaces.show_waiting(state.waits)
        for choice in (self.workspaces, self.agent, self.policy, self.limit):
            choice.setVisible(thread is not None)
        self.follow.setVisible(state.session is not None and bool(state.session.path))
        self.follow.setChecked(bool(state.following))
        self.follow.setText("Following" if state.following else "Follow")
        self.follow.setEnabled(state.opening is None)
        if thread is None:
            return
        self.agent.setText(f"{_cut(_name(thread), 18)} ▾")
        self.agent.setToolTip(tip(f"{_name(thread)}\n{plural(len(thread.requests), 'request')}"))
        window = state.window
        model = model_at(thread, state.at) or "model unknown"
        tokens = grouped(window.tokens) if window and window.tokens else "window"
        source = window.source if window else "unknown"
        name = _cut(_DATE.sub("", model), 30)
        self._limits = (
            f"{name} · {tokens} {source} ▾",
            f"{name} · {tokens} ▾",
            f"{tokens} {source} ▾",
            f"{tokens} ▾",
        )
        self._fit()
        notes = (model, window.basis, *window.warnings) if window else (model,)
        self.limit.setToolTip(tip("\n".join(filter(None, notes))))

    def show_history(self, has_back: bool, has_forward: bool) -> None:
        """Enable each button if the history has a place in its direction."""
        self.back.setEnabled(has_back)
        self.forward.setEnabled(has_forward)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Shorten the labels until the row fits, in a fixed order.

        The context window's label loses words first, then the policy keeps only its name, then the search box only its
        key. At last widgets are hidden whose commands the palette offers as well.
        """
        state = self._workbench.state
        has_thread = state.thread is not None
        for choice in (self.agent, self.policy, self.limit):
            choice.setVisible(has_thread)
        self.box.setText("Search    Ctrl+K")
        title = policy_title(state)
        self.policy.setText(f"Policy: {title} ▾")
        limit_steps = [partial(self.limit.setText, words) for words in self._limits]
        steps: list[Callable[[], object]] = [
            *limit_steps[:2],
            partial(self.policy.setText, f"{title} ▾"),
            *limit_steps[2:],
            partial(self.box.setText, "Ctrl+K"),
            self.agent.hide,
            self.live.hide,
            self.box.hide,
            self.policy.hide,
        ]
        self.live.show()
        self.box.show()
        for step in steps:
            step()
            self._row.invalidate()
            if self._row.sizeHint().width() <= self.width():
                return

    # -- menus ---------------------------------------------------------------------------------------------------------

    def _fill_live(self, menu: QMenu) -> None:
        for command in self._commands():
            # The text after the tab is only shown; the window handles the key.
            if command.words in LIVE:
                menu.addAction(f"{command.words}\t{command.shown_keys}").triggered.connect(
                    command.run
                )

    def _fill_threads(self, menu: QMenu) -> None:
        state = self._workbench.state
        threads: Iterable[Thread] = state.session.threads if state.session else ()
        chosen = state.thread
        for thread in threads:
            words = (
                f"{_cut(_name(thread), TITLE_WIDTH)}    {plural(len(thread.requests), 'request')}"
            )
            _add(menu, words, thread is chosen, partial(self._workbench.choose_thread, thread.id))

    def _fill_policies(self, menu: QMenu) -> None:
        bench = self._workbench
        chosen = bench.state.choices.policy
        for name, title in offered_policies(chosen).items():
            _add(menu, title, name == chosen, partial(bench.stepping.choose, policy=name))
        menu.addSeparator()
        menu.addAction("Open a policy file…").triggered.connect(self._open_policy)

    def _fill_windows(self, menu: QMenu) -> None:
        state = self._workbench.state
        origin = state.window.source if state.window and state.window.source != "user" else ""
        words = "Detected"
        if origin and state.window and state.window.tokens:
            words = f"Detected ({grouped(state.window.tokens)}, {origin})"
        _add(menu, words, state.user_window is None, partial(self._workbench.set_window, None))
        menu.addSeparator()
        sizes: Sequence[int] = sorted(
            {*USUAL_WINDOWS, *((state.user_window,) if state.user_window else ())}
        )
        for size in sizes:
            _add(
                menu,
                grouped(size),
                size == state.user_window,
                partial(self._workbench.set_window, size),
            )
        menu.addSeparator()
        menu.addAction("Other…").triggered.connect(self._ask_window)


class WorkspaceTabs(Guarded, QTabBar):
    """Tabs with the names of the workspaces. The tab of the current workspace is marked."""

    def __init__(self, choose: Callable[[str], None]) -> None:
        super().__init__()
        self.setObjectName("WorkspaceTabs")
        self.setAccessibleName("Workspaces")
        self.setExpanding(False)
        self.setDrawBase(False)
        self.setUsesScrollButtons(False)
        for index, name in enumerate(WORKSPACES):
            self.setTabToolTip(self.addTab(name), f"Ctrl+{index + 1}")
        self.currentChanged.connect(lambda at: choose(WORKSPACES[at]))
        self._choose = choose
        self.tabBarClicked.connect(self._choose_shown)

    def _choose_shown(self, at: int) -> None:
        """Return from a page to its workspace if the user clicks the tab that is already marked."""
        if at == self.currentIndex():
            self._choose(WORKSPACES[at])

    def sizeHint(self) -> QSize:
        """Return a size that is wide enough for all names, whichever of them is bold."""
        return super().sizeHint().grownBy(QMargins(0, 0, 8, 0))

    def minimumSizeHint(self) -> QSize:
        """Return the preferred size, because a narrower widget would cut names off."""
        return self.sizeHint()

    def show_name(self, name: str) -> None:
        """Show the name of a workspace as the current one."""
        with QSignalBlocker(self):  # a page stays although its workspace's tab is marked
            self.setCurrentIndex(WORKSPACES.index(name))

    def show_waiting(self, waits: bool) -> None:
        """Mark the Live tab with a dot if something in it waits for the user."""
        self.setTabText(WORKSPACES.index("Live"), "Live ●" if waits else "Live")


class Notice(QFrame):
    """The bar below the top bar: shows a failure as one sentence, or the progress of opening a transcript."""

    def __init__(
        self, theme: Theme, cancel: Callable[[], None], dismiss: Callable[[], None]
    ) -> None:
        super().__init__()
        self.setObjectName("Notice")
        self._cancel = cancel
        self._dismiss = dismiss
        self._said = ""
        self.words = label(wrap=True)
        self.bar = ProgressBar(theme)
        self.button = button("Cancel", self._cancel_or_dismiss)
        self._then: Callable[[], None] = dismiss
        self.more = button("", lambda: self._then())
        row(
            (self.words, 1),
            (self.bar, 1),
            self.more,
            self.button,
            of=self,
            margins=BAND,
            gap=GAP,
        )
        self._opening: OpeningProgress | None = None
        self._note = ""
        self._fade = delayed(self, NOTE_MS, self._cancel_or_dismiss)
        self.hide()

    def show_state(self, state: State) -> None:
        """Show the progress of opening; without one the failure; without one the note; otherwise hide the bar."""
        self._opening = state.opening
        if state.opening is not None:
            self._show_opening(state.opening)
        elif state.failure:
            self._said = state.failure
            self.more.hide()
            self._show_words(state.failure, bad=True)
        elif state.note:
            self._show_note(state.note)
        elif self._note or not self._said or self.button.text() == "Cancel":
            self._forget()

    def _show_note(self, note: str) -> None:
        """Show a sentence that reports no failure, and hide it after NOTE_MS."""
        if note != self._note:
            self.more.hide()
            self._show_words(note, bad=False)
            self._note = note
            self._fade.start()

    def _forget(self) -> None:
        self._said = self._note = ""
        self._fade.stop()
        self.hide()

    def say(self, sentence: str, more: str = "", then: Callable[[], None] | None = None) -> None:
        """Show a sentence as a failure, with a second button `more` that calls `then` if there is something to do."""
        self._said = sentence
        self.more.setText(more)
        self.more.setVisible(bool(more))
        self._then = then or self._dismiss
        self._show_words(sentence, bad=True)

    def _show_opening(self, opening: OpeningProgress) -> None:
        share = ""
        if opening.total > 2_000_000:
            share = f" · {opening.done / 1e6:,.0f} of {opening.total / 1e6:,.0f} MB"
        self.words.setText(f"Reading {Path(opening.path).name}{share}")
        self.bar.show_share(opening.done / opening.total if opening.total else None)
        self.bar.show()
        self.more.hide()
        self.button.setText("Cancel")
        mark(self, "bad", value=False)
        self.show()

    def _show_words(self, sentence: str, bad: bool) -> None:
        self.words.setText(sentence_case(sentence))
        self._note = ""
        self._fade.stop()
        self.bar.hide()
        self.button.setText("Dismiss")
        mark(self, "bad", bad)
        self.show()

    def _cancel_or_dismiss(self) -> None:
        if self._opening is not None:
            self._cancel()
            return
        self._forget()
        self._dismiss()


LATE_MS = 700
"""Milliseconds that the window must be behind the file before the status bar reports it."""
NOTE_MS = 15_000
"""Milliseconds after which a note disappears, unless it reports a failure."""
KEYS = f"← → request   ↑ ↓ message   Alt+← back   Ctrl+1…{len(WORKSPACES)} workspace   F11 whole panel   F1 keys"


class StatusStrip(Guarded, QFrame):
    """The status bar at the bottom: counts of the open file, its problems, current work and the most useful keys."""

    def __init__(self, show_problems: Callable[[], None], work: WorkNotice) -> None:
        """Create the bar; `work` is the notice that names the job in progress."""
        super().__init__()
        self.setObjectName("StatusStrip")
        self._work = work
        work.changed.connect(self._fit)
        self.words = label("Nothing open")
        self.problems = button("", show_problems, role="flat")
        self.keys = label(KEYS)
        parts = (self.words, self.problems, ..., work, self.keys)
        self._row = row(*parts, of=self, margins=STRIP)
        self._shown: tuple[Session | None, Thread | None, Following, int] = (None, None, "", 0)
        self._state = State()
        self._late = delayed(self, LATE_MS, self._show)
        self.problems.hide()

    def sizeHint(self) -> QSize:
        """Return a size as high as with all parts shown: a part that appears must not move the whole window."""
        margins = self.contentsMargins()
        inner = self._row.contentsMargins()
        around = margins.top() + margins.bottom() + inner.top() + inner.bottom()
        parts = (self.words, self.problems, self._work)
        height = around + max(part.sizeHint().height() for part in parts)
        return QSize(super().sizeHint().width(), height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the keys if there is no room for them beside the other texts."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        problems = 0 if self.problems.isHidden() else self.problems.sizeHint().width()
        beside = problems + 60
        if not self._work.isHidden():
            beside += self._work.sizeHint().width()
        words = self.words.sizeHint().width()
        self.words.setVisible(self.width() > words + beside)
        self.keys.setVisible(self.width() > words + beside + self.keys.sizeHint().width())

    def show_state(self, state: State) -> None:
        """Show the counts of the current thread, and after LATE_MS how many requests the window is behind."""
        was_behind = self._shown[3] > 0 or self._late.isActive()
        self._state = state
        if not state.behind:
            self._late.stop()
        elif not was_behind:
            self._late.start()
        self._show()

    def _show(self) -> None:
        """Update the texts if the session, the thread, the kind of following or the lag changed."""
        session = self._state.session
        thread = self._state.thread
        following = self._state.following
        behind = 0 if self._late.isActive() else self._state.behind
        is_same = session is self._shown[0]
        is_same = is_same and thread is self._shown[1]
        is_same = is_same and (following, behind) == self._shown[2:]
        if is_same:
            return
        self._shown = (session, thread, following, behind)
        self.problems.setVisible(bool(session and session.problems))
        if session is None:
            self.words.setText("Nothing open")
            return
        late = f"{plural(behind, 'request')} behind · " if behind else ""
        self.words.setText(f"{_FOLLOWING[following]}{late}{session_counts(session, thread)}")
        self.words.setToolTip(tip(BEGINS_LATE if session.begins_late else ""))
        self.problems.setText(plural(len(session.problems), "problem"))
        self._fit()


def _name(thread: Thread) -> str:
    return f"{thread.id}: {thread.title}" if thread.title and thread.id != "main" else thread.id


def _cut(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _add(menu: QMenu, words: str, checked: bool, chosen: Callable[[], None]) -> None:
    checked_action(menu, words, checked).triggered.connect(lambda _: chosen())


def _drop_down(text: str, name: str, fill: Callable[[QMenu], None]) -> QToolButton:
    return menu_button(text, fill, name=name, role="", anew=True)


def session_counts(session: Session, thread: Thread | None = None) -> str:
    """Return the status bar's text about a session: counts of `thread`, or of the main thread by default."""
    thread = thread or session.main
    words = [
        session.client or session.format,
        plural(len(thread.messages), "message"),
        plural(len(thread.requests), "request"),
        plural(compaction_count(thread), "compaction"),
    ]
    words += ["the file begins in the middle"] if session.begins_late else []
    if len(session.threads) > 1:
        name = "main thread"
        if thread.id != session.main.id:
            name = f"thread {_cut(_name(thread), 40)}"
        words[1] = f"{name}: {words[1]}"
    agents = sum(1 for thread in session.threads[1:] if thread.parent)
    others = len(session.threads[1:]) - agents
    words += [plural(agents, "sub-agent")] if agents else []
    words += [plural(others, "other conversation")] if others else []  # several agents at one proxy
    return " · ".join(words)
