"""Codex rollouts: which buffer went with which call, and what is no call."""

import json
from itertools import pairwise
from pathlib import PurePath
from typing import Any

import pytest

from inspector.core.drops import session_drops
from inspector.core.formats.codex import FORMAT
from inspector.core.formats.format import Head
from inspector.core.message import Opaque, Thinking, ToolCall
from inspector.core.session import Request, Session
from tests.core.formats.feeding import DATA, check, numbered, records, told
from tests.core.formats.rollouts import COMPACTED, REASONING, TURN, Counts, answer, call, item, says


def sample(name: str) -> Session:
    return told(FORMAT, records(DATA / "codex" / name))


def ids(request: Request) -> list[str]:
    return [message.id for message in request.view]


# --- the samples


def test_a_call_sees_what_stood_before_its_first_item() -> None:
    requests = sample("turns.jsonl").main.requests
    assert [request.usage.prompt if request.usage else None for request in requests] == [
        900,
        1060,
        1160,
        1100,
        640,
        None,
    ]
    assert ids(requests[0]) == ["L3", "L4", "L6"]
    assert ids(requests[1]) == ["L3", "L4", "L6", "L8", "L13", "L14"]
    assert ids(requests[4]) == ["L6", "L27", "L31.2"]
    assert [request.model for request in requests] == ["gpt-5.5"] * 3 + ["gpt-5.3-codex-spark"] * 3
    assert [request.window for request in requests] == [258400] * 3 + [121600] * 3
    assert requests[5].finish == "aborted"


def test_the_items_of_a_response_are_one_message_and_parallel_answers_follow() -> None:
    message, first, second = sample("turns.jsonl").main.requests[1].view.messages()[3:6]
    assert [type(part).__name__ for part in message.parts] == [
        "Thinking",
        "Text",
        "ToolCall",
        "ToolCall",
    ]
    assert [first.result and first.result.call_id, second.result and second.result.call_id] == [
        "c1",
        "c2",
    ]


def test_reasoning_has_the_reported_tokens_and_goes_when_the_user_writes_again() -> None:
    requests = sample("turns.jsonl").main.requests
    thought = [
        part.tokens
        for message in requests[2].view
        for part in message.parts
        if isinstance(part, Thinking)
    ]
    assert thought == [64, 32]
    assert not [
        part for message in requests[3].view for part in message.parts if isinstance(part, Thinking)
    ]


def test_a_compaction_keeps_the_very_messages_that_stay() -> None:
    main = sample("turns.jsonl").main
    (compaction,) = main.compactions
    assert (compaction.before_request, compaction.kept, compaction.tokens_after) == (4, 2, 610)
    assert compaction.tokens_before is None
    before, after = main.requests[3].view.messages(), main.requests[4].view.messages()
    assert before[2] is after[0]
    assert compaction.summary is after[2]
    assert isinstance(after[2].parts[0], Opaque)


def test_the_prompt_is_in_the_file_and_the_tools_are_not() -> None:
    session = sample("turns.jsonl")
    assert session.main.prompt.system == "You are a coding agent."
    assert session.main.prompt.tools is None
    assert (session.client, session.id, session.format) == ("Codex 0.142.0", "thread-main", "codex")


def test_a_rollout_of_old_has_its_items_bare() -> None:
    head = {"id": "c", "timestamp": "2025-05-01T00:00:00Z", "instructions": "Be kind."}
    items = [says("user", "hi"), call("t"), answer("t"), says("assistant", "hello")]
    bare = [head, {"record_type": "state"}, *(one["payload"] for one in items)]
    meta = {"type": "session_meta", "payload": head}
    assert FORMAT.sniff(Head(bare)) == 1.0
    old, new = (
        told(FORMAT, numbered(lines))
        for lines in (bare, [meta, {"type": "world_state", "payload": {}}, *items])
    )
    assert not old.problems
    assert [one.parts for one in old.main.end] == [one.parts for one in new.main.end]
    assert (len(old.main.end), old.main.prompt) == (4, new.main.prompt)
    assert FORMAT.sniff(Head([says("assistant", "an answer of an API")["payload"]])) == 0.0


def test_texts_that_the_client_writes_in_the_users_name_are_marked() -> None:
    marks = {message.id: message.mark for message in sample("turns.jsonl").main.messages}
    assert [marks["L3"], marks["L4"], marks["L6"]] == ["", "meta", ""]


def test_where_counts_come_first_the_items_behind_them_belong_to_their_call() -> None:
    requests = sample("counts-first.jsonl").main.requests
    assert [request.usage and request.usage.prompt for request in requests] == [400, 480, 500]
    assert ids(requests[0]) == ["L2", "L3"]
    assert ids(requests[1]) == ["L2", "L3", "L9", "L11", "L13"]
    assert ids(requests[2])[-2:] == ["L18", "L19"]


