"""Messages and tools in whatever shape a tracer wrote them: told by what stands in each, not by who wrote it.

Read are the `parts` of OpenTelemetry and of Google, Chat Completions, Anthropic's blocks, Responses items, LangChain's
serialised messages, the Vercel AI SDK's, OpenInference's nested ones, and VS Code's with numbers for roles.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.core.buffer import Tool
from inspector.core.dialects.anthropic import read_part
from inspector.core.dialects.openai_responses import read_arguments, read_image, read_item
from inspector.core.formats.reading import opaque_part
from inspector.core.formats.traces.attributes import Flat
from inspector.core.formats.traces.span import mapping, parsed
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.untyped import objects_of, text_at, text_of

_ROLES: Mapping[Any, Role] = {
    **dict.fromkeys(("system", "developer", "SystemMessage", 0), "system"),
    **dict.fromkeys(("user", "human", "HumanMessage", "UserMessage", 1), "user"),
    **dict.fromkeys(
        ("assistant", "ai", "model", "bot", "AIMessage", "AIMessageChunk", "AssistantMessage", 2), "assistant"
    ),
    **dict.fromkeys(("tool", "function", "ToolMessage", "FunctionExecutionResultMessage", "tool_result", 3), "tool"),
}
_ITEMS = ("function_call", "function_call_output", "reasoning", "custom_tool_call", "custom_tool_call_output",
          "local_shell_call", "local_shell_call_output", "web_search_call", "compaction")  # fmt: skip
_ANSWERS = frozenset((*_ITEMS, "message"))
_CACHE_MARK = 3
"""A part of VS Code's that marks where the cache ends: nothing that is read."""


def role_of(wire: Any) -> Role | None:
    """Who wrote a message; None where it does not say."""
    if not isinstance(wire, dict):
        return None
    role = wire.get("role")
    if role is None:
        role = wire.get("type")
    kind = type(role)
    return _ROLES.get(role) if kind is str or kind is int else None


def is_answer_item(wire: Any) -> bool:
    """Is it one of the items that an answer of the Responses API is cut into?"""
    if not isinstance(wire, dict) or type(kind := wire.get("type")) is not str or kind not in _ANSWERS:
        return False
    return read_item(dict(wire), id="").role == "assistant"


def unwrapped(wire: Any) -> Any:
    """The message inside what some tracers put around one."""
    if type(wire) is Flat:
        wire = wire.nested()
    if not isinstance(wire, dict) or ("role" in wire and ("parts" in wire or "content" in wire)):
        return wire
    if isinstance(inner := wire.get("message"), dict) and "role" not in wire:
        return inner
    kind, kwargs = wire.get("id"), wire.get("kwargs")
    if isinstance(kind, list) and kind and isinstance(kwargs, dict):  # LangChain
        return {**kwargs, "role": kind[-1]}
    if isinstance(inner := wire.get("data"), dict) and role_of(wire) and "content" not in wire:
        return {**inner, "role": wire.get("type")}
    return wire


def read_wire(wire: Any, line: int = 0, time: str = "") -> tuple[Message, ...]:
    """The messages of one item, without ids; results are messages of their own. Never raises."""
    wire = unwrapped(wire)
    if isinstance(wire, str):
        return (Message("", "user", (Text(wire),), "", False, "", line, time),) if wire else ()
    if not isinstance(wire, dict):
        return ()
    if "role" not in wire and (kind := wire.get("type")) in _ITEMS and isinstance(kind, str):
        return (read_item(dict(wire), id="", line=line, time=time),)
    role = role_of(wire) or "user"
    if len(wire) == 2 and role != "tool" and type(said := wire.get("content")) is str and said:  # most, by far
        return (Message("", role, (Text(said),), "", False, "", line, time),)
    if len(wire) == 2 and type(blocks := wire.get("parts")) is list:
        parts = [part for block in blocks if (part := _part(block, role)) is not None]
    else:
        parts = _parts(wire, role)
    has_result = ToolResult in map(type, parts)
    if role == "tool" and not has_result:
        texts = [part.text for part in parts if isinstance(part, Text)]
        result = ToolResult(_named(wire, _CALL_IDS), "\n".join(texts), wire.get("status") == "error")
        parts = [result, *(part for part in parts if not isinstance(part, Text))]
    elif not has_result:
        return (Message("", role, tuple(parts), "", False, "", line, time),)
    return tuple(Message("", own, tuple(some), line=line, time=time) for own, some in _split(role, parts))


