"""What a policy does about held requests without being asked: instructions stay, cuts are few, and each is told."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from inspector.cli.proxy import Attendant, rule_of
from inspector.core.buffer import Buffer
from inspector.core.jsontext import dumps, loads
from inspector.core.message import Message, Text
from inspector.core.policies import instructions
from inspector.core.tokens.prediction import Prediction
from inspector.proxy.clients import find_patience
from inspector.proxy.holds.compacting import Compactor, Proposal, proposal_words
from inspector.proxy.holds.hold import HoldInfo
from inspector.proxy.holds.holds import Holds
from inspector.simulated.server import SimulatedServer
from tests.proxy.agents import AGENTS, RULES, SYSTEM, codex, prompt_tokens
from tests.proxy.holding import at_gate, held_by, records, settled, until
from tests.proxy.test_attendant import arguments

POLICIES = ["roku", "pi", "codex", "opencode", "learn-claude-code", "gemini", "pulse"]


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the command says on its stderr."""
    said: list[str] = []
    monkeypatch.setattr("inspector.cli.proxy.note", said.append)
    return said


def attended(given: argparse.Namespace, ask: Callable[[str], str] | None = None) -> Holds:
    gate = Holds(rule_of(given))
    Attendant(gate, given, ask)
    return gate


def body(simulated: SimulatedServer) -> dict[str, Any]:
    found: dict[str, Any] = loads(simulated.world.seen[-1].body)
    return found


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: str(kind.__name__))
def test_nothing_is_cut_before_there_is_a_turn(
    kind: Any, policy: str, simulated: SimulatedServer
) -> None:
    """However small the window: the first request is instructions and a task, and goes as it came."""
    agent = kind()
    gate = attended(arguments("--pause-at", "0.1", "--window", "800", "--compact-with", policy))
    with at_gate(gate, simulated.url) as at:
        at.ask(agent)
    assert body(simulated) == agent.body
    assert at.logs[0].ways == ["held watermark", "released as it was"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: str(kind.__name__))
def test_instructions_stay_byte_for_byte(
    kind: Any, policy: str, simulated: SimulatedServer
) -> None:
    """A conversation beyond its window is cut; what the client laid in as instructions is what the provider reads."""
    agent = kind()
    more = ("--set", "keep_recent_tokens=2000") if policy == "pi" else ()
    gate = attended(
        arguments("--pause-at", "0.5", "--window", "12000", "--compact-with", policy, *more)
    )
    with at_gate(gate, simulated.url) as at:
        at.ask(agent)
        agent.goes_on(16)
        at.ask(agent)
    sent, came = body(simulated), agent.body
    changed = "released changed" in at.logs[1].ways
    if policy in ("roku", "pi", "codex"):
        assert changed
        assert len(dumps(sent)) < 0.8 * len(dumps(came))
    pinned = [one for one in came[agent.key] if one.get("role") in ("system", "developer")]
    assert [one for one in sent[agent.key] if one.get("role") in ("system", "developer")] == pinned
    assert {key: value for key, value in sent.items() if key != agent.key} == agent.fixed
    text = dumps(sent)
    assert dumps(RULES)[1:-1] in text
    assert dumps(SYSTEM)[1:-1] in text or kind is codex
    if kind is codex:
        assert came["input"][:2] == sent["input"][:2], "rules, then AGENTS.md"


def test_a_cut_is_told_with_tokens_before_and_after(
    simulated: SimulatedServer, tmp_path: Path, notes: list[str]
) -> None:
    """And the number after is what the provider then reports."""
    agent = codex()
    gate = attended(arguments("--pause-at", "0.5", "--window", "12000", "--compact-with", "roku"))
    with held_by(gate, simulated.url, tmp_path) as proxy:
        agent.ask(proxy.url)
        agent.goes_on(16)
        reported = prompt_tokens(agent.ask(proxy.url).json())
    (said,) = until(lambda: [one for one in notes if "->" in one])
    held = next(one["tokens"] for one in records(proxy) if one["type"] == "held")
    assert "by roku" in said
    assert f"{held:,} tokens" in said.partition("->")[0]
    assert f"{reported:,} tokens" in said.partition("->")[2]
    assert "% of the window" in said
    assert "summarised" in said or "cleared" in said


