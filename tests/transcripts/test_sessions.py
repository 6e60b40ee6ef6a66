"""Sessions found on this machine, and formats that others add."""

import os
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import zstandard

from inspector.core.formats.detect import FORMATS
from inspector.core.formats.format import Format, Head
from inspector.extensions import formats as plugins
from inspector.transcripts.discover import found_sessions
from tests.transcripts.made import lines_of, write

CODEX = (
    b'{"type":"session_meta","payload":{"id":"x","cwd":"/work/here"}}\n'
    b'{"type":"response_item","payload":{"type":"message","role":"user","content":'
    b'[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}}\n'
    b'{"type":"response_item","payload":{"type":"message","role":"user","content":'
    b'[{"type":"input_text","text":"  please   fix\\nthe bug"}]}}\n'
)
PI = (
    b'{"type":"session","version":3,"id":"a","cwd":"/pi/there","timestamp":"t"}\n'
    b'{"type":"message","id":"b","parentId":null,"message":{"role":"user","content":"hello pi"}}\n'
)
GEMINI = (
    b'{"sessionId":"5f5e3e2d-1","projectHash":"ab","startTime":"t","kind":"main"}\n'
    b'{"$set":{"messages":[{"id":"c","type":"user","content":[{"text":"<session_context>\\n'
    b'- **Workspace Directories:**\\n  - /gemini/ws\\n- **Directory Structure:**"}]}]}}\n'
    b'{"id":"u","type":"user","content":[{"text":"hello gemini"}]}\n'
)
QWEN = (
    b'{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","cwd":"/qwen/there","version":"0.9.1",'
    b'"message":{"role":"user","parts":[{"text":"hello qwen"}]}}\n'
)
COPILOT = (
    b'{"type":"session.start","data":{"context":{"cwd":"/copilot/there"}},"id":"a","parentId":null}\n'
    b'{"type":"user.message","data":{"content":"hello copilot","transformedContent":'
    b'"<current_datetime>2026-01-02T03:04:05Z</current_datetime>\\n\\nhello copilot"},"id":"b","parentId":"a"}\n'
)
CLINE = (
    b'[{"ts":1,"type":"say","say":"task","text":"hello cline"},{"ts":2,"type":"say","say":"api_req_started",'
    b'"text":"{\\"request\\":\\"# Current Working Directory (/cline/there) Files\\"}"}]'
)


def put(home: Path, name: str, data: bytes, time: int) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (time, time))


@pytest.fixture
def full_home(tmp_path: Path) -> Path:
    put(
        tmp_path, ".claude/projects/-home-dev-project/s.jsonl", b"".join(lines_of(4)), 1_700_000_300
    )
    put(tmp_path, ".claude/projects/-home-dev-project/empty.jsonl", b"", 1_700_000_400)
    put(tmp_path, ".claude/projects/-home-dev-project/junk.jsonl", b"no json\n", 1_700_000_500)
    put(tmp_path, ".codex/sessions/2026/01/02/rollout-1.jsonl", CODEX, 1_700_000_200)
    put(tmp_path, ".pi/agent/sessions/--p--/1.jsonl", PI, 1_700_000_100)
    put(tmp_path, ".copilot/session-state/5f5e3e2d/events.jsonl", COPILOT, 1_700_000_050)
    tasks = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks"
    put(tmp_path, f"{tasks}/17/ui_messages.json", CLINE, 1_700_000_040)
    return tmp_path


def test_newest_first_with_what_identifies_them(full_home: Path) -> None:
    found = found_sessions(full_home)
    assert [(one.format, one.project, one.title[:14]) for one in found] == [
        ("claude-code", "/home/dev/project", "user 0 word wo"),
        ("codex", "/work/here", "please fix"),
        ("pi", "/pi/there", "hello pi"),
        ("copilot-cli", "/copilot/there", "hello copilot"),
        ("cline", "/cline/there", "hello cline"),
    ]
    assert [one.size for one in found][1:] == [len(CODEX), len(PI), len(COPILOT), len(CLINE)]
    assert found[0].modified.timestamp() == 1_700_000_300
    assert found[0].when.startswith("2023-11-1")
    assert len(found[0].title) <= 120


