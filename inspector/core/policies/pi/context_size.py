"""Compute Pi's own count of the buffer, the part of the window that it keeps free, and whether a request overflowed.

The count is the reported usage of the newest answer, or an estimate if no usage was reported.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from inspector.core.buffer import Buffer, Prompt
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text, ToolResult
from inspector.core.policies.pi.rules import SEED, PiRules
from inspector.core.policies.pi.settings import PiContext, PiSettings
from inspector.core.policies.place import FAILED
from inspector.core.policies.replacements import inserted
from inspector.core.policies.verdict import CallReport
from inspector.core.rounding import divide_up
from inspector.core.session import NOTHING_FILED, Filed, Record
from inspector.core.tokens.counted import Tiktoken
from inspector.core.tokens.estimator import Kind
from inspector.core.tokens.estimators import buffer_tokens, weight
from inspector.core.tokens.harnesses import Pi, u16
from inspector.core.usage import Usage

OVERHEAD = 10
"""Tokens that Pi's design adds to each message for its structure."""
_TOOL_IMAGES, _ALL_IMAGES = Pi(), Pi("pi-newest", images_of=("tool", "user"))
RECENT = 10
"""Number of newest messages that getDynamicReserveTokens reads."""
OUTPUT_PRICE = 5
"""Assumed price of an output token, in input tokens, for `compaction_cost`."""
RECENT_REPORTS = 16
"""Number of reports to remember if none of them has usage."""
SUMMARY_TOKENS = 2_000
"""Assumed length of a summary, in tokens, for `compaction_cost` and `continue_cost`."""
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


def make_summary_message(summary: str, removed: Sequence[Message]) -> Message:
    """Return the user message with a summary that replaces the messages `removed` in the buffer."""
    return inserted("pi", role="user", text=f"{_BEFORE}{summary}{_AFTER}", made_from=removed)


def read_summary(message: Message) -> str:
    """Return the summary in a message of `make_summary_message`; the whole text of any other message."""
    text = message.text
    if text.startswith(_BEFORE) and text.endswith(_AFTER):
        return text[len(_BEFORE) : len(text) - len(_AFTER)]
    return text


def read_content(message: Message) -> str:
    """Return a message's `content` as Pi's design defines it: texts and tool results, without calls and thinking."""
    return "".join(_content_texts(message))


def _content_texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, ToolResult):
            yield from part.blocks or (part.content,)


def estimate_text(text: str) -> int:
    """Return the tokens of a text: its UTF-16 units divided by 4, rounded up."""
    return divide_up(u16(text), 4)


@dataclass(frozen=True, slots=True)
class DesignEstimator:
    """estimateContextTokens of Pi's design: counts messages' content, and prompt and tools if they are recorded."""

    tokenizer: Tiktoken | None = None
    """Tokenizer that counts without overhead; None for characters / 4 with overhead."""

    @property
    def name(self) -> str:
        return "pi-seed-tiktoken" if self.tokenizer else "pi-seed"

    @property
    def kind(self) -> Kind:
        return "counted" if self.tokenizer else "estimated"

    def text(self, text: str) -> int:
        return self.tokenizer.text(text) if self.tokenizer else estimate_text(text)

    def weigh(self, message: Message) -> int:
        return self.text(read_content(message)) + (0 if self.tokenizer else OVERHEAD)

    def weigh_prompt(self, prompt: Prompt) -> int:
        """Count the prompt's text and the JSON of the tools. The design leaves estimateSystemTokens undefined."""
        tools = dumps([tool.definition for tool in prompt.tools]) if prompt.tools else ""
        return self.text(prompt.system or "") + self.text(tools)

    def tokens(self, weight: int) -> int:
        return weight


_BY_CHARACTERS, _BY_TOKENIZER = DesignEstimator(), DesignEstimator(Tiktoken("cl100k_base"))


def estimate_message(message: Message, rules: PiRules = SEED) -> int:
    """Return estimateTokens of Pi's code, without overhead. Of a summary message, only the summary itself counts."""
    if message.summary:
        return estimate_text(read_summary(message))
    return weight(_ALL_IMAGES if rules.counts_user_images else _TOOL_IMAGES, message)


_PLAIN_RECORD = Record("message")


