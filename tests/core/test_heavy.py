"""What is made ready late: patterns."""

import re
from importlib import import_module

import pytest

from inspector.core.heavy import pattern


def test_it_does_what_the_compiled_one_does() -> None:
    late, compiled = pattern(r"(\w)x", re.IGNORECASE), re.compile(r"(\w)x", re.IGNORECASE)
    assert late.findall("aX bx") == compiled.findall("aX bx") == ["a", "b"]
    assert late.sub("-", "aX c") == "- c"
    assert late.pattern == compiled.pattern
    assert late.search("x") is None


def test_a_mistake_in_it_shows_when_it_is_used() -> None:
    broken = pattern("(")
    with pytest.raises(re.error):
        broken.search("")


_HOLDERS = (
    "core.calls",
    "core.facts.names",
    "core.facts.pasted",
    "core.facts.rules",
    "core.facts.sentences",
    "core.facts.user_words",
    "core.findings.composition",
    "gui.look.visible",
)


@pytest.mark.parametrize("name", _HOLDERS)
def test_every_one_can_be_compiled(name: str) -> None:
    found = [
        one
        for one in vars(import_module(f"inspector.{name}")).values()
        if isinstance(one, type(pattern("")))
    ]
    assert found
    assert all(isinstance(one.pattern, str) for one in found)
