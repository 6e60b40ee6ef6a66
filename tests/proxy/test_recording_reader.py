"""Recordings made by the real proxy, between both SDKs and the simulated provider, read back as transcripts."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest

from inspector.cli import main as cli
from inspector.core.session import Session
from inspector.proxy.relay.server import ProxyServer
from inspector.simulated.server import SimulatedServer
from inspector.transcripts.files import open_transcript
from inspector.transcripts.follow import Follower

READ = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
ANTHROPIC_TOOL: Any = {"name": "read_file", "description": "reads", "input_schema": READ}
CHAT_TOOL: Any = {"type": "function", "function": {"name": "read_file", "parameters": READ}}
RESPONSES_TOOL: Any = {"type": "function", "name": "read_file", "parameters": READ}
GEMINI_TOOL = {"functionDeclarations": [{"name": "read_file", "parametersJsonSchema": READ}]}


@contextmanager
def recorded(simulated: SimulatedServer, folder: Path) -> Iterator[tuple[ProxyServer, Path]]:
    path = folder / "recording.jsonl"
    with ProxyServer(simulated.url, path) as proxy:
        yield proxy, path


def anthropic_turns(
    url: str, turns: int, headers: dict[str, str] | None = None, task: str = "Read it all."
) -> Any:
    """An agent's loop with the SDK, streaming: the conversation that it ends with."""
    import anthropic

    messages: list[Any] = [{"role": "user", "content": task}]
    with anthropic.Anthropic(
        base_url=url, api_key="k", max_retries=0, default_headers=headers
    ) as client:
        for _ in range(turns):
            with client.messages.stream(
                model="claude-simulated",
                max_tokens=500,
                system="Be brief.",
                tools=[ANTHROPIC_TOOL],
                messages=messages,
            ) as stream:
                answer = stream.get_final_message()
            messages.append(
                {"role": "assistant", "content": [block.to_dict() for block in answer.content]}
            )
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                break
            results = [
                {"type": "tool_result", "tool_use_id": one.id, "content": f"text of {one.id}"}
                for one in calls
            ]
            messages.append({"role": "user", "content": results})
    return messages


def lengths(session: Session, thread: str = "main") -> list[int]:
    return [request.view.length for request in session.thread(thread).requests]


def grows(session: Session, thread: str = "main") -> None:
    """Every buffer extends the one before it with its answer; all were counted."""
    requests = session.thread(thread).requests
    for one, other in pairwise(requests):
        assert other.view.messages()[: one.view.length] == one.view.messages()
    assert all(request.usage and request.usage.prompt and request.finish for request in requests)


def test_anthropic_streamed(simulated: SimulatedServer, tmp_path: Path) -> None:
    with recorded(simulated, tmp_path) as (proxy, path):
        messages = anthropic_turns(proxy.url, 5)
    session = open_transcript(path)
    (thread,) = session.threads
    assert (session.format, not session.problems, thread.model) == (
        "proxy",
        True,
        "claude-simulated",
    )
    grows(session)
    assert thread.requests[0].prompt.system == "Be brief."
    assert [tool.name for tool in thread.requests[0].prompt.tools or ()] == ["read_file"]
    assert len(thread.end) == len(messages)
    assert thread.end.messages()[-1].text == messages[-1]["content"][-1].get("text", "")
    sizes = [json.loads(line) for line in path.read_text().splitlines()]
    assert sum("like" in record for record in sizes) >= len(thread.requests) - 1


