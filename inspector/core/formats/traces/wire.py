"""Read messages and tools in any shape that tracers write. Their content shows the shape, not the name of the tracer.

The shapes are: the `parts` of OpenTelemetry and of Google, Chat Completions, Anthropic's blocks, Responses items,
LangChain's serialised messages, the Vercel AI SDK's messages, OpenInference's nested messages, and VS Code's messages
with numbers for roles.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inspector.core.buffer import Tool
from inspector.core.dialects.anthropic import read_block
from inspector.core.dialects.openai_responses import read_arguments, read_image, read_item
from inspector.core.formats.reading import opaque_part
from inspector.core.formats.traces.attributes import Flat
from inspector.core.formats.traces.span import mapping, unpack_json
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.untyped import objects_of, text_at, text_of

_ROLES: Mapping[Any, Role] = {
    **dict.fromkeys(("system", "developer", "SystemMessage", 0), "system"),
    **dict.fromkeys(("user", "human", "HumanMessage", "UserMessage", 1), "user"),
    **dict.fromkeys(
        ("assistant", "ai", "model", "bot", "AIMessage", "AIMessageChunk", "AssistantMessage", 2),
        "assistant",
    ),
    **dict.fromkeys(
        ("tool", "function", "ToolMessage", "FunctionExecutionResultMessage", "tool_result", 3),
        "tool",
    ),
}
_ITEMS = ("function_call", "function_call_output", "reasoning", "custom_tool_call", "custom_tool_call_output",
          "local_shell_call", "local_shell_call_output", "web_search_call", "compaction")  # fmt: skip
"""Types of the items of the Responses API that have no role."""
_ANSWERS = frozenset((*_ITEMS, "message"))
_CONTENTS = ("parts", "contents", "content", "blocks", "text")
"""Fields of a message that may hold its content. The first one present counts."""
_CALLS_BESIDE = frozenset(("tool_calls", "toolCalls", "additional_kwargs", "function_call"))
"""Fields of a message that may hold tool calls beside the content."""
_IDS = ("id", "call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "name")
_CALL_IDS = ("tool_call_id", *_IDS)
_NAMES = ("name", "toolName", "tool_name")


def role_of(wire: Any) -> Role | None:
    """Return who wrote a message; None if it does not say."""
    if not isinstance(wire, dict):
        return None
    role = wire.get("role")
    if role is None:
        role = wire.get("type")
    kind = type(role)
    return _ROLES.get(role) if kind is str or kind is int else None


def is_answer_item(wire: Any) -> bool:
    """Is it an item of a Responses API answer? Such an answer consists of several items."""
    if (
        not isinstance(wire, dict)
        or type(kind := wire.get("type")) is not str
        or kind not in _ANSWERS
    ):
        return False
    return read_item(dict(wire), id="").role == "assistant"


def unwrap_message(wire: Any) -> Any:
    """Return the message inside an object that some tracers put around it; any other value as it is."""
    if type(wire) is Flat:
        wire = wire.nested()
    if not isinstance(wire, dict):
        return wire
    if "role" not in wire and isinstance(inner := wire.get("message"), dict):
        return inner
    is_whole = "role" in wire and ("parts" in wire or "content" in wire)
    return wire if is_whole else _unwrap_serialised(wire)


def _unwrap_serialised(wire: dict[str, Any]) -> Any:
    """Return a message that LangChain wrote as a serialised Python object, or as a type with data."""
    kind = wire.get("id")
    kwargs = wire.get("kwargs")
    if isinstance(kind, list) and kind and isinstance(kwargs, dict):
        return {**kwargs, "role": kind[-1]}
    data = wire.get("data")
    if isinstance(data, dict) and "content" not in wire and role_of(wire):
        return {**data, "role": wire.get("type")}
    return wire


# -- messages


def read_wire(wire: Any, line: int = 0, time: str = "") -> tuple[Message, ...]:
    """Return the messages of one item, without ids. Tool results become messages of their own. Never raises."""
    wire = unwrap_message(wire)
    if isinstance(wire, str):
        return (
            (Message("", role="user", parts=(Text(wire),), line=line, time=time),) if wire else ()
        )
    if not isinstance(wire, dict):
        return ()
    if "role" not in wire and text_of(wire.get("type")) in _ITEMS:
        return (read_item(dict(wire), id="", line=line, time=time),)
    role = role_of(wire) or "user"
    if role != "tool" and _is_plain(wire):  # by far the most common form
        return (Message("", role, parts=(Text(wire["content"]),), line=line, time=time),)
    parts = _read_parts(wire, role)
    has_result = ToolResult in map(type, parts)
    if role == "tool" and not has_result:
        parts = _as_result(wire, parts)
    elif not has_result:
        return (Message("", role, parts=tuple(parts), line=line, time=time),)
    split = _split_results(role, parts)
    return tuple(
        Message("", own_role, tuple(own_parts), line=line, time=time)
        for own_role, own_parts in split
    )


def _is_plain(wire: Mapping[str, Any]) -> bool:
    """Does a message hold a role and a text, and nothing else?"""
    return len(wire) == 2 and type(text := wire.get("content")) is str and bool(text)


def _as_result(wire: Mapping[str, Any], parts: Sequence[Part]) -> list[Part]:
    """Return the parts of a tool's message, with its texts joined into one tool result."""
    texts = [part.text for part in parts if isinstance(part, Text)]
    result = ToolResult(
        _first_text(wire, _CALL_IDS), "\n".join(texts), wire.get("status") == "error"
    )
    return [result, *(part for part in parts if not isinstance(part, Text))]


