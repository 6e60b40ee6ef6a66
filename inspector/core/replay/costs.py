"""Compute what the requests of a replay would have cost: buffer sizes, cache reads and writes, summary calls, prices.

The size of the recorded buffer is the reported size. The size of any other buffer is the predicted count of the
provider, computed as for all numbers on screen (`tokens.sizing`).

The recorded buffer costs what the provider reported. For any other buffer the cache is simulated, in the same way for
every policy: the prefix that the buffer shares with the previous request is read, everything else is written. After a
pause that is longer than the lifetime of a cache entry, everything is written again. The lifetime is five minutes, one
hour if the session wrote one-hour entries, or the documented lifetime if the provider caches automatically. If the
recorded request missed the cache although its buffer only grew (the client was restarted, or changed its tools), the
policy's request misses it too. If the session used no cache, the policy uses none. The minimum size of a cached block
is ignored.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

from inspector.core.answering import AnsweredNeed
from inspector.core.buffer import Buffer, Prompt, View, is_prefix, shared
from inspector.core.heavy import KnownByThread
from inspector.core.message import Message
from inspector.core.prefix import common_length
from inspector.core.replay.summary_calls import (
    TYPICAL,
    CallPlace,
    ExpectedOutput,
    SentBuffer,
    SummaryCall,
    calls_cost,
    expected_output,
    sum_calls,
    summary_calls,
)
from inspector.core.session import Request, SideCall, Thread, seconds_between
from inspector.core.tokens.catalogue import cache_life
from inspector.core.tokens.estimators import messages_weight, prompt_tokens
from inspector.core.tokens.pressure import (
    PressureKind,
    Pressures,
    count_same_requests,
    known_pressures,
)
from inspector.core.tokens.prices import call_cost, named_models, sum_prices
from inspector.core.tokens.sizing import Sizer, sizer
from inspector.core.tokens.windows import model_at
from inspector.core.usage import FIVE_MINUTES_S, Usage, cache_missed, cache_ttl, cache_written

_RECENT = 4


class Sizes:
    """Computes the sizes of buffers of one thread. One instance serves every policy."""

    def __init__(self, thread: Thread) -> None:
        self.pressures = known_pressures(thread)
        self._estimator = self.pressures.by
        self._recent = deque[tuple[tuple[Message, ...], int]]([((), 0)], _RECENT)
        self.slope = self.pressures.scale(None).slope
        """Provider tokens per estimated token in this session."""
        self.end = self.pressures.end.tokens or 0
        """Tokens of the buffer at the end of the thread."""

    def weigh(self, messages: View | Iterable[Message]) -> int:
        """Return the estimator's weight of messages. Weights are additive, and cached for the views of a thread."""
        return messages_weight(self._estimator, messages)

    def weigh_buffer(self, messages: tuple[Message, ...]) -> int:
        """Return the estimator's weight of a buffer. Quick for recent buffers and for extensions of the last one."""
        for recent, weight in self._recent:
            if recent is messages:
                return weight
        recent, weight = self._recent[-1]
        if recent and messages[: len(recent)] == recent:
            weight += self.weigh(messages[len(recent) :])
        else:
            weight = self.weigh(messages)
        self._recent.append((messages, weight))
        return weight

    def tokens(self, weight: int) -> int:
        """Convert the weight of some messages, not of a whole buffer, to tokens."""
        return round(self.slope * self._estimator.tokens(weight))

    def unseen(self, index: int) -> int:
        """Return the tokens of the buffer at request `index` that are not in the transcript."""
        return self.pressures.scale(index).unseen

    def sizer(self, index: int) -> Sizer:
        """Return the sizer of buffers, messages and texts at request `index`."""
        return sizer(self.pressures, index)

    def size(
        self, index: int, weight: int, prompt: Prompt, recorded: bool
    ) -> tuple[int, PressureKind]:
        """Return (tokens, kind of the number) of messages that are sent at request `index`.

        Args:
            index: Index of the request.
            weight: The estimator's weight of the messages.
            prompt: The system prompt and tools sent with them.
            recorded: True for the recorded buffer, whose reported size is used.
        """
        pressure = self.pressures[index]
        if recorded and pressure.tokens is not None:
            return pressure.tokens, pressure.kind
        counted = self._estimator.tokens(weight) + sum(prompt_tokens(self._estimator, prompt))
        is_known = pressure.kind in ("reported", "predicted")
        return self.pressures.scale(index).tokens(
            counted
        ), "predicted" if is_known else self._estimator.kind


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens and US dollars of one request with its summary calls, or of several requests."""

    input: int = 0
    """Tokens neither read from the cache nor written to it; 0 if the cache is simulated."""
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    """The part of `cache_write` with a lifetime of one hour."""
    output: int = 0
    """Tokens of the recorded answers."""
    summariser_input: int = 0
    summariser_output: int = 0
    summariser_calls: int = 0
    cost_usd: Decimal | None = Decimal(0)
    """Cost in US dollars; None if a price is not known."""
    summaries_usd: Decimal | None = Decimal(0)
    """The part of `cost_usd` for summary calls."""
    estimated_usd: Decimal | None = Decimal(0)
    """The part of `cost_usd` for recorded requests and summary calls without reported usage."""
    most_usd: Decimal | None = Decimal(0)
    """`cost_usd` if every summary had the maximum length of its call; None if a call has no limit."""

    @property
    def prompt(self) -> int:
        """Return the tokens sent, without summary calls."""
        return self.input + self.cache_read + self.cache_write


def total(spent: Iterable[Spending]) -> Spending:
    """Return the sum, field by field. The sum of a cost is None if any of the costs is None."""
    listed = list(spent)
    sums = dict[str, Any]()
    for field in fields(Spending):
        values = [getattr(spending, field.name) for spending in listed]
        sums[field.name] = sum_prices(values) if field.name.endswith("_usd") else sum(values)
    return Spending(**sums)


def spent(
    usage: Usage, model: str, time: str, calls: Sequence[SummaryCall] = (), summary_model: str = ""
) -> Spending:
    """Return the tokens and price of one request and its summary calls."""
    writer = summary_model or model
    price = call_cost(model, usage, time)
    summaries_price = calls_cost(calls, writer, time)
    most_prices = [call.most_cost(writer, time) for call in calls]
    summaries = sum_calls(calls)
    request = Spending(
        usage.input, usage.cache_read, usage.cache_write, usage.cache_write_1h, usage.output
    )
    return replace(
        request,
        summariser_input=summaries.usage.prompt,
        summariser_output=summaries.usage.output,
        summariser_calls=summaries.count,
        cost_usd=sum_prices((price, summaries_price)),
        summaries_usd=summaries_price,
        most_usd=sum_prices((price, *most_prices)),
    )


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """The provider's cache at one request, as far as the session shows it."""

    caches: bool = True
    """True if the provider caches at all."""
    ttl_s: int = FIVE_MINUTES_S
    """Lifetime of the written entries, in seconds."""
    most: int | None = None
    """Tokens read by a request that missed the cache although its buffer only grew; None for other requests."""


