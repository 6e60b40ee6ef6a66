"""The tiers: L0 microcompact; L1 context collapse, L2 session memory summary; L3 and L4, and what they share, from the
segment to CompactComplete (spec 1.5 to 1.10). Two ways to have removed messages summarised: L3a remote compact, L3b
local four-section summary (spec 1.7).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.message import Json, Message, Opaque, ToolCall, ToolResult
from inspector.core.needs import Answer, ContextWindowExceeded, Conversation, Failure, RemoteCompact, Summarize
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.replacements import clear_result, inserted, remove_parts
from inspector.core.policies.roku.messages import (
    boundary,
    clearable,
    digest,
    freed_raw,
    half_split,
    joined_summary,
    l3_split,
    mechanical_text,
    records_json,
    replace_segment,
    split_records,
    strip_thinking,
)
from inspector.core.policies.roku.settings import RokuSettings, RokuState, raw_tokens, total_tokens
from inspector.core.policies.turn import AllDone, Done

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
    """How a summary went. `error` is empty on success."""

    text: str = ""
    messages: tuple[Message, ...] = ()
    error: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0
    retries: int = 0
    elapsed_ms: int = 0


def microcompact(context: RokuContext) -> Outcome[RokuState]:
    """Clear what is clearable. The event is sent, and the detector notified, only where tokens were freed."""
    running = context.running
    indices = clearable(context.messages, context.settings)
    freed = running.calibration.apply(freed_raw(context.messages, indices))
    messages = list(context.messages)
    for at in indices:
        messages[at] = clear_result(messages[at])
    changed = {context.messages[at].id: "cleared" for at in indices}
    events = (Event("MicrocompactRan", {"step": context.moment.step, "freed_tokens": freed}),) if freed else ()
    if freed:
        running = replace(running, detector=running.detector.notify_compaction())
    after = context.buffer.with_messages(messages) if indices else context.buffer
    return Outcome("L0", after, running, events, changed=changed)  # type: ignore[arg-type]


def collapse(context: RokuContext) -> Outcome[RokuState]:
    """L1: the older half becomes a mechanical digest."""
    split = half_split(context.messages, context.settings)
    removed = context.messages[1:split]
    heading = f"[Mid-tier context collapse — {len(removed)} messages compacted]"
    text = f"{heading}\n{digest(removed, context.settings.safe)}"
    event = Event("MidCompactLayer1Ran", {"step": context.moment.step, "messages_collapsed": len(removed)})
    return _replaced("L1", text, event, context, split) or context.unchanged("L1")


def remember(context: RokuContext) -> Done[RokuState]:
    """L2 with the summary at hand (or one generated, where the setting says so); without a summary it is L1."""
    settings, moment = context.settings, context.moment
    split = half_split(context.messages, settings)
    removed = context.messages[1:split]
    if not removed:
        return context.unchanged("L2")
    summary = moment.summary
    if not summary.strip() and settings.session_memory == "generate":
        text, wait = digest(removed), settings.compact_llm_timeout
        need = Summarize(MEMORY_INSTRUCTIONS, text, timeout_s=wait, source=tuple(removed), purpose="session memory")
        summary = yield from _text(need)
    done = None
    if summary.strip():
        event = Event("MidCompactLayer2Ran", {"step": moment.step, "messages_replaced": len(removed)})
        done = _replaced("L2", f"[Session memory summary]\n{summary}", event, context, split)
    return done or collapse(context)


def _text(need: Summarize) -> Conversation[str]:
    """The answer; empty where none came. A failure does not touch the breaker (R-BRK-8)."""
    try:
        answer: Answer = yield need
    except Failure:
        return ""
    return answer.text if answer.text.strip() else ""


def _replaced(tier: str, text: str, event: Event, context: RokuContext, split: int) -> Outcome[RokuState] | None:
    """The older half replaced by the text. None where nothing can be removed; in safe mode where that does not
    shrink the buffer."""
    buffer, settings, running = context.buffer, context.settings, context.running
    removed = buffer.messages[1:split]
    if not removed:
        return None
    summary = inserted(tier.lower(), "user", text, removed)
    after = buffer.with_messages(replace_segment(buffer.messages, split, (summary,), settings))
    if settings.safe and raw_tokens(after) >= raw_tokens(buffer):
        return None
    running = replace(running, detector=running.detector.notify_compaction())
    changed: dict[str, FateName] = {message.id: "summarised" for message in removed}
    return Outcome(tier, after, running, (event,), changed=changed)


def mid_tier(context: RokuContext) -> AllDone[RokuState]:
    """Where it is due: L2 if a summary is at hand or can be made, else L1."""
    if not context.settings.mid_line.fires(total_tokens(context.buffer, context.running)):
        return ()
    if has_memory(context):
        return ((yield from remember(context)),)
    return (collapse(context),)


def has_memory(context: RokuContext) -> bool:
    """Is a session memory summary at hand, or can one be made?"""
    return bool(context.moment.summary.strip()) or context.settings.session_memory == "generate"


def high_tier(context: RokuContext) -> AllDone[RokuState]:
    """L3 where it is due."""
    if not context.settings.high_line.fires(total_tokens(context.buffer, context.running)):
        return ()
    return ((yield from compact("L3", choose_path(context), context)),)


def choose_path(context: RokuContext) -> Path:
    """Breaker open or no model: mechanical; a remote-capable provider: L3a; else L3b."""
    if context.running.breaker.open or not context.moment.router:
        return "mechanical"
    return "L3a" if context.moment.remote else "L3b"


def compact(tier: str, path: Path, context: RokuContext) -> Done[RokuState]:
    """L3, or L4, which looks at no watermark: remove the segment and insert what stands in for it. The outcome of L3
    names the path that was taken."""
    buffer, settings, running, moment = context.buffer, context.settings, context.running, context.moment
    changed = dict[str, FateName]()
    events = [Event("CompactTriggered", {"step": moment.step, "estimated_tokens": total_tokens(buffer, running)})]
    if tier == "L4":
        events = [Event("ReactiveCompactTriggered", {"step": moment.step, "detail": moment.overflow})]
        running = replace(running, detector=running.detector.notify_compaction())
    elif tier == "L3" and path != "mechanical":
        tier = path
    if settings.truncate_large_results:
        buffer = _truncated(buffer, changed)
    split = l3_split(buffer.messages, settings)
    removed, stripped = strip_thinking(buffer.messages[1:split])
    if stripped:
        events.append(Event("ReasoningContentStripped", {"step": moment.step, "messages_stripped": stripped}))
    attempt = Attempt()
    if removed and path != "mechanical":
        attempt = yield from (remote(removed, settings) if path == "L3a" else local(removed, settings))
    after = _inserted(path, attempt, buffer, split, removed, settings)
    if settings.safe and not attempt.error and removed and raw_tokens(after) >= raw_tokens(buffer):
        after, removed, attempt = buffer, (), replace(attempt, error="", text="", messages=())  # no gain: not made
    succeeded = bool(removed) and not attempt.error and path != "mechanical"
    if path != "mechanical":
        events.append(_summarizer_called(attempt, succeeded, moment.step))
    if removed:
        running = yield from _compact_records(succeeded, context.with_running(running))
        if path != "mechanical" and succeeded:
            running = replace(running, breaker=running.breaker.succeeded())
        elif path != "mechanical":
            breaker, tripped = running.breaker.failed(settings.max_consecutive_autocompact_failures)
            if tripped:
                fields: dict[str, Json] = {"step": moment.step, "consecutive_failures": breaker.failures}
                events.append(Event("AutoCompactCircuitBreakerTripped", fields))
            running = replace(running, breaker=breaker)
        running = replace(running, detector=running.detector.notify_compaction())
        changed.update((message.id, "summarised") for message in removed)
    finished = {"step": moment.step, "llm_succeeded": succeeded, "elapsed_ms": attempt.elapsed_ms}
    events.append(Event("CompactComplete", finished))
    done = succeeded or (path == "mechanical" and bool(removed))
    return Outcome(tier, after, running, tuple(events), done, attempt.error, changed)


def _inserted(
    path: Path, attempt: Attempt, buffer: Buffer, split: int, removed: Sequence[Message], settings: RokuSettings
) -> Buffer:
    if not removed:
        return buffer
    if attempt.messages:
        stem = inserted("l3a", "user", "", removed).id  # under ids of our own, so that none can collide with a kept one
        new = tuple(replace(one, id=f"{stem}-{n}", summary=True) for n, one in enumerate(attempt.messages))
    else:
        text = attempt.text or digest(removed, settings.safe)
        prefix = "" if path == "mechanical" else PREFIX
        new = (inserted("l3" if path == "mechanical" else path.lower(), "user", prefix + text, removed),)
    return buffer.with_messages(replace_segment(buffer.messages, split, new, settings))


def _summarizer_called(attempt: Attempt, succeeded: bool, step: int) -> Event:
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
    """LoopState.history: by a model after a good summary (not after L3a, unless set), else mechanically."""
    settings, running, moment = context.settings, context.running, context.moment
    removed, kept = split_records(running.history, settings)
    if not removed:
        return running
    text = ""
    if succeeded and (not moment.remote or settings.history_after_remote == "llm"):
        instructions = HISTORY_INSTRUCTIONS.format(limit=settings.working_summary_max_chars)
        wait = settings.compact_llm_timeout
        text = yield from _text(Summarize(instructions, records_json(removed), timeout_s=wait, purpose="history"))
    text = text or mechanical_text(removed)
    return replace(
        running,
        history=(boundary(moment.step, removed, text), *kept),
        working_summary=joined_summary(text, running.working_summary, settings),
    )


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


def remote(removed: Sequence[Message], settings: RokuSettings) -> Conversation[Attempt]:
    """L3a: one request, no retry, never followed by L3b. Upstream skips opaque items (`opaque_items` says otherwise);
    safe mode also drops calls that no result answers, and results without their call."""
    try:
        answer: Answer = yield RemoteCompact(INSTRUCTIONS, tuple(removed), settings.compact_request_timeout)
    except Failure as failure:
        return Attempt(error=PROVIDER_FAILURE, elapsed_ms=failure.elapsed_ms)
    usable = answer.messages
    if settings.opaque_items == "skip":
        usable = remove_parts(usable, lambda part: isinstance(part, Opaque))
    if settings.safe:
        usable = _without_open_calls(usable)
    return replace(_spent(answer), messages=usable, error="" if usable else PROVIDER_FAILURE)


def local(removed: Sequence[Message], settings: RokuSettings) -> Conversation[Attempt]:
    """L3b: ask for four sections; when the call itself overflows, drop the older half and ask again."""
    work, retries, elapsed = list(removed), 0, 0
    while work:
        text = digest(work, settings.safe)
        try:
            wait = settings.compact_llm_timeout
            answer: Answer = yield Summarize(
                INSTRUCTIONS,
                text,
                max_tokens=SUMMARY_TOKENS,
                timeout_s=wait,
                source=tuple(work),
                headings=HEADERS,
            )
        except ContextWindowExceeded as failure:
            elapsed += failure.elapsed_ms
            if retries >= settings.max_drop_oldest_retries:
                break
            retries += 1
            del work[: -(-len(work) // 2)]
            continue
        except Failure as failure:
            elapsed += failure.elapsed_ms
            return Attempt(error=PROVIDER_FAILURE, retries=retries, elapsed_ms=elapsed)
        return _judged(answer, retries, elapsed)
    return Attempt(error=OVERFLOW, retries=retries, elapsed_ms=elapsed)


def _judged(answer: Answer, retries: int, elapsed: int) -> Attempt:
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
    answered = {m.result.call_id for m in messages if m.result is not None}
    called = {call.id for m in messages for call in m.calls}
    paired = (m for m in messages if m.result is None or m.result.call_id in called)
    return remove_parts(paired, lambda part: isinstance(part, ToolCall) and part.id not in answered)
