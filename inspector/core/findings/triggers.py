"""Where an agent compacted by itself: its line as the session shows it, whatever a policy says. Loaded with the window,
so it stands apart from what compares messages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from inspector.core.identity import SameObject
from inspector.core.session import Thread
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.tokens.pressure import Pressures

BY_HAND = "manual"
_FEW = 2


@dataclass(frozen=True, slots=True)
class ObservedTrigger:
    """A compaction of the history that nobody asked for."""

    before_request: int
    tokens: int
    """Of the buffer that was compacted: as recorded, else as predicted (`change_sizes`)."""
    ratio: float | None
    """Of the window; None where that is not known."""


def observed_triggers(thread: Thread, pressures: Pressures, window: int | None) -> tuple[ObservedTrigger, ...]:
    """In order. `pressures`: those of the thread; `window`: tokens. Those without a size are left out; so are those by
    hand, and results cleared."""
    return _observed(SameObject(thread), SameObject(pressures), window)


@lru_cache(maxsize=1)
def _observed(same: SameObject, measured: SameObject, window: int | None) -> tuple[ObservedTrigger, ...]:
    """Remembered of one thread: gauge and timeline ask at every step along a session, which may hold thousands."""
    thread: Thread = same.held
    found = []
    for one in thread.compactions:
        if one.kind != "summary" or one.trigger == BY_HAND:
            continue
        if tokens := compaction_sizes(thread, measured.held, one).before.tokens:
            found.append(ObservedTrigger(one.before_request, tokens, tokens / window if window else None))
    return tuple(found)


def trigger_words(triggers: Sequence[ObservedTrigger], brief: bool = False) -> str:
    """`compacted at 155,144 and 156,611: 78% of the window`; empty where there is none. `brief`: `compacted: 78% of
    the window`, empty where no share is known."""
    if not triggers:
        return ""
    sizes = sorted(one.tokens for one in triggers)
    if len(sizes) <= _FEW:
        at = " and ".join(f"{one:,}" for one in sizes)
    else:
        at = f"{sizes[0]:,} to {sizes[-1]:,}, {len(sizes)} times"
    in_order = sorted(triggers, key=lambda one: one.tokens)
    shares = list(dict.fromkeys(round(one.ratio * 100) for one in in_order if one.ratio))
    share = f": {shares[0]}{f' to {shares[-1]}' if len(shares) > 1 else ''}% of the window" if shares else ""
    if brief:
        return f"compacted{share}" if share else ""
    return f"compacted at {at}{share}"
