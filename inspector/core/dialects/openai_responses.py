"""OpenAI Responses JSON to messages, usage and prompt, and back.

One item is one message; the assistant items that follow one another (reasoning, message, calls) are one response, so
`read_items` joins them into one message. An item that is not understood is kept unchanged as Opaque.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.core.buffer import Prompt, Tool
from inspector.core.dialects.openai_responses_write import write_body
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.message import Image, Json, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.usage import Usage, is_absurd

__all__ = ["is_compaction", "join", "read_item", "read_items", "read_parts", "read_prompt", "read_usage", "write_body"]

_ROLES: Mapping[str, Role] = {"assistant": "assistant", "developer": "system", "system": "system"}
_BY_CLIENT = ("compaction_trigger", "mcp_approval_response", "computer_call_output", "program_output")


def read_items(items: Any, *, prefix: str, line: int = 0, time: str = "") -> tuple[Message, ...]:
    """The messages of an `input` or `output` list (a string is one user message), in order.

    Ids are `prefix` + the number of a message's first item, so a longer list with the same beginning has the same ids.
    """
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    if isinstance(items, dict):
        items = [items]
    if not isinstance(items, list | tuple):
        return ()
    return tuple(_joined(read_item(item, id=f"{prefix}{n}", line=line, time=time) for n, item in enumerate(items)))


def _joined(messages: Iterable[Message]) -> Iterable[Message]:
    response: list[Message] = []
    for message in messages:
        if message.role == "assistant" and not message.summary:
            response.append(message)
            continue
        if response:
            yield join(response)
            response = []
        yield message
    if response:
        yield join(response)


def join(messages: Sequence[Message]) -> Message:
    """One message with the parts of all of them, otherwise like the first. Needs at least one."""
    if len(messages) == 1:
        return messages[0]
    return replace(messages[0], parts=tuple(part for message in messages for part in message.parts))


def read_item(item: Any, *, id: str, line: int = 0, time: str = "") -> Message:  # noqa: A002
    """The message of one item. A compaction item is a message of its own with `summary` set."""
    role, parts = read_parts(item)
    return Message(id, role, parts, "", is_compaction(parts), "", line, time)


def is_compaction(parts: Sequence[Part]) -> bool:
    """Are these the parts of a compaction: all that went before, for the provider's eyes only?"""
    first = parts[0] if parts else None
    return type(first) is Opaque and first.kind in _COMPACTIONS


_COMPACTIONS = ("compaction", "compaction_summary", "context_compaction")


def read_parts(item: Any) -> tuple[Role, tuple[Part, ...]]:
    """Who wrote an item, and what it holds. Never raises."""
    if not isinstance(item, dict):
        return "user", (Opaque("", item, _size(item)),)
    kind = item.get("type", "message" if "role" in item else "")
    read = _KINDS.get(kind) if isinstance(kind, str) else None
    if read is not None:
        return read(item)
    role = _ROLES.get(_str(item.get("role")), "user") if "role" in item or kind in _BY_CLIENT else "assistant"
    if kind == "agent_message":  # from another agent of the same session
        return "user", _content(item.get("content"))
    return role, (_opaque(_str(kind), item),)


