"""What Roku does to messages without a model: which of them a tier removes, and what is said of them; and how the
oldest records of its steps are folded into the working summary (spec 1.9).

A tier removes always `buffer[1:split]`, never the anchor message 0 (spec 1.6, 1.7). L0 clears tool results (spec 1.5).
The mechanical digest stands in for removed messages where no model wrote a summary (spec 1.6). Reasoning is taken out
of them before anybody summarises them (spec 1.7).
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from inspector.core.jsontext import dumps
from inspector.core.message import Message, Part, Text, Thinking
from inspector.core.policies.replacements import PLACEHOLDER
from inspector.core.policies.roku.settings import RokuSettings, StepRecord
from inspector.core.tokens.harnesses import estimate, utf8_length

PLACEHOLDER_TOKENS = estimate(PLACEHOLDER)
TEXT_BYTES = 120
RESULT_BYTES = 100
REASON_BYTES, OUTCOME_BYTES = 80, 100
LLM_REASON_BYTES, LLM_OUTCOME_BYTES = 100, 150
PREVIEW_BYTES = 200
_HEADER = re.compile(r"^(?=(?:Goal|Accomplished|Key Decisions|Relevant Files):|\[)", re.MULTILINE)
_OPEN, _CLOSE = "<thinking>", "</thinking>"


def half_split(messages: Sequence[Message], settings: RokuSettings) -> int:
    """End of the older half of all after message 0, moved back so that no kept result loses its call; 1 = nothing."""
    n = len(messages)
    return 1 if n < 3 else _walk_back(messages, 1 + -(-(n - 1) // 2), settings)


def tail_split(messages: Sequence[Message], settings: RokuSettings) -> int:
    """As half_split, but all except the newest max(5, retain_tail_steps) messages go."""
    keep = max(5, settings.retain_tail_steps)
    n = len(messages)
    return 1 if n <= keep + 1 else _walk_back(messages, n - keep, settings)


def l3_split(messages: Sequence[Message], settings: RokuSettings) -> int:
    """The split by the `l3_segment` setting."""
    return half_split(messages, settings) if settings.l3_segment == "half" else tail_split(messages, settings)


def _walk_back(messages: Sequence[Message], split: int, settings: RokuSettings) -> int:
    while split > 1 and split < len(messages) and messages[split].role == "tool":
        split -= 1
    if settings.safe:
        split = _keep_pairs(messages, split)
    return max(1, split)


def _keep_pairs(messages: Sequence[Message], split: int) -> int:
    """Moved back until no kept result lacks its call (a user message between two results defeats the plain walk)."""
    called_at: dict[str, int] = {}
    for at, message in enumerate(messages):
        for call in message.calls:
            called_at.setdefault(call.id, at)
    at = len(messages)
    while split > 1 and at > split:
        at -= 1
        result = messages[at].result
        if result is not None:
            split = min(split, called_at.get(result.call_id, split))
    return split


def replace_segment(
    messages: Sequence[Message], split: int, inserted: Sequence[Message], settings: RokuSettings
) -> tuple[Message, ...]:
    """Message 0, what is inserted, what is kept. With `pin_last_user` the newest user message stays, too."""
    pinned: tuple[Message, ...] = ()
    if settings.pin_last_user:
        newest = next((m for m in reversed(messages) if m.role == "user" and not m.summary), None)
        pinned = tuple(m for m in messages[1:split] if m is newest)
    return (messages[0], *inserted, *pinned, *messages[split:])


def clearable(messages: Sequence[Message], settings: RokuSettings) -> list[int]:
    """Indices of the results that L0 would clear: all but the newest ones, and only those that are longer."""
    results = [(at, m.result) for at, m in enumerate(messages) if m.role == "tool" and m.result is not None]
    old = results[: max(0, len(results) - settings.microcompact_retain_recent)]
    spared: set[str] = set()
    if settings.safe and settings.exclude_tools:
        spared = {call.id for m in messages for call in m.calls if call.name in settings.exclude_tools}
    most = len(PLACEHOLDER)
    long = ((at, one) for at, one in old if len(one.content) > most or utf8_length(one.content) > most)
    return [at for at, result in long if result.call_id not in spared]


def freed_raw(messages: Sequence[Message], indices: Sequence[int]) -> int:
    """Raw tokens that clearing these frees."""
    results = (messages[at].result for at in indices)
    return sum(max(0, estimate(one.content) - PLACEHOLDER_TOKENS) for one in results if one is not None)


def cut(text: str, limit: int) -> str:
    """Unchanged up to `limit` UTF-8 bytes; else the longest prefix of whole characters within it, and `…`."""
    if len(text) * 4 <= limit or len(data := text[: limit + 1].encode("utf-8", "replace")) <= limit:
        return text
    return data[:limit].decode("utf-8", "ignore") + "…"


def digest(messages: Sequence[Message], flat: bool = False) -> str:
    """`[n messages compacted]` and a line for each. `flat` (safe mode) takes line breaks out of the quoted texts."""
    lines = [f"[{len(messages)} messages compacted]"]
    for message in messages:
        lines += _digest_lines(message, flat)
    return "\n".join(lines)


def _digest_lines(message: Message, flat: bool) -> list[str]:
    text = _flat(message.text) if flat else message.text
    match message.role:
        case "assistant":
            said = [f"Assistant: {cut(text, TEXT_BYTES)}"] if text else []
            return said + [f"  → tool_use: {call.name}" for call in message.calls]
        case "tool" if result := message.result:
            content = _flat(result.content) if flat else result.content
            state = "error" if result.is_error else "ok"
            return [f"ToolResult({result.call_id}): {state} — {cut(content, RESULT_BYTES)}"]
        case _:
            return [f"User: {cut(text, TEXT_BYTES)}"]


def _flat(text: str) -> str:
    """One line, so that a quoted text cannot pass for a line of the digest or a section header."""
    return _HEADER.sub("· ", " ".join(text.split()))


def strip_thinking(messages: Sequence[Message]) -> tuple[tuple[Message, ...], int]:
    """The messages without `<thinking>…</thinking>` at their very start and thinking parts; how many were changed.

    An unclosed tag, or one after white space, stays as it is.
    """
    stripped = tuple(map(_stripped, messages))
    return stripped, sum(new is not old for new, old in zip(stripped, messages, strict=True))


def _stripped(message: Message) -> Message:
    if message.role != "assistant":
        return message
    parts: list[Part] = []
    leading = True
    for part in message.parts:
        if isinstance(part, Thinking):
            continue
        if leading and isinstance(part, Text):
            text = _without_tag(part.text)
            part = part if text is part.text else Text(text)
        leading = False
        parts.append(part)
    same = len(parts) == len(message.parts) and all(a is b for a, b in zip(parts, message.parts, strict=True))
    return message if same else replace(message, parts=tuple(parts))


def _without_tag(text: str) -> str:
    if not text.startswith(_OPEN):
        return text
    end = text.find(_CLOSE, len(_OPEN))
    return text if end < 0 else text[end + len(_CLOSE) :].lstrip()


def split_records(history: Sequence[StepRecord], settings: RokuSettings) -> tuple[tuple[StepRecord, ...], ...]:
    """(to be removed, kept); nothing to remove while no more than `retain_tail_steps` are there.

    Upstream counts a leading boundary; safe mode does not.
    """
    counted = len(history)
    if settings.safe and history and history[0].kind == "boundary":
        counted -= 1
    if counted <= settings.retain_tail_steps:
        return (), tuple(history)
    at = len(history) - settings.retain_tail_steps
    return tuple(history[:at]), tuple(history[at:])


def mechanical_text(removed: Sequence[StepRecord]) -> str:
    """The text without a model."""
    lines = [f"[Compact summary — {len(removed)} steps discarded]"]
    for one in removed:
        reason, outcome = cut(one.reason, REASON_BYTES), cut(one.outcome, OUTCOME_BYTES)
        lines.append(f"Step {one.step}: {one.tool or 'unknown'} — {reason} — {outcome}")
    return "\n".join(lines)


def records_json(removed: Sequence[StepRecord]) -> str:
    """What the model is given to summarise."""
    return dumps(
        [
            {
                "step": one.step,
                "tool": one.tool or "unknown",
                "reason": cut(one.reason, LLM_REASON_BYTES),
                "outcome": cut(one.outcome, LLM_OUTCOME_BYTES),
            }
            for one in removed
        ]
    )


def boundary(step: int, removed: Sequence[StepRecord], text: str) -> StepRecord:
    """The record that stands for the removed ones."""
    count = len(removed)
    return StepRecord(step, None, str(count), "boundary", discarded=count, preview=cut(text, PREVIEW_BYTES))


def joined_summary(text: str, old: str, settings: RokuSettings) -> str:
    """Newest first, cut to the limit: the oldest information is what gets lost. No ellipsis."""
    joined = f"{text}\n\n{old}" if old else text
    limit = settings.working_summary_max_chars
    if settings.unit == "bytes":
        return joined.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    return joined[:limit]
