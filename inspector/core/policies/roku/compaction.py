"""Run Roku's tiers: L0 microcompact, L1 context collapse, L2 session memory summary, L3 and L4.

L3 and L4 replace a segment by a summary: of the provider (L3a, remote compact), or of a model in four sections (L3b).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.message import Json, Message, Opaque, ToolCall, ToolResult
from inspector.core.needs import (
    Answer,
    ContextWindowExceeded,
    Conversation,
    Failure,
    RemoteCompact,
    Summarize,
)
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.replacements import clear_result, inserted, remove_parts
from inspector.core.policies.roku.messages import (
    count_freed_tokens,
    find_half_split,
    find_l3_split,
    find_old_results,
    join_summaries,
    make_boundary,
    replace_segment,
    split_records,
    strip_thinking,
    write_digest,
    write_mechanical_summary,
    write_records,
)
from inspector.core.policies.roku.settings import RokuSettings, RokuState, raw_tokens, total_tokens
from inspector.core.policies.turn import AllDone, Done
from inspector.core.rounding import divide_up

RokuContext: TypeAlias = PolicyContext[RokuSettings, RokuState]
Path: TypeAlias = Literal["mechanical", "L3a", "L3b"]
PREFIX = "[Conversation summary]\n"
HISTORY_INSTRUCTIONS = (
    "Summarise these steps of an agent's run as plain text, at most {limit} characters. "
    "Keep tool names, file paths and errors."
)
LARGE_RESULT_BYTES, OMISSION_BYTES = 4_000, 60
MEMORY_INSTRUCTIONS = (
    "You keep the memory of a coding session. From the digest of its older part write a short summary of what the "
    "user wants, what was done, what was decided and which files matter. Plain text, no preamble."
)
HEADERS = ("Goal:", "Accomplished:", "Key Decisions:", "Relevant Files:")
INSTRUCTIONS = (
    "Summarise the part of an agent's session that you are given, so that the agent can go on without it. "
    "Answer with exactly four sections, each under its header on a line of its own:\n"
    "Goal: what the user wants, in their words where it matters.\n"
    "Accomplished: what was done, with results.\n"
    "Key Decisions: what was decided, and why; what failed.\n"
    "Relevant Files: paths, each with what it is for.\n"
    "Keep paths, identifiers, error texts and numbers as they are. No other text."
)
SUMMARY_TOKENS = 2_048
PROVIDER_FAILURE = "provider_failure"
CONTRACT_VIOLATION = "contract_violation"
OVERFLOW = "overflow_after_retries"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of requesting a summary. `error` is empty on success."""

    text: str = ""
    messages: tuple[Message, ...] = ()
    error: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0
    retries: int = 0
    elapsed_ms: int = 0


def clear_old_results(context: RokuContext) -> Outcome[RokuState]:
    """L0: clear old tool results. The event is sent, and the detector notified, only if tokens were freed."""
    running = context.running
    indices = find_old_results(context.messages, context.settings)
    freed = running.calibration.apply(count_freed_tokens(context.messages, indices))
    messages = list(context.messages)
    changed: dict[str, FateName] = {}
    for at in indices:
        messages[at] = clear_result(messages[at])
        changed[messages[at].id] = "cleared"
    events = list[Event]()
    if freed:
        running = replace(running, detector=running.detector.notify_compaction())
        fields = {"step": context.moment.step, "freed_tokens": freed}
        events.append(Event("MicrocompactRan", fields))
    after = context.buffer.with_messages(messages) if indices else context.buffer
    return Outcome("L0", buffer=after, running=running, events=tuple(events), changed=changed)


def collapse_older_half(context: RokuContext) -> Outcome[RokuState]:
    """L1: replace the older half by a mechanical digest."""
    split = find_half_split(context.messages, context.settings)
    removed = context.messages[1:split]
    heading = f"[Mid-tier context collapse — {len(removed)} messages compacted]"
    text = f"{heading}\n{write_digest(removed, context.settings.safe)}"
    event = Event(
        "MidCompactLayer1Ran", {"step": context.moment.step, "messages_collapsed": len(removed)}
    )
    return _replaced("L1", text, event, context, split) or context.unchanged("L1")


