"""What a Claude Code session holds and its client does not send, and what the model no longer reads."""

from typing import Any

import pytest

from inspector.core.buffer import View
from inspector.core.drops import thread_drops
from inspector.core.formats.claude_code.unrecorded import keeps_thinking, oldest_results
from inspector.core.message import Thinking
from inspector.core.session import Request, Session
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.validity import find_refusals
from tests.core.formats.claude_lines import buffers, read_values, values
from tests.shared import ARE_REAL, transcripts


class Lines:
    """A session as its client writes it: each record hangs on the one before it, unless told otherwise."""

    def __init__(self, version: str = "2.1.40", model: str = "claude-opus-4-5-20251101") -> None:
        self.version, self.model = version, model
        self.values: list[dict[str, Any]] = []

    def add(self, uuid: str, kind: str, **more: Any) -> None:
        parent = self.values[-1]["uuid"] if self.values else None
        self.values.append(
            {"type": kind, "uuid": uuid, "parentUuid": parent, "version": self.version, **more}
        )

    def say(self, uuid: str, content: Any, **more: Any) -> None:
        self.add(uuid, "user", message={"role": "user", "content": content}, **more)

    def result(self, uuid: str, call: str, content: Any) -> None:
        self.say(uuid, [{"type": "tool_result", "tool_use_id": call, "content": content}])

    def answer(self, id_: str, *blocks: dict[str, Any], read: int = 0, fresh: int = 1000) -> None:
        usage = {
            "input_tokens": 10,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": fresh,
        }
        for n, block in enumerate(blocks):
            message = {
                "id": id_,
                "model": self.model,
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
        ("2.1.40", {"tools": []}),
        ("", {"tools": []}),
        ("2.0.34", {"plan": "do", "tools": []}),
    ],
)
def test_a_plan_that_the_client_copied_into_the_call_was_not_sent(
    version: str, kept: dict[str, Any]
) -> None:
    lines = Lines(version)
    lines.say("u1", "Plan it")
    lines.answer("m1", called("t1", "ExitPlanMode", plan="do", tools=[]))
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
    lines.add(
        "b1",
        "system",
        subtype="compact_boundary",
        parentUuid=None,
        compactMetadata={"trigger": "auto"},
    )
    lines.say("c1", "In short: ...", isCompactSummary=True)
    lines.add("p2", "progress", parentUuid=None, data={"type": "hook_progress"})
    lines.say("u2", "Go on")
    lines.answer("m2", said("Done"))
    assert buffers(lines.read().main) == [["u1"], ["c1", "u2"]]


# ---- thinking of earlier turns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "stays"),
    [
        ("claude-sonnet-4-5-20250929", False),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", False),
        ("claude-haiku-4-5-20251001", False),
        ("claude-opus-4-1-20250805", False),
        ("claude-opus-4-20250514", False),
        ("claude-sonnet-4@20250514", False),
        ("anthropic/claude-sonnet-4.5", False),
        ("claude-3-7-sonnet-20250219", False),
        ("claude-opus-4-5-20251101", True),
        ("claude-opus-4-6", True),
        ("claude-opus-4-10", True),
        ("claude-sonnet-4-6", True),
        ("claude-sonnet-4-6-20260217", True),
        ("claude-opus-5", True),
        ("claude-sonnet-5-20270101", True),
        ("claude-mythos-10-1", True),
        ("kimi-k2", True),
        ("", True),
    ],
)
def test_which_models_are_sent_thinking_again(model: str, stays: bool) -> None:
    assert keeps_thinking(model) is stays


def two_turns(model: str) -> Lines:
    lines = Lines(model=model)
    lines.say("u1", "Go")
    lines.answer("m1", thought("hm"), called("t1"))
    lines.result("r1", "t1", "ok")
    lines.answer("m2", thought("aha"), said("Done"))
    lines.say("u2", "<caveat>", isMeta=True)
    lines.say("u3", "More")
    lines.answer("m3", thought("what?"), called("t3"))
    lines.result("r3", "t3", "ok")
    lines.answer("m4", thought("interrupted"))
    lines.say("u4", "Again")
    lines.answer("m5", said("Yes"))
    return lines


def thinking(view: View) -> list[str]:
    return [part.text for message in view for part in message.parts if isinstance(part, Thinking)]


