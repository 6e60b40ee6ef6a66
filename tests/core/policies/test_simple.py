"""What the harnesses without a state of their own have in common: size, state, an empty and a small buffer."""

from typing import Any

import pytest

from inspector.core.answering import offline
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.needs import drive
from inspector.core.policies import anthropic_editing, codex, gemini, none, opencode
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy, SimpleState
from inspector.core.policies.verdict import PolicyInput
from tests.core.policies.build import assistant, buffer, build, user

OTHERS: list[Policy[Any, Any]] = [
    codex.POLICY,
    anthropic_editing.POLICY,
    opencode.POLICY,
    gemini.POLICY,
    none.POLICY,
]


def test_size_is_what_was_reported_and_what_came_since() -> None:
    settings = codex.POLICY.settings()
    before = buffer(user("x" * 400), assistant("y" * 400))
    raw, first = codex.POLICY.measure(PolicyContext(before, settings, SimpleState()))
    assert raw == first == 200
    known = codex.POLICY.learn(SimpleState(), settings, raw, 5_200)
    longer = before.with_messages([*before.messages, user("z" * 40)])
    assert codex.POLICY.measure(PolicyContext(longer, settings, known)) == (210, 5_210)
    too_much = codex.POLICY.learn(SimpleState(), settings, raw, 100)
    assert codex.POLICY.measure(PolicyContext(longer, settings, too_much))[1] == 105
    assert codex.POLICY.learn(known, settings, 0, 10) is known


@pytest.mark.parametrize("policy", OTHERS, ids=lambda policy: policy.name)
def test_state_survives_its_json(policy: Policy[Any, Any]) -> None:
    settings = policy.settings()
    state = SimpleState(10, 20, 3)
    assert policy.load(settings, policy.dump(state)) == state
    assert policy.load(settings, {}) == policy.fresh(settings)
    for nonsense in (3, {"reported": -1}, {"estimated": "many"}):
        with pytest.raises(InspectorError):
            policy.load(settings, nonsense)


@pytest.mark.parametrize("policy", OTHERS, ids=lambda policy: policy.name)
def test_nothing_is_due_on_a_small_buffer(policy: Policy[Any, Any]) -> None:
    settings, small = policy.settings(), build(2, "x")
    assert not any(
        verdict.due
        for verdict in policy.due(PolicyContext(small, settings, policy.fresh(settings)))
    )
    (done,) = drive(policy.run_due(PolicyContext(small, settings, policy.fresh(settings))), offline)
    assert done.buffer is small
    assert not done.events
    with pytest.raises(InspectorError, match="has no tier"):
        drive(policy.tier("L9", PolicyContext(small, settings, policy.fresh(settings))), offline)


@pytest.mark.parametrize("policy", OTHERS, ids=lambda policy: policy.name)
def test_an_empty_buffer_is_left_alone(policy: Policy[Any, Any]) -> None:
    settings, empty = policy.settings((), 10), Buffer(())
    moment = PolicyInput(overflow="too long")
    assert not any(
        verdict.due
        for verdict in policy.due(PolicyContext(empty, settings, policy.fresh(settings), moment))
    )
    for tier in policy.tiers:
        assert (
            drive(
                policy.tier(
                    tier.name, PolicyContext(empty, settings, policy.fresh(settings), moment)
                ),
                offline,
            ).buffer
            == empty
        )


def test_what_an_estimator_missed_goes_with_what_it_was_made_on_and_what_the_file_lacks_stays() -> (
    None
):
    state, settings = SimpleState(), gemini.POLICY.settings()
    for estimated, reported in ((100, 20_100), (50_100, 95_100), (100_100, 170_100)):
        state = gemini.POLICY.learn(state, settings, estimated, reported)
    assert [state.tokens(raw) for raw in (101_000, 100_100, 50_100, 5_100, 100, 50)] == [
        171_000, 170_100, 95_100, 27_600, 20_100, 20_050,
    ]  # fmt: skip
    assert SimpleState(200, 100).tokens(100) == 50
    # Reported anew, on what the client attached.
    after = gemini.POLICY.learn(state, settings, 4_000, 30_000)
    assert (after.tokens(4_000), after.tokens(5_000)) == (30_000, 31_000)
