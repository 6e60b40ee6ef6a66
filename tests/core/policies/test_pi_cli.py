"""Pi on the command line: the usage cases by way of a session file, settings by the harness's names, state."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main as cli


def session(path: Path, *messages: dict[str, Any]) -> Path:
    """A pi session (v1) of these messages."""
    lines: list[dict[str, Any]] = [{"type": "session", "id": "s", "cwd": "/x", "timestamp": ""}]
    lines += [{"type": "message", "timestamp": "", "message": one} for one in messages]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def said(
    text: str, prompt: int | None = None, output: int = 0, finish: str = "stop"
) -> dict[str, Any]:
    usage = (
        {"usage": {"input": prompt, "output": output, "cacheRead": 0, "cacheWrite": 0}}
        if prompt
        else {}
    )
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "stopReason": finish,
        **usage,
    }


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def step(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    status = cli.main(["step", *map(str, words), "--policy", "pi", "--at", "end", "--json"])
    out = capsys.readouterr()
    assert status == 0, out.err
    return json.loads(out.out)


TWO_ANSWERS = [
    user("Hello"),
    said("Hi there!", 1000, 50),
    user("How are you?"),
    said("I am fine", 1100, 30),
]
RESULT = {
    "role": "toolResult",
    "toolCallId": "c",
    "content": [{"type": "text", "text": "x" * 40_000}],
}
CALL = {
    **said("", 1000, 50, "toolUse"),
    "content": [{"type": "toolCall", "id": "c", "name": "read", "arguments": {}}],
}
ABORTED = [user("a"), said("b", 1000, 0), user("c"), said("d", 5, 0, "aborted")]


@pytest.mark.parametrize(
    ("name", "messages", "seed", "upstream"),
    [
        ("usage on the last answer", TWO_ANSWERS, 1100, 1130),
        ("a result after the usage", [user("go"), CALL, RESULT], 1000, 11_050),
        ("no usage", [user("Hello")], 12, 2),
        ("no usage, two messages", [user("x" * 400), said("y" * 401)], 221, 201),
        ("the last answer aborted", ABORTED, 5, 1002),
        ("aborted before a word", [*ABORTED[:3], {**ABORTED[3], "content": []}], 5, 1001),
        (
            "usage before an answer without",
            [user("a"), said("b", 1000), user("c"), said("d")],
            1000,
            1002,
        ),
    ],
)
def test_context_tokens_when_a_file_is_stepped_depend_on_the_profile(
    name: str,
    messages: Sequence[dict[str, Any]],
    seed: int,
    upstream: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = session(tmp_path / "s.jsonl", *messages)
    for profile, tokens in (("seed", seed), ("upstream", upstream)):
        (verdict,) = step(capsys, path, "--set", f"profile={profile}")["verdicts"]
        assert (verdict["tokens"], verdict["limit"]) == (tokens, 183_616)


def test_a_recorded_compaction_makes_the_usage_before_it_stale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = session(
        tmp_path / "s.jsonl", user("a"), said("b", 190_000), user("c"), said("d", 190_000)
    )
    compaction = {
        "type": "compaction",
        "timestamp": "",
        "summary": "S",
        "firstKeptEntryIndex": 3,
        "tokensBefore": 9,
    }
    path.write_text(path.read_text() + json.dumps(compaction) + "\n")
    (verdict,) = step(capsys, path)["verdicts"]
    assert (verdict["due"], verdict["tokens"] < 1000) == (False, True)
    with path.open("a") as file:
        file.write(
            json.dumps({"type": "message", "timestamp": "", "message": said("e", 190_000)}) + "\n"
        )
    (verdict,) = step(capsys, path)["verdicts"]
    assert (verdict["due"], verdict["tokens"]) == (True, 190_000)


def test_settings_instructions_and_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = session(
        tmp_path / "s.jsonl",
        *(one for n in range(2) for one in (user(f"{n}" * 400), said("y" * 400))),
    )
    answers = tmp_path / "answers.json"
    answers.write_text('["SUM1", "SUM2"]')
    words = (path, "--tier", "compact", "--answers", answers, "--set")
    found = step(capsys, *words, "keepRecentTokens=100", "--instructions", "the API")
    assert [need["request"]["max_tokens"] for need in found["needs"]] == [13_107, 8_192]
    assert ["the API" in need["request"]["text"] for need in found["needs"]] == [True, False]
    assert (found["fired"], found["succeeded"], found["error"]) == (["compact"], True, None)
    assert [fate["fate"] for fate in found["fates"]] == ["summarised"] * 3 + ["inserted", "kept"]
    assert (
        "SUM1\n\n---\n\n**Turn Context (split turn):**\n\nSUM2"
        in found["after"]["messages"][0]["parts"][0]["text"]
    )
    assert found["settings"]["keep_recent_tokens"] == 100
    assert [
        need["request"]["purpose"] for need in step(capsys, *words, "keepRecentTokens=150")["needs"]
    ] == ["history"]


def test_failures_are_counted_from_run_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = session(
        tmp_path / "s.jsonl",
        *(one for _ in range(2) for one in (user("x" * 400), said("y" * 400, 190_000))),
    )
    state, answers = tmp_path / "state.json", tmp_path / "answers.json"
    answers.write_text('[{"error": "http", "status": 500, "message": "boom"}]')
    words: list[object] = [
        path,
        "--answers",
        answers,
        "--save-state",
        state,
        "--force",
        "--mode",
        "safe",
    ]
    words += ["--set", "keepRecentTokens=150"]
    for failures in (1, 2, 3):
        found = step(capsys, *words)
        assert (found["error"], found["succeeded"]) == ("Summarization failed: boom", False)
        assert found["state"]["breaker"] == {"failures": failures, "open": failures == 3}
        if failures == 1:
            words += ["--state", state]
    assert step(capsys, *words)["needs"] == []
