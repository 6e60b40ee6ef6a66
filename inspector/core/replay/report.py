"""A replay in figures: per request, per compaction, in total, and what was lost. And what happened, in the same
figures: the base line that every policy is compared with.

A report is what the command line prints, what a sweep compares, and what a view of several policies shows. Totals are
the sums over the requests, exactly.

Of what happened sizes, cache and prices are those that the provider reported. A call that reports nothing is worked out
as in a replay. The file seldom holds the call for a recorded summary: it is taken for one more request on the buffer
that was summarised, reading from the cache what still lives there, which is the cheapest that it can have been. Both
are counted apart (`estimated_usd`): without them the cost is what the bill (`findings.spending`) says of these
calls. What was compacted before the first request is where every policy begins, too: it is left out. A summary that
cannot be read counts as long as others (`summary_calls`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias, TypeVar

from inspector.core.answering import Answerer
from inspector.core.drops import Drop, silent_losses
from inspector.core.errors import Cancelled
from inspector.core.heavy import checkpoint
from inspector.core.outcome import Outcome
from inspector.core.policies.harness import Policy
from inspector.core.replay.costs import Meter, Spending, spent, total
from inspector.core.replay.driver import Ground, Replayed, replay
from inspector.core.replay.economics import UNKNOWN, CompactionStep, Economics, economics
from inspector.core.replay.pins import UNANNOUNCED, PinHistory, PinTracker, recorded_pins
from inspector.core.replay.regret import At, Losses, LossLedger
from inspector.core.replay.summary_calls import TYPICAL, ExpectedOutput, SummaryCall, recorded_summary_call
from inspector.core.session import (
    SERVER_SIDE,
    Compaction,
    Request,
    SideCall,
    first_place,
    seconds_between,
)
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.tokens.pressure import PressureKind
from inspector.core.tokens.prices import side_model
from inspector.core.usage import Usage

T = TypeVar("T")
CompactedKind: TypeAlias = Literal["summary", "micro"]


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request."""

    index: int
    tokens: int
    """Of the buffer that was sent."""
    kind: PressureKind
    messages: int
    fired: tuple[str, ...]
    refused: int
    """Tokens of the buffer that was larger than the window, before the policy's step; 0 where none was."""
    spent: Spending


@dataclass(frozen=True, slots=True)
class Compacted:
    """A step that changed the buffer. Sizes in tokens, as `costs.Sizes` works them out."""

    at: At
    kind: CompactedKind
    """summary: messages went; micro: contents were cleared or cut in place."""
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    summary_usd: Decimal | None = Decimal(0)
    """Of the calls for it; None where a price is not known."""
    is_estimated: bool = False
    """No usage tells of these calls."""
    economics: Economics = UNKNOWN
    """Whether it paid."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """One policy on one thread."""

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
    """What should stay, and whether it did."""
    expected: ExpectedOutput = TYPICAL
    """What a summary counts that no model has written."""

    @property
    def summaries_most_usd(self) -> Decimal | None:
        """As `spent.summaries_usd`, were every summary as long as its call allows; None where nothing limits one."""
        spent = self.spent
        if spent.most_usd is None or spent.cost_usd is None or spent.summaries_usd is None:
            return None
        return spent.most_usd - spent.cost_usd + spent.summaries_usd

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
) -> ReplayReport:
    """Drive `policy` over the thread and account for it. Raises Cancelled, and what the answerer cannot meet
    fails for the policy as in use. `summary_model`: whose prices hold for summaries; default the session's own."""
    book = _ReplayBook(ground, summary_model)
    driven = replay(ground, policy, settings, answer, remote=remote)
    for done in _watched(driven, len(ground.thread.requests), progress, cancelled):
        book.enter(done)
    return book.report(policy.name, policy.title, {one.name: getattr(settings, one.name) for one in fields(settings)})


def _watched(
    found: Iterable[T],
    count: int,
    progress: Callable[[int, int], None] | None,
    cancelled: Callable[[], bool] | None,
) -> Iterator[T]:
    """Each, and after each how far it is. Raises Cancelled."""
    for done, one in enumerate(found, 1):
        yield one
        if progress is not None:
            progress(done, count)
        checkpoint()
        if cancelled is not None and cancelled():
            raise Cancelled("The replay was stopped.")


