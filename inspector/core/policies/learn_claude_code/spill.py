"""A large output goes to disk, a preview stays: at the moment a tool returns, before it enters the list (spec 4.8)."""

from inspector.core.buffer import Buffer
from inspector.core.dialects.anthropic import result_content
from inspector.core.message import Message
from inspector.core.needs import Conversation, Failure, SaveText
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.learn_claude_code.micro import with_content
from inspector.core.policies.learn_claude_code.running import Running
from inspector.core.policies.learn_claude_code.settings import Settings
from inspector.core.policies.learn_claude_code.wire import text_tokens

TIER = "spill"
TOO_LARGE = "Output too large. "


def handle_tool_output(output: str, settings: Settings) -> Conversation[str]:
    """The output, or where it is large its preview. A disk that fails costs the rest of it, not the turn."""
    if text_tokens(output) <= settings.large_output_tokens:
        return output
    try:
        place = f"Saved to: {(yield SaveText(output, 'output')).text}"
    except Failure as failure:
        place = f"It was not saved: {failure}"
    return f"{TOO_LARGE}{place}\nPreview:\n{output[: settings.preview_chars]}..."


def is_large(message: Message, settings: Settings) -> bool:
    """A text result above the limit, and no preview yet. Upstream's tools return texts: it does not look at a list."""
    result = message.result
    if result is None or not isinstance(result_content(message), str) or result.content.startswith(TOO_LARGE):
        return False
    return text_tokens(result.content) > settings.large_output_tokens


def spill(buffer: Buffer, settings: Settings, running: Running) -> Conversation[Outcome[Running]]:
    """Every large result of the list: one that had come through this harness would never have entered it whole."""
    messages = list(buffer.messages)
    changed: dict[str, FateName] = {}
    for at, message in enumerate(messages):
        result = message.result
        if result is not None and is_large(message, settings):
            content = yield from handle_tool_output(result.content, settings)
            messages[at] = with_content(message, content, cleared=False)
            changed[message.id] = "cut"
    if not changed:
        return Outcome(TIER, buffer, running)
    event = Event("output_spilled", {"results": len(changed)})
    return Outcome(TIER, buffer.with_messages(messages), running, (event,), changed=changed)
