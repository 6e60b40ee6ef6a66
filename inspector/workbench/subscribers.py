"""Those who want to know the state: each is told every one in the order in which they came, whatever another does."""

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

T = TypeVar("T")


class Subscribers(Generic[T]):
    """What a subscriber changes while it is told comes to all of them after all were told what it was told.

    One that fails keeps none of the others from being told: its failure is raised when they have been. `then` is called
    behind the last of them.
    """

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self._callbacks: list[Callable[[T], None]] = []
        self._then = then
        self._telling = False

    def add(self, callback: Callable[[T], None], now: T) -> Callable[[], None]:
        """Tell this one from now on, and how it is now. Returns what ends it."""
        self._callbacks.append(callback)
        callback(now)
        return lambda: self._callbacks.remove(callback)

    def tell(self, newest: Callable[[], T]) -> None:
        """Tell all until everybody knows the newest."""
        if self._telling:
            return  # whoever is telling looks for the newest when all were told
        self._telling, failures, told = True, list[Exception](), None
        while told is not newest():
            told = newest()
            calls: list[Callable[[], None]] = [partial(callback, told) for callback in self._callbacks]
            for call in (*calls, self._then):
                try:
                    call()
                except Exception as failure:  # noqa: BLE001  # raised as soon as the others know
                    failures.append(failure)
        self._telling = False
        if failures:
            raise failures[0]
