"""learn-claude-code's summaries, automatic and manual."""

from dataclasses import replace

import pytest

from inspector.core.buffer import Buffer
from inspector.core.dialects.anthropic import read_wire_messages
from inspector.core.message import Json, Message, Text, Thinking, ToolCall
from inspector.core.needs import (
    Summarize,
    drive,
)
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.learn_claude_code import POLICY
from inspector.core.policies.learn_claude_code.layers import (
    ACKNOWLEDGED,
    INSTRUCTIONS,
)
from inspector.core.policies.learn_claude_code.settings import LearnSettings, LearnState
from inspector.core.policies.learn_claude_code.wire import count_list_tokens
from inspector.core.policies.verdict import PolicyInput
from tests.core.policies.build import assistant, buffer, result, user
from tests.core.policies.learning import DEFAULT, FAIL, IMAGE, SAFE, World, ran, run


def talk(n: int) -> Buffer:
    return buffer(
        *(user(f"q{i}") if i % 2 == 0 else assistant(f"r{i}") for i in range(n)), system="you are"
    )


def test_auto() -> None:
    start = talk(9)
    world = World("SUM")
    outcome = run("auto", start, world)
    assert world.kinds == ["SaveTranscript", "Summarize"]
    assert world.saved == [("transcript", start.messages)]
    assert [(one.role, one.text) for one in outcome.buffer.messages[:2]] == [
        ("user", "[Conversation compressed]\nSUM"),
        ("assistant", ACKNOWLEDGED),
    ]
    assert outcome.buffer.messages[2:] == start.messages[-5:]
    assert outcome.events[0].name == "compacted"
    assert outcome.events[0].fields == {
        "layer": "auto",
        "tokens_before": count_list_tokens(start.messages),
        "tokens_after": count_list_tokens(outcome.buffer.messages),
        "transcript_path": "transcript.jsonl",
    }
    assert outcome.changed == {one.id: "summarised" for one in start.messages[:4]}


def test_what_the_summariser_reads_is_cut() -> None:
    start = buffer(
        user("u" * 900),
        assistant("", ("c", "bash", {})),
        result("c", "o" * 900),
        *talk(600).messages,
    )
    world = World("SUM")
    run("auto", start, world, POLICY.settings([("summary_total_chars", "2000")]))
    need = world.needs[-1]
    assert isinstance(need, Summarize)
    lines = need.text.split("\n")
    assert lines[:3] == ["[user] " + "u" * 500, "[tool_result] " + "o" * 200, "[user] q0"]
    assert len(need.text) == 2000
    assert (need.max_tokens, need.timeout_s, need.source) == (2_000, 300, start.messages)


def test_the_summariser_reads_texts_and_results_as_upstream_writes_them() -> None:
    """A line each, no calls, no thinking; a list as Python writes one, cut like a text."""
    blocks = [
        {
            "type": "tool_result",
            "tool_use_id": "c",
            "content": [{"type": "text", "text": "it's"}],
            "is_error": True,
        },
        {
            "type": "tool_result",
            "tool_use_id": "d",
            "content": [{"type": "text", "text": "z" * 300}, IMAGE],
        },
        {"type": "text", "text": "and then?"},
    ]
    answer = Message(
        "a",
        "assistant",
        (
            Thinking("hm"),
            Text("I look."),
            ToolCall("c", "bash", {}),
            Text("Here."),
            ToolCall("d", "ls", {}),
        ),
    )
    start = buffer(user("go\non"), answer, *read_wire_messages("user", blocks, id="w"), user(""))
    world = World("SUM")
    run("auto", start, world)
    need = world.needs[-1]
    assert isinstance(need, Summarize)
    assert need.text.split("\n") == [
        "[user] go",
        "on",
        "[assistant] I look.",
        "[assistant] Here.",
        """[tool_result] [{'type': 'text', 'text': "it's"}]""",
        "[tool_result] " + ("[{'type': 'text', 'text': '" + "z" * 300)[:200],
        "[user] and then?",
        "[user] ",
    ]


def test_messages_that_travel_together_are_one_of_the_five() -> None:
    start = buffer(
        user("old"), user("older"), *ran(*[("bash", 10)] * 4).messages, assistant("done")
    )
    outcome = run("auto", start, World("SUM"))
    assert outcome.buffer.messages[2:] == start.messages[1:]  # 5 wire messages, 8 of ours


def test_manual_compaction_when_the_list_is_short_may_lengthen_it() -> None:
    start = talk(3)
    outcome = run("manual", start, World("SUM"))
    assert outcome.buffer.messages[2:] == start.messages
    assert len(outcome.buffer.messages) == 5
    again = run("manual", outcome.buffer, World("SUM2"))
    ids = [one.id for one in again.buffer.messages]
    assert len(set(ids)) == len(ids) == 7


@pytest.mark.parametrize(
    "tier", [pytest.param("auto", id="auto"), pytest.param("manual", id="manual")]
)
def test_summary_fails(tier: str) -> None:
    start = talk(9)
    for settings, failures in ((DEFAULT, 0), (SAFE, 1)):
        world = World(FAIL)
        outcome = run(tier, start, world, settings)
        assert world.saved == [("transcript", start.messages)]
        assert outcome.buffer is start
        assert (outcome.succeeded, outcome.error) == (False, "provider_failure")
        assert outcome.running.failures == failures


