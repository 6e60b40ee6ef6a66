"""Pi around the model call: check points, overflow recovery, stale usage, running state."""

from collections.abc import Sequence

import pytest

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Json, Message
from inspector.core.needs import (
    Answer,
    AskModel,
    ContextWindowExceeded,
    Failure,
    Need,
    ProviderFailure,
    RunTools,
    drive,
)
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.pi import POLICY, count_checked_messages
from inspector.core.policies.pi.settings import PiSettings, PiState
from inspector.core.policies.turn import TurnResult
from inspector.core.policies.verdict import CallReport, PolicyInput
from inspector.core.usage import Usage
from inspector.core.validity import find_refusals
from tests.core.policies.build import Script, assistant, buffer, plain, play_turn, result, user

KEEP = ("keepRecentTokens", "150")
OVERFLOW = ProviderFailure("prompt is too long: 213462 tokens > 200000 maximum", 400)


class World:
    """Answers the model from one list, summaries from another, tools by echo."""

    def __init__(
        self, model: Sequence[Answer | Failure], *summaries: str | Answer | Failure
    ) -> None:
        self.model, self.summaries = list(model), Script(*summaries)
        self.needs: list[Need] = []

    def __call__(self, need: Need) -> Answer:
        self.needs.append(need)
        match need:
            case AskModel():
                reply = self.model.pop(0)
                if isinstance(reply, Failure):
                    raise reply
                return reply
            case RunTools(calls):
                return Answer(messages=tuple(result(call.id, "out") for call in calls))
            case _:
                return self.summaries(need)

    @property
    def kinds(self) -> list[str]:
        return [type(need).__name__ for need in self.needs]


def answer(
    prompt: int = 10, *calls: tuple[str, str, dict[str, str]], finish: str = "stop"
) -> Answer:
    message = assistant("y" * 400, *calls)
    return Answer(messages=(message,), usage=Usage(input=prompt, output=2), finish=finish)


def play(
    start: Buffer, world: World, *values: tuple[str, str], running: PiState | None = None
) -> TurnResult[PiState]:
    settings = POLICY.settings([KEEP, *values])
    return play_turn(POLICY, start, world, settings, running, step=1, model="m")


def names(done: TurnResult[PiState]) -> list[str]:
    return [event.name for event in done.events if event.name != "message_added"]


COMPACTED = [
    "auto_compaction_start",
    "session_before_compact",
    "session_compact",
    "auto_compaction_end",
]


# --- check points


@pytest.mark.parametrize(
    ("point", "order"),
    [
        ("after_llm", ["AskModel", "Summarize", "RunTools"]),
        ("turn_end", ["AskModel", "RunTools", "Summarize"]),
        ("agent_end", ["AskModel", "RunTools"]),
        ("before_llm", ["AskModel", "RunTools"]),
    ],
)
def test_check_when_the_answer_calls_a_tool_compacts_before_it_runs(
    point: str, order: list[str]
) -> None:
    world = World([answer(190_000, ("c", "read", {}))], "S", "P")
    done = play(plain(5), world, ("check_point", point))
    assert world.kinds == order
    assert find_refusals(done.buffer) == ()
    assert [message.role for message in done.buffer.messages[-2:]] == ["assistant", "tool"]


def test_check_when_the_answer_calls_a_tool_keeps_the_call() -> None:
    done = play(plain(5), World([answer(190_000, ("c", "read", {}))], "S", "P"))
    assert done.buffer.messages[0].summary
    assert done.buffer.messages[-2].calls
    assert names(done) == COMPACTED


def test_agent_end_checks_the_last_answer() -> None:
    world = World([answer(190_000)], "S", "P")
    assert names(play(plain(5), world, ("check_point", "agent_end"))) == COMPACTED


def test_before_the_call() -> None:
    """The design's first trigger point: the estimate of what is about to be sent."""
    world = World([answer()], "S")
    done = play(
        plain(4),
        world,
        ("check_point", "before_llm"),
        ("contextWindow", "500"),
        ("reserveTokens", "100"),
    )
    assert world.kinds == ["Summarize", "AskModel"]
    assert names(done) == COMPACTED


@pytest.mark.parametrize(
    ("point", "messages", "expected"),
    [
        ("after_llm", "UA", 2), ("after_llm", "UCT", 2), ("after_llm", "U", None), ("after_llm", "UAU", 2),
        ("turn_end", "UCT", 3), ("turn_end", "UC", None), ("turn_end", "UCTU", 3),
        ("agent_end", "UCT", None), ("agent_end", "UCTA", 4), ("agent_end", "UCTAU", 4),
        ("before_llm", "U", 1), ("before_llm", "UCT", 3),
    ],
)  # fmt: skip
def test_how_much_stands_at_a_check_point(point: str, messages: str, expected: int | None) -> None:
    made = {
        "U": user("u"),
        "A": assistant("a"),
        "C": assistant("", ("c", "read", {})),
        "T": result("c", "r"),
    }
    settings = POLICY.settings([("check_point", point)])
    assert count_checked_messages([made[one] for one in messages], settings) == expected


