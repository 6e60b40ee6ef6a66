"""How full the window is (spec 3.2, 3.4), what is kept free of it (spec 3.3), and whether it ran over (spec 3.8).

What was reported for the newest answer counts, and estimates where nothing was.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from inspector.core.buffer import Buffer, Prompt
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text, ToolResult
from inspector.core.policies.pi.settings import PiContext, PiSettings
from inspector.core.policies.place import FAILED
from inspector.core.policies.replacements import inserted
from inspector.core.policies.verdict import CallReport
from inspector.core.session import NOTHING_FILED, Filed, Record
from inspector.core.tokens.counted import Tiktoken
from inspector.core.tokens.estimator import Kind
from inspector.core.tokens.estimators import buffer_tokens, weight
from inspector.core.tokens.harnesses import Pi, u16
from inspector.core.usage import Usage

OVERHEAD = 10
"""Tokens that the design adds to a message for its structure."""
_PI, _NEWEST = Pi(), Pi("pi-newest", images_of=("tool", "user"))
RECENT = 10
"""Messages that getDynamicReserveTokens looks at."""
OUTPUT_PRICE = 5
"""What an output token costs in input tokens, for our own cost functions."""
RECENT_REPORTS = 16
"""Reports without usage that are remembered."""
SUMMARY_TOKENS = 2_000
"""What our own cost functions take a summary to be."""
_BEFORE = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
_AFTER = "\n</summary>"
_PHRASES = re.compile(
    r"(?i)prompt is too long|input is too long for requested model|exceeds the context window"
    r"|input token count.*exceeds the maximum|maximum prompt length is \d+|reduce the length of the messages"
    r"|maximum context length is \d+ tokens|exceeds the limit of \d+|exceeds the available context size"
    r"|greater than the context length|context window exceeds limit|exceeded model token limit"
    r"|too large for model with \d+ maximum context length|model_context_window_exceeded"
    r"|context[_ ]length[_ ]exceeded|too many tokens|token limit exceeded"
)
_NO_BODY = re.compile(r"(?i)^4(?:00|13)\s*(?:status code)?\s*\(no body\)")


def summary_message(summary: str, removed: Sequence[Message]) -> Message:
    """How a compaction's summary stands in the buffer: one user message, before what was kept (spec 3.7)."""
    return inserted("pi", "user", f"{_BEFORE}{summary}{_AFTER}", removed)


def summary_of(message: Message) -> str:
    """The summary that such a message holds; of another harness's summary all of its text."""
    text = message.text
    if text.startswith(_BEFORE) and text.endswith(_AFTER):
        return text[len(_BEFORE) : len(text) - len(_AFTER)]
    return text


def content(message: Message) -> str:
    """A message's `content` in the design's sense: the text of its parts; calls and thinking lie elsewhere."""
    texts = (
        (p.text,) if isinstance(p, Text) else p.blocks or (p.content,)
        for p in message.parts
        if isinstance(p, Text | ToolResult)
    )
    return "".join(text for several in texts for text in several)


