"""Whose window a policy takes for its own: its constant, that of the session's model, or what somebody set."""

from typing import Any

import pytest

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import POLICIES
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.settings import window_pairs
from tests.core.policies.build import buffer, user

FIXED = {"pulse": 64_000, "learn-claude-code": 200_000}
"""Harnesses that have a window of their own, whatever the model's is."""
FOLLOW = sorted(set(POLICIES) - set(FIXED))
JUDGED = sorted(set(POLICIES) - {"none", "anthropic-editing"})
"""Policies whose tiers fire at a share of the window."""


def window(
    name: str, pairs: tuple[tuple[str, str], ...] = (), model: int | None = None
) -> tuple[int, str]:
    settings: Any = POLICIES[name].settings(pairs, model)
    tokens = getattr(settings, "context_window_tokens", None) or settings.context_window
    return tokens, settings.window_from


@pytest.mark.parametrize("model", [None, 30_000, 200_000, 1_000_000])
def test_fixed_defaults_stay_fixed(model: int | None) -> None:
    for name, tokens in FIXED.items():
        assert window(name, (), model) == (tokens, "own")
    assert POLICIES["pulse"].settings((), model).compact_trigger == 48_000
    assert POLICIES["learn-claude-code"].settings((), model).threshold == 170_616


@pytest.mark.parametrize("name", FOLLOW)
def test_others_follow_the_model_where_it_is_known(name: str) -> None:
    assert window(name, (), 1_000_000) == (1_000_000, "model")
    assert window(name) == (200_000, "unknown")


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize(
    "key", ["window", "context_window_tokens", "CONTEXT_WINDOW", "contextWindow"]
)
def test_a_window_is_set_or_the_models(name: str, key: str) -> None:
    assert window(name, ((key, "90,000"),), 1_000_000) == (90_000, "set")
    assert window(name, ((key, "Model"),), 1_000_000) == (1_000_000, "model")
    assert window(name, ((key, "model"),)) == (FIXED.get(name, 200_000), "unknown")
    assert window(name, (("window", "90000"), (key, "model")), 30_000) == (30_000, "model")


def test_the_users_word_on_the_window_holds_for_all() -> None:
    for name in POLICIES:
        assert window(name, window_pairs(50_000), 50_000) == (50_000, "set")
        assert window(name, window_pairs(None), 50_000) == window(name, (), 50_000)
    assert POLICIES["pulse"].settings(window_pairs(50_000), 50_000).compact_trigger == 37_500


def test_a_harness_own_value_is_its_own_when_it_is_typed() -> None:
    assert window("pulse", (("window", "64000"),), 200_000) == (64_000, "own")
    assert POLICIES["pulse"].settings((("window", "64000"),)) == POLICIES["pulse"].settings()
    assert window("roku", (("window", "200000"),), 200_000) == (200_000, "set")


@pytest.mark.parametrize("name", JUDGED)
def test_the_verdict_says_which_window_and_why(name: str) -> None:
    def why(*pairs: tuple[str, str], model: int | None = 100_000) -> str:
        policy = POLICIES[name]
        settings = policy.settings(pairs, model)
        window_pairs = policy.due(
            PolicyContext(buffer(user("hi")), settings, policy.fresh(settings))
        )
        return " ".join(verdict.why for verdict in window_pairs)

    assert ("the model's" in why()) is (name not in FIXED)
    assert ("its own" in why()) is (name in FIXED)
    assert "100,000" in why(("window", "model"))
    assert "the model's is unknown" in why(("window", "model"), model=None)
    assert "as set" in why(("window", "70000"))
    assert "70,000" in why(("window", "70000"))


def test_whose_window_it_is_cannot_be_set() -> None:
    with pytest.raises(InspectorError, match="no setting"):
        POLICIES["roku"].settings([("window_from", "model")])
    with pytest.raises(InspectorError, match="a whole number or 'model'"):
        POLICIES["roku"].settings([("window", "models")])


def test_a_line_of_another_window_than_the_gauges_says_its_tokens() -> None:
    def label(name: str, *pairs: tuple[str, str]) -> str:
        policy = POLICIES[name]
        return policy.watermarks(policy.settings(pairs, 200_000))[0].label

    assert label("pulse") == "48k compact"
    assert label("pulse", ("compact_trigger", "0")) == "0 compact"
    assert label("pulse", ("window", "model")) == "75% compact"
    assert label("learn-claude-code") == "171k auto"
