"""Held requests with the real SDKs: changed, cut again, dropped, gone, tried again, kept alive."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from inspector.core.dialects.rewrite import CannotRewrite
from inspector.core.jsontext import dumps, loads
from inspector.core.message import Message, Text
from inspector.proxy import clients
from inspector.proxy.clients import Patience
from inspector.proxy.holds import holds as holding_module
from inspector.proxy.holds.hold import Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.server import ProxyServer
from inspector.simulated.server import SimulatedServer
from tests.proxy.holding import (
    SUMMARY,
    WATERMARK,
    Later,
    held_by,
    kinds,
    recorded,
    records,
    settled,
    the_hold,
    until,
)


@pytest.fixture
def gate() -> Holds:
    return Holds(Rule("each"))


@pytest.fixture
def proxy(gate: Holds, simulated: SimulatedServer, tmp_path: Path) -> Iterator[ProxyServer]:
    with held_by(gate, simulated.url, tmp_path) as server:
        yield server


def claude(proxy: ProxyServer, **more: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="k", base_url=proxy.url, max_retries=0, **more)


def gpt(proxy: ProxyServer, **more: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key="k", base_url=f"{proxy.url}/v1", max_retries=0, **more)


TOLD = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "I did one"},
    {"role": "user", "content": "two"},
    {"role": "assistant", "content": "I did two"},
    {"role": "user", "content": "three"},
]
ASKED: Any = {"model": "claude-simulated", "max_tokens": 500, "messages": TOLD}


def ask(kind: str, proxy: ProxyServer, messages: Any, stream: bool = False) -> Any:
    """One call in a dialect; its text."""
    given: Any = {"model": "gpt-simulated", "input": messages, "store": False}
    asked: Any = {"model": "claude-simulated", "max_tokens": 500, "messages": messages}
    if kind == "anthropic":
        with claude(proxy) as one:
            if not stream:
                return one.messages.create(**asked).content[0].text
            with one.messages.stream(**asked) as told:
                return told.get_final_text()
    with gpt(proxy) as other:
        if kind == "openai-responses":
            if not stream:
                return other.responses.create(**given).output_text
            with other.responses.stream(**given) as events:
                return events.get_final_response().output_text
        answer: Any = other.chat.completions.create(model="gpt-simulated", messages=messages, stream=stream)
        if stream:
            return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)
        return answer.choices[0].message.content


DIALECTS = ["anthropic", "openai-chat", "openai-responses"]
KEY = {"openai-responses": "input"}


def arrived(simulated: SimulatedServer, kind: str) -> list[str]:
    """The messages of the last request that the provider saw, as text."""
    body = loads(simulated.world.seen[-1].body)
    found = []
    for item in body[KEY.get(kind, "messages")]:
        content = item["content"]
        found.append(content if isinstance(content, str) else "".join(block["text"] for block in content))
    return found


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_as_it_was(kind: str, stream: bool, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer) -> None:
    call = Later(lambda: ask(kind, proxy, TOLD, stream))
    hold = the_hold(gate)
    assert hold.messages == 5
    assert not simulated.world.seen
    gate.release(hold.id)
    assert call.result()
    assert arrived(simulated, kind) == [one["content"] for one in TOLD]
    assert settled(proxy, hold.exchange) == ["request", "held each", "released as it was", "response"]
    assert gate.list() == ()


def test_the_gate_waits_for_no_disk(gate: Holds, proxy: ProxyServer) -> None:
    """What an answer cost is known to the next request at once, though nothing of it is written yet."""
    proxy.recorder.settle()
    os.kill(proxy.recorder._writer.pid, signal.SIGSTOP)
    try:
        first = Later(lambda: ask("anthropic", proxy, TOLD))
        gate.release(the_hold(gate).id)
        first.result()
        until(lambda: not gate.list())
        began = time.monotonic()
        again = [*TOLD, {"role": "assistant", "content": first.result()}, *TOLD[2:]]
        call = Later(lambda: ask("anthropic", proxy, again))
        hold = the_hold(gate)
        assert time.monotonic() - began < 0.9
        assert hold.usage is not None
        gate.release(hold.id)
        assert call.result()
    finally:
        os.kill(proxy.recorder._writer.pid, signal.SIGCONT)
    assert settled(proxy, hold.exchange)[-1] == "response"


@pytest.mark.parametrize("kind", DIALECTS)
def test_changed_and_cut_again_on_the_next_three_turns(
    kind: str, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    """The client sends its own conversation each time; the model reads the cut one."""
    call = Later(lambda: ask(kind, proxy, TOLD, stream=True))
    hold = the_hold(gate)
    original = recorded(proxy)  # as the window has it, with the ids of its own reader
    gate.release(hold.id, original.with_messages([SUMMARY, *original.messages[3:]]), original)
    call.result()
    cut = ["In short: we said much.", "I did two", "three"]
    assert arrived(simulated, kind) == cut
    gate.set_rule(Rule())
    told = list(TOLD)
    for n in range(3):
        told += [{"role": "assistant", "content": f"answer {n}"}, {"role": "user", "content": f"more {n}"}]
        ask(kind, proxy, told, stream=bool(n % 2))
        assert arrived(simulated, kind) == cut + [one["content"] for one in told[5:]]
        number = max(one["exchange"] for one in records(proxy) if one["type"] == "request")
        assert sorted(settled(proxy, number)) == ["released cut again", "request", "response", "sent"]
    assert recorded(proxy).messages[0].text == "In short: we said much."


def test_cut_twice_then_the_client_goes_back(gate: Holds, proxy: ProxyServer, simulated: SimulatedServer) -> None:
    """The second cut is of what the first left; another beginning is told and sent as it is."""
    for n in (2, 4):
        call = Later(lambda n=n: ask("anthropic", proxy, TOLD[: n + 1]))  # type: ignore[misc]
        hold = the_hold(gate)
        seen = gate.buffer(hold.id)
        mine = Message(f"s{n}", "user", (Text(f"summary {n}"),))
        gate.release(hold.id, seen.with_messages([mine, *seen.messages[-1:]]))
        call.result()
    gate.set_rule(Rule())
    more = [*TOLD, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "four"}]
    ask("anthropic", proxy, more)
    assert arrived(simulated, "anthropic") == ["summary 4", "three", "ok", "four"]
    ask("anthropic", proxy, [TOLD[0], {"role": "assistant", "content": "other"}, {"role": "user", "content": "new"}])
    assert arrived(simulated, "anthropic") == ["one", "other", "new"]
    assert any("cannot be made again" in one.get("what", "") for one in records(proxy))


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_drop(kind: str, stream: bool, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer) -> None:
    """A clear error in the dialect, nothing for the provider; made again at once it is dropped again."""
    for _ in range(2):
        call = Later(lambda: ask(kind, proxy, TOLD, stream))
        if not any("released dropped" in kinds(proxy, n) for n in range(2)):
            gate.drop(the_hold(gate).id)
        with pytest.raises(
            (anthropic.BadRequestError, openai.BadRequestError), match="Dropped at the Context Inspector"
        ):
            call.result()
    assert not simulated.world.seen


def grown(tokens: int) -> list[dict[str, str]]:
    """A conversation of about so many tokens, always with the same beginning."""
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]
    return [*said, {"role": "user", "content": "word " * tokens}]


def test_the_watermark_is_told_once_and_again_later_and_always_where_the_window_is_full(
    gate: Holds, proxy: ProxyServer
) -> None:
    """At half of the window, half-way from there to all of it, and at each request from there on."""
    gate.set_rule(WATERMARK)
    told: list[tuple[int, bool]] = []
    for tokens in (100, 550, 650, 700, 800, 900, 1_100, 1_270, 1_300):
        call = Later(lambda tokens=tokens: ask("anthropic", proxy, grown(tokens)))  # type: ignore[misc]
        until(lambda call=call: gate.list() or not call.is_under_way)  # type: ignore[misc]
        waits = gate.list()
        told.append((tokens, bool(waits)))
        for hold in waits:
            assert (hold.why, hold.window) == ("watermark", 1_000)
            assert hold.tokens == pytest.approx(tokens, abs=30)
            gate.release(hold.id)
        call.result()
    assert [tokens for tokens, waited in told if waited] == [550, 800, 1_100, 1_270, 1_300]


def test_a_cut_makes_the_watermark_new(gate: Holds, proxy: ProxyServer) -> None:
    """It is told of again as soon as the conversation gets there again."""
    gate.set_rule(WATERMARK)
    call = Later(lambda: ask("anthropic", proxy, grown(700)))
    hold = the_hold(gate)
    seen = gate.buffer(hold.id)
    after = seen.with_messages([SUMMARY])
    assert gate.predicted(hold.id, after) < 50
    gate.release(hold.id, after)
    call.result()
    settled(proxy, hold.exchange)
    more = [*grown(700), {"role": "assistant", "content": "so"}, {"role": "user", "content": "word " * 300}]
    ask("anthropic", proxy, more)
    more[-1] = {"role": "user", "content": "word " * 600}
    call = Later(lambda: ask("anthropic", proxy, more))
    gate.release(the_hold(gate).id)
    call.result()


def test_two_agents_that_begin_with_the_same_words_are_two(
    gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    """In two folders, so with two system prompts: the cut of one is not made on the other's conversation. A prompt that
    changes on the way (the date) is still the same agent's, by its connection.
    """
    more = [*TOLD, {"role": "assistant", "content": "so"}, {"role": "user", "content": "four"}]

    def say(one: anthropic.Anthropic, folder: str, messages: Any) -> Any:
        return one.messages.create(**{**ASKED, "messages": messages}, system=f"You work in {folder}.")

    with claude(proxy) as here, claude(proxy) as there:
        call = Later(lambda: say(here, "/here", TOLD))
        hold = the_hold(gate)
        seen = gate.buffer(hold.id)
        gate.release(hold.id, seen.with_messages([SUMMARY, seen.messages[-1]]))
        call.result()
        gate.set_rule(Rule())
        say(there, "/there", more)
        assert arrived(simulated, "anthropic") == [one["content"] for one in more]
        say(here, "/here", more)
        assert arrived(simulated, "anthropic") == ["In short: we said much.", "three", "so", "four"]
        say(here, "/here, and it is Monday", more)
        assert arrived(simulated, "anthropic") == ["In short: we said much.", "three", "so", "four"]
        say(there, "/there", more)
        assert arrived(simulated, "anthropic") == [one["content"] for one in more]


def test_a_size_is_what_the_provider_then_reports(gate: Holds, proxy: ProxyServer) -> None:
    """System prompt and tools are counted, on the very first request too."""
    told: Any = {"name": "look", "description": "Looks at what there is. " * 40, "input_schema": {"type": "object"}}

    def first() -> Any:
        with claude(proxy) as one:
            return one.messages.create(**ASKED, system="You are brief. " * 100, tools=[told])

    call = Later(first)
    hold = the_hold(gate)
    gate.release(hold.id)
    usage = call.result().usage
    spent = usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    assert spent > 500
    assert hold.tokens == pytest.approx(spent, rel=0.01)


def test_a_window_that_nobody_knows_is_told_once(gate: Holds, proxy: ProxyServer) -> None:
    gate.set_rule(Rule("watermark", 0.01))
    for _ in range(2):
        ask("anthropic", proxy, TOLD)
    assert not gate.list()
    (told,) = until(lambda: [one["what"] for one in records(proxy) if one["type"] == "note"])
    assert "Nobody knows the window of" in told


def test_the_next_one_by_hand(gate: Holds, proxy: ProxyServer) -> None:
    gate.set_rule(Rule())
    ask("openai-chat", proxy, TOLD)
    gate.hold_next()
    call = Later(lambda: ask("openai-chat", proxy, [*TOLD, {"role": "user", "content": "more"}]))
    hold = the_hold(gate)
    assert (hold.why, gate.is_next) == ("by hand", False)
    gate.release(hold.id)
    call.result()


def test_side_calls_pass(gate: Holds, proxy: ProxyServer) -> None:
    """A count of tokens, a title: nobody is asked."""
    with claude(proxy) as one:
        one.messages.count_tokens(model="claude-simulated", messages=[{"role": "user", "content": "hi"}])
    ask("anthropic", proxy, [{"role": "user", "content": "Generate a title for this conversation: hi"}])
    asks = {"role": "user", "content": "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."}
    ask("anthropic", proxy, [*TOLD, asks, {"role": "system", "content": "Available agent types: none"}])
    assert gate.list() == ()


def test_what_was_not_changed_goes_byte_for_byte(gate: Holds, proxy: ProxyServer, simulated: SimulatedServer) -> None:
    import httpx2

    body = b'{ "max_tokens":50,  "messages": [ {"role":"user","content":"a"} ],"model":"claude-simulated"}'
    call = Later(lambda: httpx2.post(f"{proxy.url}/v1/messages", content=body, timeout=20))
    gate.release(the_hold(gate).id)
    assert call.result().status_code == 200
    assert simulated.world.seen[-1].body == body


@pytest.mark.parametrize("name", ["zstd", "gzip"])
def test_a_packed_body_is_changed_too(name: str, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer) -> None:
    import gzip

    import httpx2
    import zstandard

    said = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    plain = dumps({"max_tokens": 50, "model": "claude-simulated", "messages": said}).encode()
    data = gzip.compress(plain) if name == "gzip" else zstandard.compress(plain)
    headers = {"content-encoding": name, "content-type": "application/json"}
    call = Later(lambda: httpx2.post(f"{proxy.url}/v1/messages", content=data, headers=headers, timeout=20))
    hold = the_hold(gate)
    seen = gate.buffer(hold.id)
    gate.release(hold.id, seen.with_messages(seen.messages[1:]))
    assert call.result().status_code == 200
    assert loads(simulated.world.seen[-1].body)["messages"] == [{"role": "user", "content": "b"}]
    assert "content-encoding" not in simulated.world.seen[-1].headers


def test_an_empty_buffer_and_another_ones_are_refused(gate: Holds, proxy: ProxyServer) -> None:
    call = Later(lambda: ask("anthropic", proxy, TOLD))
    hold = the_hold(gate)
    seen = gate.buffer(hold.id)
    with pytest.raises(CannotRewrite, match="empty"):
        gate.release(hold.id, seen.with_messages([]))
    with pytest.raises(CannotRewrite, match="another"):
        gate.release(hold.id, seen, seen.with_messages([replace(SUMMARY)]))
    gate.release(hold.id)
    call.result()


# -- clients that go, and come again -----------------------------------------------------------------------------------


def test_a_client_that_goes_away_is_shown_and_its_retry_matched(
    gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:

    def impatient() -> Any:
        said = {"x-stainless-timeout": "600", "x-stainless-read-timeout": "600"}  # and then does not wait so long
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


def test_decided_while_the_client_was_away(gate: Holds, proxy: ProxyServer, simulated: SimulatedServer) -> None:
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


# -- kept alive --------------------------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every client's patience as one tenth of a second, pings every 30 ms."""

    def short(client: str, dialect: str, headers: Any, **more: Any) -> Patience:
        return replace(clients.patience(client, dialect, headers, **more), silent_s=0.1, told_s=20.0)

    monkeypatch.setattr(holding_module, "patience", short)
    monkeypatch.setattr(holding_module, "EVERY_S", 0.03)
    monkeypatch.setattr(holding_module.wait_for, "__defaults__", (0.03,))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", DIALECTS)
