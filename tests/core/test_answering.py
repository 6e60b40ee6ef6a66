"""What a provider's refusal is to a tier."""

import pytest

from inspector.core.answering import http_failure
from inspector.core.needs import ContextWindowExceeded, ProviderFailure, Timeout


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (400, "prompt is too long: 209741 tokens > 200000 maximum", ""),
        (400, "input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648", ""),
        (
            400,
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000",
            "",
        ),
        (400, "Your input exceeds the context window of this model.", "context_length_exceeded"),
        (500, "", "context_length_exceeded"),
        (413, "Request exceeds the maximum size", ""),
    ],
)
def test_overflow_by_code_or_text(status: int, message: str, code: str) -> None:
    assert isinstance(http_failure(status, message, code=code), ContextWindowExceeded)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"),
        (400, "messages.0.content.1.image: image exceeds 5 MB maximum"),
        (401, "invalid x-api-key"),
        (403, "prompt is too long"),
        (404, "model: nosuch"),
        (429, "maximum context length of your plan"),
        (529, "Overloaded"),
    ],
)
def test_anything_else_is_a_provider_failure_with_its_status(status: int, message: str) -> None:
    failure = http_failure(status, message)
    assert isinstance(failure, ProviderFailure)
    assert (failure.status, failure.kind, str(failure)) == (status, "http", message)


@pytest.mark.parametrize("status", [408, 504])
def test_a_server_that_ran_out_of_time(status: int) -> None:
    assert isinstance(http_failure(status, ""), Timeout)


@pytest.mark.parametrize(
    ("header", "told"), [("17", "17 s"), ("Wed, 21 Oct 2026 07:28:00 GMT", "GMT"), ("", "")]
)
def test_retry_after_is_kept(header: str, told: str) -> None:
    message = str(http_failure(429, "slow down", retry_after=header))
    assert message.startswith("slow down")
    assert told in message
    assert ("retry after" in message) is bool(header)
