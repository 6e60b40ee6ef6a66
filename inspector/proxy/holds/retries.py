"""A held turn that its client asks for again: the same words in the same conversation, as a new request.

While the first one is held the new one takes its place. After it was let go, the new one gets what was decided then.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Literal, TypeAlias

from inspector.proxy.holds.reading import Reading, ThreadKey

Decided: TypeAlias = Literal["as it was", "changed", "dropped"]
_KEPT = 64
DROPPED_S = 60.0
"""Seconds in which a dropped request that is made again is dropped again."""


class Retries:
    """What was decided lately, by conversation and words. Times in seconds of one clock."""

    def __init__(self) -> None:
        self._decided: OrderedDict[tuple[ThreadKey, str], tuple[Decided, float]] = OrderedDict()

    def remember(self, reading: Reading, decided: Decided, now: float) -> None:
        """That one was let go."""
        name = (reading.thread, reading.digest)
        self._decided.pop(name, None)
        self._decided[name] = (decided, now)
        while len(self._decided) > _KEPT:
            self._decided.popitem(last=False)

    def find(self, reading: Reading, now: float) -> Decided | None:
        """What was decided about the same words; None where they are new."""
        found = self._decided.get((reading.thread, reading.digest))
        if found is None or (found[0] == "dropped" and now - found[1] > DROPPED_S):
            return None
        return found[0]


def is_retry(reading: Reading, is_gone: bool, headers: Mapping[str, str]) -> bool:
    """May it take the place of a held one with the same words? `is_gone`: that one's client has closed.

    Where the client names its session, or says that it tries again, it is the same turn. Else two agents may well have
    been given the same task.
    """
    again = headers.get("x-stainless-retry-count", "0")
    return is_gone or reading.key.strong or (again.isdigit() and int(again) > 0)
