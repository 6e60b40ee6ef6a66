"""run_compaction: what L3 and L4 share, from the segment to CompactComplete (spec 1.7 to 1.10)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.message import Message, ToolResult
from inspector.core.needs import Answer, Conversation, Failure, Summarize
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.policy import Moment
from inspector.core.policies.roku import records
from inspector.core.policies.roku.digest import digest
from inspector.core.policies.roku.running import Running, raw_tokens
from inspector.core.policies.roku.segment import insertion, l3_split, replace_segment
from inspector.core.policies.roku.settings import Settings
from inspector.core.policies.roku.summaries import Attempt, local, remote
from inspector.core.policies.roku.thinking import strip_thinking

Path: TypeAlias = Literal["mechanical", "L3a", "L3b"]
PREFIX = "[Conversation summary]\n"
HISTORY_INSTRUCTIONS = (
    "Summarise these steps of an agent's run as plain text, at most {limit} characters. "
    "Keep tool names, file paths and errors."
)
LARGE_RESULT_BYTES, OMISSION_BYTES = 4_000, 60


def choose_path(running: Running, moment: Moment) -> Path:
    """Breaker open or no model: mechanical; a remote-capable provider: L3a; else L3b."""
    if running.breaker.open or not moment.router:
        return "mechanical"
    return "L3a" if moment.remote else "L3b"


def run_compaction(
    tier: str, path: Path, buffer: Buffer, settings: Settings, running: Running, moment: Moment, sent: Sequence[Event]
) -> Conversation[Outcome[Running]]:
    """Remove the segment and insert what stands in for it. `sent` = the events that led here."""
    events, changed = list(sent), dict[str, FateName]()
    if settings.truncate_large_results:
        buffer = _truncated(buffer, changed)
    split = l3_split(buffer.messages, settings)
    removed, stripped = strip_thinking(buffer.messages[1:split])
    if stripped:
        events.append(Event("ReasoningContentStripped", {"step": moment.step, "messages_stripped": stripped}))
    attempt = yield from _attempt(path, removed, settings)
    after = _inserted(path, attempt, buffer, split, removed, settings)
    if settings.safe and not attempt.error and removed and raw_tokens(after) >= raw_tokens(buffer):
        after, removed, attempt = buffer, (), replace(attempt, error="", text="", messages=())  # no gain: not made
    succeeded = bool(removed) and not attempt.error and path != "mechanical"
    if path != "mechanical":
        events.append(_summarizer_called(attempt, succeeded, moment))
    if removed:
        running = yield from _compact_records(path, succeeded, settings, running, moment)
        running = _judge(path, succeeded, attempt, settings, running, moment, events)
        running = replace(running, detector=running.detector.notify_compaction())
        changed.update((message.id, "summarised") for message in removed)
    finished = {"step": moment.step, "llm_succeeded": succeeded, "elapsed_ms": attempt.elapsed_ms}
    events.append(Event("CompactComplete", finished))
    done = succeeded or (path == "mechanical" and bool(removed))
    return Outcome(tier, after, running, tuple(events), done, attempt.error, changed)


def _attempt(path: Path, removed: Sequence[Message], settings: Settings) -> Conversation[Attempt]:
    if not removed or path == "mechanical":
        return Attempt()
    return (yield from (remote(removed, settings) if path == "L3a" else local(removed, settings)))


def _inserted(
    path: Path, attempt: Attempt, buffer: Buffer, split: int, removed: Sequence[Message], settings: Settings
) -> Buffer:
    if not removed:
        return buffer
    if attempt.messages:
        inserted: Sequence[Message] = _named(attempt.messages, removed)
    else:
        text = attempt.text or digest(removed, settings.safe)
        prefix = "" if path == "mechanical" else PREFIX
        inserted = (insertion("l3" if path == "mechanical" else path.lower(), prefix + text, removed),)
    return buffer.with_messages(replace_segment(buffer.messages, split, inserted, settings))


def _named(messages: Sequence[Message], removed: Sequence[Message]) -> tuple[Message, ...]:
    """The provider's messages under ids of our own, so that none can collide with a kept one."""
    stem = insertion("l3a", "", removed).id
    return tuple(replace(message, id=f"{stem}-{n}", summary=True) for n, message in enumerate(messages))


def _summarizer_called(attempt: Attempt, succeeded: bool, moment: Moment) -> Event:
    return Event(
        "AutoCompactSummarizerCalled",
        {
            "step": moment.step,
            "prompt_tokens": attempt.prompt_tokens,
            "output_tokens": attempt.output_tokens,
            "succeeded": succeeded,
            "drop_oldest_retries": attempt.retries,
        },
    )


def _judge(
    path: Path,
    succeeded: bool,
    attempt: Attempt,
    settings: Settings,
    running: Running,
    moment: Moment,
    events: list[Event],
) -> Running:
    """The breaker's part."""
    if path == "mechanical":
        return running
    if succeeded:
        return replace(running, breaker=running.breaker.succeeded())
    limit = settings.max_consecutive_autocompact_failures
    breaker, tripped = running.breaker.failed(limit)
    if tripped:
        fields = {"step": moment.step, "consecutive_failures": breaker.failures}
        events.append(Event("AutoCompactCircuitBreakerTripped", fields))
    return replace(running, breaker=breaker)


def _compact_records(
    path: Path, succeeded: bool, settings: Settings, running: Running, moment: Moment
) -> Conversation[Running]:
    """LoopState.history: by a model after a good summary (not after L3a, unless set), else mechanically."""
    removed, kept = records.split_records(running.history, settings)
    if not removed:
        return running
    text = ""
    by_model = succeeded and (not moment.remote or settings.history_after_remote == "llm")
    if by_model and path != "mechanical":
        text = yield from _records_summary(removed, settings)
    text = text or records.mechanical_text(removed)
    return replace(
        running,
        history=(records.boundary(moment.step, removed, text), *kept),
        working_summary=records.joined_summary(text, running.working_summary, settings),
    )


def _records_summary(removed: Sequence[records.StepRecord], settings: Settings) -> Conversation[str]:
    instructions = HISTORY_INSTRUCTIONS.format(limit=settings.working_summary_max_chars)
    try:
        answer: Answer = yield Summarize(
            instructions, records.records_json(removed), timeout_s=settings.compact_llm_timeout, purpose="history"
        )
    except Failure:  # does not touch the breaker (R-BRK-8)
        return ""
    return answer.text if answer.text.strip() else ""


def _truncated(buffer: Buffer, changed: dict[str, FateName]) -> Buffer:
    """Every tool result over 4,000 bytes cut to head and tail (upstream's extra, off by default)."""
    messages = []
    for message in buffer.messages:
        result = message.result
        data = result.content.encode("utf-8", "replace") if result else b""
        if result and len(data) > LARGE_RESULT_BYTES:
            message = replace(message, parts=(_shortened(result, data), *message.parts[1:]))
            changed[message.id] = "cut"
        messages.append(message)
    return buffer.with_messages(messages) if changed else buffer


def _shortened(result: ToolResult, data: bytes) -> ToolResult:
    side = (LARGE_RESULT_BYTES - OMISSION_BYTES) // 2
    head = data[:side].decode("utf-8", "ignore")
    tail = data[-side:].decode("utf-8", "ignore")
    omitted = len(data) - len(head.encode()) - len(tail.encode())  # cut between characters, so less may be kept
    return replace(result, content=f"{head}\n\n[...{omitted} bytes omitted...]\n\n{tail}")
