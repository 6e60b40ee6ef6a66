"""YAML in: one document, as the values that JSON has, and bytes for `!!binary`; times stay text.

The words are PyYAML's (libyaml where it is there); put together here, because depth and aliases have to be bounded, and
no tag of the file may choose a type.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import yaml

from inspector.core.jsontext import DEEPEST, without_surrogates

_HEAVIEST = 1 << 28
"""Characters and values, those that aliases repeat among them."""
_LARGEST = 10**18
"""A number beyond it stays text."""
_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NAMES = ("null", "bool", "int", "float", "binary")
_TYPES = {f"tag:yaml.org,2002:{name}" for name in _NAMES}


class NotYaml(ValueError):
    """The text is no YAML that can be read here. `str(error)` says why, in a few words."""


@dataclass(slots=True)
class _Holder:
    """A list or map that is being filled."""

    value: list[Any] | dict[str, Any]
    anchor: str | None
    weight: int
    """What was there before it."""
    key: str | None = None
    height: int = 1
    """Lists and maps that stand in one another, itself among them."""

    def put(self, value: Any, key: str | None, height: int) -> None:
        """The next value; in a map every other one is the `key` of the next."""
        self.height = max(self.height, height + 1)
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.key is not None:
            self.value[self.key], self.key = value, None
        elif key is None:
            raise NotYaml("a key is a list, a map or an alias")
        else:
            self.key = key


@dataclass(slots=True)
class _AnchoredValue:
    """What a name stands for."""

    value: Any
    weight: int
    height: int


@dataclass(slots=True)
class _Composer:
    """Takes the events of one document."""

    loader: Any
    root: Any = None
    _open: list[_Holder] = field(default_factory=list)
    _anchors: dict[str, _AnchoredValue] = field(default_factory=dict)
    _weight: int = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                value = self._scalar(event)
                self._weigh(1 + len(event.value))
                self._put(value, event.anchor, self._weight - 1 - len(event.value), key=event.value)
            case yaml.SequenceStartEvent():
                self._begin([], event.anchor)
            case yaml.MappingStartEvent():
                self._begin({}, event.anchor)
            case yaml.CollectionEndEvent():
                done = self._open.pop()
                self._put(done.value, done.anchor, done.weight, done.height)
            case yaml.AliasEvent():
                name = event.anchor or ""
                if (meant := self._anchors.get(name)) is None:
                    raise NotYaml(f"nothing before it is called &{name[:40]}")
                self._weigh(meant.weight)
                self._put(meant.value, None, self._weight, meant.height)

    def _begin(self, value: list[Any] | dict[str, Any], anchor: str | None) -> None:
        self._open.append(_Holder(value, anchor, self._weight))
        self._weigh(1)

    def _put(self, value: Any, anchor: str | None, before: int, height: int = 0, key: str | None = None) -> None:
        if len(self._open) + height > DEEPEST:
            raise NotYaml("nested too deeply")
        if anchor:
            self._anchors[anchor] = _AnchoredValue(value, self._weight - before, height)
        if self._open:
            self._open[-1].put(value, without_surrogates(key) if key is not None else None, height)
        else:
            self.root = value

    def _weigh(self, more: int) -> None:
        self._weight += more
        if self._weight > _HEAVIEST or len(self._open) > DEEPEST:
            raise NotYaml("nested too deeply" if len(self._open) > DEEPEST else "its aliases repeat too much")

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        tag = event.tag or self.loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        if tag in _TYPES:
            value = self.loader.construct_object(yaml.ScalarNode(tag, event.value))
            if not isinstance(value, int | float) or (isfinite(value) and abs(value) < _LARGEST):
                return value
        return without_surrogates(event.value)


def loads(data: bytes) -> Any:
    """Parse one document. Raises NotYaml."""
    loader = _BASE(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    composer = _Composer(loader)
    try:
        for event in _events(loader):
            composer.take(event)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as why:
        raise why if isinstance(why, NotYaml) else NotYaml(" ".join(str(why).split())[:200]) from None
    finally:
        loader.dispose()
    return composer.root


def _events(loader: Any) -> Iterator[yaml.Event]:
    documents = 0
    while (event := loader.get_event()) is not None:
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            raise NotYaml("it holds several documents")
        yield event
