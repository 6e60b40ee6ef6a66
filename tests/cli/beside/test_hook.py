"""The hook of Claude Code around a compaction, and the changes of the client's settings."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector.__main__ import main
from inspector.resources import resource
from inspector.transcripts.files import open_transcript

SAMPLE = resource("sample.jsonl")
GEMINI = Path(__file__).parents[2] / "data" / "gemini_cli" / "tides.jsonl"
RULE = "no guessing of accounts"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without anything in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def lines() -> list[bytes]:
    """The lines of the sample."""
    return SAMPLE.read_bytes().splitlines(keepends=True)


def answer(monkeypatch: pytest.MonkeyPatch, capsys: Capture, **event: Any) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(event).encode())))
    code = main(["hook"])
    out, err = capsys.readouterr()
    return code, out, err


def test_hook_around_a_compaction_gives_back_what_is_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, home: Path, lines: list[bytes]
) -> None:
    boundary = next(n for n, line in enumerate(lines) if b'"compact_boundary"' in line)
    transcript = home / "live.jsonl"
    transcript.write_bytes(b"".join(lines[:boundary]))
    before = {"hook_event_name": "PreCompact", "transcript_path": str(transcript)}
    after = {
        "hook_event_name": "SessionStart",
        "source": "compact",
        "transcript_path": str(transcript),
    }
    assert answer(monkeypatch, capsys, **before) == (0, "", "")
    (noted,) = (home / "state").rglob("*.json")
    assert noted.stat().st_mode & 0o077 == 0

    _, out, _ = answer(monkeypatch, capsys, **after)  # the client has not written its summary yet
    assert RULE in json.loads(out)["hookSpecificOutput"]["additionalContext"]

    transcript.write_bytes(b"".join(lines[: boundary + 12]))
    _, out, _ = answer(monkeypatch, capsys, **after)
    given = json.loads(out)["hookSpecificOutput"]
    assert given["hookEventName"] == "SessionStart"
    assert "ModuleNotFoundError" in given["additionalContext"]
    assert RULE not in given["additionalContext"]

    assert answer(monkeypatch, capsys, **{**after, "source": "startup"}) == (0, "", "")
    assert transcript.read_bytes() == b"".join(lines[: boundary + 12])


def test_hook_on_a_transcript_that_is_not_there_does_not_stop_the_client(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    code, out, err = answer(
        monkeypatch, capsys, hook_event_name="PreCompact", transcript_path="/nowhere.jsonl"
    )
    assert (code, out) == (0, "")
    assert err.count("\n") == 1
    assert answer(monkeypatch, capsys, hook_event_name="Stop")[0] == 1


def test_hook_of_gemini_cli_gives_back_after_a_new_compaction_once(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, home: Path
) -> None:
    lines = GEMINI.read_bytes().splitlines(keepends=True)
    end = next(n for n in range(len(lines)) if count_compactions(home, lines[: n + 1]))
    chat = home / "chat.jsonl"
    event = {"hook_event_name": "BeforeAgent", "transcript_path": str(chat), "prompt": "go on"}
    chat.write_bytes(b"".join(lines[:end]))
    assert answer(monkeypatch, capsys, **event) == (0, "", "")
    chat.write_bytes(b"".join(lines))
    _, out, _ = answer(monkeypatch, capsys, **event)
    given = json.loads(out)["hookSpecificOutput"]
    assert given["hookEventName"] == "BeforeAgent"
    assert given["additionalContext"]
    assert answer(monkeypatch, capsys, **event) == (0, "", "")


def count_compactions(home: Path, lines: list[bytes]) -> int:
    path = home / "part.jsonl"
    path.write_bytes(b"".join(lines))
    return len(open_transcript(path).main.compactions)


def test_hook_of_opencode_answers_with_text_for_the_summary(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    event = {"hook_event_name": "session.compacting", "transcript_path": str(SAMPLE)}
    _, out, _ = answer(monkeypatch, capsys, **event)
    (text,) = json.loads(out)["context"]
    assert RULE in text


SETTINGS = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini-cli": ".gemini/settings.json",
}


@pytest.mark.parametrize("client", list(SETTINGS))
@pytest.mark.parametrize(
    "text",
    [
        '{"model":"x"}',
        '{\n\t"hooks": {"Other": [ {"hooks": [{"type": "command", "command": "mine.sh"}]} ]},\n\t"a": [1,2]\n}\n',
        '{ "hooks" : { "Stop": [], "BeforeAgent": [{"hooks":[]}] } , "z": "\\u00e9" }',
    ],
)
def test_removing_the_hook_gives_the_former_file_to_the_byte(
    client: str, text: str, capsys: Capture, home: Path
) -> None:
    path = home / SETTINGS[client]
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    words = ["hook", "--client", client, "--yes"]
    assert main([*words, "--install"]) == 0
    assert json.loads(path.read_text("utf-8"))["hooks"]
    assert "context-inspector hook" in path.read_text("utf-8")
    assert main([*words, "--remove"]) == 0
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize("client", [*SETTINGS, "opencode"])
def test_a_file_that_only_holds_the_hook_is_removed_with_it(
    client: str, capsys: Capture, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    words = ["hook", "--client", client, "--yes"]
    assert main([*words, "--install"]) == 0
    (path,) = (path for path in home.rglob("*") if path.is_file())
    assert main([*words, "--install"]) == 0
    assert "needs no change" in capsys.readouterr().err
    assert main([*words, "--remove"]) == 0
    assert not path.exists()
    path.write_text("// mine\n[]", "utf-8")
    assert main([*words, "--remove"]) == 1
    assert path.read_text("utf-8") == "// mine\n[]"


@pytest.mark.parametrize("command", ["hook", "statusline"])
def test_settings_are_changed_only_after_a_yes_and_taken_back(
    command: str, capsys: Capture, home: Path
) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    mine = {
        "model": "opus",
        "hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "mine.sh"}]}]},
    }
    settings.write_text(json.dumps(mine, indent=2) + "\n", "utf-8")
    settings.chmod(0o600)
    before = settings.read_bytes()
    assert main([command, "--install"]) == 1
    out, err = capsys.readouterr()
    assert f"context-inspector {command}" in out
    assert "--yes" in err
    assert settings.read_bytes() == before

    assert main([command, "--install", "--yes"]) == 0
    installed = settings.read_bytes()
    assert b"mine.sh" in installed
    assert f"context-inspector {command}".encode() in installed
    assert settings.stat().st_mode & 0o777 == 0o600
    assert main([command, "--install", "--yes"]) == 0
    assert settings.read_bytes() == installed
    capsys.readouterr()
    assert main([command, "--remove", "--yes"]) == 0
    assert capsys.readouterr().err.endswith("settings.json no longer runs context-inspector.\n")
    assert settings.read_bytes() == before
    assert [path.name for path in settings.parent.iterdir()] == ["settings.json"]


def test_settings_that_cannot_be_read_or_have_another_status_line_are_left_alone(
    capsys: Capture, home: Path
) -> None:
    settings = home / "s.json"
    for text in ("{not json", "[]", '{"statusLine": {"type": "command", "command": "other.sh"}}'):
        settings.write_text(text, "utf-8")
        assert main(["statusline", "--install", "--yes", "--settings", str(settings)]) == 1
        assert settings.read_text("utf-8") == text
        assert capsys.readouterr().err.count("\n") == 1
