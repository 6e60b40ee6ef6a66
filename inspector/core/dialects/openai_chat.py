"""OpenAI Chat Completions: one wire message is one message, and back.

The system prompt of a body stands in its first messages (role system or developer): those are the Prompt, not part of
the buffer. A system message further down is a message like any other.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects.openai_responses import read_arguments, read_image
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Json, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.usage import Usage, is_absurd

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_SENDABLE = ("input_audio", "file")
"""Opaque parts that a Chat body may carry."""


def read_message(message: Any, *, id: str, line: int = 0, time: str = "", call_id: str = "") -> tuple[Message, ...]:  # noqa: A002
    """One wire message -> one message; nothing for what is not an object.

    `call_id` is the call that a legacy `function` message answers, and the id of a legacy `function_call`: neither
    carries one on the wire. An unknown role reads as user. Never raises.
    """
    if not isinstance(message, Mapping):
        return ()
    role = _ROLES.get(_text(message.get("role")), "user")
    parts: list[Part] = []
    if role == "tool":
        parts += _result(message, call_id)
    else:
        parts += _thinking(message)
        parts += _content(message.get("content"))
        if refusal := _text(message.get("refusal")):
            parts.append(Text(refusal))
        parts += _calls(message, call_id)
    return (Message(id, role, tuple(parts), line=line, time=time),)


def _result(message: Mapping[str, Any], call_id: str) -> list[Part]:
    parts = _content(message.get("content"))
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    answered = _text(message.get("tool_call_id")) or call_id
    return [ToolResult(answered, text), *(part for part in parts if not isinstance(part, Text))]


def _thinking(message: Mapping[str, Any]) -> list[Part]:
    text = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    return [Thinking(text)] if text else []


def _content(content: Any) -> list[Part]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [Text(content)]
    if isinstance(content, Sequence):
        return [_part(part) for part in content]
    return [_part(content)]


def _part(part: Any) -> Part:
    if isinstance(part, str):
        return Text(part)
    if not isinstance(part, Mapping):
        return Opaque("unknown", part, len(dumps(part).encode()))
    kind = _text(part.get("type"))
    if kind in ("text", "input_text", "output_text"):
        return Text(_text(part.get("text")))
    if kind == "refusal":
        return Text(_text(part.get("refusal")))
    if kind == "image_url":
        image = part.get("image_url")
        return read_image(_text(image.get("url") if isinstance(image, Mapping) else image))
    return Opaque(kind or "unknown", part, len(dumps(part).encode()))


def _calls(message: Mapping[str, Any], call_id: str) -> list[Part]:
    calls = message.get("tool_calls")
    found: list[Part] = [_call(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):
        found.append(ToolCall(call_id, _text(legacy.get("name")), read_arguments(legacy.get("arguments") or None)))
    return found


def _call(call: Mapping[str, Any]) -> ToolCall:
    custom = call.get("custom")
    if isinstance(custom, Mapping):
        return ToolCall(_text(call.get("id")), _text(custom.get("name")), _text(custom.get("input")))
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else call
    return ToolCall(_text(call.get("id")), _text(inner.get("name")), read_arguments(inner.get("arguments") or None))


def read_usage(usage: Any) -> Usage | None:
    """`usage` of a response; None where there is none. `prompt_tokens` includes what was read from the cache."""
    if not isinstance(usage, Mapping) or not any(isinstance(usage.get(k), int) for k in _COUNTED) or is_absurd(usage):
        return None
    within, out = _inner(usage, "prompt_tokens_details"), _inner(usage, "completion_tokens_details")
    read = _count(within.get("cached_tokens")) or _count(usage.get("prompt_cache_hit_tokens"))
    written = _count(within.get("cache_write_tokens")) or _count(within.get("cache_creation_tokens"))
    prompt = _count(usage.get("prompt_tokens"))
    return Usage(
        input=max(0, prompt - read - written),
        cache_read=read,
        cache_write=written,
        output=_count(usage.get("completion_tokens")),
        reasoning=_count(out.get("reasoning_tokens")),
    )


_COUNTED = ("prompt_tokens", "completion_tokens")


def read_prompt(body: Mapping[str, Any]) -> Prompt:
    """The leading system messages and the tools of a request body: a body is complete, so absent means none."""
    messages = body.get("messages")
    lead = leading(messages)
    system = "\n\n".join(m.text for wire in lead for m in read_message(wire, id=""))
    tools = body.get("tools") or body.get("functions")
    return Prompt(system, tuple(_tools(tools if isinstance(tools, list) else ())))


def leading(messages: Any) -> Sequence[Any]:
    """The wire messages at the head that are the system prompt."""
    found: list[Any] = []
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping) or message.get("role") not in ("system", "developer"):
            break
        found.append(message)
    return found


def _tools(tools: Iterable[Any]) -> Iterable[Tool]:
    for tool in tools:
        if isinstance(tool, Mapping):
            inner = tool.get("function") or tool.get("custom")
            named = inner if isinstance(inner, Mapping) else tool
            yield Tool(_text(named.get("name")) or _text(tool.get("type")), tool)


def write_body(buffer: Buffer, model: str, max_tokens: int) -> dict[str, Any]:
    """A Chat Completions request of the buffer. What only another provider can read (Opaque) is left out."""
    messages: list[dict[str, Any]] = []
    if buffer.prompt.system:
        messages.append({"role": "system", "content": buffer.prompt.system})
    messages += [_write(message) for message in buffer.messages]
    body: dict[str, Any] = {"model": model, "max_completion_tokens": max_tokens, "messages": messages}
    if buffer.prompt.tools:
        body["tools"] = [_write_tool(tool) for tool in buffer.prompt.tools]
    return body


def _write(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        result = message.result
        content = [Text(result.content)] if result and result.content else []
        rest = tuple(part for part in message.parts if isinstance(part, Image))
        call_id = result.call_id if result else ""
        return {"role": "tool", "tool_call_id": call_id, "content": _write_content((*content, *rest)) or ""}
    wire: dict[str, Any] = {"role": message.role, "content": _write_content(message.parts)}
    if thinking := "\n".join(p.text for p in message.parts if isinstance(p, Thinking) and p.text):
        wire["reasoning_content"] = thinking
    if message.calls:
        wire["tool_calls"] = [_write_call(call) for call in message.calls]
    elif wire["content"] is None:
        wire["content"] = ""
    return wire


def _write_content(parts: Sequence[Part]) -> str | list[dict[str, Any]] | None:
    written: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Text):
            written.append({"type": "text", "text": part.text})
        elif isinstance(part, Image):
            url = f"data:{part.media_type};base64,{part.data}" if part.data else part.url
            written.append({"type": "image_url", "image_url": {"url": url}})
        elif isinstance(part, Opaque) and part.kind in _SENDABLE and isinstance(part.value, Mapping):
            written.append(dict(part.value))
    if len(written) == 1 and written[0]["type"] == "text":
        return str(written[0]["text"])
    return written or None


def _write_call(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments if isinstance(call.arguments, str) else dumps(call.arguments)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _write_tool(tool: Tool) -> Json:
    """As it was sent where it is in Chat's shape; Anthropic's and Responses' shapes are turned into it."""
    wire = tool.definition
    if not isinstance(wire, Mapping) or "function" in wire or "custom" in wire:
        return wire
    schema = wire.get("input_schema") or wire.get("parameters") or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": wire.get("description") or "", "parameters": schema}
    return {"type": "function", "function": function}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _inner(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, Mapping) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
