"""`step` on the command line: the contract's fields, answers from a file, state carried from run to run."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main as cli

OK4 = "Goal: g\nAccomplished: a\nKey Decisions: k\nRelevant Files: r"


@pytest.fixture
def payload(tmp_path: Path) -> Path:
    """B10 of the conformance cases: ten messages U/A alternating, 400 characters each."""
    path = tmp_path / "body.json"
    messages = [
        {"role": "user" if i % 2 == 0 else "assistant", "content": "x" * 400} for i in range(10)
    ]
    path.write_text(json.dumps({"model": "m", "messages": messages}))
    return path


def step(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    status = cli.main(["step", *map(str, words), "--json"])
    out = capsys.readouterr()
    assert status == 0, out.err
    return json.loads(out.out)


def answers(tmp_path: Path, *replies: object) -> Path:
    path = tmp_path / f"answers-{len(list(tmp_path.iterdir()))}.json"
    path.write_text(json.dumps(list(replies)))
    return path


FIELDS = (
    "policy", "tier", "settings", "verdicts", "fired", "succeeded", "error", "before", "after", "fates", "events",
    "needs", "state", "validity",
)  # fmt: skip


def test_every_field_of_the_contract(payload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = step(capsys, payload, "--window", 1000)
    assert set(FIELDS) <= set(found)
    before = {"messages": 10, "tokens": 1040, "calibrated": 1040}
    assert found["before"] == before | {
        "predicted": 540,
        "kind": "counted",
        "band": None,
        "unseen": 0,
    }
    assert found["after"]["predicted"] == 392
    assert found["fired"] == ["L1"]
    assert found["after"]["tokens"] == 709
    assert [verdict["tier"] for verdict in found["verdicts"]] == [
        "L0",
        "L1",
        "L2",
        "L3a",
        "L3b",
        "L4",
    ]
    assert {"id", "fate", "tokens_before", "tokens_after"} == set(found["fates"][0])
    assert found["events"][0] == {"name": "MidCompactLayer1Ran", "step": 0, "messages_collapsed": 5}


def test_step_when_l3a_is_answered_from_a_file_inserts_the_provider_messages(
    payload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = {"input_tokens": 900, "output_tokens": 50}
    file = answers(
        tmp_path, {"messages": [{"role": "assistant", "content": "sum"}], "usage": usage}
    )
    found = step(capsys, payload, "--window", 1000, "--tier", "L3", "--remote", "--answers", file)
    assert found["fired"] == ["L3a"]
    assert len(found["after"]["messages"]) == 6
    assert found["after"]["messages"][1]["parts"] == [{"type": "text", "text": "sum"}]
    called = found["events"][1]
    assert (called["prompt_tokens"], called["output_tokens"], called["succeeded"]) == (
        900,
        50,
        True,
    )
    assert found["needs"][0]["kind"] == "remote_compact"
    assert found["needs"][0]["timeout_s"] == 90


def test_a_l3a_failure_never_falls_through(
    payload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = answers(tmp_path, {"error": "http", "status": 403, "message": "no"}, OK4)
    found = step(capsys, payload, "--window", 1000, "--tier", "L3", "--remote", "--answers", file)
    assert (found["succeeded"], found["error"], len(found["needs"])) == (
        False,
        "provider_failure",
        1,
    )
    assert found["state"]["breaker"]["failures"] == 1
    assert found["after"]["tokens"] == 702


def test_the_breaker_opens_over_three_runs(
    payload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state, file = tmp_path / "state.json", answers(tmp_path, {"error": "timeout"})
    more: list[object] = []
    for failures in (1, 2, 3):
        found = step(
            capsys,
            payload,
            "--tier",
            "L3b",
            "--answers",
            file,
            "--save-state",
            state,
            "--force",
            *more,
        )
        assert found["state"]["breaker"]["failures"] == failures
        more = ["--state", state]
    assert found["state"]["breaker"]["open"] is True
    assert [event["name"] for event in found["events"]][-2] == "AutoCompactCircuitBreakerTripped"
    found = step(capsys, payload, "--tier", "L3b", *more)
    assert found["needs"] == []
    assert [event["name"] for event in found["events"]] == ["CompactTriggered", "CompactComplete"]


def test_overflow_drops_the_oldest_half(
    payload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = answers(tmp_path, {"error": "context_window_exceeded"}, OK4)
    found = step(capsys, payload, "--tier", "L3b", "--answers", file)
    assert found["events"][1]["drop_oldest_retries"] == 1
    assert len(found["needs"]) == 2


def test_samples_feed_the_calibration(
    payload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = tmp_path / "samples.json"
    samples.write_text("[[1000, 1100], [1000, 900], [2000, 3000]]")
    found = step(capsys, payload, "--samples", samples, "--tier", "L0")
    assert found["state"]["scale"] == pytest.approx(1.1666667)
    assert (found["before"]["tokens"], found["before"]["calibrated"]) == (1040, 1213)
    assert found["before"]["predicted"] == 540, (
        "samples of somebody else say nothing about this buffer"
    )


def test_summary_and_modes(payload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = step(capsys, payload, "--tier", "L2", "--summary", "S")
    assert found["after"]["messages"][1]["parts"][0]["text"] == "[Session memory summary]\nS"
    assert step(capsys, payload, "--mode", "safe", "--tier", "L0")["settings"]["mode"] == "safe"


@pytest.mark.parametrize(
    "words",
    [
        ["--tier", "L9"], ["--set", "nonsense=1"], ["--set", "context_window_tokens=2000001"],
        ["--answers", "/nonexistent.json"], ["--answerer", "nobody"], ["--policy", "roku", "--policy", "roku"],
    ],
)  # fmt: skip
def test_expected_failures_are_one_sentence(
    payload: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["step", str(payload), "--json", *words]) == 1
    out = capsys.readouterr()
    assert out.out == ""
    assert len(out.err.strip().splitlines()) == 1


@pytest.mark.parametrize("shape", ["anthropic", "openai-chat", "openai-responses"])
def test_output_as_a_payload_opens_again(
    payload: Path, tmp_path: Path, shape: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.json"
    found = step(capsys, payload, "--tier", "L1", "--output", target, "--as", shape)
    again = step(capsys, target, "--tier", "L0")
    assert [m["parts"] for m in again["after"]["messages"]] == [
        m["parts"] for m in found["after"]["messages"]
    ]
    assert (
        cli.main(["step", str(payload), "--tier", "L1", "--output", str(target), "--as", shape])
        == 1
    )
    assert "--force" in capsys.readouterr().err


def test_results_that_travelled_together_are_messages_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "body.json"
    calls = [
        {"type": "tool_use", "id": f"c{i}", "name": "Read", "input": {"p": i}} for i in range(4)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": f"c{i}", "content": "x" * 400} for i in range(4)
    ]
    body = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
    ]
    path.write_text(json.dumps({"model": "m", "max_tokens": 10, "messages": body}))
    found = step(capsys, path, "--tier", "L0")
    assert [fate["fate"] for fate in found["fates"]] == [
        "kept",
        "kept",
        "cleared",
        "kept",
        "kept",
        "kept",
    ]
    assert found["events"] == [{"name": "MicrocompactRan", "step": 0, "freed_tokens": 91}]
    assert found["validity"] == []
