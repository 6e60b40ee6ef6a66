"""The size of a held request before its provider says it: on the first, while it grows, and right after a cut."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.message import Message, Text
from inspector.core.tokens.counted import Tiktoken
from inspector.core.tokens.prediction import Prediction
from inspector.core.usage import Usage
from inspector.proxy.holds.compacting import Compactor
from inspector.proxy.holds.hold import HoldInfo, Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.holds.memory import NOTHING, SizeLearner, TokenCount, TokenCounter
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import PromptCounts as ProvidersCounts
from inspector.simulated.state import SimulatedServerState
from tests.proxy.agents import AGENTS, Agent, prompt_tokens
from tests.proxy.holding import AtGate, Later, at_gate, the_hold, until


@pytest.fixture(params=[1.0, 1.37])
def provider(request: pytest.FixtureRequest) -> Iterator[SimulatedServer]:
    """One that counts as we do; and one with another tokenizer, denser besides."""
    world = SimulatedServerState(remember=5, scale=request.param)
    if request.param != 1.0:
        world._counts = ProvidersCounts(Tiktoken("cl100k_base"))
    with SimulatedServer(world) as server:
        yield server


class Watched:
    """An agent at a gate that holds each request."""

    def __init__(self, agent: Agent, gate: Holds, at: AtGate) -> None:
        self.agent, self.gate, self.at = agent, gate, at

    def turn(
        self, change: Callable[[HoldInfo], Buffer | None] = lambda hold: None
    ) -> tuple[HoldInfo, int]:
        """One request: how it was held, and what its provider then reported."""
        call = Later(lambda: self.at.ask(self.agent))
        hold = the_hold(self.gate)
        before = self.gate.buffer(hold.id)
        self.gate.release(hold.id, change(hold), before)
        told = prompt_tokens(call.result())
        until(lambda: not self.gate.list())
        return hold, told


def _by(name: str, *pairs: tuple[str, str]) -> Any:
    def cut(watched: "Watched", hold: HoldInfo, seen: list[int]) -> Buffer | None:
        buffer = watched.gate.buffer(hold.id)
        proposal = Compactor(name, pairs).propose(
            hold, buffer, lambda one: watched.gate.predicted(hold.id, one)
        )
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
    kind: Any, cut: str, provider: SimulatedServer
) -> None:
    same = provider.world.scale == 1.0
    gate = Holds(Rule("each", window=20_000))
    with at_gate(gate, provider.url) as at:
        watched = Watched(kind(), gate, at)
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


def _counted(counts: TokenCounter, *texts: str) -> TokenCount:
    return counts(
        Buffer(
            tuple(Message(str(n), "user", (Text(text),)) for n, text in enumerate(texts)), PROMPT
        )
    )


def test_what_is_counted_is_known_by_what_it_says() -> None:
    """System prompt and tools are in it; ids and times are not."""
    counts = TokenCounter()
    one, more = _counted(counts, "a b c"), _counted(counts, "a b c", "d e f")
    assert more.extends(one)
    assert not one.extends(more)
    assert not _counted(counts, "x", "a b c", "d e f").extends(one)
    assert one.tokens == Tiktoken().weigh_prompt(PROMPT) + 4 + 3
    assert counts(Buffer(())).tokens == 0
    assert _counted(TokenCounter(), "a b c") == one


def _told(
    learned: SizeLearner,
    one: TokenCount,
    reported: int,
    output: int = 0,
    answer: TokenCount | None = None,
) -> None:
    learned.take(one, Usage(input=reported, output=output), "m", answer or NOTHING)


TEXTS = [f"words of the {n}th message, " * 30 for n in range(6)]


def test_before_anything_was_reported_all_that_is_counted_is_all_there_is() -> None:
    """Unless another conversation has told how its provider counts."""
    one = _counted(TokenCounter(), *TEXTS)
    assert SizeLearner().predict(one, "claude-sonnet-4").tokens == one.tokens
    assert SizeLearner().predict(one, "claude-sonnet-4").high > one.tokens, (
        "as far as that family may be from it"
    )
    assert SizeLearner().predict(one, "m", 1.5).tokens == round(1.5 * one.tokens)


def test_the_factor_is_learned_from_growth_and_a_cut_goes_by_it() -> None:
    """The provider counts half as much again, and 500 tokens that no body holds."""
    counts, learned = TokenCounter(), SizeLearner()
    for n in range(1, 6):
        one = _counted(counts, *TEXTS[:n])
        _told(learned, one, 500 + round(1.5 * one.tokens))
    cut = _counted(counts, TEXTS[5])
    found = learned.predict(cut, "m")
    assert found.tokens == pytest.approx(500 + 1.5 * cut.tokens, abs=2)
    assert found.low < found.tokens < found.high
    assert learned.predict(cut, "another model", 1.2).tokens == round(1.2 * cut.tokens)


def test_after_one_report_a_cut_goes_by_the_whole_of_it() -> None:
    """A body holds all that the model reads: what it weighs is its factor."""
    counts, learned = TokenCounter(), SizeLearner()
    one = _counted(counts, *TEXTS)
    _told(learned, one, 2 * one.tokens)
    cut = _counted(counts, TEXTS[0])
    assert learned.predict(cut, "m").tokens == 2 * cut.tokens


def test_an_unchanged_request_keeps_what_was_reported() -> None:
    counts, learned = TokenCounter(), SizeLearner()
    for _ in range(2):
        _told(learned, _counted(counts, "a b c"), 777)
        assert learned.predict(_counted(counts, "a b c"), "m") == Prediction(777, 777, 777)


def test_an_answer_is_as_large_as_its_provider_said() -> None:
    """Where it stands in the next request as it was said; thinking, say, cannot be counted."""
    counts, learned = TokenCounter(), SizeLearner()
    said = ["a b c", "d e f", "g h i", "j k l"]
    answer = counts(Buffer((Message("x", "user", (Text("said"),)),)))
    for n in range(1, 5):
        output, told = (900, answer) if n == 4 else (0, None)
        _told(learned, _counted(counts, *said[:n]), 93 + 7 * n, output, told)
    assert learned.predict(_counted(counts, *said, "said"), "m").tokens == 121 + 900
    assert learned.predict(_counted(counts, *said, "other"), "m").tokens < 140
