"""Copilot CLI sessions: prompts that are replaced, turns, tools, totals at the end, sub-agents; any values."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.formats.copilot_cli import FORMAT
from inspector.core.message import Thinking, ToolResult
from inspector.core.session import Session
from tests.core.formats.feeding import check, deep, laid_out, numbered, records, spoilt, told
from tests.shared import transcripts


def event(name: str, kind: str, agent: str = "", **data: Any) -> dict[str, Any]:
    value: dict[str, Any] = {
        "type": kind,
        "data": data,
        "id": name,
        "timestamp": "2026-01-02T03:04:05Z",
        "parentId": None,
    }
    return value | ({"agentId": agent} if agent else {})


def called(name: str, *calls: str, said: str = "", agent: str = "", **more: Any) -> dict[str, Any]:
    requests = [{"toolCallId": call, "name": "view", "arguments": {"path": call}} for call in calls]
    data = {
        "messageId": name,
        "model": "gpt-x",
        "content": said,
        "toolRequests": requests,
        "outputTokens": 7,
    } | more
    return event(name, "assistant.message", agent, **data)


def result(name: str, call: str, text: str) -> dict[str, Any]:
    shown = {"content": text, "detailedContent": f"diff of {text}"}
    return event(name, "tool.execution_complete", toolCallId=call, success=True, result=shown)


def shutdown(calls: int, tokens: int, read: int = 0) -> dict[str, Any]:
    usage = {
        "inputTokens": tokens,
        "outputTokens": 40,
        "cacheReadTokens": read,
        "reasoningTokens": 9,
    }
    metrics = {"gpt-x": {"requests": {"count": calls, "cost": 1}, "usage": usage}}
    about: dict[str, Any] = {
        "currentTokens": 1_103,
        "systemTokens": 800,
        "conversationTokens": 100,
        "toolDefinitionsTokens": 200,
    }
    return event(
        "end", "session.shutdown", sessionStartTime=1_783_067_544_878, modelMetrics=metrics, **about
    )


START = event(
    "s", "session.start", sessionId="5f5e", copilotVersion="1.0.64", selectedModel="gpt-x"
)
ASKED = [
    START,
    event("p1", "system.message", role="system", content="You are an agent."),
    event(
        "u1",
        "user.message",
        content="look",
        transformedContent="<current_datetime>now</current_datetime>\n\nlook",
    ),
    event("t1", "assistant.turn_start", turnId="0"),
]
TURNS = [
    *ASKED,
    called("a1", "c1", "c2", said="I look.", reasoningText="Two files.", reasoningOpaque="sig"),
    event("x1", "tool.execution_start", toolCallId="c1"),
    result("r2", "c2", "second"),
    event(
        "r1",
        "tool.execution_complete",
        toolCallId="c1",
        success=False,
        error={"message": "no such file"},
    ),
    event("e1", "assistant.turn_end", turnId="0"),
    event("t2", "assistant.turn_start", turnId="1"),
    event(
        "n1",
        "system.notification",
        content="<system_notification>\nshell 3 ended\n</system_notification>",
    ),
    called("a2", said="Done."),
    event("p2", "system.message", role="system", content="You are an agent."),
    event("u2", "user.message", content="more"),
    event("t3", "assistant.turn_start", turnId="2"),
    event("x", "abort", reason="user_initiated"),
    event("p3", "system.message", role="system", content="You are another."),
    event("u3", "user.message", content="again"),
    event("t4", "assistant.turn_start", turnId="3"),
    called("a3", said="Yes."),
]


def test_a_buffer_is_what_stood_when_its_turn_began() -> None:
    session = told(FORMAT, numbered(TURNS))
    check(session)
    main = session.main
    assert [[one.id for one in request.view] for request in main.requests] == [
        ["u1"],
        ["u1", "a1", "r2", "r1"],
        ["u1", "a1", "r2", "r1", "n1", "a2", "u2", "u3"],
    ]
    assert main.end.messages()[-1].text == "Yes."
    assert main.messages[0].text.endswith("</current_datetime>\n\nlook")
    assert main.messages[1].parts[0] == Thinking("Two files.", "sig")
    results = [message.result for message in main.messages if message.role == "tool"]
    assert results == [ToolResult("c2", "second"), ToolResult("c1", "no such file", True)]


def test_a_prompt_takes_the_place_of_the_former_one() -> None:
    first, second, third = told(FORMAT, numbered(TURNS)).main.requests
    assert first.prompt.system == second.prompt.system == "You are an agent."
    assert third.prompt.system == "You are another."
    assert third.prompt.tools is None


def test_totals_are_totals_but_of_a_single_call() -> None:
    many = told(FORMAT, numbered([*TURNS, shutdown(3, 9_000)]))
    assert all(request.usage is None for request in many.main.requests)
    assert any("3 calls, 9,000 tokens in" in note for note in many.notes)
    assert any("1,103" in note and "tools 200" in note for note in many.notes)
    (request,) = told(
        FORMAT, numbered([*ASKED, called("a1"), shutdown(1, 1_000, 900)])
    ).main.requests
    assert request.usage is not None
    assert (
        request.usage.prompt,
        request.usage.input,
        request.usage.cache_read,
        request.usage.output,
    ) == (
        *(1_000, 100, 900),
        40,
    )
    hidden = told(FORMAT, numbered([*ASKED, called("a1"), shutdown(2, 1_000)]))
    assert hidden.main.requests[0].usage is None


def test_zero_is_unknown() -> None:
    session = told(FORMAT, numbered([*ASKED, called("a1"), shutdown(1, 0)]))
    assert session.main.requests[0].usage is None
    assert any("unknown" in note for note in session.notes)


def test_without_an_end_it_says_what_is_missing() -> None:
    assert any("no input tokens" in note for note in told(FORMAT, numbered(TURNS)).notes)


def test_a_compaction_leaves_its_summary() -> None:
    done: dict[str, Any] = {
        "success": True,
        "summaryContent": "They looked.",
        "preCompactionTokens": 900,
        "postCompactionTokens": 90,
    }
    more = [
        event("c", "session.compaction_complete", **done),
        event("u4", "user.message", content="go on"),
        called("a4"),
    ]
    session = told(FORMAT, numbered([*TURNS, *more]))
    check(session)
    (one,) = session.main.compactions
    assert (one.before_request, one.tokens_before, one.tokens_after) == (3, 900, 90)
    assert [message.id for message in session.main.requests[3].view] == ["c", "u4"]
    assert "They looked." in session.main.requests[3].view.messages()[0].text
    failed = event("c", "session.compaction_complete", success=False, error="no")
    assert not told(FORMAT, numbered([*TURNS, failed])).main.compactions


def test_sub_agents_are_threads() -> None:
    begun = event("b", "subagent.started", "agent-1", toolCallId="c1", agentName="explore")
    inside = [
        event("bu", "user.message", "agent-1", content="find it"),
        called("ba", said="Found.", agent="agent-1"),
    ]
    session = told(
        FORMAT, numbered([*ASKED, called("a1", "c1"), begun, *inside, result("r", "c1", "Found.")])
    )
    check(session)
    main, agent = session.threads
    assert [message.id for message in main.end] == ["u1", "a1", "r"]
    assert (agent.title, agent.parent, agent.parent_call) == ("explore", "main", "c1")
    assert [message.id for message in agent.requests[0].view] == ["bu"]


def test_a_session_that_was_asked_for_early_stays_as_it_was() -> None:
    reader = FORMAT.start()
    seen: list[tuple[Session, Any]] = []
    for line, value in numbered([*TURNS, shutdown(3, 9_000)]):
        reader.feed(line, value)
        session = reader.session()
        seen.append((session, laid_out(session)))
    assert all(laid_out(session) == then for session, then in seen)


def test_spoilt_events_never_raise() -> None:
    values = numbered([*TURNS, shutdown(3, 9_000)])
    for bad in (None, 7, "x", [], {}, [None], {"content": 1}):
        for changed in spoilt(values, bad):
            check(told(FORMAT, changed))
    check(
        told(
            FORMAT,
            numbered(
                [event("x", kind, content=deep()) for kind in ("user.message", "assistant.message")]
            ),
        )
    )


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*START, *START["data"], "content", "toolRequests", "modelMetrics"]),
            inner,
        )
    ),
    max_leaves=10,
)


@given(st.lists(VALUES, max_size=8))
def test_any_values(values: list[Any]) -> None:
    check(told(FORMAT, numbered(values)))


@pytest.mark.parametrize(
    "path", tuple(transcripts("copilot-cli/**/*.jsonl")), ids=lambda path: path.parts[-3]
)
def test_real_ones(path: Path) -> None:
    session = told(FORMAT, records(path))
    check(session)
    assert session.problems == ()
    assert all(request.prompt.system for request in session.main.requests)
