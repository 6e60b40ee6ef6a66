"""Every command of the window, and what the palette offers for a typed text."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from PySide6.QtWidgets import QWidget

from inspector.core.tokens.estimators import ESTIMATORS
from inspector.gui.commands import Command
from inspector.gui.desk import Desk
from inspector.gui.edits.manual_edits import edit_commands
from inspector.gui.look.theme import Theme
from inspector.gui.panels.proxy.commands import proxy_commands
from inspector.gui.panels.run.commands import run_commands
from inspector.gui.panels.tiers.commands import stepper_commands, tier_offers
from inspector.gui.proxies.desk import ProxyDesk
from inspector.gui.runs.desk import RunDesk
from inspector.gui.settings import Settings
from inspector.workbench.workbench import Workbench


class Doer(Protocol):
    """What a window can be told to do."""

    workbench: Workbench
    theme: Theme
    settings: Settings
    desk: Desk
    runs: RunDesk
    proxies: ProxyDesk

    def open_path(self, path: str) -> None: ...
    def open_sample(self) -> None: ...
    def choose_file(self) -> None: ...
    def choose_window(self) -> None: ...
    def close_session(self) -> None: ...
    def follow_session(self) -> None: ...
    def follow_project(self) -> None: ...
    def open_palette(self, text: str = "") -> None: ...
    def search(self, text: str) -> None: ...
    def show_panel(self, title: str) -> None: ...
    def fresh_layout(self) -> None: ...
    def step_message(self, rows: int) -> None: ...
    def step_change(self, rows: int) -> None: ...
    def compare_policies(self) -> None: ...
    def filter_messages(self) -> None: ...
    def show_keys(self) -> None: ...
    def close(self) -> bool: ...


def commands(window: Doer, widget: QWidget) -> tuple[Command, ...]:
    """All that have a place of their own, with their keys."""
    bench = window.workbench
    return (
        Command("Open a transcript…", window.choose_file, ("Ctrl+O",), "Session"),
        Command("Open the sample", window.open_sample, (), "Session"),
        Command("Follow the session while it is written", window.follow_session, (), "Session"),
        Command("Follow the newest session of this project", window.follow_project, (), "Session"),
        Command("Close the session", window.close_session, ("Ctrl+W",), "Session"),
        Command("Next request", bench.next, ("Right", "Alt+Right"), "Walk", typed=True),
        Command("Previous request", bench.previous, ("Left", "Alt+Left"), "Walk", typed=True),
        Command("First request", bench.first, ("Home", "Alt+Home"), "Walk", typed=True),
        Command("Last request", bench.last, ("End", "Alt+End"), "Walk", typed=True),
        Command("The buffer after the last record", partial(bench.move, None), ("Ctrl+End",), "Walk", typed=True),
        Command("Next recorded compaction", bench.next_compaction, ("C",), "Walk", typed=True),
        Command("Previous recorded compaction", bench.previous_compaction, ("Shift+C",), "Walk", typed=True),
        Command("Message below", partial(window.step_message, 1), ("Down", "J"), "Walk", typed=True),
        Command("Message above", partial(window.step_message, -1), ("Up", "K"), "Walk", typed=True),
        Command("Next change of the diff", partial(window.step_change, 1), ("F7",), "Walk"),
        Command("Previous change of the diff", partial(window.step_change, -1), ("Shift+F7",), "Walk"),
        *stepper_commands(bench),
        *edit_commands(window.desk, widget),
        *run_commands(window.runs),
        *proxy_commands(window.proxies),
        Command("Compare policies", window.compare_policies, (), "Session"),
        Command("Filter the buffer", window.filter_messages, ("/",), "Find", typed=True),
        Command("Search the session", partial(window.search, ""), ("Ctrl+F",), "Find"),
        Command("Commands…", partial(window.open_palette, ">"), ("Ctrl+Shift+P",), "Find"),
        Command("Search or run a command…", window.open_palette, ("Ctrl+K",), "Find"),
        Command("Set the window…", window.choose_window, (), "Numbers"),
        Command("Light or dark", window.theme.toggle, ("Ctrl+T",), "View"),
        Command("Theme of the system", partial(window.theme.choose, "system"), (), "View"),
        Command("Layout of a new window", window.fresh_layout, (), "View"),
        *(Command(f"Estimate by {name}", partial(bench.set_estimator, name), (), "Numbers") for name in ESTIMATORS),
        Command("Keys", window.show_keys, ("F1",), "Help"),
        Command("Quit", window.close, ("Ctrl+Q",), "Session"),
    )


def panel_commands(window: Doer, titles: Iterable[str]) -> tuple[Command, ...]:
    """One a panel: bring it to the front."""
    return tuple(Command(f"Show {title.lower()}", partial(window.show_panel, title), (), "View") for title in titles)


def offers(window: Doer, typed: str) -> Sequence[Command]:
    """What a typed text may mean besides a command: a request, a search, an agent, a recent transcript."""
    bench, wanted = window.workbench, typed.lower()
    session, thread = bench.state.session, bench.state.thread
    found: list[Command] = []
    number = typed.removeprefix("request").strip().replace(",", "")
    if thread is not None and number.isascii() and number.isdigit() and int(number) < len(thread.requests):
        found.append(Command(f"Go to request {int(number)}", partial(bench.move, int(number))))
    if session is not None:
        found.append(Command(f"Search the session for “{typed}”", partial(window.search, typed)))
        named = [(f"{other.id} {other.title}".strip(), other.id) for other in session.threads[1:]]
        go = bench.choose_thread
        found += tier_offers(bench, typed)
        found += [Command(f"Go to agent {name}", partial(go, key)) for name, key in named if wanted in name.lower()]
    recents = [path for path in window.settings.recents() if wanted in Path(path).name.lower()]
    found += [Command(f"Open {Path(path).name}", partial(window.open_path, path)) for path in recents]
    return found[:8]
