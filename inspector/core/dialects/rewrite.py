"""Replace the buffer in a request body, and leave everything else unchanged.

Unchanged messages keep their wire objects, including cache marks, signatures, ids, unknown fields and the order of
keys. Only changed or inserted messages are written; results of one wire message are joined again. System prompt, tools
and all other fields of the body are not touched.

Bodies have two shapes: a list of *messages* (Anthropic, Chat, Gemini), each of which is read into one or several
messages of the buffer; and a list of *items* (Responses), where the reasoning, text and calls of one response are
separate items but one message of the buffer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import is_
from typing import Any, TypeAlias

from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.dialects.dialect import Dialect, calls_by_id
from inspector.core.dialects.openai_responses import RESPONSES, join, read_item, responses
from inspector.core.dialects.recipe import Many, NewValue, Patch, Recipe, Ref, describe_change
from inspector.core.errors import InspectorError
from inspector.core.message import Message, Part, ToolCall, ToolResult


class CannotRewrite(InspectorError):
    """The buffer cannot be written into the request body. The message says why."""


def items_of(dialect: str, body: Mapping[str, Any]) -> list[Any]:
    """Return the wire items of a body, in order; a bare string becomes one user message."""
    return DIALECTS[dialect].items(body)


def read_wire_items(dialect: str, items: Sequence[Any]) -> tuple[Message, ...]:
    """Return the messages of wire items, without the system prompt, as the payload readers read them.

    Message ids are made from the index of the wire item; ids of other sources differ, so compare buffers by content.
    """
    if dialect == RESPONSES.name:
        return tuple(span.message for span in _spans(items))
    return tuple(message for unit in _units(DIALECTS[dialect], items) for message in unit)


def plan_recipes(
    dialect: str, items: Sequence[Any], original: Sequence[Message], new: Sequence[Message]
) -> tuple[Recipe, ...]:
    """Return a recipe for each item of the new buffer, in terms of the items of the request.

    `original` are the messages that a reader made from `items`; messages of `new` are matched with them by id. Raises
    CannotRewrite if `original` does not match `items`.
    """
    read = read_wire_items(dialect, items)
    if len(read) != len(original) or not all(map(_are_alike, read, original)):
        raise CannotRewrite(
            "The buffer does not belong to this request: it was read from another request."
        )
    place_of_id = {message.id: place for place, message in enumerate(original)}
    sources = [place_of_id.get(message.id) for message in new]
    target: list[Message] = []
    for message, place in zip(new, sources, strict=True):
        if place is not None and _has_same_parts(message, original[place]):
            message = read[place]
        target.append(message)
    if len(target) == len(read) and all(map(is_, target, read)):
        return tuple(Ref((place,)) for place in range(len(items)))
    if dialect == RESPONSES.name:
        return _plan_items(items, target, sources)
    return _plan_messages(DIALECTS[dialect], items, new=target, sources=sources)


def _has_same_parts(message: Message, other: Message) -> bool:
    return message.role == other.role and message.parts == other.parts


def _are_alike(message: Message, other: Message) -> bool:
    """Do two messages have the same content? Ids are ignored: legacy calls have none, and readers generate them."""
    if message.role != other.role or len(message.parts) != len(other.parts):
        return False
    return _content(message) == _content(other)


def _content(message: Message) -> list[Any]:
    content: list[Any] = []
    for part in message.parts:
        match part:
            case ToolCall(_, name, arguments):
                content.append((name, arguments))
            case ToolResult(_, text, is_error):
                content.append((text, is_error))
            case _:
                content.append(part)
    return content


def with_items(dialect: str, body: Mapping[str, Any], items: Sequence[Any]) -> dict[str, Any]:
    """Return the body with other items and the same order of keys. With its own items, the body is unchanged."""
    speech = DIALECTS[dialect]
    if speech.items(body) == list(items):
        return dict(body)
    inner = speech.unwrapped(body)
    changed = {**inner, speech.key: list(items)}
    return changed if inner is body else {**body, speech.wrapper: changed}


PREVIOUS = "previous_response_id"


def with_whole(
    body: Mapping[str, Any], held: Sequence[Any] | None, items: Sequence[Any]
) -> dict[str, Any]:
    """Return a Responses body with which the model reads `items`.

    Args:
        body: A request body that may continue a stored response (`previous_response_id`).
        held: The items that the provider stores for that response; None if they are not known.
        items: The items to read. If they begin with `held`, only the others are sent; if not, all are sent, without
            `previous_response_id`.

    Raises:
        CannotRewrite: The stored items are not known.
    """
    if held is None:
        raise CannotRewrite(
            "The request continues a response that did not pass through this proxy: what the provider holds is unknown."
        )
    continues_held = list(items[: len(held)]) == list(held)
    if continues_held:
        return {**body, "input": list(items[len(held) :])}
    whole = {name: value for name, value in body.items() if name != PREVIOUS}
    whole["input"] = [item for item in items if _is_sendable(item)]
    return whole


# -- a list of messages


@dataclass(slots=True)
class _Group:
    """Messages of the new buffer that share a wire message; `unit` is that message's index, None if it is new."""

    unit: int | None
    messages: list[Message]


