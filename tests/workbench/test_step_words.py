"""What a step did, asked and got, in sentences; and what the events mean."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.core.answering import offline
from inspector.core.message import Json
from inspector.core.needs import Answer, Need, ProviderFailure, ReadFile, Summarize
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.catalogue import POLICIES
from inspector.workbench.state import State
from inspector.workbench.steps import Step
from inspector.workbench.words.event_words import event_words
from inspector.workbench.words.step_words import (
    failure_cause,
    missing_headings,
    outcome_words,
    step_words,
)
from inspector.workbench.workbench import Workbench
from tests.gui.stepping import open_it

HEADINGS = "Goal: Accomplished: Key Decisions: Relevant Files:"
POLICY_FILES = sorted((Path(__file__).parents[2] / "inspector").rglob("*.py"))


def answered_by(reply: Callable[[Need], Answer]) -> Workbench:
    """A workbench on a session with much to compact, on which `reply` answers."""

    def answerers(who: str, state: State) -> Callable[[Need], Answer]:
        return reply

    bench = Workbench(answerers=answerers)
    open_it(bench)
    bench.stepping.choose(policy="roku")
    return bench


def taken(bench: Workbench) -> Step:
    steps = bench.state.steps
    assert steps is not None
    assert steps.step is not None
    return steps.step


def saying(text: str) -> Callable[[Need], Answer]:
    return lambda need: Answer(text, by="person")


def failing(need: Need) -> Answer:
    raise ProviderFailure("403: this key may not do that", 403)


def test_words_of_a_step_that_cleared_messages_count_them() -> None:
    bench = answered_by(offline)
    bench.stepping.step("L0")
    cleared = len(taken(bench).outcomes[0].changed)
    assert cleared > 1
    assert step_words(taken(bench)) == f"{cleared} messages cleared."


def test_words_of_a_step_with_a_model_call_say_who_answered() -> None:
    bench = answered_by(saying(HEADINGS))
    bench.stepping.step("L3b")
    gone = len(taken(bench).outcomes[0].changed)
    assert (
        step_words(taken(bench))
        == f"{gone} messages replaced by a summary. 1 model call answered manually."
    )


def test_words_of_a_step_whose_answer_has_no_headings_explain_the_digest() -> None:
    bench = answered_by(saying("I would rather not."))
    bench.stepping.step("L3b")
    words = step_words(taken(bench))
    gone = len(taken(bench).outcomes[0].changed)
    digest = f"The answer lacks the four required headings, so a mechanical digest was used for {gone} messages."
    assert words == f"{digest} 1 model call answered manually."


def test_words_of_a_step_whose_answer_lacks_some_headings_name_them() -> None:
    bench = answered_by(saying("Goal: all. Relevant Files: none."))
    bench.stepping.step("L3b")
    assert step_words(taken(bench)).startswith(
        "The answer lacks the headings Accomplished:, Key Decisions:, so "
    )
    bench.stepping.undo()
    bench = answered_by(saying(HEADINGS.removesuffix(" Relevant Files:")))
    bench.stepping.step("L3b")
    assert step_words(taken(bench)).startswith("The answer lacks the heading Relevant Files:, so ")


def test_words_of_a_step_whose_call_failed_say_why() -> None:
    bench = answered_by(failing)
    bench.stepping.step("L3b")
    words = step_words(taken(bench))
    gone = len(taken(bench).outcomes[0].changed)
    cause = "The model call failed (403: this key may not do that)"
    assert words == f"{cause}, so a mechanical digest was used for {gone} messages."


def test_words_of_a_step_whose_files_are_not_recorded_count_them() -> None:
    def reply(need: Need) -> Answer:
        if isinstance(need, ReadFile):
            raise ProviderFailure("not there", kind="missing")
        return Answer("A summary.", by="offline")

    bench = answered_by(reply)
    bench.stepping.choose(policy="learn-claude-code", settings=(("context_window_tokens", "3000"),))
    bench.stepping.step("auto")
    files = [need for need in taken(bench).asked if isinstance(need.need, ReadFile)]
    words = step_words(taken(bench))
    if files:
        assert f"{len(files)} of {len(files)} file" in words
    assert "1 model call answered offline." in words


def test_words_of_a_step_that_changed_nothing() -> None:
    bench = answered_by(offline)
    bench.stepping.choose(settings=(("microcompact_retain_recent", "50"),))
    bench.stepping.step("L0")
    assert step_words(taken(bench)) == "Nothing changed."


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("nothing_to_compact", "There was nothing to compact."),
        ("", "There was nothing to compact."),
        ("empty_summary", "The model returned an empty summary, so nothing was changed."),
        ("no_gain", "The result would not have been smaller, so nothing was changed."),
        (
            "Summarization failed: no model.",
            "Summarization failed: no model, so nothing was changed.",
        ),
    ],
)
def test_words_of_an_outcome_that_failed_say_what_happened(error: str, words: str) -> None:
    bench = answered_by(offline)
    assert (
        outcome_words(Outcome("auto", bench.state.buffer(), None, succeeded=False, error=error), ())
        == words
    )


def test_missing_headings_when_the_need_requires_none_are_none() -> None:
    assert missing_headings(Summarize("instructions", "text"), "anything") == ()
    assert missing_headings(ReadFile("a.py"), "anything") == ()
    assert missing_headings(Summarize("i", "t", headings=("A:", "B:")), "B: done") == ("A:",)


def errors_in_source() -> set[str]:
    """Every name of an error that a policy can end with: `error="..."`, `failed(..., "...")`, constants."""
    found = set[str]()
    for path in POLICY_FILES:
        if "policies" in path.parts:
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id == "failed"
                ):
                    texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
                    found |= {text for text in texts if isinstance(text, str)}
    return found


def test_cause_of_every_error_of_a_policy_is_a_sentence() -> None:
    names = errors_in_source()
    assert "empty_summary" in names
    assert len(names) >= 4
    for name in names - {"nothing_to_compact"}:
        assert "_" not in failure_cause(name, ()), name


def names_in_source() -> set[str]:
    """The name of every event that our code makes: `Event("...")`, `turn.log("...")`."""
    found = set[str]()
    for path in POLICY_FILES:
        if "policies" in path.parts or path.name in ("validity.py", "edits.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and node.args
                    and isinstance(node.args[0], ast.Constant)
                ):
                    name = (
                        node.func.id
                        if isinstance(node.func, ast.Name)
                        else getattr(node.func, "attr", "")
                    )
                    if name in ("Event", "log") and isinstance(node.args[0].value, str):
                        found.add(node.args[0].value)
    return found


def test_every_event_that_our_policies_send_has_a_sentence() -> None:
    names = names_in_source()
    assert len(names) > 25
    for name in names:
        sentence = event_words(Event(name, {}))
        assert sentence.endswith("."), name
        assert sentence[0].isupper() or sentence[0].isdigit(), name


def test_event_of_a_policy_that_is_not_ours_has_no_sentence() -> None:
    assert event_words(Event("SomethingElse", {"tokens": 3})) == ""


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        (
            "MicrocompactRan",
            {"freed_tokens": 1234},
            "Old tool results were cleared, which freed 1,234 tokens.",
        ),
        (
            "MidCompactLayer1Ran",
            {"messages_collapsed": 1},
            "A mechanical digest replaced 1 message; no model was called.",
        ),
        (
            "AutoCompactSummarizerCalled",
            {"succeeded": False},
            "The model call for the summary failed.",
        ),
        (
            "AutoCompactSummarizerCalled",
            {
                "succeeded": True,
                "prompt_tokens": 900,
                "output_tokens": 20,
                "drop_oldest_retries": 1,
            },
            "The model call for the summary succeeded after 1 retry with fewer messages (900 tokens in, 20 out).",
        ),
        (
            "CompactComplete",
            {"llm_succeeded": False},
            "The compaction ended without a model's summary.",
        ),
        ("auto_compaction_end", {"errorMessage": "No model."}, "The compaction failed: No model."),
    ],
)
def test_sentence_of_an_event_tells_its_fields(
    name: str, fields: dict[str, Json], words: str
) -> None:
    assert event_words(Event(name, fields)) == words


@pytest.mark.parametrize("name", POLICIES)
def test_words_of_every_tier_of_every_policy_are_sentences(name: str) -> None:
    bench = answered_by(offline)
    bench.stepping.choose(policy=name, settings=())
    bench.set_window(3_000)
    for tier in POLICIES[name].tiers:
        bench.stepping.step(tier.name)
        words = step_words(taken(bench))
        assert words.endswith(".")
        assert "_" not in words
        assert all(event_words(event) for event in taken(bench).events)
