"""What is heavy: packages and patterns, which are made ready when they are first used, and long computations.

A loop over a whole session calls `checkpoint()`. On the command line that does nothing. A runner that computes on
another thread says by `with_checkpoints` what happens there: the computation is stopped, or rests while something more
urgent is done.

Packages are imported by one thread at a time, whatever thread that is. Beside the window Python's imports are watched
by PySide6, which looks into modules that are still on their way. Two threads that import at once can then see half a
module; an import that failed for this reason is made once more.

What was worked out of a thread is asked for at many places, and worked out once (`KnownByThread`).
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from inspector.core.session import Thread

_ONE_AT_A_TIME = Lock()


def load_module(name: str) -> ModuleType:
    """The module of that name. Raises ImportError where it really cannot be had."""
    with _ONE_AT_A_TIME:
        try:
            return import_module(name)
        except ImportError:
            return import_module(name)


class _Late:
    """Has the methods of the compiled pattern, each from the first time that it is asked for."""

    def __init__(self, text: str | Callable[[], str], flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        text = self._text if isinstance(self._text, str) else self._text()
        method = getattr(re.compile(text, self._flags), name)  # `re` keeps what it compiled
        setattr(self, name, method)
        return method


def pattern(text: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, later: a mistake in `text`, or in what gives it, shows when it is used."""
    return cast("re.Pattern[str]", _Late(text, flags))


_at_checkpoint: ContextVar[Callable[[int, int], None] | None] = ContextVar(
    "at_checkpoint", default=None
)


def checkpoint(done: int = 0, total: int = 0) -> None:
    """Raise whatever the runner of this computation raises to stop it. Cheap: call it in inner loops.

    Args:
        done: Rounds of the loop that are done.
        total: Rounds of the loop in all; 0: not known.
    """
    call = _at_checkpoint.get()
    if call is not None:
        call(done, total)


@contextmanager
def with_checkpoints(call: Callable[[int, int], None]) -> Iterator[None]:
    """Have `call` called with (done, total) at every checkpoint of what is computed inside, on this thread."""
    token = _at_checkpoint.set(call)
    try:
        yield
    finally:
        _at_checkpoint.reset(token)


_KEPT = 8
"""Threads by which values are remembered."""

T = TypeVar("T")


class KnownByThread(Generic[T]):
    """A cache of one value by thread and name.

    The lock is held only while the cache changes: a computation may pause for another one that needs the same value.
    """

    def __init__(self) -> None:
        self._changing = Lock()
        self._known: OrderedDict[tuple[int, str], tuple[Thread, T]] = OrderedDict()

    def get(self, thread: Thread, name: str, work_out: Callable[[T | None], T]) -> T:
        """Return the cached value; else compute it, from the value of the same thread when it was shorter if known."""
        key = id(thread), name
        entry = self._known.get(key)
        if entry is not None and entry[0] is thread:
            return entry[1]
        value = work_out(self._known_when_shorter(thread, name))
        with self._changing:
            self._known[key] = thread, value
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return value

    def _known_when_shorter(self, thread: Thread, name: str) -> T | None:
        """Return the value of the thread when it had fewer requests. Clear the cache if it is of another session."""
        with self._changing:
            latest = [
                (cached_thread, key, value)
                for key, (cached_thread, value) in reversed(self._known.items())
                if cached_thread.id == thread.id
            ]
            began = latest[0][0].requests if latest else ()
            if began and not (thread.requests and thread.requests[0] is began[0]):
                self._known.clear()  # another session: the one before is not kept in memory for this
                return None
            return next((value for _, key, value in latest if key[1] == name), None)
