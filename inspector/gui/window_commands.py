"""Commands of the window that navigate or change the view, and the commands offered for a typed text."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from inspector.core.untyped import digits_of
from inspector.gui.commands import Command
from inspector.gui.docks import Docks, layout_commands
from inspector.gui.history import History
from inspector.gui.look.theme import Theme
from inspector.gui.panels.tiers.commands import tier_offers
from inspector.gui.settings import Settings
from inspector.workbench.workbench import Workbench

_SOUGHT = (
    ("Errors", "error", "F8"),
    ("Edits", "edit of a file", "P"),
    ("User", "message of the user", "U"),
)
"""Kinds of messages, their names, and the key that moves to the next message of the kind."""
_MOST_OFFERS = 8


class CommandTarget(Protocol):
    """The parts of the window that the commands use."""

    workbench: Workbench
    theme: Theme
    settings: Settings
    history: History
    docks: Docks

    def open_path(self, path: str) -> None: ...
    def choose_workspace(self, name: str) -> None: ...
    def ask_panel(self, title: str, text: str = "") -> None: ...
    def step_in(self, title: str, rows: int, bring: bool = False) -> None: ...
    def step_hit(self, by: int) -> None: ...
    def seek_message(self, kind: str, by: int) -> None: ...
    def next_compaction(self) -> None: ...
    def previous_compaction(self) -> None: ...


def walk_commands(window: CommandTarget) -> tuple[Command, ...]:
    """Return the commands that navigate: to requests, compactions, marks, messages, hits and changes."""
    bench = window.workbench
    history = window.history
    step = window.step_in
    return (
        Command("Go back", history.go_back, ("Alt+Left",), "Navigate"),
        Command("Go forward", history.go_forward, ("Alt+Right",), "Navigate"),
        _walk("Next request", bench.next, "Right", "Alt+PgDown"),
        _walk("Previous request", bench.previous, "Left", "Alt+PgUp"),
        _walk("First request", bench.first, "Home", "Alt+Home"),
        _walk("Last request", bench.last, "End", "Alt+End"),
        _walk("The buffer after the last record", partial(bench.move, None), "Ctrl+End"),
        _walk("Next recorded compaction", window.next_compaction, "C"),
        _walk("Previous recorded compaction", window.previous_compaction, "Shift+C"),
        _walk("Next mark of the timeline", partial(step, "Timeline", 1), "M"),
        _walk("Previous mark of the timeline", partial(step, "Timeline", -1), "Shift+M"),
        _walk("Message below", partial(step, "Buffer", 1), "Down", "J"),
        _walk("Message above", partial(step, "Buffer", -1), "Up", "K"),
        *_seek_commands(window),
        Command("Next search hit", partial(window.step_hit, 1), ("F3",), "Find"),
        Command("Previous search hit", partial(window.step_hit, -1), ("Shift+F3",), "Find"),
        *_change_commands(window),
    )


def _walk(words: str, run: Callable[[], object], *keys: str) -> Command:
    return Command(words, run, keys, "Navigate", typed=True)


def _seek_commands(window: CommandTarget) -> Iterator[Command]:
    for kind, what, key in _SOUGHT:
        yield _walk(f"Next {what}", partial(window.seek_message, kind, 1), key)
        yield _walk(f"Previous {what}", partial(window.seek_message, kind, -1), f"Shift+{key}")


def _change_commands(window: CommandTarget) -> Iterator[Command]:
    changes = (("Next", 1, "F7"), ("Previous", -1, "Shift+F7"))
    for word, rows, key in changes:
        run = partial(window.step_in, "Diff", rows, bring=True)
        yield Command(f"{word} change of the diff", run, (key,), "Navigate")


def view_commands(window: CommandTarget) -> tuple[Command, ...]:
    """Return the commands that change theme, letter size, workspace and panels."""
    theme = window.theme
    return (
        Command("Light or dark", theme.toggle, ("Ctrl+T",), "View"),
        Command("High contrast", partial(theme.choose, "contrast"), (), "View"),
        Command("Larger letters", partial(theme.zoom, 1), ("Ctrl++", "Ctrl+="), "View"),
        Command("Smaller letters", partial(theme.zoom, -1), ("Ctrl+-",), "View"),
        Command("Letters in the system's size", partial(theme.zoom, 0), ("Ctrl+0",), "View"),
        Command("The system's theme", partial(theme.choose, "system"), (), "View"),
        *layout_commands(window.docks, window.choose_workspace),
    )


def find_offers(window: CommandTarget, typed: str) -> Sequence[Command]:
    """Return what a typed text may mean besides a command: a request, a search, an agent or a recent transcript."""
    offers = [*_session_offers(window, typed), *_recent_offers(window, typed)]
    return offers[:_MOST_OFFERS]


def _session_offers(window: CommandTarget, typed: str) -> Iterator[Command]:
    bench = window.workbench
    session = bench.state.session
    thread = bench.state.thread
    number = digits_of(typed.removeprefix("request").strip().replace(",", ""))
    if thread is not None and number is not None and number < len(thread.requests):
        yield Command(f"Go to request {number:,}", partial(bench.move, number))
    if session is None:
        return
    search = partial(window.ask_panel, "Search", typed)
    yield Command(f"Search the session for “{typed}”", search)
    yield from tier_offers(bench, typed)
    for other in session.threads[1:]:
        name = f"{other.id} {other.title}".strip()
        if typed.lower() in name.lower():
            yield Command(f"Go to agent {name}", partial(bench.choose_thread, other.id))


def _recent_offers(window: CommandTarget, typed: str) -> Iterator[Command]:
    for path in window.settings.recents():
        name = Path(path).name
        if typed.lower() in name.lower():
            yield Command(f"Open {name}", partial(window.open_path, path))
