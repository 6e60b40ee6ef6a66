"""Changes by hand: a part's text rewritten, messages dropped, a user message added. Values in, an outcome out.

An edit is small and names messages by their ids, so it is saved, replayed and exported like a tier's settings. It asks
nobody. What a provider cannot take afterwards is for the validity panel to tell, not for the edit to refuse.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps, loads, without_surrogates
from inspector.core.message import Json, Message, Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.recording import from_json, to_json

EDIT = "edit"
"""Name of the step, as a tier has one."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Another text for one part of a message; for a call the arguments, as JSON where they were JSON."""

    message: str
    part: int
    """Index of the part."""
    text: str


@dataclass(frozen=True, slots=True)
class Removal:
    """Messages taken out. `partners`: what pairs with them goes along, so that no call is left without its result."""

    messages: tuple[str, ...]
    partners: bool = True


@dataclass(frozen=True, slots=True)
class Insertion:
    """A user message at the end."""

    message: str
    """The id it gets."""
    text: str


Edit: TypeAlias = Rewrite | Removal | Insertion


@dataclass(frozen=True, slots=True)
class Partners:
    """What a drop takes along: whole messages, and single calls out of messages that stay."""

    messages: tuple[str, ...] = ()
    calls: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """By message id: the indices of the parts that go."""


def editable(part: Part) -> str | None:
    """The text of a part as it is offered for editing; None for what bears none."""
    match part:
        case Text(text) | Thinking(text):
            return text
        case ToolCall(arguments=str() as free):
            return free
        case ToolCall(arguments=arguments):
            return _laid_out(arguments)
        case ToolResult(content=content):
            return content
        case _:
            return None


