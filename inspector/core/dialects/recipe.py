"""Recipes describe how to build a JSON value from the items of a request, mostly by reference.

A recipe refers to an item of a list, patches an object in an item, or contains a new value. A reference gives the same
object as in the request, with all its fields in their order. A recipe that was made from one list can be applied to a
longer list that begins with the same items.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from inspector.core.jsontext import dumps
from inspector.core.message import Json


@dataclass(frozen=True, slots=True)
class Ref:
    """The value at `path`: index of the item, then keys and indices inside the item."""

    path: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class NewValue:
    """A value that is not in the request."""

    value: Json


@dataclass(frozen=True, slots=True)
class Many:
    """A new list, from a recipe for each item."""

    of: tuple["Recipe", ...]


@dataclass(frozen=True, slots=True)
class Patch:
    """The object at `base` with some fields changed or added and others removed. The order of its keys is kept."""

    base: Ref
    fields: tuple[tuple[str, "Recipe"], ...]
    without: tuple[str, ...] = ()


Recipe: TypeAlias = Ref | NewValue | Many | Patch


def carry_out(recipe: Recipe, items: Sequence[Any]) -> Any:
    """Build the value of a recipe. Raises LookupError or TypeError if the recipe was made for other items."""
    match recipe:
        case Ref(path):
            value: Any = items
            for step in path:
                value = value[step]
            return value
        case NewValue(value):
            return value
        case Many(of):
            return [carry_out(element, items) for element in of]
        case Patch(base, fields, without):
            changed = dict(carry_out(base, items))
            for name, field in fields:
                changed[name] = carry_out(field, items)
            for name in without:
                changed.pop(name, None)
            return changed


def looks_into(recipe: Recipe) -> Iterator[int]:
    """Yield the indices of the items of which the recipe uses parts."""
    match recipe:
        case Ref(path):
            if len(path) > 1:
                yield int(path[0])
        case Many(of):
            for inner in of:
                yield from looks_into(inner)
        case Patch(base, fields, _):
            yield int(base.path[0])
            for _, inner in fields:
                yield from looks_into(inner)


def describe_change(path: tuple[int | str, ...], wire: Any, old: Any, new: Any) -> Recipe:
    """Return the recipe that turns `wire` (at `path`), which the dialect would write as `old`, into `new`.

    Everything that is equal in `old` and `new` is kept from `wire`, so that fields unknown to the dialect survive.
    """
    if old == new:
        return Ref(path)
    if isinstance(wire, Mapping) and isinstance(old, Mapping) and isinstance(new, Mapping):
        return _patch(path, wire, old, new)
    if (
        isinstance(wire, list)
        and isinstance(old, list)
        and isinstance(new, list)
        and len(wire) == len(old)
    ):
        return _listed(path, wire, old, new)
    return NewValue(new)


def _patch(
    path: tuple[int | str, ...],
    wire: Mapping[str, Any],
    old: Mapping[str, Any],
    new: Mapping[str, Any],
) -> Recipe:
    fields: list[tuple[str, Recipe]] = []
    for name, value in new.items():
        if old.get(name, _NONE) == value:
            continue
        is_known = name in wire and name in old
        change = (
            describe_change((*path, name), wire[name], old[name], new=value)
            if is_known
            else NewValue(value)
        )
        fields.append((name, change))
    return Patch(Ref(path), tuple(fields), tuple(name for name in old if name not in new))


_NONE = object()


def _listed(path: tuple[int | str, ...], wire: list[Any], old: list[Any], new: list[Any]) -> Recipe:
    """Return the recipe of a list. It refers to equal old elements, patches those with the same id, and adds others."""
    same = _places(old, dumps)
    named = _places(old, _identity)
    recipes: list[Recipe] = []
    for element in new:
        name = _identity(element)
        equal_places = same.get(dumps(element))
        named_places = named.get(name) if name else None
        if equal_places:
            place = equal_places[0]
            if len(equal_places) > 1:  # the next equal element refers to the next place
                del equal_places[0]
            recipes.append(Ref((*path, place)))
        elif named_places:
            place = named_places[0]
            recipes.append(describe_change((*path, place), wire[place], old[place], new=element))
        else:
            recipes.append(NewValue(element))
    return Many(tuple(recipes))


def _places(values: Sequence[Any], name: Any) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for n, value in enumerate(values):
        places.setdefault(name(value), []).append(n)
    return places


def _identity(value: Any) -> str:
    """Return a key for the call that an element makes or answers; empty if it has none."""
    if not isinstance(value, Mapping):
        return ""
    for kind in ("functionCall", "functionResponse"):
        if isinstance(inner := value.get(kind), Mapping):
            return f"{kind} {inner.get('id')}"
    name = (
        value.get("tool_use_id")
        or value.get("tool_call_id")
        or value.get("call_id")
        or value.get("id")
    )
    return f"{value.get('type')} {name}" if isinstance(name, str) and name else ""