def use_session_memory(context: RokuContext) -> Done[RokuState]:
    """L2: replace the older half by an existing summary or, if the setting allows, a generated one. Else run L1."""
    settings, moment = context.settings, context.moment
    split = find_half_split(context.messages, settings)
    removed = context.messages[1:split]
    if not removed:
        return context.unchanged("L2")
    summary = moment.summary
    if not summary.strip() and settings.session_memory == "generate":
        need = Summarize(
            MEMORY_INSTRUCTIONS,
            write_digest(removed),
            timeout_s=settings.compact_llm_timeout,
            source=tuple(removed),
            purpose="session memory",
        )
        summary = yield from _text(need)
    done = None
    if summary.strip():
        event = Event(
            "MidCompactLayer2Ran", {"step": moment.step, "messages_replaced": len(removed)}
        )
        done = _replaced("L2", f"[Session memory summary]\n{summary}", event, context, split)
    return done or collapse_older_half(context)


def _text(need: Summarize) -> Conversation[str]:
    """Return the text of the answer; empty if it is blank or the call fails. The breaker ignores such a failure."""
    try:
        answer: Answer = yield need
    except Failure:
        return ""
    return answer.text if answer.text.strip() else ""


def _replaced(
    tier: str, text: str, event: Event, context: RokuContext, split: int
) -> Outcome[RokuState] | None:
    """Replace the older half by the text.

    Returns:
        The outcome; None if nothing can be removed, or in safe mode if the buffer would not shrink.
    """
    buffer, settings, running = context.buffer, context.settings, context.running
    removed = buffer.messages[1:split]
    if not removed:
        return None
    summary = inserted(tier.lower(), role="user", text=text, made_from=removed)
    after = buffer.with_messages(
        replace_segment(buffer.messages, split, inserted=(summary,), settings=settings)
    )
    if settings.safe and raw_tokens(after) >= raw_tokens(buffer):
        return None
    running = replace(running, detector=running.detector.notify_compaction())
    changed: dict[str, FateName] = {message.id: "summarised" for message in removed}
    return Outcome(tier, buffer=after, running=running, events=(event,), changed=changed)


def run_mid_tier(context: RokuContext) -> AllDone[RokuState]:
    """Run the mid tier if it is due: L2 if there is a summary or one can be generated, else L1."""
    if not context.settings.mid_line.fires(total_tokens(context.buffer, context.running)):
        return ()
    if has_memory(context):
        return ((yield from use_session_memory(context)),)
    return (collapse_older_half(context),)


def has_memory(context: RokuContext) -> bool:
    """Is there a session memory summary, or does the setting allow generating one?"""
    return bool(context.moment.summary.strip()) or context.settings.session_memory == "generate"


def run_high_tier(context: RokuContext) -> AllDone[RokuState]:
    """Run L3 if it is due."""
    if not context.settings.high_line.fires(total_tokens(context.buffer, context.running)):
        return ()
    return ((yield from compact_segment("L3", choose_path(context), context)),)


def choose_path(context: RokuContext) -> Path:
    """Choose the summary: mechanical if the breaker is open or there is no model, else remote if possible."""
    if context.running.breaker.open or not context.moment.router:
        return "mechanical"
    return "L3a" if context.moment.remote else "L3b"


def compact_segment(tier: str, path: Path, context: RokuContext) -> Done[RokuState]:
    """L3 or L4: replace the segment by a summary. The outcome of L3 has the name of the path, such as L3a."""
    buffer, settings, moment = context.buffer, context.settings, context.moment
    changed = dict[str, FateName]()
    running, events = _start_compaction(tier, context)
    if tier == "L3" and path != "mechanical":
        tier = path
    buffer = _truncate_results(buffer, settings, changed)
    split = find_l3_split(buffer.messages, settings)
    removed, stripped = strip_thinking(buffer.messages[1:split])
    if stripped:
        events.append(
            Event("ReasoningContentStripped", {"step": moment.step, "messages_stripped": stripped})
        )
    attempt = yield from _summarise_segment(path, removed, settings)
    after = _insert_summary(path, attempt, buffer, split, removed, settings)
    is_smaller = raw_tokens(after) < raw_tokens(buffer)
    # No gain: keep the buffer.
    if settings.safe and not attempt.error and not is_smaller:
        after = buffer
        removed = ()
        attempt = replace(attempt, text="", messages=())
    is_mechanical = path == "mechanical"
    is_replaced = bool(removed) and not attempt.error
    succeeded = is_replaced and not is_mechanical
    if not is_mechanical:
        events.append(_describe_attempt(attempt, succeeded, moment.step))
    if removed:
        running, more = yield from _update_running(path, succeeded, context.with_running(running))
        events += more
        changed |= {message.id: "summarised" for message in removed}
    finished = {"step": moment.step, "llm_succeeded": succeeded, "elapsed_ms": attempt.elapsed_ms}
    events.append(Event("CompactComplete", finished))
    return Outcome(
        tier,
        buffer=after,
        running=running,
        events=tuple(events),
        succeeded=is_replaced,
        error=attempt.error,
        changed=changed,
    )