def test_safe_mode_stops_after_three_failures() -> None:
    start, running = talk(9), LearnState()
    settings = replace(SAFE, overhead=183_610, min_savings=1)
    for failures in (1, 2, 3):
        world = World(FAIL)
        done = drive(POLICY.before_call(PolicyContext(start, settings, running)), world)
        running = done[-1].running
        assert running == LearnState(failures, failures == 3)
        assert POLICY.load(settings, POLICY.dump(running)) == running
    state = POLICY.breaker(PolicyContext(start, settings, running))
    assert state is not None
    assert (state.open, state.failures, state.limit) == (True, 3, 3)
    world = World("SUM")
    assert len(drive(POLICY.before_call(PolicyContext(start, settings, running)), world)) == 1
    assert not world.needs
    assert (
        "3 summaries failed in a row" in POLICY.due(PolicyContext(start, settings, running))[1].why
    )
    # The user may still ask.
    assert run("manual", start, world, settings, running).running == LearnState()
    assert POLICY.breaker(PolicyContext(start, DEFAULT, running)) is None


def test_a_blank_summary_is_a_failure_in_safe_mode_only() -> None:
    assert run("auto", talk(9), World(" \n"), SAFE).error == "blank_summary"
    assert run("auto", talk(9), World("")).buffer.messages[0].text == "[Conversation compressed]\n"


@pytest.mark.parametrize("settings", [DEFAULT, SAFE])
def test_nothing_is_replaced_before_the_transcript_is_saved(settings: LearnSettings) -> None:
    world = World("SUM")
    world.full_disk = True
    start = talk(9)
    outcome = run("auto", start, world, settings)
    assert (outcome.buffer, outcome.error, world.kinds) == (
        start,
        "transcript_not_saved",
        ["SaveTranscript"],
    )


def orphaned() -> Buffer:
    """The last five begin with the results of a call in the sixth."""
    calls: list[tuple[str, str, Json]] = [("a", "bash", {}), ("b", "bash", {})]
    return buffer(
        user("old"), assistant("r"), user("plain"), assistant("calling", *calls), result("a", "1"), result("b", "2"),
        assistant("x"), user("y"), assistant("z"), user("last"),
    )  # fmt: skip


def test_kept_messages_when_they_begin_with_a_result_reach_back_in_safe_mode() -> None:
    start = orphaned()
    faithful = run("auto", start, World("SUM"))
    assert faithful.buffer.messages[2:] == start.messages[4:]
    safe = run("auto", start, World("SUM"), SAFE)
    assert safe.buffer.messages[2:] == start.messages[2:]
    assert [one.role for one in safe.buffer.messages[:3]] == ["user", "assistant", "user"]


def test_kept_messages_when_no_user_message_precedes_drop_orphan_results_in_safe_mode() -> None:
    start = buffer(assistant("calling", ("a", "bash", {})), *orphaned().messages[4:])
    safe = run("auto", start, World("SUM"), SAFE)
    # No acknowledgement either.
    assert [one.text for one in safe.buffer.messages[1:]] == ["x", "y", "z", "last"]
    assert safe.changed[start.messages[1].id] == "summarised"


def test_acknowledgement_when_an_answer_follows_is_left_out_in_safe_mode() -> None:
    start = talk(10)
    faithful = run("auto", start, World("SUM"))
    assert [one.role for one in faithful.buffer.messages[:3]] == ["user", "assistant", "assistant"]
    safe = run("auto", start, World("SUM"), SAFE)
    assert [one.role for one in safe.buffer.messages[:3]] == ["user", "assistant", "user"]
    assert safe.buffer.messages[1:] == start.messages[-5:]


def test_system_prompt_when_compacted_is_the_same_object() -> None:
    start = talk(9)
    assert run("auto", start, World("SUM")).buffer.prompt is start.prompt


def test_saved_transcript_when_compacted_twice_holds_both_lists() -> None:
    world = World("ONE", "TWO")
    first = run("auto", talk(9), world)
    grown = buffer(*first.buffer.messages, *talk(4).messages)
    run("auto", grown, world)
    assert [messages for _, messages in world.saved] == [world.saved[0][1], grown.messages]
    assert len(world.saved) == 2


def test_the_newest_user_message_may_be_pinned() -> None:
    asked = user("what I want")
    start = buffer(user("old"), asked, *(one for i in range(4) for one in (
        assistant("", (f"c{i}", "bash", {})), result(f"c{i}", "out")
    )))  # fmt: skip
    assert asked not in run("auto", start, World("SUM")).buffer.messages
    pinned = run("auto", start, World("SUM"), replace(DEFAULT, pin_last_user=True))
    assert pinned.buffer.messages[2] is asked
    assert len(pinned.buffer.messages) == 2 + 1 + 5


def test_manual_compaction_when_the_user_wishes_nothing_uses_the_default_instruction() -> None:
    for wish, expected in (
        ("", INSTRUCTIONS),
        ("keep the paths", f"{INSTRUCTIONS}\n\nThe user asks: keep the paths"),
    ):
        world = World("SUM")
        outcome = run("manual", talk(9), world, moment=PolicyInput(instructions=wish))
        need = world.needs[-1]
        assert isinstance(need, Summarize)
        assert need.instructions == expected
        assert outcome.events[0].fields["layer"] == "manual"
        assert outcome.buffer.messages[0].text == "[Conversation compressed]\nSUM"


@pytest.mark.parametrize("tier", ["manual", "auto"])
def test_manual_compaction_when_the_list_is_empty_calls_no_model(tier: str) -> None:
    world = World("SUM")
    outcome = run(tier, buffer(), world)
    assert (outcome.buffer.messages, outcome.succeeded, outcome.error, world.needs) == (
        (),
        False,
        "",
        [],
    )