def _split_results(role: Role, parts: Sequence[Part]) -> Iterator[tuple[Role, list[Part]]]:
    """Yield (role, parts) of each message: a tool result with the images after it, or the parts between results."""
    other_role: Role = "user" if role == "tool" else role
    current: tuple[Role, list[Part]] | None = None
    for part in parts:
        is_result = isinstance(part, ToolResult)
        ends_result = (
            current is not None
            and current[0] == "tool"
            and isinstance(part, Text | ToolCall | Thinking)
        )
        if current is not None and not is_result and not ends_result:
            current[1].append(part)
            continue
        if current is not None:
            yield current
        current = ("tool" if is_result else other_role), [part]
    yield current or (role, [])


def _read_parts(wire: Mapping[str, Any], role: Role) -> list[Part]:
    """Read the reasoning, the content and the calls of a message."""
    parts: list[Part] = []
    if reasoning := text_of(wire.get("reasoning_content")) or text_of(wire.get("reasoning")):
        parts.append(Thinking(reasoning))
    content = _first_value(wire, _CONTENTS)
    for block in content if isinstance(content, list | tuple) else [content]:
        part = _read_block(block, role)
        if part is not None:
            parts.append(part)
    if not _CALLS_BESIDE.isdisjoint(wire):
        known_ids = {part.id for part in parts if isinstance(part, ToolCall)}
        calls = _read_calls(wire) or _read_calls(mapping(wire.get("additional_kwargs")))
        parts += (call for call in calls if call.id not in known_ids or not call.id)
        if legacy := mapping(wire.get("function_call")):
            parts.append(
                ToolCall("", text_of(legacy.get("name")), read_arguments(legacy.get("arguments")))
            )
    return parts


def _read_calls(wire: Mapping[str, Any]) -> list[ToolCall]:
    calls = wire.get("tool_calls") or wire.get("toolCalls")
    return [_read_call(call) for call in objects_of(calls)] if calls else []


# -- blocks


def _read_block(block: Any, role: Role) -> Part | None:
    """Read one block of a message's content; None if it holds nothing."""
    if isinstance(block, str):
        return Text(block) if block else None
    if block is None:
        return None
    if not isinstance(block, dict):
        return opaque_part("unknown", block)
    # By far the most common form.
    if (
        len(block) == 2
        and block.get("type") == "text"
        and type(text := block.get("content")) is str
    ):
        return Text(text)
    block = mapping(block.get("message_content")) or block
    kind = block.get("type", block.get("part_kind"))
    name = text_of(kind).replace("-", "_")
    part = _read_known_block(name, block)
    if part is None and kind != _CACHE_MARK:
        part = _read_other_block(name, block, role)
    return part


def _read_known_block(name: str, block: Mapping[str, Any]) -> Part | None:
    """Read a call, a result, reasoning or a text; None for any other block."""
    if (reader := _BY_TYPE.get(name)) is not None:
        return reader(block)
    for key, inner_reader in _BY_KEY.items():
        if key in block and (inner := mapping(block[key])):
            return inner_reader(inner)
    if not name and "name" in block:  # AutoGen
        if "arguments" in block:
            return _read_call(block)
        if "call_id" in block:
            return _read_result(block)
    text = block.get("text", block.get("content"))
    if isinstance(text, str) and name not in _PICTURES:
        return Thinking(text) if block.get("thought") is True else Text(text)
    return None


def _read_other_block(name: str, block: Mapping[str, Any], role: Role) -> Part:
    picture = _read_picture(name, block)
    if picture is not None:
        return picture
    if role == "tool" and not name:  # a tool's answer as an object
        return Text(dumps(block))
    return opaque_part(name or "unknown", dict(block))


def _read_call(block: Mapping[str, Any]) -> ToolCall:
    block = mapping(block.get("functionCall") or block.get("function_call")) or block
    call = mapping(block.get("tool_call")) or block
    function = mapping(call.get("function")) or call
    arguments = _first_value(function, ("arguments", "args", "input"))
    return ToolCall(
        _first_text(call, _IDS), _first_text(function, _NAMES), read_arguments(arguments)
    )