def test_a_sub_agent_is_a_thread_of_its_own_without_the_calls_of_its_parent() -> None:
    reader = FORMAT.start()
    for name, file in (("rollout-boss.jsonl", ""), ("rollout-child.jsonl", "rollout-child.jsonl")):
        for line, value in records(DATA / "codex" / name):
            reader.feed(line, value, file)
    session = reader.session()
    check(session)
    child = session.thread("thread-child")
    assert (child.parent, child.parent_call, child.title, child.model) == (
        "main",
        "s1",
        "Ada",
        "gpt-5.4",
    )
    assert [request.usage and request.usage.prompt for request in child.requests] == [350]
    assert [message.text for message in child.requests[0].view] == [
        "Split the work.",
        "Ada is on it.",
        "Read the tax rules.",
    ]


@pytest.mark.parametrize(
    ("name", "belongs"),
    [("rollout-child.jsonl", True), ("rollout-boss.jsonl", False), ("turns.jsonl", False)],
)
def test_a_companion_is_known_by_its_first_record(name: str, belongs: bool) -> None:
    head = Head([value for _, value in records(DATA / "codex" / name)])
    assert FORMAT.is_companion(head, sample("rollout-boss.jsonl")) is belongs


def test_companions_lie_beside_a_rollout_only() -> None:
    for name in ("rollout-x.jsonl", "rollout-x.jsonl.zst"):
        told = FORMAT.companions(PurePath("2026/03/01", name))
        assert any(PurePath("rollout-y.jsonl").match(one) for one in told)
        assert any(PurePath("rollout-y.jsonl.zst").match(one) for one in told)
    assert not FORMAT.companions(PurePath("full.jsonl"))


# --- the rules, one by one


def prompts(values: list[Any]) -> list[tuple[int | None, list[str]]]:
    """(reported prompt, texts of the buffer) of each request."""
    session = told(FORMAT, numbered(values))
    check(session)
    assert not session.problems
    return [
        (r.usage.prompt if r.usage else None, [m.text for m in r.view])
        for r in session.main.requests
    ]


def test_the_same_total_again_is_no_call() -> None:
    count = Counts()(10)
    assert prompts([says("user", "hi"), says("assistant", "ho"), count, count]) == [(10, ["hi"])]


def test_an_estimate_after_a_compaction_is_no_call() -> None:
    counts = Counts()
    first = counts(10)
    estimate = json.loads(json.dumps(first))
    estimate["payload"]["info"]["last_token_usage"] = {
        "input_tokens": 0,
        "output_tokens": 0,
        "total_tokens": 7,
    }
    values = [
        says("user", "hi"),
        says("assistant", "ho"),
        first,
        COMPACTED,
        estimate,
        says("assistant", "on"),
        counts(8),
    ]
    assert prompts(values) == [(10, ["hi"]), (8, ["hi", "in short"])]


def test_a_compaction_that_records_its_summary_alone_keeps_what_the_user_wrote() -> None:
    counts = Counts()
    early = {"type": "compacted", "payload": {"message": "in short"}}
    values = [
        says("developer", "rules"),
        says("user", "hi"),
        says("assistant", "ho"),
        counts(10),
        early,
    ]
    assert prompts([*values, says("assistant", "on"), counts(8)])[1] == (
        8,
        ["rules", "hi", "in short"],
    )


def test_the_call_that_made_a_summary_is_no_step() -> None:
    """0.169 writes its items, marked, and its count; earlier versions write its count alone."""
    counts = Counts()
    side = {**says("assistant", "summing up"), "metadata": {"compaction_output": True}}
    start = [says("user", "hi"), says("assistant", "ho"), counts(10)]
    end = [COMPACTED, says("assistant", "on"), counts(8)]
    for values in ([TURN, *start, side, counts(9), *end], [TURN, *start, counts(9), *end]):
        assert prompts(values) == [(10, ["hi"]), (8, ["hi", "in short"])]
        session = told(FORMAT, numbered(values))
        (call,) = session.side_calls
        assert (call.kind, call.thread, call.before_request, call.made) == (
            "compaction",
            "main",
            1,
            0,
        )
        assert call.usage is not None
        assert (call.usage.prompt, call.model) == (9, "gpt-5.5")


def test_answers_that_come_after_the_count_stand_before_the_next_call() -> None:
    counts = Counts()
    values = [
        says("user", "hi"),
        call("a"),
        counts(10),
        answer("a"),
        says("assistant", "ho"),
        counts(20),
    ]
    session = told(FORMAT, numbered(values))
    assert [len(request.view) for request in session.main.requests] == [1, 3]


