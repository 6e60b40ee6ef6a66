"""Anthropic Messages JSON to messages, usage and prompt, and back.

One wire message may become several messages: a tool result is a message of its own. Those that travelled together
share `together`, and `write_body` puts them back. A block that is not understood is kept unchanged as Opaque.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Mark, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult

_LISTS = (list, tuple)
_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def read_messages(
    role: str,
    content: Any,
    *,
    id: str,  # noqa: A002
    line: int = 0,
    time: str = "",
    summary: bool = False,
    mark: Mark = "",
) -> tuple[Message, ...]:
    """The messages of one wire message, in order, at least one (without parts where the content holds nothing).

    The first keeps `id`, further ones are named after their tool call; with more than one, `together` is `id`.
    """
    neutral = _ROLES.get(role, "user")
    if isinstance(content, str):
        return (Message(id, neutral, (Text(content),), "", summary, mark, line, time),)
    runs = read_parts(content)
    if len(runs) == 1 and isinstance(runs[0][0], ToolResult):  # by far the most frequent
        return (Message(id, "tool", runs[0], "", summary, mark, line, time),)
    groups = _groups(neutral, runs) or [(neutral, ())]
    if len(groups) == 1:
        role_of, parts = groups[0]
        return (Message(id, role_of, parts, "", summary, mark, line, time),)
    return tuple(
        Message(_name(id, n, parts), role_of, parts, id, summary, mark, line, time)
        for n, (role_of, parts) in enumerate(groups)
    )


def _name(id: str, n: int, parts: tuple[Part, ...]) -> str:  # noqa: A002
    if n == 0:
        return id
    first = parts[0]
    return f"{id}.{first.call_id}.{n}" if isinstance(first, ToolResult) and first.call_id else f"{id}.{n}"


def _groups(role: Role, runs: list[tuple[Part, ...]]) -> list[tuple[Role, tuple[Part, ...]]]:
    """Each tool result with its images by itself, the blocks between them as messages of `role`."""
    groups: list[tuple[Role, tuple[Part, ...]]] = []
    loose: list[Part] = []
    for parts in runs:
        if not isinstance(parts[0], ToolResult):
            loose += parts
            continue
        if loose:
            groups.append((role, tuple(loose)))
            loose = []
        groups.append(("tool", parts))
    if loose:
        groups.append((role, tuple(loose)))
    return groups


def read_parts(content: Any) -> list[tuple[Part, ...]]:
    """One tuple of parts for each block: a tool result brings its images along, all others are alone."""
    if isinstance(content, str):
        return [(Text(content),)]
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, _LISTS):
        return []
    return [_result(block) if _is_result(block) else (read_part(block),) for block in content]


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def read_part(block: Any) -> Part:
    """One block that is no tool result."""
    if not isinstance(block, dict):
        return Text(block) if isinstance(block, str) else Opaque("", block, len(dumps(block)))
    kind = block.get("type")
    part: Part | None = None
    if kind == "text":
        part = Text(block["text"]) if isinstance(block.get("text"), str) else None
    elif kind == "tool_use":
        arguments = block.get("input")
        part = ToolCall(_str(block.get("id")), _str(block.get("name")), {} if arguments is None else arguments)
    elif kind == "thinking" and isinstance(block.get("thinking"), str):
        part = Thinking(block["thinking"], _str(block.get("signature")))
    elif kind == "image":
        part = _image(block.get("source"))
    return Opaque(_str(kind), block, _opaque_size(block)) if part is None else part


def _image(source: Any) -> Image | None:
    match source:
        case {"type": "base64", "data": str(data)}:
            return Image(_str(source.get("media_type")), data)
        case {"type": "url", "url": str(url)}:
            return Image("", "", url)
        case _:
            return None


def _opaque_size(block: Mapping[str, Any]) -> int:
    """Bytes of what the provider reads: decoded data where there is some, else the block's JSON."""
    if block.get("type") == "redacted_thinking" and isinstance(data := block.get("data"), str):
        return len(data) * 3 // 4
    return len(dumps(block).encode())