def characters(text: str) -> int:
    """ceil(u16 / 4)"""
    return -(-u16(text) // 4)


@dataclass(frozen=True, slots=True)
class Seed:
    """estimateContextTokens without usage: a message's content, and prompt and tools where the file holds them."""

    tokenizer: Tiktoken | None = None
    """In place of characters / 4, and then without the overhead."""

    @property
    def name(self) -> str:
        return "pi-seed-tiktoken" if self.tokenizer else "pi-seed"

    @property
    def kind(self) -> Kind:
        return "counted" if self.tokenizer else "estimated"

    def text(self, text: str) -> int:
        return self.tokenizer.text(text) if self.tokenizer else characters(text)

    def weigh(self, message: Message) -> int:
        return self.text(content(message)) + (0 if self.tokenizer else OVERHEAD)

    def weigh_prompt(self, prompt: Prompt) -> int:
        """estimateSystemTokens is named, never defined: the text of the prompt and the JSON of the tools."""
        tools = dumps([tool.definition for tool in prompt.tools]) if prompt.tools else ""
        return self.text(prompt.system or "") + self.text(tools)

    def tokens(self, weight: int) -> int:
        return weight


_CHARACTERS, _TOKENIZER = Seed(), Seed(Tiktoken("cl100k_base"))


def estimate(message: Message, newest: bool = False) -> int:
    """estimateTokens of the code: no overhead. Of a compaction's summary only the text that was written."""
    if message.summary:
        return characters(summary_of(message))
    return weight(_NEWEST if newest else _PI, message)


def estimates(messages: Iterable[Message], newest: bool = False, filed: Filed = NOTHING_FILED) -> int:
    """What Pi counts for them: also what its file holds between them and it did not send."""
    total, first = sum(counted(record, None, newest) for record in filed.trailing), ""
    for message in messages:
        *between, own = filed.records.get(message.id) or (_PLAIN,)
        if first:  # what the compaction kept begins somewhere between them
            between = between[next((n for n, one in enumerate(between) if one.id == first), len(between)) :]
        first = own.first_kept
        total += sum(counted(record, None, newest) for record in between) + counted(own, message, newest)
    return total


_PLAIN = Record("message")


def counted(record: Record, message: Message | None, newest: bool = False) -> int:
    """estimateTokens of a record; `message` is what the buffer holds of it."""
    if record.counted is not None:
        return 0 if record.kind == "system" else -(-record.counted // 4)
    said = record.message or message
    return 0 if said is None or is_made_up(said) else estimate(said, newest)


def is_made_up(message: Message) -> bool:
    """An answer that pi puts in when it sends a call that has none: nothing in its own list."""
    return message.role == "tool" and message.mark == "meta"


def estimated_tokens(buffer: Buffer, settings: PiSettings, filed: Filed = NOTHING_FILED) -> int:
    """The whole buffer without any usage, by the profile's own estimate."""
    if settings.is_code:
        return estimates(buffer.messages, settings.is_newest, filed)
    by = _TOKENIZER if settings.estimator == "tiktoken" else _CHARACTERS
    return buffer_tokens(by, buffer.messages, buffer.prompt)


def reports_of(context: PiContext) -> tuple[CallReport, ...]:
    """What was reported: as the moment tells it, or else what was noted and the newest answer's usage."""
    running, moment = context.running, context.moment
    if moment.reports is not None:
        return moment.reports
    newest = last_answer(context.messages)
    if moment.usage is None and not moment.finish:
        return running.reports
    if not newest or any(report.upto == newest for report in running.reports):
        return running.reports
    return needed((*running.reports, CallReport(newest, moment.usage, moment.finish, moment.model)))


def needed(reports: tuple[CallReport, ...]) -> tuple[CallReport, ...]:
    """The reports from the newest good one on: one that is not all zero, of an answer that did not fail."""
    good = [n for n, report in enumerate(reports) if _is_good(report, zero=False)]
    return reports[good[-1] :] if good else reports[-RECENT_REPORTS:]


def last_answer(messages: Sequence[Message]) -> str:
    """Id of the newest assistant message; empty where there is none."""
    return next((message.id for message in reversed(messages) if message.role == "assistant"), "")


def noted(context: PiContext) -> PiContext:
    """The context whose running state has what was reported, and the messages that are new."""
    messages, running = context.messages, context.running
    new = 0
    for message in reversed(messages):
        if message.id == running.seen:
            break
        new += 1
    seen = messages[-1].id if messages else running.seen
    reports = reports_of(context)
    return context.with_running(replace(running, reports=reports, messages=running.messages + new, seen=seen))


def calculate_tokens(usage: Usage, total: int = 0) -> int:
    """calculateContextTokens: the provider's total, or the sum of its four counts where it gives none."""
    return total or usage.prompt + usage.output


def last_usage(
    messages: Sequence[Message], reports: Sequence[CallReport], settings: PiSettings | None, border: str = ""
) -> tuple[int, Usage] | None:
    """(messages that it speaks of, usage) of the newest answer with usage after `border`; None where there is none.

    `settings`: by whose code answers are passed over that failed or were aborted, and (by the newest Pi's) usage that
    is all zero; None = none are. O(messages after it).
    """
    zero = settings is None or not settings.is_newest
    by_id = {
        report.upto: report.usage
        for report in reports
        if report.usage is not None and (settings is None or _is_good(report, zero=zero))
    }
    if not by_id:
        return None
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].id == border:
            return None
        if found := by_id.get(messages[at].id):
            return at + 1, found
    return None


def _is_good(report: CallReport, *, zero: bool) -> bool:
    """Does a report tell the size of the context? `zero`: also one that is all zero."""
    usage = report.usage
    return usage is not None and report.finish not in FAILED and (zero or calculate_tokens(usage) > 0)


@dataclass(frozen=True, slots=True)
class Fill:
    """contextTokens: how full the window is, and how much of that a provider reported."""

    tokens: int
    reported: int | None = None
    since: int = 0
    """Messages after the answer that was reported."""


def context_tokens(context: PiContext, border: str = "") -> Fill:
    """contextTokens by the profile. The design's `input_tokens` is the whole prompt, cached or not."""
    buffer, settings, filed = context.buffer, context.settings, context.moment.filed
    last = last_usage(buffer.messages, reports_of(context), settings if settings.is_code else None, border)
    if last is None:
        return Fill(estimated_tokens(buffer, settings, filed))
    upto, usage = last
    if not settings.is_code:
        return Fill(usage.prompt, usage.prompt, len(buffer.messages) - upto)
    reported = calculate_tokens(usage)
    since = estimates(buffer.messages[upto:], settings.is_newest, filed)
    return Fill(reported + since, reported, len(buffer.messages) - upto)


def tokens_before(context: PiContext) -> int:
    """tokensBefore of a compaction: the code's contextTokens of all that the model would read, whatever the profile
    (spec 3.6). What was reported for an answer that the latest compaction kept counts, too, unlike for the trigger."""
    messages, settings, filed = context.messages, context.settings, context.moment.filed
    last = last_usage(messages, reports_of(context), settings)
    if last is None:
        return estimates(messages, settings.is_newest, filed)
    return calculate_tokens(last[1]) + estimates(messages[last[0] :], settings.is_newest, filed)


def should_compact(tokens: int, window: int, reserve: int, enabled: bool = True) -> bool:
    """tokens > window - reserve, strictly. So it is always true for a window of 0."""
    return enabled and tokens > window - reserve


def dynamic_reserve(contents: Sequence[str]) -> int:
    """getDynamicReserveTokens, of the contents of messages: by the mean estimate of the last 10."""
    recent = [characters(text) for text in contents[-RECENT:]]
    total = sum(recent)
    if total > 2_000 * len(recent):
        return 32_768
    return 16_384 if total > 1_000 * len(recent) else 8_192


def reserve(settings: PiSettings, messages: Sequence[Message]) -> int:
    """The reserve that holds for these messages. Safe mode: at most a quarter of a window that it would fill."""
    found = settings.reserve_tokens
    if settings.dynamic_reserve:
        found = dynamic_reserve([content(message) for message in messages[-RECENT:]])
    return settings.context_window // 4 if is_clamped(settings, found) else found


def is_clamped(settings: PiSettings, found: int) -> bool:
    """Does safe mode cut this reserve?"""
    return settings.safe and settings.context_window > 0 and found >= settings.context_window


def should_compact_by_cost(tokens: int, threshold: int, compaction_cost: float, continue_cost: float) -> bool:
    """shouldCompactWithCostAwareness: above the threshold, and compacting costs less than going on (both strictly).

    The design defines neither cost; ours are `compaction_cost` and `continue_cost`.
    """
    return tokens > threshold and compaction_cost < continue_cost


def compaction_cost(tokens: int) -> float:
    """Ours, in input tokens: the summariser reads it all and writes a summary."""
    return tokens + OUTPUT_PRICE * SUMMARY_TOKENS


def continue_cost(tokens: int, keep: int, calls: int) -> float:
    """Ours, in input tokens: what each call to come reads more than it would after a compaction."""
    return max(0, tokens - keep - SUMMARY_TOKENS) * calls


def says_overflow(error: str) -> bool:
    """Does an error's text tell of an overflow? A 429 never does, unless its text says so."""
    return bool(_PHRASES.search(error) or _NO_BODY.match(error))


def is_overflow(finish: str, error: str = "", usage: Usage | None = None, window: int = 0) -> bool:
    """Of an answer: refused with an error, or (silently) cut by the provider to its window."""
    if finish == "error":
        return says_overflow(error)
    silent = finish in ("stop", "end_turn") and usage is not None and window > 0
    return silent and usage is not None and usage.input + usage.cache_read > window
