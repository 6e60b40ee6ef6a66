"""The slope: a weighted median of growth ratios, a prior until there are some."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.tokens.growth_ratios import Ratios
from inspector.core.tokens.prediction import Addition, Learner, prior
from inspector.core.tokens.quantiles import quantile

grown = st.tuples(st.integers(-50, 3_000), st.integers(-50, 3_000))


@given(st.lists(grown, max_size=60), st.floats(0.3, 3))
def test_the_median_is_that_of_the_last_ratios_and_what_is_expected(
    pairs: list[tuple[int, int]], expected: float
) -> None:
    ratios = Ratios(16)
    for told, counted in pairs:
        ratios.add(told, counted)
    kept = [(told / counted, counted) for told, counted in pairs if told > 0 and counted > 0][-16:]
    found, everything = ratios.median(expected), sorted([*kept, (expected, 1_500)])
    below = sum(counted for ratio, counted in everything if ratio < found)
    upto = sum(counted for ratio, counted in everything if ratio <= found)
    assert below <= sum(counted for _, counted in everything) / 2 <= upto
    assert len(ratios) == len(kept)


def test_a_giant_does_not_outvote_all_text() -> None:
    ratios = Ratios(128)
    for _ in range(20):
        ratios.add(1_100, 1_000)
    ratios.add(1_600, 500_000)  # an image, counted as its base64
    assert ratios.median(1.0) == 1.1


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-sonnet-4-20250514", 1.12),
        ("claude-opus-4-5-20251101", 1.12),
        ("claude-3-5-haiku-latest", 1.12),
        ("claude-opus-5", 1.55),
        ("claude-fable-1", 1.55),
        ("claude-3-sonnet-20240229", 1.12),
        ("anthropic/claude-4.6-sonnet-20260217", 1.12),
        ("us.anthropic.claude-opus-4-6-v1:0", 1.12),
        ("claude-opus-4-7-20260416", 1.55),
        ("claude-opus-4-8[1m]", 1.55),
        ("anthropic/claude-4.7-opus", 1.55),
        ("claude-sonnet-5", 1.55),
        ("deepseek-chat", 1.0),
        ("gpt-5.5", 0.97),
        ("gpt-5.2-codex", 0.97),
        ("something-else", 1.0),
    ],
)
def test_the_prior_is_that_of_the_models_family(model: str, family: float) -> None:
    assert prior("tiktoken", model) == family
    assert prior("roku", model) == pytest.approx(1.12 * family)


def test_a_model_of_no_measured_family_is_predicted_within_wide_bounds() -> None:
    rooms = []
    for model in ("something-else", "claude-opus-4-8"):
        learner = Learner("tiktoken")
        learner.report(Addition(10_000, extends=False), None, 20_000, 0, model, fresh=True)
        told = learner.predict(Addition(20_000, extends=True))
        assert told is not None
        rooms.append((told.high - told.tokens) / (told.tokens - 20_000))
    assert rooms[0] > 2.5 * rooms[1] > 0.25


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0, 1))
def test_a_quantile_lies_among_the_values(values: list[float], share: float) -> None:
    found = quantile(values, share)
    assert found is not None
    assert min(values) <= found <= max(values)
    assert quantile([], share) is None
