"""What a replay would have sent and cost: the size of any buffer at a request, the provider's prefix cache, the
summariser's calls, the price catalogue.

Where the buffer is the recorded one, its size is the reported one. Else the size that the next prompt would have had if
it were sent instead, by the measure that all numbers on the screen come from (`tokens.sizing`).

A buffer that is the recorded one costs what the provider reported for it. For any other the cache is simulated, the
same for every policy: what it has in common with the buffer sent before it, from its beginning, is read; all else is
written. A changed prefix is thereby written anew, and so is everything after a recorded pause that is longer than an
entry lives: five minutes, or an hour where the session wrote for an hour, or as long as its maker documents of a model
whose cache the provider keeps by itself. Where the recorded call missed the cache
though its buffer only grew (the client was started again, changed its tools), a policy's call does. A session without
any cache has none under a policy. That a block has a smallest size is left out.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any

from inspector.core.answering import AnsweredNeed
from inspector.core.buffer import Buffer, Prompt, View, is_prefix, shared
from inspector.core.identity import SameObject
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
from inspector.core.tokens.pressure import PressureKind, Pressures, known_pressures
from inspector.core.tokens.prices import cost, named_models, sum_prices
from inspector.core.tokens.sizing import Sizer, sizer
from inspector.core.tokens.windows import model_at
from inspector.core.usage import MINUTES, Usage, cache_missed, cache_ttl, cache_written

_RECENT = 4


class Sizes:
    """Of one thread. Made once, used for every policy."""

    def __init__(self, thread: Thread) -> None:
        self.pressures = known_pressures(thread)
        self._estimator = self.pressures.by
        self._recent = deque[tuple[tuple[Message, ...], int]]([((), 0)], _RECENT)
        self.slope = self.pressures.scale(None).slope
        """Tokens that a counted token of this session weighs."""
        self.end = self.pressures.end.tokens or 0
        """Tokens of the buffer after the last record."""

    def weigh(self, messages: View | Iterable[Message]) -> int:
        """Counted weight. Additive; of the views of a thread, each message is added up once."""
        return messages_weight(self._estimator, messages)

    def weigh_buffer(self, messages: tuple[Message, ...]) -> int:
        """Counted weight of a whole buffer. Quick for one of the last, and for one that begins with the last."""
        for known, weight in self._recent:
            if known is messages:
                return weight
        known, weight = self._recent[-1]
        if known and messages[: len(known)] == known:
            weight += self.weigh(messages[len(known) :])
        else:
            weight = self.weigh(messages)
        self._recent.append((messages, weight))
        return weight

    def tokens(self, weight: int) -> int:
        """Tokens of some messages by themselves, not of a whole buffer."""
        return round(self.slope * self._estimator.tokens(weight))

    def unseen(self, index: int) -> int:
        """Tokens of the buffer at request `index` that the transcript does not hold."""
        return self.pressures.scale(index).unseen

    def sizer(self, index: int) -> Sizer:
        """Return what measures buffers, messages and texts at request `index`."""
        return sizer(self.pressures, index)

    def size(self, index: int, weight: int, prompt: Prompt, recorded: bool) -> tuple[int, PressureKind]:
        """(tokens, how we know) of messages of that weight with that prompt, sent at request `index`. `recorded`: it is
        the very buffer that was."""
        pressure = self.pressures[index]
        if recorded and pressure.tokens is not None:
            return pressure.tokens, pressure.kind
        counted = self._estimator.tokens(weight) + sum(prompt_tokens(self._estimator, prompt))
        known = pressure.kind in ("reported", "predicted")
        return self.pressures.scale(index).tokens(counted), "predicted" if known else self._estimator.kind


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens and US dollars of one request with the calls for its compactions, or of many."""

    input: int = 0
    """Neither read from the cache nor written to it: none where the cache is simulated."""
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    """Of these, for an hour."""
    output: int = 0
    """Of the recorded answers."""
    summariser_input: int = 0
    summariser_output: int = 0
    summariser_calls: int = 0
    cost_usd: Decimal | None = Decimal(0)
    """None where a price is not known."""
    summaries_usd: Decimal | None = Decimal(0)
    """Of it, for the summariser's calls."""
    estimated_usd: Decimal | None = Decimal(0)
    """Of it, for calls of the recorded session that no usage tells of: requests, and calls for summaries."""
    most_usd: Decimal | None = Decimal(0)
    """As `cost_usd`, were every summary as long as its call allows; None where nothing limits one."""

    @property
    def prompt(self) -> int:
        """Tokens sent, summaries aside."""
        return self.input + self.cache_read + self.cache_write