def test_thinking_leaves_when_a_prompt_begins_a_turn() -> None:
    main = two_turns("claude-sonnet-4-5-20250929").read().main
    assert [thinking(request.view) for request in main.requests] == [[], ["hm"], [], ["what?"], []]
    assert buffers(main)[3:] == [
        ["u1", "m1", "r1", "m2", "u2", "u3", "m3", "r3"],
        ["u1", "m1", "r1", "m2", "u2", "u3", "m3", "r3", "u4"],  # m4 was nothing else
    ]
    assert [message.id for message in main.messages][-3:] == ["m4", "u4", "m5"]
    assert not [found for request in main.requests for found in find_refusals(request.buffer())]
    assert main.requests[3].view.messages()[0] is main.requests[0].view.messages()[0]


def test_thinking_of_later_models_stays() -> None:
    main = two_turns("claude-opus-4-5-20251101").read().main
    assert thinking(main.requests[4].view) == ["hm", "aha", "what?", "interrupted"]


def test_the_next_call_is_sent_no_earlier_thinking_either() -> None:
    lines = two_turns("claude-sonnet-4-5-20250929")
    lines.values = [value for value in lines.values if value["uuid"] not in ("m5-0",)]
    assert thinking(lines.read().main.end) == []
    lines.values = lines.values[:-1]
    assert thinking(lines.read().main.end) == ["what?", "interrupted"]


def test_going_back_to_a_prompt_does_not_bring_old_thinking_back() -> None:
    lines = two_turns("claude-sonnet-4-5-20250929")
    lines.answer("m6", thought("new"), said("No"))
    lines.values[-2]["parentUuid"] = lines.values[-1]["parentUuid"] = "u4"
    lines.say("u5", "And?")
    lines.answer("m7", said("Well"))
    main = lines.read().main
    assert [thinking(request.view) for request in main.requests[5:]] == [[], []]
    assert buffers(main)[6][-3:] == ["u4", "m6", "u5"]


def test_results_are_cleared_where_they_stand_without_the_thinking() -> None:
    lines = two_turns("claude-sonnet-4-5-20250929")
    for boundary, call in (("b1", "t1"), ("b2", "t3")):
        meta = {"trigger": "auto", "compactedToolIds": [call]}
        lines.add(boundary, "system", subtype="microcompact_boundary", microcompactMetadata=meta)
        lines.say(f"u-{boundary}", "Go on")
        lines.answer(f"m-{boundary}", thought("so"), said("Yes"))
    main = lines.read().main
    assert [c.cleared for c in main.compactions] == [("r1",), ("r3",)]
    marked = [message.id for message in main.requests[-1].view if message.mark == "placeholder"]
    assert marked == ["r1", "r3"]
    assert thinking(main.requests[-1].view) == []


def test_many_turns_cost_what_is_new_in_them() -> None:
    """It would not come back in time."""
    lines = Lines(model="claude-sonnet-4-5")
    for n in range(8_000):
        lines.say(f"u{n}", "Go")
        lines.answer(f"m{n}", thought("hm"), said("Yes"))
    main = lines.read().main
    assert len(main.end) == 16_000
    assert thinking(main.end) == ["hm"]


# ---- results that were cleared without a record ----------------------------------------------------------------------


def long_session(
    version: str = "2.1.14", sizes: tuple[int, ...] = (60_000,) * 5, tool: str = "Read"
) -> Lines:
    """A result of so many characters a call; the counts of the last call fall as if some had been cleared."""
    lines = Lines(version)
    lines.say("u1", "Go")
    fresh = 20_000
    for n, size in enumerate(sizes):
        lines.answer(f"m{n}", called(f"t{n}", tool), fresh=fresh)
        lines.result(f"r{n}", f"t{n}", "x" * size)
        fresh += size // 4
    return lines


def cleared(lines: Lines) -> list[tuple[str, str, int, tuple[str, ...]]]:
    return [(c.kind, c.trigger, c.before_request, c.cleared) for c in lines.read().main.compactions]


