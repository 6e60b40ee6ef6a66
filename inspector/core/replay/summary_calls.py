"""Compute the usage and cost of summary calls, by one rule for previews, steps, replays and the recording.

The prefix that the call shares with an earlier request is read from the provider's cache: system prompt and tools if
both are equal, then the messages up to the first difference. Everything else is uncached input. The output is the
summary that a model wrote; if no model wrote one, it is the expected length, and at most the limit of the call.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import median

from inspector.core.answering import OFFLINE, AnsweredNeed
from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Message
from inspector.core.needs import Answer, RemoteCompact, Summarize
from inspector.core.prefix import common_length
from inspector.core.session import SideCall, Thread
from inspector.core.tokens.prices import call_cost, sum_prices
from inspector.core.tokens.sizing import Sizer
from inspector.core.usage import Usage
from inspector.core.words import plural

TYPICAL_OUTPUT = 2_600
"""Tokens of a summary if the session records none: the median of 21 summaries that Claude Code recorded."""
TYPICAL_SOURCE = "typical of the summaries that Claude Code recorded in 21 compactions"


@dataclass(frozen=True, slots=True)
class ExpectedOutput:
    """Expected length of a summary, in tokens."""

    tokens: int = TYPICAL_OUTPUT
    source: str = TYPICAL_SOURCE
    """The source of the number, as a phrase."""


TYPICAL = ExpectedOutput()


def expected_output(thread: Thread, calls: Sequence[SideCall], size: Sizer) -> ExpectedOutput:
    """Return the expected length of a summary of this thread. O(compactions).

    Args:
        thread: The thread. Its recorded summaries predict the next.
        calls: The side calls of the session. The reported outputs of summary calls have precedence.
        size: Sizes recorded summaries if no summary call reports its output.
    """
    reported = [
        call.usage.output
        for call in calls
        if _is_summary_call(call, thread) and call.usage is not None
    ]
    counts = [count for count in reported if count]
    if not counts:
        readable = (
            compaction.summary
            for compaction in thread.compactions
            if compaction.kind == "summary" and compaction.is_readable
        )
        counts = [size.row(summary) for summary in readable if summary is not None]
    if not counts:
        return TYPICAL
    source = f"the median of {plural(len(counts), 'recorded summary', 'recorded summaries')} of this session"
    return ExpectedOutput(round(median(counts)), source)


def _is_summary_call(call: SideCall, thread: Thread) -> bool:
    return call.thread == thread.id and call.kind == "compaction"


@dataclass(frozen=True, slots=True)
class SentBuffer:
    """A sent buffer that is in the provider's cache."""

    prompt: Prompt
    messages: tuple[Message, ...]
    tokens: int
    """Size of the buffer, including tokens not in the file."""


@dataclass(frozen=True, slots=True)
class SummaryCall:
    """One summary call, or the sum of several."""

    usage: Usage
    """The reported or expected usage."""
    most_output: int | None
    """Largest possible output in tokens; None if there is no limit."""
    count: int = 1

    def cost(self, model: str, time: str = "") -> Decimal | None:
        """Return the price in US dollars; None if it is not known."""
        return call_cost(model, self.usage, time)

    def most_cost(self, model: str, time: str = "") -> Decimal | None:
        """Return the price of the longest allowed answer; None if there is no limit, or the price is not known."""
        if self.most_output is None:
            return None
        return call_cost(model, replace(self.usage, output=self.most_output), time)


def sum_calls(calls: Sequence[SummaryCall]) -> SummaryCall:
    """Return several calls as one, with the sums of their tokens."""
    usages = [call.usage for call in calls]
    uncached = sum(usage.input for usage in usages)
    usage = Usage(
        input=uncached,
        cache_read=sum(usage.cache_read for usage in usages),
        cache_write=sum(usage.cache_write for usage in usages),
        output=sum(usage.output for usage in usages),
    )
    limits = [call.most_output for call in calls]
    limit = None if None in limits else sum(limit or 0 for limit in limits)
    return SummaryCall(usage, limit, len(calls))


def calls_cost(calls: Iterable[SummaryCall], model: str, time: str = "") -> Decimal | None:
    """Return the sum of the prices of calls, which depend on the size of each; None if a price is not known."""
    return sum_prices(call.cost(model, time) for call in calls)