def test_pings_arrive_and_break_nothing(kind: str, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer) -> None:
    """The SDK is in the middle of its stream while the request waits, and gets its answer behind the pings."""
    call = Later(lambda: ask(kind, proxy, TOLD, stream=True))
    hold = the_hold(gate)
    until(lambda: gate._board.find(hold.id).pending.begun)
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
        with httpx2.stream("POST", f"{proxy.url}/v1/messages", json=body, timeout=20) as answer:
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
    until(lambda: gate._board.find(hold.id).pending.begun)
    gate.release(hold.id)
    with pytest.raises((anthropic.APIStatusError, openai.APIError, RuntimeError)):
        call.result()


@pytest.mark.usefixtures("quick")
def test_a_drop_after_pings_is_told_in_the_stream(gate: Holds, proxy: ProxyServer) -> None:
    call = Later(lambda: ask("anthropic", proxy, TOLD, stream=True))
    hold = the_hold(gate)
    until(lambda: gate._board.find(hold.id).pending.begun)
    gate.drop(hold.id)
    with pytest.raises(anthropic.APIError, match="Dropped"):
        call.result()


@pytest.mark.usefixtures("quick")
def test_patience_ends_and_the_turn_is_not_lost(gate: Holds, proxy: ProxyServer, simulated: SimulatedServer) -> None:
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
def test_patience(who: tuple[str, str], headers: dict[str, str], streams: bool, wanted: tuple[str, Any]) -> None:
    found = clients.patience(*who, headers, streams=streams)
    assert (found.ping, found.begin_s) == wanted
    assert found.how_known
    assert found.limit_s <= (clients.LONGEST_S if found.ping else found.silent_s)
    assert clients.patience(*who, headers, streams=streams, transport="websocket").ping == ""