def _laid_out(arguments: Json) -> str:
    """JSON over several lines, for people; what nests too deeply stays on one."""
    try:
        return without_surrogates(json.dumps(arguments, indent=2, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return dumps(arguments)


def rewritten(part: Part, text: str) -> Part:
    """The part with another text. Raises InspectorError where the text cannot be that."""
    match part:
        case Text():
            return replace(part, text=text)
        case Thinking():
            return Thinking(text)  # a signature vouches for the text that was there
        case ToolCall(arguments=str()):
            return replace(part, arguments=text)
        case ToolCall():
            return replace(part, arguments=_arguments(text))
        case ToolResult():
            return replace(part, content=text)
        case _:
            raise InspectorError("That part holds no text that could be edited.")


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        value = loads(text.encode("utf-8", "replace"))
    except ValueError as error:
        raise InspectorError(f"These arguments are not JSON: {error}.") from None
    if not isinstance(value, Mapping):
        raise InspectorError("The arguments of a call must be a JSON object: {…}.")
    return value


def partners(buffer: Buffer, gone: Collection[str]) -> Partners:
    """What pairs with the messages `gone`: results of their calls, calls of their results. O(messages)."""
    called = {call.id for message in buffer.messages if message.id in gone for call in message.calls}
    answered = {
        part.call_id
        for message in buffer.messages
        if message.id in gone
        for part in message.parts
        if isinstance(part, ToolResult)
    }
    whole: list[str] = []
    single: dict[str, frozenset[int]] = {}
    for message in buffer.messages:
        if message.id in gone:
            continue
        parts = frozenset(n for n, part in enumerate(message.parts) if _pairs(part, called, answered))
        if not parts:
            continue
        left = [part for n, part in enumerate(message.parts) if n not in parts]
        if all(isinstance(part, Thinking) or not _says(part) for part in left) or message.role == "tool":
            whole.append(message.id)
        else:
            single[message.id] = parts
    return Partners(tuple(whole), single)


def _pairs(part: Part, called: Collection[str], answered: Collection[str]) -> bool:
    match part:
        case ToolCall(id=call_id):
            return call_id in answered
        case ToolResult(call_id=call_id):
            return call_id in called
        case _:
            return False


def _says(part: Part) -> bool:
    return bool(part.text.strip()) if isinstance(part, Text) else True


def apply(edit: Edit, buffer: Buffer, running: Any) -> Outcome[Any]:
    """The edit as an outcome. Raises InspectorError for a message that is not there, and for arguments not JSON."""
    match edit:
        case Rewrite():
            return _rewrite(edit, buffer, running)
        case Removal():
            return _drop(edit, buffer, running)
        case Insertion(message, text):
            new = Message(message, "user", (Text(text),))
            if any(one.id == message for one in buffer.messages):
                raise InspectorError(f"There is a message {message} in the buffer already.")
            return Outcome(EDIT, buffer.with_messages((*buffer.messages, new)), running, (Event("MessageInserted"),))


def _rewrite(edit: Rewrite, buffer: Buffer, running: Any) -> Outcome[Any]:
    at = _place(buffer, edit.message)
    message = buffer.messages[at]
    if not 0 <= edit.part < len(message.parts):
        raise InspectorError(f"The message {edit.message} has no part {edit.part + 1}.")
    old = message.parts[edit.part]
    new = rewritten(old, edit.text)
    if new == old:
        return Outcome(EDIT, buffer, running)
    parts = (*message.parts[: edit.part], new, *message.parts[edit.part + 1 :])
    messages = (*buffer.messages[:at], replace(message, parts=parts), *buffer.messages[at + 1 :])
    fate: FateName = "cut" if _shortened(editable(old) or "", editable(new) or "") else "replaced"
    told = Event("MessageEdited", {"part": edit.part})
    return Outcome(EDIT, buffer.with_messages(messages), running, (told,), changed={message.id: fate})


def _drop(edit: Removal, buffer: Buffer, running: Any) -> Outcome[Any]:
    here = {message.id for message in buffer.messages}
    missing = next((one for one in edit.messages if one not in here), None)
    if missing is not None:
        raise _not_here(missing)
    along = partners(buffer, frozenset(edit.messages)) if edit.partners else Partners()
    gone = {*edit.messages, *along.messages}
    messages = tuple(_without(one, along.calls.get(one.id)) for one in buffer.messages if one.id not in gone)
    changed: dict[str, FateName] = dict.fromkeys(gone, "dropped")
    changed.update(dict.fromkeys(along.calls, "cut"))
    told = Event("MessagesDropped", {"messages": len(gone), "calls": sum(map(len, along.calls.values()))})
    return Outcome(EDIT, buffer.with_messages(messages), running, (told,), changed=changed)


def _without(message: Message, parts: frozenset[int] | None) -> Message:
    if not parts:
        return message
    return replace(message, parts=tuple(part for n, part in enumerate(message.parts) if n not in parts))


def _place(buffer: Buffer, id: str) -> int:  # noqa: A002
    for n, message in enumerate(buffer.messages):
        if message.id == id:
            return n
    raise _not_here(id)


def _not_here(id: str) -> InspectorError:  # noqa: A002
    return InspectorError(f"The message {id} does not stand in this buffer.")


def _shortened(old: str, new: str) -> bool:
    """Is `new` the old text with one stretch taken out?"""
    if len(new) >= len(old):
        return False
    start = 0
    while start < len(new) and old[start] == new[start]:
        start += 1
    rest = len(new) - start
    return rest == 0 or old[-rest:] == new[-rest:]


def fresh_id(buffer: Buffer, number: int = 1) -> str:
    """An id for a message by hand that the buffer does not have yet, from that number up."""
    taken = {message.id for message in buffer.messages}
    while f"by-hand-{number}" in taken:
        number += 1
    return f"by-hand-{number}"


def described(edit: Edit) -> str:
    """A first name for the step."""
    match edit:
        case Rewrite():
            return "edit by hand"
        case Removal(messages):
            return "drop by hand" if len(messages) == 1 else f"drop {len(messages)} by hand"
        case Insertion():
            return "insert by hand"


# -- as JSON -----------------------------------------------------------------------------------------------------------

_KINDS: Mapping[str, type[Rewrite | Removal | Insertion]] = {"rewrite": Rewrite, "drop": Removal, "insert": Insertion}


def write_edit(edit: Edit) -> dict[str, Any]:
    """As a step in a file holds it."""
    kind = next(name for name, one in _KINDS.items() if isinstance(edit, one))
    return {"kind": kind, **to_json(edit)}


def read_edit(value: Any) -> Edit:
    """The same again. Raises InspectorError."""
    kind = _KINDS.get(str(value.get("kind"))) if isinstance(value, Mapping) else None
    if kind is None:
        raise InspectorError("An edit by hand must be a JSON object of the kind rewrite, drop or insert.")
    return from_json(kind, value)