def test_openai_chat_and_responses(simulated: SimulatedServer, tmp_path: Path) -> None:
    import openai

    chat: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Read the first file."},
    ]
    items: list[Any] = [{"role": "user", "content": "Read the second file."}]
    with (
        recorded(simulated, tmp_path) as (proxy, path),
        openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0) as client,
    ):
        for n in range(3):
            told = client.chat.completions.create(
                model="gpt-simulated", messages=chat, tools=[CHAT_TOOL]
            )
            message = told.choices[0].message
            chat.append(message.to_dict())
            chat += [
                {"role": "tool", "tool_call_id": one.id, "content": f"a{n}"}
                for one in message.tool_calls or ()
            ]
            with client.responses.stream(
                model="gpt-simulated", input=items, tools=[RESPONSES_TOOL]
            ) as stream:
                response = stream.get_final_response()
            items += [one.to_dict() for one in response.output]
            calls = [one for one in response.output if one.type == "function_call"]
            items += [
                {"type": "function_call_output", "call_id": one.call_id, "output": f"b{n}"}
                for one in calls
            ]
    session = open_transcript(path)
    assert [thread.parent for thread in session.threads] == ["", ""]
    first, second = session.threads
    assert [len(thread.requests) for thread in session.threads] == [3, 3]
    for thread in session.threads:
        grows(session, thread.id)
    assert first.requests[0].prompt.system == "Be brief."
    assert first.requests[2].view.messages()[0].text == "Read the first file."
    assert second.requests[2].view.messages()[0].text == "Read the second file."
    assert not session.problems


def test_a_chain_of_responses_by_name(simulated: SimulatedServer, tmp_path: Path) -> None:
    """Bodies that hold only what is new; the provider here keeps nothing, so it sees little: the reader sees all."""
    told = {"model": "gpt-simulated", "stream": False}
    with (
        recorded(simulated, tmp_path) as (proxy, path),
        httpx2.Client(base_url=proxy.url, timeout=60) as client,
    ):
        first = client.post("/v1/responses", json={**told, "input": "one"}).json()
        more = [{"role": "user", "content": "two"}]
        body = {**told, "input": more, "previous_response_id": first["id"]}
        assert client.post("/v1/responses", json=body).status_code == 200
    session = open_transcript(path)
    request = session.main.requests[1]
    assert [message.role for message in request.view] == ["user", "assistant", "user"]
    assert [message.text for message in request.view][::2] == ["one", "two"]


def test_gemini(simulated: SimulatedServer, tmp_path: Path) -> None:
    contents: list[Any] = [{"role": "user", "parts": [{"text": "Read everything."}]}]
    body = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [GEMINI_TOOL],
        "contents": contents,
    }
    stream = "/v1beta/models/gemini-simulated:streamGenerateContent?alt=sse&key=secret"
    with (
        recorded(simulated, tmp_path) as (proxy, path),
        httpx2.Client(base_url=proxy.url, timeout=60) as client,
    ):
        for n in range(3):
            text = client.post(stream, json=body).text
            chunks = [
                json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")
            ]
            parts = [
                part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]
            ]
            said = "".join(part.get("text", "") for part in parts)
            calls = [part for part in parts if "functionCall" in part]
            contents.append({"role": "model", "parts": [{"text": said}, *calls]})
            answers: list[Any] = [
                {
                    "functionResponse": {
                        "name": one["functionCall"]["name"],
                        "response": {"output": f"text {n}"},
                    }
                }
                for one in calls
            ]
            contents.append({"role": "user", "parts": answers or [{"text": "go on"}]})
        count = client.post(
            "/v1beta/models/gemini-simulated:countTokens", json={"contents": contents}
        ).json()
        client.get("/v1beta/models")
    session = open_transcript(path)
    grows(session)
    assert lengths(session) == [1, 3, 5]
    assert session.main.requests[0].prompt.system == "Be brief."
    assert session.main.model == "gemini-simulated"
    ids = [call.id for message in session.main.end for call in message.calls]
    results = [message.result.call_id for message in session.main.end if message.result]
    assert len(set(ids)) == len(ids)
    assert ids[: len(results)] == results
    assert [call.kind for call in session.side_calls] == ["token count", "models"]
    assert f"{count['totalTokens']:,} tokens" == session.side_calls[0].what
    assert "secret" not in path.read_text()


