"""The own count of a harness that calibrates an estimator, at every request of a thread.

It is never shown as the true size. The calibrated count decides which tier such a harness fires; the plain count is the
estimate of a buffer by an estimator alone.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from inspector.core.buffer import Prompt, is_prefix
from inspector.core.heavy import KnownByThread, checkpoint
from inspector.core.session import Request, Thread
from inspector.core.tokens.calibration import Belief, Beliefs
from inspector.core.tokens.estimators import Estimator, messages_weight, prompt_tokens, weigh_newest
from inspector.core.tokens.pressure import count_same_requests, summary_since


@dataclass(frozen=True, slots=True)
class OwnCount:
    """The own count of one buffer before its call."""

    estimated: int
    """The recorded part of the buffer by the estimator alone: messages, system prompt, tools."""
    calibrated: int
    """The part that the harness counts, with its calibration through the origin."""
    belief: Belief


@dataclass(frozen=True, slots=True, eq=False)
class OwnCounts:
    """One count per request, in order, and `end`: the count of the buffer after the last record."""

    by: Estimator
    counts: tuple[OwnCount, ...]
    end: OwnCount
    requests: Sequence[Request]
    _course: "_CountCourse"
    """The state before the last request, because that request may differ in the grown thread."""

    def at(self, index: int | None) -> OwnCount:
        """Return the count at a request; for None or the number of requests, that of the last buffer."""
        return self.end if index is None or index >= len(self.counts) else self.counts[index]


_KNOWN = KnownByThread[OwnCounts]()


def known_counts(thread: Thread, by: Estimator) -> OwnCounts:
    """Return the harness's own count at each request of a thread.

    The first call for a thread takes O(messages); the results for the last few threads are cached.
    """
    return _KNOWN.get(thread, by.name, lambda former: _count_thread(thread, by, former))


def _count_thread(thread: Thread, by: Estimator, former: OwnCounts | None) -> OwnCounts:
    requests = thread.requests
    weigh_newest(by, thread.messages)
    counts: list[OwnCount] = []
    course = _CountCourse(by)
    if former is not None and 0 < former._course.place <= count_same_requests(
        former.requests, requests
    ):
        course = former._course.copy()
        counts = list(former.counts[: course.place])
    settled = course
    for at in range(course.place, len(requests)):
        checkpoint(at, len(requests))
        if at == len(requests) - 1:
            settled = course.copy()
        counts.append(course.follow(thread, requests[at]))
    end = course.look(Request(len(requests), thread.end, thread.prompt))
    return OwnCounts(by, counts=tuple(counts), end=end, requests=requests, _course=settled)


class _CountCourse:
    """Computes the own count of a thread's requests one after another, and learns from their reports."""

    def __init__(self, by: Estimator) -> None:
        self.place = 0
        """Number of requests processed so far."""
        self._by = by
        self._beliefs = Beliefs(by.name)
        self._anchor: Request | None = None
        """The last request whose size was reported."""
        self._counted = 0
        """Tokens of that request's buffer by the estimator's own rule."""
        self._prompt: tuple[Prompt, int, int] | None = None
        """(last prompt, its weight by the estimator's own rule, tokens that this rule leaves out)."""

    def copy(self) -> "_CountCourse":
        """Return an independent copy. O(1)."""
        course = copy(self)
        course._beliefs = self._beliefs.copy()
        return course

    def follow(self, thread: Thread, request: Request) -> OwnCount:
        """Count the next request, and learn from its report."""
        own, own_count = self._count(request)
        self.place += 1
        usage = request.usage
        if usage is not None and usage.prompt > 0:
            self._report(thread, request, own, usage.prompt)
        return own_count

    def look(self, request: Request) -> OwnCount:
        """Return the count of a buffer before its size is reported. Changes nothing."""
        _, own_count = self._count(request)
        return own_count

    def _count(self, request: Request) -> tuple[int, OwnCount]:
        weighed, beside = self._weigh_prompt(request.prompt)
        own = self._by.tokens(messages_weight(self._by, request.view) + weighed)
        belief = self._beliefs.now()
        return own, OwnCount(own + beside, belief.tokens(own), belief)

    def _weigh_prompt(self, prompt: Prompt) -> tuple[int, int]:
        """Return (weight by the estimator's own rule, tokens that this rule leaves out)."""
        own, left_out = 0, 0
        is_known = False
        if self._prompt is not None:
            last, own, left_out = self._prompt
            is_known = prompt is last or prompt == last
        if not is_known:
            own = self._by.weigh_prompt(prompt)
            left_out = sum(prompt_tokens(self._by, prompt)) - self._by.tokens(own)
        self._prompt = prompt, own, left_out
        return own, left_out

    def _report(self, thread: Thread, request: Request, own: int, reported: int) -> None:
        anchor = self._anchor
        grown = None
        last_reported = anchor.index if anchor is not None else -1
        is_fresh = summary_since(thread, request, last_reported) is not None
        if anchor is not None and anchor.usage is not None and is_prefix(anchor.view, request.view):
            grown = (reported - anchor.usage.prompt, own - self._counted)
        self._beliefs.report(own, reported, request.model or thread.model, grown, fresh=is_fresh)
        self._anchor = request
        self._counted = own
