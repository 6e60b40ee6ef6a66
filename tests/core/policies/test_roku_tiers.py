"""Roku's conformance cases R-L0, R-L1, R-L2, R-SEG, R-L3A, R-L3B, by ID."""

import pytest

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Json, Message, Opaque
from inspector.core.needs import (
    Answer,
    ContextWindowExceeded,
    ProviderFailure,
    RemoteCompact,
    Summarize,
    Timeout,
    drive,
)
from inspector.core.outcome import Outcome
from inspector.core.policies.replacements import PLACEHOLDER
from inspector.core.policies.roku import POLICY
from inspector.core.policies.roku.messages import cut, digest, half_split, tail_split
from inspector.core.policies.roku.settings import RokuSettings
from inspector.core.policies.roku.state import RokuState, StepRecord, raw_tokens
from inspector.core.policies.verdict import PolicyInput
from inspector.core.tokens.calibration import Calibration
from inspector.core.usage import Usage
from tests.core.policies.build import Script, assistant, buffer, build, conv, plain, result, texts, user

W1000 = RokuSettings(context_window_tokens=1000)
OK4 = "Goal: g\nAccomplished: a\nKey Decisions: k\nRelevant Files: r"
MOMENT = PolicyInput(step=3)


def run(
    tier: str,
    start: Buffer,
    *replies: object,
    settings: RokuSettings = W1000,
    running: RokuState | None = None,
    moment: PolicyInput = MOMENT,
) -> tuple[Outcome[RokuState], Script]:
    script = Script(*replies)  # type: ignore[arg-type]
    conversation = POLICY.tier(tier, start, settings, running or RokuState(), moment)
    return drive(conversation, script), script


def names(outcome: Outcome[RokuState]) -> list[str]:
    return [event.name for event in outcome.events]


# --- L0


@pytest.mark.parametrize(
    ("k", "body", "scale", "cleared", "freed"),
    [
        pytest.param(0, "", 1.0, 0, 0, id="R-L0-1"),
        pytest.param(3, "x" * 400, 1.0, 0, 0, id="R-L0-2"),
        pytest.param(4, "x" * 400, 1.0, 1, 91, id="R-L0-3"),
        pytest.param(10, "x" * 400, 1.0, 7, 637, id="R-L0-4"),
        pytest.param(4, "x" * 400, 2.0, 1, 182, id="R-L0-8-high"),
        pytest.param(4, "x" * 400, 0.5, 1, 46, id="R-L0-8-low"),
    ],
)
def test_l0(k: int, body: str, scale: float, cleared: int, freed: int) -> None:
    running = RokuState(calibration=Calibration((), scale))
    start = build(k, body)
    outcome, _ = run("L0", start, running=running)
    assert texts(outcome.buffer.messages).count(PLACEHOLDER) == cleared
    assert [event.fields for event in outcome.events] == ([{"step": 3, "freed_tokens": freed}] if freed else [])
    assert outcome.running.detector.pending is bool(freed)
    assert len(outcome.buffer.messages) == len(start.messages)
    again, _ = run("L0", outcome.buffer, running=running)
    assert again.buffer == outcome.buffer
    assert not again.events


def test_r_l0_5_small_results() -> None:
    bodies = ["ok", "y" * 33, "z" * 34, *["x" * 400] * 3]
    start = buffer(user("g"), *(result(f"c{i}", body) for i, body in enumerate(bodies)))
    outcome, _ = run("L0", start)
    assert texts(outcome.buffer.messages)[1:4] == ["ok", "y" * 33, PLACEHOLDER]
    assert not outcome.events


def test_r_l0_7_structured_body() -> None:
    body = '{"a": "' + "x" * 391 + '"}'
    assert len(body) == 400
    start = buffer(user("g"), result("c0", body), *(result(f"c{i}", "x" * 40) for i in (1, 2, 3)))
    outcome, _ = run("L0", start)
    assert outcome.events[0].fields["freed_tokens"] == 191


def test_r_l0_9_error_flag_stays() -> None:
    start = buffer(user("g"), result("c0", "e" * 400, error=True), *(result(f"c{i}", "x") for i in (1, 2, 3)))
    outcome, _ = run("L0", start)
    cleared = outcome.buffer.messages[1].result
    assert cleared is not None
    assert (cleared.content, cleared.is_error, cleared.call_id) == (PLACEHOLDER, True, "c0")


