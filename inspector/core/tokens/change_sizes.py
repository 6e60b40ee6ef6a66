"""The size of a thread's buffer right before and right after a change: one pair of numbers for all views.

*Before* is the buffer that was compacted: the buffer of the previous request, its answer, and the messages that arrived
since. No provider counted this buffer, so its size is the recorded one, else the predicted one. *After* is the buffer
of the next request, with its new messages.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from inspector.core.arrivals import arrivals, thread_before
from inspector.core.buffer import Buffer
from inspector.core.session import Compaction, Request, Thread, first_place
from inspector.core.tokens.pressure import Pressure, PressureKind, Pressures
from inspector.core.tokens.sizing import sizer

_ALIKE = 0.98
"""Smallest ratio of a recorded size to the last report at which the harness is taken to record reported sizes."""


@dataclass(frozen=True, slots=True)
class BufferSize:
    """The tokens of one buffer; None if they are unknown."""

    tokens: int | None
    kind: PressureKind | None = None
    """Kind of the number; None if the harness recorded it."""
    band: tuple[int, int] | None = None
    """The bounds of a prediction, between which the true number most likely is."""

    @property
    def is_exact(self) -> bool:
        """Is the size recorded or reported, not predicted or estimated?"""
        return self.tokens is not None and self.kind in (None, "reported")


UNKNOWN_SIZE = BufferSize(tokens=None)


@dataclass(frozen=True, slots=True)
class ChangeSizes:
    """The sizes of the buffer before and after one change."""

    before: BufferSize
    after: BufferSize

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Return (tokens before, tokens after)."""
        return self.before.tokens, self.after.tokens

    @property
    def freed(self) -> int | None:
        """Return the tokens by which the buffer became smaller; negative if it grew."""
        before, after = self.tokens
        return None if before is None or after is None else before - after


def change_sizes(thread: Thread, pressures: Pressures, at: int) -> ChangeSizes:
    """Return the sizes before and after the change that precedes request `at`.

    O(messages) the first time for a thread, then O(messages changed there).

    Args:
        thread: The thread.
        pressures: The pressures of the thread.
        at: Index of the request; the number of requests: the change after the last one.
    """
    after = _shown(pressures.at(at))
    before = _before(thread, pressures, at)
    if not before.is_exact and before.kind != "predicted" and after.is_exact:
        before = before if (before.tokens or 0) > (after.tokens or 0) else UNKNOWN_SIZE
    return ChangeSizes(before, after)


def compaction_sizes(thread: Thread, pressures: Pressures, compaction: Compaction) -> ChangeSizes:
    """Return the sizes before and after one recorded compaction.

    If several compactions precede one request, the size before belongs to the first and the size after to the last.
    Between them only recorded sizes are known.
    """
    at = compaction.before_request
    together = _compactions_at(thread, at)
    sizes = change_sizes(thread, pressures, at)
    is_first = not together or together[0] == compaction
    is_last = not together or together[-1] == compaction
    before = sizes.before if is_first else BufferSize(_recorded(thread, compaction))
    after = sizes.after if is_last else UNKNOWN_SIZE
    return ChangeSizes(before, after)


def promise_words(thread: Thread, compaction: Compaction, sizes: ChangeSizes) -> str:
    """Return a sentence that compares the predicted size of a compacted request that was held with the reported size.

    Empty if no prediction is recorded. If the report is outside the predicted range, the sentence gives a reason.
    """
    at = compaction.before_request
    if (
        compaction.predicted is None
        or at >= len(thread.requests)
        or thread.requests[at].predicted is None
    ):
        return ""
    tokens, low, high = thread.requests[at].predicted or (0, 0, 0)
    words = f"Predicted about {tokens:,} ({low:,} to {high:,})"
    reported = _reported(thread.requests[at])
    if reported is None:
        return f"{words}; no size was reported."
    words += f", reported {reported:,}"
    if low <= reported <= high:
        return f"{words}: within the range."
    beyond = f"{reported - high:,} above" if reported > high else f"{low - reported:,} below"
    held = sizes.before.tokens or 0
    why = f"about {held - tokens:,} tokens should have been freed, but {held - reported:,} were"
    return f"{words}: {beyond} the range, because {why}."


def counted_before(thread: Thread, compaction: Compaction) -> int | None:
    """Return the size that the harness recorded before a compaction, else the one reported for the previous request.

    The size of the window is inferred from it, so predictions are not used.
    """
    recorded = _recorded(thread, compaction)
    at = compaction.before_request
    if recorded is None and 0 < at <= len(thread.requests):
        return _reported(thread.requests[at - 1])
    return recorded


def _before(thread: Thread, pressures: Pressures, at: int) -> BufferSize:
    first = next(iter(_compactions_at(thread, at)), None)
    if first is not None and first.predicted is not None:
        tokens, low, high = first.predicted
        return BufferSize(tokens, "predicted", (low, high))
    recorded = _recorded(thread, first) if first is not None else None
    if recorded is not None:
        return BufferSize(recorded)
    if at < first_place(thread) or at > len(thread.requests):
        return UNKNOWN_SIZE
    predicted = _predicted(thread, pressures, at)
    client_view = thread.requests[at].asked if at < len(thread.requests) else None
    if client_view is None or predicted.kind == "predicted":
        return _shown(predicted)
    # nothing was reported earlier: measure what the client sent with the sizer of the forwarded request
    return _shown(
        sizer(pressures, at).pressure_of(Buffer(client_view.messages(), thread.requests[at].prompt))
    )


def _shown(pressure: Pressure) -> BufferSize:
    return BufferSize(pressure.tokens, pressure.kind, pressure.band)


def _compactions_at(thread: Thread, at: int) -> Sequence[Compaction]:
    compactions = tuple(thread.compactions)  # faster to search than a view
    start = bisect_left(compactions, at, key=lambda compaction: compaction.before_request)
    end = bisect_right(compactions, at, lo=start, key=lambda compaction: compaction.before_request)
    return compactions[start:end]


def _recorded(thread: Thread, compaction: Compaction) -> int | None:
    """Return the recorded size; None if it is below the last report: then the harness counted something else."""
    at, tokens = compaction.before_request, compaction.tokens_before
    if tokens is None:
        return None
    earlier = _reported(thread.requests[at - 1]) if 0 < at <= len(thread.requests) else None
    if earlier is not None:
        return tokens if tokens >= _ALIKE * earlier else None
    later = _reported(thread.requests[at]) if at < len(thread.requests) else None
    return tokens if later is None or tokens >= later else None


def _reported(request: Request) -> int | None:
    return (request.usage.prompt or None) if request.usage else None


def _predicted(thread: Thread, pressures: Pressures, at: int) -> Pressure:
    if at not in pressures.before:
        pressures.before[at] = pressures.predict_end(
            at, thread_before(thread, at, arrivals(thread)[at])
        )
    return pressures.before[at]
