"""Read and write the JSON of Anthropic's Messages API: messages, usage and prompt; assemble its streams.

One wire message may become several messages, because each tool result is a separate message. Messages from one wire
message have the same `together`, and `write_anthropic_body` joins them again. An unknown block is kept unchanged as
Opaque.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, get_args

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects.anthropic_usage import read_anthropic_usage
from inspector.core.dialects.dialect import (
    Dialect,
    PayloadSigns,
    Refusal,
    StreamAssembler,
    word_set,
)
from inspector.core.dialects.tool_shapes import for_anthropic, shaped_tools
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
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
from inspector.core.untyped import object_of, objects_of, text_of, value_in

_LISTS = (list, tuple)
_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def read_wire_messages(
    role: str,
    content: Any,
    *,
    id: str,  # noqa: A002
    line: int = 0,
    time: str = "",
    summary: bool = False,
    mark: Mark = "",
) -> tuple[Message, ...]:
    """Return the messages of one wire message, in order; at least one, which has no parts if the content is empty.

    The first message keeps `id`; the ids of further messages add the id of their tool call and a number. If there are
    several messages, their `together` is `id`.
    """
    neutral = _ROLES.get(role, "user")
    make_message = partial(Message, mark=mark, line=line, time=time)
    if isinstance(content, str):
        return (make_message(id, neutral, (Text(content),), summary=summary),)
    runs = read_blocks(content)
    is_single_result = len(runs) == 1 and isinstance(runs[0][0], ToolResult)
    if is_single_result:  # a fast path for the most frequent case
        return (make_message(id, "tool", runs[0], summary=summary),)
    groups = group_results(neutral, runs) or [(neutral, ())]
    together = id if len(groups) > 1 else ""
    return tuple(
        make_message(
            _name(id, number, parts),
            group_role,
            parts,
            together=together,
            summary=summary or is_summary(parts),
        )
        for number, (group_role, parts) in enumerate(groups)
    )


def _name(id: str, number: int, parts: tuple[Part, ...]) -> str:  # noqa: A002
    if number == 0:
        return id
    first = parts[0]
    if isinstance(first, ToolResult) and first.call_id:
        return f"{id}.{first.call_id}.{number}"
    return f"{id}.{number}"


def group_results(
    role: Role, runs: Iterable[tuple[Part, ...]]
) -> list[tuple[Role, tuple[Part, ...]]]:
    """Group the parts of a wire message into messages: each tool result with its images, and the blocks in between.

    A summary that the provider made during the request is a separate message, too.
    """
    groups: list[tuple[Role, tuple[Part, ...]]] = []
    loose: list[Part] = []
    for parts in runs:
        is_result = isinstance(parts[0], ToolResult)
        if not (is_result or is_summary(parts)):
            loose += parts
            continue
        if loose:
            groups.append((role, tuple(loose)))
            loose = []
        groups.append(("tool" if is_result else role, parts))
    if loose:
        groups.append((role, tuple(loose)))
    return groups


def is_summary(parts: Sequence[Part]) -> bool:
    """Are these parts a compaction by the provider during a request? The model reads nothing before such a message."""
    return len(parts) == 1 and isinstance(parts[0], Opaque) and bool(parts[0].text)


def read_blocks(content: Any) -> list[tuple[Part, ...]]:
    """Return one tuple of parts for each block: a tool result with its images, any other block alone."""
    if isinstance(content, str):
        return [(Text(content),)]
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, _LISTS):
        return []
    return [_result(block) if _is_result(block) else (read_block(block),) for block in content]


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def read_block(block: Any) -> Part:
    """Read one block that is not a tool result."""
    if not isinstance(block, dict):
        return Text(block) if isinstance(block, str) else Opaque("", block, len(dumps(block)))
    kind = block.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    part = reader(block) if reader is not None else None
    if part is not None:
        return part
    data = block.get("data") if kind == "redacted_thinking" else None
    # Bytes that the provider reads.
    size = len(data) * 3 // 4 if isinstance(data, str) else len(dumps(block).encode())
    return Opaque(text_of(kind), block, size)


def _read_text(block: Mapping[str, Any]) -> Part | None:
    text = block.get("text")
    return Text(text) if isinstance(text, str) else None


def _read_call(block: Mapping[str, Any]) -> Part:
    arguments = block.get("input")
    return ToolCall(
        text_of(block.get("id")), text_of(block.get("name")), {} if arguments is None else arguments
    )


def _read_thinking(block: Mapping[str, Any]) -> Part | None:
    text = block.get("thinking")
    return Thinking(text, text_of(block.get("signature"))) if isinstance(text, str) else None


def _read_image(block: Mapping[str, Any]) -> Part | None:
    match block.get("source"):
        case {"type": "base64", "data": str(data), **rest}:
            return Image(text_of(rest.get("media_type")), data)
        case {"type": "url", "url": str(url)}:
            return Image("", "", url)
        case _:
            return None


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Part | None]] = {
    "text": _read_text,
    "tool_use": _read_call,
    "thinking": _read_thinking,
    "image": _read_image,
}
"""Readers of blocks by type. A reader returns None for a malformed block."""


def _result(block: Mapping[str, Any]) -> tuple[Part, ...]:
    content = block.get("content")
    call_id = text_of(block.get("tool_use_id"))
    is_error = block.get("is_error") is True
    if isinstance(content, str):
        return (ToolResult(call_id, content, is_error),)
    inner = [read_block(block) for block in content] if isinstance(content, _LISTS) else []
    if isinstance(content, dict):
        inner = [Text(dumps(content))]  # iFlow stores an object here
    texts = tuple(part.text for part in inner if isinstance(part, Text))
    result = ToolResult(
        call_id,
        content="\n".join(texts),
        is_error=is_error,
        texts=texts if isinstance(content, _LISTS) else (),
    )
    return (result, *(part for part in inner if not isinstance(part, Text)))


def read_anthropic_prompt(body: Mapping[str, Any]) -> Prompt:
    """Return the system prompt, with its blocks joined by empty lines, and the tools of a request body.

    A field that the body lacks is empty in the result.
    """
    system = body.get("system")
    texts = [part.text for parts in read_blocks(system) for part in parts if isinstance(part, Text)]
    tools = body.get("tools")
    return Prompt("\n\n".join(texts), read_tool_definitions(tools))


def read_tool_definitions(tools: Any) -> tuple[Tool, ...]:
    """Return the tools of a list of definitions. Entries that are not objects are skipped."""
    if not isinstance(tools, _LISTS):
        return ()
    return tuple(Tool(text_of(tool.get("name")), tool) for tool in tools if isinstance(tool, dict))


def write_anthropic_body(buffer: Buffer, model: str, max_tokens: int) -> dict[str, Any]:
    """Return a Messages request body. Messages with the same `together`, and neighbouring tool results, are joined."""
    body: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
    if buffer.prompt.system:
        body["system"] = buffer.prompt.system
    if tools := shaped_tools(buffer.prompt.tools or (), for_anthropic):
        body["tools"] = tools
    body["messages"] = write_messages(buffer.messages)
    return body


def write_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the wire messages of a buffer, in order."""
    wire: list[dict[str, Any]] = []
    for group in wire_groups(messages):
        content: Any = [block for message in group for block in _blocks(message)]
        match content:
            case [{"type": "text", "text": text, **rest}] if not rest:
                content = text
        wire.append(
            {"role": "user" if group[0].role == "tool" else group[0].role, "content": content}
        )
    return wire


