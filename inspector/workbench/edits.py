"""Manual changes: the text of a part is rewritten, messages are dropped, a user message is added.

All functions are pure. An edit is small and names messages by their ids, so it is saved, replayed and exported like the
settings of a tier. It has no needs. An edit may leave a buffer that a provider would refuse; the validity panel reports
that.
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
"""The step's name, used instead of a tier's."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A new text for one part of a message; for a call, its arguments (as JSON if they were JSON)."""

    message: str
    part: int
    """Index of the part."""
    text: str


@dataclass(frozen=True, slots=True)
class Removal:
    """Messages to drop. `partners`: also drop the calls and results that pair with them."""

    messages: tuple[str, ...]
    partners: bool = True


@dataclass(frozen=True, slots=True)
class Insertion:
    """A new user message at the end."""

    message: str
    """Id of the new message."""
    text: str


Edit: TypeAlias = Rewrite | Removal | Insertion


@dataclass(frozen=True, slots=True)
class Partners:
    """What is dropped along with messages: whole messages, and single calls of messages that are kept."""

    messages: tuple[str, ...] = ()
    calls: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Indices of the dropped parts by message id."""


def editable(part: Part) -> str | None:
    """Return the text of a part for editing; None if it cannot be edited."""
    match part:
        case Text(text) | Thinking(text):
            return text
        case ToolCall(arguments=str() as free):
            return free
        case ToolCall(arguments=arguments):
            return _indent_arguments(arguments)
        case ToolResult(content=content):
            return content
        case _:
            return None


def _indent_arguments(arguments: Json) -> str:
    """Return arguments as indented JSON; on one line if they are nested too deeply."""
    try:
        return without_surrogates(
            json.dumps(arguments, indent=2, ensure_ascii=False, allow_nan=False)
        )
    except (TypeError, ValueError, RecursionError):
        return dumps(arguments)


def rewritten(part: Part, text: str) -> Part:
    """Return the part with another text. Raises InspectorError if it cannot have that text."""
    match part:
        case Text():
            return replace(part, text=text)
        case Thinking():
            return Thinking(text)  # the signature is valid for the old text only
        case ToolCall(arguments=str()):
            return replace(part, arguments=text)
        case ToolCall():
            return replace(part, arguments=_arguments(text))
        case ToolResult():
            return replace(part, content=text)
        case _:
            raise InspectorError("This part of the message holds no text to edit.")


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        value = loads(text.encode("utf-8", "replace"))
    except ValueError as error:
        raise InspectorError(f"These arguments are not JSON: {error}.") from None
    if not isinstance(value, Mapping):
        raise InspectorError("The arguments of a call must be a JSON object: {…}.")
    return value


def partners(buffer: Buffer, gone: Collection[str]) -> Partners:
    """Return the partners of the messages `gone`: the results of their calls, and the calls of their results.
    O(messages).
    """
    dropped_parts = [
        part for message in buffer.messages if message.id in gone for part in message.parts
    ]
    called = {part.id for part in dropped_parts if isinstance(part, ToolCall)}
    answered = {part.call_id for part in dropped_parts if isinstance(part, ToolResult)}
    whole: list[str] = []
    single: dict[str, frozenset[int]] = {}
    for message in buffer.messages:
        if message.id in gone:
            continue
        parts = frozenset(
            index for index, part in enumerate(message.parts) if _pairs(part, called, answered)
        )
        if not parts:
            continue
        if message.role == "tool" or not _has_content(_without(message, parts)):
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


def _has_content(message: Message) -> bool:
    """Does a message hold anything besides thinking and blank text?"""
    return any(not _is_blank(part) for part in message.parts)


def _is_blank(part: Part) -> bool:
    return isinstance(part, Thinking) or (isinstance(part, Text) and not part.text.strip())


def apply(edit: Edit, buffer: Buffer, running: Any) -> Outcome[Any]:
    """Return the outcome of an edit.

    Raises InspectorError if a message is not in the buffer or arguments are not valid JSON.
    """
    match edit:
        case Rewrite():
            return _rewrite(edit, buffer, running)
        case Removal():
            return _drop(edit, buffer, running)
        case Insertion(message, text):
            new = Message(message, "user", (Text(text),))
            if any(other.id == message for other in buffer.messages):
                raise InspectorError(f"The buffer already has a message {message}.")
            return Outcome(
                EDIT,
                buffer=buffer.with_messages((*buffer.messages, new)),
                running=running,
                events=(Event("MessageInserted"),),
            )


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
    fate: FateName = "cut" if _is_cut_of(editable(old) or "", editable(new) or "") else "replaced"
    event = Event("MessageEdited", {"part": edit.part})
    return Outcome(
        EDIT,
        buffer=buffer.with_messages(messages),
        running=running,
        events=(event,),
        changed={message.id: fate},
    )


def _drop(edit: Removal, buffer: Buffer, running: Any) -> Outcome[Any]:
    present = {message.id for message in buffer.messages}
    missing = next((message_id for message_id in edit.messages if message_id not in present), None)
    if missing is not None:
        raise _missing_message(missing)
    along = partners(buffer, frozenset(edit.messages)) if edit.partners else Partners()
    gone = {*edit.messages, *along.messages}
    messages = tuple(
        _without(message, along.calls.get(message.id))
        for message in buffer.messages
        if message.id not in gone
    )
    changed: dict[str, FateName] = dict.fromkeys(gone, "dropped")
    changed.update(dict.fromkeys(along.calls, "cut"))
    event = Event(
        "MessagesDropped", {"messages": len(gone), "calls": sum(map(len, along.calls.values()))}
    )
    return Outcome(
        EDIT,
        buffer=buffer.with_messages(messages),
        running=running,
        events=(event,),
        changed=changed,
    )


def _without(message: Message, parts: frozenset[int] | None) -> Message:
    if not parts:
        return message
    return replace(
        message, parts=tuple(part for index, part in enumerate(message.parts) if index not in parts)
    )


def _place(buffer: Buffer, id: str) -> int:  # noqa: A002
    for index, message in enumerate(buffer.messages):
        if message.id == id:
            return index
    raise _missing_message(id)


def _missing_message(id: str) -> InspectorError:  # noqa: A002
    return InspectorError(f"The message {id} is not in this buffer.")


def _is_cut_of(old: str, new: str) -> bool:
    """Is `new` the old text with one stretch cut out?"""
    if len(new) >= len(old):
        return False
    start = 0
    while start < len(new) and old[start] == new[start]:
        start += 1
    rest = len(new) - start
    return rest == 0 or old[-rest:] == new[-rest:]


def fresh_id(buffer: Buffer, number: int = 1) -> str:
    """Return an id for a manual message that the buffer does not use yet, counting up from `number`."""
    used = {message.id for message in buffer.messages}
    while f"by-hand-{number}" in used:
        number += 1
    return f"by-hand-{number}"


def described(edit: Edit) -> str:
    """Return the default name of an edit's step, which the user may change."""
    match edit:
        case Rewrite():
            return "edit by hand"
        case Removal(messages):
            return "drop by hand" if len(messages) == 1 else f"drop {len(messages)} by hand"
        case Insertion():
            return "insert by hand"


# -- as JSON -----------------------------------------------------------------------------------------------------------

_KINDS: Mapping[str, type[Rewrite | Removal | Insertion]] = {
    "rewrite": Rewrite,
    "drop": Removal,
    "insert": Insertion,
}


def write_edit(edit: Edit) -> dict[str, Any]:
    """Return an edit as a JSON object, in the form used in a file of steps."""
    kind = next(name for name, edit_type in _KINDS.items() if isinstance(edit, edit_type))
    return {"kind": kind, **to_json(edit)}


def read_edit(value: Any) -> Edit:
    """Read an edit from a JSON object. Raises InspectorError."""
    kind = _KINDS.get(str(value.get("kind"))) if isinstance(value, Mapping) else None
    if kind is None:
        raise InspectorError(
            "An edit by hand must be a JSON object of the kind rewrite, drop or insert."
        )
    return from_json(kind, value)