class _ReportBook:
    """What a report is made of, request by request."""

    def __init__(self, ground: Ground, summary_model: str = "") -> None:
        sizes = self._sizes = ground.sizes
        self._thread, self._window = ground.thread, ground.window
        self._expected = ground.expected
        self._meter = Meter(sizes, ground.thread.model, summary_model, ground.expected)
        self._cache = ground.cache
        self.ledger = LossLedger(ground.facts, lambda message: sizes.tokens(sizes.weigh((message,))))
        self.rows: list[RequestRow] = []
        self.compactions: list[Compacted] = []
        self.failures = 0

    def _add_compactions(self, steps: Iterable[Compacted], spent: Spending) -> None:
        """Those around one request; the calls for summaries are shared by those that made one."""
        listed = list(steps)
        made = [one for one in listed if one.kind == "summary"] or listed
        price = spent.summaries_usd
        each = price / len(made) if price is not None and made else price
        guess = bool(spent.estimated_usd)
        self.compactions += [
            replace(one, summary_usd=each, is_estimated=guess) if one in made else one for one in listed
        ]

    def report(self, policy: str, title: str, settings: Mapping[str, Any]) -> ReplayReport:
        """All of it."""
        spendings = [row.spent for row in self.rows]
        steps = [self._priced(compaction) for compaction in self.compactions]
        paid = economics(self._thread, self._cache, spendings, steps)
        compactions = (replace(one, economics=known) for one, known in zip(self.compactions, paid, strict=True))
        return ReplayReport(
            policy,
            title,
            settings,
            self._window,
            tuple(self.rows),
            tuple(compactions),
            self.ledger.losses(),
            self.failures,
            total(spendings),
            self.pins(),
            self._expected,
        )

    def _priced(self, one: Compacted) -> CompactionStep:
        at, freed = one.at.before_request, one.tokens_before - one.tokens_after
        step = CompactionStep(at, one.kind == "summary", freed, one.summary_usd)
        if one.at.tier != SERVER_SIDE:
            return step
        usage = self._thread.requests[at].usage if at < len(self.rows) else None
        if usage is not None and usage.compacted:
            return step._replace(inside=one.tokens_before, inside_output=usage.summary_output)
        before = self._thread.requests[at - 1].usage if at else None
        paused = before is not None and before.compacted  # that call did nothing else
        return step._replace(summary_usd=self.rows[at - 1].spent.cost_usd) if paused else step

    def pins(self) -> tuple[PinHistory, ...]:
        """All of them, over the requests so far."""
        raise NotImplementedError


class _ReplayBook(_ReportBook):
    def __init__(self, ground: Ground, summary_model: str = "") -> None:
        super().__init__(ground, summary_model)
        self._pinned = PinTracker(ground.pins)

    def pins(self) -> tuple[PinHistory, ...]:
        return self._pinned.histories()

    def enter(self, done: Replayed) -> None:
        """One request more."""
        request = self._thread.requests[done.index]
        self.ledger.arrive(done.arrival.new, done.index)
        if done.arrival.swapped or done.arrival.gone:
            self.ledger.change(done.start.messages, None)
        self._pinned.prompt(done.start.prompt.system)
        if done.arrival.grown and not (done.arrival.swapped or done.arrival.gone):
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
        known = self._cache[done.index]
        spent = self._meter.request(
            done.buffer,
            done.tokens,
            output,
            done.asked,
            request.model,
            request.time,
            known,
            reported,
            done.index,
            done.asked_after,
        )
        self.rows.append(
            RequestRow(done.index, done.tokens, done.kind, len(done.buffer.messages), done.fired, done.refused, spent)
        )
        self._add_compactions(steps, spent)

    def _steps(
        self, outcomes: Sequence[Outcome[Any]], messages: Any, index: int, before_request: int
    ) -> list[Compacted]:
        found = list[Compacted]()
        for outcome in outcomes:
            self.failures += not outcome.succeeded and bool(outcome.error)
            new = outcome.buffer.messages
            if new is not messages and new != messages:
                at = At(before_request, outcome.tier)
                self.ledger.change(new, at)
                self._pinned.become(new, outcome.tier)
                found.append(self._compacted(at, messages, new, index))
            messages = new
        return found

    def _compacted(self, at: At, before: Any, after: Any, index: int) -> Compacted:
        prompt = self._thread.requests[index].prompt
        sizes = [self._sizes.size(index, self._sizes.weigh_buffer(one), prompt, False)[0] for one in (before, after)]
        stays = {message.id for message in after}
        kind: CompactedKind = "micro" if all(message.id in stays for message in before) else "summary"
        return Compacted(at, kind, sizes[0], sizes[1], len(before), len(after))