def wire_groups(messages: Iterable[Message]) -> list[tuple[Message, ...]]:
    """Group consecutive messages that share a wire message, in order."""
    groups: list[list[Message]] = []
    for message in messages:
        if groups and same_wire_message(groups[-1][-1], message):
            groups[-1].append(message)
        else:
            groups.append([message])
    return [tuple(group) for group in groups]


def same_wire_message(before: Message, message: Message) -> bool:
    """Do two neighbours share one wire message? They do if they have the same `together`, or are tool results."""
    if before.together or message.together:
        return before.together == message.together
    return before.role == message.role == "tool"


def _blocks(message: Message) -> list[dict[str, Any]]:
    parts = message.parts
    # The other parts are inside its block.
    if message.role == "tool" and message.result is not None:
        parts = tuple(part for part in parts if isinstance(part, ToolResult))
    blocks = [_block(part) for part in parts]
    if message.result is not None:
        blocks[0]["content"] = result_content(message)
    return blocks


def result_content(message: Message) -> str | list[dict[str, Any]]:
    """Return the content of a tool result's block: a text, or blocks if it came as blocks or has images."""
    result = message.result
    text, texts = (result.content, result.blocks) if result is not None else ("", ())
    rest = [_block(part) for part in message.parts if not isinstance(part, ToolResult)]
    if not rest and not texts:
        return text
    block_texts = texts or ((text,) if text else ())
    return [{"type": "text", "text": block_text} for block_text in block_texts] + rest


def _block(part: Part) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case ToolCall(id_, name, arguments):
            # Free-text arguments come from another provider; Anthropic demands an object.
            is_object = isinstance(arguments, Mapping)
            return {
                "type": "tool_use",
                "id": id_,
                "name": name,
                "input": arguments if is_object else {"input": arguments},
            }
        case ToolResult(call_id, content, is_error):
            error = {"is_error": True} if is_error else {}
            return {"type": "tool_result", "tool_use_id": call_id, "content": content, **error}
        case Image(media_type, data, url):
            source = {"type": "url", "url": url}
            if data:
                source = {"type": "base64", "media_type": media_type, "data": data}
            return {"type": "image", "source": source}
        case Opaque(_, value, _):
            if isinstance(value, Mapping):
                return dict(value)
            return {"type": "text", "text": dumps(value)}


