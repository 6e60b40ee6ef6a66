"""Tool schemas as they are sent: their bytes stay the same for a whole session, or the provider's cache is lost."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from inspector.core.buffer import Tool
from inspector.core.jsontext import WRAPPED, dumps, loads

Shape: TypeAlias = Callable[[Tool], Any]
"""A tool's definition in a provider's own shape; None for a tool that this provider cannot be offered."""


@dataclass(frozen=True, slots=True)
class FrozenTools:
    """`json` is the list of definitions as it stands on the wire; `source` are the tools it was made of."""

    source: tuple[Tool, ...] = ()
    json: bytes = b"[]"

    def definitions(self) -> list[Any]:
        """The list to send: always the same keys in the same order, so always the same bytes."""
        found: list[Any] = loads(self.json, deepest=WRAPPED)
        return found

    def holds(self, tools: Sequence[Tool]) -> bool:
        """Are these the same tools? In whatever order they and their keys come."""
        return tuple(tools) == self.source or _canonical(tools) == _canonical(self.source)


def freeze(tools: Iterable[Tool], shape: Shape) -> FrozenTools:
    """The tools in a provider's shape."""
    source = tuple(tools)
    shaped = [found for tool in source if (found := shape(tool)) is not None]
    return FrozenTools(source, dumps(shaped).encode("utf-8", "replace"))


def _canonical(tools: Iterable[Tool]) -> list[bytes]:
    return sorted(orjson.dumps(_plain(tool.definition), option=orjson.OPT_SORT_KEYS) for tool in tools)


def _plain(value: Any) -> Any:
    """What orjson cannot sort (deep nesting, huge numbers) goes in as its text."""
    return loads(dumps(value).encode("utf-8", "replace"), deepest=WRAPPED)
