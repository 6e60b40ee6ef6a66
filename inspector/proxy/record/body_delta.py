"""What a request's body has in common with an earlier one, so that a session of N requests costs O(messages) on disk.

An agent sends its whole history with every request. Kept of earlier bodies are digests only: a few bytes a message.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from inspector.core.jsontext import dumps

KEPT = 64
"""Bodies that a new one is compared with: the latest of so many threads."""
_WORTH = 200
"""Bytes that must be saved."""


@dataclass(frozen=True, slots=True)
class BodyShape:
    """Digests of a body: of each top-level value, and of each element of those that are lists; with their sizes."""

    values: Mapping[str, tuple[bytes, int]]
    lists: Mapping[str, tuple[tuple[bytes, int], ...]]


@dataclass(frozen=True, slots=True)
class BodyDelta:
    """What of a body is as in the body of request `exchange`."""

    exchange: int
    all: tuple[str, ...]
    first: Mapping[str, int]
    saved: int

    def document(self) -> dict[str, Any]:
        """As it stands in the recording."""
        return {"exchange": self.exchange, "all": list(self.all), "first": dict(self.first)}

    def rest(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """What is left of the body."""
        return {
            key: value[self.first[key] :] if key in self.first else value
            for key, value in body.items()
            if key not in self.all
        }


class BodyDeltas:
    """Remembers the bodies that were written down."""

    def __init__(self) -> None:
        self._shapes: OrderedDict[int, BodyShape] = OrderedDict()

    def find(self, shape: BodyShape) -> BodyDelta | None:
        """The earlier body that saves most; the latest of those that save alike. None where none is worth it."""
        best: BodyDelta | None = None
        for exchange in reversed(self._shapes):
            like = _like(exchange, self._shapes[exchange], shape)
            if like.saved > (best.saved if best else _WORTH):
                best = like
        return best

    def remember(self, exchange: int, shape: BodyShape, like: BodyDelta | None) -> None:
        """It is written down. What it grew out of need not be remembered any longer."""
        if like is not None and like.exchange in self._shapes and _grew(self._shapes[like.exchange], like):
            del self._shapes[like.exchange]
        self._shapes[exchange] = shape
        if len(self._shapes) > KEPT:
            self._shapes.popitem(last=False)


def shape_of(body: Mapping[str, Any]) -> BodyShape:
    """O(its size)."""
    values, lists = {}, {}
    for key, value in body.items():
        if isinstance(value, list) and value:
            lists[key] = tuple(map(_digest, value))
            joined = blake2b(b"".join(digest for digest, _ in lists[key]), digest_size=16).digest()
            values[key] = joined, sum(size for _, size in lists[key])
        else:
            values[key] = _digest(value)
    return BodyShape(values, lists)


def _digest(value: Any) -> tuple[bytes, int]:
    data = dumps(value).encode()
    return blake2b(data, digest_size=16).digest(), len(data)


def _like(exchange: int, earlier: BodyShape, shape: BodyShape) -> BodyDelta:
    same: list[str] = []
    first: dict[str, int] = {}
    saved = 0
    for key, (digest, size) in shape.values.items():
        there = earlier.values.get(key)
        if there is None:
            continue
        if there[0] == digest and (key in earlier.lists) == (key in shape.lists):
            same.append(key)
            saved += size
        elif key in shape.lists and key in earlier.lists:
            count, size = _common(earlier.lists[key], shape.lists[key])
            if count:
                first[key] = count
                saved += size
    return BodyDelta(exchange, tuple(same), first, saved)


def _common(earlier: tuple[tuple[bytes, int], ...], now: tuple[tuple[bytes, int], ...]) -> tuple[int, int]:
    count = saved = 0
    for (one, size), (other, _) in zip(now, earlier, strict=False):
        if one != other:
            break
        count += 1
        saved += size
    return count, saved


def _grew(earlier: BodyShape, like: BodyDelta) -> bool:
    """Is the later body the earlier one with more after it (or all but the last few elements of it)?"""
    return all(
        key in like.all or len(elements) - like.first.get(key, 0) <= 4 for key, elements in earlier.lists.items()
    )
