"""Read and write the JSON of OpenAI's Responses API: messages, usage and prompt; assemble its streams.

Each item is one message, but consecutive assistant items (reasoning, message, calls) belong to one response, so
`read_items` joins them into one message. An unknown item is kept unchanged as Opaque. Writing gives the same items,
except for ids and for reasoning without encrypted content, which the API would refuse.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from inspector.core.buffer import Prompt, Tool
from inspector.core.dialects.dialect import Dialect, PayloadSigns, StreamAssembler, word_set
from inspector.core.dialects.openai_responses_body import write_items, write_responses_body
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
    Json,
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
    list_of,
    object_of,
    objects_of,
    text_at,
    text_of,
    value_in,
)
from inspector.core.usage import Usage, is_absurd

_ROLES: Mapping[str, Role] = {"assistant": "assistant", "developer": "system", "system": "system"}
_BY_CLIENT = (
    "compaction_trigger",
    "mcp_approval_response",
    "computer_call_output",
    "program_output",
)


def read_items(items: Any, *, prefix: str, line: int = 0, time: str = "") -> tuple[Message, ...]:
    """Return the messages of an `input` or `output` list, in order. A string is one user message.

    The id of a message is `prefix` + the index of its first item, so that a longer list with the same beginning gets
    the same ids.
    """
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    if isinstance(items, dict):
        items = [items]
    if not isinstance(items, list | tuple):
        return ()
    read = (
        read_item(item, id=f"{prefix}{n}", line=line, time=time) for n, item in enumerate(items)
    )
    return tuple(map(join, responses(read)))


def responses(messages: Iterable[Message]) -> Iterator[Sequence[Message]]:
    """Yield messages in order: those of one response of the model as a group, any other message alone."""
    for is_response, run in groupby(
        messages, lambda message: message.role == "assistant" and not message.summary
    ):
        if is_response:
            yield list(run)
        else:
            yield from ((message,) for message in run)


def join(messages: Sequence[Message]) -> Message:
    """Return the first message with the parts of all messages. Needs at least one message."""
    if len(messages) == 1:
        return messages[0]
    return replace(messages[0], parts=tuple(part for message in messages for part in message.parts))


def read_item(item: Any, *, id: str, line: int = 0, time: str = "") -> Message:  # noqa: A002
    """Return the message of one item. A compaction item becomes a separate message with `summary` set."""
    role, parts = read_item_parts(item)
    return Message(id, role, parts, summary=is_compaction(parts), line=line, time=time)


def is_compaction(parts: Sequence[Part]) -> bool:
    """Are these the parts of a compaction item, which only the provider can read?"""
    first = parts[0] if parts else None
    return type(first) is Opaque and first.kind in _COMPACTIONS


_COMPACTIONS = ("compaction", "compaction_summary", "context_compaction")


def read_item_parts(item: Any) -> tuple[Role, tuple[Part, ...]]:
    """Return (role, parts) of an item. Never raises."""
    if not isinstance(item, dict):
        return "user", (Opaque("", item, _size(item)),)
    kind = item.get("type", "message" if "role" in item else "")
    read = _KINDS.get(kind) if isinstance(kind, str) else None
    if read is not None:
        return read(item)
    if kind == "agent_message":  # a message of another agent of the same session
        return "user", _content(item.get("content"))
    role: Role = "assistant"
    if "role" in item or kind in _BY_CLIENT:
        role = _ROLES.get(text_of(item.get("role")), "user")
    return role, (_opaque(text_of(kind), item),)


def _message(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    return _ROLES.get(text_of(item.get("role")), "user"), _content(item.get("content"))


def _reasoning(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    """Read a reasoning item. Its summary and content are the text; its encrypted content is kept as the signature."""
    parts = (*_content(item.get("summary")), *_content(item.get("content")))
    text = "\n\n".join([part.text for part in parts if isinstance(part, Text)]) if parts else ""
    return "assistant", (Thinking(text, text_of(item.get("encrypted_content"))),)


def _call(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    """Read a call. A tool search that the provider ran itself is Opaque, because no result follows it."""
    name = text_of(item.get("name"))
    arguments = item.get("arguments")
    match item.get("type"):
        case "custom_tool_call":
            return "assistant", (ToolCall(_call_id(item), name, text_of(item.get("input"))),)
        case "local_shell_call":
            return "assistant", (ToolCall(_call_id(item), "local_shell", item.get("action")),)
        case "tool_search_call":
            if item.get("execution") == "server" or not text_of(item.get("call_id")):
                return "assistant", (_opaque("tool_search_call", item),)
            name = "tool_search"
    return "assistant", (ToolCall(_call_id(item), name, read_arguments(arguments)),)


def _call_id(item: Mapping[str, Any]) -> str:
    return text_of(item.get("call_id")) or text_of(item.get("id"))


def in_namespace(definition: Any) -> list[Mapping[str, Any]]:
    """Return the tools of a namespace definition; an empty list for any other definition."""
    is_one = isinstance(definition, Mapping) and definition.get("type") == "namespace"
    return objects_of(definition.get("tools")) if is_one else []


def read_arguments(arguments: Any) -> Json:
    """Parse a JSON object or list; return any other string unchanged."""
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    if not arguments.lstrip().startswith(("{", "[")):
        return arguments
    value: Json = value_in(arguments, arguments)
    return value


def _result(item: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    if item.get("type") == "tool_search_output":
        return "tool", (ToolResult(_call_id(item), dumps(item.get("tools", []))),)
    call_id = _call_id(item)
    output = item.get("output")
    failed = False
    if isinstance(output, dict):  # early Codex: {content, success}
        failed = output.get("success") is False
        output = (
            output["content"] if isinstance(output.get("content"), str | list) else dumps(output)
        )
    if isinstance(output, str):
        return "tool", (ToolResult(call_id, output, failed),)
    parts = _content(output)
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    return "tool", (
        ToolResult(call_id, text, failed),
        *(part for part in parts if not isinstance(part, Text)),
    )


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], tuple[Role, tuple[Part, ...]]]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _call,
    "custom_tool_call": _call,
    "local_shell_call": _call,
    "tool_search_call": _call,
    "function_call_output": _result,
    "custom_tool_call_output": _result,
    "local_shell_call_output": _result,
    "tool_search_output": _result,
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
    text = part.get("refusal" if kind == "refusal" else "text")
    if (kind in _TEXTS or kind == "refusal") and isinstance(text, str):
        return Text(text)
    url = part.get("image_url")
    if kind == "input_image" and isinstance(url, str):
        return read_image(url)
    return _opaque(text_of(kind), part)


_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")


def read_image(url: str) -> Image:
    """Read an image from its URL. A `data:` URL is decoded into media type and data; any other is kept."""
    if url.startswith("data:"):
        head, comma, data = url[5:].partition(",")
        if comma and head.endswith(";base64"):
            return Image(head[: -len(";base64")], data)
    return Image("", "", url)


def _opaque(kind: str, item: Mapping[str, Any]) -> Opaque:
    """Return an item as Opaque. Its size is that of the encrypted content or, without any, of its other content."""
    sealed = item.get("encrypted_content")
    if isinstance(sealed, str):
        return Opaque(kind, item, len(sealed.encode("utf-8", errors="replace")))
    return Opaque(
        kind, item, _size({key: value for key, value in item.items() if key not in _NAMING})
    )


_NAMING = ("type", "id", "status", "metadata", "internal_chat_message_metadata_passthrough")


def _size(value: Any) -> int:
    return len(dumps(value).encode("utf-8", errors="replace"))


def read_responses_usage(usage: Any) -> Usage | None:
    """Read the usage of one request, in the API's or Codex's spelling; None if there are no counts.

    `input_tokens` includes cached tokens, `output_tokens` includes reasoning tokens.
    """
    if not isinstance(usage, dict) or is_absurd(usage):
        return None
    total = usage.get("input_tokens")
    output = usage.get("output_tokens")
    if type(total) is not int and type(output) is not int:
        return None
    inside = object_of(usage, "input_tokens_details")
    outside = object_of(usage, "output_tokens_details")
    total = count_of(total)
    read = count_of(usage.get("cached_input_tokens")) or count_of(inside.get("cached_tokens"))
    write = count_of(usage.get("cache_write_input_tokens")) or count_of(
        inside.get("cache_write_tokens")
    )
    reasoning = count_of(usage.get("reasoning_output_tokens")) or count_of(
        outside.get("reasoning_tokens")
    )
    if read + write > total:
        return Usage(
            input=0,
            cache_read=read,
            cache_write=write,
            output=count_of(output),
            reasoning=reasoning,
            context=total,
        )
    return Usage(total - read - write, read, write, output=count_of(output), reasoning=reasoning)


def read_responses_prompt(body: Mapping[str, Any]) -> Prompt:
    """Return the instructions and tools of a request body. A field that the body lacks is empty."""
    instructions = body.get("instructions")
    tools = body.get("tools")
    offered = tools if isinstance(tools, Sequence) and not isinstance(tools, str) else ()
    # The provider's own tools have no name.
    named = (text_at(tool, "name") or text_at(tool, "type") for tool in offered)
    return Prompt(text_of(instructions), tuple(map(Tool, named, offered)))


class ResponsesAssembler(StreamAssembler):
    """Assembles the events of a stream into a response, which may be incomplete."""

    def __init__(self) -> None:
        super().__init__()
        self._response: Mapping[str, Any] = {}
        self._items: dict[int, Mapping[str, Any]] = {}
        self._begun: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}

    def feed(self, event: Mapping[str, Any]) -> str:
        kind = event.get("type")
        index = event.get("output_index")
        place = index if isinstance(index, int) else len(self._items)
        match kind:
            case "response.created" | "response.in_progress":
                self._response = object_of(event, "response")
            case "response.output_item.added":
                self._begun[place] = dict(object_of(event, "item"))
            case "response.output_item.done":
                self._items[place] = object_of(event, "item")
            case "response.completed" | "response.incomplete" | "response.done":
                self._response = object_of(event, "response")
                self.finished = True
            case "response.failed":
                self._response = object_of(event, "response")
                self.failure = object_of(self._response, "error")
            case "error":
                self.failure = object_of(event, "error") or event
            case str() if kind in _DELTAS and isinstance(delta := event.get("delta"), str):
                self._pieces.setdefault((place, _DELTAS[kind]), []).append(delta)
                return delta if kind == "response.output_text.delta" else ""
        return ""

    def body(self) -> dict[str, Any]:
        """Return the response so far. Some servers leave its output empty and send the items only in single events."""
        output = self._response.get("output")
        return {
            **self._response,
            "output": output if isinstance(output, list) and output else self._said(),
        }

    def _said(self) -> list[Mapping[str, Any]]:
        """Return the finished items and, if the stream has not finished, the received pieces of the other items."""
        pieces = {place for place, _ in self._pieces}
        places = sorted(self._items.keys() | (pieces if not self.finished else set()))
        return [self._items.get(place) or self._part(place) for place in places]

    def _part(self, place: int) -> Mapping[str, Any]:
        item = self._begun.get(place, {"type": "message", "role": "assistant"})
        texts = {field: "".join(bits) for (at, field), bits in self._pieces.items() if at == place}
        if "text" in texts:
            return item | {"content": [{"type": "output_text", "text": texts["text"]}]}
        if "summary" in texts:
            return item | {"summary": [{"type": "summary_text", "text": texts["summary"]}]}
        return item | texts


_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "summary",
    "response.reasoning_text.delta": "summary",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}
"""Field of an item to which a delta event adds text, by type of the event."""


def _is_response(value: Mapping[str, Any]) -> bool:
    if not isinstance(value.get("output"), list):
        return False
    return "usage" in value or str(value.get("object", "")).startswith("response")


_ITEMS = (
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
)


def _is_message(value: Any) -> bool:
    if not isinstance(value, Mapping) or value.get("type") not in _ITEMS:
        return False
    return value["type"] != "message" or "role" in value


def write_error(status: int, sentence: str) -> dict[str, Any]:
    """Return the body of an error of the proxy, in the form that OpenAI's clients expect."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": sentence, "type": kind, "param": None, "code": "proxy_error"}}


