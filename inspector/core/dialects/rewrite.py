"""A request body with another buffer in it, everything else as it was.

What was not changed stays the very wire object that came: marks, signatures, ids, unknown fields, order of keys. Only
messages that were changed or inserted are written by the wire adapters; results that travelled together go back
together. System prompt, tools and all other fields of the body are none of its business.
"""

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects import rewrite_items, rewrite_messages
from inspector.core.dialects.catalogue import WIRES
from inspector.core.dialects.recipe import Recipe, Ref, carry_out
from inspector.core.errors import InspectorError
from inspector.core.message import Message, ToolCall, ToolResult


class CannotRewrite(InspectorError):
    """The body cannot be sent with this buffer in it. The sentence says why."""


def items_of(dialect: str, body: Mapping[str, Any]) -> list[Any]:
    """The wire items of a body, in order; a bare string is the one user message that it stands for."""
    value = _inner(dialect, body).get(WIRES[dialect].key)
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    return list(value) if isinstance(value, list) else []


def read_items(dialect: str, items: Sequence[Any]) -> tuple[Message, ...]:
    """The messages of wire items as the payload readers see them; the system prompt is none of them.

    Ids are numbers of wire items; nobody else gives the same, so a buffer is compared by content.
    """
    if dialect == rewrite_items.NAME:
        return tuple(span.message for span in rewrite_items.spans(items))
    return tuple(message for unit in rewrite_messages.units(WIRES[dialect], items) for message in unit.messages)


def plan(dialect: str, items: Sequence[Any], original: Sequence[Message], new: Sequence[Message]) -> tuple[Recipe, ...]:
    """How the items of the new buffer are made from those that came: a recipe an item.

    `original` are the messages that `items` were read into, by whatever reader: ids are taken from them. Raises
    CannotRewrite where they are not.
    """
    read = read_items(dialect, items)
    if len(read) != len(original) or any(not _alike(one, other) for one, other in zip(read, original, strict=True)):
        raise CannotRewrite("The buffer does not belong to this request: it was read from another one.")
    place = {message.id: n for n, message in enumerate(original)}
    sources = [place.get(message.id) for message in new]
    wanted = [
        message if n is None else _as_came(message, original[n], read[n])
        for message, n in zip(new, sources, strict=True)
    ]
    if len(wanted) == len(read) and all(map(is_, wanted, read)):
        return tuple(Ref((n,)) for n in range(len(items)))
    if dialect == rewrite_items.NAME:
        return rewrite_items.plan(items, wanted, sources)
    return rewrite_messages.plan(WIRES[dialect], items, wanted, sources)


def _as_came(message: Message, original: Message, read: Message) -> Message:
    """What we read ourselves, for a message in which nothing was changed."""
    return read if message.role == original.role and message.parts == original.parts else message


def _alike(one: Message, other: Message) -> bool:
    """The same message, whatever the ids: legacy calls have none, and readers make some up."""
    return one.role == other.role and len(one.parts) == len(other.parts) and _said(one) == _said(other)


def _said(message: Message) -> list[Any]:
    said: list[Any] = []
    for part in message.parts:
        match part:
            case ToolCall(_, name, arguments):
                said.append((name, arguments))
            case ToolResult(_, content, is_error):
                said.append((content, is_error))
            case _:
                said.append(part)
    return said


def rewrite(dialect: str, body: Mapping[str, Any], original: Buffer, new: Buffer) -> dict[str, Any]:
    """The body with `new` in it, which was read into `original`. Raises CannotRewrite."""
    items = items_of(dialect, body)
    recipes = plan(dialect, items, original.messages, new.messages)
    if recipes == tuple(Ref((n,)) for n in range(len(items))):
        return dict(body)
    return with_items(dialect, body, [carry_out(recipe, items) for recipe in recipes])


def with_items(dialect: str, body: Mapping[str, Any], items: Sequence[Any]) -> dict[str, Any]:
    """The body with other items; keys in their order."""
    changed = {**_inner(dialect, body), WIRES[dialect].key: list(items)}
    return changed if _inner(dialect, body) is body else {**body, "request": changed}


def _inner(dialect: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of the body that holds the items: Google's Code Assist wraps a Gemini request into another one."""
    inner = body.get("request")
    wrapped = dialect == "gemini" and WIRES[dialect].key not in body and isinstance(inner, Mapping)
    return inner if wrapped and isinstance(inner, Mapping) else body


PREVIOUS = "previous_response_id"


def with_whole(body: Mapping[str, Any], held: Sequence[Any] | None, wanted: Sequence[Any]) -> dict[str, Any]:
    """A Responses body that goes on from what its provider holds (`held`), so that the model reads `wanted`.

    As long as `wanted` begins with it, only the rest is sent; else all of it, without `previous_response_id`. Raises
    CannotRewrite where something is wanted that only the provider has.
    """
    if held is None:
        raise CannotRewrite(
            "The request goes on from a response that did not pass through here: what the provider holds is unknown."
        )
    if len(wanted) >= len(held) and all(one is other or one == other for one, other in zip(held, wanted, strict=False)):
        return {**body, "input": list(wanted[len(held) :])}
    whole = {name: value for name, value in body.items() if name != PREVIOUS}
    whole["input"] = [item for item in wanted if rewrite_items.is_sendable(item)]
    return whole