def estimate_messages(
    messages: Iterable[Message], filed: Filed = NOTHING_FILED, rules: PiRules = SEED
) -> int:
    """Return Pi's estimate of the messages and of the unsent records between them in Pi's file, in tokens."""
    total = sum(estimate_record(record, message=None, rules=rules) for record in filed.trailing)
    first_kept = ""
    for message in messages:
        *between, own = filed.records.get(message.id) or (_PLAIN_RECORD,)
        if first_kept:
            between = _records_from(between, first_kept)
        first_kept = own.first_kept
        total += sum(estimate_record(record, message=None, rules=rules) for record in between)
        total += estimate_record(own, message, rules)
    return total


def _records_from(records: Sequence[Record], first_kept: str) -> list[Record]:
    """Return the records from the id `first_kept` on; none if no record has this id."""
    start = next((n for n, record in enumerate(records) if record.id == first_kept), len(records))
    return list(records[start:])


def estimate_record(record: Record, message: Message | None, rules: PiRules = SEED) -> int:
    """Return estimateTokens of a record of the file. `message`: the record's message in the buffer; None if unsent."""
    if record.counted is not None:
        return 0 if record.kind == "system" else divide_up(record.counted, 4)
    content = record.message or message
    if content is None or is_made_up(content):
        return 0
    return estimate_message(content, rules)


def is_made_up(message: Message) -> bool:
    """Is this a result that Pi made up for a call without one? Pi's own list does not contain it."""
    return message.role == "tool" and message.mark == "meta"


def estimate_buffer(buffer: Buffer, settings: PiSettings, filed: Filed = NOTHING_FILED) -> int:
    """Return the estimate of the whole buffer by the rules of the profile, without any reported usage."""
    if settings.rules.counts_as_code:
        return estimate_messages(buffer.messages, filed, settings.rules)
    estimator = _BY_TOKENIZER if settings.estimator == "tiktoken" else _BY_CHARACTERS
    return buffer_tokens(estimator, buffer.messages, buffer.prompt)


def read_reports(context: PiContext) -> tuple[CallReport, ...]:
    """Return the reports in `moment` or, if it has none, those of the running state with the newest usage added."""
    running, moment = context.running, context.moment
    if moment.reports is not None:
        return moment.reports
    if moment.usage is None and not moment.finish:
        return running.reports
    newest = last_answer_id(context.messages)
    if not newest or any(report.upto == newest for report in running.reports):
        return running.reports
    report = CallReport(newest, moment.usage, moment.finish, moment.model)
    return drop_old_reports((*running.reports, report))


def drop_old_reports(reports: tuple[CallReport, ...]) -> tuple[CallReport, ...]:
    """Return the reports from the newest one on that has usage above 0 and whose request did not fail."""
    for at in range(len(reports) - 1, -1, -1):
        if _gives_size(reports[at], skips_empty=True):
            return reports[at:]
    return reports[-RECENT_REPORTS:]


def last_answer_id(messages: Sequence[Message]) -> str:
    """Return the id of the newest assistant message; empty if there is none."""
    return next((message.id for message in reversed(messages) if message.role == "assistant"), "")


def note_reports(context: PiContext) -> PiContext:
    """Add the new reports and the number of new messages to the running state."""
    messages, running = context.messages, context.running
    new_count = 0
    for message in reversed(messages):
        if message.id == running.seen:
            break
        new_count += 1
    seen = messages[-1].id if messages else running.seen
    count = running.messages + new_count
    return context.with_running(
        replace(running, reports=read_reports(context), messages=count, seen=seen)
    )


def calculate_tokens(usage: Usage, total: int = 0) -> int:
    """calculateContextTokens: return the provider's total, or the sum of its four counts if the total is 0."""
    return total or usage.prompt + usage.output


class LastUsage(NamedTuple):
    """The reported usage of an answer, and the number of messages up to and including the answer."""

    upto: int
    usage: Usage


def find_last_usage(
    messages: Sequence[Message],
    reports: Sequence[CallReport],
    rules: PiRules | None,
    border: str = "",
) -> LastUsage | None:
    """Return the newest answer with usage; None if there is none. O(messages after the answer).

    Args:
        rules: The rules that decide which reports have a size; None if all of them do, as in Pi's design.
        border: Id of a message; answers up to this message are ignored.
    """
    usages = {
        report.upto: report.usage
        for report in reports
        if report.usage is not None and _counts(report, rules)
    }
    if not usages:
        return None
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].id == border:
            return None
        usage = usages.get(messages[at].id)
        if usage is not None:
            return LastUsage(at + 1, usage)
    return None


def _counts(report: CallReport, rules: PiRules | None) -> bool:
    return rules is None or _gives_size(report, rules.skips_empty_usage)