def test_r_l0_10_parallel_calls() -> None:
    calls: list[tuple[str, str, Json]] = [(f"c{i}", "Read", {}) for i in range(4)]
    start = buffer(user("g"), assistant("", *calls), *(result(f"c{i}", "x" * 400) for i in range(4)))
    outcome, _ = run("L0", start)
    assert [text == PLACEHOLDER for text in texts(outcome.buffer.messages)[2:]] == [True, False, False, False]


def test_r_l0_11_raw_before_and_after() -> None:
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


def test_r_l1_1_and_r_l2_2() -> None:
    for tier in ("L1", "L2"):
        outcome, _ = run(tier, conv(6))
        assert len(outcome.buffer.messages) == 8
        assert outcome.buffer.messages[1].role == "user"
        assert outcome.buffer.messages[1].text == COLLAPSED
        assert [(e.name, e.fields["messages_collapsed"]) for e in outcome.events] == [("MidCompactLayer1Ran", 6)]


def held_pair() -> Buffer:
    return buffer(
        user("goal"), assistant("thinking"), user("old user"), assistant("", ("tc-1", "Bash", {})),
        result("tc-1", "hi"), user("tail user"),
    )  # fmt: skip


def test_r_l1_4_pair_is_kept() -> None:
    outcome, _ = run("L1", held_pair())
    assert outcome.events[0].fields["messages_collapsed"] == 2
    assert len(outcome.buffer.messages) == 5
    assert outcome.buffer.messages[1].text.endswith("Assistant: thinking\nUser: old user")
    assert outcome.buffer.messages[2].calls
    assert outcome.buffer.messages[3].result


def test_r_l1_5_noop() -> None:
    start = buffer(user("g"), assistant("", *((f"c{i}", "Read", {}) for i in range(4))),
                   *(result(f"c{i}", "r") for i in range(4)))  # fmt: skip
    outcome, _ = run("L1", start)
    assert outcome.buffer is start
    assert not outcome.events


def at_601(k: int) -> Buffer:
    return buffer(user("a" * 4), assistant("b" * 4), user("c" * k))


@pytest.mark.parametrize(("k", "raw", "fires"), [(2344, 600, False), (2345, 601, True)])
def test_r_l1_6_strictly_above(k: int, raw: int, fires: bool) -> None:
    start = at_601(k)
    assert raw_tokens(start) == raw
    outcomes = drive(POLICY.run_due(start, W1000, RokuState(), MOMENT), Script())
    assert [one.tier for one in outcomes] == (["L0", "L1"] if fires else ["L0"])
    assert next(v for v in POLICY.due(start, W1000, RokuState(), MOMENT) if v.tier == "L1").due is fires


def test_r_l1_7_no_gain_guard() -> None:
    outcome, _ = run("L1", at_601(2345))
    assert (len(outcome.buffer.messages), raw_tokens(outcome.buffer)) == (3, 623)
    safe, _ = run("L1", at_601(2345), settings=POLICY.settings([("mode", "safe")], 1000))
    assert raw_tokens(safe.buffer) == 601


def test_r_l1_8_digest() -> None:
    messages = [
        user("a" * 121), assistant("", ("1", "Read", {})), result("1", "e" * 101, error=True),
        assistant("ok"), result("2", ""),
    ]  # fmt: skip
    assert digest(messages).split("\n") == [
        "[5 messages compacted]",
        f"User: {'a' * 120}…",
        "  → tool_use: Read",
        f"ToolResult(1): error — {'e' * 100}…",
        "Assistant: ok",
        "ToolResult(2): ok — ",
    ]


def test_r_l1_9_cut() -> None:
    assert cut("中" * 50, 120) == "中" * 40 + "…"
    assert cut("a" * 120, 120) == "a" * 120
    assert cut("中" * 41, 121) == "中" * 40 + "…"


def test_r_l1_10() -> None:
    assert raw_tokens(plain(10)) == 1040
    outcome, _ = run("L1", plain(10))
    inserted = outcome.buffer.messages[1].text
    assert (len(inserted.encode()), raw_tokens(outcome.buffer)) == (740, 709)


def test_r_l2_1() -> None:
    outcome, _ = run("L2", conv(6), moment=PolicyInput(3, summary="S"))
    assert len(outcome.buffer.messages) == 8
    assert outcome.buffer.messages[1].text == "[Session memory summary]\nS"
    assert [(e.name, e.fields["messages_replaced"]) for e in outcome.events] == [("MidCompactLayer2Ran", 6)]


def test_r_l2_3() -> None:
    outcome, _ = run("L2", held_pair(), moment=PolicyInput(3, summary="S"))
    assert outcome.events[0].fields["messages_replaced"] == 2


