"""Roku's L3: the segment, remote compaction and the four-section summary."""

import pytest

from inspector.core.buffer import Buffer
from inspector.core.message import Message, Opaque
from inspector.core.needs import (
    Answer,
    ContextWindowExceeded,
    ProviderFailure,
    RemoteCompact,
    Summarize,
    Timeout,
    drive,
)
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.roku import POLICY
from inspector.core.policies.roku.messages import find_half_split, find_tail_split
from inspector.core.policies.roku.settings import RokuSettings, RokuState, StepRecord, raw_tokens
from inspector.core.policies.verdict import PolicyInput
from inspector.core.usage import Usage
from tests.core.policies.build import Script, assistant, buffer, plain, result, user
from tests.core.policies.roku_tiers import MOMENT, OK4, at_601, names, run


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
        pytest.param(plain(2), 1, 1, id="two messages"),
        pytest.param(plain(10), 6, 2, id="ten messages"),
        pytest.param(plain(12), 7, 4, id="twelve messages"),
        pytest.param(seg5(), 2, 1, id="a result at the split"),
        pytest.param(seg6(), 4, 1, id="parallel results at the split"),
        pytest.param(seg7(), 11, 13, id="many results"),
        pytest.param(seg9(), 4, 1, id="a message between results"),
    ],
)
def test_segments(start: Buffer, half: int, tail: int) -> None:
    assert find_half_split(start.messages, RokuSettings()) == half
    assert find_tail_split(start.messages, RokuSettings()) == tail


def test_segment_when_a_message_separates_results_walks_back_in_safe_mode() -> None:
    assert find_half_split(seg9().messages, RokuSettings(mode="safe")) == 2


def test_l3_when_nothing_can_be_removed_leaves_the_buffer() -> None:
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


REMOTE = PolicyInput(3, remote=True)


def test_l3a_when_the_provider_compacts_inserts_its_messages() -> None:
    history = tuple(StepRecord(i) for i in range(10))
    answer = Answer(messages=(assistant("sum"),), usage=Usage(input=900, output=50))
    outcome, script = run(
        "L3", plain(10), answer, moment=REMOTE, running=RokuState(history=history)
    )
    assert len(outcome.buffer.messages) == 6
    assert (outcome.buffer.messages[1].role, outcome.buffer.messages[1].text) == (
        "assistant",
        "sum",
    )
    fields = outcome.events[1].fields
    assert (fields["prompt_tokens"], fields["output_tokens"], fields["succeeded"]) == (
        900,
        50,
        True,
    )
    assert fields["drop_oldest_retries"] == 0
    assert outcome.events[-1].fields["llm_succeeded"] is True
    assert [type(need) for need in script.needs] == [RemoteCompact]
    assert len(outcome.running.history) == 9
    assert outcome.running.working_summary.startswith("[Compact summary — 2 steps discarded]")
    assert outcome.tier == "L3a"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Timeout("90 s"), id="timeout"),
        pytest.param(ProviderFailure("forbidden", 403), id="403"),
        pytest.param(ContextWindowExceeded("too long"), id="400"),
        pytest.param(
            Answer(messages=(Message("o", "assistant", (Opaque("compaction", {}),)),)),
            id="only opaque items",
        ),
    ],
)
def test_l3a_failure_is_mechanical_and_never_l3b(reply: object) -> None:
    outcome, script = run("L3", plain(10), reply, OK4, moment=REMOTE)
    text = outcome.buffer.messages[1].text
    assert text.startswith("[Conversation summary]\n[5 messages compacted]\n")
    assert (len(text.encode()), len(outcome.buffer.messages), raw_tokens(outcome.buffer)) == (
        710,
        6,
        702,
    )
    assert not outcome.succeeded
    assert outcome.running.breaker.failures == 1
    assert len(script.needs) == 1


def test_l3a_opaque_can_be_kept() -> None:
    reply = Answer(messages=(Message("o", "assistant", (Opaque("compaction", {}, 9),)),))
    settings = POLICY.settings([("opaque_items", "keep")], 1000)
    outcome, _ = run("L3", plain(10), reply, moment=REMOTE, settings=settings)
    assert outcome.succeeded
    assert isinstance(outcome.buffer.messages[1].parts[0], Opaque)


