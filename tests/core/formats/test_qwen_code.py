"""Qwen Code sessions: made-up lines in the shape that its source writes."""

from pathlib import PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.formats.qwen_code import FORMAT, companions, is_companion
from inspector.core.message import Text, Thinking, ToolCall, ToolResult
from inspector.core.session import BEGINS_LATE, Request, Session
from tests.core.formats.feeding import check, deep, numbered, spoilt, told
from tests.core.formats.heads import head_of, read

THANKS = {"role": "model", "parts": [{"text": "Got it. Thanks for the additional context!"}]}


def row(name: str, parent: str | None, kind: str, **more: Any) -> dict[str, Any]:
    about = {
        "sessionId": "s",
        "timestamp": "2026-01-01T00:00:00Z",
        "cwd": "/barn",
        "version": "0.9.1",
    }
    return {"uuid": name, "parentUuid": parent, "type": kind, **about, **more}


def content(role: str, *parts: Any) -> dict[str, Any]:
    return {
        "role": role,
        "parts": [{"text": part} if isinstance(part, str) else part for part in parts],
    }


def user(name: str, parent: str | None, *parts: Any, **more: Any) -> dict[str, Any]:
    return row(name, parent, "user", message=content("user", *parts), **more)


def answer(name: str, parent: str, prompt: int, *parts: Any, **more: Any) -> dict[str, Any]:
    counts = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": 9,
        "cachedContentTokenCount": prompt // 2,
    }
    reported = {**counts, "thoughtsTokenCount": 4, "totalTokenCount": prompt + 9}
    said = {"message": content("model", *parts), "model": "oak-coder", "contextWindowSize": 262_144}
    return row(name, parent, "assistant", **{**said, "usageMetadata": reported, **more})


def result(name: str, parent: str, call: str, output: str) -> dict[str, Any]:
    part = {"functionResponse": {"id": call, "name": "shell", "response": {"output": output}}}
    return row(name, parent, "tool_result", message=content("user", part))


def event(name: str, parent: str, subtype: str, **payload: Any) -> dict[str, Any]:
    return row(name, parent, "system", subtype=subtype, systemPayload=payload)


CALL = {"functionCall": {"id": "c1", "name": "shell", "args": {"command": "ls"}}}
FIRST = [
    user("u1", None, "look around"),
    answer("a1", "u1", 12_000, {"text": "I plan.", "thought": True}, "I look.", CALL),
    result("r1", "a1", "c1", "a goat"),
    event("e1", "r1", "ui_telemetry", uiEvent={}),
    answer("a2", "e1", 12_100, "There is a goat."),
]
COMPACTED = [
    *FIRST,
    user("u2", "a2", "feed it"),
    event(
        "k1",
        "u2",
        "chat_compression",
        info={
            "originalTokenCount": 12_109,
            "newTokenCount": 800,
            "compressionStatus": 1,
            "triggerReason": "auto",
        },
        compressedHistory=[
            content("user", "<state_snapshot>a goat</state_snapshot>"),
            THANKS,
            FIRST[0]["message"],
        ],
    ),
    answer("a3", "k1", 9_000, "Fed."),
]


def ids(request: Request) -> list[str]:
    return [message.id for message in request.view]


def test_a_session_when_read_has_a_request_for_each_answer() -> None:
    session = read(*FIRST)
    check(session)
    main = session.main
    assert (session.format, session.id, session.client) == ("qwen-code", "s", "Qwen Code 0.9.1")
    assert [ids(request) for request in main.requests] == [["u1"], ["u1", "a1", "r1"]]
    usage = main.requests[0].usage
    assert usage
    assert (usage.prompt, usage.cache_read, usage.output, usage.reasoning) == (12_000, 6_000, 9, 4)
    assert (main.model, main.requests[0].window) == ("oak-coder", 262_144)
    assert main.messages[1].parts == (
        Thinking("I plan.", "", 4),
        Text("I look."),
        ToolCall("c1", "shell", {"command": "ls"}),
    )
    assert main.messages[2].parts == (ToolResult("c1", "a goat"),)
    assert not session.problems
    assert not session.notes


def test_thoughts_when_counted_beside_the_answer_are_added_to_it() -> None:
    reported = {
        "promptTokenCount": 100,
        "candidatesTokenCount": 9,
        "thoughtsTokenCount": 4,
        "totalTokenCount": 113,
    }
    session = read(user("u", None, "hi"), answer("a", "u", 0, "hello", usageMetadata=reported))
    usage = session.main.requests[0].usage
    assert usage
    assert (usage.output, usage.reasoning) == (13, 4)


def test_lines_of_one_id_when_read_are_one_message() -> None:
    session = read(
        user("u", None, "hi"),
        answer("a", "u", 100, "I look."),
        answer("a", "u", 120, CALL),
        result("r", "a", "c1", "a goat"),
    )
    main = session.main
    assert [request.usage and request.usage.prompt for request in main.requests] == [120]
    assert [len(message.parts) for message in main.messages] == [1, 2, 1]


def test_a_checkpoint_when_read_replaces_what_was_sent() -> None:
    session = read(*COMPACTED)
    check(session)
    main = session.main
    # u2 had not been sent when it was made.
    assert ids(main.requests[-1]) == ["k1.0", "k1.1", "u1", "u2"]
    [compaction] = main.compactions
    assert (compaction.before_request, compaction.trigger, compaction.kept) == (2, "auto", 1)
    assert (compaction.tokens_before, compaction.tokens_after) == (12_109, 800)
    assert compaction.summary
    assert compaction.summary.text == "<state_snapshot>a goat</state_snapshot>"


