"""What a call for a summary uses and costs: one rule for previews, steps, replays and what was recorded.

The prefix that was sent before is read from the provider's cache: the system prompt and the tools where the call sends
the same system prompt, then the messages as far as they are those that were sent. All else is fresh input. What comes
back is what a model wrote; where none did, as many tokens as recorded summaries have, and at most what the call allows.
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
from inspector.core.tokens.prices import cost, sum_prices
from inspector.core.tokens.sizing import Sizer
from inspector.core.usage import Usage
from inspector.core.words import plural

TYPICAL_OUTPUT = 2_600
"""Tokens of a summary where the session records none: the median of 21 summaries that Claude Code recorded."""
TYPICAL_SOURCE = "typical of the summaries that Claude Code recorded in 21 compactions"


@dataclass(frozen=True, slots=True)
class ExpectedOutput:
    """Tokens that a model most likely writes for a summary."""

    tokens: int = TYPICAL_OUTPUT
    source: str = TYPICAL_SOURCE
    """Where the number comes from, in words."""


TYPICAL = ExpectedOutput()


def expected_output(thread: Thread, calls: Sequence[SideCall], size: Sizer) -> ExpectedOutput:
    """Return what a summary of this thread most likely takes. O(compactions).

    Args:
        thread: Its recorded summaries are what is expected of the next one.
        calls: Those beside the conversation: what a call for a summary is reported to have written counts first.
        size: What measures a summary of which no report tells.
    """
    reported = [call.usage.output for call in calls if _is_summary_call(call, thread) and call.usage is not None]
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
    """A buffer that the provider's cache holds: it was sent, and its entry still lives."""

    prompt: Prompt
    messages: tuple[Message, ...]
    tokens: int
    """All of it, what the file does not hold included."""


@dataclass(frozen=True, slots=True)
class SummaryCall:
    """One call for a summary, or several together."""

    usage: Usage
    """What it used, or will most likely use."""
    most_output: int | None
    """Tokens that it may write at most; None where nothing limits it."""
    count: int = 1

    def cost(self, model: str, time: str = "") -> Decimal | None:
        """Return its price in US dollars; None where it is not known."""
        return cost(model, self.usage, time)

    def most_cost(self, model: str, time: str = "") -> Decimal | None:
        """Return the price with the longest answer that is allowed; None where nothing limits it."""
        if self.most_output is None:
            return None
        return cost(model, replace(self.usage, output=self.most_output), time)


def sum_calls(calls: Sequence[SummaryCall]) -> SummaryCall:
    """Add calls up."""
    usages = [call.usage for call in calls]
    limits = [call.most_output for call in calls]
    return SummaryCall(
        Usage(
            sum(usage.input for usage in usages),
            sum(usage.cache_read for usage in usages),
            sum(usage.cache_write for usage in usages),
            sum(usage.output for usage in usages),
        ),
        None if None in limits else sum(limit or 0 for limit in limits),
        len(calls),
    )


def calls_cost(calls: Iterable[SummaryCall], model: str, time: str = "") -> Decimal | None:
    """Return the price of all of them; None where one is not known. Each is priced by itself: prices have steps."""
    return sum_prices(call.cost(model, time) for call in calls)


def summary_calls(
    asked: Iterable[AnsweredNeed],
    prompt: Prompt,
    size: Sizer,
    expected: ExpectedOutput,
    cached: SentBuffer | None = None,
) -> list[SummaryCall]:
    """Return the model calls among the needs of a step, in their order. O(messages of the calls).

    A call that failed costs nothing. What one call sends the next may read from the cache.

    Args:
        asked: The needs with what became of them.
        prompt: What goes along with the agent's own calls: a call with the same system prompt sends the tools, too.
        size: What measures texts and messages.
        expected: What a model would write where the offline summariser answered.
        cached: What the provider's cache holds; None where it expired, or where there is none.
    """
    known = [cached] if cached is not None else []
    found = []
    for one in asked:
        need, reply = one.need, one.reply
        if not isinstance(reply, Answer) or not isinstance(need, Summarize | RemoteCompact):
            continue
        limit = need.max_tokens if isinstance(need, Summarize) else None
        if reply.usage is not None:
            found.append(SummaryCall(reply.usage, reply.usage.output))
            continue
        sending = _sending(need, prompt, size)
        reads = (_shared_tokens(one, sending, size) for one in known)
        read = min(sending.tokens, max(reads, default=0))
        output, most = _output(reply, limit, size, expected)
        found.append(SummaryCall(Usage(sending.tokens - read, read, 0, output), most))
        if cached is not None:
            known.append(sending)
    return found


@dataclass(frozen=True, slots=True)
class PricedCalls:
    """The model calls of one step, with their price in US dollars."""

    together: SummaryCall
    cost: Decimal | None
    """None where a price is not known."""
    most_cost: Decimal | None
    """With the longest answers that are allowed; None where nothing limits one, or a price is not known."""


NO_CALLS = PricedCalls(SummaryCall(Usage(), 0, 0), Decimal(0), Decimal(0))


@dataclass(frozen=True, slots=True)
class CallPlace:
    """A place of a session at which calls for summaries are made: what measures and prices them."""

    size: Sizer
    expected: ExpectedOutput
    cached: SentBuffer | None
    """What the provider's cache holds of the request before; None where that expired, or there is no cache."""
    model: str
    time: str
    """Prices are those of this day (ISO 8601); empty: of today."""

    def price(self, asked: Iterable[AnsweredNeed], prompt: Prompt) -> PricedCalls:
        """Price the model calls among the needs of a step. `prompt`: what goes along with the agent's own calls."""
        calls = summary_calls(asked, prompt, self.size, self.expected, self.cached)
        most = sum_prices(call.most_cost(self.model, self.time) for call in calls)
        return PricedCalls(sum_calls(calls), calls_cost(calls, self.model, self.time), most)


def recorded_summary_call(sent_tokens: int, cached: int, output: int) -> SummaryCall:
    """Return the call for a recorded summary that the file does not hold: one more request on the buffer that was cut.

    Args:
        sent_tokens: The size of that buffer.
        cached: Tokens of the request before, as far as they are in the cache still.
        output: Tokens of the summary.
    """
    read = min(sent_tokens, cached)
    return SummaryCall(Usage(sent_tokens - read, read, 0, output), output)


def _sending(need: Summarize | RemoteCompact, prompt: Prompt, size: Sizer) -> SentBuffer:
    """What the call sends, its text left out of the messages."""
    text = need.text if isinstance(need, Summarize) else ""
    tokens = size.text(text) if text else 0
    if need.instructions == (prompt.system or ""):
        return SentBuffer(prompt, need.messages, tokens + size.tokens(Buffer(need.messages, prompt)))
    tokens += size.text(need.instructions) + size.rows(need.messages)
    return SentBuffer(Prompt(need.instructions, ()), need.messages, tokens)


def _shared_tokens(sent: SentBuffer, sending: SentBuffer, size: Sizer) -> int:
    """Tokens of what was sent that is sent again from its beginning. Prompt and tools come first."""
    if sent.prompt != sending.prompt:
        return 0
    same = common_length(sent.messages, sending.messages)
    return max(0, sent.tokens - size.rows(sent.messages[same:]))


def _output(reply: Answer, limit: int | None, size: Sizer, expected: ExpectedOutput) -> tuple[int, int | None]:
    """(tokens that are most likely written, and at most)."""
    if reply.by == OFFLINE:
        return min(expected.tokens, limit or expected.tokens), limit
    wrote = (size.text(reply.text) if reply.text else 0) + size.rows(reply.messages)
    return wrote, wrote