def test_seen_from_the_next_call_the_answer_was_checked_before_its_tools() -> None:
    """A replay knows the answer only when the next call is due: results that came after it stay as they are."""
    start = plain(5)
    call, late = assistant("z" * 400, ("c", "read", {})), result("c", "r" * 4000)
    live = Buffer((*start.messages, call, late))
    moment = PolicyInput(usage=Usage(input=190_000), finish="toolUse")
    settings = POLICY.settings([KEEP])
    (outcome,) = drive(
        POLICY.before_call(PolicyContext(live, settings, PiState(), moment)), Script("S", "P")
    )
    assert outcome.buffer.messages[-2:] == (call, late)
    assert outcome.running.border == call.id
    assert find_refusals(outcome.buffer) == ()
    (again,) = drive(
        POLICY.before_call(PolicyContext(outcome.buffer, settings, outcome.running, moment)),
        Script(),
    )
    assert again.buffer is outcome.buffer
    (then,) = drive(
        POLICY.after_turn(PolicyContext(outcome.buffer, settings, outcome.running, moment)),
        Script(),
    )
    assert then.events == ()


def test_an_answer_is_checked_once() -> None:
    settings = POLICY.settings([KEEP])
    start, moment = plain(4), PolicyInput(usage=Usage(input=190_000), finish="stop")
    (failed,) = drive(
        POLICY.before_call(PolicyContext(start, settings, PiState(), moment)),
        Script(ProviderFailure("boom")),
    )
    assert failed.error == "Summarization failed: boom"
    script = Script("S")
    (again,) = drive(
        POLICY.before_call(PolicyContext(start, settings, failed.running, moment)), script
    )
    assert (again.events, script.needs) == ((), [])
    longer = Buffer((*start.messages, user("on"), assistant("x" * 400)))
    (next_one,) = drive(
        POLICY.before_call(PolicyContext(longer, settings, failed.running, moment)),
        Script("S", "P"),
    )
    assert next_one.succeeded
    assert next_one.running.failures == 0


def test_with_agent_end_a_new_prompt_is_checked_again() -> None:
    settings = POLICY.settings([KEEP, ("check_point", "agent_end")])
    start, moment = plain(4), PolicyInput(usage=Usage(input=190_000), finish="stop")
    (ended,) = drive(
        POLICY.after_turn(PolicyContext(start, settings, PiState(), moment)),
        Script(ProviderFailure("boom")),
    )
    assert ended.error
    prompted = Buffer((*start.messages, user("on")))
    (checked,) = drive(
        POLICY.before_call(PolicyContext(prompted, settings, ended.running, moment)), Script("S")
    )
    assert checked.succeeded
    assert checked.events
    assert checked.buffer.messages[-1] is prompted.messages[-1]


# --- guards


def reported(message: Message, prompt: int, finish: str = "stop") -> PolicyInput:
    return PolicyInput(reports=(CallReport(message.id, Usage(input=prompt), finish),))


def test_trigger_when_the_usage_is_older_than_the_compaction_does_not_fire() -> None:
    settings = POLICY.settings([KEEP])
    start = plain(6)
    moment = reported(start.messages[-1], 190_000)
    (done,) = drive(POLICY.run_due(PolicyContext(start, settings, PiState(), moment)), Script("S"))
    assert done.buffer.messages[0].summary
    asked_again = Buffer((*done.buffer.messages, user("on")))
    (found,) = POLICY.due(PolicyContext(asked_again, settings, done.running, moment))
    assert not found.due
    fresh = Buffer((*asked_again.messages, assistant("new")))
    (found,) = POLICY.due(
        PolicyContext(fresh, settings, done.running, reported(fresh.messages[-1], 190_000))
    )
    assert found.due


@pytest.mark.parametrize(("profile", "due"), [("seed", True), ("upstream", False)])
def test_an_aborted_answer(profile: str, due: bool) -> None:
    """The design checks whatever was reported; the code does not check an aborted answer."""
    start = plain(4)
    reports = (
        CallReport(start.messages[1].id, Usage(input=190_000), "stop"),
        CallReport(start.messages[3].id, Usage(input=190_000), "aborted"),
    )
    settings = POLICY.settings([("profile", profile)])
    assert (
        POLICY.due(PolicyContext(start, settings, PiState(), PolicyInput(reports=reports)))[0].due
        is due
    )


def test_a_failed_answer_is_judged_by_the_usage_before_it() -> None:
    start = plain(4)
    reports = (
        CallReport(start.messages[1].id, Usage(input=190_000), "stop"),
        CallReport(start.messages[3].id, None, "error"),
    )
    settings = POLICY.settings([("profile", "upstream")])
    (found,) = POLICY.due(PolicyContext(start, settings, PiState(), PolicyInput(reports=reports)))
    assert (found.due, found.tokens) == (True, 190_200)


def test_switched_off() -> None:
    settings = POLICY.settings([("enabled", "no")])
    start = plain(4)
    (found,) = POLICY.due(
        PolicyContext(start, settings, PiState(), reported(start.messages[-1], 190_000))
    )
    assert (found.due, "switched off" in found.why) == (False, True)


