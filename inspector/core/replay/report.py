"""A replay in figures: per request, per compaction, in total, and what was lost. And the recorded session in the same
figures: the base line that every policy is compared with.

The command line prints reports, a sweep compares them, and the view of several policies shows them. Totals are exactly
the sums over the requests.

For the recorded session, sizes, cache and prices are those that the provider reported. A call that reports nothing is
computed as in a replay. The file seldom holds the call for a recorded summary: it is assumed to be one more request on
the buffer that was summarised, reading what the cache still holds, which is the cheapest possible. Both are counted in
`estimated_usd`, too: without them the cost equals the bill of these calls (`findings.spending`). A compaction before
the first request is left out, because every policy begins after it. A summary that cannot be read counts like the
others (`summary_calls`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias, TypeVar

from inspector.core.answering import Answerer
from inspector.core.errors import Cancelled
from inspector.core.heavy import checkpoint
from inspector.core.outcome import Outcome
from inspector.core.policies.harness import Policy
from inspector.core.replay.costs import Meter, Spending, total
from inspector.core.replay.driver import Ground, Replayed, replay_requests
from inspector.core.replay.economics import UNKNOWN, CompactionStep, Economics, economics
from inspector.core.replay.pins import UNANNOUNCED, PinHistory, PinTracker
from inspector.core.replay.regret import At, Losses, LossLedger
from inspector.core.replay.summary_calls import (
    TYPICAL,
    ExpectedOutput,
)
from inspector.core.session import (
    SERVER_SIDE,
)
from inspector.core.tokens.pressure import PressureKind

T = TypeVar("T")
RECORDED, TITLE = "recorded", "Session as recorded"
"""Name and title of the report of what the recording itself did."""
CompactedKind: TypeAlias = Literal["summary", "micro"]


@dataclass(frozen=True, slots=True)
class RequestRow:
    """A request of a replay in figures."""

    index: int
    tokens: int
    """Tokens of the buffer that was sent."""
    kind: PressureKind
    messages: int
    fired: tuple[str, ...]
    refused: int
    """Tokens of the buffer that was larger than the window, before the policy's step; 0 if none was."""
    spent: Spending


@dataclass(frozen=True, slots=True)
class Compacted:
    """A step that changed the buffer. Sizes in tokens, as computed by `costs.Sizes`."""

    at: At
    kind: CompactedKind
    """summary: messages were removed; micro: contents were cleared or cut."""
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    summary_usd: Decimal | None = Decimal(0)
    """Cost of the calls for it; None if a price is not known."""
    is_estimated: bool = False
    """Is the cost estimated, because these calls report no usage?"""
    economics: Economics = UNKNOWN
    """Did it pay for itself?"""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The figures of one policy on one thread."""

    policy: str
    title: str
    settings: Mapping[str, Any]
    window: int | None
    rows: tuple[RequestRow, ...]
    compactions: tuple[Compacted, ...]
    losses: Losses
    failures: int
    """Steps that did not succeed."""
    spent: Spending
    """The sum over the rows."""
    pins: tuple[PinHistory, ...] = ()
    """The pins, and their states at each request."""
    expected: ExpectedOutput = TYPICAL
    """Tokens assumed for a summary that no model has written."""

    @property
    def summaries_most_usd(self) -> Decimal | None:
        """Return `spent.summaries_usd` if every summary had the length that its call allows; None without a limit."""
        spent = self.spent
        if spent.most_usd is None or spent.cost_usd is None or spent.summaries_usd is None:
            return None
        return spent.most_usd - spent.cost_usd + spent.summaries_usd

    @property
    def peak(self) -> int:
        """Return the tokens of the largest buffer that was sent."""
        return max((row.tokens for row in self.rows), default=0)

    @property
    def overflows(self) -> int:
        """Return the number of requests whose buffer was larger than the window before the policy's step."""
        return sum(row.refused > 0 for row in self.rows)

    @property
    def over(self) -> int:
        """Return the number of requests larger than the window even after the policy's step: one ends a session."""
        return 0 if self.window is None else sum(row.tokens > self.window for row in self.rows)


