"""Claude Code sessions whose context the client cleared by itself: a plan that was accepted, old results."""

from typing import Any

from inspector.core.drops import session_drops
from inspector.core.session import Session
from tests.core.formats.claude_lines import buffers, read_values
from tests.core.formats.feeding import check, numbered

PLAN = "Implement the following plan:\n\n# Feed the goat"


def row(kind: str, name: str, parent: str | None, **more: Any) -> dict[str, Any]:
    about = {
        "sessionId": "s",
        "version": "2.1.60",
        "timestamp": "2026-01-01T00:00:00Z",
        "isSidechain": False,
    }
    return {"type": kind, "uuid": name, "parentUuid": parent, **about, **more}


def user(name: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return row("user", name, parent, message={"role": "user", "content": content}, **more)


def answer(name: str, parent: str, prompt: int, *blocks: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 3, "cache_read_input_tokens": prompt - 3, "output_tokens": 8}
    message = {"id": f"msg_{name}", "role": "assistant", "model": "claude-opus-4-6", "usage": usage}
    content = [*(blocks or ({"type": "text", "text": "Yes."},))]
    return row(
        "assistant", name, parent, requestId=f"req_{name}", message={**message, "content": content}
    )


def read(*rows: dict[str, Any]) -> Session:
    session = read_values(numbered(rows))
    check(session)
    return session


BEFORE = [
    user("u1", None, "plan how to feed the goat"),
    answer("a1", "u1", 20_000),
    user("u2", "a1", "x" * 60_000),
    answer("a2", "u2", 42_000),
]


def accepted(**more: Any) -> list[dict[str, Any]]:
    return [user("p1", None, PLAN, **more), answer("a3", "p1", 41_019)]


def test_a_plan_when_accepted_with_its_context_cleared_is_a_compaction() -> None:
    for more in ({"planContent": "# Feed the goat"}, {}):
        session = read(*BEFORE, *accepted(**more))
        [compaction] = session.main.compactions
        assert (compaction.trigger, compaction.before_request, compaction.kept) == ("plan", 2, 0)
        assert compaction.summary
        assert compaction.summary.text == PLAN
        assert buffers(session.main) == [["u1"], ["u1", "msg_a1", "u2"], ["p1"]]
        assert [(drop.kind, drop.marker) for drop in session_drops(session)] == [
            ("compaction", "recorded plan compaction")
        ]


def test_a_plan_when_its_session_begins_with_it_is_a_prompt() -> None:
    session = read(*accepted(planContent="# Feed the goat"))
    assert not session.main.compactions
    assert not session.main.messages[0].summary


def test_a_plan_when_the_context_stays_is_a_prompt() -> None:
    session = read(*BEFORE, user("p1", "a2", PLAN), answer("a3", "p1", 42_500))
    assert not session.main.compactions
    assert buffers(session.main)[2] == ["u1", "msg_a1", "u2", "msg_a2", "p1"]
