"""OpenHands: events of both versions, as lines and in a folder, and its log of completions."""

import json
import zipfile
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from inspector.core.formats.detect import detect
from inspector.core.formats.format import Head
from inspector.core.message import Thinking
from inspector.core.session import Session
from inspector.transcripts.files import open_transcript
from inspector.transcripts.follow import Follower
from tests.core.formats.test_harnesses import HERE, buffers, opened, prompts, values


def test_openhands_events() -> None:
    """An answer with two actions is one call; the model reads reports, not differences; a condensation is recorded."""
    thread = opened("openhands.json").main
    first, second, third = buffers(thread)
    assert first == ["user: List the files."]
    assert second == [
        "user: List the files.",
        "assistant: I list. [bash] [bash]",
        "tool: numbers.py\n[done]\n[Current working directory: /w]\n[Command finished with exit code 0]",
        "tool: /w",
    ]
    assert third == [
        "user: List the files.",
        "user: Files were listed.",
        "assistant: I edit. [bash]",
        "tool: Edited.",
    ]
    assert prompts(thread) == [(100, 0, 20), (160, 100, 30), None]
    assert thread.prompt.system == "You are OpenHands."
    assert thread.compactions[0].summary is not None


def test_openhands_events_a_line_each_and_as_its_server_gives_them() -> None:
    ((_, events),) = values("openhands.json")
    whole = buffers(opened("openhands.json").main)
    lines = [(n, event) for n, event in enumerate(events, 1)]
    for rows in (lines, [(1, {"trajectory": events})]):
        document = rows[0][1] if len(rows) == 1 else None
        reader = detect(Head([value for _, value in rows[:20]], document)).start()
        for line, value in rows:
            reader.feed(line, value)
            reader.session()
        assert buffers(reader.session().main) == whole
        assert not reader.session().held


def test_openhands_runs_a_line_each() -> None:
    session = opened("openhands-output.jsonl")
    assert [one.id for one in session.held] == ["task-1", "task-2"]
    assert buffers(opened("openhands-output.jsonl", "task-2").main) == [["user: Do 2."]]
    assert any(
        "does not hold the usage that the provider reported" in note for note in session.notes
    )


def test_openhands_v1_by_its_running_sums() -> None:
    session = opened("openhands-v1.jsonl")
    thread = session.main
    assert prompts(thread) == [(200, 0, 20), (300, 250, 20), (200, 200, 5)]
    first, second, third = buffers(thread)
    assert first == ["user: List the files."]
    assert second[-2:] == ["tool: a.py", "tool: /w"]
    assert third == [
        "user: List the files.",
        "user: Files were listed.",
        "assistant:  [terminal]",
        "tool: print(1)",
    ]
    said_first = thread.messages[1]
    assert (said_first.text, type(said_first.parts[0])) == ("I list.", Thinking)
    assert [(call.kind, call.usage.prompt if call.usage else 0) for call in session.side_calls] == [
        ("answer not in file", 60),
        ("condenser", 90),
    ]
    assert thread.requests[1].window == 128_000


@pytest.mark.parametrize("name", ["agent", "main", "profile: mine"])
def test_openhands_v1_sums_of_the_agent_under_any_name(name: str, tmp_path: Path) -> None:
    """Its SDK's own examples call them `agent`; an application may say anything."""
    text = (HERE / "openhands-v1.jsonl").read_text()
    (tmp_path / "events.jsonl").write_text(text.replace('"default":', f"{json.dumps(name)}:"))
    session = open_transcript(tmp_path / "events.jsonl")
    assert prompts(session.main) == [(200, 0, 20), (300, 250, 20), (200, 200, 5)]
    assert [call.kind for call in session.side_calls] == ["answer not in file", "condenser"]


