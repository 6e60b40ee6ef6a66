"""Write request bodies and items of OpenAI's Responses API."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.tool_shapes import for_responses, shaped_tools
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.untyped import (
    value_in,
)

_WRITTEN_ROLES: Mapping[Role, str] = {
    "system": "developer",
    "user": "user",
    "tool": "user",
    "assistant": "assistant",
}


def write_responses_body(buffer: Buffer, model: str, max_tokens: int) -> dict[str, Any]:
    """Return a request body with its whole input; the provider is asked to store nothing."""
    body: dict[str, Any] = {"model": model, "max_output_tokens": max_tokens, "store": False}
    if buffer.prompt.system:
        body["instructions"] = buffer.prompt.system
    if tools := shaped_tools(buffer.prompt.tools or (), for_responses):
        body["tools"] = tools
    body["input"] = write_items(buffer.messages, {})
    return body


def write_items(messages: Iterable[Message], calls: Mapping[str, ToolCall]) -> list[Any]:
    """Return the items of messages. The kind of a result depends on its call, which is in the messages or `calls`."""
    sequence = tuple(messages)
    calls_by_id = {**calls, **{call.id: call for message in sequence for call in message.calls}}
    kinds = {name: _call_kind(call) for name, call in calls_by_id.items()}
    return [item for message in sequence for item in _message_items(message, kinds)]


def _call_kind(call: ToolCall) -> str:
    if isinstance(call.arguments, str):
        return "custom_tool_call"
    return {"local_shell": "local_shell_call", "tool_search": "tool_search_call"}.get(
        call.name, "function_call"
    )


def _message_items(message: Message, kinds: Mapping[str, str]) -> Iterator[Any]:
    parts = message.parts
    if isinstance(result := parts[0] if parts else None, ToolResult):
        beside = tuple(filter(_is_content, parts[1:]))
        yield _write_result(result, beside, kinds.get(result.call_id, "function_call"))
        yield from (
            item for part in parts[1:] if not _is_content(part) for item in _write_part(part, kinds)
        )
        return
    for is_said, run in groupby(parts, _is_content):
        if is_said:
            content = [_write_content(message.role, part) for part in run]
            yield {"type": "message", "role": _WRITTEN_ROLES[message.role], "content": content}
        else:
            yield from (item for part in run for item in _write_part(part, kinds))


def _is_content(part: Part) -> bool:
    """Is the part content of a message item (text, image, file, audio) rather than a separate item?"""
    return isinstance(part, Text | Image) or (
        isinstance(part, Opaque) and part.kind.startswith(("input_", "output_"))
    )


def _write_content(role: Role, part: Part) -> Any:
    match part:
        case Text(text):
            return {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        case Image(media_type, data, url):
            return {
                "type": "input_image",
                "image_url": f"data:{media_type};base64,{data}" if data else url,
            }
        case Opaque(_, value):
            return value
    raise AssertionError(part)  # `_is_content` admits no other part


def _write_part(part: Part, kinds: Mapping[str, str]) -> Iterator[Any]:
    match part:
        case Thinking(text, signature):
            if signature:
                summary = [{"type": "summary_text", "text": text}] if text else []
                yield {"type": "reasoning", "summary": summary, "encrypted_content": signature}
        case ToolCall():
            yield _write_call(part)
        case ToolResult(call_id):
            yield _write_result(part, (), kinds.get(call_id, "function_call"))
        case Opaque(_, value):
            yield value


def _write_call(call: ToolCall) -> dict[str, Any]:
    kind = _call_kind(call)
    item: dict[str, Any] = {"type": kind, "call_id": call.id}
    match kind:
        case "custom_tool_call":
            return item | {"name": call.name, "input": call.arguments}
        case "local_shell_call":
            return item | {"status": "completed", "action": call.arguments}
        case "tool_search_call":
            return item | {
                "execution": "client",
                "status": "completed",
                "arguments": call.arguments,
            }
    return item | {"name": call.name, "arguments": dumps(call.arguments)}


_OUTPUT_KINDS = {
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
}


def _write_result(result: ToolResult, more: tuple[Part, ...], kind: str) -> dict[str, Any]:
    item: dict[str, Any] = {
        "type": _OUTPUT_KINDS.get(kind, "function_call_output"),
        "call_id": result.call_id,
    }
    if kind == "tool_search_call":
        return item | {
            "execution": "client",
            "status": "completed",
            "tools": value_in(result.content, []),
        }
    if not more:
        return item | {"output": result.content}
    text: list[Part] = [Text(result.content)] if result.content else []
    return item | {"output": [_write_content("user", part) for part in (*text, *more)]}