def _units(dialect: Dialect, items: Sequence[Any]) -> list[Sequence[Message]]:
    """Return the messages of each wire message; none for wire messages of the system prompt."""
    head = dialect.head(items)
    read: list[Sequence[Message]] = [()] * head
    for place, item in enumerate(items[head:], start=head):
        read.append(dialect.read(item, f"{place}", 0, ""))
    return list(dialect.pair(read, ()))


def _plan_messages(
    dialect: Dialect, items: Sequence[Any], new: Sequence[Message], sources: Sequence[int | None]
) -> tuple[Recipe, ...]:
    """Return a recipe for each wire message. `sources`: for each new message, its index in the original buffer.

    An unchanged message must be the same object as `_units` returns.
    """
    units = _units(dialect, items)
    owner = [n for n, unit in enumerate(units) for _ in unit]
    recipes: list[Recipe] = [Ref((n,)) for n in range(dialect.head(items))]
    calls = {**calls_by_id(new), **_calls(dialect, items, units)}
    sourced = tuple(zip(new, sources, strict=True))
    for group in _grouped(dialect, _in_call_order(sourced, calls), owner):
        if group.unit is None:
            recipes += [NewValue(written) for written in dialect.write(group.messages, calls)]
        else:
            recipes.append(
                _change_unit(
                    dialect,
                    n=group.unit,
                    item=items[group.unit],
                    unit=units[group.unit],
                    group=group,
                    calls=calls,
                )
            )
    return tuple(recipes)


def _change_unit(
    dialect: Dialect,
    n: int,
    item: Any,
    unit: Sequence[Message],
    group: _Group,
    calls: Mapping[str, ToolCall],
) -> Recipe:
    """Return the recipe that puts the messages of a group into wire message `n`."""
    if len(group.messages) == len(unit) and all(map(is_, group.messages, unit)):
        return Ref((n,))
    old = _as_single(dialect, unit, calls)
    changed = _as_single(dialect, group.messages, calls)
    if isinstance(item, dict) and isinstance(item.get("content"), list):
        old = _as_list(old)
        changed = _as_list(changed)
    return describe_change((n,), wire=item, old=old, new=changed)


def _calls(
    dialect: Dialect, items: Sequence[Any], units: Sequence[Sequence[Message]]
) -> Mapping[str, ToolCall]:
    """Return the calls of the request by id. A call without an id on the wire has the generated id as its key."""
    calls: dict[str, ToolCall] = {}
    for item, unit in zip(items, units, strict=True):
        if any(message.calls for message in unit):
            on_wire = [call for message in dialect.read(item, "", 0, "") for call in message.calls]
            named = [call for message in unit for call in message.calls]
            for wire_call, call in zip(on_wire, named, strict=True):
                calls[call.id] = call if wire_call.id == call.id else replace(call, id="")
    return calls


