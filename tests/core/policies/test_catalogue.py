"""The list and the policies agree."""

import pytest

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import POLICIES, TITLES, policy


@pytest.mark.parametrize("name", TITLES)
def test_a_policy_is_what_the_list_says(name: str) -> None:
    found = policy(name.upper())
    assert (found.name, found.title) == (name, TITLES[name])
    assert POLICIES[name] is found


def test_others_are_told() -> None:
    with pytest.raises(InspectorError, match="no policy 'x'"):
        policy("x")