def test_answers_between_the_calls_of_one_response_follow_it() -> None:
    values = [says("user", "hi"), call("a"), answer("a"), call("b"), answer("b"), Counts()(10)]
    end = told(FORMAT, numbered(values)).main.end.messages()
    assert [message.role for message in end] == ["user", "assistant", "tool", "tool"]
    assert [part.id for part in end[1].parts if isinstance(part, ToolCall)] == ["a", "b"]


def test_a_file_may_change_from_counts_first_to_items_first() -> None:
    """A thread of an old version that a new one took up again."""
    counts = Counts()
    old = [says("user", "one"), counts(10), says("assistant", "1")]
    new = [
        says("user", "two"),
        says("assistant", "2"),
        counts(20),
        says("user", "three"),
        says("assistant", "3"),
        counts(30),
    ]
    assert [len(texts) for _, texts in prompts([*old, TURN, *new])] == [1, 3, 5]


def test_usage_records_count_and_token_counts_repeat_them() -> None:
    record = {
        "type": "token_usage_record",
        "payload": {"usage": {"input_tokens": 10, "output_tokens": 2}},
    }
    assert prompts([says("user", "hi"), says("assistant", "ho"), record, Counts()(10, 2)]) == [
        (10, ["hi"])
    ]


def test_a_version_that_writes_no_usage_records_may_take_the_thread_up() -> None:
    counts = Counts()
    record = {
        "type": "token_usage_record",
        "payload": {"usage": {"input_tokens": 10, "output_tokens": 1}},
    }
    values = [
        says("user", "hi"),
        says("assistant", "ho"),
        record,
        told_again := counts(10),
        told_again,
    ]
    values += [says("user", "more"), says("assistant", "on"), counts(20)]
    assert [tokens for tokens, _ in prompts(values)] == [10, 20]


def reasoned(cached: int, prompt: int) -> list[int]:
    """Messages with reasoning in each buffer: a turn of two calls, then the user writes and the next call reports."""
    counts = Counts()
    values = [
        says("user", "hi"),
        REASONING,
        call("a"),
        answer("a"),
        counts(1000, 520, 0, 500),
        REASONING,
        says("assistant", "ho"),
    ]
    values += [
        counts(1530, 420, 1024, 400),
        says("user", "more"),
        says("assistant", "yes"),
        counts(prompt, 5, cached),
    ]
    requests = told(FORMAT, numbered(values)).main.requests
    return [sum(isinstance(part, Thinking) for m in r.view for part in m.parts) for r in requests]


@pytest.mark.parametrize(
    ("cached", "prompt", "left"),
    [(0, 1060, 0), (1024, 1055, 0), (1536, 1955, 2), (0, 1955, 2)],
    ids=["smaller", "smaller, start cached", "read from the cache", "as large as all together"],
)
def test_reasoning_leaves_the_buffer_when_the_counts_say_so(
    cached: int, prompt: int, left: int
) -> None:
    assert reasoned(cached, prompt) == [0, 1, left]


def test_what_a_search_found_stands_in_the_calls_own_prompt() -> None:
    """The provider ran it inside the call: the reported prompt is that of the last step."""
    counts = Counts()
    values = [says("user", "hi"), call("a"), counts(1000, 30), answer("a", "x" * 400)]
    values += [
        REASONING,
        item("web_search_call", action={"query": "q"}),
        REASONING,
        says("assistant", "ho"),
        counts(9130, 80, 0, 50),
    ]
    requests = told(FORMAT, numbered([*values, call("b"), counts(9200)])).main.requests
    inside, said = requests[2].view.messages()[3:]
    assert requests[1].view.messages()[-1] is inside
    assert [getattr(part, "tokens", None) for part in inside.parts] == [
        50,
        9130 - 1000 - 30 - 100 - 50,
    ]
    assert [type(part).__name__ for part in said.parts] == ["Thinking", "Text"]


SEARCHED = [REASONING, item("web_search_call", action={"query": "q"}), REASONING]


def found(session: Session) -> list[int]:
    """Tokens in each buffer that searches found."""
    parts = (
        [part for message in request.view for part in message.parts]
        for request in session.main.requests
    )
    return [sum(part.tokens or 0 for part in one if isinstance(part, Opaque)) for one in parts]


