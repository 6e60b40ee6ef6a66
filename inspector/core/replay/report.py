"""A replay in figures: per request, per compaction, in total, and what was lost.

`Report` is what the command line prints, what a sweep compares, and what a view of several policies shows. Totals are
the sums over the requests, exactly.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from inspector.core.answering import Answerer
from inspector.core.errors import Cancelled
from inspector.core.outcome import Outcome
from inspector.core.policies.harness import Policy
from inspector.core.replay.costs import Meter, Spent, known_of, total
from inspector.core.replay.driver import Known, Replayed, replay
from inspector.core.replay.facts import FactIndex
from inspector.core.replay.regret import At, Ledger, Losses
from inspector.core.session import Thread
from inspector.core.tokens.pressure import PressureKind

CompactedKind: TypeAlias = Literal["summary", "micro"]


@dataclass(frozen=True, slots=True)
class Row:
    """One request."""

    index: int
    tokens: int
    """Of the buffer that was sent."""
    kind: PressureKind
    messages: int
    fired: tuple[str, ...]
    refused: int
    """Tokens of the buffer that was larger than the window, before the policy's step; 0 where none was."""
    spent: Spent


@dataclass(frozen=True, slots=True)
class Compacted:
    """A step that changed the buffer. Sizes in tokens, as `replay_sizes` works them out."""

    at: At
    kind: CompactedKind
    """summary: messages went; micro: contents were cleared or cut in place."""
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int


@dataclass(frozen=True, slots=True)
class Report:
    """One policy on one thread."""

    policy: str
    title: str
    settings: Mapping[str, Any]
    window: int | None
    rows: tuple[Row, ...]
    compactions: tuple[Compacted, ...]
    losses: Losses
    failures: int
    """Steps that did not succeed."""
    spent: Spent
    """The sum over the rows."""

    @property
    def peak(self) -> int:
        """Tokens of the largest buffer that was sent."""
        return max((row.tokens for row in self.rows), default=0)

    @property
    def overflows(self) -> int:
        """Requests whose buffer was larger than the window at first."""
        return sum(row.refused > 0 for row in self.rows)

    @property
    def over(self) -> int:
        """Requests that were larger than the window even after the policy's step: a real session would have ended."""
        return 0 if self.window is None else sum(row.tokens > self.window for row in self.rows)


class Ground:
    """What all reports on a thread have in common, worked out once: arrivals, sizes, facts."""

    def __init__(self, thread: Thread, window: int | None) -> None:
        self.known, self.window, self.facts = Known(thread), window, FactIndex()
        self.cache = known_of(thread)

    @property
    def thread(self) -> Thread:
        return self.known.thread


def report(
    ground: Ground,
    policy: Policy[Any, Any],
    settings: Any,
    answer: Answerer,
    *,
    remote: bool = False,
    summary_model: str = "",
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Report:
    """Drive `policy` over the thread and account for it. Raises Cancelled, and what the answerer cannot meet is told
    to the policy as in life. `summary_model`: whose prices hold for summaries; default the session's own."""
    book = _Book(ground, summary_model)
    count = len(ground.thread.requests)
    driven = replay(ground.thread, policy, settings, answer, window=ground.window, remote=remote, known=ground.known)
    for done in driven:
        book.enter(done)
        if progress is not None:
            progress(done.index + 1, count)
        if cancelled is not None and cancelled():
            raise Cancelled("The replay was stopped.")
    return Report(
        policy.name,
        policy.title,
        {one.name: getattr(settings, one.name) for one in fields(settings)},
        ground.window,
        tuple(book.rows),
        tuple(book.compactions),
        book.ledger.losses(),
        book.failures,
        total(row.spent for row in book.rows),
    )


class _Book:
    def __init__(self, ground: Ground, summary_model: str) -> None:
        sizes = self._sizes = ground.known.sizes
        self._thread = ground.thread
        self._meter, self._cache = Meter(sizes, ground.thread.model, summary_model), ground.cache
        self.ledger = Ledger(ground.facts, lambda message: sizes.tokens(sizes.weigh((message,))))
        self.rows: list[Row] = []
        self.compactions: list[Compacted] = []
        self.failures = 0

    def enter(self, done: Replayed) -> None:
        """One request more."""
        request = self._thread.requests[done.index]
        self.ledger.arrive(done.arrival.new, done.index)
        if done.arrival.swapped or done.arrival.gone:
            self.ledger.change(done.start.messages, None)
        self._steps(done.before, done.start.messages, done.index, done.index)
        self.ledger.arrive(done.answer, done.index)
        self._steps(done.after, done.answered.messages, done.index, done.index + 1)
        output = request.usage.output if request.usage else 0
        reported = request.usage if done.kind == "reported" else None
        known = self._cache[done.index]
        spent = self._meter.request(
            done.buffer, done.tokens, output, done.asked, request.model, request.time, known, reported
        )
        self.rows.append(
            Row(done.index, done.tokens, done.kind, len(done.buffer.messages), done.fired, done.refused, spent)
        )

    def _steps(self, outcomes: Sequence[Outcome[Any]], messages: Any, index: int, before_request: int) -> None:
        for outcome in outcomes:
            self.failures += not outcome.succeeded and bool(outcome.error)
            new = outcome.buffer.messages
            if new is not messages and new != messages:
                at = At(before_request, outcome.tier)
                self.ledger.change(new, at)
                self.compactions.append(self._compacted(at, messages, new, index))
            messages = new

    def _compacted(self, at: At, before: Any, after: Any, index: int) -> Compacted:
        prompt = self._thread.requests[index].prompt
        sizes = [self._sizes.size(index, self._sizes.weigh_buffer(one), prompt, False)[0] for one in (before, after)]
        stays = {message.id for message in after}
        kind: CompactedKind = "micro" if all(message.id in stays for message in before) else "summary"
        return Compacted(at, kind, sizes[0], sizes[1], len(before), len(after))
