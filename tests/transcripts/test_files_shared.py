"""Every real transcript opens, and every other file beside them gets its sentence."""

from pathlib import Path

import pytest

from inspector.core.errors import UnknownFormat
from inspector.transcripts.files import open_transcript
from tests.core.formats.feeding import laid_out
from tests.shared import TRANSCRIPTS, transcripts

NOT_YET = {
    "derived-payloads/expected": "unrecognised file format",
}
FORMATS = {
    "api-cassettes": "cassette",
    "api-trace": "exchange-log",
    "api-trace/lis186": "frames",
    "har": "har",
    "aider-llm-history": "aider",
    "gemini-contents": "gemini",
    "vibe": "vibe",
    "vscode-copilot-chat": "vscode-chat",
    "claude-code": "claude-code",
    "clients/claude": "claude-code",
    "clients/codex": "codex",
    "clients/gemini": "gemini-cli",
    "clients/opencode": "opencode",
    "clients/pi": "pi",
    "cline": "cline",
    "codex": "codex",
    "crush/arc42": "crush",
    "copilot-cli": "copilot-cli",
    "derived-merged": "claude-code",
    "derived-payloads/anthropic": "anthropic",
    "derived-payloads/openai-responses": "openai-responses",
    "gemini-cli": "gemini-cli",
    "mini-swe-agent": "mini-swe-agent",
    "mini-swe-agent/SWE-agent+mini-swe-agent/tests": "openai-chat",
    "openclaw": "openclaw",
    "openai-chat": "tau-bench",
    "openhands": "openhands",
    "openhands-llm-log": "openhands-log",
    "openhands-v1": "openhands-v1",
    "swe-agent": "swe-agent",
    "fixtures-synthetic": "claude-code",
    "atif": "atif",
    "inspect": "inspect",
    "langfuse": "langfuse",
    "langsmith": "langsmith",
    "openai-agents-trace": "openai-agents",
    "openinference": "openinference",
    "otel-json/Josh-Weston": "otel",
    "pi": "pi",
    "vscode-chatreplay": "vscode-replay",
    "crush/made-up": "crush",
    "otel-json/made-up": "otel",
    "atif-traces": "atif-traces",
    "cline-session": "cline-session",
    "vscode-debug-log": "vscode-debug-log",
    "own/chat": "openai-chat",
    "own/journal": "journal",
    "own/recording": "proxy",
    "qwen-code": "qwen-code",
}


def named(path: Path) -> str:
    return path.relative_to(TRANSCRIPTS).as_posix()


def what(table: dict[str, str], name: str) -> str | None:
    return next(
        (table[start] for start in sorted(table, reverse=True) if name.startswith(start)), None
    )


FILES = [path for path in transcripts("**/*") if path.is_file()]


@pytest.mark.parametrize("path", FILES, ids=named)
def test_each_file(path: Path) -> None:
    name = named(path)
    title = "note beside a sub-agent" if name.endswith(".meta.json") else what(NOT_YET, name)
    if title is not None:
        with pytest.raises(UnknownFormat, match=title):
            open_transcript(path)
        return
    expected = "openclaw-trajectory" if name.endswith(".trajectory.jsonl") else what(FORMATS, name)
    if expected is None:
        pytest.skip("a file that this table does not know")
    session = open_transcript(path)
    assert session.format == expected
    assert session.main.requests or any("ended with an error" in note for note in session.notes)
    for thread in session.threads:
        for request in (*thread.requests[:3], *thread.requests[-3:]):
            assert len(request.view.messages()) == len(request.view)


def test_nothing_is_read_twice_differently(shared: Path) -> None:
    """The same file twice gives equal sessions: nothing depends on the order of a set or on what was read before."""
    paths = sorted((shared / "clients").glob("*-autocompact.jsonl"))
    assert paths
    for path in paths:
        one, other = open_transcript(path), open_transcript(path)
        assert [list(t.messages) for t in one.threads] == [list(t.messages) for t in other.threads]


def test_a_database_is_its_export(shared: Path) -> None:
    """The same session from the database and as opencode exports it."""
    (database,) = (shared / "clients").glob("opencode*.db")
    one = open_transcript(database)
    other = open_transcript(database.with_suffix(".export.json"))
    assert laid_out(one) == laid_out(other)
