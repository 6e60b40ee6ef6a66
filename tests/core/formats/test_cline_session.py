"""Cline's sessions since 4.0: usage of each answer, the last compaction, agents of their own; any values."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.core.formats.cline.session import FORMAT
from inspector.core.session import Session
from inspector.transcripts.discover import found_sessions
from inspector.transcripts.files import open_transcript
from inspector.transcripts.follow import Follower
from tests.core.formats.feeding import check, deep, spoilt


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def answer(
    number: int, content: list[dict[str, Any]], prompt: int, read: int = 0, written: int = 0
) -> dict[str, Any]:
    used = {
        "inputTokens": prompt,
        "outputTokens": 9,
        "cacheReadTokens": read,
        "cacheWriteTokens": written,
        "cost": 0.1,
    }
    about = {
        "ts": 1_764_000_000_000 + number,
        "modelInfo": {"id": "oak-2", "provider": "acorn"},
        "metrics": used,
    }
    return {"id": f"m{number}", "role": "assistant", "content": content, **about}


def asked(number: int, content: Any) -> dict[str, Any]:
    return {
        "id": f"m{number}",
        "role": "user",
        "content": content,
        "ts": 1_764_000_000_000 + number,
    }


CALL = {"type": "tool_use", "id": "t", "name": "read_files", "input": {"paths": ["a.py"]}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": text("print(1)")}
ROWS = [
    asked(0, text("Look.")),
    answer(1, [*text("I look."), CALL], 100, 60),
    asked(2, [RESULT]),
    answer(3, text("It prints."), 130, 100, 20),
    asked(4, text("Again.")),
    answer(5, text("It prints."), 90),
]


def messages(rows: Any, agent: str = "lead", **more: Any) -> dict[str, Any]:
    about = {
        "version": 1,
        "updated_at": "2026-10-01T00:00:00.000Z",
        "agent": agent,
        "sessionId": "s1",
    }
    return {**about, **more, "messages": rows, "system_prompt": "Be brief."}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A session as Cline keeps it, without what is written later."""
    folder = tmp_path / ".cline" / "data" / "sessions" / "s1"
    folder.mkdir(parents=True)
    about = {"version": 1, "session_id": "s1", "model": "oak-2", "cwd": "/w", "prompt": "Look."}
    (folder / "s1.json").write_text(json.dumps(about, indent=2))
    (folder / "s1.messages.json").write_text(json.dumps(messages(ROWS), indent=2))
    return folder / "s1.messages.json"


def buffers(session: Session) -> list[list[str]]:
    return [
        [one.result.content if one.result else one.text for one in request.view]
        for request in session.main.requests
    ]


def prompts(session: Session) -> list[tuple[int, int, int] | None]:
    used = (request.usage for request in session.main.requests)
    return [(one.prompt, one.cache_read, one.cache_write) if one else None for one in used]


def test_every_answer_is_a_call(file: Path) -> None:
    session = open_transcript(file)
    assert (session.format, session.id, session.main.model) == ("cline-session", "s1", "oak-2")
    assert prompts(session) == [(100, 60, 0), (130, 100, 20), (90, 0, 0)]
    assert buffers(session) == [
        ["Look."],
        ["Look.", "I look.", "print(1)"],
        ["Look.", "I look.", "print(1)", "It prints.", "Again."],
    ]
    assert session.main.prompt.system == "Be brief."
    assert session.main.requests[1].time.startswith("2025-11-24T16:00:00.003")
    assert [(one.path, one.format) for one in found_sessions(file.parents[4])] == [
        (file, "cline-session")
    ]


def test_a_cache_beside_the_prompt_is_known_by_one_call(file: Path) -> None:
    file.write_text(
        json.dumps(
            messages(
                [ROWS[0], answer(1, text("a"), 5, 60), asked(2, "b"), answer(3, text("c"), 70, 60)]
            )
        )
    )
    assert prompts(open_transcript(file)) == [(65, 60, 0), (130, 60, 0)]


def test_the_last_compaction(file: Path) -> None:
    """What stands for the first messages: a summary, and some of them as they were."""
    kept = [asked(9, text("Summary: it was looked at.")), {**ROWS[3], "id": "another"}]
    state = {
        "version": 1,
        "updated_at": "2026-10-01T00:00:00.000Z",
        "source_message_count": 4,
        "messages": kept,
    }
    (file.parent / "s1.compaction.json").write_text(json.dumps(state))
    session = open_transcript(file)
    check(session)
    assert buffers(session)[2] == ["Summary: it was looked at.", "It prints.", "Again."]
    (made,) = session.main.compactions
    assert (made.before_request, made.kept, made.summary and made.summary.text) == (
        2,
        1,
        "Summary: it was looked at.",
    )
    assert session.main.requests[2].view.messages()[1] is session.main.messages[3]
    file.write_text(json.dumps(messages(ROWS[:4])))
    session = open_transcript(file)
    assert [one.text for one in session.main.end] == ["Summary: it was looked at.", "It prints."]


def test_agents_that_it_started_are_threads(file: Path) -> None:
    told = messages(
        [asked(0, "Find it."), answer(1, text("Found."), 40)], "subagent", taskType="subagent_task"
    )
    (file.parent / "agent-7.messages.json").write_text(json.dumps(told))
    other = {**told, "sessionId": "s2"}
    (file.parent / "agent-8.messages.json").write_text(json.dumps(other))
    session = open_transcript(file)
    assert [(one.id, one.parent, len(one.requests)) for one in session.threads] == [
        ("main", "", 3),
        ("agent-7", "main", 1),
    ]


def test_it_is_followed(file: Path) -> None:
    file.write_text(json.dumps(messages(ROWS[:3])))
    seen: list[Session] = []
    follower = Follower(file, seen.append)
    follower.look()
    file.write_text(json.dumps(messages(ROWS)))
    follower.look()
    assert [len(session.main.requests) for session in seen] == [1, 3]


@pytest.mark.parametrize("bad", [None, 7, "x", [], {}, [None], {"a": 1}, 1e300, True, deep(150)])
def test_spoilt_values_never_raise(bad: Any) -> None:
    state = {"source_message_count": 4, "messages": ROWS[2:4], "updated_at": "t"}
    for values in (*spoilt([(1, messages(ROWS))], bad, 4), [(1, messages(ROWS))]):
        reader = FORMAT.start()
        for line, value in values:
            reader.feed(line, value)
        reader.feed(1, {**state, "messages": bad}, "s1.compaction.json")
        reader.session()
        reader.feed(1, state, "s1.compaction.json")
        check(reader.session())