def _write_error_event(error: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    response = {"object": "response", "status": "failed", "error": error.get("error")}
    return "response.failed", {"type": "response.failed", "response": response}


def _is_event(event: Mapping[str, Any]) -> bool:
    kind = text_of(event.get("type"))
    # Clients send these.
    return kind.startswith("response.") and kind not in ("response.create", "response.cancel")


def _is_own_tool(tool: Mapping[str, Any]) -> bool:
    return (
        "parameters" in tool
        and "input_schema" not in tool
        and not isinstance(tool.get("function"), Mapping)
    )


_SIGNS = PayloadSigns(
    keys=word_set("instructions previous_response_id store include max_output_tokens"),
    limit="max_output_tokens",
    blocks=word_set(
        "input_text output_text input_image function_call function_call_output reasoning compaction "
        "custom_tool_call custom_tool_call_output local_shell_call item_reference web_search_call"
    ),
    is_own_tool=_is_own_tool,
)


def _join_units(units: Iterable[Sequence[Message]]) -> Iterator[tuple[Message, ...]]:
    messages = (message for unit in units for message in unit)
    return ((join(response),) for response in responses(messages))


RESPONSES = Dialect(
    name="openai-responses",
    title="OpenAI Responses",
    provider="openai",
    host="https://api.openai.com",
    key="input",
    read=lambda item, name, line, time: (read_item(item, id=name, line=line, time=time),),
    write=write_items,
    bare=lambda text: {"type": "message", "role": "user", "content": text},
    join=_join_units,
    prompt=read_responses_prompt,
    write_body=write_responses_body,
    answer=lambda response: list_of(response.get("output")),
    usage=read_responses_usage,
    finish=lambda response: text_of(response.get("status")),
    is_response=_is_response,
    is_message=_is_message,
    assembler=ResponsesAssembler,
    is_event=_is_event,
    signs=_SIGNS,
    error=write_error,
    error_event=_write_error_event,
    paths={
        "/responses": "call",
        "/responses/compact": "compact",
        "/responses/input_tokens": "count",
    },
    path_marks=("/responses",),
    final_events=frozenset(
        {"response.completed", "response.failed", "response.incomplete", "response.done"}
    ),
    refuses=frozenset({"result-without-call", "call-without-result"}),
)
