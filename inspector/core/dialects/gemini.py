"""Gemini JSON to messages, usage and prompt, and back.

One content may become several messages: a function response is a message of its own, those that travelled together
share `together`. Calls without an id (most have none) get one made of what they say, so that the answer behind them
finds them; `paired` does that for a whole list of contents.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from inspector.core.buffer import Prompt, Tool
from inspector.core.dialects.gemini_write import write_body, write_contents
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Json, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.usage import Usage, is_absurd

__all__ = ["paired", "read_content", "read_contents", "read_prompt", "read_usage", "write_body", "write_contents"]

NAMED = "?"
"""Begins the id of a call or result that has none on the wire: the function's name follows."""


def read_contents(contents: Any, *, prefix: str = "", line: int = 0, time: str = "") -> tuple[Message, ...]:
    """The messages of a `contents` list (or of one content, or a string), in order, calls and results paired."""
    if isinstance(contents, str | Mapping):
        contents = [contents]
    units = [read_content(one, id=f"{prefix}{n}", line=line, time=time) for n, one in enumerate(_list(contents))]
    return tuple(message for unit in paired(units) for message in unit)


def read_content(content: Any, *, id: str, line: int = 0, time: str = "") -> tuple[Message, ...]:  # noqa: A002
    """The messages of one content, at least one. Never raises."""
    if not isinstance(content, Mapping):
        part: Part = Text(content) if isinstance(content, str) else Opaque("", content, len(dumps(content)))
        return (Message(id, "user", (part,), line=line, time=time),)
    role: Role = "assistant" if content.get("role") == "model" else "user"
    parts = content.get("parts")
    told = [parts] if isinstance(parts, str | Mapping) else _list(parts)
    groups: list[tuple[Role, list[Part]]] = []
    for one in told:
        read = read_part(one)
        if isinstance(read[0], ToolResult):
            groups.append(("tool", list(read)))
        elif groups and groups[-1][0] == role:
            groups[-1][1].extend(read)
        else:
            groups.append((role, list(read)))
    if len(groups) < 2:
        kind, found = groups[0] if groups else (role, [])
        return (Message(id, kind, tuple(found), line=line, time=time),)
    return tuple(
        Message(f"{id}.{n}" if n else id, kind, tuple(found), id, line=line, time=time)
        for n, (kind, found) in enumerate(groups)
    )


def read_part(part: Any) -> tuple[Part, ...]:
    """One part; a function response brings its images along."""
    if isinstance(part, str):
        return (Text(part),)
    if not isinstance(part, Mapping):
        return (Opaque("", part, len(dumps(part))),)
    signature = _str(_of(part, "thoughtSignature"))
    signed: tuple[Part, ...] = (Thinking("", signature),) if signature else ()
    text, call, result = part.get("text"), _of(part, "functionCall"), _of(part, "functionResponse")
    if isinstance(text, str):
        return (Thinking(text, signature),) if part.get("thought") is True else (*signed, Text(text))
    if isinstance(call, Mapping):
        name = _str(call.get("name"))
        arguments: Json = call.get("args")
        return (*signed, ToolCall(_str(call.get("id")) or NAMED + name, name, {} if arguments is None else arguments))
    if isinstance(result, Mapping):
        return _result(result)
    return (*signed, _data(part))


def _result(result: Mapping[str, Any]) -> tuple[Part, ...]:
    told = result.get("response")
    failed, said = False, told
    if isinstance(told, Mapping) and len(told) == 1:  # else the model reads all of it
        ((key, inside),) = told.items()
        failed = key == "error"
        said = inside if key in ("output", "result", "error") else told
    text = said if isinstance(said, str) else "" if said is None else dumps(said)
    inner = [part for one in _list(result.get("parts")) for part in read_part(one)]
    return (ToolResult(_str(result.get("id")) or NAMED + _str(result.get("name")), text, failed), *inner)


def _data(part: Mapping[str, Any]) -> Part:
    inline, file = _of(part, "inlineData"), _of(part, "fileData")
    if isinstance(inline, Mapping) and isinstance(data := inline.get("data"), str):
        kind = _str(_of(inline, "mimeType"))
        if kind.startswith("image/"):
            return Image(kind, data)
    if isinstance(file, Mapping) and _str(_of(file, "mimeType")).startswith("image/"):
        return Image(_str(_of(file, "mimeType")), "", _str(_of(file, "fileUri")))
    kind = next((key for key in part if key not in ("thoughtSignature", "thought_signature")), "")
    return Opaque(kind, part, len(dumps(part).encode("utf-8", "replace")))


