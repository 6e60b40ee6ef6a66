"""Prices: every part of a call at its own price, unknown models without one."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices import Usage as Priced
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import EMPTY_VIEW
from inspector.core.session import Request, Thread
from inspector.core.tokens.catalogue import priced_model
from inspector.core.tokens.prices import call_cost
from inspector.core.usage import Usage
from tests.core.sessions import thread_cost

OPUS = "claude-opus-4-5-20251101"
"""5 dollars a million in, 25 out, 0.5 from the cache, 6.25 into it, 10 for an hour."""


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(input=1_000_000), "5"),
        (Usage(output=1_000_000), "25"),
        (Usage(cache_read=1_000_000), "0.5"),
        (Usage(cache_write=1_000_000), "6.25"),
        (Usage(cache_write=1_000_000, cache_write_1h=1_000_000), "10"),
        (Usage(cache_write=1_000_000, cache_write_1h=400_000), "7.75"),
        (Usage(input=10, cache_read=1000, cache_write=100, output=20), "0.001675"),
        (Usage(), "0"),
    ],
)
def test_cost(usage: Usage, dollars: str) -> None:
    assert call_cost(OPUS, usage, "2026-01-03T10:11:12Z") == Decimal(dollars)


@pytest.mark.parametrize("model", ["claude-fake", "", "<synthetic>"])
def test_unknown_models_have_no_price(model: str) -> None:
    assert call_cost(model, Usage(input=5)) is None


def test_impossible_numbers_have_no_price() -> None:
    assert call_cost(OPUS, Usage(input=-2000, cache_read=1000)) is None


def test_time_may_be_anything() -> None:
    assert call_cost(OPUS, Usage(input=1), "yesterday") == call_cost(
        OPUS, Usage(input=1), "2026-01-03T10:11:12"
    )


def call(n: int, usage: Usage | None, model: str = "") -> Request:
    return Request(n, EMPTY_VIEW, usage=usage, model=model)


def test_a_thread_costs_what_its_calls_cost() -> None:
    calls = (
        call(0, Usage(input=100_000), OPUS),
        call(1, None, "claude-fake"),
        call(2, Usage(output=1000), OPUS),
    )
    assert thread_cost(Thread("main", requests=calls)) == Decimal("0.525")
    assert (
        thread_cost(Thread("main", requests=(*calls, call(3, Usage(input=1), "claude-fake"))))
        is None
    )
    assert thread_cost(Thread("main")) == 0


def test_a_call_without_a_name_is_of_the_model_before() -> None:
    calls = (call(0, Usage(input=100_000)), call(1, Usage(input=100_000)))
    assert thread_cost(Thread("main", model=OPUS, requests=calls)) == 1


COUNTS = st.integers(0, 2_000_000) | st.sampled_from(
    [0, 1, 127_999, 128_000, 200_000, 200_001, 272_000]
)
MODELS = (
    OPUS,
    "claude-sonnet-4-5",
    "gpt-5",
    "gpt-4o",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "gpt-5.4",
    "deepseek-chat",
)


@given(st.sampled_from(MODELS), st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS), COUNTS)
def test_it_is_what_the_catalogue_says(model: str, usage: Usage, hourly: int) -> None:
    """Prices are kept by model and size of the prompt; the catalogue works each call out anew."""
    usage = replace(usage, cache_write_1h=min(hourly, usage.cache_write))
    found = priced_model(model)
    assert found
    provider, known = found
    calls = Priced(
        input_tokens=usage.input + usage.cache_read + usage.cache_write,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        cache_write_1h_tokens=usage.cache_write_1h,
        output_tokens=usage.output,
    )
    moment = datetime(2026, 1, 3, 10, 11, tzinfo=UTC)
    wanted = known.calc_price(calls, provider, genai_request_timestamp=moment).total_price
    assert call_cost(model, usage, moment.isoformat()) == wanted