def _start_compaction(tier: str, context: RokuContext) -> tuple[RokuState, list[Event]]:
    """Return the running state and the events at the start of L3 or L4."""
    running, step = context.running, context.moment.step
    if tier == "L4":
        running = replace(running, detector=running.detector.notify_compaction())
        return running, [
            Event("ReactiveCompactTriggered", {"step": step, "detail": context.moment.overflow})
        ]
    total = total_tokens(context.buffer, running)
    return running, [Event("CompactTriggered", {"step": step, "estimated_tokens": total})]


def _summarise_segment(
    path: Path, removed: Sequence[Message], settings: RokuSettings
) -> Conversation[Attempt]:
    """Request the summary. Return an empty attempt if nothing is removed, or the digest is mechanical."""
    if not removed or path == "mechanical":
        return Attempt()
    if path == "L3a":
        return (yield from compact_remotely(removed, settings))
    return (yield from summarise_locally(removed, settings))


def _update_running(
    path: Path, succeeded: bool, context: RokuContext
) -> Conversation[tuple[RokuState, list[Event]]]:
    """Return the running state after a segment was replaced, with an event if the breaker opens."""
    events: list[Event] = []
    running = yield from _compact_records(succeeded, context)
    if path != "mechanical":
        running, events = _update_breaker(running, succeeded, context.settings, context.moment.step)
    return replace(running, detector=running.detector.notify_compaction()), events


def _update_breaker(
    running: RokuState, succeeded: bool, settings: RokuSettings, step: int
) -> tuple[RokuState, list[Event]]:
    """Count a success or failure in the breaker. Return the state, with an event if the breaker opens."""
    if succeeded:
        return replace(running, breaker=running.breaker.succeeded()), []
    breaker, is_tripped = running.breaker.failed(settings.max_consecutive_autocompact_failures)
    fields: dict[str, Json] = {"step": step, "consecutive_failures": breaker.failures}
    events = [Event("AutoCompactCircuitBreakerTripped", fields)] if is_tripped else []
    return replace(running, breaker=breaker), events


def _insert_summary(
    path: Path,
    attempt: Attempt,
    buffer: Buffer,
    split: int,
    removed: Sequence[Message],
    settings: RokuSettings,
) -> Buffer:
    """Return the buffer in which the summary, or a digest, replaces the removed messages."""
    if not removed:
        return buffer
    if attempt.messages:
        # the messages get ids that no kept message has
        stem = inserted("l3a", role="user", text="", made_from=removed).id
        new = tuple(
            replace(message, id=f"{stem}-{number}", summary=True)
            for number, message in enumerate(attempt.messages)
        )
    else:
        text = attempt.text or write_digest(removed, settings.safe)
        if path == "mechanical":
            new = (inserted("l3", role="user", text=text, made_from=removed),)
        else:
            new = (inserted(path.lower(), role="user", text=PREFIX + text, made_from=removed),)
    messages = replace_segment(buffer.messages, split, inserted=new, settings=settings)
    return buffer.with_messages(messages)


def _describe_attempt(attempt: Attempt, succeeded: bool, step: int) -> Event:
    return Event(
        "AutoCompactSummarizerCalled",
        {
            "step": step,
            "prompt_tokens": attempt.prompt_tokens,
            "output_tokens": attempt.output_tokens,
            "succeeded": succeeded,
            "drop_oldest_retries": attempt.retries,
        },
    )


