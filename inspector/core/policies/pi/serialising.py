"""Write messages as the text that Pi gives to the model that summarises them."""

from collections.abc import Iterable, Iterator, Mapping

from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text, Thinking, ToolCall
from inspector.core.policies.pi.rules import SEED, PiRules
from inspector.core.tokens.harnesses import u16

TOOL_RESULT_MAX = 2_000
"""Longest tool result that the summariser reads, in UTF-16 units."""


def serialise_messages(messages: Iterable[Message], rules: PiRules = SEED) -> str:
    """Return messages as text: labelled blocks separated by blank lines. This is Pi's serializeConversation."""
    return "\n\n".join(
        block for message in messages for block in _serialise_message(message, rules)
    )


def _serialise_message(message: Message, rules: PiRules) -> Iterator[str]:
    match message.role:
        case "assistant":
            yield from _serialise_answer(message, rules)
        case "tool":
            if message.result is None:
                return
            content = "".join(message.result.blocks or (message.result.content,))
            if content:
                yield f"[Tool result]: {truncate_result(content)}"
        case _:
            text = "".join(part.text for part in message.parts if isinstance(part, Text))
            if text:
                yield f"[User]: {text}"


def _serialise_answer(message: Message, rules: PiRules) -> Iterator[str]:
    thinking = [part.text for part in message.parts if isinstance(part, Thinking)]
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    if thinking and rules.serialises_thinking:
        yield "[Assistant thinking]: " + "\n".join(thinking)
    if texts:
        yield "[Assistant]: " + "\n".join(texts)
    if message.calls:
        yield "[Assistant tool calls]: " + "; ".join(map(_serialise_call, message.calls))


def _serialise_call(call: ToolCall) -> str:
    arguments = call.arguments
    if not isinstance(arguments, Mapping):
        return f"{call.name}({dumps(arguments)})"
    pairs = [f"{key}={dumps(value)}" for key, value in arguments.items()]
    return f"{call.name}({', '.join(pairs)})"


def truncate_result(text: str, limit: int = TOOL_RESULT_MAX) -> str:
    """Return the first `limit` UTF-16 units of a text, with a note on how many were left out."""
    length = u16(text)
    if length <= limit:
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    head = data[: 2 * limit].decode("utf-16-le", "replace")  # a unit has two bytes
    return f"{head}\n\n[... {length - limit} more characters truncated]"
