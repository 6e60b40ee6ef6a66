"""Chats that clients export or keep: VS Code's, Vibe's, Aider's log, Gemini's saved lists."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from inspector.core.buffer import NOT_IN_FILE
from inspector.core.formats.detect import FORMATS
from inspector.core.formats.format import Head
from inspector.core.message import Message, Thinking
from inspector.core.session import Session
from inspector.transcripts.discover import NewestSession, found_sessions
from inspector.transcripts.files import open_transcript
from inspector.transcripts.follow import Follower
from tests.core.formats.feeding import DATA, check, deep, laid_out, records, spoilt, told
from tests.shared import ARE_REAL

HERE = DATA / "exports"
SAMPLES = {
    "vscode-chat.json": "vscode-chat",
    "vscode-chat.jsonl": "vscode-chat",
    "vibe/messages.jsonl": "vibe",
    "vibe/meta.json": "vibe",
    "aider.llm.history": "aider",
    "gemini-contents.json": "gemini",
}


PLAN, EDIT = ("SYSTEM", "Be an architect."), ("SYSTEM", "Be an editor.")
FIRST = [("USER", "Split a.py."), ("ASSISTANT", "Put it into b.py.")]
SECOND = [*FIRST, ("USER", "And test it."), ("ASSISTANT", "Add test_b.py.")]
ASKED = ("USER", "Put it into b.py. # Rules: blocks")
ARCHITECT = [
    ([PLAN, FIRST[0]], "Put it into b.py."),
    ([EDIT, ASKED], "<<<< b.py"),
    ([EDIT, ASKED, ("ASSISTANT", "<<<< b.py"), ("USER", "lint: error")], "<<<< b.py, mended"),
    ([PLAN, *FIRST, ("USER", "And test it.")], "Add test_b.py."),
    ([EDIT, ("USER", "Add test_b.py.")], "<<<< test_b.py"),
    ([PLAN, *SECOND, ("USER", "Thanks.")], "You are welcome."),
]


def said(message: Message) -> str:
    return f"{message.role}: {message.result.content if message.result else message.text}"


def buffers(session: Session) -> list[list[str]]:
    return [[said(message) for message in request.view] for request in session.main.requests]


def values(name: str) -> list[tuple[int, Any]]:
    if name.endswith(".history"):
        return list(enumerate((HERE / name).read_text(encoding="utf-8").splitlines(), 1))
    return (
        records(HERE / name)
        if name.endswith(".jsonl")
        else [(1, json.loads((HERE / name).read_bytes()))]
    )


def follow_growing(path: Path, lines: list[bytes]) -> Session:
    """The session as somebody sees it who looks after every line."""
    seen: list[Session] = []
    path.write_bytes(b"".join(lines[:2]))
    follower = Follower(path, seen.append)
    follower.look()
    for line in lines[2:]:
        with path.open("ab") as file:
            file.write(line)
        follower.look()
    return seen[-1]


@pytest.mark.parametrize("name", SAMPLES)
def test_each_is_known_by_its_content(name: str) -> None:
    session = open_transcript(HERE / name)
    assert session.format == SAMPLES[name]
    assert not session.problems
    check(session)
    told_all = [value for _, value in values(name)]
    document = told_all[0] if name.endswith(".json") else None
    head = Head([] if name.endswith(".history") else told_all, document, (HERE / name).read_bytes())
    sure = {one.name: one.sniff(head) for one in FORMATS}
    assert sure.pop(SAMPLES[name]) > max(sure.values())


@pytest.mark.parametrize("name", SAMPLES)
def test_any_value_in_any_place(name: str) -> None:
    format_ = next(one for one in FORMATS if one.name == SAMPLES[name])
    given = values(name)
    for bad in (None, [7], {"role": 1}, -(10**30), deep(60)):
        for changed in spoilt(given, bad, depth=9):
            session = told(format_, changed)
            if session.threads:
                check(session)


def test_a_chat_of_vs_code() -> None:
    """What stood before each round, as it was rendered; results in trees of elements as text; summaries in place."""
    session = open_transcript(HERE / "vscode-chat.json")
    main = session.main
    opened = [
        "user: <environment_info>Linux</environment_info>",
        "user: <userRequest>\nWhich files are there?\n</userRequest>",
    ]
    results = ["tool: tide.py\nharbour.py (2 files)", "tool: high = 3\nlow = 1"]
    summary = "user: The user wants tide.py renamed; git mv ran."
    sent = buffers(session)
    assert sent[0] == opened
    assert sent[1] == [*opened, "assistant: I look.", *results]
    assert sent[3][-2:] == ["assistant: ", "tool: ok"]
    assert sent[4] == [summary, "assistant: ", "tool: 1 renamed"]
    assert sent[5] == [*sent[4], "assistant: Done.", "user: Thanks, and now?"]
    assert [one.before_request for one in main.compactions] == [4]
    assert [said(message) for message in main.end][-1] == "assistant: Now rest."
    assert next(m for m in main.messages if m.calls).parts[0] == Thinking("The folder first.")
    assert main.messages[0].mark == "meta"
    assert {request.prompt for request in main.requests} == {NOT_IN_FILE}
    assert {request.usage for request in main.requests} == {None}
    assert [request.model for request in main.requests] == ["claude-sonnet-4"] * 5 + ["gpt-5"]
    assert session.notes == ("For 1 prompts the file records what was typed, not what was sent.",)


def test_a_log_of_changes_is_the_chat_that_it_makes(tmp_path: Path) -> None:
    """Set, push, push from a place on, delete; followed change by change."""
    lines = (HERE / "vscode-chat.jsonl").read_bytes().splitlines(keepends=True)
    followed = follow_growing(tmp_path / "chat.jsonl", lines)
    whole = open_transcript(HERE / "vscode-chat.jsonl")
    assert laid_out(followed) == laid_out(whole)
    assert buffers(whole) == buffers(open_transcript(HERE / "vscode-chat.json"))[:5]
    assert whole.main.title == "Tides"


def test_a_session_of_vibe_is_both_its_files() -> None:
    one, other = (open_transcript(HERE / "vibe" / name) for name in ("messages.jsonl", "meta.json"))
    assert laid_out(one) == laid_out(other)
    first, last = one.main.requests
    assert buffers(one)[1] == [
        "user: How high is the tide?",
        "assistant: I look.",
        "tool: high = 3",
    ]
    assert first.usage is None  # the file tells the last call's tokens only
    assert last.usage
    assert (last.usage.prompt, last.usage.cache_read, last.usage.output) == (1210, 1100, 14)
    assert last.prompt.system == "You are Vibe."
    assert [tool.name for tool in last.prompt.tools or ()] == ["read_file"]
    assert (one.id, last.model) == ("5e55", "devstral-2512")


@pytest.mark.parametrize(
    ("key", "value"), [("context_tokens", 1225), ("last_turn_prompt_tokens", 0)]
)
def test_numbers_of_vibe_that_are_not_of_one_call_are_unknown(
    tmp_path: Path, key: str, value: int
) -> None:
    meta = json.loads((HERE / "vibe/meta.json").read_bytes())
    meta["stats"][key] = value
    (tmp_path / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    (tmp_path / "messages.jsonl").write_bytes((HERE / "vibe/messages.jsonl").read_bytes())
    assert {
        request.usage for request in open_transcript(tmp_path / "messages.jsonl").main.requests
    } == {None}


def test_messages_of_vibe_alone_say_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "messages.jsonl").write_bytes((HERE / "vibe/messages.jsonl").read_bytes())
    session = open_transcript(tmp_path / "messages.jsonl")
    assert session.main.requests[-1].prompt == NOT_IN_FILE
    assert any("was not found" in note for note in session.notes)


def test_a_log_of_aider(tmp_path: Path) -> None:
    """Every call with its whole prompt; one without an answer failed; marks and separators inside texts are texts."""
    session = open_transcript(HERE / "aider.llm.history")
    sent = buffers(session)
    assert sent[0][0].endswith("high = 3\n-------\n```")
    assert sent[1][-2:] == [
        "assistant: Three.\n\nLLM RESPONSE is a word, too.",
        "user: Make it four.",
    ]
    assert [len(one) for one in sent] == [3, 5, 3]
    assert said(session.main.end.messages()[-1]) == "assistant: 低 is one."
    assert {request.prompt.system for request in session.main.requests} == {
        "Act as an expert.\n\nAnswer briefly."
    }
    assert {request.prompt.tools for request in session.main.requests} == {()}
    assert session.main.requests[0].time == "2026-01-01T10:00:00"
    assert session.notes == ("Calls that got no answer were left out: 1.",)
    lines = (HERE / "aider.llm.history").read_bytes().splitlines(keepends=True)
    assert laid_out(follow_growing(tmp_path / "history", lines)) == laid_out(session)


def test_the_editor_of_aider_has_conversations_of_its_own(tmp_path: Path) -> None:
    """Known by what it is asked, which is the architect's answer; what answers the architect itself goes on."""
    path, calls = tmp_path / "history", list[str]()
    for n, (sent, answer) in enumerate(ARCHITECT):
        told = "".join(f"-------\n{role} {text}\n" for role, text in sent)
        calls.append(
            f"TO LLM 2026-01-01T10:00:0{n}\n{told}LLM RESPONSE 2026-01-01T10:00:0{n}\nASSISTANT {answer}\n"
        )
    path.write_text("".join(calls), encoding="utf-8")
    session = open_transcript(path)
    assert [(one.id, one.parent, len(one.requests)) for one in session.threads] == [
        ("main", "", 3), ("editor-1", "main", 2), ("editor-2", "main", 1),
    ]  # fmt: skip
    assert [len(request.view) for request in session.main.requests] == [1, 3, 5]
    assert session.threads[1].requests[1].view.messages()[-1].text == "lint: error"
    assert laid_out(follow_growing(path, path.read_bytes().splitlines(keepends=True))) == laid_out(
        session
    )


