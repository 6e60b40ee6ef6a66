"""Values that are made quickly are the same values."""

import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, dataclass, field, replace
from inspect import signature

import pytest

from inspector.core.message import Message, Text, ToolCall
from inspector.core.quick import quick
from inspector.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    size: int = 3
    notes: dict[str, int] = field(
        default_factory=dict, init=False, compare=False, repr=False, hash=False
    )


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    name: str
    size: int = 3
    notes: dict[str, int] = field(
        default_factory=dict, init=False, compare=False, repr=False, hash=False
    )


def test_made_alike() -> None:
    assert list(signature(Quick).parameters) == list(signature(Plain).parameters)
    for one, other in (
        (Quick("a"), Plain("a")),
        (Quick("a", 4), Plain("a", 4)),
        (Quick(size=5, name="b"), Plain("b", 5)),
    ):
        assert (one.name, one.size, one.notes) == (other.name, other.size, other.notes)
        assert repr(one) == repr(other).replace("Plain", "Quick")
    assert Quick("a").notes is not Quick("a").notes
    with pytest.raises(TypeError):
        Quick()  # type: ignore[call-arg]


def test_still_frozen_equal_and_hashed() -> None:
    message = Message("m", "user", (Text("hi"),))
    with pytest.raises(FrozenInstanceError):
        message.id = "other"  # type: ignore[misc]
    assert message == Message("m", "user", (Text("hi"),)) != replace(message, id="n")
    assert hash(Usage(1, 2)) == hash(Usage(1, cache_read=2))
    assert replace(message, summary=True).summary
    assert deepcopy(ToolCall("c", "n", {"a": [1]})) == pickle.loads(
        pickle.dumps(ToolCall("c", "n", {"a": [1]}))
    )