@dataclass(frozen=True, slots=True)
class _KnownFacts:
    """Cached facts of a thread, which are reused when the thread has grown."""

    requests: Sequence[Request]
    facts: tuple[CacheFacts, ...]
    first_write: int | None
    """Index of the first request that wrote to the cache, which shows the entries' lifetime; None if no request did."""


_KNOWN = KnownByThread[_KnownFacts]()


def cache_facts(thread: Thread) -> tuple[CacheFacts, ...]:
    """Return the cache facts of each request. O(new requests); the results of the last few threads are cached.

    The lifetime is that of the last request that wrote to the cache; before the first such request, that of the first.
    If no request wrote, the provider caches automatically.
    """
    return _KNOWN.get(thread, "", lambda former: _find_facts(thread, former)).facts


def _find_facts(thread: Thread, former: _KnownFacts | None) -> _KnownFacts:
    requests = thread.requests
    same = count_same_requests(former.requests, requests) if former is not None else 0
    if former is None or former.first_write is None or former.first_write >= same:
        writes = (
            index
            for index, request in enumerate(requests)
            if request.usage is not None and request.usage.cache_write
        )
        first_write = next(writes, None)
        return _KnownFacts(requests, _all_facts(thread), first_write)
    facts = list(former.facts[:same])
    ttl_s = former.facts[same - 1].ttl_s
    misses = _find_misses(requests[same - 1 :])
    for request in requests[same:]:
        if request.usage is not None and request.usage.cache_write:
            ttl_s = cache_ttl((request.usage,))
        facts.append(CacheFacts(caches=True, ttl_s=ttl_s, most=misses.get(request.index)))
    return _KnownFacts(requests, tuple(facts), former.first_write)