def _gives_size(report: CallReport, skips_empty: bool) -> bool:
    """Does a report give the size of the context? It must have usage, and its request must not have failed."""
    if report.usage is None or report.finish in FAILED:
        return False
    return not skips_empty or calculate_tokens(report.usage) > 0


@dataclass(frozen=True, slots=True)
class Fill:
    """contextTokens: the tokens in the window, and the part of them that the provider reported."""

    tokens: int
    reported: int | None = None
    since: int = 0
    """Number of messages after the answer whose usage was reported."""


def measure_context(context: PiContext, border: str = "") -> Fill:
    """Return contextTokens by the rules of the profile. The design's `input_tokens` includes cached tokens."""
    buffer = context.buffer
    settings = context.settings
    filed = context.moment.filed
    rules = settings.rules
    last = find_last_usage(
        buffer.messages,
        read_reports(context),
        rules=rules if rules.counts_as_code else None,
        border=border,
    )
    if last is None:
        return Fill(estimate_buffer(buffer, settings, filed))
    new_messages = buffer.messages[last.upto :]
    since = len(new_messages)
    if not rules.counts_as_code:
        return Fill(last.usage.prompt, last.usage.prompt, since)
    reported = calculate_tokens(last.usage)
    return Fill(reported + estimate_messages(new_messages, filed, rules), reported, since)


def tokens_before(context: PiContext) -> int:
    """Return tokensBefore of a compaction: contextTokens, as in Pi's code, of everything that the model would read.

    Every profile counts this way. Unlike in the trigger, usage from before the latest compaction counts.
    """
    messages = context.messages
    rules = context.settings.rules
    filed = context.moment.filed
    last = find_last_usage(messages, read_reports(context), rules)
    if last is None:
        return estimate_messages(messages, filed, rules)
    reported = calculate_tokens(last.usage)
    return reported + estimate_messages(messages[last.upto :], filed, rules)


def is_over_limit(tokens: int, window: int, reserve: int, enabled: bool = True) -> bool:
    """shouldCompact: is tokens > window - reserve? Always true for a window of 0."""
    return enabled and tokens > window - reserve


def dynamic_reserve(contents: Sequence[str]) -> int:
    """getDynamicReserveTokens: return the reserve for the mean size of the last 10 contents."""
    recent = [estimate_text(text) for text in contents[-RECENT:]]
    total = sum(recent)
    if total > 2_000 * len(recent):
        return 32_768
    return 16_384 if total > 1_000 * len(recent) else 8_192


def choose_reserve(settings: PiSettings, messages: Sequence[Message]) -> int:
    """Return the reserve for these messages. In safe mode, a reserve that fills the window becomes a quarter of it."""
    reserve = settings.reserve_tokens
    if settings.dynamic_reserve:
        reserve = dynamic_reserve([read_content(message) for message in messages[-RECENT:]])
    return settings.context_window // 4 if is_clamped(settings, reserve) else reserve


def is_clamped(settings: PiSettings, reserve: int) -> bool:
    """Does safe mode reduce this reserve, because it would fill the window?"""
    return settings.safe and settings.context_window > 0 and reserve >= settings.context_window


def is_compaction_cheaper(
    tokens: int, threshold: int, compaction_cost: float, continue_cost: float
) -> bool:
    """shouldCompactWithCostAwareness: are the tokens above the threshold, and does compacting cost less?

    Pi's design defines neither cost. The functions `compaction_cost` and `continue_cost` supply them.
    """
    return tokens > threshold and compaction_cost < continue_cost


def compaction_cost(tokens: int) -> float:
    """Return the cost of compacting, in input tokens: the summariser reads everything and writes a summary."""
    return tokens + OUTPUT_PRICE * SUMMARY_TOKENS


def continue_cost(tokens: int, keep: int, calls: int) -> float:
    """Return the cost of not compacting, in input tokens: the extra tokens that the next `calls` requests read."""
    return max(0, tokens - keep - SUMMARY_TOKENS) * calls


def says_overflow(error: str) -> bool:
    """Does the text of an error report an overflow? A status 429 alone is not enough; its text must say so."""
    return bool(_PHRASES.search(error) or _NO_BODY.match(error))


def is_overflow(finish: str, error: str = "", usage: Usage | None = None, window: int = 0) -> bool:
    """Was an answer refused with an overflow, or silently cut by the provider to its window?"""
    if finish == "error":
        return says_overflow(error)
    if usage is None or window <= 0 or finish not in ("stop", "end_turn"):
        return False
    return usage.input + usage.cache_read > window