def _compact_records(succeeded: bool, context: RokuContext) -> Conversation[RokuState]:
    """Compact LoopState.history, by a model if the summary succeeded and the settings allow, else mechanically."""
    settings, running, moment = context.settings, context.running, context.moment
    removed, newest = split_records(running.history, settings)
    if not removed:
        return running
    text = ""
    may_ask = not moment.remote or settings.history_after_remote == "llm"
    if succeeded and may_ask:
        need = Summarize(
            HISTORY_INSTRUCTIONS.format(limit=settings.working_summary_max_chars),
            write_records(removed),
            timeout_s=settings.compact_llm_timeout,
            purpose="history",
        )
        text = yield from _text(need)
    if not text:
        text = write_mechanical_summary(removed)
    return replace(
        running,
        history=(make_boundary(moment.step, removed, text), *newest),
        working_summary=join_summaries(text, running.working_summary, settings),
    )


def _truncate_results(
    buffer: Buffer, settings: RokuSettings, changed: dict[str, FateName]
) -> Buffer:
    """Cut every tool result over 4,000 bytes to its beginning and end, if `truncate_large_results` is set."""
    if not settings.truncate_large_results:
        return buffer
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
    # Cuts are between characters, so fewer bytes may be kept.
    omitted = len(data) - len(head.encode()) - len(tail.encode())
    return replace(result, content=f"{head}\n\n[...{omitted} bytes omitted...]\n\n{tail}")


def compact_remotely(removed: Sequence[Message], settings: RokuSettings) -> Conversation[Attempt]:
    """L3a: have the provider compact the messages, in one request, without a retry or a fallback to L3b.

    Opaque items in the answer are skipped unless `opaque_items` is `keep`. Safe mode also drops calls without a result,
    and results without their call.
    """
    try:
        answer: Answer = yield RemoteCompact(
            INSTRUCTIONS, tuple(removed), settings.compact_request_timeout
        )
    except Failure as failure:
        return Attempt(error=PROVIDER_FAILURE, elapsed_ms=failure.elapsed_ms)
    usable = answer.messages
    if settings.opaque_items == "skip":
        usable = remove_parts(usable, lambda part: isinstance(part, Opaque))
    if settings.safe:
        usable = _without_open_calls(usable)
    return replace(_spent(answer), messages=usable, error="" if usable else PROVIDER_FAILURE)


def summarise_locally(removed: Sequence[Message], settings: RokuSettings) -> Conversation[Attempt]:
    """L3b: request a summary in four sections. If the request overflows, drop its older half and try again."""
    work = list(removed)
    retries = 0
    elapsed = 0
    while work:
        text = write_digest(work, settings.safe)
        try:
            answer: Answer = yield Summarize(
                INSTRUCTIONS,
                text,
                max_tokens=SUMMARY_TOKENS,
                timeout_s=settings.compact_llm_timeout,
                source=tuple(work),
                headings=HEADERS,
            )
        except ContextWindowExceeded as failure:
            elapsed += failure.elapsed_ms
            if retries >= settings.max_drop_oldest_retries:
                break
            retries += 1
            del work[: divide_up(len(work), 2)]
            continue
        except Failure as failure:
            elapsed += failure.elapsed_ms
            return Attempt(error=PROVIDER_FAILURE, retries=retries, elapsed_ms=elapsed)
        return _check_summary(answer, retries, elapsed)
    return Attempt(error=OVERFLOW, retries=retries, elapsed_ms=elapsed)


def _check_summary(answer: Answer, retries: int, elapsed: int) -> Attempt:
    spent = replace(_spent(answer), retries=retries, elapsed_ms=answer.elapsed_ms + elapsed)
    if not answer.text.strip():
        return replace(spent, error=PROVIDER_FAILURE)
    if not all(header in answer.text for header in HEADERS):
        return replace(spent, error=CONTRACT_VIOLATION)
    return replace(spent, text=answer.text)


def _spent(answer: Answer) -> Attempt:
    usage = answer.usage
    prompt, output = (usage.prompt, usage.output) if usage else (0, 0)
    return Attempt(prompt_tokens=prompt, output_tokens=output, elapsed_ms=answer.elapsed_ms)


def _without_open_calls(messages: Sequence[Message]) -> tuple[Message, ...]:
    answered = {message.result.call_id for message in messages if message.result is not None}
    called = {call.id for message in messages for call in message.calls}
    paired = (
        message
        for message in messages
        if message.result is None or message.result.call_id in called
    )
    return remove_parts(paired, lambda part: isinstance(part, ToolCall) and part.id not in answered)
