"""Roku's L0, L1 and L2."""

import pytest

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Json, Message
from inspector.core.needs import (
    Summarize,
    drive,
)
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.replacements import PLACEHOLDER
from inspector.core.policies.roku import POLICY
from inspector.core.policies.roku.messages import cut_to_bytes, write_digest
from inspector.core.policies.roku.settings import RokuState, raw_tokens
from inspector.core.policies.verdict import PolicyInput
from inspector.core.tokens.calibration import Calibration
from tests.core.policies.build import (
    Script,
    assistant,
    buffer,
    build,
    conv,
    plain,
    result,
    texts,
    user,
)
from tests.core.policies.roku_tiers import MOMENT, W1000, at_601, names, run

# --- L0


@pytest.mark.parametrize(
    ("k", "body", "scale", "cleared", "freed"),
    [
        pytest.param(0, "", 1.0, 0, 0, id="no results"),
        pytest.param(3, "x" * 400, 1.0, 0, 0, id="as many as stay"),
        pytest.param(4, "x" * 400, 1.0, 1, 91, id="one more than stay"),
        pytest.param(10, "x" * 400, 1.0, 7, 637, id="ten results"),
        pytest.param(4, "x" * 400, 2.0, 1, 182, id="a scale of 2"),
        pytest.param(4, "x" * 400, 0.5, 1, 46, id="a scale of 0.5"),
    ],
)
def test_l0(k: int, body: str, scale: float, cleared: int, freed: int) -> None:
    running = RokuState(calibration=Calibration((), scale))
    start = build(k, body)
    outcome, _ = run("L0", start, running=running)
    assert texts(outcome.buffer.messages).count(PLACEHOLDER) == cleared
    assert [event.fields for event in outcome.events] == (
        [{"step": 3, "freed_tokens": freed}] if freed else []
    )
    assert outcome.running.detector.pending is bool(freed)
    assert len(outcome.buffer.messages) == len(start.messages)
    again, _ = run("L0", outcome.buffer, running=running)
    assert again.buffer == outcome.buffer
    assert not again.events


def test_l0_when_results_are_small_keeps_them() -> None:
    bodies = ["ok", "y" * 33, "z" * 34, *["x" * 400] * 3]
    start = buffer(user("g"), *(result(f"c{i}", body) for i, body in enumerate(bodies)))
    outcome, _ = run("L0", start)
    assert texts(outcome.buffer.messages)[1:4] == ["ok", "y" * 33, PLACEHOLDER]
    assert not outcome.events


def test_l0_when_a_result_is_json_counts_it_by_its_own_ratio() -> None:
    body = '{"a": "' + "x" * 391 + '"}'
    assert len(body) == 400
    start = buffer(user("g"), result("c0", body), *(result(f"c{i}", "x" * 40) for i in (1, 2, 3)))
    outcome, _ = run("L0", start)
    assert outcome.events[0].fields["freed_tokens"] == 191


def test_l0_when_a_result_is_an_error_keeps_the_flag() -> None:
    start = buffer(
        user("g"), result("c0", "e" * 400, error=True), *(result(f"c{i}", "x") for i in (1, 2, 3))
    )
    outcome, _ = run("L0", start)
    cleared = outcome.buffer.messages[1].result
    assert cleared is not None
    assert (cleared.content, cleared.is_error, cleared.call_id) == (PLACEHOLDER, True, "c0")


def test_l0_when_calls_are_parallel_clears_the_oldest() -> None:
    calls: list[tuple[str, str, Json]] = [(f"c{i}", "Read", {}) for i in range(4)]
    start = buffer(
        user("g"), assistant("", *calls), *(result(f"c{i}", "x" * 400) for i in range(4))
    )
    outcome, _ = run("L0", start)
    assert [text == PLACEHOLDER for text in texts(outcome.buffer.messages)[2:]] == [
        True,
        False,
        False,
        False,
    ]


