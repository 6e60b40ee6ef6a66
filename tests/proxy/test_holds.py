"""Held requests with the real SDKs: as they were, changed, cut again, dropped; marks, sizes, side calls."""

import os
import signal
import time
from dataclasses import replace
from typing import Any

import anthropic
import openai
import pytest

from inspector.core.dialects.rewrite import CannotRewrite
from inspector.core.jsontext import dumps, loads
from inspector.core.message import Message, Text
from inspector.proxy.holds.hold import Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.server import ProxyServer
from inspector.simulated.server import SimulatedServer
from tests.proxy.asking import ASKED, DIALECTS, TOLD, arrived, ask, claude
from tests.proxy.holding import (
    SUMMARY,
    WATERMARK,
    Later,
    kinds,
    recorded,
    records,
    settled,
    the_hold,
    until,
)


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_as_it_was(
    kind: str, stream: bool, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    call = Later(lambda: ask(kind, proxy, TOLD, stream))
    hold = the_hold(gate)
    assert hold.messages == 5
    assert not simulated.world.seen
    gate.release(hold.id)
    assert call.result()
    assert arrived(simulated, kind) == [one["content"] for one in TOLD]
    assert settled(proxy, hold.exchange) == [
        "request",
        "held each",
        "released as it was",
        "response",
    ]
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
        told += [
            {"role": "assistant", "content": f"answer {n}"},
            {"role": "user", "content": f"more {n}"},
        ]
        ask(kind, proxy, told, stream=bool(n % 2))
        assert arrived(simulated, kind) == cut + [one["content"] for one in told[5:]]
        number = max(one["exchange"] for one in records(proxy) if one["type"] == "request")
        assert sorted(settled(proxy, number)) == [
            "released cut again",
            "request",
            "response",
            "sent",
        ]
    assert recorded(proxy).messages[0].text == "In short: we said much."


def test_cut_twice_then_the_client_goes_back(
    gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
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
    ask(
        "anthropic",
        proxy,
        [TOLD[0], {"role": "assistant", "content": "other"}, {"role": "user", "content": "new"}],
    )
    assert arrived(simulated, "anthropic") == ["one", "other", "new"]
    assert any("cannot be repeated" in one.get("what", "") for one in records(proxy))


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_drop(
    kind: str, stream: bool, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    """A clear error in the dialect, nothing for the provider; made again at once it is dropped again."""
    for _ in range(2):
        call = Later(lambda: ask(kind, proxy, TOLD, stream))
        if not any("released dropped" in kinds(proxy, n) for n in range(2)):
            gate.drop(the_hold(gate).id)
        with pytest.raises(
            (anthropic.BadRequestError, openai.BadRequestError),
            match="Dropped at the Context Inspector",
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
    more = [
        *grown(700),
        {"role": "assistant", "content": "so"},
        {"role": "user", "content": "word " * 300},
    ]
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
        return one.messages.create(
            **{**ASKED, "messages": messages}, system=f"You work in {folder}."
        )

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
    told: Any = {
        "name": "look",
        "description": "Looks at what there is. " * 40,
        "input_schema": {"type": "object"},
    }

    def first() -> Any:
        with claude(proxy) as one:
            return one.messages.create(**ASKED, system="You are brief. " * 100, tools=[told])

    call = Later(first)
    hold = the_hold(gate)
    gate.release(hold.id)
    usage = call.result().usage
    spent = (
        usage.input_tokens
        + (usage.cache_read_input_tokens or 0)
        + (usage.cache_creation_input_tokens or 0)
    )
    assert spent > 500
    assert hold.tokens == pytest.approx(spent, rel=0.01)


def test_a_window_that_nobody_knows_is_told_once(gate: Holds, proxy: ProxyServer) -> None:
    gate.set_rule(Rule("watermark", 0.01))
    for _ in range(2):
        ask("anthropic", proxy, TOLD)
    assert not gate.list()
    (told,) = until(lambda: [one["what"] for one in records(proxy) if one["type"] == "note"])
    assert " is unknown, so its requests are not held" in told


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
        one.messages.count_tokens(
            model="claude-simulated", messages=[{"role": "user", "content": "hi"}]
        )
    ask(
        "anthropic",
        proxy,
        [{"role": "user", "content": "Generate a title for this conversation: hi"}],
    )
    asks = {"role": "user", "content": "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."}
    ask(
        "anthropic",
        proxy,
        [*TOLD, asks, {"role": "system", "content": "Available agent types: none"}],
    )
    assert gate.list() == ()


def test_what_was_not_changed_goes_byte_for_byte(
    gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    import httpx2

    body = b'{ "max_tokens":50,  "messages": [ {"role":"user","content":"a"} ],"model":"claude-simulated"}'
    call = Later(lambda: httpx2.post(f"{proxy.url}/v1/messages", content=body, timeout=60))
    gate.release(the_hold(gate).id)
    assert call.result().status_code == 200
    assert simulated.world.seen[-1].body == body


@pytest.mark.parametrize("name", ["zstd", "gzip"])
def test_a_packed_body_is_changed_too(
    name: str, gate: Holds, proxy: ProxyServer, simulated: SimulatedServer
) -> None:
    import gzip

    import httpx2
    import zstandard

    said = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    plain = dumps({"max_tokens": 50, "model": "claude-simulated", "messages": said}).encode()
    data = gzip.compress(plain) if name == "gzip" else zstandard.compress(plain)
    headers = {"content-encoding": name, "content-type": "application/json"}
    call = Later(
        lambda: httpx2.post(f"{proxy.url}/v1/messages", content=data, headers=headers, timeout=60)
    )
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
