"""What real agents need of the simulated provider: WebSocket, packed bodies, heavier tokens, their own tools."""

import asyncio
import gzip
import zlib
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import brotli  # type: ignore[import-untyped]
import httpx2
import pytest
import zstandard

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.jsontext import dumps, loads
from inspector.core.message import Message, Text
from inspector.simulated.agent import next_move
from inspector.simulated.call import SimulatedCall
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import SimulatedServerState, WireLog

RESPONSES = "/v1/responses"


@pytest.fixture
def http(simulated: SimulatedServer) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=simulated.url, trust_env=False, timeout=60) as client:
        yield client


def _create(*items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "response.create", "model": "m", "store": False, "input": list(items), **more}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


class _Talk:
    """One connection: `ask` sends a frame and reads up to the event that ends its answer."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def ask(self, frame: Any) -> list[Any]:
        await self.socket.send_str(dumps(frame))
        events: list[Any] = []
        while not events or events[-1]["type"] not in (
            "response.completed",
            "response.failed",
            "error",
        ):
            message = await self.socket.receive(20)
            if message.type is not aiohttp.WSMsgType.TEXT:
                return [*events, {"type": "closed"}]
            events.append(loads(message.data.encode()))
        return events


def _talking(server: SimulatedServer, play: Callable[[_Talk], Awaitable[None]]) -> None:
    async def main() -> None:
        url = server.url + RESPONSES
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(url, compress=15) as socket,
        ):
            await play(_Talk(socket))

    asyncio.run(main())


def test_a_connection_goes_on_from_its_latest_response(simulated: SimulatedServer) -> None:
    async def play(talk: _Talk) -> None:
        begun = await talk.ask(_create(_user("this socket is mine"), generate=False))
        assert [event["type"] for event in begun] == [
            "response.created",
            "response.in_progress",
            "response.completed",
        ]
        assert begun[-1]["response"]["output"] == []
        first = await talk.ask(
            _create(_user("hello"), previous_response_id=begun[-1]["response"]["id"])
        )
        assert "2 messages" in first[-1]["response"]["output"][0]["content"][0]["text"]
        again = await talk.ask(
            _create(_user("x"), previous_response_id=begun[-1]["response"]["id"])
        )
        assert (again[-1]["type"], again[-1]["error"]["code"]) == (
            "error",
            "previous_response_not_found",
        )

    _talking(simulated, play)


def test_what_a_connection_knows_no_other_does(simulated: SimulatedServer) -> None:
    known: list[str] = []

    async def first(talk: _Talk) -> None:
        known.append((await talk.ask(_create(_user("a"))))[-1]["response"]["id"])

    async def second(talk: _Talk) -> None:
        assert (await talk.ask(_create(_user("b"), previous_response_id=known[0])))[-1][
            "status"
        ] == 400

    _talking(simulated, first)
    _talking(simulated, second)


def test_a_sealed_compaction_over_the_socket_is_read_later(simulated: SimulatedServer) -> None:
    async def play(talk: _Talk) -> None:
        asked = await talk.ask(
            _create(_user("Please fix src/a.py"), {"type": "compaction_trigger"})
        )
        (item,) = asked[-1]["response"]["output"]
        assert item["type"] == "compaction"
        later = await talk.ask(_create(item, _user("and now?")))
        assert later[-1]["response"]["usage"]["input_tokens"] > 20

    _talking(simulated, play)


def test_faults_over_the_socket(simulated: SimulatedServer) -> None:
    simulated.world.faults.push("429:7,overflow,error-event,garbage,ok,cut")

    async def play(talk: _Talk) -> None:
        refused = (await talk.ask(_create(_user("a"))))[-1]
        assert (refused["status"], refused["headers"]["retry-after"]) == (429, "7")
        assert (await talk.ask(_create(_user("b"))))[-1]["error"][
            "code"
        ] == "context_length_exceeded"
        assert (await talk.ask(_create(_user("c"))))[-1]["type"] in ("error", "response.failed")
        await talk.socket.receive(20)  # what followed the error
        await talk.socket.send_str(dumps(_create(_user("d"))))
        assert "Bad Gateway" in (await talk.socket.receive(20)).data

    async def broken(talk: _Talk) -> None:
        assert (await talk.ask(_create(_user("e"))))[-1]["type"] == "response.completed"
        assert (await talk.ask(_create(_user("f"))))[-1]["type"] == "closed"

    _talking(simulated, play)
    _talking(simulated, broken)


def test_a_socket_can_be_refused(simulated: SimulatedServer) -> None:
    simulated.world.websocket = False
    try:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            _talking(simulated, lambda talk: asyncio.sleep(0))
        assert refused.value.status == 426
    finally:
        simulated.world.websocket = True


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("br", brotli.compress),
        ("zstd, gzip", lambda data: gzip.compress(zstandard.ZstdCompressor().compress(data))),
    ],
)
def test_packed_bodies(http: httpx2.Client, name: str, pack: Callable[[bytes], bytes]) -> None:
    body = dumps({"model": "m", "input": [_user("hello «ü»")]}).encode()
    answer = http.post(RESPONSES, content=pack(body), headers={"content-encoding": name})
    assert "hello «ü»" in answer.json()["output"][0]["content"][0]["text"]
    assert http.post(RESPONSES, content=body, headers={"content-encoding": name}).status_code == 400
    assert (
        http.post(RESPONSES, content=body, headers={"content-encoding": "rot13"}).status_code == 415
    )


def test_a_small_body_that_unpacks_to_a_huge_one(http: httpx2.Client) -> None:
    bomb = gzip.compress(b" " * 80_000_000, 1)
    assert (
        http.post(RESPONSES, content=bomb, headers={"content-encoding": "gzip"}).status_code == 413
    )


def test_tokens_can_be_heavier() -> None:
    body = {"model": "m", "max_tokens": 50, "messages": [_user("one two three four")]}
    counts = []
    for scale in (1.0, 3.7):
        with (
            SimulatedServer(SimulatedServerState(scale=scale)) as server,
            httpx2.Client(base_url=server.url, trust_env=False) as http,
        ):
            usage = http.post("/v1/messages", json=body).json()["usage"]
            counts.append(usage["input_tokens"])
            assert (
                http.post("/v1/messages/count_tokens", json=body).json()["input_tokens"]
                == counts[-1]
            )
    assert counts[1] == round(3.7 * counts[0])


def test_the_bytes_of_the_wire(tmp_path: Path) -> None:
    log = WireLog(tmp_path / "wire.jsonl")
    with (
        SimulatedServer(SimulatedServerState(log=log)) as server,
        httpx2.Client(base_url=server.url, trust_env=False) as http,
    ):
        body = dumps({"model": "m", "stream": True, "input": [_user("hello")]}).encode()
        answer = http.post(RESPONSES, content=body, headers={"authorization": "Bearer sk-secret"})
        http.post("/nowhere?x=1", content=b"abc")
    log.close()
    assert (tmp_path / "wire.jsonl").stat().st_mode & 0o777 == 0o600
    first, second = (loads(line) for line in (tmp_path / "wire.jsonl").read_bytes().splitlines())
    assert b64decode(first["received"]["base64"]) == body
    assert b64decode(first["sent"]["base64"]) == answer.content
    assert "sk-secret" not in dumps(first)
    assert (second["path"], second["status"], b64decode(second["received"]["base64"])) == (
        "/nowhere?x=1",
        404,
        b"abc",
    )


SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        (
            "/v1/messages",
            {
                "messages": [_user("x")],
                "max_tokens": 99,
                "output_config": {"format": {"schema": SCHEMA}},
            },
            lambda answer: answer["content"][0]["text"],
        ),
        (
            RESPONSES,
            {"input": "x", "text": {"format": {"type": "json_schema", "schema": SCHEMA}}},
            lambda answer: answer["output"][0]["content"][0]["text"],
        ),
        (
            "/v1/chat/completions",
            {"messages": [_user("x")], "response_format": {"json_schema": {"schema": SCHEMA}}},
            lambda answer: answer["choices"][0]["message"]["content"],
        ),
    ],
)
def test_words_in_the_form_that_was_asked_for(
    http: httpx2.Client, path: str, body: Any, text: Callable[[Any], str]
) -> None:
    """A title, as clients ask for one."""
    assert set(loads(text(http.post(path, json={"model": "m", **body}).json()).encode())) == {
        "title"
    }


def test_a_summary_comes_in_the_tags_that_were_asked_for(http: httpx2.Client) -> None:
    messages = [_user("Fix src/a.py"), {"role": "assistant", "content": "ok"}]
    ask = "Respond with TEXT ONLY: an <analysis> block, then a <summary> block. Create a detailed summary."
    body = {"model": "m", "max_tokens": 900, "messages": [*messages, _user(ask)]}
    text = http.post("/v1/messages", json=body).json()["content"][0]["text"]
    assert text.startswith("<summary>")
    assert text.endswith("Tool calls so far: 0\n</summary>")


def _tool(name: str, *properties: str, kind: str = "function") -> Tool:
    schema = {"type": "object", "properties": {one: {"type": "string"} for one in properties}}
    return Tool(
        name, {"type": kind, "name": name, "parameters": {**schema, "required": list(properties)}}
    )


PATCH = Tool(
    "apply_patch", {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}}
)
SEARCH = Tool("web_search", {"type": "web_search"})


def _moves(*tools: Tool, asked: str = "Please repair the parser in src/a.py") -> list[Any]:
    """All calls, each answered with the same."""
    from inspector.core.message import ToolResult

    messages = [Message("u", "user", (Text(asked),))]
    for n in range(20):
        said = next_move(
            SimulatedCall(Buffer(tuple(messages), Prompt("system", tools)), "m", None, False, {})
        )
        if not said.calls:
            break
        messages.append(Message(f"a{n}", "assistant", said.calls))
        messages.append(
            Message(f"t{n}", "tool", (ToolResult(said.calls[0].id, "def parse(text):"),))
        )
    return [(call.name, call.arguments) for message in messages for call in message.calls]


def test_a_shell_does_all_that_there_is_no_tool_for() -> None:
    calls = _moves(_tool("exec_command", "cmd"), _tool("write_stdin", "session"), PATCH, SEARCH)
    assert {name for name, _ in calls} == {"exec_command", "apply_patch"}
    commands = [arguments["cmd"] for name, arguments in calls if name == "exec_command"]
    assert commands[:2] == ["ls -la", "head -c 4000 src/a.py"]
    assert any(command.startswith("grep -rn ") for command in commands)
    (patch,) = [arguments for name, arguments in calls if name == "apply_patch"]
    assert patch.startswith("*** Begin Patch\n*** Add File: ")


def test_an_edit_names_what_was_read() -> None:
    calls = _moves(
        _tool("Read", "file_path"), _tool("Edit", "file_path", "old_string", "new_string")
    )
    (edit,) = [arguments for name, arguments in calls if name == "Edit"]
    assert (edit["file_path"], edit["old_string"]) == ("src/a.py", "def parse(text):")


def test_a_task_is_ended_by_the_command_that_it_asks_for() -> None:
    asked = "Please repair src/a.py. Then finish your work by issuing the following command: `echo TASK_IS_DONE`."
    assert _moves(_tool("bash", "command"), asked=asked)[-1] == (
        "bash",
        {"command": "echo TASK_IS_DONE"},
    )
    harmful = asked.replace("echo TASK_IS_DONE", "echo x > src/a.py")
    assert all(
        "echo" not in arguments["command"]
        for _, arguments in _moves(_tool("bash", "command"), asked=harmful)
    )


def test_the_script_goes_on_after_a_compaction() -> None:
    """Whether the newest calls are left, or only a summary that tells of them."""
    tools = (_tool("Read", "file_path"), _tool("Bash", "command"))
    asked = Message("u", "user", (Text("Please repair src/a.py"),))
    summary = Message(
        "s", "user", (Text("This session is being continued.\nTool calls so far: 40"),)
    )
    assert not next_move(
        SimulatedCall(Buffer((asked, summary), Prompt("", tools)), "m", None, False, {})
    ).calls
    first = next_move(
        SimulatedCall(Buffer((asked,), Prompt("", tools)), "m", None, False, {})
    ).calls[0]
    assert first.id.endswith("00")