def _split(role: Role, parts: Sequence[Part]) -> Iterator[tuple[Role, list[Part]]]:
    """Results apart, each with the images after it."""
    here: tuple[Role, list[Part]] | None = None
    for part in parts:
        if isinstance(part, ToolResult):
            if here:
                yield here
            here = "tool", [part]
        elif here is None:
            here = ("user" if role == "tool" else role), [part]
        elif here[0] == "tool" and isinstance(part, Text | ToolCall | Thinking):
            yield here
            here = ("user" if role == "tool" else role), [part]
        else:
            here[1].append(part)
    yield here or (role, [])


_BESIDE = frozenset(("tool_calls", "toolCalls", "additional_kwargs", "function_call"))
"""Where calls stand beside the content."""


def _parts(wire: Mapping[str, Any], role: Role) -> list[Part]:
    thought = text_of(wire.get("reasoning_content")) or text_of(wire.get("reasoning"))
    found: list[Part] = [Thinking(thought)] if thought else []
    content: Any = ""
    for key in ("parts", "contents", "content", "blocks", "text"):
        if (content := wire.get(key)) is not None:
            break
    for block in content if isinstance(content, list | tuple) else [content]:
        part = _part(block, role)
        if part is not None:
            found.append(part)
    if _BESIDE.isdisjoint(wire):
        return found
    if made := _calls(wire) or _calls(mapping(wire.get("additional_kwargs"))):
        known = {part.id for part in found if isinstance(part, ToolCall)}
        found += (call for call in made if call.id not in known or not call.id)
    if legacy := mapping(wire.get("function_call")):
        found.append(ToolCall("", text_of(legacy.get("name")), read_arguments(legacy.get("arguments"))))
    return found


def _calls(wire: Mapping[str, Any]) -> list[ToolCall]:
    told = wire.get("tool_calls") or wire.get("toolCalls")
    return [_call(call) for call in objects_of(told)] if told else []


def _part(block: Any, role: Role) -> Part | None:
    """One block of a message's content; None for what holds nothing."""
    if isinstance(block, str):
        return Text(block) if block else None
    if block is None:
        return None
    if not isinstance(block, dict):
        return opaque_part("unknown", block)
    if len(block) == 2 and block.get("type") == "text" and type(said := block.get("content")) is str:  # most, by far
        return Text(said)
    block = mapping(block.get("message_content")) or block
    kind = block.get("type", block.get("part_kind"))
    said = block.get("text", block.get("content"))
    if kind == "text" and type(said) is str and "thought" not in block:
        return Text(said)
    name = text_of(kind).replace("-", "_")
    if name in ("tool_call", "function_call", "toolCall") or "functionCall" in block or "function_call" in block:
        return _call(mapping(block.get("functionCall") or block.get("function_call")) or block)
    if name in ("tool_call_response", "tool_response", "tool_return", "function_response"):
        return _result(block)
    if name == "tool_result" and "tool_use_id" not in block:
        return _result(block)
    if inner := mapping(block.get("functionResponse") or block.get("function_response")):
        return _result(inner)
    if used := mapping(block.get("toolUse")):  # Bedrock's Converse
        return _call(used)
    if inner := mapping(block.get("toolResult")):
        return _result({**inner, "is_error": inner.get("status") == "error"})
    if not name and "name" in block and ("arguments" in block or "call_id" in block):  # AutoGen
        return _call(block) if "arguments" in block else _result(block)
    if name in ("tool_use", "tool_result"):
        return _anthropic(block)
    if name in ("reasoning", "thinking", "redacted_thinking"):
        thought = text_of(block.get("content")) or text_of(block.get("text")) or text_of(block.get("thinking"))
        return Thinking(thought, text_of(block.get("signature")) or text_of(block.get("data")))
    if isinstance(said, str) and name not in ("blob", "uri", "image"):
        return Thinking(said) if block.get("thought") is True else Text(said)
    if kind == _CACHE_MARK:
        return None
    if (picture := _picture(name, block)) is not None:
        return picture
    if role == "tool" and not name:  # a tool's answer as an object
        return Text(dumps(block))
    return opaque_part(name or "unknown", dict(block))


