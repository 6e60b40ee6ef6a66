"""A request body with another buffer in it, everything else as it was.

What was not changed stays the very wire object that came: marks, signatures, ids, unknown fields, order of keys. Only
messages that were changed or inserted are written anew; results that travelled together go back together. System
prompt, tools and all other fields of the body are none of its business.

Two shapes of bodies: a list of *messages* (Anthropic, Chat, Gemini), each read into one or several messages of the
buffer; and a list of *items* (Responses), where reasoning, text and calls of one response are items of their own and
one message of the buffer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import is_
from typing import Any, TypeAlias

from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.dialects.dialect import Dialect, calls_of
from inspector.core.dialects.openai_responses import RESPONSES, join, read_item, responses
from inspector.core.dialects.recipe import Many, NewValue, Patch, Recipe, Ref, changes
from inspector.core.errors import InspectorError
from inspector.core.message import Message, Part, ToolCall, ToolResult


class CannotRewrite(InspectorError):
    """The body cannot be sent with this buffer in it. The sentence says why."""


def items_of(dialect: str, body: Mapping[str, Any]) -> list[Any]:
    """The wire items of a body, in order; a bare string is the one user message that it stands for."""
    return DIALECTS[dialect].items(body)


def read_items(dialect: str, items: Sequence[Any]) -> tuple[Message, ...]:
    """The messages of wire items as the payload readers see them; the system prompt is none of them.

    Ids are numbers of wire items; nobody else gives the same, so a buffer is compared by content.
    """
    if dialect == RESPONSES.name:
        return tuple(span.message for span in _spans(items))
    return tuple(message for unit in _units(DIALECTS[dialect], items) for message in unit)


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
    wanted = list(new)
    for at, n in enumerate(sources):  # what we read ourselves, for a message in which nothing was changed
        if n is not None and new[at].role == original[n].role and new[at].parts == original[n].parts:
            wanted[at] = read[n]
    if len(wanted) == len(read) and all(map(is_, wanted, read)):
        return tuple(Ref((n,)) for n in range(len(items)))
    if dialect == RESPONSES.name:
        return _plan_items(items, wanted, sources)
    return _plan_messages(DIALECTS[dialect], items, wanted, sources)


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


def with_items(dialect: str, body: Mapping[str, Any], items: Sequence[Any]) -> dict[str, Any]:
    """The body with other items; keys in their order. With its own items it is as it came."""
    one = DIALECTS[dialect]
    if one.items(body) == list(items):
        return dict(body)
    inner = one.unwrapped(body)
    changed = {**inner, one.key: list(items)}
    return changed if inner is body else {**body, one.wrapper: changed}


PREVIOUS = "previous_response_id"


def with_whole(body: Mapping[str, Any], held: Sequence[Any] | None, wanted: Sequence[Any]) -> dict[str, Any]:
    """A Responses body that continues what its provider holds (`held`), so that the model reads `wanted`.

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
    whole["input"] = [item for item in wanted if _is_sendable(item)]
    return whole


# -- a list of messages


@dataclass(slots=True)
class _Group:
    """Messages of the new buffer that share a wire message; those that came from `unit`, where they did."""

    unit: int | None
    messages: list[Message]


def _units(dialect: Dialect, items: Sequence[Any]) -> list[Sequence[Message]]:
    """What each wire message was read into: nothing for one that is the system prompt."""
    head = dialect.head(items)
    return list(
        dialect.pair([() if n < head else dialect.read(item, f"{n}", 0, "") for n, item in enumerate(items)], ())
    )


def _plan_messages(
    dialect: Dialect, items: Sequence[Any], new: Sequence[Message], sources: Sequence[int | None]
) -> tuple[Recipe, ...]:
    """A recipe a wire message. `sources`: for each new message its number in the buffer that came.

    A message that was not changed is the very object that `_units` gives.
    """
    units = _units(dialect, items)
    owner = [n for n, unit in enumerate(units) for _ in unit]
    recipes: list[Recipe] = [Ref((n,)) for n in range(dialect.head(items))]
    calls = {**calls_of(new), **_calls(dialect, items, units)}
    for group in _grouped(dialect, _in_call_order(tuple(zip(new, sources, strict=True)), calls), owner):
        if group.unit is None:
            recipes += [NewValue(one) for one in dialect.write(group.messages, calls)]
        else:
            n, item, unit = group.unit, items[group.unit], units[group.unit]
            if len(group.messages) == len(unit) and all(map(is_, group.messages, unit)):
                recipes.append(Ref((n,)))
                continue
            old, changed = _one(dialect, unit, calls), _one(dialect, group.messages, calls)
            if isinstance(item, dict) and isinstance(item.get("content"), list):
                old, changed = _as_list(old), _as_list(changed)
            recipes.append(changes((n,), item, old, changed))
    return tuple(recipes)