def total(spent: Iterable[Spending]) -> Spending:
    """The sum, field by field; no cost where one of them has none."""
    listed, sums = list(spent), dict[str, Any]()
    for name in (one.name for one in fields(Spending)):
        values = [getattr(one, name) for one in listed]
        sums[name] = sum_prices(values) if name.endswith("_usd") else sum(values)
    return Spending(**sums)


def spent(usage: Usage, model: str, time: str, calls: Sequence[SummaryCall] = (), summary_model: str = "") -> Spending:
    """Price one request, and the calls for a summary around it."""
    writer = summary_model or model
    price, summaries = cost(model, usage, time), calls_cost(calls, writer, time)
    together = sum_calls(calls)
    return Spending(
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.cache_write_1h,
        usage.output,
        together.usage.prompt,
        together.usage.output,
        together.count,
        sum_prices((price, summaries)),
        summaries,
        most_usd=sum_prices((price, *(call.most_cost(writer, time) for call in calls))),
    )


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """What the session tells of the provider's cache at one of its requests."""

    caches: bool = True
    """There is one at all."""
    ttl_s: int = MINUTES
    """How long lives what is written."""
    most: int | None = None
    """Tokens that were still read where it broke by itself; None where it did not."""


def cache_facts(thread: Thread) -> tuple[CacheFacts, ...]:
    """At each request. Entries live as long as the newest call says that wrote any; before the first that did, as that
    one says. Where no call says that it wrote, the provider keeps the cache by itself."""
    usages = [request.usage for request in thread.requests]
    told = [usage for usage in usages if usage is not None]
    caches = not told or any(usage.cache_read or usage.cache_write for usage in told)
    writes = any(usage.cache_write for usage in told)
    broken = _breaks(thread) if caches else {}
    found, ttl_s = [], cache_ttl(usages)
    for (request, model), usage in zip(named_models(thread), usages, strict=True):
        if usage is not None and usage.cache_write:
            ttl_s = cache_ttl((usage,))
        elif told and not writes:
            ttl_s = cache_life(model)[0]
        found.append(CacheFacts(caches, ttl_s, broken.get(request.index)))
    return tuple(found)


def _breaks(thread: Thread) -> dict[int, int]:
    """By request: what it read from the cache, where that broke though the buffer only grew."""
    found = {}
    for before, after in pairwise(thread.requests):
        if before.usage is None or after.usage is None or not is_prefix(before.view, after.view):
            continue
        if cache_missed(before.usage, after.usage):
            found[after.index] = after.usage.cache_read
    return found


@lru_cache(maxsize=1)
def _known_facts(same: SameObject) -> tuple[CacheFacts, ...]:
    """Remembered of one thread: asked for at every place where the window stops."""
    return cache_facts(same.held)


def call_place(
    thread: Thread, calls: Sequence[SideCall], at: int, pressures: Pressures, size: Sizer | None = None
) -> CallPlace:
    """Return what measures and prices the calls for summaries that a step before request `at` would make.

    O(requests) the first time it is asked of a thread.

    Args:
        thread: The thread that the step is taken in.
        calls: Those beside the conversation.
        at: The request (== number of requests: after the last one).
        pressures: Those of the thread.
        size: What measures the buffer there; None: as `pressures` have it.
    """
    end = len(thread.requests)
    here = thread.place(at)
    last = thread.requests[at - 1] if 0 < at <= end else None
    cached = _cached_before(thread, at, pressures) if last is not None else None
    time = here.time or (last.time if last is not None else "")
    expected = expected_output(thread, calls, sizer(pressures, end))
    return CallPlace(size or sizer(pressures, at), expected, cached, model_at(thread, at), time)


