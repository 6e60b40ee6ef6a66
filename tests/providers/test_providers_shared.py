"""Real transcripts through both SDKs: every buffer is taken, every tier that calls a model steps on it."""

from pathlib import Path

import pytest

from inspector.core.answering import Answerer
from inspector.core.needs import AskModel, ProviderFailure, drive
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.roku import POLICY
from inspector.core.policies.roku.settings import RokuState
from inspector.core.policies.verdict import PolicyInput
from inspector.core.session import Thread
from inspector.core.validity import ANTHROPIC, CHAT, RESPONSES, find_refusals
from inspector.providers.answerers import Api
from inspector.simulated.server import SimulatedServer
from inspector.transcripts.files import open_transcript
from tests.providers.providing import WIRES, by_url
from tests.shared import transcripts

LARGEST = 3_000_000
NAMES: dict[Api, str] = {"anthropic": ANTHROPIC, "responses": RESPONSES, "chat": CHAT}


def _some(pattern: str, count: int) -> list[Path]:
    """The first, the last and some between, of those that are quickly read."""
    found = [path for path in transcripts(pattern) if path.stat().st_size < LARGEST]
    return found[:: max(1, len(found) // count)][:count]


SOME = [path for kind in ("claude-code", "codex", "pi") for path in _some(f"{kind}/**/*.json*", 3)]
pytestmark = pytest.mark.skipif(not SOME, reason="no real transcripts on this machine")


def _thread(path: Path) -> Thread:
    session = open_transcript(path)
    return max(session.threads, key=lambda thread: len(thread.requests))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem[:24])
def test_a_recorded_buffer_is_answered(simulated: SimulatedServer, wire: Api, path: Path) -> None:
    """By any provider, whoever wrote it; refused only where the validity check says so."""
    simulated.world.window = 10_000_000
    requests = _thread(path).requests
    with by_url(simulated, wire) as answer:
        for request in (requests[len(requests) // 2], requests[-1]):
            buffer = request.buffer()
            found = [one for one in find_refusals(buffer) if NAMES[wire] in one.providers]
            why = [one.why for one in found if one.rule != "empty-message"]  # those are left out
            if why:
                with pytest.raises(ProviderFailure, match="HTTP 400"):
                    answer(AskModel(buffer, 300))
            else:
                assert answer(AskModel(buffer, 300)).messages


def _step(tier: str, thread: Thread, answer: Answerer, overflow: str = "") -> Outcome[RokuState]:
    buffer = thread.requests[-1].buffer()
    settings = POLICY.settings([("opaque_items", "keep")], window=200_000)
    moment = PolicyInput(step=1, remote=tier == "L3a", overflow=overflow)
    return drive(
        POLICY.tier(tier, PolicyContext(buffer, settings, POLICY.fresh(settings), moment)), answer
    )


@pytest.mark.parametrize("tier", ["L3a", "L3b", "L4"])
@pytest.mark.parametrize("wire", ["anthropic", "responses"])
@pytest.mark.parametrize("path", SOME[::3], ids=lambda path: path.stem[:24])
def test_a_tier_steps_on_it(simulated: SimulatedServer, tier: str, wire: Api, path: Path) -> None:
    """And with an injected failure the same tier falls back on its digest."""
    simulated.world.window = 10_000_000
    thread = _thread(path)
    before = len(thread.requests[-1].view)
    with by_url(simulated, "responses" if tier == "L3a" else wire) as answer:
        good = _step(tier, thread, answer, "too long" if tier == "L4" else "")
        simulated.world.faults.push("529")
        bad = _step(tier, thread, answer, "too long" if tier == "L4" else "")
    if before < 3:
        assert not good.succeeded
        return
    assert good.succeeded, good.error
    assert len(good.buffer.messages) < before
    assert (bad.succeeded, bad.error, bad.running.breaker.failures) == (
        False,
        "provider_failure",
        1,
    )
    assert "messages compacted]" in bad.buffer.messages[1].text