RECORDED, TITLE = "recorded", "Session as recorded"


def recorded(
    ground: Ground,
    *,
    losses: bool = True,
    drops: Mapping[int, Drop] | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> ReplayReport:
    """Report the thread itself. O(messages), and a walk over the buffer where it was not merely appended to.

    A recorded summary among the calls beside the conversation costs what it did.

    Args:
        ground: The thread.
        losses: What compactions and silent drops lost. False: it tells of none, and takes a fifth of the time.
        drops: The silent drops of the thread, by request; None = look for them.
        progress: Called after each request with how many are done, and of how many.
        cancelled: Asked after each request.

    Raises:
        Cancelled: `cancelled` said so.
    """
    if drops is None:
        drops = silent_losses(ground.thread) if losses else {}
    book = _RecordedBook(ground, drops, follows=losses)
    for request in _watched(ground.thread.requests, len(ground.thread.requests), progress, cancelled):
        book.enter(request)
    book.close()
    return book.report(RECORDED, TITLE, {})


def recorded_facts_lost(ground: Ground, drops: Mapping[int, Drop]) -> Losses:
    """Return what the recorded compactions and silent drops lost, without sizes and cost: much quicker than `recorded`.

    O(messages).

    Args:
        ground: The thread.
        drops: Its silent drops, by request.
    """
    ledger = LossLedger(ground.facts, lambda _: 0)
    walk = _RecordedWalk(ground, drops, ledger)
    for request in ground.thread.requests:
        checkpoint()
        walk.enter(request)
    walk.close()
    return ledger.losses()


class _RecordedWalk:
    """Takes a ledger through the recorded buffers of a thread."""

    def __init__(self, ground: Ground, drops: Mapping[int, Drop], ledger: LossLedger) -> None:
        self._thread, self._arrivals, self._drops, self._ledger = ground.thread, ground.arrivals, drops, ledger
        self.made = defaultdict[int, list[tuple[int, Compaction]]](list)
        """The compactions before each request, with their numbers."""
        for n, one in enumerate(ground.thread.compactions):
            if one.before_request >= first_place(ground.thread):
                self.made[min(one.before_request, len(ground.thread.requests))].append((n, one))

    def enter(self, request: Request) -> None:
        """What comes before a request, and what its buffer lost."""
        index, arrival, made = request.index, self._arrivals[request.index], self.made[request.index]
        self._ledger.arrive(arrival.answer, index - 1)
        self._ledger.arrive(arrival.new, index)
        if made and not index and request.asked is not None:
            self._ledger.arrive(request.asked, index)
        drop = self._drops.get(index)
        name: str = drop.kind if drop is not None else ""
        if made:
            name = made[-1][1].name
        if name or arrival.swapped or arrival.gone:
            at = At(index, name, _is_readable(made)) if name else None
            self._ledger.change(request.view.messages(), at)

    def close(self) -> None:
        """What came after the last request."""
        end = len(self._thread.requests)
        last, made = self._arrivals[end], self.made[end]
        self._ledger.arrive(last.answer, max(0, end - 1))
        self._ledger.arrive(last.new, end)
        if made:
            self._ledger.change(self._thread.end.messages(), At(end, made[-1][1].name, _is_readable(made)))


class _RecordedBook(_ReportBook):
    def __init__(self, ground: Ground, drops: Mapping[int, Drop], follows: bool) -> None:
        super().__init__(ground)
        self._follows = follows
        """The ledger follows the facts."""
        self._drops, self._pins = drops, ground.pins
        self._walk = _RecordedWalk(ground, drops, self.ledger)
        self._made = self._walk.made
        self._calls = defaultdict[int, list[SideCall]](list)
        for call in ground.calls:
            if call.thread == ground.thread.id and call.kind == "compaction" and call.made is not None and call.usage:
                self._calls[call.made].append(call)
        self._model = ground.thread.model

    def enter(self, request: Request) -> None:
        """One request more."""
        index, made = request.index, self._made[request.index]
        if self._follows:
            self._walk.enter(request)
        tokens, kind = self._sizes.size(index, self._sizes.weigh(request.view), request.prompt, True)
        cost = self._meter.request(
            request, tokens, 0, (), request.model, request.time, self._cache[index], request.usage
        )
        cost = cost if request.usage is not None else replace(cost, estimated_usd=cost.cost_usd)
        called = self._summaries(index, request.time)
        cost = total((cost, called)) if called.summariser_calls else cost
        self._model = request.model or self._model
        fired = tuple(dict.fromkeys(one.name for _, one in made))
        self.rows.append(RequestRow(index, tokens, kind, len(request.view), fired, 0, cost))
        self._enter_compactions(index, called)

    def pins(self) -> tuple[PinHistory, ...]:
        return recorded_pins(self._thread, self._pins)

    def close(self) -> None:
        """What came after the last request."""
        end = len(self._thread.requests)
        if self._follows:
            self._walk.close()
        if self.rows:
            called = self._summaries(end, self._thread.requests[-1].time)
            self.rows[-1] = replace(self.rows[-1], spent=total((self.rows[-1].spent, called)))
            self._enter_compactions(end, called)

    def _enter_compactions(self, index: int, called: Spending) -> None:
        """Those before a request; several of one name there (messages edited one by one) are one step."""
        steps = dict[str, Compacted]()
        for _, one in self._made[index]:
            new, known = self._compacted(index, one), steps.get(one.name)
            steps[one.name] = new if known is None else replace(new, tokens_before=known.tokens_before)
        self._add_compactions(steps.values(), called)

    def _compacted(self, index: int, one: Compaction) -> Compacted:
        requests, then = self._thread.requests, self._thread.place(index).view
        before, after = compaction_sizes(self._thread, self._sizes.pressures, one).tokens
        if before is None:
            before = self.rows[index - 1].tokens if index else self.rows[0].tokens
        if after is None:
            known = index < len(self.rows)
            after = self.rows[index].tokens if known else self._sizes.end
        kind: CompactedKind = "summary" if one.kind == "summary" else "micro"
        stood = len(requests[index - 1].view) if index else len(requests[0].asked or ())
        return Compacted(At(index, one.name, one.is_readable), kind, before, after, stood, len(then))

    def _summaries(self, index: int, time: str) -> Spending:
        """Price the calls for the recorded summaries before a request; none for what no model wrote."""
        found = []
        for number, one in self._made[index]:
            calls = self._calls.get(number, ())
            found += [
                spent(
                    Usage(),
                    side_model(call, self._thread),
                    call.time or time,
                    (SummaryCall(call.usage, call.usage.output),),
                )
                for call in calls
                if call.usage is not None
            ]
            if not calls and (made := self._summary(index, one)) is not None:
                called = spent(Usage(), self._model, time, (made,))
                found.append(replace(called, estimated_usd=called.cost_usd))
        return total(found)

    def _summary(self, index: int, one: Compaction) -> SummaryCall | None:
        if one.kind != "summary" or one.trigger == SERVER_SIDE or not index:
            return None
        sent = compaction_sizes(self._thread, self._sizes.pressures, one).before.tokens
        last = self.rows[index - 1].tokens
        pause = seconds_between(self._thread.requests[index - 1].time, one.time)
        expired = pause is not None and pause > self._cache[index - 1].ttl_s
        cached = 0 if expired or not self._cache[0].caches else last
        wrote = self._expected.tokens
        if one.summary is not None and one.is_readable:
            wrote = self._sizes.sizer(index).row(one.summary)
        return recorded_summary_call(last if sent is None else sent, cached, wrote)


def _is_readable(made: Iterable[tuple[int, Compaction]]) -> bool:
    return all(one.is_readable for _, one in made)
