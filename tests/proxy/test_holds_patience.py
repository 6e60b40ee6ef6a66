"""Held requests whose clients go, come again, or wait long: retries, pings, what each client bears."""

from dataclasses import replace
from typing import Any

import anthropic
import openai
import pytest

from inspector.core.jsontext import dumped
from inspector.proxy import clients
from inspector.proxy.clients import Patience
from inspector.proxy.holds import holds as holding_module
from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.server import ProxyServer
from inspector.simulated.server import SimulatedServer
from tests.proxy.asking import ASKED, DIALECTS, TOLD, arrived, ask, claude
from tests.proxy.holding import (
    Later,
    kinds,
    records,
    the_hold,
    until,
)
from tests.proxy.raw import client


def test_a_client_that_goes_away_is_shown_and_its_retry_matched(
    gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:

    def impatient() -> Any:
        # And then does not wait so long.
        said = {"x-stainless-timeout": "600", "x-stainless-read-timeout": "600"}
        with anthropic.Anthropic(
            api_key="k", base_url=proxy.url, max_retries=1, timeout=3, default_headers=said
        ) as one:
            return one.messages.create(**ASKED)

    call = Later(impatient)
    first = the_hold(gate)
    until(lambda: gate.list() and gate.list()[0].retries == 1)
    again = the_hold(gate)
    assert (again.id, again.exchange != first.exchange) == (first.id, True)
    seen = gate.buffer(again.id)
    gate.release(again.id, seen.with_messages(seen.messages[-1:]))
    assert call.result()
    assert arrived(simulated, "anthropic") == ["three"]
    assert "released client gone" in kinds(proxy, first.exchange)


@pytest.mark.parametrize("said", [b"\xb2", b"9" * 5_000, b"", b"-1", b"x"])
def test_a_count_of_retries_may_be_no_number(
    gate: Holds, proxy: ProxyServer, simulated: SimulatedServer, said: bytes
) -> None:
    """Two with the same words, of whom neither names its session: each is held."""
    body = dumped({**ASKED, "stream": False})
    with client(proxy) as one, client(proxy) as other:
        for wire in (one, other):
            head = (
                b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: k\r\nX-Stainless-Retry-Count: "
                + said
            )
            wire.send(head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        until(lambda: len(gate.list()) == 2)
        for hold in gate.list():
            gate.release(hold.id)
        assert b" 200 " in one.message()[0]
        assert b" 200 " in other.message()[0]


def test_decided_while_the_client_was_away(
    gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    with pytest.raises(anthropic.APITimeoutError), claude(proxy, timeout=0.3) as one:
        one.messages.create(**ASKED)
    hold = until(lambda: [one for one in gate.list() if one.is_gone])[0]
    seen = gate.buffer(hold.id)
    gate.release(hold.id, seen.with_messages(seen.messages[-1:]))
    until(lambda: gate.list() == ())  # it waits for nobody's decision any more
    with claude(proxy) as one:
        one.messages.create(**ASKED)
    assert arrived(simulated, "anthropic") == ["three"]
    assert gate.list() == ()


def test_a_client_that_stays_away_is_forgotten(
    gate: Holds, proxy: ProxyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding_module, "GRACE_S", 0.1)
    with pytest.raises(anthropic.APITimeoutError), claude(proxy, timeout=0.3) as one:
        one.messages.create(**ASKED)
    until(lambda: not gate.list())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every client's patience as one tenth of a second, pings every 30 ms."""

    def short(client: str, dialect: str, headers: Any, **more: Any) -> Patience:
        return replace(
            clients.find_patience(client, dialect, headers, **more), silent_s=0.1, pinged_s=20.0
        )

    monkeypatch.setattr(holding_module, "find_patience", short)
    monkeypatch.setattr(holding_module, "EVERY_S", 0.03)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", DIALECTS)
def test_pings_arrive_and_break_nothing(
    kind: str, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    """The SDK is in the middle of its stream while the request waits, and gets its answer behind the pings."""
    call = Later(lambda: ask(kind, proxy, TOLD, stream=True))
    hold = the_hold(gate)
    until(lambda: the_hold(gate).is_begun)
    gate.release(hold.id, *_last_only(gate, hold.id))
    assert call.result()
    assert arrived(simulated, kind) == ["three"]


def _last_only(gate: Holds, id: int) -> Any:  # noqa: A002
    seen = gate.buffer(id)
    return (seen.with_messages(seen.messages[-1:]),)


@pytest.mark.usefixtures("quick")
def test_pings_on_the_wire(gate: Holds, proxy: ProxyServer) -> None:
    import httpx2

    body = {"model": "claude-simulated", "max_tokens": 9, "stream": True, "messages": TOLD}
    seen: list[str] = []

    def read() -> None:
        with httpx2.stream("POST", f"{proxy.url}/v1/messages", json=body, timeout=60) as answer:
            seen.extend(answer.iter_lines())

    call = Later(read)
    until(lambda: seen.count("event: ping") >= 3)
    gate.release(the_hold(gate).id)
    call.result()
    assert "event: message_start" in seen
    assert "event: message_stop" in seen


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", DIALECTS)
def test_a_late_failure_is_told_in_the_stream(
    kind: str, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    simulated.world.faults.push("529")
    call = Later(lambda: ask(kind, proxy, TOLD, stream=True))
    hold = the_hold(gate)
    until(lambda: the_hold(gate).is_begun)
    gate.release(hold.id)
    with pytest.raises((anthropic.APIStatusError, openai.APIError, RuntimeError)):
        call.result()


@pytest.mark.usefixtures("quick")
def test_a_drop_after_pings_is_told_in_the_stream(gate: Holds, proxy: ProxyServer) -> None:
    call = Later(lambda: ask("anthropic", proxy, TOLD, stream=True))
    hold = the_hold(gate)
    until(lambda: the_hold(gate).is_begun)
    gate.drop(hold.id)
    with pytest.raises(anthropic.APIError, match="Dropped"):
        call.result()


@pytest.mark.usefixtures("quick")
def test_patience_ends_and_the_turn_is_not_lost(
    gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    """Without a stream nothing may be sent early: it goes as it was before the client gives up."""
    assert ask("anthropic", proxy, TOLD, stream=False)
    assert arrived(simulated, "anthropic") == [one["content"] for one in TOLD]
    assert any("would have given up" in one.get("what", "") for one in records(proxy))


NODE = {"x-stainless-runtime": "node"}  # pi says no more of itself


PATIENCE = [
    (("claude-code", "anthropic"), {"x-stainless-timeout": "600"}, True, ("event", 330 * 0.75)),
    (("claude-code", "anthropic"), {}, False, ("", None)),
    (("codex", "openai-responses"), {}, True, ("event", 330 * 0.75)),
    (("pi", "openai-chat"), {}, True, ("comment", 225)),
    (("gemini-cli", "gemini"), {}, True, ("", None)),
    (("gemini-cli", "openai-chat"), {}, True, ("comment", 180)),
    (("somebody", "anthropic"), {"x-stainless-timeout": "120"}, True, ("event", 90)),
    (("anthropic-sdk", "anthropic"), {"x-stainless-timeout": "600"}, True, ("event", 450)),
    (("anthropic-sdk", "anthropic"), {"x-stainless-timeout": "600", **NODE}, True, ("event", 225)),
    (("openai-sdk", "openai-chat"), NODE, True, ("comment", 225)),
    (("somebody", "gemini"), {}, True, ("", None)),
    (("", "openai-responses"), {}, True, ("comment", 180)),
]


@pytest.mark.parametrize(("who", "headers", "streams", "wanted"), PATIENCE)
def test_patience(
    who: tuple[str, str], headers: dict[str, str], streams: bool, wanted: tuple[str, Any]
) -> None:
    found = clients.find_patience(*who, headers, streams=streams)
    assert (found.ping, found.begin_s) == wanted
    assert found.how_known
    assert found.limit_s <= (clients.LONGEST_S if found.ping else found.silent_s)
    assert clients.find_patience(*who, headers, streams=streams, transport="websocket").ping == ""
