"""What happened, in the figures of a replay: the base line that every policy is compared with.

Sizes, cache and prices are those that the provider reported. A call that reports nothing is worked out as in a replay.
The file seldom holds the call for a recorded summary: it is taken for one more request on the buffer that was
summarised, reading from the cache what still lives there, which is the cheapest that it can have been. What was
compacted before the first request is where every policy begins, too: it is left out.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from inspector.core.errors import Cancelled
from inspector.core.replay.costs import Meter, Spent, seconds_between, spent, total
from inspector.core.replay.regret import At, Ledger
from inspector.core.replay.report import Compacted, CompactedKind, Ground, Report, Row
from inspector.core.session import Compaction, Request, SideCall
from inspector.core.tokens.compacted import compaction_sizes
from inspector.core.usage import Usage

RECORDED, TITLE = "recorded", "Session as recorded"


def recorded(
    ground: Ground,
    *,
    calls: Sequence[SideCall] = (),
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Report:
    """The thread itself as a report. `calls`: those beside the conversation, where the file holds them; a recorded
    summary among them costs what it did. Raises Cancelled. O(messages), and a walk over the buffer where it was not
    merely appended to."""
    book, count = _Book(ground, calls), len(ground.thread.requests)
    for request in ground.thread.requests:
        book.enter(request)
        if progress is not None:
            progress(request.index + 1, count)
        if cancelled is not None and cancelled():
            raise Cancelled("The replay was stopped.")
    book.close()
    rows = tuple(book.rows)
    return Report(
        RECORDED, TITLE, {}, ground.window, rows, tuple(book.compactions), book.ledger.losses(), 0,
        total(row.spent for row in rows),
    )  # fmt: skip


class _Book:
    def __init__(self, ground: Ground, calls: Sequence[SideCall]) -> None:
        self._thread, self._arrivals = ground.thread, ground.known.arrivals
        sizes = self._sizes = ground.known.sizes
        self._meter, self._cache = Meter(sizes, ground.thread.model), ground.cache
        self._calls = {
            one.made: one
            for one in calls
            if one.thread == ground.thread.id and one.kind == "compaction" and one.made is not None
        }
        self._model = ground.thread.model
        self._made = defaultdict[int, list[tuple[int, Compaction]]](list)
        for n, one in enumerate(ground.thread.compactions):
            if one.before_request:
                self._made[min(one.before_request, len(ground.thread.requests))].append((n, one))
        self.ledger = Ledger(ground.facts, lambda message: sizes.tokens(sizes.weigh((message,))))
        self.rows: list[Row] = []
        self.compactions: list[Compacted] = []

    def enter(self, request: Request) -> None:
        """One request more."""
        index, arrival = request.index, self._arrivals[request.index]
        made = self._made[index]
        self.ledger.arrive(arrival.answer, index - 1)
        self.ledger.arrive(arrival.new, index)
        buffer = request.buffer()
        if made or arrival.swapped or arrival.gone:
            self.ledger.change(buffer.messages, At(index, _name(made[-1][1])) if made else None)
        tokens, kind = self._sizes.size(index, self._sizes.weigh_buffer(buffer.messages), request.prompt, True)
        cost = self._meter.request(
            buffer, tokens, 0, (), request.model, request.time, self._cache[index], request.usage
        )
        if asked := self._summaries(index):
            cost = total((cost, self._called(asked, request.time)))
        self._model = request.model or self._model
        fired = tuple(dict.fromkeys(_name(one) for _, one in made))
        self.rows.append(Row(index, tokens, kind, len(buffer.messages), fired, 0, cost))
        self._enter_compactions(index)

    def close(self) -> None:
        """What came after the last request."""
        end = len(self._thread.requests)
        last, made = self._arrivals[end], self._made[end]
        self.ledger.arrive(last.answer, max(0, end - 1))
        self.ledger.arrive(last.new, end)
        if made:
            self.ledger.change(self._thread.end.messages(), At(end, _name(made[-1][1])))
        if self.rows:
            called = self._called(self._summaries(end), self._thread.requests[-1].time)
            self.rows[-1] = replace(self.rows[-1], spent=total((self.rows[-1].spent, called)))
        self._enter_compactions(end)

    def _called(self, calls: Sequence[Usage], time: str) -> Spent:
        return spent(Usage(), self._model, time, calls)

    def _enter_compactions(self, index: int) -> None:
        """Those before a request; several of one name there (messages edited one by one) are one step."""
        steps = dict[str, Compacted]()
        for _, one in self._made[index]:
            new, known = self._compacted(index, one), steps.get(_name(one))
            steps[_name(one)] = new if known is None else replace(new, tokens_before=known.tokens_before)
        self.compactions += steps.values()

    def _compacted(self, index: int, one: Compaction) -> Compacted:
        requests = self._thread.requests
        then = requests[index].view if index < len(requests) else self._thread.end
        before, after = compaction_sizes(self._thread, one)
        if before is None:
            before = self.rows[index - 1].tokens
        if after is None:
            known = index < len(self.rows)
            after = self.rows[index].tokens if known else self._sizes.tokens(self._sizes.weigh(then))
        kind: CompactedKind = "summary" if one.kind == "summary" else "micro"
        stood = len(requests[index - 1].view)
        return Compacted(At(index, _name(one)), kind, before, after, stood, len(then))

    def _summaries(self, index: int) -> list[Usage]:
        """The calls for the recorded summaries before a request; none for what no model wrote."""
        found = []
        for number, one in self._made[index]:
            known = self._calls.get(number)
            usage = known.usage if known is not None else self._summary(index, one)
            found += [usage] if usage is not None else []
        return found

    def _summary(self, index: int, one: Compaction) -> Usage | None:
        if one.summary is None or one.kind != "summary":
            return None
        sent, _ = compaction_sizes(self._thread, one)
        last = self.rows[index - 1].tokens
        pause = seconds_between(self._thread.requests[index - 1].time, one.time)
        expired = pause is not None and pause > self._cache[index - 1].ttl_s
        sent = last if sent is None else sent
        read = 0 if expired or not self._cache[0].caches else min(sent, last)
        return Usage(sent - read, read, 0, self._sizes.tokens(self._sizes.weigh((one.summary,))))


def _name(one: Compaction) -> str:
    return one.trigger or one.kind
