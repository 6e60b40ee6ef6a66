"""Roku's tiers that call a model, end to end: through both SDKs, against the simulated provider, failures included."""

from dataclasses import replace
from typing import Any

import pytest

from inspector.core.answering import AnsweredNeed, Answerer, AnswerLog, Scripted, offline
from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Message, Opaque
from inspector.core.needs import Answer, AskModel, Need, ProviderFailure, RunTools, drive
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.roku import POLICY
from inspector.core.policies.roku.settings import RokuState
from inspector.core.policies.verdict import PolicyInput
from inspector.core.validity import find_refusals
from inspector.providers.answerers import Api
from inspector.simulated.server import SimulatedServer
from tests.core.policies.build import play_turn
from tests.providers.providing import READ, WIRES, by_url, call, result, user

SETTINGS = POLICY.settings([], window=1_000)


def _buffer(turns: int = 8) -> Buffer:
    messages: list[Message] = [user("u", "Please make src/parser.py faster. Keep the tests green.")]
    for n in range(turns):
        messages += [
            call(f"a{n}", f"call_{n}", file_path=f"src/part{n}.py"),
            result(f"r{n}", f"call_{n}", f"line {n} " * 40),
        ]
    return Buffer(tuple(messages), Prompt("You code.", (READ,)))


def _run(
    tier: str, answer: Answerer, running: RokuState | None = None, **moment: Any
) -> Outcome[RokuState]:
    start = running or POLICY.fresh(SETTINGS)
    return drive(
        POLICY.tier(tier, PolicyContext(_buffer(), SETTINGS, start, PolicyInput(step=1, **moment))),
        answer,
    )


def _events(outcome: Outcome[RokuState]) -> list[str]:
    return [event.name for event in outcome.events]


@pytest.mark.parametrize("wire", WIRES)
def test_l3b_gets_its_four_sections(simulated: SimulatedServer, wire: Api) -> None:
    with by_url(simulated, wire) as answer:
        heard = AnswerLog(answer)
        outcome = _run("L3b", heard)
    assert outcome.succeeded
    assert outcome.buffer.messages[1].text.startswith("[Conversation summary]\n(offline summary")
    assert "Relevant Files:" in outcome.buffer.messages[1].text
    assert outcome.running.breaker.failures == 0
    called = next(event for event in outcome.events if event.name == "AutoCompactSummarizerCalled")
    assert called.fields["prompt_tokens"] > 100  # type: ignore[operator]
    assert called.fields["output_tokens"] > 10  # type: ignore[operator]
    complete = next(event for event in outcome.events if event.name == "CompactComplete")
    assert complete.fields["elapsed_ms"] > 0  # type: ignore[operator]
    assert not find_refusals(outcome.buffer)
    assert len(heard.asked) == 1


@pytest.mark.parametrize("keep", ["skip", "keep"])
def test_l3a_through_the_endpoint(simulated: SimulatedServer, keep: str) -> None:
    """The removed part held no user message: without its opaque item nothing readable comes back (upstream's loss)."""
    settings = POLICY.settings([("opaque_items", keep)], window=1_000)
    with by_url(simulated, "responses") as answer:
        outcome = drive(
            POLICY.tier(
                "L3a",
                PolicyContext(
                    _buffer(), settings, POLICY.fresh(settings), PolicyInput(remote=True)
                ),
            ),
            answer,
        )
    assert outcome.succeeded is (keep == "keep")
    if keep == "keep":
        (part,) = outcome.buffer.messages[1].parts
        assert isinstance(part, Opaque)
        assert part.kind == "compaction"
    else:
        assert outcome.error == "provider_failure"


@pytest.mark.parametrize("wire", WIRES)
def test_an_overflow_drops_the_oldest_half_and_asks_again(
    simulated: SimulatedServer, wire: Api
) -> None:
    simulated.world.faults.push("overflow,overflow-late")
    with by_url(simulated, wire) as answer:
        outcome = _run("L3b", answer)
    called = next(event for event in outcome.events if event.name == "AutoCompactSummarizerCalled")
    assert outcome.succeeded
    assert called.fields["drop_oldest_retries"] == 2
    assert len(simulated.world.seen) == 3


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("faults", ["403,429:3,529", "cut,error-event,empty", "garbage,500,no-key"])
def test_the_third_failure_trips_the_breaker(
    simulated: SimulatedServer, wire: Api, faults: str
) -> None:
    simulated.world.faults.push(faults)
    running: RokuState | None = None
    with by_url(simulated, wire) as answer:
        for n in range(3):
            outcome = _run("L3b", answer, running)
            running = outcome.running
            assert not outcome.succeeded
            assert outcome.error == "provider_failure"
            assert running.breaker.failures == n + 1
            assert ("AutoCompactCircuitBreakerTripped" in _events(outcome)) is (n == 2)
        after = _run("L3b", answer, running)
    assert running is not None
    assert running.breaker.open
    assert len(simulated.world.seen) == 3  # with the breaker open nobody is asked any more
    assert "[Conversation summary]" not in after.buffer.messages[1].text


