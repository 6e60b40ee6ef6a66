"""`step` with the policies that have hands: pulse and learn-claude-code, by name, tier and settings."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main as cli
from inspector.core.policies.catalogue import POLICIES
from inspector.resources import resource


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder is the workspace; what is kept lies in `data`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def step(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    status = cli.main(["step", *map(str, words), "--json"])
    out = capsys.readouterr()
    assert status == 0, out.err
    return json.loads(out.out)


def written(place: Path, name: str, value: object) -> Path:
    path = place / name
    path.write_text(json.dumps(value))
    return path


def payload(place: Path, *messages: dict[str, Any]) -> Path:
    return written(place, "body.json", {"model": "m", "max_tokens": 10, "messages": messages})


def turns(n: int) -> list[dict[str, Any]]:
    return [
        {"role": role, "content": f"{letter}{i}"}
        for i in range(1, n + 1)
        for role, letter in (("user", "q"), ("assistant", "r"))
    ]


def reads(*paths: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for n, path in enumerate(paths):
        use = {"type": "tool_use", "id": f"c{n}", "name": "read_file", "input": {"path": path}}
        out = {"type": "tool_result", "tool_use_id": f"c{n}", "content": "x" * 5000}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [out]}]
    return messages


def text(message: Any) -> str:
    return str(message["parts"][0].get("text") or message["parts"][0].get("content"))


def test_pulse_by_force_and_by_its_trigger(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body, answers = payload(place, *turns(7)), written(place, "answers.json", ["SUM"])
    for words in (["--tier", "compact"], ["--set", "COMPACT_TRIGGER=0"]):
        found = step(capsys, body, "--policy", "pulse", "--answers", answers, *words)
        assert found["fired"] == ["compact"]
        assert (found["succeeded"], found["error"]) == (True, None)
        assert [text(one) for one in found["after"]["messages"]][:2] == [
            "[COMPACTED_CONTEXT]\nSUM",
            "q2",
        ]
        (need,) = found["needs"]
        assert (need["kind"], len(need["request"]["messages"]), need["timeout_s"]) == (
            "summarize",
            2,
            None,
        )
    found = step(capsys, body, "--policy", "pulse", "--answers", answers)
    assert (found["fired"], found["needs"], found["verdicts"][0]["due"]) == ([], [], False)


def test_pulse_falls_back(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = written(place, "answers.json", [{"error": "timeout"}])
    found = step(
        capsys,
        payload(place, *turns(7)),
        "--policy",
        "pulse",
        "--tier",
        "compact",
        "--answers",
        answers,
    )
    assert (found["succeeded"], found["error"]) == (True, "fallback")
    assert found["events"][0]["reason"] == "fallback"
    assert len(found["after"]["messages"]) == 12


def test_micro(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = step(
        capsys, payload(place, *reads(*"abcd")), "--policy", "learn-claude-code", "--tier", "micro"
    )
    assert text(found["after"]["messages"][2]) == "[Output compacted - re-read if needed]"
    assert [fate["fate"] for fate in found["fates"]].count("cleared") == 1
    assert found["events"] == []


def files_of_other_people(place: Path, *paths: str) -> None:
    """Files of this machine that have the names of recorded ones."""
    for path in paths:
        (place / path).parent.mkdir(exist_ok=True)
        (place / path).write_text("of this machine")


def test_step_with_files_of_the_same_names_here_restores_the_recorded_contents(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files_of_other_people(place, "a", "nope")
    words = ("--policy", "learn-claude-code", "--tier", "manual", "--instructions", "keep paths")
    found = step(capsys, payload(place, *reads("a", "nope", "/etc/hostname")), *words)
    assert [need["kind"] for need in found["needs"]] == [
        "save_transcript",
        *["read_file"] * 3,
        "summarize",
    ]
    assert [need["answer"] for need in found["needs"][1:4]] == ["x" * 5000] * 3
    assert [need["by"] for need in found["needs"][1:4]] == ["recording"] * 3
    assert "keep paths" in found["needs"][-1]["request"]["instructions"]
    assert "of this machine" not in json.dumps(found)
    assert found["missing_files"] == []
    kept = Path(found["events"][0]["transcript_path"])
    assert kept.is_relative_to(place / "data")
    assert len(kept.read_text().splitlines()) == 7
    # Faithful: the window of five splits a pair.
    assert found["validity"][0]["rule"] == "result-without-call"


def test_step_with_files_that_the_recording_only_names_tells_which_are_missing(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files_of_other_people(place, "a", "b")
    messages = reads("a", "b")
    del messages[2]["content"][0]["content"]  # the result of "a" was not recorded
    messages[2]["content"][0]["is_error"] = True
    words = ("--policy", "learn-claude-code", "--tier", "auto")
    body = payload(place, *messages)
    found = step(capsys, body, *words)
    assert "of this machine" not in json.dumps(found)
    assert found["missing_files"] == ["a"]
    failed = next(need for need in found["needs"] if need["request"].get("path") == "a")
    assert failed["error"]["message"] == "The recording does not hold the content of a."
    assert cli.main(["step", str(body), *words]) == 0
    assert "1 of 2 files to re-attach is not in the recording: a" in capsys.readouterr().out


def test_step_of_claude_code_with_files_of_the_same_names_here_restores_the_recorded_contents(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files_of_other_people(place, "a.py", "b.py")
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for n, (name, path, content) in enumerate(
        (("Read", "a.py", "recorded text"), ("Edit", "b.py", "updated"))
    ):
        use = {"type": "tool_use", "id": f"c{n}", "name": name, "input": {"file_path": path}}
        out = {"type": "tool_result", "tool_use_id": f"c{n}", "content": content}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [out]}]
    found = step(capsys, payload(place, *messages), "--policy", "claude-code", "--tier", "auto")
    assert [text(one) for one in found["after"]["messages"][1:]] == ["File a.py:\nrecorded text"]
    assert found["missing_files"] == ["b.py"]


def test_the_script_answers_in_order_or_the_model_alone(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = payload(place, *reads("a"))
    words = ("--policy", "learn-claude-code", "--tier", "auto", "--answers")
    alone = step(capsys, body, *words, written(place, "one.json", ["SUM"]))
    restored = "SUM\n\n[Restored after compact] a:\n"
    assert (
        text(alone["after"]["messages"][0]) == f"[Conversation compressed]\n{restored}{'x' * 5000}"
    )
    whole = step(capsys, body, *words, written(place, "all.json", ["there", "then", "SUM"]))
    assert text(whole["after"]["messages"][0]).endswith(f"{restored}then")
    assert whole["events"][0]["transcript_path"] == "there"


def test_a_failed_summary_counts_in_safe_mode(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = written(place, "answers.json", [{"error": "http", "status": 500}])
    words = ("--policy", "learn-claude-code", "--tier", "auto", "--answers", answers)
    for mode, failures in (("faithful", 0), ("safe", 1)):
        found = step(capsys, payload(place, *turns(4)), *words, "--mode", mode)
        assert (found["succeeded"], found["error"]) == (False, "provider_failure")
        assert len(found["after"]["messages"]) == 8
        assert found["state"]["breaker"]["failures"] == failures


def test_a_threshold_below_zero_is_refused_in_safe_mode(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = str(payload(place, *turns(2)))
    words = [
        "step",
        body,
        "--policy",
        "learn-claude-code",
        "--window",
        "20000",
        "--set",
        "max_output=8000",
    ]
    assert cli.main([*words, "--mode", "safe"]) == 1
    assert "-1,000" in capsys.readouterr().err
    assert cli.main(words) == 0


def test_a_fixed_window_stays_whatever_the_model_is(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pulse fires at 48,000 on any session; `window=model` is a choice, the user's word on the window one, too."""
    path = written(
        place, "body.json", {"model": "claude-opus-4-5", "max_tokens": 10, "messages": turns(7)}
    )

    def verdict(name: str, *words: str) -> tuple[int, str, str]:
        found = step(capsys, path, "--policy", name, *words)
        (one,) = [one for one in found["verdicts"] if one["tier"] in ("compact", "auto", "L1")]
        return one["limit"], one["why"], found["settings"]["window_from"]

    assert verdict("pulse")[::2] == (48_000, "own")
    assert "64,000, its own" in verdict("pulse")[1]
    assert verdict("pulse", "--set", "window=model")[::2] == (150_000, "model")
    assert "200,000, the model's" in verdict("pulse", "--set", "window=model")[1]
    assert verdict("pulse", "--window", "10k")[::2] == (7_500, "set")
    assert verdict("pulse", "--window", "10k", "--set", "window=64000")[::2] == (48_000, "own")
    assert verdict("learn-claude-code")[::2] == (170_616, "own")
    assert verdict("roku")[::2] == (120_000, "model")
    assert verdict("roku", "--set", "window=100000")[::2] == (60_000, "set")