def test_openhands_v1_tells_in_a_snapshot_whose_sums_are_the_agents(tmp_path: Path) -> None:
    """What it had used before is not what a call used."""

    def event(kind: str, number: int, **more: Any) -> dict[str, Any]:
        return {
            "kind": kind,
            "id": f"e{number}",
            "timestamp": f"2026-01-01T00:00:0{number}",
            **more,
        }

    def used(prompt: int) -> dict[str, Any]:
        return {
            "accumulated_token_usage": {"prompt_tokens": prompt, "completion_tokens": prompt // 10}
        }

    agent = {"kind": "Agent", "llm": {"model": "oak-2", "usage_id": "mine"}}
    state = {"agent": agent, "stats": {"usage_to_metrics": {"title": used(10), "mine": used(9000)}}}
    stats = {"usage_to_metrics": {"title": used(60), "mine": used(9500)}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
    events = [
        event(
            "ConversationStateUpdateEvent", 1, source="environment", key="full_state", value=state
        ),
        event("MessageEvent", 2, source="user", llm_message={"role": "user", "content": "Go on?"}),
        event("ConversationStateUpdateEvent", 3, source="environment", key="stats", value=stats),
        event("MessageEvent", 4, source="agent", llm_message=said, llm_response_id="r"),
    ]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events))
    session = open_transcript(tmp_path / "events.jsonl")
    assert prompts(session.main) == [(500, 0, 50)]
    assert [(call.kind, call.usage.prompt if call.usage else 0) for call in session.side_calls] == [
        ("title", 50)
    ]


def test_openhands_v1_prompt_with_what_is_of_the_conversation_and_thoughts_in_blocks(
    tmp_path: Path,
) -> None:
    call = {"id": "c", "name": "terminal", "arguments": "{}"}
    thought = [{"type": "thinking", "thinking": "First look.", "signature": "c2ln"}]
    events = [
        {"kind": "SystemPromptEvent", "id": "a", "source": "agent", "tools": [],
         "system_prompt": {"type": "text", "text": "Be brief."},
         "dynamic_context": {"type": "text", "text": "Today is Monday."}},
        {"kind": "MessageEvent", "id": "b", "source": "user", "llm_message": {"role": "user", "content": "Look."}},
        {"kind": "ActionEvent", "id": "c", "source": "agent", "thought": [], "thinking_blocks": thought,
         "tool_name": "terminal", "tool_call_id": "c", "tool_call": call, "llm_response_id": "r"},
    ]  # fmt: skip
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events))
    thread = open_transcript(tmp_path / "events.jsonl").main
    assert thread.prompt.system == "Be brief.\n\nToday is Monday."
    assert thread.end.messages()[-1].parts[0] == Thinking("First look.", "c2ln")


