"""What was worked out of the last few threads: it is asked for at many places of one, and worked out once."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from inspector.core.session import Thread

_KEPT = 8

T = TypeVar("T")


class KnownByThread(Generic[T]):
    """One value by thread and name. The lock is held only while what is known changes: a computation may rest for
    another that asks for the same."""

    def __init__(self) -> None:
        self._changing = Lock()
        self._known: OrderedDict[tuple[int, str], tuple[Thread, T]] = OrderedDict()

    def get(self, thread: Thread, name: str, work_out: Callable[[T | None], T]) -> T:
        """Return what is known; else work it out, from what is known of the same thread when it was shorter."""
        key = id(thread), name
        known = self._known.get(key)
        if known is not None and known[0] is thread:
            return known[1]
        found = work_out(self._known_when_shorter(thread, name))
        with self._changing:
            self._known[key] = thread, found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    def _known_when_shorter(self, thread: Thread, name: str) -> T | None:
        """Return what is known of the thread when it had fewer requests. Forget what is known of another session."""
        with self._changing:
            latest = [(one, key, value) for key, (one, value) in reversed(self._known.items()) if one.id == thread.id]
            began = latest[0][0].requests if latest else ()
            if began and not (thread.requests and thread.requests[0] is began[0]):
                self._known.clear()  # another session: the one before is not kept in memory for this
                return None
            return next((value for _, key, value in latest if key[1] == name), None)
