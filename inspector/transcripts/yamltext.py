"""Parse one YAML document into the values of JSON, with bytes for `!!binary`. Times stay text.

PyYAML (with libyaml if it is available) does the parsing. The values are put together here, because depth and aliases
must be bounded and no tag of the file may choose a type.
"""

from collections.abc import Iterator
from math import isfinite
from typing import Any

import yaml

from inspector.core.jsontext import DEEPEST, without_surrogates

_HEAVIEST = 1 << 28
"""Maximum number of characters and values, counting those that aliases repeat."""
_LARGEST = 10**18
"""A number with a larger magnitude stays text."""
_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NAMES = ("null", "bool", "int", "float", "binary")
_TOO_DEEP = "nested too deeply"
_TYPES = {f"tag:yaml.org,2002:{name}" for name in _NAMES}


class NotYaml(ValueError):
    """The text is not YAML that can be read here. `str(error)` gives the reason in a few words."""


class _Composer:
    """Builds the values of one document."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        """For each anchor: the value, its weight, and how deep lists and maps are nested in it."""
        self._weight = 0

    def document(self) -> Any:
        """Return the value of the only document; None if there is none."""
        root = None
        documents = 0
        while (event := self._loader.get_event()) is not None:
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                raise NotYaml("it holds several documents")
            if isinstance(event, yaml.NodeEvent):
                root, _ = self._value(event, 0)
        return root

    def _value(self, event: Any, depth: int) -> tuple[Any, int]:
        """Return the value that begins with this event, and how deep lists and maps are nested in it.

        `depth` is the number of lists and maps around it.
        """
        before = self._weight
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        height = 0
        match event:
            case yaml.ScalarEvent():
                value = self._scalar(event)
                self._weigh(1 + len(event.value))
            case yaml.SequenceStartEvent():
                value, height = self._list(depth)
            case _:
                value, height = self._map(depth)
        _check_depth(depth + height)
        if event.anchor:
            self._anchors[event.anchor] = value, self._weight - before, height
        return value, height

    def _alias(self, event: yaml.AliasEvent, depth: int) -> tuple[Any, int]:
        if event.anchor not in self._anchors:
            raise NotYaml(f"no earlier value is named &{(event.anchor or '')[:40]}")
        value, weight, height = self._anchors[event.anchor]
        self._weigh(weight)
        _check_depth(depth + height)
        return value, height

    def _list(self, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        height = 1
        for _, event in self._nodes(depth):
            item, inner = self._value(event, depth + 1)
            items.append(item)
            height = max(height, inner + 1)
        return items, height

    def _map(self, depth: int) -> tuple[dict[Any, Any], int]:
        fields: dict[Any, Any] = {}
        height = 1
        key = None
        for index, event in self._nodes(depth):
            item, inner = self._value(event, depth + 1)
            if index % 2:
                fields[key] = item
            elif isinstance(event, yaml.ScalarEvent):
                key = without_surrogates(event.value)
            else:
                raise NotYaml("a key is a list, a map or an alias")
            height = max(height, inner + 1)
        return fields, height

    def _nodes(self, depth: int) -> Iterator[tuple[int, yaml.Event]]:
        """Yield (index, first event) of each item of a list or map; in a map, keys and values alternate."""
        if depth >= DEEPEST:
            raise NotYaml(_TOO_DEEP)
        self._weigh(1)
        return enumerate(iter(self._next, None))

    def _next(self) -> yaml.Event | None:
        event: yaml.Event = self._loader.get_event()
        return None if isinstance(event, yaml.CollectionEndEvent) else event

    def _weigh(self, more: int) -> None:
        self._weight += more
        if self._weight > _HEAVIEST:
            raise NotYaml("its aliases repeat too much")

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        tag = event.tag or self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        if tag in _TYPES:
            value = self._loader.construct_object(yaml.ScalarNode(tag, event.value))
            if not isinstance(value, int | float) or (isfinite(value) and abs(value) < _LARGEST):
                return value
        return without_surrogates(event.value)


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise NotYaml(_TOO_DEEP)


def parse_yaml(data: bytes) -> Any:
    """Parse one document. Raises NotYaml."""
    loader = _BASE(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    try:
        return _Composer(loader).document()
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as why:
        raise (
            why if isinstance(why, NotYaml) else NotYaml(" ".join(str(why).split())[:200])
        ) from None
    finally:
        loader.dispose()
