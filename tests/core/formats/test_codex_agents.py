"""Codex rollouts of several agents: what one says to another, histories that were forked, calls without a result."""

from typing import Any

from inspector.core.formats.codex import FORMAT
from inspector.core.session import Request, Session
from tests.core.formats.feeding import check, numbered, told
from tests.core.formats.rollouts import Counts, answer, call, item, says

PARENT = {
    "id": "child",
    "forked_from_id": "boss",
    "timestamp": "2026-03-01T10:30:00Z",
    "cli_version": "0.169.0",
}
BEFORE, AFTER = "2026-03-01T10:20:00Z", "2026-03-01T10:40:00Z"


def read(*values: dict[str, Any]) -> Session:
    session = told(FORMAT, numbered(values))
    check(session)
    return session


def at(time: str, *values: dict[str, Any]) -> list[dict[str, Any]]:
    """Records of that time: those before the fork are copies."""
    return [{**value, "timestamp": time} for value in values]


def results(request: Request) -> list[tuple[str, str]]:
    found = [message.result for message in request.view]
    return [(result.call_id, result.content) for result in found if result is not None]


def test_a_call_without_a_result_when_the_history_is_forked_is_sent_as_aborted() -> None:
    head = {"type": "session_meta", "payload": PARENT}
    counts = Counts()
    copied = [
        says("user", "look around"),
        call("a"),
        counts(500),
        answer("a"),
        call("spawn"),
        counts(600),
    ]
    asked = [says("user", "look into the barn"), says("assistant", "A goat."), counts(900)]
    session = read(head, *at(BEFORE, *copied), *at(AFTER, *asked))
    [request] = session.main.requests
    assert results(request) == [("a", "done"), ("spawn", "aborted")]
    assert [message.role for message in request.view] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "user",
    ]


def test_a_call_without_a_result_when_the_user_speaks_again_is_sent_as_aborted() -> None:
    counts = Counts()
    first = [says("user", "hi"), call("a"), call("b"), counts(90), answer("b")]
    session = read(*first, says("user", "stop"), says("assistant", "Stopped."), counts(120))
    assert results(session.main.requests[1]) == [("b", "done"), ("a", "aborted")]
    assert session.main.requests[0].view.length == 1


def test_a_call_when_its_result_comes_after_words_of_the_client_is_not_aborted() -> None:
    counts = Counts()
    context = says("user", "<environment_context>\n</environment_context>")
    session = read(
        says("user", "hi"),
        call("a"),
        counts(90),
        context,
        answer("a"),
        says("assistant", "ho"),
        counts(99),
    )
    assert results(session.main.requests[1]) == [("a", "done")]


def test_what_another_agent_says_when_read_is_no_prompt_of_the_user() -> None:
    content = [{"type": "input_text", "text": "Message Type: NEW_TASK"}]
    new = item("agent_message", author="/root", recipient="/root/a", content=content)
    metadata = {"type": "inter_agent_communication_metadata", "payload": {"trigger_turn": True}}
    old = {
        "type": "inter_agent_communication",
        "payload": {
            "author": "/root",
            "recipient": "/root/a",
            "content": "Look.",
            "trigger_turn": True,
        },
    }
    session = read(metadata, new, old, says("assistant", "A goat."), Counts()(90))
    assert not session.problems
    assert [
        (message.role, message.mark, message.text) for message in session.main.requests[0].view
    ] == [
        ("user", "meta", "Message Type: NEW_TASK"),
        ("user", "meta", "Look."),
    ]