def _all_facts(thread: Thread) -> tuple[CacheFacts, ...]:
    usages = [request.usage for request in thread.requests]
    reported = [usage for usage in usages if usage is not None]
    writes = any(usage.cache_write for usage in reported)
    caches = not reported or any(map(_uses_cache, reported))
    misses = _find_misses(thread.requests) if caches else {}
    facts = []
    is_automatic = bool(reported) and not writes
    ttl_s = cache_ttl(usages)
    for (request, model), usage in zip(named_models(thread), usages, strict=True):
        if usage is not None and usage.cache_write:
            ttl_s = cache_ttl((usage,))
        elif is_automatic:
            ttl_s, _ = cache_life(model)
        facts.append(CacheFacts(caches, ttl_s, misses.get(request.index)))
    return tuple(facts)


def _uses_cache(usage: Usage) -> bool:
    return bool(usage.cache_read or usage.cache_write)


def _find_misses(requests: Sequence[Request]) -> dict[int, int]:
    """Return, by request, the tokens read by requests that missed the cache although their buffer only grew."""
    read_by_request = {}
    for before, after in pairwise(requests):
        if before.usage is None or after.usage is None or not is_prefix(before.view, after.view):
            continue
        if cache_missed(before.usage, after.usage):
            read_by_request[after.index] = after.usage.cache_read
    return read_by_request


def call_place(
    thread: Thread,
    calls: Sequence[SideCall],
    at: int,
    pressures: Pressures,
    size: Sizer | None = None,
) -> CallPlace:
    """Return the conditions of summary calls before request `at`: sizer, expected output, cache, model and time.

    O(requests) the first time for a thread.

    Args:
        thread: The thread with the request.
        calls: The side calls of the session.
        at: Index of the request; the number of requests means after the last request.
        pressures: The pressures of the thread.
        size: Sizer of the buffer; None for the sizer of `pressures`.
    """
    end = len(thread.requests)
    request = thread.place(at)
    last = thread.requests[at - 1] if 0 < at <= end else None
    cached = _cached_before(thread, at, pressures) if last is not None else None
    time = request.time or (last.time if last is not None else "")
    expected = expected_output(thread, calls, sizer(pressures, end))
    return CallPlace(size or sizer(pressures, at), expected, cached, model_at(thread, at), time)


def _cached_before(thread: Thread, at: int, pressures: Pressures) -> SentBuffer | None:
    """Return the part of the request before `at` that is still in the provider's cache; None if nothing is."""
    facts = cache_facts(thread)
    last = thread.requests[at - 1]
    request = thread.requests[at] if at < len(thread.requests) else None
    pause = seconds_between(last.time, request.time) if request is not None else None
    is_expired = pause is not None and pause > facts[at - 1].ttl_s
    if is_expired or not facts[at - 1].caches:
        return None
    tokens = pressures[at - 1].tokens or 0
    most = facts[at].most if request is not None else None
    return SentBuffer(
        last.prompt, last.view.messages(), tokens if most is None else min(tokens, most)
    )


