"""What servers send, read without a server: errors inside streams, and streams that are none."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.dialects.anthropic import AnthropicAssembler
from inspector.core.dialects.openai_chat import ChatAssembler
from inspector.core.dialects.openai_responses import ResponsesAssembler
from inspector.core.needs import ContextWindowExceeded, Failure, ProviderFailure, Timeout
from inspector.providers.answerers import answerer
from inspector.providers.failures import read_failure, reported_failure
from inspector.simulated.state import SimulatedServerState

OVERFLOW = {"code": "context_length_exceeded", "message": "Your input exceeds the context window"}


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", **OVERFLOW}, ContextWindowExceeded),
        ({"type": "response.failed", "response": {"error": OVERFLOW}}, ContextWindowExceeded),
        (
            {
                "type": "response.failed",
                "response": {"error": {"code": "server_error", "message": "x"}},
            },
            ProviderFailure,
        ),
        ({"type": "response.failed", "response": {"error": None}}, ProviderFailure),
        ({"type": "response.failed"}, ProviderFailure),
        ({"type": "error"}, ProviderFailure),
    ],
)
def test_a_response_that_failed(event: dict[str, Any], kind: type[Failure]) -> None:
    assembler = ResponsesAssembler()
    assembler.feed(event)
    assert assembler.failure is not None
    assert type(reported_failure(assembler.failure)) is kind


@pytest.mark.parametrize(
    ("code", "message", "kind", "status"),
    [
        (
            "invalid_request_error",
            "prompt is too long: 5 tokens > 4 maximum",
            ContextWindowExceeded,
            None,
        ),
        ("overloaded_error", "Overloaded", ProviderFailure, 529),
        ("rate_limit_error", "slow down", ProviderFailure, 429),
        ("timeout_error", "too slow", Timeout, None),
        ("authentication_error", "who are you", ProviderFailure, 401),
        ("request_too_large", "", ContextWindowExceeded, None),
        ("something_new", "never heard of", ProviderFailure, None),
        ("", "", ProviderFailure, None),
    ],
)
def test_an_error_without_a_status(
    code: str, message: str, kind: type[Failure], status: int | None
) -> None:
    failure = reported_failure({"code": code, "message": message})
    assert type(failure) is kind
    assert str(failure)
    assert getattr(failure, "status", None) == status


class Refused(Exception):
    """As an SDK raises it."""

    def __init__(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        super().__init__("Error code: ...")
        self.status_code = status
        self.body = body
        self.response = type("Response", (), {"headers": headers or {}})()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            {"type": "error", "error": {"type": "x", "message": "Anthropic's"}},
            "HTTP 418: Anthropic's",
        ),
        ({"message": "OpenAI's", "code": None}, "HTTP 418: OpenAI's"),
        ({"error": "Ollama's"}, "HTTP 418: Ollama's"),
        ({"detail": "FastAPI's"}, "HTTP 418: FastAPI's"),
        ("plain text", "HTTP 418: plain text"),
        ({"error": {"message": ["odd"]}}, "HTTP 418"),
        (None, "HTTP 418"),
        ([1], "HTTP 418"),
    ],
)
def test_errors_in_every_shape(body: object, told: str) -> None:
    assert str(read_failure(Refused(418, body))) == told


def test_a_long_error_is_kept_short() -> None:
    assert len(str(read_failure(Refused(500, "x" * 100_000)))) < 3_000


_KEYS = (
    *(
        "type",
        "index",
        "delta",
        "content_block",
        "message",
        "usage",
        "text",
        "partial_json",
        "thinking",
        "content",
    ),
    *(
        "choices",
        "finish_reason",
        "tool_calls",
        "id",
        "function",
        "arguments",
        "name",
        "response",
        "output",
        "item",
    ),
    *("output_index", "error", "code", "status"),
)
_TYPES = st.sampled_from(
    (
        *(
            "message_start",
            "content_block_start",
            "content_block_delta",
            "message_delta",
            "message_stop",
            "error",
        ),
        *(
            "response.completed",
            "response.output_item.done",
            "response.output_text.delta",
            "response.failed",
        ),
    )
)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5)
    ),
    max_leaves=15,
)
_EVENTS = st.lists(
    st.builds(
        lambda kind, rest: {**rest, "type": kind},
        _TYPES,
        st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=5),
    ),
    max_size=6,
)


@pytest.mark.parametrize(
    "assembler",
    [AnthropicAssembler, ResponsesAssembler, ChatAssembler],
    ids=["anthropic", "responses", "chat"],
)
@given(events=_EVENTS)
def test_a_stream_of_anything(assembler: Callable[[], Any], events: list[Any]) -> None:
    """It is read, or it fails in a way that a provider tells as a broken answer; never as a bug."""
    one = assembler()
    with suppress(Failure, ValueError, LookupError, TypeError, AttributeError):
        for event in events:
            assert isinstance(one.feed(event), str)
        assert isinstance(one.body(), dict)


def test_names_are_cheap_to_import() -> None:
    """The SDKs and the server are imported when they are needed, not before."""
    heavy = {"anthropic", "openai", "httpx2", "aiohttp", "keyring", "tiktoken", "PySide6"}
    modules = "inspector.providers.answerers, inspector.safety.keys, inspector.cli.simulate"
    code = f"import sys, {modules}; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_simulated_answerer_takes_a_world() -> None:
    from inspector.core.needs import Summarize

    world = SimulatedServerState(window=20)
    with answerer("simulated", world=world) as answer:
        with pytest.raises(ContextWindowExceeded):
            answer(Summarize("Summarise.", "word " * 100))
        world.window = 1_000
        world.faults.push("529")
        with pytest.raises(ProviderFailure):
            answer(Summarize("Summarise.", "x"))
        assert answer(Summarize("Summarise.", "x")).text
