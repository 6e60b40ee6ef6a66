"""The mid tier: L1 context collapse, L2 session memory summary (spec 1.6)."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.needs import Answer, Conversation, Failure, Summarize
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.policy import Moment
from inspector.core.policies.roku.digest import digest
from inspector.core.policies.roku.running import Running, raw_tokens
from inspector.core.policies.roku.segment import half_split, insertion, replace_segment
from inspector.core.policies.roku.settings import Settings

MEMORY_INSTRUCTIONS = (
    "You keep the memory of a coding session. From the digest of its older part write a short summary of what the "
    "user wants, what was done, what was decided and which files matter. Plain text, no preamble."
)


def collapse(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Outcome[Running]:
    """L1: the older half becomes a mechanical digest."""
    split = half_split(buffer.messages, settings)
    removed = buffer.messages[1:split]
    if not removed:
        return Outcome("L1", buffer, running)
    text = f"[Mid-tier context collapse — {len(removed)} messages compacted]\n{digest(removed, settings.safe)}"
    after = _replaced(buffer, split, "l1", text, settings)
    if settings.safe and raw_tokens(after) >= raw_tokens(buffer):
        return Outcome("L1", buffer, running)  # safe: a collapse that does not shrink is not made
    event = Event("MidCompactLayer1Ran", {"step": moment.step, "messages_collapsed": len(removed)})
    return _outcome("L1", after, running, event, removed)


def remember(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Conversation[Outcome[Running]]:
    """L2 with the summary at hand (or one generated, where the setting says so); without a summary it is L1."""
    split = half_split(buffer.messages, settings)
    removed = buffer.messages[1:split]
    if not removed:
        return Outcome("L2", buffer, running)
    summary = moment.summary
    if not summary.strip() and settings.session_memory == "generate":
        summary = yield from _generated(removed, settings)
    if not summary.strip():
        return collapse(buffer, settings, running, moment)
    after = _replaced(buffer, split, "l2", f"[Session memory summary]\n{summary}", settings)
    if settings.safe and raw_tokens(after) >= raw_tokens(buffer):
        return collapse(buffer, settings, running, moment)
    event = Event("MidCompactLayer2Ran", {"step": moment.step, "messages_replaced": len(removed)})
    return _outcome("L2", after, running, event, removed)


def _generated(removed: Sequence[Message], settings: Settings) -> Conversation[str]:
    try:
        answer: Answer = yield Summarize(
            MEMORY_INSTRUCTIONS,
            digest(removed),
            timeout_s=settings.compact_llm_timeout,
            source=tuple(removed),
            purpose="session memory",
        )
    except Failure:
        return ""
    return answer.text


def _replaced(buffer: Buffer, split: int, kind: str, text: str, settings: Settings) -> Buffer:
    inserted = insertion(kind, text, buffer.messages[1:split])
    return buffer.with_messages(replace_segment(buffer.messages, split, (inserted,), settings))


def _outcome(tier: str, after: Buffer, running: Running, event: Event, removed: Sequence[Message]) -> Outcome[Running]:
    running = replace(running, detector=running.detector.notify_compaction())
    changed = {message.id: "summarised" for message in removed}
    return Outcome(tier, after, running, (event,), changed=changed)  # type: ignore[arg-type]