def test_a_message_when_its_parent_is_an_earlier_one_goes_on_from_there() -> None:
    session = read(
        *FIRST, user("u2", "u1", "only the stable"), answer("a3", "u2", 11_000, "Empty.")
    )
    check(session)
    assert ids(session.main.requests[-1]) == ["u1", "u2"]
    assert not session.main.compactions


def test_a_message_without_a_parent_when_read_begins_anew() -> None:
    session = read(*FIRST, user("u2", None, "something else"), answer("a3", "u2", 11_000, "Yes."))
    assert ids(session.main.requests[-1]) == ["u2"]


def test_a_command_when_the_client_answered_it_is_not_sent() -> None:
    done = {
        "phase": "result",
        "rawCommand": "/stats",
        "outputHistoryItems": [{"type": "assistant"}],
    }
    session = read(
        *FIRST,
        user("u2", "a2", "/stats"),
        event("e2", "u2", "slash_command", **done),
        user("u3", "e2", "feed it"),
    )
    assert [message.id for message in session.main.end] == ["u1", "a1", "r1", "a2", "u3"]


def test_what_the_client_says_itself_when_read_is_marked() -> None:
    noted = user("u2", "a2", "<task-notification>done</task-notification>", subtype="notification")
    heard = user("u3", "u2", "spoken", subtype="realtime_message")
    session = read(*FIRST, noted, heard)
    assert [(message.id, message.mark) for message in session.main.end][4:] == [("u2", "meta")]


def test_a_file_when_its_first_parent_is_missing_begins_in_the_middle() -> None:
    session = read(*FIRST[2:])
    check(session)
    assert [request.usage and request.usage.prompt for request in session.main.requests] == [12_100]
    assert session.notes == (BEGINS_LATE,)
    assert session.begins_late


def test_a_parent_when_it_is_not_in_the_file_is_a_problem() -> None:
    session = read(*FIRST, user("u2", "gone", "feed it"))
    assert [problem.line for problem in session.problems] == [6]
    assert [message.id for message in session.main.end] == ["u1", "a1", "r1", "a2", "u2"]


def agent_rows() -> list[dict[str, Any]]:
    about = {"agentId": "find-1", "agentName": "find", "isSidechain": True}
    begins = (
        event("b", "", "agent_bootstrap", history=[content("user", "You find things."), THANKS])
        | about
    )
    return [
        {**begins, "parentUuid": None},
        user("v1", "b", "find the goat", **about),
        answer("w1", "v1", 3_000, "Here.", **about),
    ]


def test_a_sub_agent_when_its_file_lies_beside_is_a_thread() -> None:
    reader = FORMAT.start()
    for line, value in numbered(FIRST):
        reader.feed(line, value)
    for line, value in numbered(agent_rows()):
        reader.feed(line, value, "../subagents/s/agent-find-1.jsonl")
    session = reader.session()
    check(session)
    [main, agent] = session.threads
    assert (agent.id, agent.title, agent.parent) == ("find-1", "find", main.id)
    assert ids(agent.requests[0]) == ["b.0", "b.1", "v1"]
    assert is_companion(head_of(*agent_rows()), session)
    assert not is_companion(head_of(*FIRST), session)


def test_a_sub_agent_when_opened_alone_is_the_main_thread() -> None:
    session = read(*agent_rows())
    assert [thread.id for thread in session.threads] == ["main"]
    assert session.notes == ("This is the chat of a sub-agent.",)


def test_sub_agents_when_looked_for_lie_beside_the_folder_of_chats() -> None:
    assert companions(PurePath("/home/.qwen/projects/-barn/chats/ab-1.jsonl")) == (
        "../subagents/ab-1/agent-*.jsonl",
    )


SPOILS: list[Any] = [None, 7, "x", [], {}, deep(200)]


@pytest.mark.parametrize("bad", SPOILS, ids=["null", "number", "text", "list", "object", "deep"])
def test_spoilt_lines_when_read_never_raise(bad: Any) -> None:
    for values in spoilt(numbered(COMPACTED), bad):
        check(told(FORMAT, values))


VALUES = st.fixed_dictionaries(
    {
        "uuid": st.sampled_from("abc"),
        "type": st.sampled_from(["user", "assistant", "system", "tool_result"]),
    },
    optional={
        "parentUuid": st.sampled_from(["a", "b", "c", "z", None]),
        "subtype": st.sampled_from(["chat_compression", "slash_command", "agent_bootstrap"]),
        "message": st.sampled_from([content("user", "x"), content("model", "x", CALL), {}, None]),
        "systemPayload": st.sampled_from(
            [
                {"compressedHistory": [content("user", "x")]},
                {"phase": "result", "rawCommand": "x"},
                None,
            ]
        ),
        "isSidechain": st.booleans(),
        "agentId": st.sampled_from(["p", "q"]),
    },
)


@given(st.lists(VALUES, max_size=10))
def test_any_lines_when_read_make_a_sound_session(values: list[Any]) -> None:
    session: Session = told(FORMAT, numbered(values))
    check(session)
