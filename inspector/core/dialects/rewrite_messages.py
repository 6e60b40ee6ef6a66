"""Rewriting where the body is a list of messages: Anthropic, OpenAI Chat, Gemini.

A wire message is a unit: one or several messages of the buffer. A unit that is still whole is pointed at; one that lost
or changed something is patched; what was inserted is written, beside the results that it belongs to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any

from inspector.core.dialects.catalogue import Wire, calls_of
from inspector.core.dialects.recipe import Made, Recipe, Ref, changes
from inspector.core.message import Message, ToolCall


@dataclass(frozen=True, slots=True)
class Unit:
    """A wire message, and what it was read into: nothing for one that is the system prompt."""

    at: int
    messages: tuple[Message, ...]


@dataclass(slots=True)
class _Group:
    """Messages of the new buffer that share a wire message; those that came from `unit`, where they did."""

    unit: int | None
    messages: list[Message]


def units(wire: Wire, items: Sequence[Any]) -> list[Unit]:
    """All wire messages in order."""
    head = wire.head(items)
    read = [() if n < head else wire.read(item, f"{n}") for n, item in enumerate(items)]
    return [Unit(n, tuple(messages)) for n, messages in enumerate(wire.pair(read))]


def plan(wire: Wire, items: Sequence[Any], new: Sequence[Message], sources: Sequence[int | None]) -> tuple[Recipe, ...]:
    """A recipe a wire message. `sources`: for each new message its number in the buffer that came.

    A message that was not changed is the very object that `units` gives.
    """
    all_units = units(wire, items)
    owner = [unit.at for unit in all_units for _ in unit.messages]
    recipes: list[Recipe] = [Ref((unit.at,)) for unit in all_units[: wire.head(items)]]
    calls = {**calls_of(new), **_calls(wire, items, all_units)}
    for group in _grouped(wire, new, sources, owner):
        if group.unit is None:
            recipes += [Made(one) for one in wire.write(group.messages, calls)]
        else:
            recipes.append(_changed(wire, items[group.unit], all_units[group.unit], group.messages, calls))
    return tuple(recipes)


def _calls(wire: Wire, items: Sequence[Any], all_units: Sequence[Unit]) -> Mapping[str, ToolCall]:
    """The calls that came, by id; those that have none on the wire by the one that we gave them."""
    found: dict[str, ToolCall] = {}
    for unit in all_units:
        if any(message.calls for message in unit.messages):
            came = [call for message in wire.read(items[unit.at], "") for call in message.calls]
            ours = [call for message in unit.messages for call in message.calls]
            for call, one in zip(came, ours, strict=True):
                found[one.id] = one if call.id == one.id else replace(one, id="")
    return found


def _grouped(
    wire: Wire, new: Sequence[Message], sources: Sequence[int | None], owner: Sequence[int]
) -> Sequence[_Group]:
    groups: list[_Group] = []
    for message, source in zip(new, sources, strict=True):
        unit = None if source is None else owner[source]
        last = groups[-1] if groups else None
        if last is not None and _joins(wire, last, message, unit):
            last.unit = unit if last.unit is None else last.unit
            last.messages.append(message)
        else:
            groups.append(_Group(unit, [message]))
    return groups


def _joins(wire: Wire, group: _Group, message: Message, unit: int | None) -> bool:
    """Does the message share the wire message of the group before it?"""
    if unit is not None and group.unit is not None:
        return unit == group.unit
    return wire.shares(group.messages[-1], message)


def _changed(wire: Wire, item: Any, unit: Unit, messages: Sequence[Message], calls: Mapping[str, ToolCall]) -> Recipe:
    if len(messages) == len(unit.messages) and all(map(is_, messages, unit.messages)):
        return Ref((unit.at,))
    old, new = _one(wire, unit.messages, calls), _one(wire, messages, calls)
    if isinstance(item, dict) and isinstance(item.get("content"), list):
        old, new = _as_list(old), _as_list(new)
    return changes((unit.at,), item, old, new)


def _one(wire: Wire, messages: Sequence[Message], calls: Mapping[str, ToolCall]) -> Any:
    """Messages as one wire message."""
    written = wire.write([replace(message, together="one") for message in messages], calls)
    return written[0] if written else {}


def _as_list(written: Any) -> Any:
    content = written.get("content")
    return {**written, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else written
