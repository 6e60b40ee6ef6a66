"""What a Claude Code session holds and its client does not send, and what the model no longer reads."""

from typing import Any

import pytest

from inspector.core.session import Session
from tests.core.formats.claude_lines import buffers, read_values


class Lines:
    """A session as its client writes it: each record hangs on the one before it, unless told otherwise."""

    def __init__(self, version: str = "2.1.40", model: str = "claude-opus-4-5-20251101") -> None:
        self.version, self.model = version, model
        self.values: list[dict[str, Any]] = []

    def add(self, uuid: str, kind: str, **more: Any) -> None:
        parent = self.values[-1]["uuid"] if self.values else None
        self.values.append({"type": kind, "uuid": uuid, "parentUuid": parent, "version": self.version, **more})

    def say(self, uuid: str, content: Any, **more: Any) -> None:
        self.add(uuid, "user", message={"role": "user", "content": content}, **more)

    def result(self, uuid: str, call: str, content: Any) -> None:
        self.say(uuid, [{"type": "tool_result", "tool_use_id": call, "content": content}])

    def answer(self, id_: str, *blocks: dict[str, Any], read: int = 0, fresh: int = 1000, model: str = "") -> None:
        usage = {"input_tokens": 10, "cache_read_input_tokens": read, "cache_creation_input_tokens": fresh}
        for n, block in enumerate(blocks):
            message = {
                "id": id_,
                "model": model or self.model,
                "content": [block],
                "usage": usage | {"output_tokens": 9},
            }
            self.add(f"{id_}-{n}", "assistant", message=message)

    def read(self) -> Session:
        return read_values(list(enumerate(self.values, 1)))


def called(id_: str, name: str = "Bash", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def thought(words: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": "c2ln"}


def said(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


# ---- plans -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "kept"),
    [
        ("2.1.40", {"allowedPrompts": []}),
        ("", {"allowedPrompts": []}),
        ("2.0.34", {"plan": "do", "allowedPrompts": []}),
    ],
)
def test_a_plan_that_the_client_copied_into_the_call_was_not_sent(version: str, kept: dict[str, Any]) -> None:
    lines = Lines(version)
    lines.say("u1", "Plan it")
    lines.answer("m1", called("t1", "ExitPlanMode", plan="do", allowedPrompts=[]))
    lines.result("r1", "t1", "Approved")
    lines.answer("m2", said("Done"))
    (call,) = lines.read().main.requests[1].view.messages()[1].calls
    assert call.arguments == kept


def test_another_tool_may_have_a_plan() -> None:
    lines = Lines()
    lines.say("u1", "Go")
    lines.answer("m1", called("t1", "mcp__desk__save", plan="do"))
    assert lines.read().main.end.messages()[1].calls[0].arguments == {"plan": "do"}


# ---- a context that was cleared --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["progress", "system"])
def test_what_hangs_on_a_record_without_a_parent_begins_anew(kind: str) -> None:
    lines = Lines()
    lines.say("u1", "Plan it")
    lines.answer("m1", called("t1", "ExitPlanMode"))
    lines.result("r1", "t1", "Approved, in a fresh context")
    lines.add("p1", kind, parentUuid=None, data={"type": "hook_progress"}, subtype="local_command")
    lines.add("p2", "progress", data={"type": "hook_progress"})
    lines.say("u2", "Carry out the plan")
    lines.answer("m2", called("t2"))
    lines.result("r2", "t2", "ok")
    lines.answer("m3", said("Done"))
    assert buffers(lines.read().main) == [["u1"], ["u2"], ["u2", "m2", "r2"]]


def test_a_hook_that_runs_first_is_no_new_beginning() -> None:
    lines = Lines()
    lines.add("p1", "progress", data={"type": "hook_progress"})
    lines.say("u1", "Go")
    lines.answer("m1", said("Yes"))
    lines.add("b1", "system", subtype="compact_boundary", parentUuid=None, compactMetadata={"trigger": "auto"})
    lines.say("c1", "In short: ...", isCompactSummary=True)
    lines.add("p2", "progress", parentUuid=None, data={"type": "hook_progress"})
    lines.say("u2", "Go on")
    lines.answer("m2", said("Done"))
    assert buffers(lines.read().main) == [["u1"], ["c1", "u2"]]
