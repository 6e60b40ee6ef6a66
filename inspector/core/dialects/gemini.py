"""Read and write the JSON of the Gemini API: messages, usage and prompt; assemble its streams.

One content may become several messages: each function response is a separate message, and the messages of one content
have the same `together`. A call without an id (most have none) gets an id made from its content, so that its answer can
refer to the call; `paired` does so for a whole list of contents.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects.anthropic import group_results, same_wire_message, wire_groups
from inspector.core.dialects.dialect import Dialect, PayloadSigns, Purpose, StreamAssembler
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
from inspector.core.untyped import count_of, first_object, first_of, object_of, objects_of, text_of
from inspector.core.usage import Usage, is_absurd

NAMED = "?"
"""Prefix of the id of a call or result without an id on the wire; the function's name follows."""


def read_gemini_content(
    content: Any,
    *,
    id: str,  # noqa: A002
    line: int = 0,
    time: str = "",
) -> tuple[Message, ...]:
    """Return the messages of one content, at least one. Never raises."""
    if isinstance(content, str):
        return (Message(id, "user", (Text(content),), line=line, time=time),)
    if not isinstance(content, Mapping):
        unknown = Opaque("", content, len(dumps(content)))
        return (Message(id, "user", (unknown,), line=line, time=time),)
    role: Role = "assistant" if content.get("role") == "model" else "user"
    parts = content.get("parts")
    parts_list = [parts] if isinstance(parts, str | Mapping) else _list(parts)
    groups = group_results(role, map(read_gemini_part, parts_list)) or [(role, ())]
    together = id if len(groups) > 1 else ""
    return tuple(
        Message(
            f"{id}.{number}" if number else id,
            role=group_role,
            parts=group,
            together=together,
            line=line,
            time=time,
        )
        for number, (group_role, group) in enumerate(groups)
    )


def read_gemini_part(part: Any) -> tuple[Part, ...]:
    """Return the parts of one wire part: a function response with its images, or a signature with the part it signs."""
    if isinstance(part, str):
        return (Text(part),)
    if not isinstance(part, Mapping):
        return (Opaque("", part, len(dumps(part))),)
    signature = text_of(_of(part, "thoughtSignature"))
    signed: tuple[Part, ...] = (Thinking("", signature),) if signature else ()
    text = part.get("text")
    call = _of(part, "functionCall")
    result = _of(part, "functionResponse")
    if isinstance(text, str):
        if part.get("thought") is True:
            return (Thinking(text, signature),)
        return (*signed, Text(text))
    if isinstance(call, Mapping):
        name = text_of(call.get("name"))
        call_id = text_of(call.get("id")) or NAMED + name
        arguments: Json = call.get("args")
        if arguments is None:
            arguments = {}
        return (*signed, ToolCall(call_id, name, arguments))
    if isinstance(result, Mapping):
        return _result(result)
    return (*signed, _data(part))


def _result(result: Mapping[str, Any]) -> tuple[Part, ...]:
    response = result.get("response")
    content = response
    is_failed = False
    # The model reads all of it if it has more keys.
    if isinstance(response, Mapping) and len(response) == 1:
        ((key, inside),) = response.items()
        is_failed = key == "error"
        content = inside if key in ("output", "result", "error") else response
    if content is None:
        content = ""
    text = content if isinstance(content, str) else dumps(content)
    inner = [part for item in _list(result.get("parts")) for part in read_gemini_part(item)]
    call_id = text_of(result.get("id")) or NAMED + text_of(result.get("name"))
    return (ToolResult(call_id, text, is_failed), *inner)


def _data(part: Mapping[str, Any]) -> Part:
    inline = _of(part, "inlineData")
    file = _of(part, "fileData")
    if isinstance(inline, Mapping):
        media_type = text_of(_of(inline, "mimeType"))
        data = inline.get("data")
        if media_type.startswith("image/") and isinstance(data, str):
            return Image(media_type, data)
    if isinstance(file, Mapping):
        media_type = text_of(_of(file, "mimeType"))
        if media_type.startswith("image/"):
            return Image(media_type, "", text_of(_of(file, "fileUri")))
    keys = [key for key in part if key not in ("thoughtSignature", "thought_signature")]
    kind = keys[0] if keys else ""
    return Opaque(kind, part, len(dumps(part).encode("utf-8", "replace")))


