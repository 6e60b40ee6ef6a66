"""The window of the model at each place of the open thread: looked for once, then known.

The user's word comes first, then the user's own table, then what the file and the catalogue say.
"""

from collections.abc import Mapping
from typing import TypeAlias

from inspector.core.session import Thread
from inspector.core.tokens.windows import Window, find_window, model_at
from inspector.workbench.state import State

_WindowKey: TypeAlias = tuple[int | None, str, int | None]
"""The user's word, the model that answers, the window that the file records here."""


class WindowCache:
    """Windows of one thread. Cleared when the thread or the user's table changes."""

    def __init__(self) -> None:
        self._thread: Thread | None = None
        self._recorded: list[int | None] = []
        self._table: Mapping[str, int] = {}
        self._found: dict[_WindowKey, Window] = {}

    def use(self, table: Mapping[str, int]) -> None:
        """The user's own table, by model."""
        self._table = table
        self._found.clear()

    def known(self, state: State) -> Window | None:
        """The window where we stand, None where it must be looked for. O(1) but for a new thread or a new word."""
        if state.thread is None:
            return None
        key = self._key(state)
        if key not in self._found and state.user_window is not None:
            self._found[key] = self.find(state)  # their word needs no catalogue
        return self._found.get(key)

    def find(self, state: State) -> Window:
        """Look for it. O(requests), and half a second for the catalogue the first time."""
        assert state.session is not None
        assert state.thread is not None
        return find_window(state.session, state.thread, state.at, state.user_window, self._table)

    def keep(self, state: State, window: Window) -> None:
        """That was found for where `state` stands."""
        self._found[self._key(state)] = window

    def _key(self, state: State) -> _WindowKey:
        thread = state.thread
        assert thread is not None
        if thread is not self._thread:
            self._thread, self._recorded = thread, _recorded_windows(thread)
            self._found.clear()
        at = len(thread.requests) - 1 if state.at is None else state.at
        recorded = self._recorded[at] if 0 <= at < len(self._recorded) else None
        return state.user_window, model_at(thread, state.at), recorded


def _recorded_windows(thread: Thread) -> list[int | None]:
    """Return for each request the window that the file records for it, or for the nearest one before, else after."""
    recorded = [request.window for request in thread.requests]
    last = next((window for window in recorded if window), None)
    return [last := window or last for window in recorded] if last else []
