"""VS Code's log for debugging its agent: made-up lines in the shape that its source writes."""

import json
from pathlib import Path
from shutil import copytree, ignore_patterns
from time import monotonic
from typing import Any

import pytest

from inspector.core.message import Text, ToolCall, ToolResult
from inspector.core.session import Session
from inspector.transcripts import follow
from inspector.transcripts.discover import found_sessions
from inspector.transcripts.files import open_transcript
from tests.core.formats.feeding import DATA, check, deep, numbered, spoilt
from tests.core.formats.heads import read
from tests.core.formats.samples import format_named

FOLDER = DATA / "exports" / "vscode-debug-log"
LINES = [json.loads(line) for line in (FOLDER / "main.jsonl").read_text().splitlines()]
CHILD = "runSubagent-Explore-call_1.jsonl"
FORMAT = format_named("vscode-debug-log")


def without(line: dict[str, Any], *names: str) -> dict[str, Any]:
    """The line without these attributes."""
    return line | {
        "attrs": {key: value for key, value in line["attrs"].items() if key not in names}
    }


def reported(session: Session) -> list[int | None]:
    return [request.usage.prompt if request.usage else None for request in session.main.requests]


def test_a_log_when_read_with_what_lies_beside_it_is_whole() -> None:
    session = open_transcript(FOLDER / "main.jsonl")
    check(session)
    assert (session.format, session.client) == ("vscode-debug-log", "VS Code Copilot Chat 0.45.0")
    main, agent = session.threads
    assert reported(session) == [4_000, 4_060]
    first, last = main.requests
    assert first.usage
    assert (first.usage.cache_read, first.window, first.first_byte_ms) == (1_000, 128_000, 400)
    assert first.prompt.system == "You are an agent on a farm."
    assert [tool.name for tool in first.prompt.tools or ()] == ["runSubagent"]
    assert [message.parts for message in last.view] == [
        (Text("What is in the barn?"),),
        (Text("I look."), ToolCall("call_1", "runSubagent", {"prompt": "Look into the barn."})),
        (ToolResult("call_1", "A goat."),),
    ]
    assert main.end.messages()[-1].text == "There is a goat in the barn."
    assert (agent.title, agent.parent, agent.parent_call) == ("Explore", "main", "call_1")
    assert agent.requests[0].prompt.system == "You look for things."
    assert not session.problems
    assert not session.notes


def test_a_log_when_no_messages_are_in_it_tells_tokens_only() -> None:
    """Older versions of VS Code write no `inputMessages`."""
    session = read(*(without(line, "inputMessages") for line in LINES))
    check(session)
    assert reported(session) == [4_000, 4_060]
    assert [request.view.length for request in session.main.requests] == [0, 0]
    assert session.notes[0].startswith("Traced without messages: 2 of 2 calls")


def test_an_answer_when_it_was_cut_off_stands_in_the_next_request() -> None:
    cut = [
        line | {"attrs": {"response": line["attrs"]["response"][:30] + "[truncated]"}}
        if line["type"] == "agent_response"
        else line
        for line in LINES
    ]
    session = read(*cut)
    main = session.main
    assert [request.view.length for request in main.requests] == [1, 3]
    assert len(main.end) == 3


def test_a_call_when_it_failed_before_it_was_sent_is_left_out() -> None:
    failed = without(LINES[3], "inputMessages", "inputTokens", "outputTokens") | {
        "status": "error",
        "spanId": "c9",
    }
    session = read(*LINES, failed)
    assert reported(session) == [4_000, 4_060]
    assert session.notes == ("Calls that began and did not end were left out: 1.",)


def test_the_log_of_a_sub_agent_when_opened_alone_says_so() -> None:
    session = open_transcript(FOLDER / CHILD)
    check(session)
    assert reported(session) == [900]
    assert session.main.requests[0].prompt.system == "You look for things."
    assert session.notes == ("This is the log of a sub-agent.",)


def test_a_folder_when_opened_is_the_session_in_it() -> None:
    assert open_transcript(FOLDER).path == str(FOLDER / "main.jsonl")


def test_a_log_when_it_grows_is_followed_with_what_comes_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_COMPANIONS", 0.0)
    path = tmp_path / "main.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in LINES[:5]))
    seen: list[Session] = []
    follower = follow.Follower(path, seen.append)
    follower.look()
    assert (reported(seen[-1]), seen[-1].main.requests[0].prompt.system) == ([4_000], None)
    copytree(FOLDER, tmp_path, dirs_exist_ok=True, ignore=ignore_patterns(path.name))
    with path.open("a") as file:
        file.write("".join(f"{json.dumps(line)}\n" for line in LINES[5:]))
    end = monotonic() + 20
    while len(seen[-1].threads) < 2 and monotonic() < end:
        follower.look()
    assert seen[-1].main.requests[0].prompt.system == "You are an agent on a farm."
    assert [thread.title for thread in seen[-1].threads] == ["What is in the barn?", "Explore"]


def test_files_when_fed_after_the_lines_make_the_same_session() -> None:
    """What lies beside a log may come first, too."""
    beside = [
        (name, json.loads((FOLDER / name).read_text())) for name in ("tools_0.json", "models.json")
    ]
    sessions: list[Session] = []
    for is_first in (True, False):
        reader = FORMAT.start()
        for name, value in beside if is_first else ():
            reader.feed(1, value, name)
        for at, line in numbered(LINES):
            reader.feed(at, line)
        reader.session()
        for name, value in () if is_first else beside:
            reader.feed(1, value, name)
        sessions.append(reader.session())
    first, second = (
        [(one.prompt, one.window) for one in session.main.requests] for session in sessions
    )
    assert first == second
    assert first[0][1] == 128_000


def test_a_log_when_looked_for_is_found_in_the_folder_of_the_editor(tmp_path: Path) -> None:
    folder = tmp_path / ".config/Code/User/workspaceStorage/ab/GitHub.copilot-chat/debug-logs/s"
    copytree(FOLDER, folder)
    assert [(one.format, one.path.name, one.title) for one in found_sessions(tmp_path)] == [
        ("vscode-debug-log", "main.jsonl", "What is in the barn?")
    ]


SPOILS: list[Any] = [None, 7, "x", [], {}, deep(200)]


@pytest.mark.parametrize("bad", SPOILS, ids=["null", "number", "text", "list", "object", "deep"])
def test_spoilt_lines_when_read_never_raise(bad: Any) -> None:
    for values in spoilt(numbered(LINES), bad):
        reader = FORMAT.start()
        for line, value in values:
            reader.feed(line, value)
        reader.feed(1, bad, "models.json")
        check(reader.session())
