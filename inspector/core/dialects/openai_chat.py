"""Read and write OpenAI's Chat Completions: each wire message is one message; assemble its streams.

The leading messages of a body with role system or developer are the system prompt and not part of the buffer. A later
system message is an ordinary message.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects.dialect import Dialect, PayloadSigns, StreamAssembler, Units, word_set
from inspector.core.dialects.openai_responses import read_arguments, read_image, write_error
from inspector.core.dialects.tool_shapes import for_chat, shaped_tools
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
    count_of,
    first_object,
    first_of,
    list_of,
    object_of,
    objects_of,
    text_of,
)
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
"""Kinds of Opaque parts that a Chat body may contain."""


def read_chat_message(message: Any, id: str, line: int = 0, time: str = "") -> tuple[Message, ...]:  # noqa: A002
    """Read one wire message into one message, or none if it is not an object. Never raises.

    An unknown role is read as user. A legacy `function_call` and the `function` message that answers it have no id: see
    `_name_legacy_calls`.
    """
    if type(message) is not dict and not isinstance(message, Mapping):
        return ()
    role = _ROLES.get(text_of(message.get("role")), "user")
    parts: list[Part] = []
    if role == "tool":
        blocks = _content(message.get("content"))
        text = "\n".join(part.text for part in blocks if isinstance(part, Text))
        parts.append(ToolResult(text_of(message.get("tool_call_id")), text))
        parts += (part for part in blocks if not isinstance(part, Text))
    else:
        thinking = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
        if thinking:
            parts.append(Thinking(thinking))
        parts += _content(message.get("content"))
        refusal = text_of(message.get("refusal"))
        if refusal:
            parts.append(Text(refusal))
        parts += _calls(message)
    return (Message(id, role, tuple(parts), line=line, time=time),)


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
    kind = text_of(part.get("type"))
    if kind in ("text", "input_text", "output_text"):
        return Text(text_of(part.get("text")))
    if kind == "refusal":
        return Text(text_of(part.get("refusal")))
    if kind == "image_url":
        image = part.get("image_url")
        return read_image(text_of(image.get("url") if isinstance(image, Mapping) else image))
    return Opaque(kind or "unknown", part, len(dumps(part).encode()))


def _calls(message: Mapping[str, Any]) -> list[Part]:
    calls: list[Part] = [_call(call) for call in objects_of(message.get("tool_calls"))]
    legacy = message.get("function_call")
    if legacy is not None and isinstance(legacy, Mapping):
        calls.append(
            ToolCall(
                "", text_of(legacy.get("name")), read_arguments(legacy.get("arguments") or None)
            )
        )
    return calls


def _call(call: Mapping[str, Any]) -> ToolCall:
    call_id = text_of(call.get("id"))
    custom = call.get("custom")
    if isinstance(custom, Mapping):
        return ToolCall(call_id, text_of(custom.get("name")), text_of(custom.get("input")))
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else call
    arguments = read_arguments(inner.get("arguments") or None)
    return ToolCall(call_id, text_of(inner.get("name")), arguments)


def read_chat_usage(usage: Any) -> Usage | None:
    """Read the `usage` of a response; None if it has no counts. `prompt_tokens` includes cached tokens."""
    if not isinstance(usage, Mapping) or is_absurd(usage):
        return None
    if not any(isinstance(usage.get(key), int) for key in _COUNTED):
        return None
    input_details = object_of(usage, "prompt_tokens_details")
    output_details = object_of(usage, "completion_tokens_details")
    read = count_of(input_details.get("cached_tokens")) or count_of(
        usage.get("prompt_cache_hit_tokens")
    )
    written = (
        count_of(input_details.get("cache_write_tokens"))
        or count_of(input_details.get("cache_creation_tokens"))
        or count_of(usage.get("cache_creation_input_tokens"))  # LiteLLM, for Anthropic's writes
    )
    prompt = count_of(usage.get("prompt_tokens"))
    return Usage(
        input=max(0, prompt - read - written),
        cache_read=read,
        cache_write=written,
        output=count_of(usage.get("completion_tokens")),
        reasoning=count_of(output_details.get("reasoning_tokens")),
    )


_COUNTED = ("prompt_tokens", "completion_tokens")


def read_chat_prompt(body: Mapping[str, Any]) -> Prompt:
    """Return the leading system messages and the tools of a request body. A field that the body lacks is empty."""
    messages = body.get("messages")
    lead = leading(messages)
    system = "\n\n".join(m.text for wire in lead for m in read_chat_message(wire, id=""))
    tools = body.get("tools") or body.get("functions")
    return Prompt(system, tuple(_tools(list_of(tools))))


def leading(messages: Any) -> Sequence[Any]:
    """Return the leading wire messages, which are the system prompt."""
    lead: list[Any] = []
    for message in messages if isinstance(messages, list | tuple) else ():
        if not isinstance(message, Mapping) or message.get("role") not in ("system", "developer"):
            break
        lead.append(message)
    return lead


def _tools(tools: Iterable[Any]) -> Iterable[Tool]:
    for tool in tools:
        if isinstance(tool, Mapping):
            inner = tool.get("function") or tool.get("custom")
            named = inner if isinstance(inner, Mapping) else tool
            yield Tool(text_of(named.get("name")) or text_of(tool.get("type")), tool)


def write_chat_body(buffer: Buffer, model: str, max_tokens: int) -> dict[str, Any]:
    """Return a Chat Completions request body with the buffer, without Opaque parts that only other providers read."""
    messages: list[dict[str, Any]] = []
    if buffer.prompt.system:
        messages.append({"role": "system", "content": buffer.prompt.system})
    messages += [_write(message) for message in buffer.messages]
    body: dict[str, Any] = {
        "model": model,
        "max_completion_tokens": max_tokens,
        "messages": messages,
    }
    if tools := shaped_tools(buffer.prompt.tools or (), for_chat):
        body["tools"] = tools
    return body


def _write(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return _write_result(message)
    wire: dict[str, Any] = {"role": message.role, "content": _write_content(message.parts)}
    if thinking := "\n".join(
        part.text for part in message.parts if isinstance(part, Thinking) and part.text
    ):
        wire["reasoning_content"] = thinking
    if message.calls:
        wire["tool_calls"] = [_write_call(call) for call in message.calls]
    elif wire["content"] is None:
        wire["content"] = ""
    return wire


def _write_result(message: Message) -> dict[str, Any]:
    result = message.result
    content = [Text(result.content)] if result and result.content else []
    images = tuple(part for part in message.parts if isinstance(part, Image))
    call_id = result.call_id if result else ""
    return {
        "role": "tool",
        "tool_call_id": call_id,
        "content": _write_content((*content, *images)) or "",
    }


def _write_content(parts: Sequence[Part]) -> str | list[dict[str, Any]] | None:
    written: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Text):
            written.append({"type": "text", "text": part.text})
        elif isinstance(part, Image):
            url = f"data:{part.media_type};base64,{part.data}" if part.data else part.url
            written.append({"type": "image_url", "image_url": {"url": url}})
        elif isinstance(part, Opaque) and part.kind in _SENDABLE:
            value = part.value
            if isinstance(value, Mapping):
                written.append(dict(value))
    if not written:
        return None
    first = written[0]
    if len(written) == 1 and first["type"] == "text":
        return str(first["text"])
    return written


def _write_call(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments if isinstance(call.arguments, str) else dumps(call.arguments)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


class ChatAssembler(StreamAssembler):
    """Assembles the chunks of a stream into a completion."""

    def __init__(self) -> None:
        super().__init__()
        self._head: dict[str, Any] = {}
        self._finish: str | None = None
        self._usage: Any = None
        self._said: dict[str, list[str]] = {}
        self._calls: dict[int, dict[str, Any]] = {}

    def feed(self, event: Mapping[str, Any]) -> str:
        error = event.get("error")
        if isinstance(error, Mapping):
            self.failure = error
        self._head = self._head or {key: event[key] for key in ("id", "model") if event.get(key)}
        self._usage = event.get("usage") or self._usage
        choice = first_object(event.get("choices"))
        if choice.get("finish_reason"):
            self._finish = str(choice["finish_reason"])
            self.finished = True
        delta = object_of(choice, "delta")
        for field in ("content", "reasoning_content", "reasoning", "refusal"):
            text = text_of(delta.get(field))
            if text:
                self._said.setdefault(field, []).append(text)
        for place, piece in enumerate(list_of(delta.get("tool_calls"))):
            if isinstance(piece, Mapping):
                self._add_to_call(place, piece)
        return text_of(delta.get("content"))

    def _add_to_call(self, place: int, piece: Mapping[str, Any]) -> None:
        """Add a piece to its call. `place`: the position of the piece in its event, if it has no index."""
        index = piece.get("index")
        if not isinstance(index, int):
            index = place
        call = self._calls.setdefault(index, {"id": "", "name": "", "arguments": []})
        function = object_of(piece, "function")
        call["id"] = piece.get("id") or call["id"]
        call["name"] = function.get("name") or call["name"]
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call["arguments"].append(arguments)

    def body(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant"}
        message |= {field: "".join(pieces) for field, pieces in self._said.items()}
        if self._calls:
            message["tool_calls"] = [_whole(self._calls[n]) for n in sorted(self._calls)]
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        return {**self._head, "choices": [choice], "usage": self._usage}


def _whole(call: dict[str, Any]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": "".join(call["arguments"])}
    return {"id": call["id"], "type": "function", "function": function}


def _name_legacy_calls(units: Units) -> Units:
    """Give each legacy call an id, and give the same id to the function message that answers the call."""
    name = ""
    for n, unit in enumerate(units):
        if any(
            type(part) is ToolCall and not part.id for message in unit for part in message.parts
        ):
            name = f"function-call-{n}"
        yield [_named(message, name) for message in unit] if name else unit


def _named(message: Message, name: str) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        match part:
            case ToolCall(""):
                parts.append(replace(part, id=name))
            case ToolResult(""):
                parts.append(replace(part, call_id=name))
            case _:
                parts.append(part)
    return replace(message, parts=tuple(parts))


def _choice(response: Mapping[str, Any]) -> Mapping[str, Any]:
    return first_of(response.get("choices"))


def _answer(response: Mapping[str, Any]) -> Sequence[Any]:
    message = _choice(response).get("message")
    return (message,) if isinstance(message, Mapping) else ()


def _is_message(value: Any) -> bool:
    is_one = isinstance(value, Mapping) and isinstance(value.get("role"), str)
    return is_one and ("content" in value or "tool_calls" in value)


def _is_own_message(message: Mapping[str, Any]) -> bool:
    if text_of(message.get("role")) in ("tool", "function", "developer"):
        return True
    return "tool_calls" in message or "tool_call_id" in message


_SIGNS = PayloadSigns(
    keys=word_set(
        "max_completion_tokens response_format n stop frequency_penalty presence_penalty logprobs "
        "stream_options parallel_tool_calls functions reasoning_effort seed logit_bias"
    ),
    limit="max_completion_tokens",
    blocks=word_set("image_url input_audio file refusal"),
    is_own_message=_is_own_message,
    is_own_tool=lambda tool: (
        "input_schema" not in tool and isinstance(tool.get("function"), Mapping)
    ),
    is_own_model=lambda model: "gpt" in model,
)
CHAT = Dialect(
    name="openai-chat",
    title="OpenAI Chat Completions",
    provider="openai",
    host="https://api.openai.com",
    key="messages",
    read=read_chat_message,
    write=lambda messages, calls: [_write(message) for message in messages],
    head=lambda items: len(leading(items)),
    join=_name_legacy_calls,
    prompt=read_chat_prompt,
    write_body=write_chat_body,
    answer=_answer,
    usage=read_chat_usage,
    finish=lambda response: text_of(_choice(response).get("finish_reason")),
    is_response=lambda value: isinstance(value.get("choices"), list),
    is_message=_is_message,
    assembler=ChatAssembler,
    is_event=lambda event: event.get("object") == "chat.completion.chunk",
    signs=_SIGNS,
    error=write_error,
    paths={"/chat/completions": "call"},
    has_finish=lambda event: any(
        choice.get("finish_reason") for choice in objects_of(event.get("choices"))
    ),
    refuses=frozenset(
        {"result-without-call", "call-without-result", "duplicate-answer", "order", "empty-message"}
    ),
)