def _result(block: Mapping[str, Any]) -> tuple[Part, ...]:
    content = block.get("content")
    call_id, is_error = _str(block.get("tool_use_id")), block.get("is_error") is True
    if isinstance(content, str):
        return (ToolResult(call_id, content, is_error),)
    inner = [read_part(one) for one in content] if isinstance(content, _LISTS) else []
    if isinstance(content, dict):
        inner = [Text(dumps(content))]  # iFlow keeps an object here
    texts = tuple(part.text for part in inner if isinstance(part, Text))
    result = ToolResult(call_id, "\n".join(texts), is_error, texts if isinstance(content, _LISTS) else ())
    return (result, *(part for part in inner if not isinstance(part, Text)))


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def read_prompt(body: Mapping[str, Any]) -> Prompt:
    """System prompt (its blocks joined by an empty line) and tools of a request body. Absent there = empty."""
    system = body.get("system")
    texts = [part.text for parts in read_parts(system) for part in parts if isinstance(part, Text)]
    tools = body.get("tools")
    return Prompt("\n\n".join(texts), read_tools(tools))


def read_tools(tools: Any) -> tuple[Tool, ...]:
    """The tools of a list of definitions; what is not an object is left out."""
    if not isinstance(tools, _LISTS):
        return ()
    return tuple(Tool(_str(one.get("name")), one) for one in tools if isinstance(one, dict))


def write_body(buffer: Buffer, model: str, max_tokens: int) -> dict[str, Any]:
    """A Messages request body: what travelled together, and neighbouring tool results, share one user message."""
    body: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
    if buffer.prompt.system:
        body["system"] = buffer.prompt.system
    if buffer.prompt.tools:
        body["tools"] = [tool.definition for tool in buffer.prompt.tools]
    body["messages"] = write_messages(buffer.messages)
    return body


def write_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The wire messages of a buffer, in order."""
    wire: list[dict[str, Any]] = []
    before: Message | None = None
    for message in messages:
        blocks = [_block(part) for part in message.parts if not _belongs_to_result(message, part)]
        if message.result is not None:
            blocks[0]["content"] = result_content(message)
        if before is not None and same_wire_message(before, message):
            wire[-1]["content"] += blocks
        else:
            wire.append({"role": "user" if message.role == "tool" else message.role, "content": blocks})
        before = message
    for one in wire:
        match one["content"]:
            case [{"type": "text", "text": text, **rest}] if not rest:
                one["content"] = text
    return wire


def _belongs_to_result(message: Message, part: Part) -> bool:
    return message.role == "tool" and message.result is not None and not isinstance(part, ToolResult)


def same_wire_message(before: Message, message: Message) -> bool:
    """Do these neighbours share one wire message? What travelled together does, and tool results do."""
    if before.together or message.together:
        return before.together == message.together
    return before.role == message.role == "tool"


def result_content(message: Message) -> str | list[dict[str, Any]]:
    """What stands in a tool result's block: a text; or blocks, where it came so or has images."""
    result = message.result
    text, texts = (result.content, result.blocks) if result is not None else ("", ())
    rest = [_block(part) for part in message.parts if not isinstance(part, ToolResult)]
    if not rest and not texts:
        return text
    return [{"type": "text", "text": one} for one in texts or (text,) * bool(text)] + rest


def _block(part: Part) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case ToolCall(id_, name, arguments):
            # Free-text arguments come from another provider; Anthropic demands an object.
            known = isinstance(arguments, Mapping)
            return {"type": "tool_use", "id": id_, "name": name, "input": arguments if known else {"input": arguments}}
        case ToolResult(call_id, content, is_error):
            error = {"is_error": True} if is_error else {}
            return {"type": "tool_result", "tool_use_id": call_id, "content": content, **error}
        case Image(media_type, data, url):
            source = {"type": "base64", "media_type": media_type, "data": data} if data else {"type": "url", "url": url}
            return {"type": "image", "source": source}
        case Opaque(_, value, _):
            return dict(value) if isinstance(value, Mapping) else {"type": "text", "text": dumps(value)}