def _calls(dialect: Dialect, items: Sequence[Any], units: Sequence[Sequence[Message]]) -> Mapping[str, ToolCall]:
    """The calls that came, by id; those that have none on the wire by the one that we gave them."""
    found: dict[str, ToolCall] = {}
    for item, unit in zip(items, units, strict=True):
        if any(message.calls for message in unit):
            came = [call for message in dialect.read(item, "", 0, "") for call in message.calls]
            ours = [call for message in unit for call in message.calls]
            for call, one in zip(came, ours, strict=True):
                found[one.id] = one if call.id == one.id else replace(one, id="")
    return found


_Sourced: TypeAlias = tuple[Message, int | None]
"""A message of the new buffer, and its number in the one that came."""


def _in_call_order(messages: Sequence[_Sourced], calls: Mapping[str, ToolCall]) -> Sequence[_Sourced]:
    """The same; of neighbouring results without an id on the wire those of one function in the order of their calls:
    each is read as the answer to the oldest open one."""
    made = {call.id: n for n, call in enumerate(call for message, _ in messages for call in message.calls)}
    ordered = list(messages)
    for is_result, run in groupby(range(len(messages)), lambda n: messages[n][0].result is not None):
        places: dict[str, dict[int, int]] = {}
        for n in run if is_result else ():
            result = messages[n][0].result
            call = calls.get(result.call_id) if result is not None else None
            if call is not None and not call.id and result is not None:
                places.setdefault(call.name, {})[n] = made.get(result.call_id, -1)
        for some in places.values():
            for n, first in zip(some, sorted(some, key=some.__getitem__), strict=True):
                ordered[n] = messages[first]
    return ordered


def _grouped(dialect: Dialect, new: Sequence[_Sourced], owner: Sequence[int]) -> Sequence[_Group]:
    groups: list[_Group] = []
    for message, source in new:
        unit = None if source is None else owner[source]
        last = groups[-1] if groups else _Group(None, [])
        if unit is not None and last.unit is not None:
            joins = unit == last.unit
        else:
            joins = bool(last.messages) and dialect.shares(last.messages[-1], message)
        if joins:
            last.unit = unit if last.unit is None else last.unit
            last.messages.append(message)
        else:
            groups.append(_Group(unit, [message]))
    return groups


def _one(dialect: Dialect, messages: Sequence[Message], calls: Mapping[str, ToolCall]) -> Any:
    """Messages as one wire message."""
    written = dialect.write([replace(message, together="one") for message in messages], calls)
    return written[0] if written else {}