def test_r_l2_4_noop() -> None:
    start = buffer(user("a"), assistant("b"))
    outcome, _ = run("L2", start, moment=PolicyInput(3, summary="S"))
    assert outcome.buffer is start


def test_r_l2_5_blank_summary_is_none() -> None:
    outcome, _ = run("L2", conv(6), moment=PolicyInput(3, summary="   "))
    assert names(outcome) == ["MidCompactLayer1Ran"]


def test_l2_generated_where_the_setting_says_so() -> None:
    settings = POLICY.settings([("session_memory", "generate")])
    outcome, script = run("L2", conv(6), "made", settings=settings)
    assert outcome.buffer.messages[1].text == "[Session memory summary]\nmade"
    assert isinstance(script.needs[0], Summarize)


# --- segments


def seg5() -> Buffer:
    return buffer(user("g"), assistant("p"), assistant("", ("1", "R", {}), ("2", "R", {})), result("1", "r"),
                  result("2", "r"), assistant("x"), user("y"))  # fmt: skip


def seg6() -> Buffer:
    return buffer(user("g"), assistant("", ("1", "R", {}), ("2", "R", {})), result("1", "r"), result("2", "r"),
                  assistant("x"), user("y"), assistant("z"))  # fmt: skip


def seg7() -> Buffer:
    messages = [user("g")]
    for i in range(10):
        messages += [assistant("", (f"c{i}", "R", {})), result(f"c{i}", "r")]
    return buffer(*messages)


def seg9() -> Buffer:
    return buffer(user("g"), assistant("p"), assistant("", ("c1", "R", {}), ("c2", "R", {})), result("c1", "r"),
                  user("warn"), result("c2", "r"), assistant("z"))  # fmt: skip


@pytest.mark.parametrize(
    ("start", "half", "tail"),
    [
        pytest.param(plain(2), 1, 1, id="R-SEG-1"),
        pytest.param(plain(10), 6, 2, id="R-SEG-3"),
        pytest.param(plain(12), 7, 4, id="R-SEG-4"),
        pytest.param(seg5(), 2, 1, id="R-SEG-5"),
        pytest.param(seg6(), 4, 1, id="R-SEG-6"),
        pytest.param(seg7(), 11, 13, id="R-SEG-7"),
        pytest.param(seg9(), 4, 1, id="R-SEG-9"),
    ],
)
def test_segments(start: Buffer, half: int, tail: int) -> None:
    assert half_split(start.messages, RokuSettings()) == half
    assert tail_split(start.messages, RokuSettings()) == tail


def test_r_seg_9_safe() -> None:
    assert half_split(seg9().messages, RokuSettings(mode="safe")) == 2


def test_r_seg_8_nothing_to_compact() -> None:
    start = buffer(user("u" * 4), assistant("", ("c", "R", {})), result("c", "x" * 2945))
    start = start.with_messages([start.messages[0], start.messages[1], result("c", "x" * 2945)])
    outcome, script = run("L3", start)
    assert names(outcome) == ["CompactTriggered", "AutoCompactSummarizerCalled", "CompactComplete"]
    called = outcome.events[1].fields
    assert (called["succeeded"], called["prompt_tokens"], called["output_tokens"]) == (False, 0, 0)
    assert outcome.events[2].fields["llm_succeeded"] is False
    assert outcome.buffer is start
    assert outcome.running.breaker.failures == 0
    assert not script.needs
    assert not outcome.error


# --- L3a

REMOTE = PolicyInput(3, remote=True)


def test_r_l3a_1_success() -> None:
    history = tuple(StepRecord(i) for i in range(10))
    answer = Answer(messages=(assistant("sum"),), usage=Usage(input=900, output=50))
    outcome, script = run("L3", plain(10), answer, moment=REMOTE, running=RokuState(history=history))
    assert len(outcome.buffer.messages) == 6
    assert (outcome.buffer.messages[1].role, outcome.buffer.messages[1].text) == ("assistant", "sum")
    fields = outcome.events[1].fields
    assert (fields["prompt_tokens"], fields["output_tokens"], fields["succeeded"]) == (900, 50, True)
    assert fields["drop_oldest_retries"] == 0
    assert outcome.events[-1].fields["llm_succeeded"] is True
    assert [type(need) for need in script.needs] == [RemoteCompact]
    assert len(outcome.running.history) == 9
    assert outcome.running.working_summary.startswith("[Compact summary — 2 steps discarded]")
    assert outcome.tier == "L3a"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Timeout("90 s"), id="R-L3A-2"),
        pytest.param(ProviderFailure("forbidden", 403), id="403"),
        pytest.param(ContextWindowExceeded("too long"), id="400"),
        pytest.param(Answer(messages=(Message("o", "assistant", (Opaque("compaction", {}),)),)), id="R-L3A-4"),
    ],
)
def test_l3a_failure_is_mechanical_and_never_l3b(reply: object) -> None:
    outcome, script = run("L3", plain(10), reply, OK4, moment=REMOTE)
    text = outcome.buffer.messages[1].text
    assert text.startswith("[Conversation summary]\n[5 messages compacted]\n")
    assert (len(text.encode()), len(outcome.buffer.messages), raw_tokens(outcome.buffer)) == (710, 6, 702)
    assert not outcome.succeeded
    assert outcome.running.breaker.failures == 1
    assert len(script.needs) == 1


