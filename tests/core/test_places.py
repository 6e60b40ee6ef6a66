"""What stands at a place of a thread, and strings in foreign JSON."""

from dataclasses import replace
from typing import Any

import pytest

from inspector.core.policies.catalogue import POLICIES
from inspector.core.policies.place import (
    NO_WINDOW,
    PolicyChoice,
    believed_at,
    context_at,
    settings_for,
)
from inspector.core.session import PolicyState
from inspector.core.untyped import texts_at
from tests.core.sessions import said


@pytest.mark.parametrize(("at", "index"), [(0, 0), (1, 1), (2, 2), (7, 2), (None, 2)])
def test_after_the_last_request_stands_what_the_next_call_would_be(
    at: int | None, index: int
) -> None:
    thread = said(("user", "one"), ("assistant", "two"), ("user", "three"), ("assistant", "four"))
    assert len(thread.requests) == 2
    found = thread.place(at)
    assert found.index == index
    if index < 2:
        assert found is thread.requests[index]
    else:
        assert found.view.messages() == thread.end.messages()


def test_only_strings_are_texts() -> None:
    assert texts_at({"a": ["x", 1, None, "y", ["z"]]}, "a") == ["x", "y"]
    assert texts_at({"a": "x"}, "a") == texts_at([], "a") == []


@pytest.mark.parametrize(
    ("policy", "data"),
    [
        (
            "roku",
            {
                "cache": {"previous": {"system": 1e308, "tools": "t", "model": 1152}},
                "samples": [[1, 2]],
            },
        ),
        ("roku", {"history": [{"step": 1, "tier": "L1", "ok": 1e308}], "scale": 1.5}),
        ("roku", {"samples": [[1]]}),
        ("claude-code", {"failures": "3"}),
    ],
)
def test_policy_state_of_a_journal_that_is_damaged_counts_as_not_recorded(
    policy: str, data: dict[str, Any]
) -> None:
    by = POLICIES[policy]
    whole = said(("user", "one"), ("assistant", "two"), ("user", "three"), ("assistant", "four"))
    damaged = replace(whole, states=[PolicyState(by.reference, data)] * 3)
    settings = settings_for(by, (), NO_WINDOW)
    for at in range(3):
        assert believed_at(by, settings, damaged, at) == believed_at(by, settings, whole, at)
        found = context_at(by, PolicyChoice(), damaged, at)
        assert found.running == context_at(by, PolicyChoice(), whole, at).running