def test_results_are_cleared_where_only_the_counts_tell() -> None:
    lines = long_session()
    lines.answer("m9", said("Done"), fresh=60_000)
    lines.say("u9", "More")
    lines.answer("m10", said("Well"), read=60_000, fresh=100)
    main = lines.read().main
    assert cleared(lines) == [("micro", "inferred", 5, ("r0", "r1", "r2"))]
    assert [m.id for m in main.requests[5].view if m.mark == "placeholder"] == ["r0", "r1", "r2"]
    assert [m.id for m in main.requests[6].view if m.mark == "placeholder"] == ["r0", "r1", "r2"]
    assert not [m for m in main.requests[4].view if m.mark == "placeholder"]
    evidence = main.compactions[0].evidence
    assert "counted 80,010 tokens, then 60,010" in evidence
    assert "the 3 oldest results" in evidence
    assert "45,000" in evidence
    (drop,) = thread_drops(main).found
    assert (drop.kind, drop.compaction, len(drop.changed)) == ("micro-compaction", 0, 3)
    assert "inferred" in drop.marker
    assert evidence in drop.why


@pytest.mark.parametrize(
    ("lines", "now"),
    [
        (long_session("2.1.4"), {"fresh": 60_000}),  # before, and after, the versions that did
        (long_session("2.1.21"), {"fresh": 60_000}),
        (long_session(""), {"fresh": 60_000}),
        (long_session(), {"fresh": 90_000}),  # the counts grow
        (long_session(sizes=(40_000,) * 5), {"fresh": 40_000}),  # it would save too little
        (long_session(sizes=(60_000,) * 2), {"fresh": 20_000}),  # no more than what may stay
        (long_session(tool="Task"), {"fresh": 60_000}),  # results of these tools stay
        (long_session(), {"fresh": 75_000}),  # what fell is not what the rule clears
    ],
)
def test_nothing_is_inferred_unless_all_tells_so(lines: Lines, now: dict[str, int]) -> None:
    lines.answer("m9", said("Done"), **now)
    assert cleared(lines) == []


def test_another_model_counts_otherwise() -> None:
    lines = long_session()
    lines.model = "claude-sonnet-4-5"
    lines.answer("m9", said("Done"), fresh=60_000)
    assert cleared(lines) == []


def test_what_was_recorded_is_not_inferred_again() -> None:
    lines = long_session()
    meta = {"trigger": "auto", "compactedToolIds": ["t0", "t1", "t2"]}
    lines.add("b1", "system", subtype="microcompact_boundary", microcompactMetadata=meta)
    lines.answer("m9", said("Done"), fresh=60_000)
    assert cleared(lines) == [("micro", "auto", 5, ("r0", "r1", "r2"))]


@pytest.mark.parametrize("recorded", [True, False])
def test_what_was_cleared_stays_cleared_when_the_user_goes_back(recorded: bool) -> None:
    lines = long_session()
    lines.say("u8", "Well?")
    if recorded:
        meta = {"trigger": "auto", "compactedToolIds": ["t0", "t1", "t2"]}
        lines.add("b1", "system", subtype="microcompact_boundary", microcompactMetadata=meta)
    lines.answer("m9", said("Done"), fresh=60_000)
    lines.answer("m10", said("Or so"), fresh=60_000)
    lines.values[-1]["parentUuid"] = "u8"  # asked again
    lines.answer("m11", said("Or so"), fresh=60_000)
    lines.values[-1]["parentUuid"] = "r1"  # gone back
    main = lines.read().main
    marked = [
        [m.id for m in request.view if m.mark == "placeholder"] for request in main.requests[5:]
    ]
    assert marked == [["r0", "r1", "r2"], ["r0", "r1", "r2"], ["r0", "r1"]]
    assert len(main.requests[6].view) == len(main.requests[5].view)


@pytest.mark.parametrize(
    ("named", "unrecorded"),
    [(["t0", "t1", "t2"], 0), (["t0", "gone"], 10_000), (["gone", "lost"], 20_000), ([], 20_000)],
)
def test_content_that_was_cleared_when_the_file_lacks_it_is_estimated_by_the_client(
    named: list[str], unrecorded: int
) -> None:
    lines = long_session()
    meta = {"trigger": "auto", "tokensSaved": 20_000, "compactedToolIds": named}
    lines.add("b1", "system", subtype="microcompact_boundary", microcompactMetadata=meta)
    lines.answer("m9", said("Done"), fresh=60_000)
    (compaction,) = lines.read().main.compactions
    assert compaction.unrecorded == unrecorded