@pytest.mark.parametrize("kind", ["folder", "zip", "gzip"])
def test_a_log_of_aider_in_a_folder_or_packed(tmp_path: Path, kind: str) -> None:
    data, path = (HERE / "aider.llm.history").read_bytes(), tmp_path / kind
    if kind == "folder":
        path.mkdir()
        (path / ".aider.llm.history").write_bytes(data)
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as made:
            made.writestr(".aider.llm.history", data)
    else:
        path.write_bytes(gzip.compress(data))
    session = open_transcript(path)
    assert laid_out(session) == laid_out(open_transcript(HERE / "aider.llm.history"))


def test_each_turn_of_the_model_in_a_saved_chat_of_gemini_is_a_call() -> None:
    session = open_transcript(HERE / "gemini-contents.json")
    assert [len(one) for one in buffers(session)] == [2, 5, 6]
    assert len(session.main.end) == 7
    assert {request.prompt for request in session.main.requests} == {NOT_IN_FILE}


def test_they_are_found_where_their_clients_keep_them(tmp_path: Path) -> None:
    """With the folder that was worked in, which stands in a file beside them."""
    kept = tmp_path / ".config/Code/User/workspaceStorage/1f"
    vibe = tmp_path / ".vibe/logs/session/session_1"
    for folder in (kept / "chatSessions", vibe):
        folder.mkdir(parents=True)
    for name in ("vscode-chat.json", "vscode-chat.jsonl"):
        (kept / "chatSessions" / name).write_bytes((HERE / name).read_bytes())
    (kept / "workspace.json").write_text('{"folder": "file:///work/my%20tides"}', encoding="utf-8")
    for name in ("messages.jsonl", "meta.json"):
        (vibe / name).write_bytes((HERE / "vibe" / name).read_bytes())
    found = {
        (one.format, one.path.name): (one.project, one.title) for one in found_sessions(tmp_path)
    }
    assert found == {
        ("vscode-chat", "vscode-chat.json"): ("/work/my tides", "Which files are there?"),
        ("vscode-chat", "vscode-chat.jsonl"): ("/work/my tides", "Tides"),
        ("vibe", "messages.jsonl"): ("/work/tides", "How high is the tide?"),
    }