def paired(units: Iterable[Sequence[Message]], before: Iterable[Message] = ()) -> Iterable[Sequence[Message]]:
    """The same messages, calls and results without an id named: a result answers the oldest open call of its function.

    `before`: the messages that stand in front. A call is named after what it says, so that it is called the same
    wherever it is read; one that is made again word for word is counted.
    """
    taken: set[str] = set()
    waiting: dict[str, list[str]] = {}
    named = False
    for unit in units:
        if not any(_nameless(part) for message in unit for part in message.parts):
            yield unit
            continue
        if not named:
            named = True
            _open_calls(before, taken, waiting)
        yield [_named(message, taken, waiting) for message in unit]


def _nameless(part: Part) -> bool:
    match part:
        case ToolCall(id_) | ToolResult(id_):
            return id_.startswith(NAMED)
    return False


def _open_calls(before: Iterable[Message], taken: set[str], waiting: dict[str, list[str]]) -> None:
    """What stands in front: the ids that are given, and the calls that nobody has answered."""
    for message in before:
        for part in message.parts:
            match part:
                case ToolCall(id_, name):
                    taken.add(id_)
                    waiting.setdefault(name, []).append(id_)
                case ToolResult(id_):
                    for open_ in waiting.values():
                        if id_ in open_:
                            open_.remove(id_)


def _named(message: Message, taken: set[str], waiting: dict[str, list[str]]) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        match part:
            case ToolCall(id_, name, arguments) if id_.startswith(NAMED):
                base = f"{name}-{blake2b(dumps(arguments).encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
                made, n = base, 1
                while made in taken:
                    n += 1
                    made = f"{base}-{n}"
                taken.add(made)
                waiting.setdefault(name, []).append(made)
                parts.append(replace(part, id=made))
            case ToolResult(id_) if id_.startswith(NAMED):
                open_ = waiting.get(id_[len(NAMED) :])
                parts.append(replace(part, call_id=open_.pop(0) if open_ else id_[len(NAMED) :]))
            case _:
                parts.append(part)
    return replace(message, parts=tuple(parts))


def read_usage(usage: Any) -> Usage | None:
    """`usageMetadata`; None where there is none. The prompt includes what was cached and what tools used."""
    if not isinstance(usage, Mapping) or not any(type(_of(usage, key)) is int for key in _COUNTED) or is_absurd(usage):
        return None
    cached, thoughts = _count(usage, "cachedContentTokenCount"), _count(usage, "thoughtsTokenCount")
    prompt = _count(usage, "promptTokenCount") + _count(usage, "toolUsePromptTokenCount")
    return Usage(max(0, prompt - cached), cached, 0, _count(usage, "candidatesTokenCount") + thoughts, thoughts)


_COUNTED = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")


def _count(usage: Mapping[str, Any], key: str) -> int:
    value = _of(usage, key)
    return value if type(value) is int and value > 0 else 0


def read_prompt(body: Mapping[str, Any]) -> Prompt:
    """System instruction and function declarations of a request body: absent there means none."""
    system = read_content(_of(body, "systemInstruction") or "", id="")
    texts = [part.text for message in system for part in message.parts if isinstance(part, Text)]
    tools: list[Tool] = []
    for one in _list(body.get("tools")):
        told = _of(one, "functionDeclarations") if isinstance(one, Mapping) else None
        if isinstance(told, list):
            tools += [Tool(_str(tool.get("name")), tool) for tool in told if isinstance(tool, Mapping)]
        elif isinstance(one, Mapping):  # the provider's own: a search, a code runner
            tools.append(Tool(next(iter(one), ""), one))
    return Prompt("\n\n".join(text for text in texts if text), tuple(tools))


def _of(value: Mapping[str, Any], key: str) -> Any:
    """A field by its name in JSON, or as Python writes it."""
    if key in value:
        return value[key]
    return value.get("".join(f"_{char.lower()}" if char.isupper() else char for char in key))


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""
