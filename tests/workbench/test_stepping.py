"""The stepper's intents, on a session made here."""

from collections.abc import Callable
from typing import Any

import pytest

from inspector.core.answering import Answerer, offline
from inspector.core.buffer import Stretch
from inspector.core.needs import Answer, Need, ProviderFailure, Summarize
from inspector.core.session import Request, Session, Thread
from inspector.workbench.analysis import Work, at_once
from inspector.workbench.state import State
from inspector.workbench.stepping import refuse_models
from inspector.workbench.workbench import Workbench
from tests.core.policies.build import assistant, build, user


def bench(
    answerers: Callable[[str, State], Answerer] = refuse_models, work: Work = at_once
) -> Workbench:
    made = Workbench(work, answerers)
    stretch = Stretch(None, build(10, "x" * 2000).messages)
    requests = [Request(n, stretch.view(1 + 2 * n)) for n in range(10)]
    made.open(Session("test", (Thread("main", requests=requests, end=stretch.view()),), path="a"))
    made.stepping.choose(settings=(("context_window_tokens", "3000"),))
    return made


def test_step_undo_redo_and_the_buffer_follows() -> None:
    desk = bench()
    recorded = desk.state.buffer()
    desk.stepping.step("L0")
    assert desk.state.stepped
    assert desk.state.buffer() is not recorded
    assert desk.state.recorded().messages == recorded.messages
    desk.stepping.undo()
    assert desk.state.buffer().messages == recorded.messages
    desk.stepping.redo()
    assert desk.state.stepped


def test_steps_belong_to_their_request() -> None:
    desk = bench()
    desk.stepping.step("L0")
    desk.previous()
    assert desk.state.steps is None
    desk.next()
    assert desk.state.stepped


def test_step_when_nothing_is_due_takes_none_and_says_why() -> None:
    desk = bench()
    desk.move(0)
    desk.stepping.step()
    assert desk.state.taken is None
    assert (
        desk.state.failure
        == "No tier of Roku is due at request 0, so no step was taken. “Force” runs a tier anyway."
    )
    desk.move(None)
    desk.stepping.choose(
        settings=(("context_window_tokens", "1000000"), ("microcompact_retain_recent", "50"))
    )
    desk.stepping.step()
    assert desk.state.taken is None
    assert "is due after the last request" in desk.state.failure


def test_step_when_a_tier_is_due_is_taken() -> None:
    desk = bench()
    desk.stepping.step()
    assert desk.state.stepped
    assert desk.state.failure == ""


def test_a_branch_is_a_second_child() -> None:
    desk = bench()
    desk.stepping.step("L0")
    desk.stepping.undo()
    desk.stepping.step("L1")
    steps = desk.state.steps
    assert steps is not None
    assert steps.children(-1) == (0, 1)


def test_by_hand_a_tier_waits() -> None:
    desk = bench()
    desk.stepping.choose(answer_by="hand")
    desk.stepping.step("L3b")
    asking = desk.state.asking
    assert asking is not None
    assert isinstance(asking.need, Summarize)
    assert not desk.state.stepped
    desk.stepping.answer(Answer("Goal: Accomplished: Key Decisions: Relevant Files:", by="person"))
    assert desk.state.asking is None
    assert desk.state.steps is not None
    assert desk.state.steps.step is not None
    assert desk.state.steps.step.succeeded


def test_failing_by_hand_three_times_trips_the_breaker_and_the_reset_is_ours() -> None:
    desk = bench()
    desk.stepping.choose(answer_by="hand")
    for _ in range(3):
        desk.stepping.step("L3b")
        desk.stepping.answer(ProviderFailure("no", 403))
    steps = desk.state.steps
    assert steps is not None
    assert steps.state.breaker.open
    desk.stepping.reset_breaker()
    assert desk.state.steps is not None
    assert not desk.state.steps.state.breaker.open


def test_giving_up_leaves_no_trace() -> None:
    desk = bench()
    desk.stepping.choose(answer_by="hand")
    desk.stepping.step("L3b")
    desk.stepping.give_up()
    assert desk.state.asking is None
    assert not desk.state.stepped


def test_who_cannot_answer_is_told_and_the_tier_waits() -> None:
    desk = bench()
    desk.stepping.choose(answer_by="anthropic")
    desk.stepping.step("L3b")
    assert desk.state.failure
    asking = desk.state.asking
    assert asking is not None
    assert not asking.busy
    desk.stepping.send(asking.need, "offline")
    assert desk.state.stepped


def test_an_impossible_setting_is_told_and_not_taken() -> None:
    desk = bench()
    desk.stepping.set("compact_threshold_ratio", "1.5")
    assert desk.state.failure
    assert desk.state.choices.settings == (("context_window_tokens", "3000"),)
    desk.stepping.set("context_window_tokens", None)
    assert not desk.state.choices.settings


def test_answerers_come_from_outside() -> None:
    asked: list[str] = []

    def answerers(who: str, state: State) -> Answerer:
        asked.append(who)
        return offline

    desk = bench(answerers)
    desk.stepping.choose(answer_by="simulated")
    desk.stepping.step("L3b")
    assert asked == ["simulated"]
    assert desk.state.stepped


def test_repair_is_a_step_of_its_own_and_names_itself() -> None:
    desk = bench()
    desk.move(0)
    stretch = Stretch(None, (assistant("calling", ("a", "Bash", {})), user("well?")))
    desk.open(
        Session(
            "test",
            (Thread("main", requests=(Request(0, stretch.view()),), end=stretch.view()),),
            path="b",
        )
    )
    desk.stepping.repair()
    steps = desk.state.steps
    assert steps is not None
    assert steps.step is not None
    assert (steps.step.name, steps.step.succeeded) == ("repair", True)
    assert [fate.name for fate in steps.fates()] == ["kept", "inserted", "kept"]
    desk.stepping.undo()
    assert not desk.state.stepped


class Fallen(Exception):
    """Nobody expected it."""


def test_an_answerer_that_falls_leaves_its_need_to_the_person() -> None:
    def falls(need: Need) -> Answer:
        raise Fallen

    desk = bench(answerers=lambda who, state: falls)
    with pytest.raises(Fallen):
        desk.stepping.step("L3b")
    assert desk.state.asking is not None
    assert not desk.state.asking.busy
    assert "(Fallen)" in desk.state.failure
    desk.stepping.answer(Answer("Goal: Accomplished: Key Decisions: Relevant Files:", by="person"))
    assert desk.state.asking is None


def test_of_two_tiers_on_their_way_only_the_newer_is_taken() -> None:
    jobs: list[Callable[[], None]] = []

    def later(
        job: Callable[[], Any], done: Callable[[Any], None], *_: object, **__: object
    ) -> None:
        jobs.append(lambda: done(job()))

    desk = bench(work=later)
    while jobs:
        jobs.pop(0)()
    desk.stepping.step("L0")
    desk.stepping.step("L1")
    first, second, *_ = jobs
    second()
    first()
    steps = desk.state.steps
    assert steps is not None
    assert [step.tier for step in steps.taken] == ["L1"]