def openhands_folder(root: Path) -> Path:
    """A conversation as OpenHands V1 keeps it: a file an event, and the state with what each call used."""

    def used(answer: str, prompt: int, read: int = 0) -> dict[str, Any]:
        counts = {
            "prompt_tokens": prompt,
            "completion_tokens": 9,
            "cache_read_tokens": read,
            "cache_write_tokens": 0,
        }
        return {"model": "oak-2", **counts, "context_window": 64_000, "response_id": answer}

    def text(words: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": words}]

    call = {"id": "c", "name": "terminal", "arguments": '{"command": "ls"}'}
    events: list[dict[str, Any]] = [
        {"kind": "SystemPromptEvent", "source": "agent", "system_prompt": text("Be brief.")[0], "tools": []},
        {"kind": "MessageEvent", "source": "user", "llm_message": {"role": "user", "content": text("List.")}},
        {"kind": "ActionEvent", "source": "agent", "thought": text("So I do."), "tool_name": "terminal",
         "tool_call_id": "c", "tool_call": call, "llm_response_id": "r1"},
        {"kind": "ObservationEvent", "source": "environment", "tool_name": "terminal", "tool_call_id": "c",
         "action_id": "event 2", "observation": {"content": text("a.py"), "is_error": False}},
        {"kind": "Condensation", "source": "environment", "forgotten_event_ids": ["event 2", "event 3"],
         "summary": "There is a.py.", "summary_offset": 1, "llm_response_id": "s1"},
        {"kind": "MessageEvent", "source": "agent", "llm_response_id": "r2",
         "llm_message": {"role": "assistant", "content": text("a.py")}},
    ]  # fmt: skip
    folder = root / "0123abcd"
    (folder / "events").mkdir(parents=True)
    for n, one in enumerate(events):
        event = {"id": f"event {n}", "timestamp": f"2026-01-01T00:00:0{n}.000001", **one}
        (
            folder / "events" / f"event-{n:05}-00000000-0000-4000-8000-00000000000{n}.json"
        ).write_text(json.dumps(event))
    metrics = {
        "mine": {"token_usages": [used("r1", 300), used("r2", 400, 250), used("r3", 500)]},
        "condenser": {"token_usages": [used("s1", 350)]},
    }
    state = {
        "id": "0123-abcd", "agent": {"kind": "Agent", "llm": {"model": "oak-2", "usage_id": "mine"}},
        "workspace": {"working_dir": "/w"}, "execution_status": "finished", "stats": {"usage_to_metrics": metrics},
    }  # fmt: skip
    (folder / "base_state.json").write_text(json.dumps(state))
    return folder


def zipped(folder: Path) -> Path:
    made = folder.parent / "conversation.zip"
    with zipfile.ZipFile(made, "w") as archive:
        for path in sorted(folder.rglob("*.json")):
            archive.write(path, path.relative_to(folder.parent).as_posix())
    return made


def test_openhands_v1_keeps_a_folder_with_a_file_an_event(tmp_path: Path) -> None:
    """Whichever file is opened, the folder, or a zip file of it: one conversation, each call with what it used."""
    folder = openhands_folder(tmp_path)
    event = next((folder / "events").glob("event-00003-*"))
    for path in (folder / "base_state.json", event, folder, tmp_path, zipped(folder)):
        session = open_transcript(path)
        assert (session.format, session.id, session.held) == ("openhands-v1", "0123-abcd", ())
        assert prompts(session.main) == [(300, 0, 9), (400, 250, 9)]
        assert buffers(session.main) == [["user: List."], ["user: List.", "user: There is a.py."]]
        assert (session.main.prompt.system, session.main.requests[0].window) == (
            "Be brief.",
            64_000,
        )
        assert [
            (call.kind, call.before_request, call.usage.prompt if call.usage else 0)
            for call in session.side_calls
        ] == [
            ("condenser", 1, 350),
            ("answer not in file", 2, 500),
        ]


def test_openhands_v1_folder_is_followed(tmp_path: Path) -> None:
    folder = openhands_folder(tmp_path)
    *_, last = sorted((folder / "events").iterdir())
    told = last.read_text()
    last.unlink()
    seen: list[Session] = []
    follower = Follower(folder / "base_state.json", seen.append)
    follower.look()
    assert len(seen[-1].main.requests) == 1
    last.write_text(told)
    deadline = monotonic() + 60
    while len(seen[-1].main.requests) < 2 and monotonic() < deadline:
        follower.look()
    assert prompts(seen[-1].main) == [(300, 0, 9), (400, 250, 9)]


def test_openhands_v1_without_the_state_beside_its_events(tmp_path: Path) -> None:
    folder = openhands_folder(tmp_path)
    (folder / "base_state.json").unlink()
    session = open_transcript(next((folder / "events").glob("event-00000-*")))
    assert prompts(session.main) == [None, None]
    assert buffers(session.main)[1] == ["user: List.", "user: There is a.py."]


def test_openhands_log_is_all_its_files() -> None:
    """Whichever is opened: the calls in the order of their times, with the window and the tools."""
    for number in (0, 1):
        session = opened(f"openhands-log/acorn__oak-2-176722560{number}.125.json")
        thread = session.main
        assert prompts(thread) == [(80, 0, 20), (130, 0, 20)]
        assert [len(request.view) for request in thread.requests] == [1, 4]
        assert {request.window for request in thread.requests} == {128_000}
        assert thread.prompt.tools is not None
        assert [tool.name for tool in thread.prompt.tools] == ["terminal"]
        assert thread.prompt.system == "You are OpenHands."
