"""Messages as text for the summariser, so that it does not take the conversation for its own (spec 3.10)."""

from collections.abc import Iterable, Iterator, Mapping

from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text, Thinking, ToolCall
from inspector.core.tokens.characters import u16

TOOL_RESULT_MAX = 2_000
"""UTF-16 units of a tool result that the summariser sees."""


def serialise(messages: Iterable[Message], thoughts: bool = True) -> str:
    """serializeConversation: labelled blocks, a blank line between them. The newest Pi leaves thoughts out."""
    return "\n\n".join(block for message in messages for block in _blocks(message, thoughts))


def _blocks(message: Message, thoughts: bool) -> Iterator[str]:
    match message.role:
        case "assistant":
            yield from _answer(message, thoughts)
        case "tool":
            content = "".join(message.result.blocks or (message.result.content,)) if message.result is not None else ""
            if content:
                yield f"[Tool result]: {truncated(content)}"
        case _:
            text = "".join(part.text for part in message.parts if isinstance(part, Text))
            if text:
                yield f"[User]: {text}"


def _answer(message: Message, thoughts: bool) -> Iterator[str]:
    thinking = [part.text for part in message.parts if isinstance(part, Thinking)] if thoughts else []
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    if thinking:
        yield "[Assistant thinking]: " + "\n".join(thinking)
    if texts:
        yield "[Assistant]: " + "\n".join(texts)
    if message.calls:
        yield "[Assistant tool calls]: " + "; ".join(map(_call, message.calls))


def _call(call: ToolCall) -> str:
    arguments = call.arguments
    if isinstance(arguments, Mapping):
        return f"{call.name}({', '.join(f'{key}={dumps(value)}' for key, value in arguments.items())})"
    return f"{call.name}({dumps(arguments)})"


def truncated(text: str, limit: int = TOOL_RESULT_MAX) -> str:
    """The first `limit` UTF-16 units, and how many were left out."""
    length = u16(text)
    if length <= limit:
        return text
    head = (
        text[:limit]
        if text.isascii()
        else text.encode("utf-16-le", "surrogatepass")[: 2 * limit].decode("utf-16-le", "replace")
    )
    return f"{head}\n\n[... {length - limit} more characters truncated]"