def test_l0_when_it_clears_reports_the_freed_tokens() -> None:
    messages: list[Message] = [user("s")]
    for i in range(4):
        messages += [assistant("c", (f"c{i}", "Bash", {"c": i})), result(f"c{i}", "x" * 2000)]
    start = buffer(*messages)
    outcome, _ = run("L0", start)
    assert raw_tokens(start) == 2061
    assert outcome.events[0].fields["freed_tokens"] == 491
    assert raw_tokens(outcome.buffer) == 1570


def test_l0_exclude_tools_is_for_safe_mode() -> None:
    start = build(4, "x" * 400)
    for mode, cleared in (("faithful", 1), ("safe", 0)):
        settings = POLICY.settings([("exclude_tools", "Bash, Skill"), ("mode", mode)])
        outcome, _ = run("L0", start, settings=settings)
        assert texts(outcome.buffer.messages).count(PLACEHOLDER) == cleared


# --- L1, L2


COLLAPSED = (
    "[Mid-tier context collapse — 6 messages compacted]\n[6 messages compacted]\n"
    "Assistant: assistant turn 0\nUser: user reply 0\nAssistant: assistant turn 1\nUser: user reply 1\n"
    "Assistant: assistant turn 2\nUser: user reply 2"
)


def test_l1_when_there_is_no_memory_collapses_the_older_half() -> None:
    for tier in ("L1", "L2"):
        outcome, _ = run(tier, conv(6))
        assert len(outcome.buffer.messages) == 8
        assert outcome.buffer.messages[1].role == "user"
        assert outcome.buffer.messages[1].text == COLLAPSED
        assert [(e.name, e.fields["messages_collapsed"]) for e in outcome.events] == [
            ("MidCompactLayer1Ran", 6)
        ]


def held_pair() -> Buffer:
    return buffer(
        user("goal"), assistant("thinking"), user("old user"), assistant("", ("tc-1", "Bash", {})),
        result("tc-1", "hi"), user("tail user"),
    )  # fmt: skip


def test_l1_when_the_split_would_separate_a_pair_moves_back() -> None:
    outcome, _ = run("L1", held_pair())
    assert outcome.events[0].fields["messages_collapsed"] == 2
    assert len(outcome.buffer.messages) == 5
    assert outcome.buffer.messages[1].text.endswith("Assistant: thinking\nUser: old user")
    assert outcome.buffer.messages[2].calls
    assert outcome.buffer.messages[3].result


def test_l1_when_nothing_can_be_removed_does_nothing() -> None:
    start = buffer(user("g"), assistant("", *((f"c{i}", "Read", {}) for i in range(4))),
                   *(result(f"c{i}", "r") for i in range(4)))  # fmt: skip
    outcome, _ = run("L1", start)
    assert outcome.buffer is start
    assert not outcome.events


@pytest.mark.parametrize(("k", "raw", "fires"), [(2344, 600, False), (2345, 601, True)])
def test_l1_when_exactly_on_the_line_does_not_fire(k: int, raw: int, fires: bool) -> None:
    start = at_601(k)
    assert raw_tokens(start) == raw
    outcomes = drive(POLICY.run_due(PolicyContext(start, W1000, RokuState(), MOMENT)), Script())
    assert [one.tier for one in outcomes] == (["L0", "L1"] if fires else ["L0"])
    assert (
        next(
            v
            for v in POLICY.due(PolicyContext(start, W1000, RokuState(), MOMENT))
            if v.tier == "L1"
        ).due
        is fires
    )


def test_l1_when_it_would_not_shrink_the_buffer_is_skipped_in_safe_mode() -> None:
    outcome, _ = run("L1", at_601(2345))
    assert (len(outcome.buffer.messages), raw_tokens(outcome.buffer)) == (3, 623)
    safe, _ = run("L1", at_601(2345), settings=POLICY.settings([("mode", "safe")], 1000))
    assert raw_tokens(safe.buffer) == 601


