"""The summary calls of a compaction, and how their answers become its text (spec 3.7)."""

from collections.abc import Sequence

from inspector.core.message import Message
from inspector.core.needs import Answer, Conversation, Failure, Summarize
from inspector.core.policies.pi.preparation import Preparation
from inspector.core.policies.pi.serialise import serialise
from inspector.core.policies.pi.settings import Settings

NO_HISTORY = "No prior history."
SPLIT = "\n\n---\n\n**Turn Context (split turn):**\n\n"

SYSTEM = (
    "You summarise the session of a user with an AI coding assistant. You are given the session as text. "
    "Do not continue it and do not answer its questions: write the summary in the form that is asked for, nothing else."
)
_SECTIONS = """## Goal
What the user wants; several points where there are several tasks.

## Constraints & Preferences
What the user demanded or prefers; "(none)" where nothing was said.

## Progress
### Done
What was finished.
### In Progress
What is under way.
### Blocked
What stands in the way, if anything.

## Key Decisions
Each decision with its reason.

## Next Steps
What comes next, in order.

## Critical Context
Data, references and examples without which the work cannot go on; "(none)" where there are none.

Be short. Keep file paths, names of functions and error messages as they are."""
INITIAL = (
    "The text above is a session to be summarised, so that another model can go on with the work. "
    f"Use exactly this form:\n\n{_SECTIONS}"
)
UPDATE = (
    "The text above is what happened since the summary in <previous-summary> was written. Bring that summary up to "
    "date: keep what it says, add what is new, move what was finished from In Progress to Done, renew Next Steps, "
    f"drop only what no longer matters. Use exactly this form:\n\n{_SECTIONS}"
)
TURN_PREFIX = (
    "The text above is the beginning of a turn that was too long to be kept whole; its end stays word for word. "
    "Summarise the beginning so that the end can be understood:\n\n"
    "## Original Request\nWhat the user asked for in this turn.\n\n"
    "## Early Progress\nWhat was done and decided in this part.\n\n"
    "## Context for Suffix\nWhat the kept end builds on."
)


class SummarizationFailed(Exception):
    """A summary could not be had. Its text is the harness's own sentence."""


def history_cap(reserve: int) -> int:
    """floor(0.8 x reserve): output tokens of the summary."""
    return reserve * 8 // 10


def prefix_cap(reserve: int) -> int:
    """floor(0.5 x reserve): output tokens of a turn prefix's summary."""
    return reserve // 2


def summarise(prepared: Preparation, settings: Settings, reserve: int, focus: str = "") -> Conversation[str]:
    """compact(): one call, or two where a turn is split; then the file lists. Raises SummarizationFailed."""
    if prepared.split and prepared.turn_prefix:
        before = NO_HISTORY
        if prepared.to_summarise:
            before = yield from _history(prepared, settings, reserve, focus)
        elif (settings.safe or settings.is_newest) and prepared.previous_summary:
            before = prepared.previous_summary  # older ones lose it here
        prefix = yield from _turn_prefix(prepared.turn_prefix, settings, reserve, focus)
        text = f"{before}{SPLIT}{prefix}"
    else:
        text = yield from _history(prepared, settings, reserve, focus)
    return text + prepared.files.text()


def _history(prepared: Preparation, settings: Settings, reserve: int, focus: str) -> Conversation[str]:
    parts = [f"<conversation>\n{_told(prepared.to_summarise, settings)}\n</conversation>"]
    if prepared.previous_summary:
        parts.append(f"<previous-summary>\n{prepared.previous_summary}\n</previous-summary>")
    instructions = UPDATE if prepared.previous_summary else INITIAL
    parts.append(_focused(instructions, focus))
    need = Summarize(
        SYSTEM,
        "\n\n".join(parts),
        max_tokens=None if settings.is_newest else history_cap(reserve),
        source=prepared.to_summarise,
        purpose="history",
    )
    return (yield from _asked(need, "Summarization failed", settings))


def _turn_prefix(messages: tuple[Message, ...], settings: Settings, reserve: int, focus: str) -> Conversation[str]:
    """The newest Pi says nothing of a limit, and what the user wants kept it says here, too."""
    told = _told(messages, settings)
    if settings.is_newest:
        text, most = f"# Conversation\n{told}\n\n# Instructions\n{_focused(TURN_PREFIX, focus)}", None
    else:
        text, most = f"<conversation>\n{told}\n</conversation>\n\n{TURN_PREFIX}", prefix_cap(reserve)
    need = Summarize(SYSTEM, text, max_tokens=most, source=messages, purpose="turn prefix")
    return (yield from _asked(need, "Turn prefix summarization failed", settings))


def _told(messages: Sequence[Message], settings: Settings) -> str:
    return serialise(messages, thoughts=not settings.is_newest)


def _focused(instructions: str, focus: str) -> str:
    return f"{instructions}\n\nAdditional focus: {focus}" if focus else instructions


def _asked(need: Summarize, what: str, settings: Settings) -> Conversation[str]:
    try:
        answer: Answer = yield need
    except Failure as failure:
        raise SummarizationFailed(f"{what}: {failure}") from None
    if settings.is_newest and answer.finish in ("length", "max_tokens"):
        raise SummarizationFailed(f"{what}: generation hit the token cap and the summary is incomplete")
    if settings.safe and not answer.text.strip():
        raise SummarizationFailed(f"{what}: the summary is empty")
    return answer.text