def test_replay_and_sweep_know_the_choice(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(
        written(
            place, "body.json", {"model": "claude-opus-4-5", "max_tokens": 10, "messages": turns(7)}
        )
    )
    for words, trigger in (
        ((), 48_000),
        (("--set", "window=model"), 150_000),
        (("--window", "20000"), 15_000),
    ):
        assert cli.main(["replay", path, "--policy", "pulse", "--json", *words]) == 0
        found = json.loads(capsys.readouterr().out)["policies"]
        assert [
            one["settings"]["compact_trigger"] for one in found if one["policy"] == "pulse"
        ] == [trigger]
    sweep = [
        "replay",
        path,
        "--policy",
        "pulse",
        "--sweep",
        "window=model,64000",
        "--jobs",
        "1",
        "--json",
    ]
    assert cli.main(sweep) == 0


def test_the_users_table_of_models_tells_the_window(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "config"))
    table = place / "config" / "context-inspector" / "models.toml"
    table.parent.mkdir(parents=True)
    table.write_text('[models."house-model"]\nwindow = 50000\n')
    body = written(
        place, "body.json", {"model": "house-model", "max_tokens": 10, "messages": turns(2)}
    )
    found = step(capsys, body, "--policy", "roku")
    assert (found["settings"]["context_window_tokens"], found["settings"]["window_from"]) == (
        50_000,
        "model",
    )


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("at", ["60", "end"])
def test_step_shows_the_count_that_its_verdicts_compare(
    policy: str, at: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = step(capsys, resource("sample.jsonl"), "--policy", policy, "--at", at)
    by = POLICIES[policy]
    tiers = {tier for line in by.watermarks(by.settings(window=200_000)) for tier in line.tiers}
    compared = {
        verdict["tokens"]
        for verdict in told["verdicts"]
        if verdict["tier"] in tiers and verdict["limit"]
    }
    assert told["before"]["calibrated"] in compared or not compared
