"""Report the compactions and costs of the recorded session itself, in the form of a policy's report."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from inspector.core.drops import Drop, silent_losses
from inspector.core.heavy import checkpoint
from inspector.core.replay.costs import Spending, spent, total
from inspector.core.replay.driver import Ground
from inspector.core.replay.pins import PinHistory, recorded_pins
from inspector.core.replay.regret import At, Losses, LossLedger
from inspector.core.replay.report import (
    RECORDED,
    TITLE,
    Compacted,
    CompactedKind,
    ReplayReport,
    ReportBook,
    RequestRow,
    counted_items,
)
from inspector.core.replay.summary_calls import (
    SummaryCall,
    recorded_summary_call,
)
from inspector.core.session import (
    SERVER_SIDE,
    Compaction,
    Request,
    SideCall,
    first_place,
    seconds_between,
)
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.tokens.prices import side_model
from inspector.core.usage import Usage


def recorded(
    ground: Ground,
    *,
    losses: bool = True,
    drops: Mapping[int, Drop] | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> ReplayReport:
    """Return the report of the recorded session.

    A summary call that is recorded as a side call has its recorded cost. O(messages), plus O(buffer) at each request
    whose buffer changed other than by appending.

    Args:
        ground: The shared data of the thread.
        losses: True to find the facts that compactions and silent drops lost. False takes a fifth of the time.
        drops: The silent drops of the thread, by request; None to find them here.
        progress: Called after each request with (requests done, all requests).
        cancelled: Called after each request; True stops the work.

    Raises:
        Cancelled: `cancelled` returned True.
    """
    if drops is None:
        drops = silent_losses(ground.thread) if losses else {}
    book = _RecordedBook(ground, drops, follows=losses)
    for request in counted_items(
        ground.thread.requests,
        count=len(ground.thread.requests),
        progress=progress,
        cancelled=cancelled,
    ):
        book.enter(request)
    book.close()
    return book.report(RECORDED, TITLE, {})


def recorded_facts_lost(ground: Ground, drops: Mapping[int, Drop]) -> Losses:
    """Return the facts that the recorded compactions and silent drops lost. O(messages).

    Computes no sizes and costs, and so is much quicker than `recorded`.

    Args:
        ground: The shared data of the thread.
        drops: The silent drops of the thread, by request.
    """
    ledger = LossLedger(ground.facts, lambda _: 0)
    walk = _RecordedWalk(ground, drops, ledger)
    for request in ground.thread.requests:
        checkpoint(request.index, len(ground.thread.requests))
        walk.enter(request)
    walk.close()
    return ledger.losses()


class _RecordedWalk:
    """Reports the recorded buffers of a thread to a ledger."""

    def __init__(self, ground: Ground, drops: Mapping[int, Drop], ledger: LossLedger) -> None:
        self._thread = ground.thread
        self._arrivals = ground.arrivals
        self._drops = drops
        self._ledger = ledger
        self.compactions = defaultdict[int, list[tuple[int, Compaction]]](list)
        """(number, compaction) of the compactions before each request."""
        for number, compaction in enumerate(ground.thread.compactions):
            if compaction.before_request >= first_place(ground.thread):
                at = min(compaction.before_request, len(ground.thread.requests))
                self.compactions[at].append((number, compaction))

    def enter(self, request: Request) -> None:
        """Report the messages that arrived before a request, and the change of its buffer."""
        index = request.index
        arrival = self._arrivals[request.index]
        compactions = self.compactions[index]
        self._ledger.arrive(arrival.answer, index - 1)
        self._ledger.arrive(arrival.new, index)
        if compactions and not index and request.asked is not None:
            self._ledger.arrive(request.asked, index)
        drop = self._drops.get(index)
        name: str = drop.kind if drop is not None else ""
        if compactions:
            _, newest = compactions[-1]
            name = newest.name
        if name or arrival.swapped or arrival.gone:
            at = At(index, name, _is_readable(compactions)) if name else None
            self._ledger.change(request.view.messages(), at)

    def close(self) -> None:
        """Report the messages and the compactions after the last request."""
        end = len(self._thread.requests)
        last = self._arrivals[end]
        compactions = self.compactions[end]
        self._ledger.arrive(last.answer, max(0, end - 1))
        self._ledger.arrive(last.new, end)
        if compactions:
            _, newest = compactions[-1]
            at = At(end, newest.name, _is_readable(compactions))
            self._ledger.change(self._thread.end.messages(), at)


class _RecordedBook(ReportBook):
    def __init__(self, ground: Ground, drops: Mapping[int, Drop], follows: bool) -> None:
        super().__init__(ground)
        self._follows = follows
        """True if lost facts are followed."""
        self._drops = drops
        self._pins = ground.pins
        self._walk = _RecordedWalk(ground, drops, self.ledger)
        self._recorded = self._walk.compactions
        self._calls = defaultdict[int, list[SideCall]](list)
        for call in ground.calls:
            if (
                call.thread == ground.thread.id
                and call.kind == "compaction"
                and call.made is not None
                and call.usage
            ):
                self._calls[call.made].append(call)
        self._model = ground.thread.model

    def enter(self, request: Request) -> None:
        """Add the row of a recorded request, and the compactions before it."""
        index = request.index
        if self._follows:
            self._walk.enter(request)
        tokens, kind = self._sizes.size(
            index, self._sizes.weigh(request.view), request.prompt, True
        )
        cost = self._meter.request(
            request, tokens, 0, (), request.model, request.time, self._cache[index], request.usage
        )
        cost = cost if request.usage is not None else replace(cost, estimated_usd=cost.cost_usd)
        called = self._summaries(index, request.time)
        cost = total((cost, called)) if called.summariser_calls else cost
        self._model = request.model or self._model
        fired = tuple(dict.fromkeys(compaction.name for _, compaction in self._recorded[index]))
        self.rows.append(
            RequestRow(
                index, tokens, kind, messages=len(request.view), fired=fired, refused=0, spent=cost
            )
        )
        self._enter_compactions(index, called)

    def pins(self) -> tuple[PinHistory, ...]:
        return recorded_pins(self._thread, self._pins)

    def close(self) -> None:
        """Add the compactions after the last request, and their summary calls."""
        end = len(self._thread.requests)
        if self._follows:
            self._walk.close()
        if self.rows:
            called = self._summaries(end, self._thread.requests[-1].time)
            last_row = self.rows[-1]
            self.rows[-1] = replace(last_row, spent=total((last_row.spent, called)))
            self._enter_compactions(end, called)

    def _enter_compactions(self, index: int, called: Spending) -> None:
        """Add the compactions before a request. Several with one name, such as single edits, become one step."""
        steps = dict[str, Compacted]()
        for _, compaction in self._recorded[index]:
            step = self._recorded_step(index, compaction)
            earlier = steps.get(compaction.name)
            if earlier is not None:
                step = replace(step, tokens_before=earlier.tokens_before)
            steps[compaction.name] = step
        self._add_compactions(steps.values(), called)

    def _recorded_step(self, index: int, compaction: Compaction) -> Compacted:
        requests = self._thread.requests
        before, after = compaction_sizes(self._thread, self._sizes.pressures, compaction).tokens
        if before is None:
            before = self.rows[max(0, index - 1)].tokens
        if after is None:
            after = self.rows[index].tokens if index < len(self.rows) else self._sizes.end
        kind: CompactedKind = "summary" if compaction.kind == "summary" else "micro"
        messages_before = len(requests[index - 1].view) if index else len(requests[0].asked or ())
        messages_after = len(self._thread.place(index).view)
        at = At(index, compaction.name, compaction.is_readable)
        return Compacted(at, kind, before, after, messages_before, messages_after)

    def _summaries(self, index: int, time: str) -> Spending:
        """Return the cost of the summary calls for the recorded compactions before a request."""
        spendings = []
        for number, compaction in self._recorded[index]:
            calls = self._calls.get(number, ())
            for call in calls:
                if call.usage is not None:
                    summary = SummaryCall(call.usage, call.usage.output)
                    model = side_model(call, self._thread)
                    spendings.append(
                        spent(Usage(), model, time=call.time or time, calls=(summary,))
                    )
            assumed = None if calls else self._assumed_call(index, compaction)
            if assumed is not None:
                called = spent(Usage(), self._model, time, calls=(assumed,))
                spendings.append(replace(called, estimated_usd=called.cost_usd))
        return total(spendings)

    def _assumed_call(self, index: int, compaction: Compaction) -> SummaryCall | None:
        """Return the expected summary call of a compaction whose call is not recorded; None if it needed no call."""
        if compaction.kind != "summary" or compaction.trigger == SERVER_SIDE or not index:
            return None
        sent = compaction_sizes(self._thread, self._sizes.pressures, compaction).before.tokens
        last = self.rows[index - 1].tokens
        pause = seconds_between(self._thread.requests[index - 1].time, compaction.time)
        expired = pause is not None and pause > self._cache[index - 1].ttl_s
        cached = 0 if expired or not self._cache[0].caches else last
        output = self._expected.tokens
        if compaction.summary is not None and compaction.is_readable:
            output = self._sizes.sizer(index).row(compaction.summary)
        if sent is None:
            sent = last
        return recorded_summary_call(sent, cached, output)


def _is_readable(compactions: Iterable[tuple[int, Compaction]]) -> bool:
    return all(compaction.is_readable for _, compaction in compactions)