@pytest.mark.parametrize("fault", ["429", "529", "overflow"])
def test_what_was_refused_is_no_step(
    simulated: SimulatedServer, tmp_path: Path, fault: str
) -> None:
    body = {
        "model": "claude-simulated",
        "max_tokens": 50,
        "messages": [{"role": "user", "content": "hello"}],
    }
    with (
        recorded(simulated, tmp_path) as (proxy, path),
        httpx2.Client(base_url=proxy.url, timeout=60) as client,
    ):
        simulated.world.faults.push(fault)
        assert client.post("/v1/messages", json=body).status_code >= 400
        assert client.post("/v1/messages", json=body).status_code == 200
    session = open_transcript(path)
    assert lengths(session) == [1]
    assert [(call.kind, call.thread, bool(call.what)) for call in session.side_calls] == [
        ("refused", "main", True)
    ]


def test_a_stream_that_was_cut(simulated: SimulatedServer, tmp_path: Path) -> None:
    """What came is kept; that it was cut is said."""
    body = {"model": "claude-simulated", "max_tokens": 50, "stream": True}
    body["messages"] = [{"role": "user", "content": "hello, say something long enough to be cut"}]
    with (
        recorded(simulated, tmp_path) as (proxy, path),
        httpx2.Client(base_url=proxy.url, timeout=60) as client,
    ):
        simulated.world.faults.push("cut:6")
        with (
            pytest.raises(httpx2.HTTPError),
            client.stream("POST", "/v1/messages", json=body) as response,
        ):
            response.read()
    (request,) = open_transcript(path).main.requests
    assert request.finish == "cut"
    assert request.usage
    assert request.usage.prompt
    assert not request.usage.output_is_final


def test_many_at_once(simulated: SimulatedServer, tmp_path: Path) -> None:
    """Eight agents at the same time, each with its own tag: eight threads, none mixed up."""
    with recorded(simulated, tmp_path) as (proxy, path):
        agents = [
            threading.Thread(
                target=anthropic_turns,
                args=(f"{proxy.url}/s/t{n}", 4),
                kwargs={"task": f"Read part {n}."},
            )
            for n in range(8)
        ]
        for agent in agents:
            agent.start()
        for agent in agents:
            agent.join(60)
    session = open_transcript(path)
    assert len(session.threads) == 8
    assert not session.problems
    firsts = set()
    for thread in session.threads:
        grows(session, thread.id)
        (said,) = {request.view.messages()[0].text for request in thread.requests}
        firsts.add(said)
    assert firsts == {f"Read part {n}." for n in range(8)}


def test_followed_while_it_is_written(simulated: SimulatedServer, tmp_path: Path) -> None:
    told: list[Session] = []
    with recorded(simulated, tmp_path) as (proxy, path):
        anthropic_turns(proxy.url, 1)
        end = time.monotonic() + 20
        follower = Follower(path, told.append)
        anthropic_turns(proxy.url, 3, task="Something else.")
        while time.monotonic() < end and (
            not told or sum(len(one.requests) for one in told[-1].threads) < 4
        ):
            follower.look()
            time.sleep(0.02)
    whole = open_transcript(path)
    last = told[-1]
    assert [[len(r.view) for r in thread.requests] for thread in last.threads] == [
        [len(r.view) for r in thread.requests] for thread in whole.threads
    ]


COMMANDS = (
    ["info"],
    ["buffer", "--at", "-1"],
    ["step"],
    ["replay", "--policy", "roku", "--policy", "pi"],
    ["calibrate"],
)


@pytest.mark.parametrize("words", COMMANDS, ids=[one[0] for one in COMMANDS])
def test_every_command_opens_it(
    simulated: SimulatedServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    with recorded(simulated, tmp_path) as (proxy, path):
        anthropic_turns(proxy.url, 4)
    assert cli.main([words[0], str(path), *words[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert cli.main([words[0], str(path), *words[1:]]) == 0