def test_l3a_opaque_can_be_kept() -> None:
    reply = Answer(messages=(Message("o", "assistant", (Opaque("compaction", {}, 9),)),))
    settings = POLICY.settings([("opaque_items", "keep")], 1000)
    outcome, _ = run("L3", plain(10), reply, moment=REMOTE, settings=settings)
    assert outcome.succeeded
    assert isinstance(outcome.buffer.messages[1].parts[0], Opaque)


def test_r_l3a_8_thinking_is_stripped() -> None:
    start = plain(10)
    first = assistant("<thinking>t</thinking>Hi")
    start = start.with_messages([start.messages[0], first, *start.messages[2:]])
    outcome, script = run("L3", start, Answer(messages=(assistant("sum"),)), moment=REMOTE)
    need = script.needs[0]
    assert isinstance(need, RemoteCompact)
    assert need.messages[0].text == "Hi"
    assert need.timeout_s == 90
    assert outcome.events[1].name == "ReasoningContentStripped"
    assert outcome.events[1].fields["messages_stripped"] == 1


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<thinking>a</thinking> \n<thinking>b</thinking>c", "<thinking>b</thinking>c"),
        (" <thinking>t</thinking>Hi", " <thinking>t</thinking>Hi"),
        ("\n<thinking>t</thinking>Hi", "\n<thinking>t</thinking>Hi"),
        ("So: <thinking>t</thinking>Hi", "So: <thinking>t</thinking>Hi"),
        ("<thinking>open", "<thinking>open"),
        ("<Thinking>t</Thinking>Hi", "<Thinking>t</Thinking>Hi"),
    ],
)
def test_thinking_is_stripped_at_the_very_start_only(text: str, left: str) -> None:
    start = plain(10)
    start = start.with_messages([start.messages[0], assistant(text), *start.messages[2:]])
    outcome, script = run("L3", start, Answer(messages=(assistant("sum"),)), moment=REMOTE)
    need = script.needs[0]
    assert isinstance(need, RemoteCompact)
    assert need.messages[0].text == left
    assert any(event.name == "ReasoningContentStripped" for event in outcome.events) is (text != left)


def test_r_l3a_9_not_remote_capable() -> None:
    _, script = run("L3", plain(10), OK4)
    assert [type(need) for need in script.needs] == [Summarize]


@pytest.mark.parametrize(("k", "fires"), [(2944, False), (2945, True)])
def test_r_l3a_10_watermark(k: int, fires: bool) -> None:
    start = at_601(k)
    assert raw_tokens(start) == (751 if fires else 750)
    settings = POLICY.settings([("mid_water_trigger_ratio", "0.9")], 1000)
    outcomes = drive(POLICY.run_due(start, settings, RokuState(), MOMENT), Script(OK4))
    triggered = [event.fields for one in outcomes for event in one.events if event.name == "CompactTriggered"]
    assert triggered == ([{"step": 3, "estimated_tokens": 751}] if fires else [])


# --- L3b


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(OK4, id="R-L3B-1"),
        pytest.param("\n".join(reversed(OK4.split("\n"))), id="R-L3B-4-reversed"),
        pytest.param("Goal:\nAccomplished:\nKey Decisions:\nRelevant Files:", id="R-L3B-4-empty"),
    ],
)
def test_l3b_success(text: str) -> None:
    outcome, script = run("L3", plain(10), text)
    assert len(outcome.buffer.messages) == 6
    assert outcome.buffer.messages[1].text == f"[Conversation summary]\n{text}"
    assert outcome.succeeded
    assert outcome.running.breaker.failures == 0
    need = script.needs[0]
    assert isinstance(need, Summarize)
    assert need.timeout_s == 300
    if text == OK4:
        assert raw_tokens(outcome.buffer) == 545


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        pytest.param(
            "goal: g\nAccomplished: a\nKey Decisions: k\nRelevant Files: r", "contract_violation", id="R-L3B-5"
        ),
        pytest.param("  \n", "provider_failure", id="blank"),
        pytest.param(Timeout("300 s"), "provider_failure", id="timeout"),
    ],
)
def test_l3b_failure(reply: object, error: str) -> None:
    outcome, script = run("L3", plain(10), reply)
    assert outcome.error == error
    assert outcome.running.breaker.failures == 1
    assert outcome.buffer.messages[1].text.startswith("[Conversation summary]\n[5 messages compacted]\n")
    assert len(script.needs) == 1