def test_cuts_are_few_and_large(simulated: SimulatedServer, notes: list[str]) -> None:
    """A long task fills half of the window and stays; the policy could clear the oldest result at every request. Each
    cut makes the cache begin anew, so it waits until one is worth it.
    """
    agent = codex()
    agent.items[-1]["content"][0]["text"] += " Mind this list of ports: " + " ".join(
        map(str, range(4_000, 7_200))
    )
    gate = attended(arguments("--pause-at", "0.5", "--window", "20000", "--compact-with", "roku"))
    sizes: list[int] = []
    with at_gate(gate, simulated.url) as at:
        for _ in range(40):
            sizes.append(prompt_tokens(at.ask(agent)))
            agent.goes_on()
    ways = [way for log in at.logs for way in log.ways if way.startswith("released")]
    cuts = ways.count("released changed")
    held = sum(
        way in ("released changed", "released as it was", "released cut again") for way in ways
    )
    drops = [one - other for one, other in pairwise(sizes) if other < one]
    assert max(sizes) < 20_000
    assert held > 20
    assert 5 <= cuts <= 0.4 * held, f"{cuts} cuts in {held} held requests"
    assert min(drops) > 600
    assert any("too little was added since" in note for note in notes)


def test_the_prompt_shows_what_would_go(
    simulated: SimulatedServer, tmp_path: Path, notes: list[str]
) -> None:
    """Before anything is decided: messages and tokens before and after; and just that goes on."""
    agent = codex()
    asked: list[str] = []
    seen: list[list[str]] = []

    def person(prompt: str) -> str:
        asked.append(prompt)
        seen.append(list(notes))
        return "c"

    gate = attended(arguments("--pause-each", "--window", "12000"), person)
    with held_by(gate, simulated.url, tmp_path) as proxy:
        agent.ask(proxy.url)
        agent.goes_on(16)
        reported = prompt_tokens(agent.ask(proxy.url).json())
        assert "released changed" in settled(proxy, 1)
    assert "no turn" in seen[0][-1]
    shown = seen[1][-1]
    assert "->" in shown
    assert f"{reported:,} tokens" in shown.partition("->")[2]
    assert "messages" in shown


HOLD = HoldInfo(
    0,
    0,
    "",
    "watermark",
    "codex",
    "s",
    "",
    "m",
    Prediction(20_000, 19_000, 21_000),
    10_000,
    3,
    0.0,
    find_patience("codex", "openai-responses", {}, streams=True),
)


def test_what_a_provider_would_refuse_is_not_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proposal says so, and whoever is asked can still decide."""
    told_of = Buffer(
        (
            Message("a", "user", (Text("x " * 9_000),)),
            Message("b", "assistant", (Text("y " * 9_000),)),
            Message("c", "user", (Text("z"),)),
        )
    )
    monkeypatch.setattr(
        instructions,
        "with_instructions",
        lambda before, after: before.with_messages(before.messages[1:2]),
    )
    found = Compactor("codex").propose(HOLD, told_of, lambda buffer: 5)
    assert found.after is None
    assert "would leave a buffer that a provider refuses" in proposal_words(found, 10_000)


def _predict_tokens(left: int) -> Callable[[Buffer], int]:
    """The buffer that was proposed weighs `left`; the instructions alone, 1,000."""
    return lambda buffer: left if buffer.messages else 1_000


def test_when_a_cut_is_made_by_itself() -> None:
    """It is worth a tenth of the conversation, and a tenth of the window has come since the last one."""
    said = tuple(
        Message(f"{n}", "user" if n % 2 == 0 else "assistant", (Text("y " * 4_000),))
        for n in range(5)
    )
    buffer, compactor = (
        Buffer(said),
        Compactor("codex", (("model_auto_compact_token_limit", "15000"),)),
    )

    def proposed(tokens: int, left: int) -> Proposal:
        hold = replace(HOLD, size=Prediction(tokens, tokens, tokens), window=30_000)
        return compactor.propose(hold, buffer, _predict_tokens(left))

    assert proposed(21_000, 20_000).is_small, "of 20,000 that could go 1,000 go"
    first = proposed(21_000, 19_000)
    assert not first.is_small
    assert first.gone
    compactor.keep(HOLD, first)
    again = proposed(21_900, 15_000)
    assert again.is_small
    assert "the last compaction left 19,000 tokens" in again.why
    assert not proposed(22_000, 15_000).is_small
    assert not proposed(30_500, 30_400).is_small, "a full window cannot wait"
    assert proposed(30_500, 30_600).is_small, "but a cut that frees nothing is none"
    assert proposed(16_000, 9_000).is_small, (
        "the client has compacted meanwhile: it begins from there"
    )
    assert not proposed(19_000, 9_000).is_small
