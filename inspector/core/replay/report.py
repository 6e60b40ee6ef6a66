"""Collect the figures of a replay: per request, per compaction, in total, and the lost facts.

The recorded session is reported in the same figures, as the baseline of every policy. The command line prints reports,
a sweep compares them, and the view of several policies shows them. Totals are exactly the sums over the requests.

For the recorded session, sizes, cache and costs are those that the provider reported. A request without a report is
computed as in a replay. Files seldom record the summary call of a compaction. Such a call is assumed to be one more
request on the buffer that was summarised, with the best possible use of the cache. The costs of both are also in
`estimated_usd`; without them, the cost equals the bill of the recorded requests (`findings.spending`). A compaction
before the first request is left out, because every policy begins after it. A summary that cannot be read counts like
any other (`summary_calls`).
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
"""Name and title of the report of the recorded session."""
CompactedKind: TypeAlias = Literal["summary", "micro"]


@dataclass(frozen=True, slots=True)
class RequestRow:
    """The figures of one request of a replay."""

    index: int
    tokens: int
    """Tokens of the buffer that was sent."""
    kind: PressureKind
    messages: int
    fired: tuple[str, ...]
    refused: int
    """Tokens of the buffer that was refused because it was larger than the window; 0 if none was refused."""
    spent: Spending


@dataclass(frozen=True, slots=True)
class Compacted:
    """The figures of a step that changed the buffer. Sizes are in tokens, as computed by `costs.Sizes`."""

    at: At
    kind: CompactedKind
    """summary: messages were removed; micro: contents were cleared or cut."""
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    summary_usd: Decimal | None = Decimal(0)
    """Cost of the summary calls; None if a price is not known."""
    is_estimated: bool = False
    """True if the cost is estimated, because the summary calls report no usage."""
    economics: Economics = UNKNOWN
    """Whether and when the step paid for itself."""


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
    """Number of steps that failed."""
    spent: Spending
    """The sum over the rows."""
    pins: tuple[PinHistory, ...] = ()
    """The pins and their states at every request."""
    expected: ExpectedOutput = TYPICAL
    """Expected length of a summary that no model has written."""

    @property
    def summaries_most_usd(self) -> Decimal | None:
        """Return the cost of summaries if each had the maximum length of its call; None if a call has no limit."""
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
        """Return the number of requests whose buffer was refused because it was larger than the window."""
        return sum(row.refused > 0 for row in self.rows)

    @property
    def over(self) -> int:
        """Return the number of sent requests larger than the window. In real use, one such request ends the session."""
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
    """Run `policy` over the thread and return its figures.

    A need that the answerer cannot meet fails for the policy, as in real use.

    Args:
        ground: The shared data of the thread.
        policy: The policy to run.
        settings: The settings of the policy.
        answer: Answers the needs of the policy.
        remote: True if the policy may use the provider's own compaction.
        summary_model: The model whose prices apply to summaries; empty for the model of the session.
        progress: Called after each request with (requests done, all requests).
        cancelled: Called after each request; True stops the replay.

    Raises:
        Cancelled: `cancelled` returned True.
    """
    book = _ReplayBook(ground, summary_model)
    driven = replay_requests(ground, policy, settings, answer, remote=remote)
    for replayed in counted_items(
        driven, count=len(ground.thread.requests), progress=progress, cancelled=cancelled
    ):
        book.enter(replayed)
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return book.report(policy.name, policy.title, values)


def counted_items(
    items: Iterable[T],
    count: int,
    progress: Callable[[int, int], None] | None,
    cancelled: Callable[[], bool] | None,
) -> Iterator[T]:
    """Yield each item, and report the progress after each. Raises Cancelled if `cancelled` returns True."""
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
        """Add the compactions around one request. The summaries among them share the cost of the summary calls."""
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
        each_economics = economics(self._thread, self._cache, spent=spendings, steps=steps)
        pairs = zip(self.compactions, each_economics, strict=True)
        compactions = tuple(replace(compaction, economics=own) for compaction, own in pairs)
        rows = tuple(self.rows)
        losses = self.ledger.losses()
        spent = total(spendings)
        window = self._window
        pins = self.pins()
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
        """Return the compaction as a priced step for `economics`. The provider's own may be part of a request."""
        at = compaction.at.before_request
        freed = compaction.tokens_before - compaction.tokens_after
        step = CompactionStep(
            at, ends=compaction.kind == "summary", freed=freed, summary_usd=compaction.summary_usd
        )
        if compaction.at.tier != SERVER_SIDE:
            return step
        usage = self._thread.requests[at].usage if at < len(self.rows) else None
        if usage is not None and usage.compacted:
            return step._replace(
                inside=compaction.tokens_before, inside_output=usage.summary_output
            )
        usage_before = self._thread.requests[at - 1].usage if at else None
        if usage_before is not None and usage_before.compacted:  # that request only compacted
            return step._replace(summary_usd=self.rows[at - 1].spent.cost_usd)
        return step

    def pins(self) -> tuple[PinHistory, ...]:
        """Return the pins with their states at the requests so far."""
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
        self._pinned.set_prompt(done.start.prompt.system)
        if done.arrival.grown and not is_rewritten:
            self._pinned.change((), done.arrival.new)
        else:
            self._pinned.replace_buffer(done.start.messages, UNANNOUNCED)
        steps = self._steps(done.before, done.start.messages, done.index, before_request=done.index)
        self._pinned.note_request(done.index)
        self.ledger.arrive(done.answer, done.index)
        self._pinned.change((), done.answer)
        steps += self._steps(
            done.after, done.answered.messages, done.index, before_request=done.index + 1
        )
        output = request.usage.output if request.usage else 0
        reported = request.usage if done.kind == "reported" else None
        spent = self._meter.request(
            done.buffer,
            done.tokens,
            output,
            done.needs,
            request.model,
            request.time,
            self._cache[done.index],
            reported,
            done.index,
            done.needs_after,
        )
        self.rows.append(
            RequestRow(
                done.index,
                done.tokens,
                done.kind,
                messages=len(done.buffer.messages),
                fired=done.fired,
                refused=done.refused,
                spent=spent,
            )
        )
        self._add_compactions(steps, spent)

    def _steps(
        self, outcomes: Sequence[Outcome[Any]], messages: Any, index: int, before_request: int
    ) -> list[Compacted]:
        """Record the outcomes of tiers, and return those that changed the buffer."""
        compactions = list[Compacted]()
        for outcome in outcomes:
            self.failures += not outcome.succeeded and bool(outcome.error)
            new = outcome.buffer.messages
            if new is not messages and new != messages:
                at = At(before_request, outcome.tier)
                self.ledger.change(new, at)
                self._pinned.replace_buffer(new, outcome.tier)
                compactions.append(self._compacted(at, messages, new, index))
            messages = new
        return compactions

    def _compacted(self, at: At, before: Any, after: Any, index: int) -> Compacted:
        remaining = {message.id for message in after}
        kind: CompactedKind = (
            "micro" if all(message.id in remaining for message in before) else "summary"
        )
        return Compacted(
            at,
            kind,
            tokens_before=self._size(index, before),
            tokens_after=self._size(index, after),
            messages_before=len(before),
            messages_after=len(after),
        )

    def _size(self, index: int, messages: Any) -> int:
        """Return the tokens of a buffer of the policy at a request."""
        prompt = self._thread.requests[index].prompt
        return self._sizes.size(index, self._sizes.weigh_buffer(messages), prompt, False)[0]
