"""How large the context was before and after a compaction, both counted alike."""

from bisect import bisect_left, bisect_right

from inspector.core.session import Compaction, Request, Thread


def compaction_sizes(thread: Thread, compaction: Compaction) -> tuple[int | None, int | None]:
    """Context tokens (before, after) a compaction; None where nothing tells.

    Before: as recorded, unless that is less than what the call before reported: then the harness counted otherwise.
    After: what the next call reported - it holds the re-attached things as well -, else as recorded. Where several
    stand in front of one call, the call before tells of the first, the call behind of the last.
    """
    at, listed = compaction.before_request, thread.compactions
    start, end = (bisect(listed, at, key=lambda one: one.before_request) for bisect in (bisect_left, bisect_right))
    first, last = (start == end or listed[n] == compaction for n in (start, end - 1))
    earlier = _reported(thread.requests[at - 1]) if first and 0 < at <= len(thread.requests) else None
    later = _reported(thread.requests[at]) if last and at < len(thread.requests) else None
    before = compaction.tokens_before
    if before is None or before < _ALIKE * (earlier or 0):
        before = earlier
    if earlier is None and later is not None and (before or 0) < later:
        before = None  # an estimate of something else than was counted
    return before, compaction.tokens_after if later is None and last else later


_ALIKE = 0.98
"""A harness that goes by what was reported comes as near as this, or nearer."""


def _reported(request: Request) -> int | None:
    return (request.usage.prompt or None) if request.usage else None
