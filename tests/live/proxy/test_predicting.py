"""The size of a held request before its provider says it: on the first, while it grows, and right after a cut."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.message import Message, Text
from inspector.core.tokens.counted import Tiktoken
from inspector.live.proxy.compacting import Compactor
from inspector.live.proxy.hold import Hold, Rule
from inspector.live.proxy.holds import Holds
from inspector.live.proxy.predicting import Counted, Counts, Learned, predicted_tokens
from inspector.live.simulated.cache import Counts as ProvidersCounts
from inspector.live.simulated.server import SimulatedServer
from inspector.live.simulated.world import World
from tests.live.proxy.agents import AGENTS, Agent, prompt_tokens
from tests.live.proxy.holding import Later, held_by, the_hold, until


@pytest.fixture(params=[1.0, 1.37])
def provider(request: pytest.FixtureRequest) -> Iterator[SimulatedServer]:
    """One that counts as we do; and one with another tokenizer, denser besides."""
    world = World(remember=5, scale=request.param)
    if request.param != 1.0:
        world._counts = ProvidersCounts(Tiktoken("cl100k_base"))
    with SimulatedServer(world) as server:
        yield server


class Watched:
    """An agent behind a proxy that holds each request."""

    def __init__(self, agent: Agent, gate: Holds, url: str) -> None:
        self.agent, self.gate, self.url = agent, gate, url

    def turn(self, change: Callable[[Hold], Buffer | None] = lambda hold: None) -> tuple[Hold, int]:
        """One request: how it was held, and what its provider then reported."""
        call = Later(lambda: self.agent.ask(self.url))
        hold = the_hold(self.gate)
        before = self.gate.buffer(hold.id)
        self.gate.release(hold.id, change(hold), before)
        told = prompt_tokens(call.result().json())
        until(lambda: not self.gate.list())
        return hold, told


def _by(name: str, *pairs: tuple[str, str]) -> Any:
    def cut(watched: "Watched", hold: Hold, seen: list[int]) -> Buffer | None:
        buffer = watched.gate.buffer(hold.id)
        proposal = Compactor(name, pairs).propose(hold, buffer, lambda one: watched.gate.predicted(hold.id, one))
        assert proposal.after is not None, proposal.why
        assert proposal.tokens_before == hold.tokens
        seen.append(proposal.tokens_after)
        return proposal.after

    return cut


CUTS = {
    "roku": _by("roku"),
    "pi": _by("pi", ("keep_recent_tokens", "2000")),
}


@pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: str(kind.__name__))
@pytest.mark.parametrize("cut", list(CUTS))
def test_it_is_right_at_once_and_right_after_a_cut(
    kind: Any, cut: str, provider: SimulatedServer, tmp_path: Path
) -> None:
    same = provider.world.scale == 1.0
    gate = Holds(Rule("each", window=20_000))
    with held_by(gate, provider.url, tmp_path) as proxy:
        watched = Watched(kind(), gate, proxy.url)
        hold, told = watched.turn()
        if same:  # another tokenizer cannot be known before it has spoken
            assert hold.tokens == pytest.approx(told, rel=0.01)
        while told < 17_000:
            watched.agent.goes_on(2)
            hold, told = watched.turn()
            assert hold.tokens == pytest.approx(told, rel=0.01 if same else 0.10)
        sizes: list[int] = []
        watched.agent.goes_on()
        hold, told = watched.turn(lambda one: CUTS[cut](watched, one, sizes))
        assert hold.tokens is not None
        assert told < 0.8 * hold.tokens
        assert sizes[0] == pytest.approx(told, rel=0.03)
        watched.agent.goes_on()
        hold, told = watched.turn()
        assert hold.tokens == pytest.approx(told, rel=0.03)


PROMPT = Prompt("Be brief.", (Tool("look", {"name": "look", "description": "Looks."}),))


def _counted(counts: Counts, *texts: str) -> Counted:
    return counts(Buffer(tuple(Message(str(n), "user", (Text(text),)) for n, text in enumerate(texts)), PROMPT))


def test_what_is_counted_is_known_by_what_it_says() -> None:
    """System prompt and tools are in it; ids and times are not."""
    counts = Counts()
    one, more = _counted(counts, "a b c"), _counted(counts, "a b c", "d e f")
    assert more.extends(one)
    assert not one.extends(more)
    assert not _counted(counts, "x", "a b c", "d e f").extends(one)
    assert one.tokens == Tiktoken().weigh_prompt(PROMPT) + 4 + 3
    assert counts(Buffer(())).tokens == 0
    assert _counted(Counts(), "a b c") == one


def test_the_factor_is_learned_from_growth_and_a_cut_goes_by_it() -> None:
    """The provider counts half as much again, and 500 tokens that no body holds."""
    counts, learned = Counts(), Learned()
    texts = [f"words of the {n}th message, " * 30 for n in range(6)]
    assert predicted_tokens(learned, _counted(counts, *texts), "m", 2.0) == 2 * _counted(counts, *texts).tokens
    for n in range(1, 6):
        one = _counted(counts, *texts[:n])
        learned.take(one, 500 + round(1.5 * one.tokens), "m")
    cut = _counted(counts, texts[5])
    assert predicted_tokens(learned, cut, "m") == pytest.approx(500 + 1.5 * cut.tokens, abs=2)
    assert predicted_tokens(learned, cut, "another model", 1.2) == round(1.2 * cut.tokens)


def test_an_unchanged_request_keeps_what_was_reported() -> None:
    counts, learned = Counts(), Learned()
    one = _counted(counts, "a b c")
    learned.take(one, 777, "m")
    assert predicted_tokens(learned, one, "m") == 777