def paired(
    units: Iterable[Sequence[Message]], before: Iterable[Message] = ()
) -> Iterable[Sequence[Message]]:
    """Yield the messages with ids for the calls and results that have none on the wire.

    A result answers the oldest open call of its function. The id of a call is made from the call's content, so that
    every reading gives the same id; identical calls are numbered.

    Args:
        units: The messages, grouped by content.
        before: The messages before these.
    """
    ids: set[str] = set()
    waiting: dict[str, list[str]] = {}
    named = False
    for unit in units:
        if not any(_nameless(part) for message in unit for part in message.parts):
            yield unit
            continue
        if not named:
            named = True
            _open_calls(before, ids, waiting)
        yield [_named(message, ids, waiting) for message in unit]


def _nameless(part: Part) -> bool:
    match part:
        case ToolCall(id_) | ToolResult(id_):
            return id_.startswith(NAMED)
    return False


def _open_calls(before: Iterable[Message], ids: set[str], waiting: dict[str, list[str]]) -> None:
    """Add the ids of calls in the previous messages to `ids`, and the calls without an answer to `waiting`."""
    for message in before:
        for part in message.parts:
            match part:
                case ToolCall(id_, name):
                    ids.add(id_)
                    waiting.setdefault(name, []).append(id_)
                case ToolResult(id_):
                    for open_ in waiting.values():
                        if id_ in open_:
                            open_.remove(id_)


def _named(message: Message, ids: set[str], waiting: dict[str, list[str]]) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        match part:
            case ToolCall(id_, name, arguments) if id_.startswith(NAMED):
                encoded = dumps(arguments).encode("utf-8", "replace")
                base = f"{name}-{blake2b(encoded, digest_size=4).hexdigest()}"
                new_id = base
                number = 1
                while new_id in ids:
                    number += 1
                    new_id = f"{base}-{number}"
                ids.add(new_id)
                waiting.setdefault(name, []).append(new_id)
                parts.append(replace(part, id=new_id))
            case ToolResult(id_) if id_.startswith(NAMED):
                name = id_.removeprefix(NAMED)
                open_calls = waiting.get(name)
                call_id = open_calls.pop(0) if open_calls else name
                parts.append(replace(part, call_id=call_id))
            case _:
                parts.append(part)
    return replace(message, parts=tuple(parts))


def read_gemini_usage(usage: Any) -> Usage | None:
    """Read `usageMetadata`; None if there are no counts. The prompt includes cached tokens and tokens used by tools."""
    if not isinstance(usage, Mapping) or is_absurd(usage):
        return None
    if not any(type(_of(usage, key)) is int for key in _COUNTED):
        return None
    cached = _count(usage, "cachedContentTokenCount")
    thoughts = _count(usage, "thoughtsTokenCount")
    prompt = _count(usage, "promptTokenCount") + _count(usage, "toolUsePromptTokenCount")
    return Usage(
        max(0, prompt - cached),
        cache_read=cached,
        output=_count(usage, "candidatesTokenCount") + thoughts,
        reasoning=thoughts,
    )


_COUNTED = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")


def _count(usage: Mapping[str, Any], key: str) -> int:
    return count_of(_of(usage, key))


def read_gemini_prompt(body: Mapping[str, Any]) -> Prompt:
    """Return the system instruction and the tools of a request body. A field that the body lacks is empty."""
    system = read_gemini_content(_of(body, "systemInstruction") or "", id="")
    texts = [part.text for message in system for part in message.parts if isinstance(part, Text)]
    tools: list[Tool] = []
    for tool_list in _list(body.get("tools")):
        functions = (
            _of(tool_list, "functionDeclarations") if isinstance(tool_list, Mapping) else None
        )
        if isinstance(functions, list):
            tools += [
                Tool(text_of(tool.get("name")), tool)
                for tool in functions
                if isinstance(tool, Mapping)
            ]
        elif isinstance(tool_list, Mapping):  # a tool of the provider: a search, a code runner
            tools.append(Tool(next(iter(tool_list), ""), tool_list))
    return Prompt("\n\n".join(text for text in texts if text), tuple(tools))