@pytest.mark.parametrize("fault", ["403", "429", "500", "cut", "garbage", "overflow", "stall"])
def test_l3a_never_falls_through_to_l3b(simulated: SimulatedServer, fault: str) -> None:
    simulated.world.faults.push(fault)
    settings = replace(SETTINGS, compact_request_timeout=1.0 if fault == "stall" else 90.0)
    with by_url(simulated, "responses") as answer:
        outcome = drive(
            POLICY.tier(
                "L3a",
                PolicyContext(
                    _buffer(), settings, POLICY.fresh(settings), PolicyInput(remote=True)
                ),
            ),
            answer,
        )
    assert outcome.error == "provider_failure"
    assert outcome.running.breaker.failures == 1
    assert [seen.path for seen in simulated.world.seen] == ["/v1/responses/compact"]


@pytest.mark.parametrize("wire", WIRES)
def test_a_summary_that_hangs_is_over_in_its_time(simulated: SimulatedServer, wire: Api) -> None:
    simulated.world.faults.push("drip")
    settings = replace(SETTINGS, compact_llm_timeout=0.4)
    with by_url(simulated, wire) as answer:
        outcome = drive(
            POLICY.tier("L3b", PolicyContext(_buffer(), settings, POLICY.fresh(settings))), answer
        )
    complete = next(event for event in outcome.events if event.name == "CompactComplete")
    assert outcome.error == "provider_failure"
    assert complete.fields["elapsed_ms"] >= 400  # type: ignore[operator]


@pytest.mark.parametrize("wire", WIRES)
def test_l4_by_a_model_that_refuses_its_prompt(simulated: SimulatedServer, wire: Api) -> None:
    """A whole turn: the server's window is too small, L4 compacts, the second attempt goes through."""
    buffer = _buffer(20)
    simulated.world.window = 1_500
    with by_url(simulated, wire) as answer:

        def meet(need: Need) -> Answer:
            if isinstance(need, RunTools):
                return Answer(
                    messages=tuple(result(f"x{one.id}", one.id, "ok") for one in need.calls)
                )
            return answer(need)

        heard = AnswerLog(meet)
        settings = POLICY.settings([], window=2_000_000)  # Roku believes in a far larger window
        done = play_turn(POLICY, buffer, heard, settings, step=3, max_tokens=500)
    assert done.error == ""
    assert "ReactiveCompactTriggered" in [event.name for event in done.events]
    assert [outcome.tier for outcome in done.outcomes if outcome.events][-1] in ("L4", "L0")
    assert isinstance(heard.asked[0].need, AskModel)
    assert isinstance(heard.asked[0].reply, Exception)
    assert done.answer is not None
    assert done.answer.messages


def test_a_run_is_replayed_exactly_without_the_server(simulated: SimulatedServer) -> None:
    simulated.world.faults.push("overflow")
    with by_url(simulated, "anthropic") as answer:
        heard = AnswerLog(answer)
        outcome = _run("L3b", heard)
    again = _run("L3b", Scripted([one.reply for one in heard.asked]))
    assert again == outcome
    assert [type(one) for one in heard.asked] == [AnsweredNeed, AnsweredNeed]


@pytest.mark.parametrize("wire", WIRES)
def test_the_simulated_provider_and_the_offline_answerer_say_the_same(
    simulated: SimulatedServer, wire: Api
) -> None:
    """Both extract; the server sees only the digest, so its summary may know less but keeps the contract."""
    with by_url(simulated, wire) as answer:
        there = _run("L3b", answer).buffer.messages[1].text
    here = _run("L3b", offline).buffer.messages[1].text
    for header in ("Goal:", "Accomplished:", "Key Decisions:", "Relevant Files:"):
        assert header in there
        assert header in here


def test_a_need_that_wants_hands_is_missing(simulated: SimulatedServer) -> None:
    with by_url(simulated, "chat") as answer, pytest.raises(ProviderFailure) as failed:
        answer(RunTools(()))
    assert failed.value.kind == "missing"