def summary_calls(
    needs: Iterable[AnsweredNeed],
    prompt: Prompt,
    size: Sizer,
    expected: ExpectedOutput,
    cached: SentBuffer | None = None,
) -> list[SummaryCall]:
    """Return the model calls among the needs of a step, in their order. O(messages of the calls).

    A failed call costs nothing. A call may read from the cache what an earlier call of the step sent.

    Args:
        needs: The needs with their replies.
        prompt: The prompt of the agent's own requests. A call with the same system prompt also sends the tools.
        size: Sizes texts and messages.
        expected: The expected output of a model, for replies of the offline summariser.
        cached: The buffer in the provider's cache; None if it expired, or there is no cache.
    """
    in_cache = [cached] if cached is not None else []
    calls_made = []
    for answered in needs:
        need, reply = answered.need, answered.reply
        if not isinstance(reply, Answer) or not isinstance(need, Summarize | RemoteCompact):
            continue
        limit = need.max_tokens if isinstance(need, Summarize) else None
        if reply.usage is not None:
            calls_made.append(SummaryCall(reply.usage, reply.usage.output))
            continue
        sending = _sending(need, prompt, size)
        reads = (_shared_tokens(sent, sending, size) for sent in in_cache)
        read = min(sending.tokens, max(reads, default=0))
        output, most = _output(reply, limit, size, expected)
        calls_made.append(SummaryCall(Usage(sending.tokens - read, read, output=output), most))
        if cached is not None:
            in_cache.append(sending)
    return calls_made


@dataclass(frozen=True, slots=True)
class PricedCalls:
    """The model calls of one step, with their price in US dollars."""

    together: SummaryCall
    cost: Decimal | None
    """Expected price; None if a price is not known."""
    most_cost: Decimal | None
    """The price of the longest allowed answers; None if a call has no limit, or a price is not known."""


NO_CALLS = PricedCalls(SummaryCall(Usage(), most_output=0, count=0), Decimal(0), Decimal(0))


@dataclass(frozen=True, slots=True)
class CallPlace:
    """The sizer, expected output, cache and prices that apply to summary calls at one point of a session."""

    size: Sizer
    expected: ExpectedOutput
    cached: SentBuffer | None
    """The part of the previous request in the provider's cache; None if it expired, or there is no cache."""
    model: str
    time: str
    """The day of the prices (ISO 8601); empty for today."""

    def price(self, needs: Iterable[AnsweredNeed], prompt: Prompt) -> PricedCalls:
        """Price the model calls among the needs of a step. `prompt`: the prompt of the agent's own requests."""
        calls = summary_calls(needs, prompt, self.size, self.expected, self.cached)
        most = sum_prices(call.most_cost(self.model, self.time) for call in calls)
        return PricedCalls(sum_calls(calls), calls_cost(calls, self.model, self.time), most)


def recorded_summary_call(sent_tokens: int, cached: int, output: int) -> SummaryCall:
    """Return the assumed call of a recorded summary whose call is not in the file: one more request on the buffer.

    Args:
        sent_tokens: The size of the buffer that was summarised.
        cached: Tokens of the previous request that are still in the cache.
        output: Tokens of the summary.
    """
    read = min(sent_tokens, cached)
    return SummaryCall(Usage(sent_tokens - read, read, output=output), output)


def _sending(need: Summarize | RemoteCompact, prompt: Prompt, size: Sizer) -> SentBuffer:
    """Return the buffer that a call sends. The call's text counts in the tokens but is not a message."""
    text = need.text if isinstance(need, Summarize) else ""
    tokens = size.text(text) if text else 0
    if need.instructions == (prompt.system or ""):
        return SentBuffer(
            prompt, need.messages, tokens + size.tokens(Buffer(need.messages, prompt))
        )
    tokens += size.text(need.instructions) + size.rows(need.messages)
    return SentBuffer(Prompt(need.instructions, ()), need.messages, tokens)


def _shared_tokens(sent: SentBuffer, sending: SentBuffer, size: Sizer) -> int:
    """Return the tokens of the common prefix of two buffers; 0 if system prompt or tools differ."""
    if sent.prompt != sending.prompt:
        return 0
    same = common_length(sent.messages, sending.messages)
    return max(0, sent.tokens - size.rows(sent.messages[same:]))


def _output(
    reply: Answer, limit: int | None, size: Sizer, expected: ExpectedOutput
) -> tuple[int, int | None]:
    """Return (expected output, largest possible output), in tokens."""
    if reply.by == OFFLINE:
        return min(expected.tokens, limit or expected.tokens), limit
    written = (size.text(reply.text) if reply.text else 0) + size.rows(reply.messages)
    return written, written
