"""Messages to the items of an OpenAI Responses request. The other half of `openai_responses`.

What was read comes back as the same items, but for ids and the reasoning that nobody can hand back: a reasoning item
without its encrypted content is left out, as the API would refuse it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.message import Image, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult

_ROLES: Mapping[Role, str] = {"system": "developer", "user": "user", "tool": "user", "assistant": "assistant"}


def write_body(buffer: Buffer, model: str, max_tokens: int) -> dict[str, Any]:
    """A complete request body that carries its whole input (nothing is stored at the provider)."""
    body: dict[str, Any] = {"model": model, "max_output_tokens": max_tokens, "store": False}
    if buffer.prompt.system:
        body["instructions"] = buffer.prompt.system
    if buffer.prompt.tools:
        body["tools"] = [tool.definition for tool in buffer.prompt.tools]
    body["input"] = list(_items(buffer))
    return body


def _items(buffer: Buffer) -> Iterator[Any]:
    kinds = {call.id: _call_kind(call) for message in buffer.messages for call in message.calls}
    for message in buffer.messages:
        yield from _message_items(message, kinds)


def _call_kind(call: ToolCall) -> str:
    if isinstance(call.arguments, str):
        return "custom_tool_call"
    return {"local_shell": "local_shell_call", "tool_search": "tool_search_call"}.get(call.name, "function_call")


def _message_items(message: Message, kinds: Mapping[str, str]) -> Iterator[Any]:
    said: list[Part] = []
    parts = message.parts
    if isinstance(result := parts[0] if parts else None, ToolResult):
        yield _result(result, parts[1:], kinds.get(result.call_id, "function_call"))
        return
    for part in parts:
        if isinstance(part, Text | Image) or _is_content(part):
            said.append(part)
            continue
        if said:
            yield _said(message.role, said)
            said = []
        yield from _item(part, kinds)
    if said:
        yield _said(message.role, said)


def _is_content(part: Part) -> bool:
    """A part of a message rather than an item: a file, a sound."""
    return isinstance(part, Opaque) and part.kind.startswith(("input_", "output_"))


def _said(role: Role, parts: list[Part]) -> dict[str, Any]:
    return {"type": "message", "role": _ROLES[role], "content": [_content(role, part) for part in parts]}


def _content(role: Role, part: Part) -> Any:
    match part:
        case Text(text):
            return {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        case Image(media_type, data, url):
            return {"type": "input_image", "image_url": f"data:{media_type};base64,{data}" if data else url}
        case Opaque(_, value):
            return value
    raise AssertionError(part)  # _message_items lets nothing else through


def _item(part: Part, kinds: Mapping[str, str]) -> Iterator[Any]:
    match part:
        case Thinking(text, signature):
            if signature:
                summary = [{"type": "summary_text", "text": text}] if text else []
                yield {"type": "reasoning", "summary": summary, "encrypted_content": signature}
        case ToolCall():
            yield _call(part)
        case ToolResult(call_id):
            yield _result(part, (), kinds.get(call_id, "function_call"))
        case Opaque(_, value):
            yield value


def _call(call: ToolCall) -> dict[str, Any]:
    kind = _call_kind(call)
    item: dict[str, Any] = {"type": kind, "call_id": call.id}
    match kind:
        case "custom_tool_call":
            return item | {"name": call.name, "input": call.arguments}
        case "local_shell_call":
            return item | {"status": "completed", "action": call.arguments}
        case "tool_search_call":
            return item | {"execution": "client", "status": "completed", "arguments": call.arguments}
    return item | {"name": call.name, "arguments": dumps(call.arguments)}


_OUTPUTS = {"custom_tool_call": "custom_tool_call_output", "tool_search_call": "tool_search_output"}


def _result(result: ToolResult, more: tuple[Part, ...], kind: str) -> dict[str, Any]:
    item: dict[str, Any] = {"type": _OUTPUTS.get(kind, "function_call_output"), "call_id": result.call_id}
    if kind == "tool_search_call":
        return item | {"execution": "client", "status": "completed", "tools": _tools(result.content)}
    if not more:
        return item | {"output": result.content}
    text: list[Part] = [Text(result.content)] if result.content else []
    return item | {"output": [_content("user", part) for part in (*text, *more) if not isinstance(part, ToolResult)]}


def _tools(content: str) -> Any:
    try:
        return loads(content.encode("utf-8", errors="replace"))
    except NotJson:
        return []