@pytest.mark.parametrize(
    ("removed", "sizes", "retries"),
    [
        (1, [1], 1), (2, [2, 1], 2), (4, [4, 2, 1], 3), (7, [7, 3, 1], 3), (15, [15, 7, 3, 1], 3),
        pytest.param(8, [8, 4, 2, 1], 3, id="R-L3B-9"),
        pytest.param(100, [100, 50, 25, 12], 3, id="R-L3B-10"),
        pytest.param(3, [3, 1], 2, id="R-L3B-11"),
    ],
)  # fmt: skip
def test_l3b_drop_oldest(removed: int, sizes: list[int], retries: int) -> None:
    start = plain(2 * removed + 1, "hi")
    outcome, script = run("L3", start, *[ContextWindowExceeded("long")] * 9)
    seen = [need.text.split("]")[0] for need in script.needs if isinstance(need, Summarize)]
    assert seen == [f"[{size} messages compacted" for size in sizes]
    assert outcome.error == "overflow_after_retries"
    assert outcome.events[1].fields["drop_oldest_retries"] == retries
    assert f"[{removed} messages compacted]" in outcome.buffer.messages[1].text


def test_r_l3b_13() -> None:
    outcome, script = run("L3", plain(10), ContextWindowExceeded("long"), ProviderFailure("down", 500))
    assert len(script.needs) == 2
    assert (outcome.error, outcome.events[1].fields["drop_oldest_retries"]) == ("provider_failure", 1)


def test_l3_tail_segment() -> None:
    settings = POLICY.settings([("L3_SEGMENT", "tail")], 1000)
    outcome, _ = run("L3", plain(12), OK4, settings=settings)
    assert len(outcome.buffer.messages) == 10


def test_l3_truncates_large_results_when_set() -> None:
    start = buffer(user("g"), assistant("", ("c", "R", {})), result("c", "x" * 5000), *plain(8).messages)
    settings = POLICY.settings([("truncate_large_results", "true"), ("l3_segment", "tail")])
    outcome, _ = run("L3", start, OK4, settings=settings)
    kept = outcome.buffer.messages[2].result
    assert kept is None or len(kept.content) < 4100


@pytest.mark.parametrize(
    ("content", "omitted"),
    [
        pytest.param("x" * 4001, 61, id="ascii"),
        pytest.param("中" * 1334, 66, id="cut between characters on both sides"),
        pytest.param("é" * 2001, 62, id="two bytes fit"),
        pytest.param("😀" * 1001, 68, id="four bytes"),
    ],
)
def test_omitted_bytes_are_those_that_are_not_kept(content: str, omitted: int) -> None:
    start = buffer(user("g"), *plain(12, "hi").messages, assistant("", ("c", "R", {})), result("c", content))
    settings = POLICY.settings([("truncate_large_results", "true"), ("l3_segment", "tail")])
    outcome, _ = run("L3", start, OK4, settings=settings)
    kept = outcome.buffer.messages[-1].result
    assert kept is not None
    head, _, tail = kept.content.partition(f"\n\n[...{omitted} bytes omitted...]\n\n")
    assert len(content.encode()) == len(head.encode()) + omitted + len(tail.encode())
    assert content.startswith(head)
    assert content.endswith(tail)


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


@pytest.mark.parametrize(("window", "mid", "high"), [(200_000, 120_000, 150_000), (1_000, 600, 750), (333, 199, 249)])
def test_watermarks(window: int, mid: int, high: int) -> None:
    assert [mark.tokens for mark in POLICY.watermarks(POLICY.settings((), window))] == [mid, high]


def test_pin_last_user() -> None:
    messages = [user("goal"), assistant("a"), user("the newest wish")]
    for i in range(9):
        messages += [assistant("", (f"c{i}", "R", {})), result(f"c{i}", "r")]
    for pin, kept in (("false", False), ("true", True)):
        outcome, _ = run("L1", buffer(*messages), settings=POLICY.settings([("pin_last_user", pin)]))
        assert ("the newest wish" in texts(outcome.buffer.messages)) is kept