@pytest.mark.parametrize(
    ("prompt", "cached", "gone"),
    [
        (9_500, 9_400, False),  # the chain goes on
        (9_500, 900, False),  # nothing came from the cache, and the prompt is as large as before
        (1_600, 900, True),
        (1_600, 5_000, False),  # smaller, but what was found came from the cache
    ],
)
def test_what_a_search_found_is_gone_when_the_chain_breaks(
    prompt: int, cached: int, gone: bool
) -> None:
    """Then the client sends all of its own again, and the search without what it found."""
    counts = Counts()
    values = [says("user", "hi"), call("a"), counts(1_000, 30), answer("a", "x" * 400)]
    values += [
        *SEARCHED,
        says("assistant", "ho"),
        call("b"),
        counts(9_130, 80, 1_000, 50),
        answer("b"),
    ]
    values += [
        call("c"),
        counts(9_250, 20, 9_100),
        answer("c"),
        call("d"),
        counts(prompt, 20, cached),
        answer("d"),
    ]
    session = told(FORMAT, numbered([*values, call("e"), counts(prompt + 50, 5, prompt)]))
    there = 9_130 - 1_000 - 30 - 100 - 50
    assert found(session) == [0, there, there, *([0, 0] if gone else [there, there])]
    ids = [[message.id for message in request.view] for request in session.main.requests]
    assert all(after[: len(before)] == before for before, after in pairwise(ids))
    kinds = [drop.kind for drop in session_drops(session)]
    assert kinds == (["unexplained"] if prompt < 9_000 else [])


def test_reasoning_and_what_a_search_found_go_together_or_apart() -> None:
    counts = Counts()
    values = [says("user", "hi"), call("z"), counts(1_000, 30), answer("z"), *SEARCHED, call("a")]
    values += [
        counts(6_031, 530, 0, 500),
        answer("a"),
        says("assistant", "ho"),
        counts(6_562, 30, 6_000),
    ]
    for prompt, cached, left in (
        (6_100, 6_000, (4_500, 0)),
        (2_100, 900, (0, 500)),
        (1_600, 900, (0, 0)),
    ):
        again = [*values, says("user", "go on"), says("assistant", "no"), counts(prompt, 5, cached)]
        last = told(FORMAT, numbered(again)).main.requests[-1]
        parts = [part for message in last.view for part in message.parts]
        assert sum(part.tokens or 0 for part in parts if isinstance(part, Opaque)) == left[0]
        assert sum(part.tokens or 0 for part in parts if isinstance(part, Thinking)) == left[1]


def test_items_for_the_clients_own_use_are_not_in_the_buffer() -> None:
    assert prompts(
        [says("user", "hi"), item("ghost_snapshot"), says("assistant", "ho"), Counts()(10)]
    ) == [(10, ["hi"])]


def test_a_call_without_a_count_is_a_request_without_usage() -> None:
    assert prompts([says("user", "hi"), says("assistant", "ho")]) == [(None, ["hi"])]


def test_a_head_alone_opens_with_no_requests() -> None:
    session = told(FORMAT, records(DATA / "codex" / "turns.jsonl")[:3])
    check(session)
    assert (len(session.main.requests), len(session.main.messages)) == (0, 1)


def test_a_file_without_its_head_opens_and_says_so() -> None:
    session = told(FORMAT, records(DATA / "codex" / "turns.jsonl")[1:])
    check(session)
    assert len(session.main.requests) == 6
    assert "begins in the middle" in session.notes[0]


def test_a_fork_holds_the_calls_of_before_as_buffer_only() -> None:
    meta = {
        "type": "session_meta",
        "payload": {"id": "f", "forked_from_id": "x", "timestamp": "2026-03-01T11:00:00Z"},
    }
    counts = Counts()
    old = [
        says("user", "hi"),
        says("assistant", "ho"),
        {**counts(10), "timestamp": "2026-03-01T10:00:01Z"},
    ]
    new = [
        {**value, "timestamp": "2026-03-01T12:00:00Z"}
        for value in (says("user", "more"), says("assistant", "yes"), counts(20))
    ]
    assert prompts([meta, *old, *new]) == [(20, ["hi", "ho", "more"])]


def test_unknown_records_are_listed_once_a_kind() -> None:
    values = [
        {"type": "mystery", "payload": {}},
        {"type": "mystery", "payload": {}},
        7,
        {"type": "response_item"},
    ]
    assert [problem.line for problem in told(FORMAT, numbered(values)).problems] == [1, 3, 4]


# --- detection


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        ([{"type": "session_meta", "payload": {"id": "x"}}], 1.0, 1.0),
        ([TURN, says("user", "hi")], 0.9, 0.99),
        ([{"type": "user", "message": {}}], 0.0, 0.0),
        ([{"type": "session_meta"}], 0.0, 0.0),
        ([], 0.0, 0.0),
        ([{"type": [], "payload": {}}], 0.0, 0.0),
    ],
)
def test_a_rollout_is_known_by_its_records(values: list[Any], least: float, most: float) -> None:
    assert least <= FORMAT.sniff(Head(values)) <= most