def test_l3a_when_messages_hold_thinking_strips_it() -> None:
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
    assert any(event.name == "ReasoningContentStripped" for event in outcome.events) is (
        text != left
    )


def test_l3_when_the_provider_cannot_compact_runs_l3b() -> None:
    _, script = run("L3", plain(10), OK4)
    assert [type(need) for need in script.needs] == [Summarize]


@pytest.mark.parametrize(("k", "fires"), [(2944, False), (2945, True)])
def test_l3_when_exactly_on_the_line_does_not_fire(k: int, fires: bool) -> None:
    start = at_601(k)
    assert raw_tokens(start) == (751 if fires else 750)
    settings = POLICY.settings([("mid_water_trigger_ratio", "0.9")], 1000)
    outcomes = drive(
        POLICY.run_due(PolicyContext(start, settings, RokuState(), MOMENT)), Script(OK4)
    )
    triggered = [
        event.fields for one in outcomes for event in one.events if event.name == "CompactTriggered"
    ]
    assert triggered == ([{"step": 3, "estimated_tokens": 751}] if fires else [])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(OK4, id="four sections"),
        pytest.param("\n".join(reversed(OK4.split("\n"))), id="four sections in reverse order"),
        pytest.param(
            "Goal:\nAccomplished:\nKey Decisions:\nRelevant Files:", id="four empty sections"
        ),
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
            "goal: g\nAccomplished: a\nKey Decisions: k\nRelevant Files: r",
            "contract_violation",
            id="a header in lower case",
        ),
        pytest.param("  \n", "provider_failure", id="blank"),
        pytest.param(Timeout("300 s"), "provider_failure", id="timeout"),
    ],
)
def test_l3b_failure(reply: object, error: str) -> None:
    outcome, script = run("L3", plain(10), reply)
    assert outcome.error == error
    assert outcome.running.breaker.failures == 1
    assert outcome.buffer.messages[1].text.startswith(
        "[Conversation summary]\n[5 messages compacted]\n"
    )
    assert len(script.needs) == 1


@pytest.mark.parametrize(
    ("removed", "sizes", "retries"),
    [
        (1, [1], 1), (2, [2, 1], 2), (4, [4, 2, 1], 3), (7, [7, 3, 1], 3), (15, [15, 7, 3, 1], 3),
        pytest.param(8, [8, 4, 2, 1], 3, id="eight messages"),
        pytest.param(100, [100, 50, 25, 12], 3, id="a hundred messages"),
        pytest.param(3, [3, 1], 2, id="three messages"),
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


def test_l3b_when_the_retry_fails_reports_one_retry() -> None:
    outcome, script = run(
        "L3", plain(10), ContextWindowExceeded("long"), ProviderFailure("down", 500)
    )
    assert len(script.needs) == 2
    assert (outcome.error, outcome.events[1].fields["drop_oldest_retries"]) == (
        "provider_failure",
        1,
    )


def test_l3_tail_segment() -> None:
    settings = POLICY.settings([("L3_SEGMENT", "tail")], 1000)
    outcome, _ = run("L3", plain(12), OK4, settings=settings)
    assert len(outcome.buffer.messages) == 10


def test_l3_truncates_large_results_when_set() -> None:
    start = buffer(
        user("g"), assistant("", ("c", "R", {})), result("c", "x" * 5000), *plain(8).messages
    )
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
    start = buffer(
        user("g"), *plain(12, "hi").messages, assistant("", ("c", "R", {})), result("c", content)
    )
    settings = POLICY.settings([("truncate_large_results", "true"), ("l3_segment", "tail")])
    outcome, _ = run("L3", start, OK4, settings=settings)
    kept = outcome.buffer.messages[-1].result
    assert kept is not None
    head, _, tail = kept.content.partition(f"\n\n[...{omitted} bytes omitted...]\n\n")
    assert len(content.encode()) == len(head.encode()) + omitted + len(tail.encode())
    assert content.startswith(head)
    assert content.endswith(tail)
