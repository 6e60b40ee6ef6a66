"""Layer 1: old large outputs of some tools become a placeholder (spec 4.4). No model, no event, idempotent."""

from collections.abc import Sequence

from inspector.core.buffer import Buffer
from inspector.core.dialects.anthropic import result_content
from inspector.core.message import Message, ToolResult
from inspector.core.outcome import Outcome
from inspector.core.policies.learn_claude_code.running import Running
from inspector.core.policies.learn_claude_code.settings import Settings
from inspector.core.policies.learn_claude_code.wire import text_tokens

TIER = "micro"
PLACEHOLDER = "[Output compacted - re-read if needed]"


def clearable(messages: Sequence[Message], settings: Settings) -> list[int]:
    """Indices of the results that would be cleared: large texts among all but the newest compactable. O(messages)."""
    compactable: list[int] = []
    calls: set[str] = set()
    for at, message in enumerate(messages):
        calls.update(call.id for call in message.calls if call.name in settings.compactable_tools)
        if message.result is not None and message.result.call_id in calls:
            compactable.append(at)
    return [at for at in _old(compactable, settings) if _is_clearable(messages[at], settings)]


def freed(messages: Sequence[Message], indices: Sequence[int]) -> int:
    """Tokens that clearing these frees, by their contents alone."""
    return sum(_size(messages[at]) - text_tokens(PLACEHOLDER) for at in indices)


def microcompact(buffer: Buffer, settings: Settings, running: Running) -> Outcome[Running]:
    """Clear what is clearable. Only contents change."""
    indices = clearable(buffer.messages, settings)
    if not indices:
        return Outcome(TIER, buffer, running)
    messages = list(buffer.messages)
    for at in indices:
        messages[at] = with_content(messages[at], PLACEHOLDER, cleared=True)
    changed = {messages[at].id: "cleared" for at in indices}
    return Outcome(TIER, buffer.with_messages(messages), running, changed=changed)  # type: ignore[arg-type]


def with_content(message: Message, content: str, *, cleared: bool) -> Message:
    """The same result with other content; call id and error flag stay."""
    result = message.result
    assert result is not None
    parts = (ToolResult(result.call_id, content, result.is_error),)
    mark = "placeholder" if cleared else message.mark
    return Message(
        message.id, message.role, parts, message.together, message.summary, mark, message.line, message.time
    )  # by hand: dataclasses.replace costs four times as much


def _old(compactable: list[int], settings: Settings) -> list[int]:
    """All but the newest. Upstream's slice `[:-0]` is empty, so there KEEP_RECENT = 0 clears nothing; safe mode all."""
    if settings.safe:
        return compactable[: max(0, len(compactable) - settings.keep_recent)]
    return compactable[: -settings.keep_recent]


def _is_clearable(message: Message, settings: Settings) -> bool:
    """A large text. One whose content is a list (blocks of text, an image) counts among the newest, but stays."""
    return _size(message) > settings.micro_min_tokens and isinstance(result_content(message), str)


def _size(message: Message) -> int:
    result = message.result
    return text_tokens(result.content) if result is not None else 0