@pytest.mark.parametrize("name", ["vscode-chat.json", "vibe/messages.jsonl"])
def test_the_newest_of_a_folder_is_found_by_the_file_beside_it(tmp_path: Path, name: str) -> None:
    kept = tmp_path / (
        ".vibe/logs/session/session_1" if "/" in name else ".config/Code/User/workspaceStorage/1f"
    )
    path = kept / Path(name).name if "/" in name else kept / "chatSessions" / name
    path.parent.mkdir(parents=True)
    path.write_bytes((HERE / name).read_bytes())
    folder = tmp_path / "tides"
    beside = {"environment": {"working_directory": str(folder)}}
    (kept / "meta.json").write_text(json.dumps(beside), encoding="utf-8")
    (kept / "workspace.json").write_text(json.dumps({"folder": folder.as_uri()}), encoding="utf-8")
    assert NewestSession(folder, tmp_path).look() == path
    assert NewestSession(tmp_path / "elsewhere", tmp_path).look() is None


@pytest.mark.parametrize(
    ("pattern", "format_", "calls"),
    [
        ("vscode-copilot-chat/*/examples/*/*.json", "vscode-chat", 4),
        ("vscode-copilot-chat/*/src/__tests__/chat/*.json", "vscode-chat", 2),
        ("aider-llm-history/*/.aider.llm.history", "aider", 21),
        ("gemini-contents/*/*.json", "gemini", 52),
        ("vibe/*/internal/parser/testdata/vibe/*/messages.jsonl", "vibe", 2),
    ],
)
def test_real_ones(shared: Path, pattern: str, format_: str, calls: int) -> None:
    found = sorted(shared.glob(pattern)) or sorted(
        shared.glob(f"{pattern.partition('/')[0]}/made-up/*")
    )
    session = open_transcript(found[0])
    assert (session.format, session.problems) == (format_, ())
    assert session.main.requests
    assert len(session.main.requests) == calls or not ARE_REAL
    assert all(request.view.length for request in session.main.requests)