def _of(value: Mapping[str, Any], key: str) -> Any:
    """Return a field by its JSON name (camelCase) or its Python name (snake_case); None if absent."""
    if key in value:
        return value[key]
    return value.get("".join(f"_{char.lower()}" if char.isupper() else char for char in key))


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def write_gemini_body(buffer: Buffer, max_tokens: int) -> dict[str, Any]:
    """Write a `generateContent` body; the path names the model."""
    body: dict[str, Any] = {"contents": write_contents(buffer.messages)}
    if buffer.prompt.system:
        body["systemInstruction"] = {"role": "user", "parts": [{"text": buffer.prompt.system}]}
    if buffer.prompt.tools:
        body["tools"] = _tools(buffer.prompt.tools)
    return body | {"generationConfig": {"maxOutputTokens": max_tokens}}


def write_contents(
    messages: Sequence[Message], calls: Mapping[str, ToolCall] = MappingProxyType({})
) -> list[Any]:
    """Return the contents of messages. Messages with the same `together`, and neighbouring results, are joined.

    A result names the function of its call, which is looked up in the messages and in `calls`.
    """
    names = {name: call.name for name, call in calls.items()}
    names |= {call.id: call.name for message in messages for call in message.calls}
    contents: list[Any] = []
    for group in wire_groups(messages):
        role = "model" if group[0].role == "assistant" else "user"
        contents.append(
            {"role": role, "parts": [part for message in group for part in _parts(message, names)]}
        )
    return contents


def _parts(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    signature = ""
    for part in message.parts:
        if isinstance(part, Thinking) and not part.text:  # written with the next part
            signature = part.signature
            continue
        if isinstance(part, Image) and parts and "functionResponse" in parts[-1]:
            parts[-1]["functionResponse"].setdefault("parts", []).append(_part(part, names))
            continue
        written = _part(part, names)
        parts.append(written | {"thoughtSignature": signature} if signature else written)
        signature = ""
    return parts


def _part(part: Part, names: Mapping[str, str]) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"text": text}
        case Thinking(text, signature):
            return {"text": text, "thought": True} | (
                {"thoughtSignature": signature} if signature else {}
            )
        case ToolCall(id_, name, arguments):
            args = arguments if isinstance(arguments, Mapping) else {"input": arguments}
            return {"functionCall": {"id": id_, "name": name, "args": args}}
        case ToolResult(call_id, content, is_error):
            response = {"error": content} if is_error else {"output": content}
            return {
                "functionResponse": {
                    "id": call_id,
                    "name": names.get(call_id, call_id),
                    "response": response,
                }
            }
        case Image(media_type, data, url):
            if data:
                return {"inlineData": {"mimeType": media_type, "data": data}}
            return {"fileData": {"mimeType": media_type, "fileUri": url}}
        case Opaque(_, value):
            return dict(value) if isinstance(value, Mapping) else {"text": dumps(value)}


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    declared: list[Any] = []
    own: list[dict[str, Any]] = []
    for tool in tools:
        wire = tool.definition
        if isinstance(wire, Mapping) and not {"name", "function"} & wire.keys():
            own.append(dict(wire))
        else:
            declared.append(_declared(tool))
    return ([{"functionDeclarations": declared}] if declared else []) + own


def _declared(tool: Tool) -> Any:
    """Return a tool's declaration for Gemini: unchanged if it has Gemini's shape, else converted to it."""
    wire = tool.definition
    inner = wire.get("function") if isinstance(wire, Mapping) else None
    definition = inner if isinstance(inner, Mapping) else wire
    if not isinstance(definition, Mapping):
        return {"name": tool.name}
    if not {"input_schema", "function", "type"} & (
        definition.keys() | (wire.keys() if isinstance(wire, Mapping) else set())
    ):
        return definition
    schema = definition.get("input_schema") or definition.get("parameters")
    shaped = {"name": tool.name, "description": definition.get("description") or ""}
    return shaped | ({"parametersJsonSchema": schema} if schema else {})