def _message(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    return _ROLES.get(_str(item.get("role")), "user"), _content(item.get("content"))


def _reasoning(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    """Summary and content are what can be read; the encrypted content is a signature: its letters are not text."""
    parts = (*_content(item.get("summary")), *_content(item.get("content")))
    text = "\n\n".join([part.text for part in parts if isinstance(part, Text)]) if parts else ""
    return "assistant", (Thinking(text, _str(item.get("encrypted_content"))),)


def _function_call(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    return "assistant", (ToolCall(_call_id(item), _str(item.get("name")), read_arguments(item.get("arguments"))),)


def _custom_call(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    return "assistant", (ToolCall(_call_id(item), _str(item.get("name")), _str(item.get("input"))),)


def _shell_call(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    return "assistant", (ToolCall(_call_id(item), "local_shell", item.get("action")),)


def _search_call(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    """Opaque where the provider searched itself, so that no answer follows."""
    if item.get("execution") == "server" or not _str(item.get("call_id")):
        return "assistant", (_opaque("tool_search_call", item),)
    return "assistant", (ToolCall(_call_id(item), "tool_search", read_arguments(item.get("arguments"))),)


def _call_id(item: Mapping[str, Any]) -> str:
    return _str(item.get("call_id")) or _str(item.get("id"))


def read_arguments(arguments: Any) -> Json:
    """The object or list that the string holds; the string itself where it holds neither."""
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    if not arguments.lstrip().startswith(("{", "[")):
        return arguments
    try:
        value: Json = loads(arguments.encode("utf-8", errors="replace"))
    except NotJson:
        return arguments
    return value


def _search_result(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    return "tool", (ToolResult(_call_id(item), dumps(item.get("tools", []))),)


def _result(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    call_id, output, failed = _call_id(item), item.get("output"), False
    if isinstance(output, dict):  # early Codex: {content, success}
        failed = output.get("success") is False
        output = output["content"] if isinstance(output.get("content"), str | list) else dumps(output)
    if isinstance(output, str):
        return "tool", (ToolResult(call_id, output, failed),)
    parts = _content(output)
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    return "tool", (ToolResult(call_id, text, failed), *(part for part in parts if not isinstance(part, Text)))


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], tuple[Role, tuple[Part, ...]]]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "custom_tool_call": _custom_call,
    "local_shell_call": _shell_call,
    "tool_search_call": _search_call,
    "function_call_output": _result,
    "custom_tool_call_output": _result,
    "local_shell_call_output": _result,
    "tool_search_output": _search_result,
}


def _content(content: Any) -> tuple[Part, ...]:
    if isinstance(content, list):
        return tuple([_part(part) for part in content])
    if isinstance(content, str):
        return (Text(content),)
    return (_part(content),) if isinstance(content, dict) else ()


def _part(part: Any) -> Part:
    if isinstance(part, str):
        return Text(part)
    if not isinstance(part, dict):
        return Opaque("", part, _size(part))
    kind = part.get("type")
    if kind in _TEXTS and isinstance(text := part.get("text"), str):
        return Text(text)
    if kind == "refusal" and isinstance(text := part.get("refusal"), str):
        return Text(text)
    if kind == "input_image" and isinstance(url := part.get("image_url"), str):
        return read_image(url)
    return _opaque(_str(kind), part)


_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")


def read_image(url: str) -> Image:
    """A `data:` address is taken apart; any other is kept as it is."""
    if url.startswith("data:"):
        head, comma, data = url[5:].partition(",")
        if comma and head.endswith(";base64"):
            return Image(head[: -len(";base64")], data)
    return Image("", "", url)


def _opaque(kind: str, item: Mapping[str, Any]) -> Opaque:
    """Size: the encrypted content alone where there is one, else the JSON without what only names the item."""
    sealed = item.get("encrypted_content")
    if isinstance(sealed, str):
        return Opaque(kind, item, len(sealed.encode("utf-8", errors="replace")))
    return Opaque(kind, item, _size({key: value for key, value in item.items() if key not in _NAMING}))


_NAMING = ("type", "id", "status", "metadata", "internal_chat_message_metadata_passthrough")


def _size(value: Any) -> int:
    return len(dumps(value).encode("utf-8", errors="replace"))


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def read_usage(usage: Any) -> Usage | None:
    """What one call reported; None where `usage` holds no counts. Takes the API's and Codex's spelling.

    `input_tokens` includes what was read from the cache, `output_tokens` includes the reasoning.
    """
    if not isinstance(usage, dict) or is_absurd(usage):
        return None
    total, output = usage.get("input_tokens"), usage.get("output_tokens")
    if type(total) is not int and type(output) is not int:
        return None
    inside, outside = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    total = _count(total)
    read = _count(usage.get("cached_input_tokens")) or _inner(inside, "cached_tokens")
    write = _count(usage.get("cache_write_input_tokens")) or _inner(inside, "cache_write_tokens")
    reasoning = _count(usage.get("reasoning_output_tokens")) or _inner(outside, "reasoning_tokens")
    if read + write > total:
        return Usage(0, read, write, _count(output), reasoning, context=total)
    return Usage(total - read - write, read, write, _count(output), reasoning)


def _inner(details: Any, key: str) -> int:
    return _count(details.get(key)) if isinstance(details, dict) else 0


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def read_prompt(body: Mapping[str, Any]) -> Prompt:
    """Instructions and tools of a request body. One that names none had none."""
    instructions, tools = body.get("instructions"), body.get("tools")
    offered = tools if isinstance(tools, Sequence) and not isinstance(tools, str) else ()
    return Prompt(_str(instructions), tuple(read_tool(tool) for tool in offered))


def read_tool(tool: Any) -> Tool:
    """A tool under its name; the provider's own ones have none and go by their type."""
    if not isinstance(tool, Mapping):
        return Tool("", tool)
    return Tool(_str(tool.get("name")) or _str(tool.get("type")), tool)