def test_gemini_by_what_it_tells_or_what_lies_beside(tmp_path: Path) -> None:
    put(
        tmp_path,
        ".gemini/tmp/ws/chats/session-2026-01-01T00-00-5f5e3e2d.jsonl",
        GEMINI,
        1_700_000_200,
    )
    put(tmp_path, ".gemini/tmp/ws/chats/5f5e3e2d-1/helper.jsonl", GEMINI, 1_700_000_300)
    put(
        tmp_path,
        ".gemini/tmp/old/chats/session-x.json",
        b'{"sessionId":"s","projectHash":"h","messages":[]}',
        1_700_000_100,
    )
    put(tmp_path, ".gemini/tmp/old/.project_root", b"/gemini/old\n", 1_700_000_100)
    assert [(one.format, one.project, one.title) for one in found_sessions(tmp_path)] == [
        ("gemini-cli", "/gemini/ws", "hello gemini"),
        ("gemini-cli", "/gemini/old", ""),
    ]


def test_a_qwen_session_when_looked_for_is_found_in_its_project(tmp_path: Path) -> None:
    put(tmp_path, ".qwen/projects/-qwen-there/chats/5f5e3e2d.jsonl", QWEN, 1_700_000_200)
    put(
        tmp_path,
        ".qwen/projects/-qwen-there/subagents/5f5e3e2d/agent-find-1.jsonl",
        QWEN,
        1_700_000_300,
    )
    assert [(one.format, one.project, one.title) for one in found_sessions(tmp_path)] == [
        ("qwen-code", "/qwen/there", "hello qwen")
    ]


def test_codex_packs_what_rests_and_has_a_folder_for_what_is_archived(tmp_path: Path) -> None:
    put(
        tmp_path,
        ".codex/sessions/2026/01/02/rollout-1.jsonl.zst",
        zstandard.compress(CODEX),
        1_700_000_200,
    )
    put(tmp_path, ".codex/archived_sessions/rollout-2.jsonl", CODEX, 1_700_000_100)
    put(
        tmp_path,
        ".codex/archived_sessions/rollout-3.jsonl.zst",
        zstandard.compress(CODEX),
        1_700_000_000,
    )
    found = found_sessions(tmp_path)
    assert [(one.format, one.project, one.title) for one in found] == [
        ("codex", "/work/here", "please fix")
    ] * 3


def test_a_limit(full_home: Path) -> None:
    assert [one.format for one in found_sessions(full_home, limit=2)] == ["claude-code", "codex"]


def test_an_empty_home(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_sessions() == []
    put(home, "moved/projects/p/s.jsonl", b"".join(lines_of(2)), 1)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "moved"))
    assert [one.format for one in found_sessions()] == ["claude-code"]


def test_only_the_head_is_read(tmp_path: Path) -> None:
    write(tmp_path, [], "x")
    put(tmp_path, ".claude/projects/p/s.jsonl", b"".join(lines_of(100)) + b"\xff" * 3_000_000, 1)
    assert found_sessions(tmp_path)[0].title.startswith("user 0")


OTHER = Format("other", "Somebody's format", lambda head: 1.0, FORMATS[0].start)
BROKEN = Format("broken", "x", lambda head: 1 / 0, FORMATS[0].start)


def test_a_plug_in_is_loaded() -> None:
    loaded = plugins.load(EntryPoint("other", f"{__name__}:OTHER", plugins.GROUP))
    assert isinstance(loaded, Format)
    assert (loaded.name, loaded.sniff(Head(()))) == ("other", 1.0)


@pytest.mark.parametrize(
    "value", ["no.such.module:FORMAT", "inspector.core.errors:NOTHING", "os:sep"]
)
def test_a_broken_plug_in_is_a_note(value: str) -> None:
    loaded = plugins.load(EntryPoint("bad", value, plugins.GROUP))
    assert isinstance(loaded, str)
    assert "'bad'" in loaded


def test_a_plug_in_that_fails_is_not_sure() -> None:
    loaded = plugins.load(EntryPoint("broken", f"{__name__}:BROKEN", plugins.GROUP))
    assert isinstance(loaded, Format)
    assert loaded.sniff(Head(())) == 0.0