def _cached_before(thread: Thread, at: int, pressures: Pressures) -> SentBuffer | None:
    """What the provider's cache holds of the request before `at`."""
    facts, last = _known_facts(SameObject(thread)), thread.requests[at - 1]
    here = thread.requests[at] if at < len(thread.requests) else None
    pause = seconds_between(last.time, here.time) if here is not None else None
    if not facts[at - 1].caches or (pause is not None and pause > facts[at - 1].ttl_s):
        return None
    tokens = pressures[at - 1].tokens or 0
    most = facts[at].most if here is not None else None
    return SentBuffer(last.prompt, last.view.messages(), tokens if most is None else min(tokens, most))


class Meter:
    """Follows one replay, request by request."""

    def __init__(self, sizes: Sizes, model: str, summary_model: str = "", expected: ExpectedOutput = TYPICAL) -> None:
        """`expected`: what a summary takes that no model has written."""
        self._sizes, self._model, self._summary_model, self._expected = sizes, model, summary_model, expected
        self._last: Buffer | Request | None = None
        self._tokens = 0
        self._time, self._ttl_s = "", MINUTES

    def request(
        self,
        sent: Buffer | Request,
        tokens: int,
        output: int,
        asked: Sequence[AnsweredNeed] = (),
        model: str = "",
        time: str = "",
        cache: CacheFacts = CacheFacts(),
        reported: Usage | None = None,
        at: int = 0,
        asked_after: Sequence[AnsweredNeed] = (),
    ) -> Spending:
        """Meter one call, and the calls for summaries around it.

        Args:
            sent: The buffer; of a recorded request nothing is laid out.
            tokens: The size of that buffer.
            output: Tokens of the answer.
            asked: What the policy asked for before the call.
            model: Whose prices hold; empty: that of the request before.
            time: When it was sent (ISO 8601).
            cache: What the session tells of the provider's cache here.
            reported: What the call used, where that is known.
            at: Index of the request, for what measures the calls for summaries.
            asked_after: What the policy asked for after the answer.
        """
        calls = self._summaries(asked, sent.prompt, at, self._cached(cache, time)) if asked else []
        self._model = model or self._model
        if reported is not None:
            usage = reported
        elif not cache.caches:
            usage = Usage(tokens, output=output)
        else:
            pause = seconds_between(self._time, time)
            read = 0 if pause is not None and pause > self._ttl_s else self._read(sent, tokens)
            read = read if cache.most is None else min(read, cache.most)
            usage = replace(cache_written(tokens - read, cache.ttl_s), cache_read=read, output=output)
        self._last, self._tokens, self._time, self._ttl_s = sent, tokens, time or self._time, cache.ttl_s
        calls += self._summaries(asked_after, sent.prompt, at, self._cached(cache, time)) if asked_after else []
        return spent(usage, self._model, time, calls, self._summary_model)

    def _summaries(
        self, asked: Sequence[AnsweredNeed], prompt: Prompt, at: int, cached: SentBuffer | None
    ) -> list[SummaryCall]:
        return summary_calls(asked, prompt, self._sizes.sizer(at), self._expected, cached)

    def _read(self, sent: Buffer | Request, tokens: int) -> int:
        """Tokens of the prefix that was sent before. Prompt and tools come first: if they change, nothing is read."""
        last, before = self._last, self._tokens
        if last is None or (sent.prompt is not last.prompt and sent.prompt != last.prompt):
            return 0
        if changed := _changed(last, sent):
            before -= self._sizes.tokens(self._sizes.weigh(changed))
        return max(0, min(before, tokens))

    def _cached(self, cache: CacheFacts, time: str) -> SentBuffer | None:
        """What the provider's cache holds of the last buffer when something is sent at that time."""
        pause = seconds_between(self._time, time)
        if self._last is None or not cache.caches or (pause is not None and pause > self._ttl_s):
            return None
        tokens = self._tokens if cache.most is None else min(self._tokens, cache.most)
        return SentBuffer(self._last.prompt, _laid_out(self._last), tokens)


def _changed(last: Buffer | Request, sent: Buffer | Request) -> tuple[Message, ...]:
    """What of the last is not sent at its place again. O(what changed) between requests of a thread."""
    if isinstance(last, Request) and isinstance(sent, Request):
        same = shared(last.view, sent.view)
        before, after = last.view.tail(same), sent.view.tail(same)
    else:
        before, after = _laid_out(last), _laid_out(sent)
    return before[common_length(before, after) :]


def _laid_out(sent: Buffer | Request) -> tuple[Message, ...]:
    return sent.messages if isinstance(sent, Buffer) else sent.view.messages()