@pytest.mark.parametrize(("mode", "due"), [("faithful", True), ("safe", False)])
def test_after_three_failures(mode: str, due: bool) -> None:
    settings, start, running = POLICY.settings([KEEP, ("mode", mode)]), plain(4), PiState()
    moment = reported(start.messages[-1], 190_000)
    for _ in range(3):
        (failed,) = drive(
            POLICY.run_due(PolicyContext(start, settings, running, moment)),
            Script(ProviderFailure("boom")),
        )
        running = failed.running
    assert running.failures == 3
    assert POLICY.due(PolicyContext(start, settings, running, moment))[0].due is due
    state = POLICY.breaker(PolicyContext(start, settings, running))
    assert (state.open if state else None) is (None if mode == "faithful" else True)
    by_hand = drive(
        POLICY.tier("compact", PolicyContext(start, settings, running, moment)), Script("S")
    )
    assert (by_hand.succeeded, by_hand.running.failures) == (True, 0)


# --- overflow


def test_overflow_when_the_model_refuses_is_recovered_once() -> None:
    world = World([OVERFLOW, answer()], "S")
    done = play(plain(4), world)
    assert world.kinds == ["AskModel", "Summarize", "AskModel"]
    assert done.events[0].fields == {"reason": "overflow"}
    assert (
        next(e for e in done.events if e.name == "auto_compaction_end").fields["willRetry"] is True
    )
    assert not done.error
    assert done.running.overflowed is False


def test_a_second_overflow_is_the_end() -> None:
    world = World([ContextWindowExceeded("too long"), OVERFLOW], "S")
    done = play(plain(4), world)
    assert world.kinds == ["AskModel", "Summarize", "AskModel"]
    assert done.error.startswith("Context overflow recovery failed")
    assert done.events[-1].fields["errorMessage"] == done.error


def test_a_success_allows_the_next_recovery() -> None:
    first = play(plain(4), World([OVERFLOW, answer()], "S"))
    more = Buffer((*first.buffer.messages, user("x" * 400), assistant("x" * 400), user("x" * 400)))
    second = play(more, World([OVERFLOW, answer()], "S", "P"), running=first.running)
    assert not second.error


def test_another_error_is_no_overflow() -> None:
    world = World([ProviderFailure("429 status code (no body)", 429)])
    done = play(plain(4), world)
    assert (done.error, done.buffer.messages) == ("429 status code (no body)", done.buffer.messages)
    assert names(done) == []


def test_silent_overflow_when_detected_drops_the_answer_and_tries_again() -> None:
    silent = Answer("", (assistant("cut"),), Usage(150_000, 60_000), "stop")
    world = World([silent, answer()], "S")
    done = play(plain(4), world)
    assert world.kinds == ["AskModel", "Summarize", "AskModel"]
    assert "cut" not in [message.text for message in done.buffer.messages]


def test_a_recovery_that_fails_is_not_repeated() -> None:
    world = World([OVERFLOW], ProviderFailure("boom"))
    done = play(plain(4), world)
    assert (world.kinds, done.error) == (["AskModel", "Summarize"], "Summarization failed: boom")


def test_the_failed_answer_leaves_the_live_list() -> None:
    start = Buffer((*plain(4).messages, assistant("partial")))
    failed = start.messages[-1]
    moment = PolicyInput(
        overflow="prompt is too long", reports=(CallReport(failed.id, None, "error"),)
    )
    (outcome,) = drive(
        POLICY.run_due(PolicyContext(start, POLICY.settings([KEEP]), PiState(), moment)),
        Script("S"),
    )
    assert failed not in outcome.buffer.messages
    assert outcome.changed[failed.id] == "dropped"


# --- running state


def test_the_state_survives_as_json() -> None:
    running = PiState(
        (CallReport("a", Usage(1, 2, 3, 4), "stop", "m"), CallReport("b")),
        "border",
        "a",
        2,
        True,
        3,
        40,
        "seen",
    )
    data = POLICY.dump(running)
    assert POLICY.load(PiSettings(), data) == running
    assert data["messages_per_compaction"] == pytest.approx(40 / 3)
    assert POLICY.load(PiSettings(), {}) == PiState()
    wrongs: list[Json] = [[], {"reports": [1]}, {"messages": "many"}]
    for wrong in wrongs:
        with pytest.raises(InspectorError):
            POLICY.load(PiSettings(), wrong)


def test_statistics_count_each_message_once() -> None:
    settings, running, start = PiSettings(), PiState(), plain(4)
    for length in (2, 3, 3, 4):
        part = Buffer(start.messages[:length])
        (outcome,) = drive(POLICY.before_call(PolicyContext(part, settings, running)), Script())
        running = outcome.running
        assert outcome.buffer is part
    assert running.messages == 4


def test_an_unknown_tier() -> None:
    with pytest.raises(InspectorError, match="compact"):
        drive(POLICY.tier("L1", PolicyContext(buffer(), PiSettings(), PiState())), Script())
