"""The numbers of all commands at one place: reported, predicted, believed; what fills the buffer; what a step frees."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from inspector.cli import main as cli
from inspector.resources import resource

SAMPLE = str(resource("sample.jsonl"))
FULL = 78
"""The fullest request of the sample: the recorded compaction follows."""
Ask: TypeAlias = Callable[..., Any]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """The JSON document of a command."""

    def answer(*words: object) -> Any:
        assert cli.main([*map(str, words), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return answer


def test_each_policy_believes_in_its_own_unit(ask: Ask) -> None:
    """What was reported and what is predicted are the same whoever looks."""
    found = {
        name: ask("info", SAMPLE, "--policy", name) for name in ("roku", "pi", "learn-claude-code")
    }
    believed = {name: info["requests"][FULL]["believed"] for name, info in found.items()}
    reported = found["roku"]["requests"][FULL]["reported"]
    assert believed["roku"] == pytest.approx(reported, rel=0.02)
    assert believed["learn-claude-code"] < 0.8 * reported, "it does not count its prompt"
    assert (
        len({json.dumps([one["predicted"] for one in info["requests"]]) for info in found.values()})
        == 1
    )


def test_what_is_believed_is_what_the_verdicts_compare(ask: Ask) -> None:
    for name in ("roku", "pulse", "pi", "learn-claude-code"):
        info = ask("info", SAMPLE, "--policy", name)
        for at in (6, FULL, "end"):
            verdicts = ask("step", SAMPLE, "--policy", name, "--at", at)["verdicts"]
            believed = (info["end"] if at == "end" else info["requests"][at])["believed"]
            compared = {
                one["tokens"]
                for one in verdicts
                if one["limit"] is not None and one["tokens"] is not None
            }
            assert compared == {believed}, (name, at)


def test_predictions_of_the_next_call_are_close(ask: Ask) -> None:
    requests = ask("info", SAMPLE)["requests"]
    assert requests[0]["predicted"] is None, "nothing to go by"
    errors = sorted(abs(one["predicted"] / one["reported"] - 1) for one in requests[1:])
    assert errors[len(errors) // 2] < 0.002
    assert ask("calibrate", SAMPLE)["prediction"]["median"] == pytest.approx(
        errors[len(errors) // 2], abs=0.0005
    )


@pytest.mark.parametrize("at", ["0", "6", "79", "end"])
def test_what_fills_the_buffer_adds_up(ask: Ask, at: str) -> None:
    pressure = ask("buffer", SAMPLE, "--at", at)["pressure"]
    assert pressure["unseen"] > 10_000
    assert sum(pressure["categories"].values()) + pressure["unseen"] == pressure["tokens"]


def test_info_and_buffer_and_step_say_the_same(ask: Ask) -> None:
    info = ask("info", SAMPLE)
    for at in (0, FULL, 79, "end"):
        told = info["end"] if at == "end" else info["requests"][at]
        pressure, before = (
            ask("buffer", SAMPLE, "--at", at)["pressure"],
            ask("step", SAMPLE, "--at", at)["before"],
        )
        assert (told["tokens"], told["kind"]) == (pressure["tokens"], pressure["kind"])
        assert (told["tokens"], told["kind"]) == (before["predicted"], before["kind"])
        assert told["unseen"] == pressure["unseen"] == before["unseen"]
        assert told["band"] == pressure["band"] == before["band"]


def test_a_step_that_changes_nothing_changes_no_number(ask: Ask) -> None:
    found = ask("step", SAMPLE, "--at", 1, "--tier", "L0")
    assert {one["fate"] for one in found["fates"]} == {"kept"}
    before, after = found["before"], found["after"]
    assert after["kind"] == before["kind"] == "reported"
    assert all(
        after[key] == before[key] for key in ("predicted", "band", "unseen", "tokens", "calibrated")
    )


@pytest.mark.parametrize("tier", ["L0", "L1", "L3b"])
def test_a_step_frees_what_its_rows_lose(ask: Ask, tier: str) -> None:
    found = ask("step", SAMPLE, "--at", FULL, "--tier", tier)
    before, after = found["before"], found["after"]
    freed = before["predicted"] - after["predicted"]
    assert 0 < freed <= before["predicted"] - before["unseen"], "never more than the rows hold"
    assert sum(one["tokens_before"] - one["tokens_after"] for one in found["fates"]) == freed
    assert after["kind"] == "predicted"
    assert after["band"][0] < after["predicted"] < after["band"][1]
    assert after["unseen"] == before["unseen"]


SYSTEM = "You are a careful engineer. " * 200
FUNCTIONS = [
    {
        "name": f"tool_{n}",
        "description": "Searches the repository for text, and lists what it found. " * 12,
        "parameters": {
            "type": "object",
            "properties": {"pattern": {"type": "string", "description": "what " * 60}},
        },
    }
    for n in range(20)
]
BODIES: dict[str, dict[str, Any]] = {
    "anthropic": {
        "model": "claude-opus-4-5",
        "max_tokens": 100,
        "system": SYSTEM,
        "tools": [
            {
                "name": one["name"],
                "description": one["description"],
                "input_schema": one["parameters"],
            }
            for one in FUNCTIONS
        ],
        "messages": [{"role": "user", "content": "Hello there"}],
    },
    "openai-chat": {
        "model": "gpt-5",
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": "Hello there"},
        ],
        "tools": [{"type": "function", "function": one} for one in FUNCTIONS],
    },
    "openai-responses": {
        "model": "gpt-5",
        "instructions": SYSTEM,
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Hello there"}],
            }
        ],
        "tools": [{"type": "function", **one} for one in FUNCTIONS],
    },
    "gemini": {
        "model": "gemini-2.5-pro",
        "systemInstruction": {"parts": [{"text": SYSTEM}]},
        "contents": [{"role": "user", "parts": [{"text": "Hello there"}]}],
        "tools": [{"functionDeclarations": FUNCTIONS}],
    },
}


@pytest.mark.parametrize("shape", BODIES)
def test_a_request_body_counts_system_prompt_tools_and_messages(
    ask: Ask, tmp_path: Path, shape: str
) -> None:
    """The policy's own rule stays in its verdict: Pulse counts what was said, and nothing else."""
    path = tmp_path / "body.json"
    path.write_text(json.dumps(BODIES[shape]), "utf-8")
    pressure = ask("buffer", path)["pressure"]
    said = pressure["categories"]
    assert pressure["kind"] == "counted"
    assert pressure["unseen"] == 0
    assert said["system"] > 1_000
    assert said["tools"] > 4_000
    assert 0 < said["user"] < 20
    assert sum(said.values()) == pressure["tokens"]
    (request,) = ask("info", path)["requests"]
    assert request["tokens"] == pressure["tokens"]
    step = ask("step", path, "--policy", "pulse")
    assert step["before"]["predicted"] == pressure["tokens"]
    assert step["verdicts"][0]["tokens"] == step["before"]["calibrated"] < 20


@pytest.mark.parametrize("shape", BODIES)
def test_a_body_without_prompt_and_tools_is_its_messages(
    ask: Ask, tmp_path: Path, shape: str
) -> None:
    body = {
        key: one
        for key, one in BODIES[shape].items()
        if key not in ("system", "instructions", "tools")
    }
    if "messages" in body:
        body["messages"] = body["messages"][-1:]
    body.pop("systemInstruction", None)
    path = tmp_path / "body.json"
    path.write_text(json.dumps(body), "utf-8")
    assert ask("buffer", path)["pressure"]["tokens"] < 20