class GeminiAssembler(StreamAssembler):
    """Assembles the chunks of a stream into a response. Pieces of one text are joined; other parts are unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self._fields: dict[str, Any] = {}
        self._candidate: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []
        self._pieces: list[str] = []

    def feed(self, event: Mapping[str, Any]) -> str:
        """Add a chunk, and return the visible text in it, without thoughts."""
        inner = event.get("response")  # Code Assist wraps the API's chunks
        chunk = inner if isinstance(inner, Mapping) and "candidates" not in event else event
        error = chunk.get("error")
        if isinstance(error, Mapping):
            self.failure = error
        self._fields |= {key: value for key, value in chunk.items() if key != "candidates"}
        candidate = first_object(chunk.get("candidates"))
        self._candidate |= {key: value for key, value in candidate.items() if key != "content"}
        self.finished = self.finished or bool(candidate.get("finishReason"))
        parts = _list(object_of(candidate, "content").get("parts"))
        return "".join(self._add(part) for part in parts if isinstance(part, Mapping))

    def _add(self, part: Mapping[str, Any]) -> str:
        text = part.get("text")
        if not isinstance(text, str):
            self._close()
            self._parts.append(dict(part))
            return ""
        more = {key: value for key, value in part.items() if key != "text"}
        thought = bool(part.get("thought"))
        last = self._parts[-1] if self._pieces else None
        if last is None or bool(last.get("thought")) != thought:
            self._close()
            self._parts.append(more)
        else:
            last |= more
        self._pieces.append(text)
        return "" if thought else text

    def _close(self) -> None:
        """Join the pieces of the current text into its part."""
        if self._pieces:
            self._parts[-1]["text"] = "".join(self._pieces)
            self._pieces.clear()

    def body(self) -> dict[str, Any]:
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces = [text]  # further chunks may continue the text
            self._parts[-1]["text"] = text
        parts = [part for part in self._parts if part != {"text": ""}]
        candidate = {**self._candidate, "content": {"role": "model", "parts": parts}}
        return {**self._fields, "candidates": [candidate]}


def _candidate(response: Mapping[str, Any]) -> Mapping[str, Any]:
    return first_of(response.get("candidates"))


def _answer(response: Mapping[str, Any]) -> Sequence[Any]:
    content = _candidate(response).get("content")
    return (content,) if isinstance(content, Mapping) and content.get("parts") else ()


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("parts"), list)
        and value.get("role") in (*_ROLES, None)
    )


_ROLES = ("user", "model", "function")


def _write_items(messages: Sequence[Message], calls: Mapping[str, ToolCall]) -> Sequence[Any]:
    """Write messages as contents, without the ids that were generated for calls without an id on the wire."""
    written = write_contents(messages, calls)
    for part in (part for written_item in written for part in written_item["parts"]):
        for kind in ("functionCall", "functionResponse"):
            inner = part.get(kind, {})
            if (call := calls.get(inner.get("id"))) is not None and not call.id:
                part[kind] = {name: value for name, value in inner.items() if name != "id"}
    return written


_PATH = re.compile(r"(?:.*/)?([^/]*):(generateContent|streamGenerateContent|countTokens)")


def _read_path(path: str) -> tuple[Purpose, str] | None:
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    # Code Assist: `/v1internal:generateContent`.
    name, method = match[1], match[2]
    model = "" if name.startswith("v1") else name
    purpose: Purpose = "count" if method == "countTokens" else "call"
    return purpose, model


def _write_error(status: int, sentence: str) -> dict[str, Any]:
    kind = "UNAVAILABLE" if status >= 500 else "FAILED_PRECONDITION"
    return {"error": {"code": status, "message": sentence, "status": kind}}


GEMINI = Dialect(
    name="gemini",
    title="Gemini API",
    provider="gemini",
    host="https://generativelanguage.googleapis.com",
    key="contents",
    content="parts",
    counts="usageMetadata",
    wrapper="request",
    read=lambda content, name, line, time: read_gemini_content(
        content, id=name, line=line, time=time
    ),
    write=_write_items,
    bare=lambda content: content,
    shares=same_wire_message,
    pair=paired,
    prompt=read_gemini_prompt,
    write_body=lambda buffer, model, max_tokens: write_gemini_body(buffer, max_tokens),
    answer=_answer,
    usage=read_gemini_usage,
    finish=lambda response: text_of(_candidate(response).get("finishReason")),
    is_response=lambda value: isinstance(value.get("candidates"), list),
    is_message=_is_message,
    assembler=GeminiAssembler,
    is_event=lambda event: isinstance(event.get("candidates"), list),
    has_whole_events=True,
    signs=PayloadSigns(is_unmistakable=True),
    error=_write_error,
    read_path=_read_path,
    path_marks=(":generateContent", ":streamGenerateContent", "/v1beta"),
    has_finish=lambda event: any(
        choice.get("finishReason") for choice in objects_of(event.get("candidates"))
    ),
)
