"""The model's window at each request of the open thread, looked up once and then cached.

The window that the user set comes first, then the user's own table, then the file and the catalogue.
"""

from collections.abc import Mapping
from typing import TypeAlias

from inspector.core.session import Thread
from inspector.core.tokens.windows import Window, find_window, model_at
from inspector.workbench.state import State

_WindowKey: TypeAlias = tuple[int | None, str, int | None]
"""The window that the user set, the model that answers, and the window that the file records for the request."""


class WindowCache:
    """Caches the windows of one thread. Cleared when the thread or the user's table changes."""

    def __init__(self) -> None:
        self._thread: Thread | None = None
        self._recorded: list[int | None] = []
        self._table: Mapping[str, int] = {}
        self._found: dict[_WindowKey, Window] = {}

    def use(self, table: Mapping[str, int]) -> None:
        """Use the user's own table of windows by model, in tokens."""
        self._table = table
        self._found.clear()

    def known(self, state: State) -> Window | None:
        """Return the window at the state's current request; None if it has to be looked up. O(1) for a known thread."""
        if state.thread is None:
            return None
        key = self._key(state)
        if key not in self._found and state.user_window is not None:
            self._found[key] = self.find(state)  # the user's own window needs no catalogue
        return self._found.get(key)

    def find(self, state: State) -> Window:
        """Look up the window. O(requests), and half a second for the catalogue the first time."""
        assert state.session is not None
        assert state.thread is not None
        return find_window(state.session, state.thread, state.at, state.user_window, self._table)

    def keep(self, state: State, window: Window) -> None:
        """Cache the window that was looked up for `state`."""
        self._found[self._key(state)] = window

    def _key(self, state: State) -> _WindowKey:
        thread = state.thread
        assert thread is not None
        if thread is not self._thread:
            self._thread = thread
            self._recorded = _recorded_windows(thread)
            self._found.clear()
        request = len(thread.requests) - 1 if state.at is None else state.at
        recorded = self._recorded[request] if 0 <= request < len(self._recorded) else None
        return state.user_window, model_at(thread, state.at), recorded


def _recorded_windows(thread: Thread) -> list[int | None]:
    """Return the window that the file records for each request, or else for the nearest earlier or later request."""
    recorded = [request.window for request in thread.requests]
    last = next((window for window in recorded if window), None)
    return [last := window or last for window in recorded] if last else []
