"""L0: old tool results become a placeholder (spec 1.5). No model, no condition, idempotent."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.core.buffer import Buffer
from inspector.core.message import Message, ToolResult
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.policy import Moment
from inspector.core.policies.roku.running import Running
from inspector.core.policies.roku.settings import PLACEHOLDER, Settings
from inspector.core.tokens.roku import estimate, utf8_length

PLACEHOLDER_TOKENS = estimate(PLACEHOLDER)


def clearable(messages: Sequence[Message], settings: Settings) -> list[int]:
    """Indices of the results that L0 would clear: all but the newest ones, and only those that are longer."""
    results = [at for at, message in enumerate(messages) if message.role == "tool" and message.result]
    old = results[: max(0, len(results) - settings.microcompact_retain_recent)]
    spared = _spared(messages, settings)
    return [at for at in old if _would_shrink(messages[at], spared)]


def freed_raw(messages: Sequence[Message], indices: Sequence[int]) -> int:
    """Raw tokens that clearing these frees."""
    return sum(max(0, estimate(_result(messages[at]).content) - PLACEHOLDER_TOKENS) for at in indices)


def microcompact(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Outcome[Running]:
    """Clear what is clearable. The event is sent, and the detector told, only where tokens were freed."""
    indices = clearable(buffer.messages, settings)
    freed = running.calibration.apply(freed_raw(buffer.messages, indices))
    messages = list(buffer.messages)
    for at in indices:
        messages[at] = cleared(messages[at])
    changed = {buffer.messages[at].id: "cleared" for at in indices}
    events = (Event("MicrocompactRan", {"step": moment.step, "freed_tokens": freed}),) if freed else ()
    if freed:
        running = replace(running, detector=running.detector.notify_compaction())
    after = buffer.with_messages(messages) if indices else buffer
    return Outcome("L0", after, running, events, changed=changed)  # type: ignore[arg-type]


def cleared(message: Message) -> Message:
    """The same result with the placeholder for its content; call id and error flag stay."""
    result = _result(message)
    stub = ToolResult(result.call_id, PLACEHOLDER, result.is_error)
    return Message(
        message.id, "tool", (stub,), message.together, message.summary, "placeholder", message.line, message.time
    )  # by hand: dataclasses.replace costs four times as much


def _result(message: Message) -> ToolResult:
    result = message.result
    assert result is not None
    return result


def _would_shrink(message: Message, spared: frozenset[str]) -> bool:
    result = _result(message)
    if result.call_id in spared or result.content == PLACEHOLDER:
        return False
    return len(result.content) > len(PLACEHOLDER) or utf8_length(result.content) > len(PLACEHOLDER)


def _spared(messages: Sequence[Message], settings: Settings) -> frozenset[str]:
    if not (settings.safe and settings.exclude_tools):
        return frozenset()
    return frozenset(call.id for m in messages for call in m.calls if call.name in settings.exclude_tools)
