"""Where the recorded client compacted on its own, else where its known rules would: whatever policy is chosen. Loaded
with the window, so it is kept apart from what compares messages.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from inspector.core.errors import InspectorError
from inspector.core.identity import SameObject
from inspector.core.policies.catalogue import DEFAULT_POLICY, POLICIES, TITLES, harness_of
from inspector.core.session import Session, Thread
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.tokens.pressure import Pressures
from inspector.core.words import per_cent, times

BY_HAND = "manual"
_NEARLY = 0.01
"""Share of the window within which observed sizes count as one."""
_MOST_NOTCHES = 200
_FEW = 2
"""Requests of a conversation that a client could compact, at least."""


@dataclass(frozen=True, slots=True)
class ObservedTrigger:
    """A compaction of the history that the user did not ask for."""

    before_request: int
    tokens: int
    """Of the buffer that was compacted: as recorded, else as predicted (`change_sizes`)."""
    ratio: float | None
    """Of the window; None where that is not known."""


def observed_triggers(
    thread: Thread, pressures: Pressures, window: int | None
) -> tuple[ObservedTrigger, ...]:
    """In order. `pressures`: those of the thread; `window`: tokens. Those without a size are left out; so are those by
    hand, and results cleared."""
    return _observed(SameObject(thread), SameObject(pressures), window)


@lru_cache(maxsize=1)
def _observed(
    same: SameObject, measured: SameObject, window: int | None
) -> tuple[ObservedTrigger, ...]:
    """Remembered of one thread: gauge and timeline ask at every step along a session, which may hold thousands."""
    thread: Thread = same.held
    triggers = []
    for compaction in thread.compactions:
        if compaction.kind != "summary" or compaction.trigger == BY_HAND:
            continue
        if tokens := compaction_sizes(thread, measured.held, compaction).before.tokens:
            ratio = tokens / window if window else None
            triggers.append(ObservedTrigger(compaction.before_request, tokens, ratio))
    return tuple(triggers)


@dataclass(frozen=True, slots=True)
class ClientTrigger:
    """Where the recorded client compacts on its own, whatever policy is chosen."""

    client: str
    """Its name without a version."""
    tokens: tuple[int, ...]
    """Sizes of the buffers that it compacted, smallest first; where none was observed the one size of its rules."""
    window: int | None
    observed: bool
    """False: the session shows no compaction of the client's own; the size follows from the rules of its version."""
    version: str = ""

    @property
    def share_words(self) -> str:
        """`76.6%`, `78.5% to 88.3%`; tokens where the window is not known."""
        low, high = (self._spell(tokens, 1) for tokens in self._ends())
        return low if low == high else f"{low} to {high}"

    @property
    def label(self) -> str:
        """`Claude Code 76.6%`, `Claude Code 79–88%`: for little room."""
        ends = self._ends()
        digits = 1 if ends[0] == ends[1] else 0
        low, high = (self._spell(tokens, digits) for tokens in ends)
        return (
            f"{self.client} {low}"
            if low == high
            else f"{self.client} {low.removesuffix('%')}–{high}"
        )

    @property
    def notches(self) -> tuple[int, ...]:
        """The sizes to draw: of very many every n-th."""
        return (*self.tokens[:: len(self.tokens) // _MOST_NOTCHES + 1], self.tokens[-1])

    def _ends(self) -> tuple[int, int]:
        """The smallest and the largest size; their mean for both where they are nearly the same."""
        low, high = self.tokens[0], self.tokens[-1]
        if self.window and high - low < _NEARLY * self.window:
            low = high = round(sum(self.tokens) / len(self.tokens))
        return low, high

    def _spell(self, tokens: int, digits: int) -> str:
        return per_cent(tokens / self.window, digits) if self.window else f"{tokens:,}"

    @property
    def basis(self) -> str:
        """`observed twice`; `rules of 2.1.62` where the session shows none."""
        if self.observed:
            return f"observed {times(len(self.tokens))}"
        return f"rules of {self.version}" if self.version else "by its rules"

    @property
    def words(self) -> str:
        """`Claude Code compacts at 77.6%, observed twice`."""
        return f"{self.client} compacts at {self.share_words}, {self.basis}"


def client_trigger(
    session: Session, thread: Thread, pressures: Pressures, window: int | None
) -> ClientTrigger | None:
    """Return where the client of a session compacts on its own: as observed in this thread, else as its rules say.

    None where neither is known. `pressures`: those of the thread; `window`: tokens.
    """
    client, version = _name_and_version(session)
    observed = observed_triggers(thread, pressures, window)
    if observed:
        sizes = sorted(trigger.tokens for trigger in observed)
        return ClientTrigger(client, tuple(sizes), window, True, version)
    highest = None if _lacks_triggers(thread) else trigger_by_rules(session, window)
    return ClientTrigger(client, (highest,), window, False, version) if highest else None


def trigger_by_rules(session: Session, window: int | None) -> int | None:
    """Return the tokens at which the recorded client compacts by the known rules of its version.

    None if its rules are not known, or `window` (tokens) is not.
    """
    harness = harness_of(session)
    if harness == DEFAULT_POLICY or not window:
        return None
    by = POLICIES[harness]
    try:
        lines = by.watermarks(by.settings(by.of_client(session.client), window))
    except InspectorError:
        return None
    return max((line.tokens for line in lines), default=None)


def _lacks_triggers(thread: Thread) -> bool:
    """Is it a thread whose client never compacts, as single calls?"""
    return len(thread.requests) < _FEW


def _name_and_version(session: Session) -> tuple[str, str]:
    """`("Claude Code", "2.1.62")`; the version is empty where the file names none, or several."""
    harness = harness_of(session)
    version = _VERSION.search(session.client)
    name = _VERSION.sub("", session.client).strip()
    if harness != DEFAULT_POLICY:
        name = TITLES[harness].partition(" (")[0]
    return name or "The client", version[0].strip() if version and " to " not in version[0] else ""


_VERSION = re.compile(r"\s+v?\d[\w.+-]*(?: to .*)?$")