def _read_result(block: Mapping[str, Any]) -> ToolResult:
    output = next(
        (block[key] for key in ("response", "result", "output", "content") if key in block), ""
    )
    match unpack_json(output):
        case {
            "type": "function_result",
            "result": inner,
        }:  # Microsoft's Agent Framework puts the whole part inside
            output = inner
        case {"type": "text" | "json" | "error-text" | "error-json", "value": inner}:  # Vercel
            output = inner
    is_error = block.get("is_error") is True or block.get("isError") is True
    return ToolResult(_first_text(block, _IDS), result_text(output), is_error)


def _read_tool_result(block: Mapping[str, Any]) -> ToolResult:
    """Read a `tool_result` block, in Anthropic's form or another one."""
    if "tool_use_id" not in block:
        return _read_result(block)
    is_error = block.get("is_error") is True
    return ToolResult(text_at(block, "tool_use_id"), result_text(block.get("content")), is_error)


def _read_converse_result(block: Mapping[str, Any]) -> ToolResult:
    """Read a tool result of Bedrock's Converse API."""
    return _read_result({**block, "is_error": block.get("status") == "error"})


def _read_reasoning(block: Mapping[str, Any]) -> Thinking:
    text = (
        text_of(block.get("content"))
        or text_of(block.get("text"))
        or text_of(block.get("thinking"))
    )
    return Thinking(text, text_of(block.get("signature")) or text_of(block.get("data")))


def _read_anthropic(block: Mapping[str, Any]) -> Part:
    return read_block(dict(block))


_CACHE_MARK = 3
"""Type of a part in VS Code's messages that marks the end of the cached prompt. It is skipped."""
_PICTURES = ("blob", "uri", "image")
_BY_TYPE: Mapping[str, Callable[[Mapping[str, Any]], Part]] = {
    **dict.fromkeys(("tool_call", "function_call", "toolCall"), _read_call),
    **dict.fromkeys(
        ("tool_call_response", "tool_response", "tool_return", "function_response"), _read_result
    ),
    **dict.fromkeys(("reasoning", "thinking", "redacted_thinking"), _read_reasoning),
    "tool_use": _read_anthropic,
    "tool_result": _read_tool_result,
}
"""Functions that read blocks, by type of the block (with `_` for `-`)."""
_BY_KEY: Mapping[str, Callable[[Mapping[str, Any]], Part]] = {
    "functionCall": _read_call,
    "function_call": _read_call,
    "functionResponse": _read_result,
    "function_response": _read_result,
    "toolUse": _read_call,
    "toolResult": _read_converse_result,
}
"""Functions that read the object under a key of a block, by key."""


def _read_picture(name: str, block: Mapping[str, Any]) -> Part | None:
    image = block.get("image_url", block.get("image"))
    while isinstance(image, dict):
        image = image.get("url", image.get("image"))
    if isinstance(image, str) and image:
        return read_image(image)
    if name == "image" and isinstance(block.get("source"), dict):
        return read_block(dict(block))
    media_type = text_at(block, "mime_type")
    if name in ("blob", "uri") and (media_type or text_at(block, "modality")).startswith("image"):
        data = text_at(block, "content") or text_at(block, "data")
        return read_image(f"data:{media_type};base64,{data}" if data else text_at(block, "uri"))
    return None


def _first_value(value: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """Return the value of the first key that has one."""
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _first_text(value: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the text of the first key that has one; empty if none has."""
    texts = (value.get(key) for key in keys)
    return next((text for text in texts if text and isinstance(text, str)), "")


def result_text(output: Any) -> str:
    """Return a result as text: blocks of text joined, any other value as its JSON."""
    if isinstance(output, str):
        return output
    if (
        isinstance(output, list)
        and output
        and all(isinstance(block, dict) and "text" in block for block in output)
    ):
        return "\n".join(text_of(block["text"]) for block in output)
    if isinstance(output, dict) and isinstance(output.get("content"), list):  # MCP
        return result_text(output["content"])
    return "" if output is None else dumps(output)


# -- tools


def read_tool_list(value: Any) -> tuple[Tool, ...] | None:
    """Read a list of tools, each an object or its JSON; None if there is no list."""
    definitions = unpack_json(value)
    if isinstance(definitions, dict):
        definitions = list(definitions.values())
    if not isinstance(definitions, list):
        return None
    tools: list[Tool] = []
    for definition in definitions:
        tools += _read_tools(mapping(definition))
    return tuple(tools)


def _read_tools(definition: Mapping[str, Any]) -> Iterator[Tool]:
    """Yield the tools of one definition: Google's may hold several."""
    tool = mapping(definition.get("tool")) or definition
    schema = tool.get("json_schema", tool.get("tool.json_schema"))
    tool = mapping(schema) if schema is not None else mapping(tool.get("toolSpec")) or tool
    functions = tool.get("functionDeclarations", tool.get("function_declarations"))
    if isinstance(functions, list):
        for function in functions:
            yield Tool(text_of(mapping(function).get("name")), function)
    elif tool or schema is not None:
        function = mapping(tool.get("function")) or tool
        yield Tool(text_of(function.get("name")) or text_of(tool.get("type")), dict(tool))