_Sourced: TypeAlias = tuple[Message, int | None]
"""A message of the new buffer, and its index in the original buffer; None if it is new."""


def _in_call_order(
    messages: Sequence[_Sourced], calls: Mapping[str, ToolCall]
) -> Sequence[_Sourced]:
    """Put neighbouring results without an id on the wire in the order of their calls, for each function.

    Readers take each such result as the answer to the oldest open call.
    """
    made_calls = [call for message, _ in messages for call in message.calls]
    call_places = {call.id: place for place, call in enumerate(made_calls)}
    are_results = [message.result is not None for message, _ in messages]
    ordered = list(messages)
    for is_result, run in groupby(range(len(messages)), lambda place: are_results[place]):
        if not is_result:
            continue
        for places in _nameless_results(messages, run, calls, call_places):
            in_call_order = sorted(places, key=places.__getitem__)
            for place, source in zip(places, in_call_order, strict=True):
                ordered[place] = messages[source]
    return ordered


def _nameless_results(
    messages: Sequence[_Sourced],
    run: Iterable[int],
    calls: Mapping[str, ToolCall],
    call_places: Mapping[str, int],
) -> Iterable[dict[int, int]]:
    """Return, for each function, the index of the call by the index of the result, for results without a wire id."""
    by_function: dict[str, dict[int, int]] = {}
    for n in run:
        result = messages[n][0].result
        call = calls.get(result.call_id) if result is not None else None
        if result is not None and call is not None and not call.id:
            by_function.setdefault(call.name, {})[n] = call_places.get(result.call_id, -1)
    return by_function.values()


def _grouped(dialect: Dialect, new: Sequence[_Sourced], owner: Sequence[int]) -> Sequence[_Group]:
    groups: list[_Group] = []
    for message, source in new:
        unit = None if source is None else owner[source]
        last = groups[-1] if groups else _Group(unit=None, messages=[])
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


def _as_single(dialect: Dialect, messages: Sequence[Message], calls: Mapping[str, ToolCall]) -> Any:
    """Return messages as one wire message."""
    written = dialect.write([replace(message, together="one") for message in messages], calls)
    return written[0] if written else {}


def _as_list(written: Any) -> Any:
    content = written.get("content")
    if isinstance(content, str):
        return {**written, "content": [{"type": "text", "text": content}]}
    return written


# -- a list of items


@dataclass(frozen=True, slots=True)
class _ItemSpan:
    """A message and its items: item `start + n` contains `parts[n]` of the message's parts."""

    start: int
    message: Message
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """The origin of a part: index of its item, index of the part in the item, number of parts of the item."""

    item: int
    at: int
    of: int
    part: Part


def _spans(items: Sequence[Any]) -> list[_ItemSpan]:
    """Return the messages of an `input`, as `openai_responses.read_items` joins them."""
    spans: list[_ItemSpan] = []
    start = 0
    for messages in responses(read_item(item, id=str(n)) for n, item in enumerate(items)):
        spans.append(
            _ItemSpan(start, join(messages), tuple(len(message.parts) for message in messages))
        )
        start += len(messages)
    return spans


def _plan_items(
    items: Sequence[Any], new: Sequence[Message], sources: Sequence[int | None]
) -> tuple[Recipe, ...]:
    """Return a recipe for each item. `sources`: for each new message, its index in the original buffer.

    An unchanged message equals the message that `_spans` returns.
    """
    former_spans = _spans(items)
    recipes = list[Recipe]()
    calls = calls_by_id((*(span.message for span in former_spans), *new))
    for message, source in zip(new, sources, strict=True):
        span = None if source is None else former_spans[source]
        if span is None:
            recipes += [NewValue(written) for written in RESPONSES.write((message,), calls)]
        elif message.role == span.message.role and message.parts == span.message.parts:
            recipes += [Ref((n,)) for n in range(span.start, span.start + len(span.parts))]
        else:
            recipes += _changed(items, span, message, calls)
    return tuple(recipes)


