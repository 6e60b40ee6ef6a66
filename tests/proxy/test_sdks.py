"""Both SDKs and all three dialects through the proxy: what they get is what they get without it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from inspector.core.message import ToolCall
from inspector.proxy.relay.server import ProxyServer
from inspector.simulated.server import SimulatedServer
from inspector.transcripts.files import open_transcript
from tests.proxy.raw import kinds

PLAIN = [{"role": "user", "content": "Say something about the parser, please."}]


@pytest.fixture
def proxy(simulated: SimulatedServer, tmp_path: Path) -> Iterator[ProxyServer]:
    """In front of the simulated provider."""
    with ProxyServer(simulated.url, tmp_path / "record.jsonl") as one:
        yield one


def _anthropic(url: str) -> Any:
    import anthropic

    client = httpx2.Client(trust_env=False)
    return anthropic.Anthropic(api_key="sk-secret", base_url=url, http_client=client, max_retries=0)


def _openai(url: str) -> Any:
    import openai

    client = openai.DefaultHttpxClient(trust_env=False)
    return openai.OpenAI(
        api_key="sk-secret", base_url=f"{url}/v1", http_client=client, max_retries=0
    )


def _messages(url: str) -> Any:
    with _anthropic(url) as client:
        return (
            client.messages.create(model="simulated", max_tokens=300, messages=PLAIN)
            .content[0]
            .text
        )


def _messages_stream(url: str) -> Any:
    with (
        _anthropic(url) as client,
        client.messages.stream(model="simulated", max_tokens=300, messages=PLAIN) as stream,
    ):
        return "".join(stream.text_stream)


def _count(url: str) -> Any:
    with _anthropic(url) as client:
        return client.messages.count_tokens(model="simulated", messages=PLAIN).input_tokens


def _chat(url: str) -> Any:
    with _openai(url) as client:
        return (
            client.chat.completions.create(model="simulated", messages=PLAIN)
            .choices[0]
            .message.content
        )


def _chat_stream(url: str) -> Any:
    with _openai(url) as client:
        stream = client.chat.completions.create(model="simulated", messages=PLAIN, stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def _responses(url: str) -> Any:
    with _openai(url) as client:
        return client.responses.create(model="simulated", input=PLAIN).output_text


def _responses_stream(url: str) -> Any:
    with _openai(url) as client, client.responses.stream(model="simulated", input=PLAIN) as stream:
        return "".join(
            event.delta for event in stream if event.type == "response.output_text.delta"
        )


def _compact(url: str) -> Any:
    with _openai(url) as client:
        return client.responses.compact(model="simulated", input=PLAIN).output[-1].type


CALLS: list[Callable[[str], Any]] = [
    _messages,
    _messages_stream,
    _count,
    _chat,
    _chat_stream,
    _responses,
    _responses_stream,
    _compact,
]


@pytest.mark.parametrize("call", CALLS)
def test_the_same_answer_as_without_it(
    simulated: SimulatedServer, proxy: ProxyServer, call: Any
) -> None:
    """By the plain address, and by one with a tag."""
    expected = call(simulated.url)
    assert expected
    assert call(proxy.url) == expected
    assert call(f"{proxy.url}/s/launch") == expected
    assert [line["ended"] for line in kinds(proxy, "response", 2)] == ["complete", "complete"]
    assert [line.get("tag") for line in kinds(proxy, "request", 2)] == [None, "launch"]
    assert "sk-secret" not in proxy.recorder.path.read_text()


FAULTS = [
    "429:7",
    "529",
    "400",
    "cut",
    "cut:3",
    "end:3",
    "overflow",
    "overflow-late",
    "garbage",
    "empty",
    "error-event",
]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", [_messages, _messages_stream, _chat_stream, _responses_stream])
def test_the_same_failure_as_without_it(
    simulated: SimulatedServer, proxy: ProxyServer, call: Any, fault: str
) -> None:
    def outcome(url: str) -> tuple[str, Any]:
        simulated.world.faults.push(fault)
        try:
            return "answered", call(url)
        except Exception as error:  # noqa: BLE001 - whatever the SDK makes of it
            status = getattr(error, "status_code", None)
            response = getattr(error, "response", None)
            return type(error).__name__, (
                status,
                response.headers.get("retry-after") if response is not None else None,
            )

    assert outcome(proxy.url) == outcome(simulated.url)
    kinds(proxy, "response")


def test_the_recording_is_a_session(simulated: SimulatedServer, proxy: ProxyServer) -> None:
    """With tool calls and results, as any other transcript."""
    tool = {
        "name": "Read",
        "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}},
    }
    history: list[Any] = [{"role": "user", "content": "Please read src/parser.py and fix it."}]
    with _anthropic(proxy.url) as client:
        for _ in range(4):
            with client.messages.stream(
                model="simulated", max_tokens=500, messages=history, tools=[tool]
            ) as stream:
                said = stream.get_final_message()
            history.append(
                {"role": "assistant", "content": [block.model_dump() for block in said.content]}
            )
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": "def parse(): ..."}
                for block in said.content
                if block.type == "tool_use"
            ]
            if not results:
                break
            history.append({"role": "user", "content": results})
    kinds(proxy, "response", 2)
    session = open_transcript(proxy.recorder.path)
    requests = session.main.requests
    assert session.format == "proxy"
    assert len(requests) == len(kinds(proxy, "request"))
    assert all(request.usage is not None and request.usage.prompt for request in requests)
    calls = [
        part
        for message in session.main.messages
        for part in message.parts
        if isinstance(part, ToolCall)
    ]
    assert calls
    assert calls[0].name == "Read"
    assert not session.problems
