"""Held turns that no SDK of ours speaks: a WebSocket that goes on from what the provider holds, Gemini."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest

from inspector.core.jsontext import dumps, loads
from inspector.core.message import Message, Text
from inspector.proxy.holds.hold import Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.server import ProxyServer
from inspector.simulated.server import SimulatedServer
from tests.proxy.holding import SUMMARY, Later, held_by, recorded, records, settled, the_hold


@pytest.fixture
def gate() -> Holds:
    return Holds(Rule("each"))


@pytest.fixture
def proxy(gate: Holds, simulated: SimulatedServer, tmp_path: Path) -> Iterator[ProxyServer]:
    with held_by(gate, simulated.url, tmp_path) as server:
        yield server


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


class Talk:
    """A client on a WebSocket, in a loop of its own thread."""

    def __init__(self, url: str) -> None:
        self._url = url.replace("http", "ws") + "/v1/responses"
        self._runner = asyncio.Runner()
        self._session: aiohttp.ClientSession | None = None

    def turn(self, items: list[Any], previous: str = "") -> dict[str, Any]:
        """One turn; its terminal event."""
        frame: dict[str, Any] = {
            "type": "response.create",
            "model": "gpt-simulated",
            "input": items,
            "store": False,
        }
        return self._runner.run(
            self._turn(frame | ({"previous_response_id": previous} if previous else {}))
        )

    async def _turn(self, frame: dict[str, Any]) -> dict[str, Any]:
        if self._session is None:
            self._session = aiohttp.ClientSession()
            self._socket = await self._session.ws_connect(self._url)
        await self._socket.send_str(dumps(frame))
        while True:
            event: dict[str, Any] = loads((await self._socket.receive(20)).data.encode())
            if event["type"] in ("response.completed", "error", "response.failed"):
                return event

    def close(self) -> None:
        async def end() -> None:
            if self._session is not None:
                await self._socket.close()
                await self._session.close()
                await asyncio.sleep(0.05)

        self._runner.run(end())
        self._runner.close()


@pytest.fixture
def talk(proxy: ProxyServer) -> Iterator[Talk]:
    one = Talk(proxy.url)
    yield one
    one.close()


def frames(simulated: SimulatedServer) -> list[dict[str, Any]]:
    """What the provider was asked over the WebSocket."""
    found = [loads(one.body) for one in simulated.world.seen if one.body.startswith(b"{")]
    return [one for one in found if "input" in one]


def test_a_cut_in_what_the_provider_holds_becomes_a_whole_request(
    talk: Talk, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    """Then the provider holds the cut, and the next turn is a delta again."""
    gate.set_rule(Rule())
    first = talk.turn([user("one")])["response"]
    gate.set_rule(Rule("each"))
    call = Later(lambda: talk.turn([user("two")], first["id"]))
    hold = the_hold(gate)
    original = recorded(proxy)
    assert [one.text for one in original.messages][::2] == ["one", "two"]
    gate.release(hold.id, original.with_messages([SUMMARY, original.messages[-1]]), original)
    second = call.result()["response"]
    sent = frames(simulated)[-1]
    assert "previous_response_id" not in sent
    assert [item["content"][0]["text"] for item in sent["input"]] == [
        "In short: we said much.",
        "two",
    ]
    gate.set_rule(Rule())
    talk.turn([user("three")], second["id"])
    sent = frames(simulated)[-1]
    assert sent["previous_response_id"] == second["id"]
    assert [item["content"][0]["text"] for item in sent["input"]] == ["three"]
    assert recorded(proxy).messages[0].text == "In short: we said much."


def test_a_cut_in_what_comes_stays_a_delta(
    talk: Talk, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    gate.set_rule(Rule())
    first = talk.turn([user("one")])["response"]
    gate.set_rule(Rule("each"))
    call = Later(lambda: talk.turn([user("two")], first["id"]))
    hold = the_hold(gate)
    seen = gate.buffer(hold.id)
    other = Message(seen.messages[-1].id, "user", (Text("TWO"),))
    gate.release(hold.id, seen.with_messages([*seen.messages[:-1], other]))
    call.result()
    sent = frames(simulated)[-1]
    assert (sent["previous_response_id"], sent["input"][0]["content"][0]["text"]) == (
        first["id"],
        "TWO",
    )


def test_what_nobody_saw_can_only_be_let_go_or_dropped(
    talk: Talk, gate: Holds, proxy: ProxyServer
) -> None:
    call = Later(lambda: talk.turn([user("two")], "resp_of_long_ago"))
    hold = the_hold(gate)
    assert hold.cannot
    assert hold.tokens is None, "who knows what the provider holds"
    gate.drop(hold.id)
    told = call.result()
    assert told["type"] == "error"
    assert "Dropped" in told["error"]["message"]
    assert settled(proxy, hold.exchange)[-2:] == ["released dropped", "response"]


CONTENTS = [
    {"role": "user", "parts": [{"text": "one"}]},
    {
        "role": "model",
        "parts": [{"functionCall": {"name": "look", "args": {"a": 1}}, "thoughtSignature": "s"}],
    },
    {
        "role": "user",
        "parts": [{"functionResponse": {"name": "look", "response": {"output": "much " * 50}}}],
    },
]


@pytest.mark.parametrize("wrapped", [False, True])
def test_gemini(wrapped: bool, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer) -> None:
    """A result is cleared; its content keeps its name, its call its signature. Code Assist wraps the request."""
    body: dict[str, Any] = {"contents": CONTENTS, "generationConfig": {"maxOutputTokens": 50}}
    sent_body = {"model": "gemini-simulated", "request": body} if wrapped else body
    path = (
        "/v1internal:generateContent"
        if wrapped
        else "/v1beta/models/gemini-simulated:generateContent"
    )
    call = Later(lambda: httpx2.post(proxy.url + path, json=sent_body, timeout=60))
    hold = the_hold(gate)
    assert hold.patience.ping == ""
    assert hold.patience.silent_s == 60
    seen = gate.buffer(hold.id)
    result = seen.messages[2].result
    assert result is not None
    cleared = Message(seen.messages[2].id, "tool", (type(result)(result.call_id, "[cleared]"),))
    gate.release(hold.id, seen.with_messages([*seen.messages[:2], cleared]))
    call.result()
    (sent,) = [one["body"] for one in records(proxy) if one["type"] == "sent"]
    inner = sent["request"] if wrapped else sent
    assert inner["contents"][-1]["parts"] == [
        {"functionResponse": {"name": "look", "response": {"output": "[cleared]"}}}
    ]