def _changed(
    items: Sequence[Any], span: _ItemSpan, message: Message, calls: Mapping[str, ToolCall]
) -> Iterator[Recipe]:
    if len(span.parts) == 1:
        old = RESPONSES.write((span.message,), calls)
        new = RESPONSES.write((message,), calls)
        if len(old) == len(new) == 1:
            item = items[span.start]
            before = old[0]
            after = new[0]
            # Written as a string again if possible.
            if isinstance(item, Mapping) and isinstance(item.get("content"), str):
                before = _as_text(before)
                after = _as_text(after)
            yield describe_change((span.start,), wire=item, old=before, new=after)
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
    """Rebuild a message part by part. Consecutive parts of one item become that item again, without removed parts."""
    for item, run in groupby(_matched(span, message.parts), _item_of_leaf):
        if item is not None:
            yield _kept(items, [leaf for _, leaf in run if leaf is not None])
            continue
        for part, _ in run:
            yield from _new_part(items, span, message, part, calls)


def _item_of_leaf(matched: tuple[Part, _Leaf | None]) -> int | None:
    """Return the index of the item that holds the origin of a part; None for a new part."""
    _, leaf = matched
    return None if leaf is None else leaf.item


def _matched(span: _ItemSpan, parts: Sequence[Part]) -> Iterator[tuple[Part, _Leaf | None]]:
    """Yield each part with its origin, in order; None for a new part."""
    waiting: dict[str, list[_Leaf]] = {}
    for leaf in _leaves(span):
        waiting.setdefault(repr(leaf.part), []).append(leaf)
    for part in parts:
        places = waiting.get(repr(part))
        yield part, places.pop(0) if places else None


def _leaves(span: _ItemSpan) -> Iterator[_Leaf]:
    parts = iter(span.message.parts)
    for item, count in enumerate(span.parts, start=span.start):
        for place in range(count):
            yield _Leaf(item, place, of=count, part=next(parts))


def _kept(items: Sequence[Any], run: Sequence[_Leaf]) -> Recipe:
    first = run[0]
    item = items[first.item]
    content = item.get("content") if isinstance(item, Mapping) else None
    whole_item = Ref((first.item,))
    is_complete = [leaf.at for leaf in run] == list(range(first.of))
    if is_complete or not isinstance(content, list):
        return whole_item
    remaining = tuple(Ref((first.item, "content", leaf.at)) for leaf in run)
    return Patch(whole_item, (("content", Many(remaining)),))


def _new_part(
    items: Sequence[Any],
    span: _ItemSpan,
    message: Message,
    part: Part,
    calls: Mapping[str, ToolCall],
) -> Iterator[Recipe]:
    written = RESPONSES.write((Message("", message.role, (part,)),), calls)
    former_leaf = _find_former_call(span, part)
    if former_leaf is None or len(written) != 1:
        yield from map(NewValue, written)
        return
    place = former_leaf.item
    old = RESPONSES.write((Message("", message.role, (former_leaf.part,)),), calls)
    yield describe_change((place,), wire=items[place], old=old[0], new=written[0])


def _find_former_call(span: _ItemSpan, part: Part) -> _Leaf | None:
    """Return the leaf with a call of the same id; None if there is none, or the part is no call with an id."""
    if not isinstance(part, ToolCall) or not part.id:
        return None
    for leaf in _leaves(span):
        if isinstance(leaf.part, ToolCall) and leaf.part.id == part.id:
            return leaf
    return None


def _is_sendable(item: Any) -> bool:
    """Can the item be sent in another body? Reasoning without encrypted content cannot, as only the provider has it."""
    if not isinstance(item, Mapping) or item.get("type") != "reasoning":
        return True
    return bool(item.get("encrypted_content"))
