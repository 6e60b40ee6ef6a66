"""Read and write neutral messages as JSON, as the command line prints them and answer scripts store them.

`write_part` is for people: image bytes and signatures are replaced by their size. `write_message` and `write_buffer`
are lossless: reading their JSON gives an equal value.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects import anthropic, openai_chat, openai_responses
from inspector.core.errors import InspectorError
from inspector.core.message import (
    Image,
    Json,
    Mark,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.untyped import text_of, whole_of

_MARKS: Mapping[str, Mark] = {
    "meta": "meta",
    "attachment": "attachment",
    "placeholder": "placeholder",
}
_ROLES: Mapping[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


def write_part(part: Part) -> dict[str, Json]:
    """Write one part for people to read. Image bytes and signatures are replaced by their size."""
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature):
            return {"type": "thinking", "text": text, "signature_chars": len(signature)}
        case ToolCall(id, name, arguments):
            return {"type": "tool_call", "id": id, "name": name, "arguments": arguments}
        case ToolResult(call_id, content, is_error):
            return {
                "type": "tool_result",
                "call_id": call_id,
                "content": content,
                "is_error": is_error,
            }
        case Image(media_type, data, url):
            return {
                "type": "image",
                "media_type": media_type,
                "bytes": len(data) * 3 // 4,
                "url": url,
            }
        case Opaque(kind, _, size):
            return {"type": "opaque", "kind": kind, "bytes": size}


def write_message(message: Message) -> dict[str, Json]:
    """Write a message without loss; `read_messages` returns an equal message."""
    document: dict[str, Json] = {
        "id": message.id,
        "role": message.role,
        "parts": [_write_whole(part) for part in message.parts],
        "together": message.together,
        "summary": message.summary,
        "mark": message.mark,
        "line": message.line,
        "time": message.time,
    }
    return {
        key: value for key, value in document.items() if value or key in ("id", "role", "parts")
    }


def _write_whole(part: Part) -> dict[str, Json]:
    match part:
        case Thinking(_, signature, tokens):
            whole: dict[str, Json] = {"signature": signature, "tokens": tokens}
        case Image(_, data):
            whole = {"data": data}
        case ToolResult(blocks=texts) if texts:
            whole = {"texts": texts}
        case Opaque(_, value, _, tokens):
            whole = {"value": value, "tokens": tokens}
        case _:
            whole = {}
    return {**write_part(part), **whole}


def write_buffer(buffer: Buffer) -> dict[str, Json]:
    """Write a buffer without loss. A system prompt or tools that the transcript does not record are null."""
    tools = buffer.prompt.tools
    return {
        "system": buffer.prompt.system,
        "tools": None
        if tools is None
        else [{"name": tool.name, "definition": tool.definition} for tool in tools],
        **({"unseen": buffer.prompt.unseen} if buffer.prompt.unseen else {}),
        "messages": [write_message(message) for message in buffer.messages],
    }


def read_buffer(value: Any) -> Buffer:
    """Read a buffer that `write_buffer` wrote. Raises InspectorError."""
    if not isinstance(value, Mapping):
        raise InspectorError("A buffer must be a JSON object with its messages.")
    system = value.get("system")
    tools = value.get("tools")
    unseen = value.get("unseen")
    prompt = Prompt(
        system if isinstance(system, str) else None,
        None if tools is None else _read_tools(tools),
        unseen if isinstance(unseen, int) else 0,
    )
    return Buffer(read_messages(value.get("messages"), "message"), prompt)


def _read_tools(tools: Any) -> tuple[Tool, ...]:
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise InspectorError("The tools of a buffer must be a list.")
    read: list[Tool] = []
    for tool in tools:
        if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str):
            raise InspectorError("A tool of the buffer needs a name and a definition.")
        read.append(Tool(tool["name"], tool.get("definition")))
    return tuple(read)


def read_messages(values: Any, prefix: str) -> tuple[Message, ...]:
    """Read messages in the neutral form (`parts`) or in the form of OpenAI's or Anthropic's APIs; a list may mix them.

    Args:
        values: The list of messages, as JSON.
        prefix: Prefix of the ids that are generated for messages without an id.

    Raises:
        InspectorError: `values` is not a list, or one of its entries is not a message.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InspectorError('"messages" must be a list of messages.')
    messages: list[Message] = []
    for n, value in enumerate(values):
        if not isinstance(value, Mapping):
            raise InspectorError(f"Message {n + 1} of the list is not a JSON object.")
        messages += _read_one(value, f"{prefix}-{n}")
    return tuple(messages)


def _read_one(value: Mapping[str, Any], id: str) -> tuple[Message, ...]:  # noqa: A002
    if isinstance(value.get("parts"), Sequence):
        parts = tuple(_read_part(part) for part in value["parts"] if isinstance(part, Mapping))
        message_id = text_of(value.get("id")) or id
        role = _ROLES.get(str(value.get("role")), "user")
        mark = _MARKS.get(str(value.get("mark")), "")
        line = whole_of(value.get("line")) or 0
        message = Message(
            message_id,
            role,
            parts,
            together=str(value.get("together") or ""),
            summary=bool(value.get("summary")),
            mark=mark,
            line=line,
            time=str(value.get("time") or ""),
        )
        return (message,)
    wire_role = value.get("role")
    if value.get("tool_calls") or wire_role in ("tool", "function"):
        return openai_chat.read_chat_message(value, id=id)
    if value.get("type") is not None or wire_role == "developer":
        return (openai_responses.read_item(value, id=id),)
    if not isinstance(wire_role, str):
        raise InspectorError("A message needs a role (user, assistant, ...) or a type.")
    return anthropic.read_wire_messages(wire_role, value.get("content"), id=id)


def _read_part(part: Mapping[str, Any]) -> Part:
    match part.get("type"):
        case "text":
            return Text(text_of(part.get("text")))
        case "thinking":
            return Thinking(
                text_of(part.get("text")),
                text_of(part.get("signature")),
                whole_of(part.get("tokens")),
            )
        case "tool_call":
            return ToolCall(
                text_of(part.get("id")), text_of(part.get("name")), part.get("arguments")
            )
        case "tool_result":
            texts = part.get("texts")
            return ToolResult(
                text_of(part.get("call_id")),
                content=text_of(part.get("content")),
                is_error=bool(part.get("is_error")),
                texts=tuple(map(text_of, texts)) if isinstance(texts, list | tuple) else (),
            )
        case "image":
            return Image(
                text_of(part.get("media_type")), text_of(part.get("data")), text_of(part.get("url"))
            )
        case kind:
            name = part["kind"] if isinstance(part.get("kind"), str) else str(kind)
            value = part["value"] if "value" in part else dict(part)
            return Opaque(
                name,
                value,
                size=whole_of(part.get("bytes")) or 0,
                tokens=whole_of(part.get("tokens")),
            )