class Meter:
    """Prices the requests of one replay, in order."""

    def __init__(
        self, sizes: Sizes, model: str, summary_model: str = "", expected: ExpectedOutput = TYPICAL
    ) -> None:
        """Begin before the first request. `expected`: expected length of a summary that no model has written."""
        self._sizes = sizes
        self._model = model
        self._summary_model = summary_model
        self._expected = expected
        self._last: Buffer | Request | None = None
        self._tokens = 0
        self._time = ""
        self._ttl_s = FIVE_MINUTES_S

    def request(
        self,
        sent: Buffer | Request,
        tokens: int,
        output: int,
        needs: Sequence[AnsweredNeed] = (),
        model: str = "",
        time: str = "",
        cache: CacheFacts = CacheFacts(),
        reported: Usage | None = None,
        at: int = 0,
        needs_after: Sequence[AnsweredNeed] = (),
    ) -> Spending:
        """Price one request and the summary calls before and after it.

        Args:
            sent: The buffer, or the recorded request.
            tokens: The size of the buffer, in tokens.
            output: Tokens of the answer.
            needs: The answered needs of the policy before the request; those for summaries are priced.
            model: The model whose prices apply; empty for the model of the previous request.
            time: When the request was sent (ISO 8601).
            cache: The provider's cache at this request.
            reported: The reported usage; None if it is not recorded.
            at: Index of the request, at which summary calls are sized.
            needs_after: The answered needs of the policy after the answer.
        """
        calls = self._summaries(needs, sent.prompt, at, cache, time)
        self._model = model or self._model
        usage = reported
        if usage is None:
            usage = self._estimated_usage(sent, tokens, output, time, cache)
        self._last = sent
        self._tokens = tokens
        self._time = time or self._time
        self._ttl_s = cache.ttl_s
        calls += self._summaries(needs_after, sent.prompt, at, cache, time)
        return spent(usage, self._model, time, calls, self._summary_model)

    def _estimated_usage(
        self, sent: Buffer | Request, tokens: int, output: int, time: str, cache: CacheFacts
    ) -> Usage:
        if not cache.caches:
            return Usage(tokens, output=output)
        pause_s = seconds_between(self._time, time)
        has_expired = pause_s is not None and pause_s > self._ttl_s
        read = 0 if has_expired else self._read(sent, tokens)
        if cache.most is not None:
            read = min(read, cache.most)
        written = cache_written(tokens - read, cache.ttl_s)
        return replace(written, cache_read=read, output=output)

    def _summaries(
        self, needs: Sequence[AnsweredNeed], prompt: Prompt, at: int, cache: CacheFacts, time: str
    ) -> list[SummaryCall]:
        if not needs:
            return []
        cached = self._cached(cache, time)
        return summary_calls(
            needs, prompt, size=self._sizes.sizer(at), expected=self._expected, cached=cached
        )

    def _read(self, sent: Buffer | Request, tokens: int) -> int:
        """Return the tokens of the prefix shared with the previous request; 0 if prompt or tools changed."""
        last, before = self._last, self._tokens
        if last is None or (sent.prompt is not last.prompt and sent.prompt != last.prompt):
            return 0
        changed = _changed(last, sent)
        if changed:
            before -= self._sizes.tokens(self._sizes.weigh(changed))
        return max(0, min(before, tokens))

    def _cached(self, cache: CacheFacts, time: str) -> SentBuffer | None:
        """Return the part of the last buffer that is in the provider's cache at a time; None if nothing is."""
        pause = seconds_between(self._time, time)
        if self._last is None or not cache.caches or (pause is not None and pause > self._ttl_s):
            return None
        tokens = self._tokens if cache.most is None else min(self._tokens, cache.most)
        return SentBuffer(self._last.prompt, _laid_out(self._last), tokens)


def _changed(last: Buffer | Request, sent: Buffer | Request) -> tuple[Message, ...]:
    """Return the messages of the last buffer from the first change on. O(changed messages) between requests."""
    if isinstance(last, Request) and isinstance(sent, Request):
        same = shared(last.view, sent.view)
        before = last.view.tail(same)
        after = sent.view.tail(same)
    else:
        before = _laid_out(last)
        after = _laid_out(sent)
    return before[common_length(before, after) :]


def _laid_out(sent: Buffer | Request) -> tuple[Message, ...]:
    return sent.messages if isinstance(sent, Buffer) else sent.view.messages()