def replay_report(
    ground: Ground,
    policy: Policy[Any, Any],
    settings: Any,
    answer: Answerer,
    *,
    remote: bool = False,
    summary_model: str = "",
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> ReplayReport:
    """Drive `policy` over the thread and return its figures.

    A need that the answerer cannot meet fails for the policy, as in use.

    Args:
        ground: The thread.
        policy: The policy.
        settings: Its settings.
        answer: Who meets its needs.
        remote: May the policy use the provider's own compaction?
        summary_model: The model whose prices hold for summaries; empty: the session's own.
        progress: Called after each request with the number of requests done, and of all.
        cancelled: Asked after each request.

    Raises:
        Cancelled: `cancelled` returned True.
    """
    book = _ReplayBook(ground, summary_model)
    driven = replay_requests(ground, policy, settings, answer, remote=remote)
    for replayed in counted_items(driven, len(ground.thread.requests), progress, cancelled):
        book.enter(replayed)
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return book.report(policy.name, policy.title, values)


def counted_items(
    items: Iterable[T],
    count: int,
    progress: Callable[[int, int], None] | None,
    cancelled: Callable[[], bool] | None,
) -> Iterator[T]:
    """Yield each item, and report the progress after it. Raises Cancelled."""
    for done, item in enumerate(items, 1):
        yield item
        if progress is not None:
            progress(done, count)
        checkpoint(done, count)
        if cancelled is not None and cancelled():
            raise Cancelled("The replay was stopped.")


class ReportBook:
    """Collects the figures of a report, request by request."""

    def __init__(self, ground: Ground, summary_model: str = "") -> None:
        sizes = self._sizes = ground.sizes
        self._thread, self._window = ground.thread, ground.window
        self._expected = ground.expected
        self._meter = Meter(sizes, ground.thread.model, summary_model, ground.expected)
        self._cache = ground.cache
        self.ledger = LossLedger(
            ground.facts, lambda message: sizes.tokens(sizes.weigh((message,)))
        )
        self.rows: list[RequestRow] = []
        self.compactions: list[Compacted] = []
        self.failures = 0

    def _add_compactions(self, steps: Iterable[Compacted], spent: Spending) -> None:
        """Add the compactions around one request; the summaries among them share the cost of the calls."""
        listed = list(steps)
        payers = [step for step in listed if step.kind == "summary"] or listed
        price = spent.summaries_usd
        each = price / len(payers) if price is not None and payers else price
        is_estimated = bool(spent.estimated_usd)
        for step in listed:
            if step in payers:
                step = replace(step, summary_usd=each, is_estimated=is_estimated)
            self.compactions.append(step)

    def report(self, policy: str, title: str, settings: Mapping[str, Any]) -> ReplayReport:
        """Return the report of all requests so far."""
        spendings = [row.spent for row in self.rows]
        steps = [self._priced(compaction) for compaction in self.compactions]
        each_economics = economics(self._thread, self._cache, spendings, steps)
        pairs = zip(self.compactions, each_economics, strict=True)
        compactions = tuple(replace(compaction, economics=own) for compaction, own in pairs)
        rows, losses, spent = tuple(self.rows), self.ledger.losses(), total(spendings)
        window, pins = self._window, self.pins()
        return ReplayReport(
            policy,
            title,
            settings,
            window,
            rows,
            compactions,
            losses,
            self.failures,
            spent,
            pins,
            self._expected,
        )

    def _priced(self, compaction: Compacted) -> CompactionStep:
        """Return the compaction with what its economics need; one that the provider made may be part of a call."""
        at, freed = compaction.at.before_request, compaction.tokens_before - compaction.tokens_after
        step = CompactionStep(at, compaction.kind == "summary", freed, compaction.summary_usd)
        if compaction.at.tier != SERVER_SIDE:
            return step
        usage = self._thread.requests[at].usage if at < len(self.rows) else None
        if usage is not None and usage.compacted:
            return step._replace(
                inside=compaction.tokens_before, inside_output=usage.summary_output
            )
        before = self._thread.requests[at - 1].usage if at else None
        paused = before is not None and before.compacted  # that call did nothing else
        return step._replace(summary_usd=self.rows[at - 1].spent.cost_usd) if paused else step

    def pins(self) -> tuple[PinHistory, ...]:
        """Return the pins, with their states at the requests so far."""
        raise NotImplementedError


class _ReplayBook(ReportBook):
    def __init__(self, ground: Ground, summary_model: str = "") -> None:
        super().__init__(ground, summary_model)
        self._pinned = PinTracker(ground.pins)

    def pins(self) -> tuple[PinHistory, ...]:
        return self._pinned.histories()

    def enter(self, done: Replayed) -> None:
        """Add a request of the replay."""
        request = self._thread.requests[done.index]
        is_rewritten = bool(done.arrival.swapped or done.arrival.gone)
        self.ledger.arrive(done.arrival.new, done.index)
        if is_rewritten:
            self.ledger.change(done.start.messages, None)
        self._pinned.prompt(done.start.prompt.system)
        if done.arrival.grown and not is_rewritten:
            self._pinned.change((), done.arrival.new)
        else:
            self._pinned.become(done.start.messages, UNANNOUNCED)
        steps = self._steps(done.before, done.start.messages, done.index, done.index)
        self._pinned.settle(done.index)
        self.ledger.arrive(done.answer, done.index)
        self._pinned.change((), done.answer)
        steps += self._steps(done.after, done.answered.messages, done.index, done.index + 1)
        output = request.usage.output if request.usage else 0
        reported = request.usage if done.kind == "reported" else None
        cache, model, time = self._cache[done.index], request.model, request.time
        spent = self._meter.request(
            done.buffer,
            done.tokens,
            output,
            done.needs,
            model,
            time,
            cache,
            reported,
            done.index,
            done.needs_after,
        )
        self.rows.append(
            RequestRow(
                done.index,
                done.tokens,
                done.kind,
                len(done.buffer.messages),
                done.fired,
                done.refused,
                spent,
            )
        )
        self._add_compactions(steps, spent)

    def _steps(
        self, outcomes: Sequence[Outcome[Any]], messages: Any, index: int, before_request: int
    ) -> list[Compacted]:
        """Follow the outcomes of tiers, and return the compactions among them."""
        compactions = list[Compacted]()
        for outcome in outcomes:
            self.failures += not outcome.succeeded and bool(outcome.error)
            new = outcome.buffer.messages
            if new is not messages and new != messages:
                at = At(before_request, outcome.tier)
                self.ledger.change(new, at)
                self._pinned.become(new, outcome.tier)
                compactions.append(self._compacted(at, messages, new, index))
            messages = new
        return compactions

    def _compacted(self, at: At, before: Any, after: Any, index: int) -> Compacted:
        remaining = {message.id for message in after}
        kind: CompactedKind = (
            "micro" if all(message.id in remaining for message in before) else "summary"
        )
        return Compacted(
            at, kind, self._size(index, before), self._size(index, after), len(before), len(after)
        )

    def _size(self, index: int, messages: Any) -> int:
        """Return the tokens of a buffer of the policy at a request."""
        prompt = self._thread.requests[index].prompt
        return self._sizes.size(index, self._sizes.weigh_buffer(messages), prompt, False)[0]
