"""The requests that wait, for everybody to look at: the proxy's loop changes it, any thread reads it."""

from collections.abc import Callable
from dataclasses import replace
from threading import RLock
from typing import Any

from inspector.core.errors import InspectorError
from inspector.proxy.holds.hold import Held, Hold
from inspector.proxy.holds.reading import Reading
from inspector.proxy.holds.retries import is_retry

Told = Callable[[tuple[Hold, ...]], None]


class Board:
    """Held requests by id, and who wants to be told of them."""

    def __init__(self) -> None:
        self._held: dict[int, Held] = {}
        self._lock = RLock()
        self._told: list[Told] = []

    def list(self) -> tuple[Hold, ...]:
        """All that wait for a decision, oldest first: what was decided is kept for a client that may ask again."""
        with self._lock:
            return tuple(one.shown for one in self._held.values() if not (one.shown.is_gone and one.decided.done()))

    def find(self, id: int) -> Held:  # noqa: A002
        """Raises InspectorError where it is held no longer."""
        with self._lock:
            held = self._held.get(id)
        if held is None:
            raise InspectorError("That request is held no longer.")
        return held

    def subscribe(self, told: Told) -> Callable[[], None]:
        """Be told of every change, by whoever made it. Returns what ends it."""
        with self._lock:
            self._told.append(told)
        return lambda: self._told.remove(told)

    def tell(self) -> None:
        """Something has changed."""
        shown = self.list()
        for told in tuple(self._told):
            told(shown)

    def put(self, held: Held) -> None:
        """It waits."""
        with self._lock:
            self._held[held.shown.id] = held
        self.tell()

    def take(self, held: Held) -> None:
        """It waits no longer."""
        with self._lock:
            self._held.pop(held.shown.id, None)
        self.tell()

    def show(self, held: Held, **changes: Any) -> None:
        """It is shown otherwise."""
        held.shown = replace(held.shown, **changes)
        self.tell()

    def of_exchange(self, exchange: Any) -> Held | None:
        """The one that waits as this exchange."""
        with self._lock:
            return next((one for one in self._held.values() if one.shown.exchange == exchange), None)

    def same_turn(self, reading: Reading) -> Held | None:
        """The held request of which this is a retry."""
        with self._lock:
            found = [
                one
                for one in self._held.values()
                if one.reading.thread == reading.thread and one.reading.digest == reading.digest
            ]
        return next((one for one in found if is_retry(reading, one.shown.is_gone, reading.headers)), None)
