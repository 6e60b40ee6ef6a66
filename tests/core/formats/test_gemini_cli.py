"""Gemini CLI sessions: told again, patched, rewound, compacted, masked; one document; sub-agents; any values."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.formats.format import Head
from inspector.core.formats.gemini_cli import FORMAT, companions, is_companion
from inspector.core.formats.gemini_cli.chat import replace_messages
from inspector.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult
from inspector.core.session import Request, Session
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.fit import fit
from tests.core.formats.feeding import check, deep, laid_out, numbered, records, spoilt, told
from tests.core.formats.heads import head_of, read
from tests.shared import ARE_REAL, transcripts

HEAD = {"sessionId": "5f5e3e2d-a705", "projectHash": "ab" * 32, "startTime": "t", "kind": "main"}
THANKS = "Got it. Thanks for the additional context!"


def user(name: str, *content: Any) -> dict[str, Any]:
    parts = [{"text": part} if isinstance(part, str) else part for part in content]
    return {"id": name, "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": parts}


def gemini(name: str, said: str, prompt: int = 0, **more: Any) -> dict[str, Any]:
    tokens = {
        "input": prompt,
        "output": 3,
        "cached": prompt // 2,
        "thoughts": 2,
        "tool": 0,
        "total": prompt + 5,
    }
    value = {
        "id": name,
        "timestamp": "2026-01-01T00:00:01Z",
        "type": "gemini",
        "content": said,
        "model": "gemini-x",
    }
    return value | ({"tokens": tokens} if prompt else {}) | more


def call(name: str, output: str | None = None, **more: Any) -> dict[str, Any]:
    value: dict[str, Any] = {
        "id": name,
        "name": "shell",
        "args": {"command": name},
        "status": "success",
        **more,
    }
    return value | ({"result": [answer(name, output)]} if output is not None else {})


def answer(name: str, output: str) -> dict[str, Any]:
    return {"functionResponse": {"id": name, "name": "shell", "response": {"output": output}}}


def patch(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"$set": {"messages": list(messages), "lastUpdated": "t"}}


CONTEXT = user("ctx", "<session_context>\nThis is the Gemini CLI.\n</session_context>")
FIRST = [
    HEAD,
    patch(CONTEXT),
    user("u1", "look around"),
    {"$set": {"lastUpdated": "t"}},
    gemini("g1", "I look.", 100, thoughts=[{"subject": "Plan", "description": "to look"}]),
    gemini(
        "g1",
        "I look.",
        100,
        thoughts=[{"subject": "Plan", "description": "to look"}],
        toolCalls=[call("c1", "all")],
    ),
    user("r1", answer("c1", "all")),
    gemini("g2", "Done.", 120),
]


def ids(request: Request) -> list[str]:
    return [message.id for message in request.view]


def test_a_message_is_told_again_and_the_last_word_counts() -> None:
    session = read(*FIRST)
    check(session)
    main = session.main
    assert [ids(request) for request in main.requests] == [["ctx", "u1"], ["ctx", "u1", "g1", "r1"]]
    assert [request.usage and request.usage.prompt for request in main.requests] == [100, 120]
    usage = main.requests[0].usage
    assert usage
    assert (usage.input, usage.cache_read, usage.output, usage.reasoning) == (50, 50, 5, 2)
    assert main.messages[2].parts == (
        Thinking("Plan\nto look", "", 0),
        Text("I look."),
        ToolCall("c1", "shell", {"command": "c1"}),
    )
    assert main.messages[3].parts == (ToolResult("c1", "all"),)
    assert (main.messages[0].mark, main.messages[3].role) == ("meta", "tool")
    assert (session.id, main.model, not session.problems) == ("5f5e3e2d-a705", "gemini-x", True)
    assert not main.compactions


def test_answers_that_stand_only_with_their_calls() -> None:
    """Older files write no message for what the tools answered."""
    document = HEAD | {
        "messages": [
            user("u1", "go"),
            gemini("g1", "", 10, toolCalls=[call("a", "one"), call("b", "two"), call("c")]),
            {"id": "i", "type": "info", "content": "an update is there"},
            gemini("g2", "fine", 20, toolCalls=[call("d", "three")]),
        ]
    }
    session = told(FORMAT, [(1, document)])
    check(session)
    main = session.main
    assert [request.usage and request.usage.prompt for request in main.requests] == [10, 20]
    assert ids(main.requests[1]) == ["u1", "g1", "g1.r", "g1.r.1"]
    assert [message.result and message.result.content for message in main.end][-1] == "three"
    assert not session.problems


def test_calls_recorded_on_their_own_are_no_further_call() -> None:
    session = read(
        HEAD,
        user("u", "go"),
        gemini("g", "I go.", 10),
        gemini("t", "", toolCalls=[call("a", "x")]),
        user("v", "?"),
    )
    assert [request.line for request in session.main.requests] == [3]
    assert [message.id for message in session.main.end] == ["u", "g", "t", "t.r", "v"]


COMPACTED = [
    *FIRST,
    user("u2", "once more"),
    gemini(
        "g3",
        "again",
        150,
        toolCalls=[call("c2", "new")],
        thoughts=[{"subject": "s", "description": "d"}],
    ),
    patch(
        CONTEXT,
        user("s1", "all that was"),
        gemini("k1", THANKS) | {"model": None},
        user("u2'", "once more"),
        {
            "id": "g3'",
            "type": "gemini",
            "content": [
                {"text": "again"},
                {"functionCall": {"id": "c2", "name": "shell", "args": {"command": "c2"}}},
            ],
        },
    ),
    user("r2", answer("c2", "new")),
    gemini("g4", "so", 60),
]


def test_a_compaction_is_a_list_that_begins_with_a_summary() -> None:
    session = read(*COMPACTED)
    check(session)
    main = session.main
    # What stays keeps its id.
    assert ids(main.requests[-1]) == ["ctx", "s1", "k1", "u2", "g3", "r2"]
    (compaction,) = main.compactions
    assert (compaction.kind, compaction.before_request, compaction.kept) == ("summary", 3, 3)
    assert compaction.summary
    assert (compaction.summary.text, compaction.summary.summary) == ("all that was", True)
    # What was sent before stays as it was.
    assert ids(main.requests[2]) == ["ctx", "u1", "g1", "r1", "g2", "u2"]


def test_summarised_again_in_the_same_words() -> None:
    again = patch(
        CONTEXT,
        user("s2", "all that was"),
        gemini("k2", THANKS) | {"model": None},
        user("u3", "once more"),
    )
    main = read(*COMPACTED, again).main
    assert [one.before_request for one in main.compactions] == [3, 4]
    assert [message.id for message in main.end] == ["ctx", "s2", "k1", "u2"]


def test_a_resumed_session_is_no_compaction() -> None:
    """The list is written anew, each answer twice: so it is sent, too."""
    resumed = patch(
        CONTEXT,
        FIRST[2],
        gemini("g1", "", 100, toolCalls=[call("c1", "all")])
        | {
            "content": [
                {"text": "I look."},
                {"functionCall": {"id": "c1", "name": "shell", "args": {"command": "c1"}}},
            ]
        },
        user("g1_response", answer("c1", "all")),
        FIRST[6],
        FIRST[7],
    )
    session = read(*FIRST, resumed, user("u2", "more"), gemini("g3", "yes", 140))
    check(session)
    main = session.main
    assert not main.compactions
    assert len(main.requests) == 3
    assert ids(main.requests[2]) == ["ctx", "u1", "g1", "g1_response", "r1", "g2", "u2"]


def test_masked_outputs_are_a_micro_compaction() -> None:
    masked = patch(CONTEXT, FIRST[2], FIRST[5], user("r1", answer("c1", "<masked>")), FIRST[7])
    main = read(*FIRST, masked, user("u2", "more"), gemini("g3", "yes", 90)).main
    (compaction,) = main.compactions
    assert (compaction.kind, compaction.cleared, compaction.before_request) == ("micro", ("r1",), 2)
    said = [
        message.result.content
        for request in main.requests
        for message in request.view
        if message.result
    ]
    assert said == ["all", "<masked>"]
    assert main.end.messages()[3].mark == "placeholder"


def test_a_turn_taken_back_is_no_compaction() -> None:
    main = read(*FIRST, patch(CONTEXT, FIRST[2]), user("u2", "else"), gemini("g3", "yes", 90)).main
    assert not main.compactions
    assert ids(main.requests[-1]) == ["ctx", "u1", "u2"]
    gone = read(*FIRST, {"$rewindTo": "u1"}, user("u2", "else"), gemini("g3", "yes", 90)).main
    assert ids(gone.requests[-1]) == ["ctx", "u2"]
    assert not read(*FIRST, {"$rewindTo": "nobody"}).main.end.messages()


def test_an_edit_in_the_middle_is_told() -> None:
    (compaction,) = read(*FIRST, patch(CONTEXT, FIRST[2], FIRST[7])).main.compactions
    assert (compaction.kind, compaction.cleared) == ("edit", ("g1", "r1"))


def test_calls_that_only_a_list_tells() -> None:
    main = read(
        {"$set": {"messages": [user("u", "x"), gemini("g", "y", 10), user("v", "z")]}},
        gemini("h", "!", 20),
    ).main
    assert [ids(request) for request in main.requests] == [["u"], ["u", "g", "v"]]


def test_an_earlier_message_is_completed() -> None:
    main = read(
        *FIRST, user("u2", "and"), FIRST[4] | {"content": "I looked."}, gemini("g3", "yes", 90)
    ).main
    assert ids(main.requests[-1]) == ["ctx", "u1", "g1", "r1", "g2", "u2"]
    assert "I looked." in main.requests[-1].view.messages()[2].text
    assert "I look." in main.requests[1].view.messages()[2].text


def test_errors_images_and_several_answers_in_one_message() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    failed = {"functionResponse": {"id": "b", "name": "shell", "response": {"error": "no"}}}
    main = read(HEAD, user("u", answer("a", "one"), picture, failed, "and now?", picture)).main
    one, two, three = main.end.messages()
    assert one.parts == (ToolResult("a", "one"), Image("image/png", "AAAA"))
    assert two.parts == (ToolResult("b", "no", True),)
    assert three.parts == (Text("and now?"), Image("image/png", "AAAA"))
    assert {message.together for message in (one, two, three)} == {"u"}


def test_sub_agents_are_threads() -> None:
    reader = FORMAT.start()
    for line, value in enumerate(
        [*FIRST[:4], gemini("g1", "go", 9, toolCalls=[call("c9", "x", agentId="helper-1")])], 1
    ):
        reader.feed(line, value)
    sub = HEAD | {"sessionId": "helper-1", "kind": "subagent"}
    for folder in ("5f5e3e2d-a705", "another"):
        for line, value in enumerate([sub, user("u", "help"), gemini("g", "ok", 7)], 1):
            reader.feed(line, value, f"{folder}/helper-1.jsonl")
    main, helper = reader.session().threads
    assert (helper.id, helper.parent, helper.parent_call, len(helper.requests)) == (
        "helper-1",
        "main",
        "c9",
        1,
    )
    assert companions(Path("chats/session-2026-01-01T00-00-5f5e3e2d.jsonl")) == (
        "5f5e3e2d*/*.jsonl",
    )
    assert companions(Path("full.jsonl")) == ()
    assert is_companion(head_of(sub, {}), reader.session())
    assert not is_companion(head_of(HEAD, {}), reader.session())
    assert main.id == "main"


def test_how_sure_it_is() -> None:
    assert FORMAT.sniff(Head(FIRST)) == FORMAT.sniff(Head([HEAD], HEAD)) == 1.0
    assert FORMAT.sniff(Head([gemini("g", "x", 1)])) == 0.95
    assert FORMAT.sniff(Head([{"sessionId": "x", "type": "user", "message": {}}])) == 0.0
    assert read(*FIRST[4:]).begins_late


MESSAGES = st.lists(
    st.tuples(
        st.sampled_from("abcdef"), st.sampled_from(["user", "assistant"]), st.sampled_from("xyz")
    )
)


@given(MESSAGES, MESSAGES)
def test_whatever_replaces_whatever(
    old: list[tuple[str, str, str]], new: list[tuple[str, str, str]]
) -> None:
    def made(rows: list[tuple[str, str, str]]) -> list[Message]:
        messages = {}
        for name, role, text in rows:
            messages[name] = Message(name, role, (Text(text),))  # type: ignore[arg-type]
        return list(messages.values())

    before, after = made(old), made(new)
    change = replace_messages(before, after)
    assert [(message.role, message.parts) for message in change.messages] == [
        (m.role, m.parts) for m in after
    ]
    assert len({message.id for message in change.messages}) == len(after)
    assert change.messages[: change.same] == before[: change.same]
    assert change.kept <= len(before)


def test_spoilt_records_never_raise() -> None:
    spoils: list[Any] = [None, 7, "x", [], {}, deep(200)]
    for bad in spoils:
        for values in spoilt(numbered(COMPACTED[:9]), bad):
            check(told(FORMAT, values))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "type", "content", "$set", "messages", "toolCalls", "result"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=8))
def test_any_values(values: list[Any]) -> None:
    check(told(FORMAT, numbered(values)))


# --- real ones


REAL = [*transcripts("gemini-cli/**/*.jsonl"), *transcripts("clients/gemini*.jsonl")]


def real(path: Path) -> Session:
    values = records(path)
    return told(FORMAT, values if values else [(1, json.loads(path.read_bytes()))])


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_ones(path: Path) -> None:
    session = real(path)
    check(session)
    assert not session.problems
    assert all(request.usage for request in session.main.requests)
    assert laid_out(session) == laid_out(real(path))


def test_the_real_one_that_was_compacted() -> None:
    main = real(next(transcripts("clients/gemini*-autocompact.jsonl"))).main
    assert len(main.requests) == 11
    assert [one.before_request for one in main.compactions] == ([8, 9, 10] if ARE_REAL else [7])
    mark = "MARKER-COMPACTED-SUMMARY" if ARE_REAL else "<state_snapshot>"
    assert all(one.summary and mark in one.summary.text for one in main.compactions)
    line = fit(main, estimator("chars4"))
    assert line.r2 is not None
    assert line.r2 > 0.999
