"""The list and the policies agree."""

import pytest

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import POLICIES, TITLES
from inspector.extensions.policies import find_policy


@pytest.mark.parametrize("name", TITLES)
def test_a_policy_is_what_the_list_says(name: str) -> None:
    found = find_policy(name.upper())
    assert (found.name, found.title) == (name, TITLES[name])
    assert POLICIES[name] is found


def test_others_are_told() -> None:
    with pytest.raises(InspectorError, match="no policy 'x'"):
        find_policy("x")


def test_a_policy_says_which_tier_needs_a_refusal_and_what_has_a_summary_made() -> None:
    found = {
        name: [
            tier.name
            for tier in POLICIES[name].tiers
            if POLICIES[name].needs_overflow(tier.name.lower())
        ]
        for name in TITLES
    }
    assert {name: tiers for name, tiers in found.items() if tiers} == {"roku": ["L4"]}
    makers = [one for one in POLICIES.values() if one.memory_setting is not None]
    assert [one.name for one in makers] == ["roku"]
    for one in makers:
        assert one.memory_setting is not None
        assert one.settings([one.memory_setting]) != one.settings()
