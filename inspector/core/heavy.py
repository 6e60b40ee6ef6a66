"""Tools for costly work: packages and patterns that are loaded at first use, stoppable computations, and a cache.

A loop over a whole session calls `checkpoint()`. On the command line that does nothing. A runner that computes on
another thread sets with `with_checkpoints` what happens there: it stops the computation, or pauses it while something
more urgent is done.

Only one thread imports packages at a time. PySide6 watches Python's imports and looks into modules that are not fully
loaded. Two threads that import at the same time can then see half a module, so a failed import is tried once more.

Many places need the same results for a conversation thread. `KnownByThread` computes them once.
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
    """Import a module by its name. Raises ImportError if a second attempt fails, too."""
    with _ONE_AT_A_TIME:
        try:
            return import_module(name)
        except ImportError:
            return import_module(name)


class _LatePattern:
    """A proxy for a compiled pattern, which it compiles when a method is first used."""

    def __init__(self, text: str | Callable[[], str], flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        text = self._text if isinstance(self._text, str) else self._text()
        method = getattr(re.compile(text, self._flags), name)  # `re` caches compiled patterns
        setattr(self, name, method)
        return method


def pattern(text: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled at first use. An error in `text`, or in the function that returns the text,
    is raised only then."""
    return cast("re.Pattern[str]", _LatePattern(text, flags))


_at_checkpoint: ContextVar[Callable[[int, int], None] | None] = ContextVar(
    "at_checkpoint", default=None
)


def checkpoint(done: int = 0, total: int = 0) -> None:
    """Let the runner of this computation stop it, by raising, or pause it. Cheap: call it in inner loops.

    Args:
        done: Rounds of the loop that are done.
        total: Rounds of the loop in total; 0: not known.
    """
    call = _at_checkpoint.get()
    if call is not None:
        call(done, total)


@contextmanager
def with_checkpoints(call: Callable[[int, int], None]) -> Iterator[None]:
    """Run the body so that every checkpoint in it, on this thread, calls `call` with (done, total)."""
    token = _at_checkpoint.set(call)
    try:
        yield
    finally:
        _at_checkpoint.reset(token)


_KEPT = 8
"""Largest number of values that a cache keeps."""

T = TypeVar("T")


class KnownByThread(Generic[T]):
    """A cache of one value by thread and name.

    The lock is held only while the cache changes: a computation may pause for another one that needs the same value.
    """

    def __init__(self) -> None:
        self._changing = Lock()
        self._known: OrderedDict[tuple[int, str], tuple[Thread, T]] = OrderedDict()

    def get(self, thread: Thread, name: str, work_out: Callable[[T | None], T]) -> T:
        """Return the cached value, or compute and cache it.

        Args:
            thread: The thread that the value belongs to.
            name: What distinguishes several values of one thread.
            work_out: Computes the value. It gets the cached value of the same thread when it had fewer requests, or
                None.
        """
        key = id(thread), name
        entry = self._known.get(key)
        if entry is not None:
            known_thread, value = entry
            if known_thread is thread:  # not another one with the same id
                return value
        value = work_out(self._known_when_shorter(thread, name))
        with self._changing:
            self._known[key] = thread, value
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return value

    def _known_when_shorter(self, thread: Thread, name: str) -> T | None:
        """Return the cached value of the thread when it had fewer requests, or None.

        Clear the cache if it holds another session's thread of the same id.
        """
        with self._changing:
            newest_first = [
                (cached_thread, cached_name, value)
                for (_, cached_name), (cached_thread, value) in reversed(self._known.items())
                if cached_thread.id == thread.id
            ]
            if newest_first:
                newest_thread, _, _ = newest_first[0]
                if newest_thread.requests and not _begin_alike(newest_thread, thread):
                    self._known.clear()  # another session: do not keep the previous one in memory
                    return None
            for _, cached_name, value in newest_first:
                if cached_name == name:
                    return value
            return None


def _begin_alike(former: Thread, thread: Thread) -> bool:
    """Do two threads begin with the same request object?"""
    return bool(thread.requests) and thread.requests[0] is former.requests[0]
