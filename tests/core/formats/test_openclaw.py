"""OpenClaw: sessions with their trajectories, trajectories alone, stubs, usage that holds the cache; any values."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.formats.format import Head
from inspector.core.formats.openclaw import FORMATS, companions, is_companion
from inspector.core.session import Session
from tests.core.formats.feeding import check, deep, laid_out, numbered, records, spoilt, told
from tests.shared import ARE_REAL, transcripts

SESSION, TRAJECTORY = FORMATS
HEAD = {"type": "session", "version": 3, "id": "5f5e", "timestamp": "t", "cwd": "/claw"}
SNAPSHOT = {
    "type": "custom",
    "customType": "model-snapshot",
    "id": "s1",
    "parentId": None,
    "timestamp": "t",
}


def said(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def usage(fresh: int, output: int, read: int = 0, total: int = 0) -> dict[str, Any]:
    counts = {"input": fresh, "output": output, "cacheRead": read, "cacheWrite": 0}
    return counts | {"totalTokens": total or fresh + output + read}


def asked(text: str, at: int = 1) -> dict[str, Any]:
    return {"role": "user", "content": said(text), "timestamp": at}


def answered(text: str, used: dict[str, Any], at: int = 2, **more: Any) -> dict[str, Any]:
    about = {"provider": "google", "model": "oak", "stopReason": "stop", "timestamp": at}
    return {"role": "assistant", "content": said(text), "usage": used, **about, **more}


def entry(name: str, parent: str, message: dict[str, Any], second: int = 0) -> dict[str, Any]:
    time = f"2026-01-02T03:04:{second:02}.000Z"
    return {
        "type": "message",
        "id": name,
        "parentId": parent,
        "timestamp": time,
        "message": message,
    }


LINES = [
    HEAD,
    SNAPSHOT,
    entry("a", "s1", asked("hello"), 1),
    entry("b", "a", answered("Hi.", usage(1_000, 40, 900, 1_040)), 5),
    entry(
        "c",
        "b",
        answered("Sent to the phone.", usage(0, 0), provider="openclaw", model="delivery-mirror"),
        6,
    ),
    entry("d", "c", asked("more"), 11),
    entry("e", "d", answered("Yes.", usage(200, 10, 900)), 15),
]


def event(kind: str, second: int = 0, **data: Any) -> dict[str, Any]:
    about = {
        "traceSchema": "openclaw-trajectory",
        "schemaVersion": 1,
        "sessionId": "5f5e",
        "modelId": "oak",
    }
    return about | {"type": kind, "ts": f"2026-01-02T03:04:{second:02}.000Z", "data": data}


def compiled(second: int, system: str, prompt: str, *messages: Any) -> dict[str, Any]:
    tools = [{"name": "read", "description": "Reads.", "parameters": {}}]
    data = {"systemPrompt": system, "prompt": prompt, "messages": list(messages), "tools": tools}
    return event("context.compiled", second, **data)


CUSTOM = {
    "role": "custom",
    "customType": "openclaw.runtime-context",
    "content": "be brief",
    "timestamp": 7,
}
FIRST = [asked("hello"), CUSTOM, answered("Hi.", usage(100, 5))]
LATER = [asked("hello", 70), {**CUSTOM, "timestamp": 71}, answered("Hi.", usage(100, 5), 72)]
STUB = {
    "truncated": True,
    "originalBytes": 300_000,
    "limitBytes": 262_144,
    "reason": "trajectory-event-size-limit",
}
RUNS = [
    event("session.started"),
    compiled(1, "one", "hello"),
    event("model.completed", 4, usage={"input": 100}, messagesSnapshot=FIRST),
    event("trace.artifacts", 4, usage={"input": 100}),
    compiled(10, "two", "more", *LATER),
    event(
        "model.completed",
        14,
        usage={"input": 450},
        messagesSnapshot=[
            *LATER,
            asked("more"),
            answered("a", usage(200, 5)),
            answered("b", usage(250, 5)),
        ],
    ),
    compiled(20, "two", "again", *LATER),
    event("model.completed", 21, **STUB),
    event("trace.artifacts", 21, usage={"input": 700}),
    event("context.compiled", 30, **STUB),
    event("model.completed", 31, **STUB),
    event("trace.artifacts", 31, usage={"input": 900}),
]


def prompts(session: Session) -> list[int | None]:
    return [request.usage.prompt if request.usage else None for request in session.main.requests]


def test_the_prompt_is_the_total_without_the_answer() -> None:
    first, second = told(SESSION, numbered(LINES)).main.requests
    assert first.usage is not None
    assert second.usage is not None
    assert (first.usage.prompt, first.usage.input, first.usage.cache_read) == (1_000, 100, 900)
    assert (second.usage.prompt, second.usage.input, second.usage.cache_read) == (1_100, 200, 900)


@pytest.mark.parametrize("used", [usage(0, 0), usage(1, 1, total=2), usage(1, 0, total=1)])
def test_zero_and_one_are_unknown(used: dict[str, Any]) -> None:
    session = told(SESSION, numbered([*LINES[:3], entry("b", "a", answered("Hi.", used))]))
    assert prompts(session) == [None]


def test_what_the_gateway_wrote_is_no_call() -> None:
    session = told(SESSION, numbered(LINES))
    check(session)
    assert (session.format, session.client) == ("openclaw", "OpenClaw")
    assert [message.id for message in session.main.requests[1].view] == ["a", "b", "c", "d"]


def test_two_compactions_in_a_row() -> None:
    cut = {
        "type": "compaction",
        "id": "f",
        "parentId": "e",
        "summary": "They met.",
        "firstKeptEntryId": "d",
    }
    mark = {"type": "custom", "customType": "openclaw.cache-ttl", "id": "g", "parentId": "f"}
    again = {
        "type": "compaction",
        "id": "h",
        "parentId": "g",
        "summary": "Briefly.",
        "firstKeptEntryId": "g",
    }
    more = [
        cut,
        mark,
        again,
        entry("i", "h", asked("go on")),
        entry("j", "i", answered("So.", usage(50, 1))),
    ]
    session = told(SESSION, numbered([*LINES, *more]))
    check(session)
    assert [(one.before_request, one.kept) for one in session.main.compactions] == [(2, 2), (2, 0)]
    assert [message.id for message in session.main.requests[2].view] == ["h", "i"]


def test_a_trajectory_tells_prompts_and_an_index_the_window() -> None:
    index = {
        "agent:main": {"sessionId": "5f5e", "contextTokens": 128_000, "spawnedBy": "agent:boss"}
    }
    reader = SESSION.start()
    for line, value in numbered(LINES):
        reader.feed(line, value)
    bare = reader.session()
    assert [request.prompt.system for request in bare.main.requests] == [None, None]
    assert is_companion(Head(RUNS[:3]), bare)
    assert is_companion(Head([index], index), bare)
    assert not is_companion(Head([{"sessionId": "other"}], {"x": {"sessionId": "other"}}), bare)
    for line, value in numbered(RUNS[:6]):
        reader.feed(line, value, "5f5e.trajectory.jsonl")
    reader.feed(1, index, "sessions.json")
    whole = reader.session()
    check(whole)
    assert [request.prompt.system for request in whole.main.requests] == ["one", "two"]
    assert [tool.name for tool in whole.main.prompt.tools or ()] == ["read"]
    assert [request.window for request in whole.main.requests] == [128_000, 128_000]
    assert any("agent:boss" in note for note in whole.notes)
    assert [request.prompt.system for request in bare.main.requests] == [None, None]
    assert companions(Path("/x/5f5e.jsonl"))[0] == "5f5e.trajectory.jsonl"


def test_a_trajectory_alone() -> None:
    session = told(TRAJECTORY, numbered(RUNS))
    check(session)
    assert prompts(session) == [100, 200, 250, None]
    buffers = [[message.text for message in request.view] for request in session.main.requests]
    assert buffers == [
        ["hello", "be brief"],
        ["hello", "Hi.", "more"],
        ["hello", "Hi.", "more", "a"],
        ["hello", "Hi.", "again"],
    ]
    assert [request.prompt.system for request in session.main.requests] == [
        "one",
        "two",
        "two",
        "two",
    ]
    assert session.main.prompt == session.main.requests[-1].prompt, (
        "a run that is a stub says nothing of it"
    )
    assert any("2 of 4 runs" in note and "1,600" in note for note in session.notes)
    assert [message.text for message in session.main.messages].count("hello") == 1


@pytest.mark.parametrize("first", [["x", "a"], ["a", "x"]])
def test_what_is_told_of_the_runtime_goes_with_one_prompt(first: list[str]) -> None:
    told_now = {"type": "custom_message", "customType": "openclaw.runtime-context"}
    records = {
        "a": entry("a", "s1", asked("hello")),
        "x": {**told_now, "id": "x", "content": "be brief"},
    }
    call = {"type": "toolCall", "id": "t", "name": "read", "arguments": {}}
    lines: list[dict[str, Any]] = [HEAD, SNAPSHOT, *(records[name] for name in first)]
    lines += [entry("b", first[-1], answered("", usage(100, 5), content=[call]))]
    lines += [entry("c", "b", {"role": "toolResult", "toolCallId": "t", "content": said("ok")})]
    lines += [entry("d", "c", answered("Hi.", usage(200, 5)))]
    lines += [
        {**told_now, "id": "y", "parentId": "d", "content": "be kind"},
        entry("e", "y", asked("more")),
    ]
    lines += [entry("f", "e", answered("Yes.", usage(300, 5)))]
    lines += [
        {
            "type": "compaction",
            "id": "g",
            "parentId": "f",
            "summary": "They met.",
            "firstKeptEntryId": "a",
        }
    ]
    for before, after in itertools.pairwise(lines[1:5]):
        after["parentId"] = before["id"]
    session = told(SESSION, numbered(lines))
    check(session)
    seen = [[message.id for message in request.view] for request in session.main.requests]
    assert seen == [first, [*first, "b", "c"], ["a", "b", "c", "d", "y", "e"]]
    assert [message.id for message in session.main.end] == ["g", "a", "b", "c", "d", "y", "e", "f"]


def test_a_session_that_was_asked_for_early_stays_as_it_was() -> None:
    for form, values in ((SESSION, LINES), (TRAJECTORY, RUNS)):
        reader = form.start()
        seen: list[tuple[Session, Any]] = []
        for line, value in numbered(values):
            reader.feed(line, value)
            session = reader.session()
            seen.append((session, laid_out(session)))
        assert all(laid_out(session) == then for session, then in seen)


def test_spoilt_events_never_raise() -> None:
    for bad in (None, 7, "x", [], {}, [None], {"content": 1}):
        for changed in spoilt(numbered(RUNS), bad):
            check(told(TRAJECTORY, changed))
        for changed in spoilt(numbered(RUNS[:6]), bad):
            reader = SESSION.start()
            for line, value in numbered(LINES):
                reader.feed(line, value)
            for line, value in changed:
                reader.feed(line, value, "5f5e.trajectory.jsonl")
            check(reader.session())
    check(
        told(TRAJECTORY, numbered([event("context.compiled", messages=[deep()], systemPrompt="x")]))
    )


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*RUNS[0], *RUNS[1]["data"], "messagesSnapshot", "role", "content"]),
            inner,
        )
    ),
    max_leaves=10,
)


@given(st.lists(VALUES, max_size=8))
def test_any_values(values: list[Any]) -> None:
    check(told(TRAJECTORY, numbered(values)))
    check(told(SESSION, numbered(values), "sessions.json"))


@pytest.mark.parametrize(
    "path", tuple(transcripts("openclaw/**/*.jsonl")), ids=lambda path: path.name[:8]
)
def test_real_ones(path: Path) -> None:
    session = told(TRAJECTORY if "trajectory" in path.name else SESSION, records(path))
    check(session)
    assert session.problems == ()
    assert all(usage is None or usage > (1_000 if ARE_REAL else 0) for usage in prompts(session))
