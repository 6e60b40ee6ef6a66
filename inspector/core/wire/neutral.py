"""The neutral message as JSON, as the command line prints it and a script of answers holds it; and back."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.message import Image, Json, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.wire import anthropic, openai_chat, openai_responses

_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


def write_part(part: Part) -> dict[str, Json]:
    """One part. Image bytes and signatures stay out: their size is told."""
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature):
            return {"type": "thinking", "text": text, "signature_chars": len(signature)}
        case ToolCall(id, name, arguments):
            return {"type": "tool_call", "id": id, "name": name, "arguments": arguments}
        case ToolResult(call_id, content, is_error):
            return {"type": "tool_result", "call_id": call_id, "content": content, "is_error": is_error}
        case Image(media_type, data, url):
            return {"type": "image", "media_type": media_type, "bytes": len(data) * 3 // 4, "url": url}
        case Opaque(kind, _, size):
            return {"type": "opaque", "kind": kind, "bytes": size}


def read_messages(values: Any, prefix: str) -> tuple[Message, ...]:
    """Messages in the neutral shape (`parts`), or as any of the three providers writes them, even mixed.

    Raises InspectorError for what is no message at all.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InspectorError('"messages" must be a list of messages.')
    found: list[Message] = []
    for n, value in enumerate(values):
        if not isinstance(value, Mapping):
            raise InspectorError(f"Message {n + 1} of the list is not a JSON object.")
        found += _read_one(value, f"{prefix}-{n}")
    return tuple(found)


def _read_one(value: Mapping[str, Any], id: str) -> tuple[Message, ...]:  # noqa: A002
    if isinstance(value.get("parts"), Sequence):
        parts = tuple(_read_part(part) for part in value["parts"] if isinstance(part, Mapping))
        role = _ROLES.get(str(value.get("role")), "user")
        return (Message(str(value.get("id") or id), role, parts, summary=bool(value.get("summary"))),)
    wire_role = value.get("role")
    if value.get("tool_calls") or wire_role in ("tool", "function"):
        return openai_chat.read_message(value, id=id)
    if value.get("type") is not None or wire_role == "developer":
        return (openai_responses.read_item(value, id=id),)
    if not isinstance(wire_role, str):
        raise InspectorError("A message needs a role (user, assistant, ...) or a type.")
    return anthropic.read_messages(wire_role, value.get("content"), id=id)


def _read_part(part: Mapping[str, Any]) -> Part:
    match part.get("type"):
        case "text":
            return Text(str(part.get("text", "")))
        case "thinking":
            return Thinking(str(part.get("text", "")))
        case "tool_call":
            return ToolCall(str(part.get("id", "")), str(part.get("name", "")), part.get("arguments"))
        case "tool_result":
            content = part.get("content")
            text = content if isinstance(content, str) else ""
            return ToolResult(str(part.get("call_id", "")), text, bool(part.get("is_error")))
        case "image":
            return Image(str(part.get("media_type", "")), str(part.get("data", "")), str(part.get("url", "")))
        case kind:
            return Opaque(str(part.get("kind") or kind), dict(part), int(part.get("bytes") or 0))
