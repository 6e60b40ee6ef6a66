"""The tables of docs/policies.md say what the settings are."""

import re
from pathlib import Path
from typing import Any

import pytest

from inspector.core.policies.catalogue import POLICIES
from inspector.core.policies.settings import settable_fields

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "policies.md").read_text(encoding="utf-8")
COMMON = {"context_window_tokens", "context_window", "mode"}
"""Settings of every policy, which the page describes once."""
SECTIONS = {part.partition("\n")[0].strip(): part for part in PAGE.split("\n## ")[1:]}


def shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return str(value).lower()
    return f"{value:,}"


def test_every_policy_that_compacts_has_a_section() -> None:
    assert {policy.title for name, policy in POLICIES.items() if name != "none"} <= set(SECTIONS)


@pytest.mark.parametrize("name", [name for name in POLICIES if POLICIES[name].title in SECTIONS])
def test_settings_on_the_page_are_those_of_the_policy(name: str) -> None:
    told = re.findall(
        r"^\| `(\w+)` \| (.*?) \| (.*) \|$", SECTIONS[POLICIES[name].title], flags=re.MULTILINE
    )
    settings = POLICIES[name].settings()
    assert told == [
        (one.name, shown(getattr(settings, one.name)), one.metadata["what"])
        for one in settable_fields(settings)
        if one.name not in COMMON
    ]
    for key in re.findall(r"`([a-z]+_[a-z_]+)`", SECTIONS[POLICIES[name].title]):
        assert key in {one.name for one in settable_fields(settings)} | {"read_file"}
