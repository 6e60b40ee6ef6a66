"""Roku's operations on messages that need no model: choosing the messages to remove, digests, the working summary.

Tiers that remove messages always remove `buffer[1:split]`, never the anchor message 0. L0 only clears tool results. The
mechanical digest replaces removed messages if no model wrote a summary. Reasoning is removed before messages are
summarised.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from inspector.core.jsontext import dumps
from inspector.core.message import Message, Part, Text, Thinking
from inspector.core.policies.replacements import PLACEHOLDER
from inspector.core.policies.roku.settings import RokuSettings, StepRecord
from inspector.core.rounding import divide_up
from inspector.core.tokens.harnesses import estimate, utf8_length

PLACEHOLDER_TOKENS = estimate(PLACEHOLDER)
TEXT_BYTES = 120
RESULT_BYTES = 100
REASON_BYTES, OUTCOME_BYTES = 80, 100
LLM_REASON_BYTES, LLM_OUTCOME_BYTES = 100, 150
PREVIEW_BYTES = 200
_HEADER = re.compile(r"^(?=(?:Goal|Accomplished|Key Decisions|Relevant Files):|\[)", re.MULTILINE)
_OPEN, _CLOSE = "<thinking>", "</thinking>"


def find_half_split(messages: Sequence[Message], settings: RokuSettings) -> int:
    """Return the end of the older half after message 0, moved back so that no kept result loses its call.

    1 means that nothing can be removed.
    """
    count = len(messages)
    if count < 3:
        return 1
    half = divide_up(count - 1, 2)  # message 0 stays
    return _walk_back(messages, 1 + half, settings)


def find_tail_split(messages: Sequence[Message], settings: RokuSettings) -> int:
    """Return the split that keeps the newest max(5, retain_tail_steps) messages, moved back like the half split."""
    keep = max(5, settings.retain_tail_steps)
    count = len(messages)
    if count <= keep + 1:
        return 1
    return _walk_back(messages, count - keep, settings)


def find_l3_split(messages: Sequence[Message], settings: RokuSettings) -> int:
    """Return the split for L3 according to the setting `l3_segment`."""
    if settings.l3_segment == "half":
        return find_half_split(messages, settings)
    return find_tail_split(messages, settings)


def _walk_back(messages: Sequence[Message], split: int, settings: RokuSettings) -> int:
    """Move a split back so that the kept messages begin with no tool result, in safe mode with no lone result."""
    while split > 1 and split < len(messages) and messages[split].role == "tool":
        split -= 1
    if settings.safe:
        split = _keep_pairs(messages, split)
    return max(1, split)


def _keep_pairs(messages: Sequence[Message], split: int) -> int:
    """Move the split back until no kept result lacks its call.

    The simple walk back would stop too early at a user message between two results.
    """
    called_at: dict[str, int] = {}
    for at, message in enumerate(messages):
        for call in message.calls:
            called_at.setdefault(call.id, at)
    checked = len(messages)  # this and all later messages keep their calls
    while split > 1 and checked > split:
        checked -= 1
        result = messages[checked].result
        if result is not None:
            split = min(split, called_at.get(result.call_id, split))
    return split


def replace_segment(
    messages: Sequence[Message], split: int, inserted: Sequence[Message], settings: RokuSettings
) -> tuple[Message, ...]:
    """Return message 0, the inserted messages, the newest user message if `pin_last_user`, and the kept messages."""
    pinned: tuple[Message, ...] = ()
    if settings.pin_last_user:
        prompts = (
            message
            for message in reversed(messages)
            if message.role == "user" and not message.summary
        )
        newest = next(prompts, None)
        pinned = tuple(message for message in messages[1:split] if message is newest)
    return (messages[0], *inserted, *pinned, *messages[split:])


def find_old_results(messages: Sequence[Message], settings: RokuSettings) -> list[int]:
    """Return the indices of the results that L0 would clear: old ones that are longer than the placeholder."""
    places = [
        at
        for at, message in enumerate(messages)
        if message.role == "tool" and message.result is not None
    ]
    old = places[: max(0, len(places) - settings.microcompact_retain_recent)]
    spared: set[str] = set()
    if settings.safe and settings.exclude_tools:
        spared = {
            call.id
            for message in messages
            for call in message.calls
            if call.name in settings.exclude_tools
        }
    return [at for at in old if _would_shrink(messages[at], spared)]


def _would_shrink(message: Message, spared: set[str]) -> bool:
    result = message.result
    if result is None or result.call_id in spared:
        return False
    most = len(PLACEHOLDER)
    return len(result.content) > most or utf8_length(result.content) > most


def count_freed_tokens(messages: Sequence[Message], indices: Sequence[int]) -> int:
    """Return the raw tokens that clearing these results frees."""
    results = (messages[at].result for at in indices)
    return sum(
        max(0, estimate(result.content) - PLACEHOLDER_TOKENS)
        for result in results
        if result is not None
    )


def cut_to_bytes(text: str, limit: int) -> str:
    """Cut the text to `limit` UTF-8 bytes of whole characters, followed by `…`; a shorter text is unchanged."""
    if len(text) * 4 <= limit or len(data := text[: limit + 1].encode("utf-8", "replace")) <= limit:
        return text
    return data[:limit].decode("utf-8", "ignore") + "…"


def write_digest(messages: Sequence[Message], flat: bool = False) -> str:
    """Return `[n messages compacted]` and lines for each message. `flat` (safe mode) joins lines of quoted texts."""
    lines = [f"[{len(messages)} messages compacted]"]
    for message in messages:
        lines += _digest_lines(message, flat)
    return "\n".join(lines)


def _digest_lines(message: Message, flat: bool) -> list[str]:
    text = _flat(message.text) if flat else message.text
    match message.role:
        case "assistant":
            lines = [f"Assistant: {cut_to_bytes(text, TEXT_BYTES)}"] if text else []
            return lines + [f"  → tool_use: {call.name}" for call in message.calls]
        case "tool" if result := message.result:
            content = _flat(result.content) if flat else result.content
            state = "error" if result.is_error else "ok"
            return [
                f"ToolResult({result.call_id}): {state} — {cut_to_bytes(content, RESULT_BYTES)}"
            ]
        case _:
            return [f"User: {cut_to_bytes(text, TEXT_BYTES)}"]


def _flat(text: str) -> str:
    """Return the text as one line that cannot be mistaken for a line of the digest or a section header."""
    return _HEADER.sub("· ", " ".join(text.split()))


def strip_thinking(messages: Sequence[Message]) -> tuple[tuple[Message, ...], int]:
    """Remove thinking parts, and `<thinking>…</thinking>` at the very start of a message.

    An unclosed tag, or a tag after white space, is kept.

    Returns:
        (messages, number of changed messages).
    """
    stripped = tuple(map(_stripped, messages))
    pairs = zip(messages, stripped, strict=True)
    changed_count = len([new for old, new in pairs if new is not old])
    return stripped, changed_count


def _stripped(message: Message) -> Message:
    if message.role != "assistant":
        return message
    parts: list[Part] = []
    is_changed = False
    for part in message.parts:
        if isinstance(part, Thinking):
            is_changed = True
            continue
        if not parts and isinstance(part, Text):
            text = _without_tag(part.text)
            if text is not part.text:
                part = Text(text)
                is_changed = True
        parts.append(part)
    return replace(message, parts=tuple(parts)) if is_changed else message


def _without_tag(text: str) -> str:
    if not text.startswith(_OPEN):
        return text
    end = text.find(_CLOSE, len(_OPEN))
    return text if end < 0 else text[end + len(_CLOSE) :].lstrip()


def split_records(
    history: Sequence[StepRecord], settings: RokuSettings
) -> tuple[tuple[StepRecord, ...], ...]:
    """Return (records to remove, records to keep). Up to `retain_tail_steps` records are kept.

    Roku counts a leading boundary as a record; safe mode does not.
    """
    counted = len(history)
    if settings.safe and history and history[0].kind == "boundary":
        counted -= 1
    if counted <= settings.retain_tail_steps:
        return (), tuple(history)
    at = len(history) - settings.retain_tail_steps
    return tuple(history[:at]), tuple(history[at:])


def write_mechanical_summary(removed: Sequence[StepRecord]) -> str:
    """Return a summary of the removed records, made without a model."""
    lines = [f"[Compact summary — {len(removed)} steps discarded]"]
    for record in removed:
        reason = cut_to_bytes(record.reason, REASON_BYTES)
        outcome = cut_to_bytes(record.outcome, OUTCOME_BYTES)
        lines.append(f"Step {record.step}: {record.tool or 'unknown'} — {reason} — {outcome}")
    return "\n".join(lines)


def write_records(removed: Sequence[StepRecord]) -> str:
    """Return the removed records as JSON, for a model to summarise."""
    return dumps(
        [
            {
                "step": record.step,
                "tool": record.tool or "unknown",
                "reason": cut_to_bytes(record.reason, LLM_REASON_BYTES),
                "outcome": cut_to_bytes(record.outcome, LLM_OUTCOME_BYTES),
            }
            for record in removed
        ]
    )


def make_boundary(step: int, removed: Sequence[StepRecord], text: str) -> StepRecord:
    """Return the boundary record that replaces the removed records."""
    count = len(removed)
    return StepRecord(
        step,
        reason=str(count),
        kind="boundary",
        discarded=count,
        preview=cut_to_bytes(text, PREVIEW_BYTES),
    )


def join_summaries(text: str, old: str, settings: RokuSettings) -> str:
    """Join two summaries, newest first, and cut the end to the limit, so that the oldest information is lost."""
    joined = f"{text}\n\n{old}" if old else text
    limit = settings.working_summary_max_chars
    if settings.unit == "bytes":
        return joined.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    return joined[:limit]