def _anthropic(block: Mapping[str, Any]) -> Part:
    if block.get("type") == "tool_use":
        return read_part(dict(block))
    return ToolResult(text_of(block.get("tool_use_id")), said(block.get("content")), block.get("is_error") is True)


def _picture(name: str, block: Mapping[str, Any]) -> Part | None:
    image = block.get("image_url", block.get("image"))
    while isinstance(image, dict):
        image = image.get("url", image.get("image"))
    if isinstance(image, str) and image:
        return read_image(image)
    if name == "image" and isinstance(block.get("source"), dict):
        return read_part(dict(block))
    if name in ("blob", "uri") and (text_at(block, "mime_type") or text_at(block, "modality")).startswith("image"):
        data = text_at(block, "content") or text_at(block, "data")
        return read_image(f"data:{text_at(block, 'mime_type')};base64,{data}" if data else text_at(block, "uri"))
    return None


_IDS = ("id", "call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "name")
_CALL_IDS = ("tool_call_id", *_IDS)


def _named(value: Mapping[str, Any], keys: Sequence[str]) -> str:
    for key in keys:
        if (found := value.get(key)) and isinstance(found, str):
            return found
    return ""


def _call(told: Mapping[str, Any]) -> ToolCall:
    call = mapping(told.get("tool_call")) or told
    inner = mapping(call.get("function")) or call
    given = None
    for key in ("arguments", "args", "input"):
        if (given := inner.get(key)) is not None:
            break
    name = _named(inner, ("name", "toolName", "tool_name"))
    return ToolCall(_named(call, _IDS), name, read_arguments(given))


def _result(block: Mapping[str, Any]) -> ToolResult:
    told = next((block[key] for key in ("response", "result", "output", "content") if key in block), "")
    call = _named(block, _IDS)
    match parsed(told):
        case {"type": "function_result", "result": inner}:  # Microsoft's Agent Framework puts the whole part inside
            told = inner
        case {"type": "text" | "json" | "error-text" | "error-json", "value": inner}:  # Vercel
            told = inner
    return ToolResult(call, said(told), block.get("is_error") is True or block.get("isError") is True)


def said(told: Any) -> str:
    """The text of a result: blocks of text joined, any other value as its JSON."""
    if isinstance(told, str):
        return told
    if isinstance(told, list) and told and all(isinstance(one, dict) and "text" in one for one in told):
        return "\n".join(text_of(one["text"]) for one in told)
    if isinstance(told, dict) and isinstance(told.get("content"), list):  # MCP
        return said(told["content"])
    return "" if told is None else dumps(told)


def read_tools(told: Any) -> tuple[Tool, ...] | None:
    """The tools of a list of definitions, each an object or its JSON; None where there is no list."""
    told = parsed(told)
    if isinstance(told, dict):
        told = list(told.values())
    if not isinstance(told, list):
        return None
    found = []
    for one in told:
        tool = mapping(one)
        tool = mapping(tool.get("tool")) or tool
        schema = tool.get("json_schema", tool.get("tool.json_schema"))
        tool = mapping(schema) if schema is not None else mapping(tool.get("toolSpec")) or tool
        if isinstance(many := tool.get("functionDeclarations", tool.get("function_declarations")), list):
            found += [Tool(text_of(mapping(each).get("name")), each) for each in many]
        elif tool or schema is not None:
            named = mapping(tool.get("function")) or tool
            found.append(Tool(text_of(named.get("name")) or text_of(tool.get("type")), dict(tool)))
    return tuple(found)