def test_digest_of_all_kinds_of_messages_has_a_line_each() -> None:
    messages = [
        user("a" * 121), assistant("", ("1", "Read", {})), result("1", "e" * 101, error=True),
        assistant("ok"), result("2", ""),
    ]  # fmt: skip
    assert write_digest(messages).split("\n") == [
        "[5 messages compacted]",
        f"User: {'a' * 120}…",
        "  → tool_use: Read",
        f"ToolResult(1): error — {'e' * 100}…",
        "Assistant: ok",
        "ToolResult(2): ok — ",
    ]


def test_cut_to_bytes_keeps_whole_characters() -> None:
    assert cut_to_bytes("中" * 50, 120) == "中" * 40 + "…"
    assert cut_to_bytes("a" * 120, 120) == "a" * 120
    assert cut_to_bytes("中" * 41, 121) == "中" * 40 + "…"


def test_l1_when_ten_messages_alternate_collapses_five() -> None:
    assert raw_tokens(plain(10)) == 1040
    outcome, _ = run("L1", plain(10))
    inserted = outcome.buffer.messages[1].text
    assert (len(inserted.encode()), raw_tokens(outcome.buffer)) == (740, 709)


def test_l2_when_there_is_a_summary_replaces_the_older_half() -> None:
    outcome, _ = run("L2", conv(6), moment=PolicyInput(3, summary="S"))
    assert len(outcome.buffer.messages) == 8
    assert outcome.buffer.messages[1].text == "[Session memory summary]\nS"
    assert [(e.name, e.fields["messages_replaced"]) for e in outcome.events] == [
        ("MidCompactLayer2Ran", 6)
    ]


def test_l2_when_the_split_would_separate_a_pair_moves_back() -> None:
    outcome, _ = run("L2", held_pair(), moment=PolicyInput(3, summary="S"))
    assert outcome.events[0].fields["messages_replaced"] == 2


def test_l2_when_nothing_can_be_removed_does_nothing() -> None:
    start = buffer(user("a"), assistant("b"))
    outcome, _ = run("L2", start, moment=PolicyInput(3, summary="S"))
    assert outcome.buffer is start


def test_l2_when_the_summary_is_blank_runs_l1() -> None:
    outcome, _ = run("L2", conv(6), moment=PolicyInput(3, summary="   "))
    assert names(outcome) == ["MidCompactLayer1Ran"]


def test_l2_generated_where_the_setting_says_so() -> None:
    settings = POLICY.settings([("session_memory", "generate")])
    outcome, script = run("L2", conv(6), "made", settings=settings)
    assert outcome.buffer.messages[1].text == "[Session memory summary]\nmade"
    assert isinstance(script.needs[0], Summarize)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("context_window_tokens", "2000001"), ("context_window_tokens", "0"), ("compact_threshold_ratio", "1"),
        ("compact_threshold_ratio", "0"), ("retain_tail_steps", "33"), ("working_summary_max_chars", "32001"),
        ("nonsense", "1"), ("l3_segment", "middle"), ("context_window_tokens", "many"),
    ],
)  # fmt: skip
def test_settings_have_hard_limits(key: str, value: str) -> None:
    with pytest.raises(InspectorError):
        POLICY.settings([(key, value)])


@pytest.mark.parametrize(
    ("window", "mid", "high"), [(200_000, 120_000, 150_000), (1_000, 600, 750), (333, 199, 249)]
)
def test_watermarks(window: int, mid: int, high: int) -> None:
    assert [mark.tokens for mark in POLICY.watermarks(POLICY.settings((), window))] == [mid, high]


def test_pin_last_user() -> None:
    messages = [user("goal"), assistant("a"), user("the newest wish")]
    for i in range(9):
        messages += [assistant("", (f"c{i}", "R", {})), result(f"c{i}", "r")]
    for pin, kept in (("false", False), ("true", True)):
        outcome, _ = run(
            "L1", buffer(*messages), settings=POLICY.settings([("pin_last_user", pin)])
        )
        assert ("the newest wish" in texts(outcome.buffer.messages)) is kept