# -- usage


def read_edits(response: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the provider's own edits of the buffer before the model read it (`context_management.applied_edits`)."""
    return tuple(objects_of(object_of(response, "context_management").get("applied_edits")))


# -- streams


class AnthropicAssembler(StreamAssembler):
    """Assembles the events of a stream into a response."""

    def __init__(self) -> None:
        super().__init__()
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}

    def feed(self, event: Mapping[str, Any]) -> str:
        n = event.get("index")
        match event.get("type"):
            case "message_start":
                self._message = dict(object_of(event, "message"))
            case "content_block_start" if isinstance(n, int):
                self._blocks[n] = dict(object_of(event, "content_block"))
            case "content_block_delta" if isinstance(n, int):
                return self._delta(n, object_of(event, "delta"))
            case "message_delta":
                self._message |= object_of(event, "delta")
                if "context_management" in event:
                    self._message["context_management"] = event["context_management"]
                usage = {
                    key: value
                    for key, value in object_of(event, "usage").items()
                    if value is not None
                }
                self._message["usage"] = {**object_of(self._message, "usage"), **usage}
            case "message_stop":
                self.finished = True
            case "error":
                self.failure = object_of(event, "error")
        return ""

    def _delta(self, n: int, delta: Mapping[str, Any]) -> str:
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                self._add(n, "text", text)
                return text
            case {"type": "input_json_delta", "partial_json": str(text)}:
                self._add(n, "input", text)
            case {"type": "thinking_delta", "thinking": str(text)}:
                self._add(n, "thinking", text)
            case {"type": "signature_delta", "signature": str(text)}:
                self._add(n, "signature", text)
            case {"type": "compaction_delta"}:
                block = self._blocks.setdefault(n, {})
                block |= {
                    key: value
                    for key, value in delta.items()
                    if key != "type" and value is not None
                }
        return ""

    def _add(self, n: int, field: str, text: str) -> None:
        self._pieces.setdefault((n, field), []).append(text)

    def body(self) -> dict[str, Any]:
        for (n, field), pieces in self._pieces.items():
            block = self._blocks.setdefault(n, {"type": "text"})
            text = "".join(pieces)
            begun = block.get(field)
            if field == "input":  # kept as text if it is not JSON, as in a call that was cut off
                block[field] = value_in(text, text) if text.strip() else {}
            else:
                block[field] = text_of(begun) + text
        self._pieces.clear()
        return {**self._message, "content": [self._blocks[n] for n in sorted(self._blocks)]}


# -- the dialect


def _read_item(item: Any, id: str, line: int, time: str) -> Sequence[Message]:  # noqa: A002
    if not isinstance(item, Mapping):
        return ()
    role = item.get("role")
    return read_wire_messages(
        role if isinstance(role, str) else "", item.get("content"), id=id, line=line, time=time
    )


def _is_response(value: Mapping[str, Any]) -> bool:
    is_answer = value.get("type") == "message" or "stop_reason" in value
    return value.get("role") == "assistant" and "content" in value and is_answer


def _is_message(value: Any) -> bool:
    is_said = (
        isinstance(value, Mapping) and text_of(value.get("role")) in _ROLES and "content" in value
    )
    return is_said and not _is_response(value)


def _write_error(status: int, sentence: str) -> dict[str, Any]:
    kind = "api_error" if status >= 500 else "invalid_request_error"
    return {"type": "error", "error": {"type": kind, "message": sentence}}


_SIGNS = PayloadSigns(
    keys=word_set("system anthropic_version thinking stop_sequences top_k output_config"),
    limit="max_tokens",
    blocks=word_set("tool_use tool_result thinking redacted_thinking image document"),
    is_own_tool=lambda tool: "input_schema" in tool,
    is_own_model=lambda model: model.startswith("claude"),
)
ANTHROPIC = Dialect(
    name="anthropic",
    title="Anthropic Messages",
    provider="anthropic",
    host="https://api.anthropic.com",
    key="messages",
    read=_read_item,
    write=lambda messages, calls: write_messages(messages),
    shares=same_wire_message,
    prompt=read_anthropic_prompt,
    write_body=write_anthropic_body,
    answer=lambda response: (response,) if "content" in response else (),
    usage=read_anthropic_usage,
    finish=lambda response: text_of(response.get("stop_reason")),
    is_response=_is_response,
    is_message=_is_message,
    assembler=AnthropicAssembler,
    is_event=lambda event: text_of(event.get("type")).startswith(("message_", "content_block_")),
    signs=_SIGNS,
    error=_write_error,
    error_event=lambda error: ("error", error),
    paths={"/messages": "call", "/messages/count_tokens": "count"},
    path_marks=("/messages", "/complete"),
    final_events=frozenset({"message_stop"}),
    refuses=frozenset(get_args(Refusal)),  # every reason for which there is a name
)
