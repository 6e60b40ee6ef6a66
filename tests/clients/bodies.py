"""Bodies as pieces, by the wire alone: what a provider was given, compared with a buffer that was put together again.

Nothing here uses the program's own readers of bodies: a mistake in those would be made on both sides. A piece is who
says it, what it is, and its content; the pieces of a whole conversation stand in one row, in order.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.message import Message, Opaque, Text, Thinking, ToolCall, ToolResult

Piece: TypeAlias = tuple[str, str, str]
"""(role, kind, content): kinds are text, thinking, call, result; else the wire's own word for it."""


@dataclass(frozen=True, slots=True)
class Told:
    """A conversation as pieces."""

    system: str
    tools: tuple[str, ...]
    pieces: tuple[Piece, ...]

    @property
    def row(self) -> list[Piece]:
        """All of it, instructions first: some clients send them as a field, others as the first items."""
        whole = (("system", "text", self.system), *self.pieces) if self.system else self.pieces
        return [piece for piece in whole if piece[2] or piece[1] not in ("text", "thinking")]

    @property
    def talk(self) -> list[Piece]:
        """Without the instructions at its head, which many transcripts do not hold."""
        row = self.row
        lead = next((n for n, piece in enumerate(row) if piece[:2] != ("system", "text")), len(row))
        return row[lead:]


def of_body(body: Mapping[str, Any]) -> Told:
    """A whole request body, in any of the four dialects."""
    if "contents" in body:
        system = _texts(body.get("systemInstruction", {}).get("parts"), "\n\n")
        return Told(system, _gemini_tools(body), tuple(_gemini(body)))
    if "input" in body:
        return Told(
            str(body.get("instructions") or ""), _names(body), tuple(_responses(body["input"]))
        )
    if any(
        "tool_calls" in one or one.get("role") == "tool" for one in body["messages"]
    ) or _is_chat(body):
        return _chat(body)
    return Told(
        _texts(body.get("system"), "\n\n"), _names(body), tuple(_anthropic(body["messages"]))
    )


def of_buffer(buffer: Buffer) -> Told:
    """A buffer of ours."""
    tools = tuple(tool.name for tool in buffer.prompt.tools or ())
    return Told(buffer.prompt.system or "", tools, of_messages(buffer.messages))


def of_messages(messages: Iterable[Message]) -> tuple[Piece, ...]:
    """Some messages of ours."""
    return tuple(piece for message in messages for piece in _of_message(message))


def _of_message(message: Message) -> Iterator[Piece]:
    role = "user" if message.role == "user" else message.role
    for part in message.parts:
        match part:
            case Text(text):
                yield role, "text", text
            case Thinking(text):
                yield role, "thinking", text
            case ToolCall(_, name, arguments):
                yield role, "call", f"{name} {_plain(arguments)}"
            case ToolResult(_, content):
                yield "tool", "result", content
            case Opaque(kind):
                yield role, kind, ""
            case _:
                yield role, "image", ""


def _plain(value: Any) -> str:
    """The same text for the same JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return str(value)
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _texts(value: Any, between: str = "\n") -> str:
    if isinstance(value, str):
        return value
    blocks = value if isinstance(value, list) else []
    return between.join(one if isinstance(one, str) else str(one.get("text", "")) for one in blocks)


def _names(body: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(tool.get("name") or tool.get("type")) for tool in body.get("tools") or ())


# -- Anthropic Messages ------------------------------------------------------------------------------------------------


def _anthropic(messages: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    for message in messages:
        content, role = message["content"], str(message["role"])
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block:
                case {"type": "text"}:
                    yield role, "text", block["text"]
                case {"type": "thinking"}:
                    yield role, "thinking", block["thinking"]
                case {"type": "tool_use"}:
                    yield role, "call", f"{block['name']} {_plain(block['input'])}"
                case {"type": "tool_result"}:
                    yield "tool", "result", _texts(block.get("content"))
                case {"type": kind}:
                    yield role, kind, ""


# -- Chat Completions --------------------------------------------------------------------------------------------------


def _is_chat(body: Mapping[str, Any]) -> bool:
    tools = body.get("tools") or ()
    return (
        any("function" in tool for tool in tools)
        or "max_completion_tokens" in body
        or "stream_options" in body
    )


def _chat(body: Mapping[str, Any]) -> Told:
    messages = list(body["messages"])
    lead = 0
    while lead < len(messages) and messages[lead]["role"] in ("system", "developer"):
        lead += 1
    tools = tuple(str(tool["function"]["name"]) for tool in body.get("tools") or ())
    system = "\n\n".join(_texts(one["content"], "\n\n") for one in messages[:lead])
    return Told(
        system, tools, tuple(piece for one in messages[lead:] for piece in _chat_message(one))
    )


def _chat_message(message: Mapping[str, Any]) -> Iterator[Piece]:
    role, content = str(message["role"]), message.get("content")
    if role == "tool":
        yield "tool", "result", _texts(content)
        return
    for text in (
        [content] if isinstance(content, str) else [one.get("text", "") for one in content or ()]
    ):
        if text:
            yield role, "text", text
    for call in message.get("tool_calls") or ():
        yield role, "call", f"{call['function']['name']} {_plain(call['function']['arguments'])}"


# -- Responses ---------------------------------------------------------------------------------------------------------


def _responses(items: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    for item in items:
        match item.get("type", "message"):
            case "message":
                role = {"developer": "system"}.get(item["role"], item["role"])
                content = item["content"]
                for text in (
                    [content]
                    if isinstance(content, str)
                    else [one.get("text", "") for one in content]
                ):
                    yield role, "text", text
            case "agent_message":
                for part in item["content"]:
                    sealed = part["type"] == "encrypted_content"
                    yield "user", "encrypted_content" if sealed else "text", part.get("text", "")
            case "function_call":
                yield "assistant", "call", f"{item['name']} {_plain(item['arguments'])}"
            case "custom_tool_call":
                yield "assistant", "call", f"{item['name']} {_plain(item['input'])}"
            case "function_call_output" | "custom_tool_call_output":
                yield "tool", "result", _texts(item["output"])
            case "reasoning":
                yield "assistant", "thinking", _texts(item.get("summary"))
            case kind:
                yield "assistant", str(kind), ""


# -- Gemini ------------------------------------------------------------------------------------------------------------


def _gemini_tools(body: Mapping[str, Any]) -> tuple[str, ...]:
    listed = (
        one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()
    )
    return tuple(str(one["name"]) for one in listed)


def _gemini(body: Mapping[str, Any]) -> Iterator[Piece]:
    for content in body["contents"]:
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content["parts"]:
            if "functionCall" in part:
                yield (
                    role,
                    "call",
                    f"{part['functionCall']['name']} {_plain(part['functionCall'].get('args') or {})}",
                )
            elif "functionResponse" in part:
                yield (
                    "tool",
                    "result",
                    _gemini_result(part["functionResponse"].get("response") or {}),
                )
            elif "text" in part:
                yield role, "thinking" if part.get("thought") else "text", part["text"]
            else:
                yield role, next(iter(part)), ""


def _gemini_result(response: Mapping[str, Any]) -> str:
    """What a tool gave back: one text where it is one."""
    if len(response) == 1 and isinstance(one := next(iter(response.values())), str):
        return one
    return _plain(response)
