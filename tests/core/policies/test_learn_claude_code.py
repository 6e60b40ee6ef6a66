"""learn-claude-code's thresholds, sizes and micro-compaction."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer
from inspector.core.dialects.anthropic import read_wire_messages, wire_groups, write_messages
from inspector.core.errors import InspectorError
from inspector.core.message import Image, Json, Message, Text, ToolCall, ToolResult
from inspector.core.needs import (
    drive,
)
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.learn_claude_code import POLICY
from inspector.core.policies.learn_claude_code.layers import (
    PLACEHOLDER,
    is_worth_compacting,
    measure_list,
)
from inspector.core.policies.learn_claude_code.settings import LearnState
from inspector.core.policies.learn_claude_code.wire import (
    count_list_tokens,
    text_tokens,
    wire_tokens,
)
from tests.core.policies.build import Script, assistant, buffer, result, texts, user
from tests.core.policies.learning import DEFAULT, IMAGE, World, m, ran, run

# --- threshold, estimate, gate


@pytest.mark.parametrize(
    ("window", "output", "expected"),
    [
        (200_000, 16_384, 170_616),
        (200_000, 50_000, 167_000),
        (200_000, 20_000, 167_000),
        (200_000, 20_001, 167_000),
    ],
)
def test_threshold_when_the_output_is_large_keeps_at_most_the_reserve(
    window: int, output: int, expected: int
) -> None:
    settings = POLICY.settings([("max_output", str(output))], window)
    assert settings.threshold == expected
    (line,) = POLICY.watermarks(settings)
    assert (line.tokens, line.tiers) == (expected, ("auto",))


def test_threshold_when_the_window_is_small_is_negative_and_refused_in_safe_mode() -> None:
    values = [("context_window", "20000"), ("max_output", "8000")]
    assert POLICY.settings(values).threshold == -1000
    with pytest.raises(InspectorError, match="-1,000"):
        POLICY.settings([*values, ("mode", "safe")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", 0, id="empty"), pytest.param("abc", 0, id="three letters"),
        pytest.param("abcd", 1, id="four letters"), pytest.param("hello world", 2, id="two words"),
        pytest.param("中" * 8, 2, id="Chinese"), pytest.param("x" * 4003, 1000, id="no multiple of four"),
        pytest.param("x" * 4004, 1001, id="a multiple of four"), pytest.param("中" * 1000, 250, id="much Chinese"),
    ],
)  # fmt: skip
def test_text_estimate(text: str, expected: int) -> None:
    assert text_tokens(text) == expected


def test_list_tokens_when_text_is_chinese_count_its_escapes() -> None:
    assert count_list_tokens([user("中" * 1000)]) == 1507
    assert count_list_tokens([user("")]) == 31 // 4


@pytest.mark.parametrize(
    ("messages", "due", "savings"),
    [
        pytest.param([m(21_327)] * 8, False, 63_981, id="on the threshold"),
        pytest.param([m(21_328), *[m(21_327)] * 7], True, 63_982, id="above the threshold"),
        pytest.param([m(20_000), *[m(31_000)] * 5], True, 20_000, id="saves just enough"),
        pytest.param([m(19_999), *[m(31_000)] * 5], False, 19_999, id="saves too little"),
        pytest.param([m(50_000)] * 5, False, 0, id="all messages are kept"),
        pytest.param([], False, 0, id="no messages"),
    ],
)
def test_should_compact(messages: list[Message], due: bool, savings: int) -> None:
    start = buffer(*(replace(one, id=f"m{n}") for n, one in enumerate(messages)))
    assert is_worth_compacting(start.messages, DEFAULT) is due
    assert measure_list(start.messages, DEFAULT)[1] == savings
    verdict = POLICY.due(PolicyContext(start, DEFAULT, LearnState()))[1]
    assert verdict.due is due
    world = World("SUM")
    done = drive(POLICY.before_call(PolicyContext(start, DEFAULT, LearnState())), world)
    assert [outcome.tier for outcome in done] == (["micro", "auto"] if due else ["micro"])
    assert bool(world.needs) is due


def test_verdicts_say_why() -> None:
    def why(*tokens: int) -> str:
        return POLICY.due(PolicyContext(buffer(*map(m, tokens)), DEFAULT, LearnState()))[1].why

    own = " · the window is its own"
    assert why(170_616) == "170,616 ≤ 170,616 (200,000 − 16,384 − 13,000): 1 to go" + own
    assert why(170_617).endswith("1 over · saves 0 < 20,000: not worth it" + own)
    assert why(20_000, *[31_000] * 5).endswith("4,384 over · saves 20,000 ≥ 20,000" + own)


# --- the wire


def test_results_that_travel_together_count_as_one() -> None:
    results = [
        {"type": "tool_result", "tool_use_id": f"c{i}", "content": "x" * 100} for i in range(3)
    ]
    together = read_wire_messages("user", results, id="w")
    assert len(wire_groups(together)) == 1
    assert count_list_tokens(together) == len(json.dumps({"role": "user", "content": results})) // 4
    neighbours = [result(f"c{i}", "x" * 100) for i in range(3)]
    assert count_list_tokens(neighbours) == count_list_tokens(together)


_PARTS = st.sampled_from(
    [Text("hi"), Text("中\n"), Text(""), ToolCall("c", "ls", {"é": 1}), Image("image/png", "AAAA")]
)
_MESSAGES = st.one_of(
    st.builds(
        lambda role, parts, together: Message("m", role, tuple(parts), together),
        st.sampled_from(["user", "assistant", "system"]), st.lists(_PARTS, max_size=3), st.sampled_from(["", "", "w"]),
    ),
    st.builds(
        lambda texts, whole, error, image, together: Message(
            "t",
            "tool",
            (
                ToolResult("c", "\n".join(texts), error, () if whole else tuple(texts)),
                *([Image("image/png", "AAAA")] if image else []),
            ),
            together,
        ),
        st.lists(st.sampled_from(["", "out", '"中"']), max_size=2), st.booleans(), st.booleans(), st.booleans(),
        st.sampled_from(["", "", "w"]),
    ),
)  # fmt: skip


@given(st.lists(_MESSAGES, max_size=8))
def test_tokens_are_those_of_the_json_text(messages: list[Message]) -> None:
    whole = write_messages(messages)
    assert [wire_tokens(wire) for wire in wire_groups(messages)] == [
        len(json.dumps(one)) // 4 for one in whole
    ]


# --- microcompact


@pytest.mark.parametrize(
    ("start", "cleared"),
    [
        pytest.param(ran(*[("read_file", 5000)] * 3), [], id="no more than the kept results"),
        pytest.param(
            ran(("bash", 4003), ("bash", 4004), *[("bash", 5000)] * 3), [1], id="only large results"
        ),
        pytest.param(
            ran(*[("bash", 5000), ("TodoWrite", 5000)] * 3), [], id="other tools do not count"
        ),
        pytest.param(ran(("TodoWrite", 5000), *[("bash", 5000)] * 4), [1], id="the oldest compactable"),
        pytest.param(ran(*[("bash", 5000)] * 4, unknown=0), [], id="a call without a name"),
        pytest.param(ran(*[("edit_file", 5000)] * 4), [0], id="four"),
    ],
)  # fmt: skip
def test_micro(start: Buffer, cleared: list[int]) -> None:
    outcome = run("micro", start, World())
    after = texts(outcome.buffer.messages[2:])
    assert [n for n, text in enumerate(after) if text == PLACEHOLDER] == cleared
    kept = [text for n, text in enumerate(after) if n not in cleared]
    assert kept == [text for n, text in enumerate(texts(start.messages[2:])) if n not in cleared]
    assert outcome.events == ()
    assert set(outcome.changed.values()) <= {"cleared"}
    assert POLICY.due(PolicyContext(start, DEFAULT, LearnState()))[0].due is bool(cleared)
    assert run("micro", outcome.buffer, World()).buffer == outcome.buffer


def test_micro_compaction_when_it_clears_keeps_ids_and_calls() -> None:
    start = ran(*[("bash", 5000)] * 5)
    after = run("micro", start, World()).buffer
    assert after.messages[:2] == start.messages[:2]
    for old, new in zip(start.messages[2:], after.messages[2:], strict=True):
        assert old.result
        assert new.result
        assert (new.id, new.together, new.role) == (old.id, old.together, old.role)
        assert (new.result.call_id, new.result.is_error) == (
            old.result.call_id,
            old.result.is_error,
        )
    assert len(write_messages(after.messages)) == 3


_LISTS: dict[str, Json] = {
    "picture": [{"type": "text", "text": "x" * 5000}, IMAGE],
    "texts": [{"type": "text", "text": "x" * 5000}] * 2,
    "one text": [{"type": "text", "text": "x" * 5000}],
    "picture alone": [IMAGE],
}


def shaped(*contents: Json) -> Buffer:
    """Results of bash, each with that content, in one user message."""
    blocks = [
        {"type": "tool_result", "tool_use_id": f"t{i}", "content": one}
        for i, one in enumerate(contents)
    ]
    calls: list[tuple[str, str, Json]] = [(f"t{i}", "bash", {}) for i in range(len(contents))]
    return buffer(
        user("go"), assistant("", *calls), *read_wire_messages("user", blocks, id="results")
    )


@pytest.mark.parametrize("content", _LISTS.values(), ids=_LISTS)
def test_a_list_counts_among_the_newest_but_is_never_cleared(content: Json) -> None:
    long = "y" * 5000
    assert run("micro", shaped(content, long, long, long), World()).changed == {}
    for at in range(1, 5):
        contents: list[Json] = [long] * 5
        contents[at] = content
        start = shaped(*contents)
        after = run("micro", start, World()).buffer
        cleared = [n for n, text in enumerate(texts(after.messages[2:])) if text == PLACEHOLDER]
        assert cleared == [n for n in (0, 1) if n != at]
        assert write_messages(after.messages)[2]["content"][at]["content"] == content


def test_micro_leaves_alone_what_came_before_its_call() -> None:
    start = ran(*[("bash", 5000)] * 4)
    early = [start.messages[2], *start.messages[:2], *start.messages[3:]]
    assert run("micro", buffer(*early), World()).changed == {}


def test_no_recent_results_kept_is_pythons_empty_slice() -> None:
    start = ran(*[("bash", 5000)] * 4)
    for mode, cleared in (("faithful", 0), ("safe", 4)):
        settings = POLICY.settings([("KEEP_RECENT", "0"), ("mode", mode)])
        assert len(run("micro", start, World(), settings).changed) == cleared


def test_the_tools_can_be_named() -> None:
    settings = POLICY.settings([("COMPACTABLE_TOOLS", "Bash, Read")])
    assert len(run("micro", ran(*[("Read", 5000)] * 4), World(), settings).changed) == 1


# --- state


def test_state_that_cannot_be_read() -> None:
    unreadable: tuple[Json, ...] = (
        [],
        {"breaker": 1},
        {"breaker": {"failures": "x"}},
        {"breaker": {"open": 1}},
    )
    for bad in unreadable:
        with pytest.raises(InspectorError):
            POLICY.load(DEFAULT, bad)
    assert POLICY.load(DEFAULT, {}) == POLICY.fresh(DEFAULT)
    assert POLICY.learn(LearnState(1), DEFAULT, 1, 2) == LearnState(1)
    with pytest.raises(InspectorError, match="no tier"):
        drive(POLICY.tier("L1", PolicyContext(buffer(), DEFAULT, LearnState())), Script())
