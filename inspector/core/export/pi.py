"""pi session, version 3: a head, then one entry a message, each the child of the one before."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.export.birth import Birth
from inspector.core.message import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
_NO_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": _NO_COST}


def records(buffer: Buffer, birth: Birth) -> Iterator[dict[str, Any]]:
    """The entries, in order. System prompt and tools are the client's own and not written."""
    yield {"type": "session", "version": 3, "id": birth.session, "timestamp": birth.time, "cwd": birth.cwd}
    tools = {call.id: call.name for message in buffer.messages for call in message.calls}
    parent = None
    for n, message in enumerate(buffer.messages):
        name = birth.name(n).replace("-", "")[:8]
        body = _message(message, tools, birth)
        yield {"type": "message", "id": name, "parentId": parent, "timestamp": birth.time, "message": body}
        parent = name


def _message(message: Message, tools: Mapping[str, str], birth: Birth) -> dict[str, Any]:
    content = [block for part in message.parts for block in _blocks(part)]
    result = message.result
    if result is not None:
        return {
            "role": "toolResult",
            "toolCallId": result.call_id,
            "toolName": tools.get(result.call_id, ""),
            "content": content,
            "isError": result.is_error,
        }
    if message.role != "assistant":
        return {"role": "user", "content": content}
    return {
        "role": "assistant",
        "content": content,
        "api": "",
        "provider": "",
        "model": birth.model,
        "usage": _NO_USAGE,
        "stopReason": "toolUse" if message.calls else "stop",
    }


def _blocks(part: Part) -> Iterator[dict[str, Any]]:
    match part:
        case Text(text) | ToolResult(content=text):
            yield {"type": "text", "text": text}
        case Thinking(text, signature):
            yield {"type": "thinking", "thinking": text, "thinkingSignature": signature}
        case ToolCall(id, name, arguments):
            yield {"type": "toolCall", "id": id, "name": name, "arguments": arguments}
        case Image(media_type, data):
            yield {"type": "image", "mimeType": media_type, "data": data}
        case Opaque(value=value) if isinstance(value, Mapping):
            yield dict(value)
        case Opaque():
            return