def _as_list(written: Any) -> Any:
    content = written.get("content")
    return {**written, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else written


# -- a list of items


@dataclass(frozen=True, slots=True)
class _ItemSpan:
    """A message, and the items it was read from: `parts[n]` of them hold the parts of item `start + n`."""

    start: int
    message: Message
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Where a part came: item, number of the part in it, how many parts the item has."""

    item: int
    at: int
    of: int
    part: Part


def _spans(items: Sequence[Any]) -> list[_ItemSpan]:
    """The messages of an `input`, as `openai_responses.read_items` joins them."""
    found: list[_ItemSpan] = []
    start = 0
    for one in responses(read_item(item, id=str(n)) for n, item in enumerate(items)):
        found.append(_ItemSpan(start, join(one), tuple(len(message.parts) for message in one)))
        start += len(one)
    return found


def _plan_items(items: Sequence[Any], new: Sequence[Message], sources: Sequence[int | None]) -> tuple[Recipe, ...]:
    """A recipe an item. `sources`: for each new message its number in the buffer that came.

    A message that was not changed equals the one that `_spans` gives.
    """
    came, recipes = _spans(items), list[Recipe]()
    calls = calls_of((*(span.message for span in came), *new))
    for message, source in zip(new, sources, strict=True):
        span = None if source is None else came[source]
        if span is None:
            recipes += [NewValue(one) for one in RESPONSES.write((message,), calls)]
        elif message.role == span.message.role and message.parts == span.message.parts:
            recipes += [Ref((n,)) for n in range(span.start, span.start + len(span.parts))]
        else:
            recipes += _changed(items, span, message, calls)
    return tuple(recipes)


def _changed(
    items: Sequence[Any], span: _ItemSpan, message: Message, calls: Mapping[str, ToolCall]
) -> Iterator[Recipe]:
    if len(span.parts) == 1:
        old, new = RESPONSES.write((span.message,), calls), RESPONSES.write((message,), calls)
        if len(old) == len(new) == 1:
            item, before, after = items[span.start], old[0], new[0]
            if isinstance(item, Mapping) and isinstance(item.get("content"), str):  # it goes back as one, where it can
                before, after = _as_text(before), _as_text(after)
            yield changes((span.start,), item, before, after)
            return
    yield from _rebuilt(items, span, message, calls)


def _as_text(written: Any) -> Any:
    match written:
        case {"content": [{"text": str(text), **rest}]} if rest.keys() <= {"type"}:
            return {**written, "content": text}
    return written


def _rebuilt(
    items: Sequence[Any], span: _ItemSpan, message: Message, calls: Mapping[str, ToolCall]
) -> Iterator[Recipe]:
    """Part by part: runs of parts that came in one item are that item again, or what is left of it."""
    for item, run in groupby(_matched(span, message.parts), lambda one: None if one[1] is None else one[1].item):
        if item is None:
            yield from (recipe for part, _ in run for recipe in _new_part(items, span, message, part, calls))
        else:
            yield _kept(items, [leaf for _, leaf in run if leaf is not None])


def _matched(span: _ItemSpan, parts: Sequence[Part]) -> Iterator[tuple[Part, _Leaf | None]]:
    """Each part with the place where it came, in order; none for one that is new."""
    waiting: dict[str, list[_Leaf]] = {}
    for leaf in _leaves(span):
        waiting.setdefault(repr(leaf.part), []).append(leaf)
    for part in parts:
        places = waiting.get(repr(part))
        yield part, places.pop(0) if places else None


def _leaves(span: _ItemSpan) -> Iterator[_Leaf]:
    parts = iter(span.message.parts)
    for n, count in enumerate(span.parts):
        for at in range(count):
            yield _Leaf(span.start + n, at, count, next(parts))


def _kept(items: Sequence[Any], run: Sequence[_Leaf]) -> Recipe:
    first = run[0]
    item = items[first.item]
    content = item.get("content") if isinstance(item, Mapping) else None
    if [leaf.at for leaf in run] == list(range(first.of)) or not isinstance(content, list):
        return Ref((first.item,))
    left = tuple(Ref((first.item, "content", leaf.at)) for leaf in run)
    return Patch(Ref((first.item,)), (("content", Many(left)),))


def _new_part(
    items: Sequence[Any], span: _ItemSpan, message: Message, part: Part, calls: Mapping[str, ToolCall]
) -> Iterator[Recipe]:
    written = RESPONSES.write((Message("", message.role, (part,)),), calls)
    id_ = part.id if isinstance(part, ToolCall) else ""
    same = (leaf for leaf in _leaves(span) if id_ and isinstance(leaf.part, ToolCall) and leaf.part.id == id_)
    came = next(same, None)
    if came is not None and len(written) == 1:
        old = RESPONSES.write((Message("", message.role, (came.part,)),), calls)
        yield changes((came.item,), items[came.item], old[0], written[0])
    else:
        yield from map(NewValue, written)


def _is_sendable(item: Any) -> bool:
    """Can the item be sent in a body of its own? Reasoning that only the provider keeps cannot."""
    if not isinstance(item, Mapping) or item.get("type") != "reasoning":
        return True
    return bool(item.get("encrypted_content"))
