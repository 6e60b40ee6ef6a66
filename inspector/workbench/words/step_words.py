"""Describe what a step did and which needs it had, in sentences for people who do not know the imitated harness."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.core.answering import AnsweredNeed, missing_files_words
from inspector.core.needs import (
    Answer,
    Failure,
    Need,
    RemoteCompact,
    SaveText,
    SaveTranscript,
    Summarize,
)
from inspector.core.outcome import FateName, Outcome
from inspector.core.words import plural
from inspector.workbench.steps import Step

MODEL_CALLS = (Summarize, RemoteCompact)
"""Needs that a model answers."""
_FATES: Mapping[FateName, str] = {
    "cleared": "cleared",
    "cut": "shortened",
    "replaced": "changed",
    "summarised": "replaced by a summary",
    "dropped": "removed",
    "inserted": "inserted",
}
_ANSWERERS = {
    "offline": "offline",
    "person": "manually",
    "simulated": "by the simulated provider",
    "script": "by a script",
    "recording": "as recorded",
}
_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}
_CAUSES: Mapping[str, str] = {
    "overflow_after_retries": "The summary call exceeded the model's window, even without the oldest messages",
    "empty_summary": "The model returned an empty summary",
    "blank_summary": "The model returned an empty summary",
    "no_gain": "The result would not have been smaller",
    "inflated": "The summary was larger than what it would have replaced",
    "transcript_not_saved": "The transcript could not be saved first",
}
"""Why a tier failed, by the name of the error."""
NOTHING = "There was nothing to compact."


def step_words(step: Step) -> str:
    """Describe what a step did: `74 messages cleared.`, or why it failed; then its model calls and files."""
    parts = [
        outcome_words(outcome, step.asked) for outcome in step.outcomes if _counts(outcome, step)
    ]
    if not parts:
        parts = ["Nothing changed."]
    calls = [need for need in step.asked if not (step.error and isinstance(need.reply, Failure))]
    return " ".join([*dict.fromkeys(parts), *calls_words(calls), *files_words(step.asked)])


def _counts(outcome: Outcome[Any], step: Step) -> bool:
    """Does the outcome add anything to the description of its step?"""
    return (
        bool(outcome.changed or outcome.error) or not outcome.succeeded or len(step.outcomes) == 1
    )


def outcome_words(outcome: Outcome[Any], needs: Sequence[AnsweredNeed]) -> str:
    """Describe what one tier did. `needs` are the needs of its step."""
    if outcome.succeeded and not outcome.error:
        return f"{_changes(outcome)}."
    if outcome.error in ("", "nothing_to_compact"):
        return NOTHING
    cause = failure_cause(outcome.error, needs)
    if not outcome.changed:
        return f"{cause}, so nothing was changed."
    return (
        f"{cause}, so a mechanical digest was used for {plural(len(outcome.changed), 'message')}."
    )


def _changes(outcome: Outcome[Any]) -> str:
    counts = Counter(outcome.changed.values())
    parts = [
        f"{plural(counts[fate], 'message')} {words}"
        for fate, words in _FATES.items()
        if counts[fate]
    ]
    return ", ".join(parts) or "Nothing changed"


def failure_cause(error: str, needs: Sequence[AnsweredNeed]) -> str:
    """Return a clause that says why a tier failed.

    Args:
        error: Name of the error of the outcome.
        needs: The needs of the tier, with the answers.

    Returns:
        A clause without a final period, which the caller continues.
    """
    match error:
        case "contract_violation":
            return _missing_headings(needs)
        case "provider_failure":
            failures = [need.reply for need in needs if isinstance(need.reply, Failure)]
            if failures:
                return f"The model call failed ({failures[-1]})"
            return "The model call returned no answer"
        case _:
            return _CAUSES.get(error, error.rstrip("."))


def _missing_headings(needs: Sequence[AnsweredNeed]) -> str:
    for answered in reversed(needs):
        need = answered.need
        reply = answered.reply
        if isinstance(need, Summarize) and need.headings and isinstance(reply, Answer):
            missing = missing_headings(need, reply.text)
            if len(missing) < len(need.headings):
                return f"The answer lacks the {'heading' if len(missing) == 1 else 'headings'} {', '.join(missing)}"
            return (
                f"The answer lacks the {_NUMBERS.get(len(missing), len(missing))} required headings"
            )
    return "The answer lacks the required headings"


def missing_headings(need: Need, text: str) -> tuple[str, ...]:
    """Return the headings that the tier requires of the answer and that `text` does not have."""
    headings = need.headings if isinstance(need, Summarize) else ()
    return tuple(heading for heading in headings if heading not in text)


def calls_words(needs: Sequence[AnsweredNeed]) -> Iterator[str]:
    """Say how many model calls there were and who answered them: `2 model calls answered offline.`"""
    calls = [need for need in needs if isinstance(need.need, MODEL_CALLS)]
    counts = Counter(_reply_words(need.reply) for need in calls)
    for words, count in counts.items():
        yield f"{plural(count, 'model call')} {words}."


def _reply_words(reply: Answer | Failure) -> str:
    if isinstance(reply, Failure):
        return "failed"
    return f"answered {answerer_words(reply.by)}"


def answerer_words(by: str) -> str:
    """Return the answerer in words: `offline`, `manually`, `by anthropic`."""
    return _ANSWERERS.get(by, f"by {by}" if by else "by an unknown provider")


def files_words(needs: Sequence[AnsweredNeed]) -> Iterator[str]:
    """Say which files could not be re-attached, and what could not be saved."""
    if missing := missing_files_words(needs):
        yield f"{missing}."
    saved = [need.reply for need in needs if isinstance(need.need, SaveTranscript | SaveText)]
    failed = [reply for reply in saved if isinstance(reply, Failure)]
    if failed:
        yield f"{plural(len(failed), 'file')} could not be written ({failed[-1]})."
