"""Find the sizes at which the recorded client compacted automatically, else the size by the known rules of its version.

The chosen policy does not matter. The window loads this module at start, so it imports no module that compares
messages.
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
"""Smallest number of requests of a conversation that a client could compact."""


@dataclass(frozen=True, slots=True)
class ObservedTrigger:
    """A compaction of the history that the user did not ask for."""

    before_request: int
    tokens: int
    """Size of the buffer that was compacted: recorded, else predicted (`change_sizes`)."""
    ratio: float | None
    """Share of the window that these tokens fill; None if the window is not known."""


def observed_triggers(
    thread: Thread, pressures: Pressures, window: int | None
) -> tuple[ObservedTrigger, ...]:
    """Return the automatic compactions of a thread, in order.

    Manual compactions, cleared results, and compactions of unknown size are left out.

    Args:
        thread: The thread.
        pressures: The pressures of the thread.
        window: Tokens of the model's window; None if unknown.
    """
    return _observed(SameObject(thread), SameObject(pressures), window)


@lru_cache(maxsize=1)
def _observed(
    same: SameObject, measured: SameObject, window: int | None
) -> tuple[ObservedTrigger, ...]:
    """Compute the automatic compactions of a thread. Cached for one thread, because gauge and timeline ask at every
    request, of which a session may have thousands."""
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
    """The sizes at which the recorded client compacts automatically, whichever policy is chosen."""

    client: str
    """The client's name without a version."""
    tokens: tuple[int, ...]
    """Sizes of the buffers that the client compacted, smallest first; if none was observed, the one size of its rules.
    """
    window: int | None
    observed: bool
    """False if the session shows no automatic compaction, so that the size follows from the rules of the version."""
    version: str = ""

    @property
    def share_words(self) -> str:
        """Return `76.6%`, `78.5% to 88.3%`; tokens if the window is not known."""
        low, high = (self._spell(tokens, 1) for tokens in self._ends())
        return low if low == high else f"{low} to {high}"

    @property
    def label(self) -> str:
        """Return the short form: `Claude Code 76.6%`, `Claude Code 79–88%`."""
        low_tokens, high_tokens = self._ends()
        digits = 1 if low_tokens == high_tokens else 0
        low = self._spell(low_tokens, digits)
        high = self._spell(high_tokens, digits)
        if low == high:
            return f"{self.client} {low}"
        return f"{self.client} {low.removesuffix('%')}–{high}"

    @property
    def notches(self) -> tuple[int, ...]:
        """Return the sizes to draw: every n-th if there are very many."""
        return (*self.tokens[:: len(self.tokens) // _MOST_NOTCHES + 1], self.tokens[-1])

    def _ends(self) -> tuple[int, int]:
        """Return the smallest and the largest size; twice the mean of all sizes if the two are nearly equal."""
        low = self.tokens[0]
        high = self.tokens[-1]
        if self.window and high - low < _NEARLY * self.window:
            low = high = round(sum(self.tokens) / len(self.tokens))
        return low, high

    def _spell(self, tokens: int, digits: int) -> str:
        return per_cent(tokens / self.window, digits) if self.window else f"{tokens:,}"

    @property
    def basis(self) -> str:
        """Return `observed twice`; `rules of 2.1.62` if the session shows no automatic compaction."""
        if self.observed:
            return f"observed {times(len(self.tokens))}"
        return f"rules of {self.version}" if self.version else "by its rules"

    @property
    def words(self) -> str:
        """Return `Claude Code compacts at 77.6%, observed twice`."""
        return f"{self.client} compacts at {self.share_words}, {self.basis}"


def client_trigger(
    session: Session, thread: Thread, pressures: Pressures, window: int | None
) -> ClientTrigger | None:
    """Return the sizes at which a session's client compacts automatically: observed in the thread, else by its rules.

    Args:
        session: The session.
        thread: One of its threads.
        pressures: The pressures of the thread.
        window: Tokens of the model's window; None if unknown.

    Returns:
        The sizes; None if neither observed sizes nor rules are known.
    """
    client, version = _name_and_version(session)
    observed = observed_triggers(thread, pressures, window)
    if observed:
        sizes = sorted(trigger.tokens for trigger in observed)
        return ClientTrigger(
            client, tokens=tuple(sizes), window=window, observed=True, version=version
        )
    highest = None if _lacks_triggers(thread) else trigger_by_rules(session, window)
    if not highest:
        return None
    return ClientTrigger(client, tokens=(highest,), window=window, observed=False, version=version)


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
    """Is the thread too short for its client to compact, such as a single call?"""
    return len(thread.requests) < _FEW


def _name_and_version(session: Session) -> tuple[str, str]:
    """Return `("Claude Code", "2.1.62")`; the version is empty if the file names none, or several."""
    harness = harness_of(session)
    name = _VERSION.sub("", session.client).strip() or "The client"
    if harness != DEFAULT_POLICY:
        name, _, _ = TITLES[harness].partition(" (")
    match = _VERSION.search(session.client)
    version = match[0] if match is not None else ""
    if " to " in version:
        version = ""
    return name, version.strip()


_VERSION = re.compile(r"\s+v?\d[\w.+-]*(?: to .*)?$")