@pytest.mark.parametrize("named", [["t0"], ["gone"]])
def test_size_after_content_was_cleared_that_the_file_lacks_is_predicted_by_the_clients_estimate(
    named: list[str],
) -> None:
    """As in a file that begins in the middle. The client's tokens are smaller than the provider's by a quarter."""
    lines = long_session(version="2.1.20", sizes=(6_000,) * 5)
    lines.answer("m8", said("So far so good"), fresh=150_000)
    lines.say("u8", "Go on")
    meta = {"trigger": "auto", "tokensSaved": 20_000, "compactedToolIds": named}
    lines.add("b1", "system", subtype="microcompact_boundary", microcompactMetadata=meta)
    lines.answer("m9", said("Done"), fresh=125_300)
    main = lines.read().main
    predicted = thread_pressures(main).at(len(main.requests) - 1).predicted
    assert predicted is not None
    if named == ["gone"]:
        assert predicted.tokens == pytest.approx(125_300, rel=0.02)
    else:
        assert predicted.tokens == pytest.approx(148_500, rel=0.02)
    assert predicted.low <= predicted.tokens <= predicted.high


def test_thousands_of_clearings_copy_nothing() -> None:
    """3,000 over 9,000 messages, the oldest result first: what stands behind it is held once."""
    lines = Lines()
    for n in range(3_000):
        lines.say(f"u{n}", "Go")
        lines.answer(f"m{n}", called(f"t{n}"))
        lines.result(f"r{n}", f"t{n}", "x" * 40)
    for n in range(3_000):
        meta = {"trigger": "auto", "compactedToolIds": [f"t{n}"]}
        lines.add(f"b{n}", "system", subtype="microcompact_boundary", microcompactMetadata=meta)
        if n % 2:
            lines.answer(f"c{n}", said("Yes"))
    main = lines.read().main
    stretches = {id(request.view.stretch): request.view.stretch for request in main.requests}
    assert sum(len(stretch._more) for stretch in stretches.values()) <= len(main.messages) == 10_500
    assert sum(message.mark == "placeholder" for message in main.end) == 3_000
    assert len(thread_drops(main).found) == 1_500


def test_a_clearing_that_a_summary_follows_at_once_is_one_compaction_with_it() -> None:
    lines = long_session()
    meta = {"trigger": "auto", "compactedToolIds": ["t0", "t1", "t2"]}
    lines.add("b1", "system", subtype="microcompact_boundary", microcompactMetadata=meta)
    lines.add(
        "b2",
        "system",
        subtype="compact_boundary",
        parentUuid=None,
        compactMetadata={"trigger": "auto"},
    )
    lines.say("c1", "In short: ...", isCompactSummary=True)
    lines.answer("m9", said("Done"), fresh=30_000)
    assert cleared(lines) == [("summary", "auto", 5, ("r0", "r1", "r2"))]
    assert len(thread_drops(lines.read().main).found) == 1


def recorded_session() -> list[tuple[int, Any]]:
    """A session whose file records what was cleared."""
    lines = long_session()
    meta = {"trigger": "auto", "compactedToolIds": ["t0", "t1", "t2"]}
    lines.add("b1", "system", subtype="microcompact_boundary", microcompactMetadata=meta)
    lines.answer("m9", said("Done"), fresh=60_000)
    return list(enumerate(lines.values, 1))


REAL = (
    [path for path in transcripts("**/*.jsonl") if b'"microcompact_boundary"' in path.read_bytes()]
    if ARE_REAL
    else []
)
RECORDED = {path.parent.parent.name: values(path) for path in REAL} | {
    "made up": recorded_session()
}


@pytest.mark.parametrize("name", RECORDED)
def test_the_rule_gives_every_recorded_list(name: str) -> None:
    lines = RECORDED[name]
    marks = [
        n for n, (_, value) in enumerate(lines) if value.get("subtype") == "microcompact_boundary"
    ]
    for n in marks:
        cleared, _ = oldest_results(read_values(lines[:n]).main.end.messages())
        assert cleared == lines[n][1]["microcompactMetadata"]["compactedToolIds"]
    without = read_values([line for n, line in enumerate(lines) if n not in marks]).main
    recorded = read_values(lines).main
    assert list(map(buffer_words, without.requests)) == list(map(buffer_words, recorded.requests))


def buffer_words(request: Request) -> list[tuple[str, str]]:
    return [
        (message.id, message.result.content if message.result else message.text)
        for message in request.view
    ]
