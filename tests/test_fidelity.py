"""Rebuilt buffers explain what the providers reported, as well as is asked, on every real session at hand; and they are
the bodies that were sent, where those lie beside the transcript."""

import importlib
import json
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from inspector.core.tokens.quantiles import quantile
from tests.core.formats.recordings import Recording
from tests.core.formats.sending import Sender
from tests.shared import ARE_REAL

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def fidelity(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return importlib.import_module("make_fidelity")


KEPT = {
    "claude-code": (0.998, 0.96),
    "codex": (0.999, 0.99),
    "pi": (0.9995, 0.999),
    "gemini-cli": (0.999, 0.999),
    "opencode": (0.999, 0.999),
    "openclaw": (0.9995, 0.998),
    "mini-swe-agent": (0.9995, 0.9995),
    "exchange-log": (0.998, 0.998),
}
"""Median and 10th percentile of R2 that were reached; what is asked stands on the page."""
ALL = (0.9995, 0.965), (0.9995, 0.99)
"""Of all files, by one line and by stretch."""


@pytest.mark.skipif(
    not ARE_REAL, reason="measured on real transcripts, which are not on this machine"
)
def test_every_format_is_as_good_as_it_was(fidelity: ModuleType, shared: Path) -> None:
    measured = [one for one in fidelity.measure(shared) if one.fit is not None and not one.why_not]
    for name, (median, low) in KEPT.items():
        found = [r2 for r2, _ in fidelity.straight(one for one in measured if one.format == name)]
        assert found, name
        assert (quantile(found, 0.5) or 0) >= median, name
        assert (quantile(found, 0.1) or 0) >= low, name
    for every, (median, low) in zip(
        zip(*fidelity.straight(measured), strict=True), ALL, strict=True
    ):
        assert (quantile(every, 0.5) or 0) >= median
        assert (quantile(every, 0.1) or 0) >= low
    claude = [one.shown for one in measured if one.format == "claude-code"]
    errors = [error for one in claude for error in one.predicted.errors]
    after = [error for one in claude for error in one.predicted.after]
    assert (quantile(errors, 0.5) or 1) <= 0.0005
    assert (quantile(errors, 0.9) or 1) <= 0.003
    assert (quantile(after, 0.5) or 1) <= 0.2
    assert sum(one.predicted.inside for one in claude) >= 0.9 * len(after)
    believed = [error for one in measured for error in one.shown.believed]
    assert (quantile(believed, 0.5) or 1) <= 0.012
    assert (quantile(believed, 0.9) or 1) <= 0.06


def test_the_page_is_made_of_figures(fidelity: ModuleType) -> None:
    measured = list(fidelity.measure(ROOT / "resources"))
    text = "\n".join([*fidelity.page(measured), *fidelity.sessions_table(measured)])
    assert "| Claude Code session | 1 | 0.9" in text
    assert "| `sample.jsonl` | Claude Code 2.1.62 | 132 | 1 |  | 0.9" in text
    assert "rounding" not in text, "no contents"


def test_fit_prior_when_errors_are_spread_alike_holds_as_many_as_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    held_out = importlib.import_module("held_out")
    chance = random.Random(4)

    def error(size: float) -> Any:
        change = chance.randrange(100, 2_000)
        return held_out.PredictionError(
            "turn", change, 0.0, round(chance.gauss(0, size) * (50 + change / 10))
        )

    threads = [[error(0.5) for _ in range(20)] for _ in range(20)]
    small = [[error(0.05) for _ in range(20)] for _ in range(20)]
    fitted, narrow = held_out.fit_prior(threads), held_out.fit_prior(small)
    assert held_out._held(fitted, "turn", threads) >= 0.965
    assert narrow.unit("turn", 1_000) < fitted.unit("turn", 1_000)
    assert fitted.units["large"] == held_out.PRIOR.units["large"], "none of its kind was seen"


# ---- bodies ----------------------------------------------------------------------------------------------------------


def _recorded(sender: Sender, folder: Path) -> Path:
    """The transcript, and beside it the recording of the same requests."""
    recording = Recording()
    for n, messages in enumerate(sender.bodies):
        asked = recording.ask(
            {"model": "claude-opus-5", "max_tokens": 9, "tools": [], "messages": list(messages)}
        )
        said = {"type": "text", "text": f"answer {n}"}
        usage = {"input_tokens": 1_000 + n, "output_tokens": 5}
        recording.reply(
            asked,
            {"role": "assistant", "content": [said], "stop_reason": "end_turn", "usage": usage},
        )
    recording.save(folder / "recording.jsonl")
    (folder / "session.jsonl").write_text(
        "\n".join(map(json.dumps, sender.lines)), encoding="utf-8"
    )
    return folder


def test_rebuilt_buffers_that_are_the_bodies_and_some_that_are_not(
    fidelity: ModuleType, tmp_path: Path
) -> None:
    sender = Sender()
    sender.prompt("Look around.", ["git status: clean"], ["the environment"])
    sender.answer("I read.", ["Read", "Bash"])
    sender.results(["a reminder"])
    sender.answer("Done.", [])
    (same,) = fidelity.beside(_recorded(sender, tmp_path))
    assert (same.client, same.dialect) == ("Claude Code 2.1.330", "anthropic")
    assert (same.requests, same.missing, same.identical, same.why) == (2, 0, 2, {})

    sender.bodies[0] = [*sender.bodies[0], {"role": "user", "content": "and this"}]
    sender.bodies[1][0]["content"][1]["text"] = "Look elsewhere."
    (other,) = fidelity.beside(_recorded(sender, tmp_path))
    assert (other.requests, other.missing, other.identical) == (2, 0, 0)
    assert other.why == {"user Text is missing": 1, "user Text reads otherwise": 1}
    assert (
        "| 0 of 2 | user Text is missing: 1, user Text reads otherwise: 1 |"
        in fidelity.bodies.table([other])[-1]
    )


def test_a_message_that_is_split_in_two_is_a_difference(
    fidelity: ModuleType, tmp_path: Path
) -> None:
    sender = Sender()
    sender.prompt("Look around.", ["git status: clean"], [])
    sender.answer("Done.", [])
    (message,) = sender.bodies[0]
    sender.bodies[0] = [{**message, "content": [block]} for block in message["content"]]
    (found,) = fidelity.beside(_recorded(sender, tmp_path))
    assert found.identical == 0
    assert found.why == {"the pieces are shared out among other wire messages": 1}


def test_buffers_of_real_sessions_are_the_bodies_that_were_sent(
    fidelity: ModuleType, shared: Path
) -> None:
    found = list(fidelity.beside(shared))
    if not found:
        pytest.skip("no recording lies beside a transcript there")
    for one in found:
        assert (one.identical, one.why) == (one.requests - one.missing, {}), one.client
