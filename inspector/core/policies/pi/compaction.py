"""Run one compaction of Pi: judge whether it is due, make its summary calls, and build the new buffer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.message import Json, Message
from inspector.core.needs import Answer, Conversation, Failure, Summarize
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.pi.context_size import (
    Fill,
    choose_reserve,
    compaction_cost,
    continue_cost,
    estimate_buffer,
    is_clamped,
    is_compaction_cheaper,
    is_over_limit,
    make_summary_message,
    measure_context,
    read_reports,
    tokens_before,
)
from inspector.core.policies.pi.entries import (
    Preparation,
    count_leading_system,
    entries_at,
    find_border,
    prepare,
)
from inspector.core.policies.pi.files import NO_FILES, Files
from inspector.core.policies.pi.rules import PiRules
from inspector.core.policies.pi.serialising import serialise_messages
from inspector.core.policies.pi.settings import PiContext, PiSettings, PiState
from inspector.core.policies.settings import WHOSE
from inspector.core.policies.turn import Done
from inspector.core.policies.verdict import Verdict, compare_to_limit
from inspector.core.words import plural

TIER = "compact"
Reason: TypeAlias = Literal["threshold", "overflow", "manual"]
NO_MODEL = "Summarization failed: no model is selected"
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


@dataclass(frozen=True, slots=True)
class Judgement:
    """The figures of the trigger, and whether it fires."""

    fill: Fill
    reserve: int
    limit: int
    over: bool
    guard: str = ""
    """The reason for which the trigger does not fire even if the buffer is over the limit; empty if there is none."""

    @property
    def due(self) -> bool:
        return self.over and not self.guard


def judge_trigger(context: PiContext) -> Judgement:
    """Apply the trigger to this buffer. Cheap if usage is reported, as only the messages after the report are read."""
    settings, messages = context.settings, context.messages
    border = find_border(context)
    is_stale = _is_stale(messages, border)
    if is_stale:
        fill = Fill(estimate_buffer(context.buffer, settings, context.moment.filed))
    else:
        fill = measure_context(context, border)
    reserve = choose_reserve(settings, messages)
    is_over = is_over_limit(fill.tokens, settings.context_window, reserve)
    limit = settings.context_window - reserve
    return Judgement(fill, reserve, limit, is_over, _find_guard(fill, limit, context, is_stale))


def _is_stale(messages: Sequence[Message], border: str) -> bool:
    """Is the newest answer older than the compaction, so that its usage does not describe this buffer?"""
    if not border:
        return False
    for message in reversed(messages):
        if message.id == border:
            return True
        if message.role == "assistant":
            return False
    return False


def _find_guard(fill: Fill, limit: int, context: PiContext, is_stale: bool) -> str:
    """Return the reason for which the trigger must not fire, such as "switched off"; empty if there is none."""
    settings = context.settings
    running = context.running
    reports = read_reports(context)
    if not settings.enabled:
        return "switched off"
    if is_stale:
        return "the newest answer is older than the compaction"
    if settings.rules.counts_as_code and reports and reports[-1].finish == "aborted":
        return "the newest answer was aborted"
    if settings.safe and not settings.context_window:
        return "the window is unknown"
    if settings.safe and running.open:
        return f"{running.failures} compactions failed in a row"
    if settings.cost_aware and _costs_more(fill, limit, settings):
        return "continuing costs less than compacting"
    return ""


def _costs_more(fill: Fill, limit: int, settings: PiSettings) -> bool:
    """Does compacting now cost more than continuing without it?"""
    if fill.tokens <= limit:
        return False
    continuing = continue_cost(fill.tokens, settings.keep_recent_tokens, settings.expected_calls)
    return not is_compaction_cheaper(
        fill.tokens,
        threshold=limit,
        compaction_cost=compaction_cost(fill.tokens),
        continue_cost=continuing,
    )


def give_verdict(context: PiContext) -> Verdict:
    """Return the verdict on Pi's only tier."""
    settings, overflow = context.settings, context.moment.overflow
    judgement = judge_trigger(context)
    tokens, limit = judgement.fill.tokens, judgement.limit
    notes = [
        compare_to_limit(tokens, limit, f"{settings.context_window:,} − {judgement.reserve:,}"),
        _describe_source(judgement.fill),
        f"the window is {WHOSE[settings.window_from]}",
        judgement.guard,
    ]
    if is_clamped(settings, settings.reserve_tokens):
        notes.append(
            f"a reserve of {settings.reserve_tokens:,} does not fit: a quarter of the window is kept free"
        )
    if judgement.due and _prepare(Job("threshold"), context) is None:
        notes.append("nothing can be summarised")
    notes.append(f"by the rules of pi {settings.rules.version}")
    is_due = judgement.due or bool(overflow)
    why = " · ".join(filter(None, [overflow, *notes]))
    return Verdict(TIER, is_due, why=why, tokens=tokens, limit=limit)


def _describe_source(fill: Fill) -> str:
    if fill.reported is None:
        return "estimated"
    if not fill.since:
        return "as reported for the newest answer"
    since = f"{plural(fill.since, 'message')} after it"
    if fill.tokens == fill.reported:
        return f"as reported, {since} not counted"
    return f"{fill.reported:,} reported, {since} estimated"


@dataclass(frozen=True, slots=True)
class Veto:
    """An extension's refusal to compact."""


@dataclass(frozen=True, slots=True)
class Supplied:
    """A summary: of an extension by default, or of the model."""

    summary: str
    files: Files = NO_FILES
    by_extension: bool = True


Extension: TypeAlias = Callable[[Preparation], Veto | Supplied | None]
"""A listener to `session_before_compact`. It returns None to let the compaction proceed."""


@dataclass(frozen=True, slots=True)
class Job:
    """A compaction to run, and its reason."""

    reason: Reason
    rest: tuple[Message, ...] = ()
    """Messages after the point at which Pi compacts, which are kept: results of the newest answer."""
    retry: bool = False
    """True if the model request is repeated after the compaction."""
    extension: Extension | None = None


def run_compaction(job: Job, context: PiContext) -> Done[PiState]:
    """Compact the buffer. If the compaction fails, the buffer is unchanged, and the last event says why."""
    prepared = _prepare(job, context)
    events = [Event("auto_compaction_start", {"reason": job.reason})]
    if prepared is None:
        return _end_unchanged(job, context, events, error="", aborted=False)
    events.append(_describe_preparation(prepared, context))
    ruling = job.extension(prepared) if job.extension else None
    if isinstance(ruling, Veto):
        return _end_unchanged(job, context, events, error="", aborted=True)
    if ruling is not None:
        return _append_summary(job, prepared, supplied=ruling, context=context, events=events)
    settings, running, moment = context.settings, context.running, context.moment
    try:
        if not moment.router:
            raise SummarizationFailed(NO_MODEL)
        reserve = choose_reserve(settings, context.messages)
        summary = yield from request_summary(
            prepared, settings.rules, reserve, focus=moment.instructions.strip()
        )
    except SummarizationFailed as failure:
        failed = context.with_running(replace(running, failures=running.failures + 1))
        return _end_unchanged(job, context=failed, events=events, error=str(failure), aborted=False)
    return _append_summary(
        job, prepared, Supplied(summary, prepared.files, by_extension=False), context, events
    )


def _prepare(job: Job, context: PiContext) -> Preparation | None:
    settings = context.settings
    owed = {message.result.call_id for message in job.rest if message.result is not None}
    return prepare(
        entries_at(context),
        settings.keep_recent_tokens,
        tokens_before(context),
        settings.legacy_start,
        owed,
        settings.rules,
    )


def _describe_preparation(prepared: Preparation, context: PiContext) -> Event:
    """Return the event `session_before_compact`, with the fields of both Pi's design and its code."""
    judgement = judge_trigger(context)
    to_summarise, turn_prefix = prepared.counts
    preparation: dict[str, Json] = {
        "firstKeptEntryId": prepared.first_kept,
        "messagesToSummarize": to_summarise,
        "turnPrefixMessages": turn_prefix,
        "isSplitTurn": prepared.split,
        "tokensBefore": prepared.tokens_before,
        "previousSummary": prepared.previous_summary is not None,
    }
    fields: dict[str, Json] = {
        "contextTokens": judgement.fill.tokens,
        "contextWindow": context.settings.context_window,
        "reserveTokens": judgement.reserve,
        "preparation": preparation,
        "customInstructions": context.moment.instructions,
    }
    return Event("session_before_compact", fields)


def _end_unchanged(
    job: Job, context: PiContext, events: Sequence[Event], error: str, aborted: bool
) -> Outcome[PiState]:
    """Return the outcome without a compaction. Without an error or a veto, there was nothing to compact."""
    fields: dict[str, Json] = {"result": None, "aborted": aborted, "willRetry": False}
    if error:
        fields["errorMessage"] = error
    buffer = (
        context.buffer.with_messages((*context.messages, *job.rest)) if job.rest else context.buffer
    )
    return Outcome(
        TIER,
        buffer,
        context.running,
        events=(*events, Event("auto_compaction_end", fields)),
        succeeded=False,
        error=error,
    )


def _append_summary(
    job: Job, prepared: Preparation, supplied: Supplied, context: PiContext, events: Sequence[Event]
) -> Outcome[PiState]:
    """Return the outcome in which the summary replaces the removed messages."""
    messages, running = context.messages, context.running
    lead = messages[: count_leading_system(messages)]
    kept_ids = {message.id for message in prepared.kept}
    removed = [message for message in messages[len(lead) :] if message.id not in kept_ids]
    pinned = _find_pinned(removed, prepared) if context.settings.pin_last_user else ()
    inserted = make_summary_message(supplied.summary, removed)
    after = (*lead, inserted, *pinned, *prepared.kept)
    not_summarised = {message.id for message in (*pinned, *prepared.lost)}
    changed: dict[str, FateName] = {
        message.id: "summarised" for message in removed if message.id not in not_summarised
    }
    result: dict[str, Json] = {
        "summary": supplied.summary,
        "firstKeptEntryId": prepared.first_kept,
        "tokensBefore": prepared.tokens_before,
        "details": {
            "readFiles": list(supplied.files.read),
            "modifiedFiles": list(supplied.files.modified),
        },
    }
    after_events = (
        Event(
            "session_compact",
            {"compactionEntry": inserted.id, "fromExtension": supplied.by_extension},
        ),
        Event("auto_compaction_end", {"result": result, "aborted": False, "willRetry": job.retry}),
    )
    buffer = context.buffer.with_messages((*after, *job.rest))
    running = replace(
        running,
        border=after[-1].id,
        first_kept=prepared.first_kept,
        seen=buffer.messages[-1].id,
        failures=0,
        compactions=running.compactions + 1,
    )
    return Outcome(TIER, buffer, running, events=(*events, *after_events), changed=changed)


def _find_pinned(removed: Sequence[Message], prepared: Preparation) -> tuple[Message, ...]:
    """Return the newest user message if no user message is kept. Pi itself does not do so."""
    if any(_is_prompt(message) for message in prepared.kept):
        return ()
    newest = next((message for message in reversed(removed) if _is_prompt(message)), None)
    return (newest,) if newest else ()


def _is_prompt(message: Message) -> bool:
    return message.role == "user" and not message.summary


class SummarizationFailed(Exception):
    """No summary was obtained. The message is in Pi's own words."""


def request_summary(
    prepared: Preparation, rules: PiRules, reserve: int, focus: str = ""
) -> Conversation[str]:
    """Request the summary, with one call, or two if a turn is split, and append the lists of files.

    Args:
        reserve: Tokens of the window that are kept free. They limit the length of the answer.
        focus: The user's wishes for the summary; empty for none.

    Raises:
        SummarizationFailed: A call fails, or its answer is refused.
    """
    history_count, prefix_count = prepared.counts
    if not prepared.split or not prefix_count:
        text = yield from _summarise_history(prepared, rules, reserve, focus)
        return text + prepared.files.text()
    history = NO_HISTORY
    if history_count:
        history = yield from _summarise_history(prepared, rules, reserve, focus)
    elif rules.keeps_previous_summary and prepared.previous_summary:
        history = prepared.previous_summary
    prefix = yield from _summarise_turn_prefix(prepared.turn_prefix, rules, reserve, focus)
    return f"{history}{SPLIT}{prefix}{prepared.files.text()}"


def _summarise_history(
    prepared: Preparation, rules: PiRules, reserve: int, focus: str
) -> Conversation[str]:
    parts = [f"<conversation>\n{serialise_messages(prepared.to_summarise, rules)}\n</conversation>"]
    if prepared.previous_summary:
        parts.append(f"<previous-summary>\n{prepared.previous_summary}\n</previous-summary>")
    instructions = UPDATE if prepared.previous_summary else INITIAL
    parts.append(_add_focus(instructions, focus))
    need = Summarize(
        SYSTEM,
        "\n\n".join(parts),
        max_tokens=reserve * 8 // 10 if rules.limits_summary else None,
        source=prepared.to_summarise,
        purpose="history",
    )
    return (yield from _ask_model(need, "Summarization failed", rules))


def _summarise_turn_prefix(
    messages: tuple[Message, ...], rules: PiRules, reserve: int, focus: str
) -> Conversation[str]:
    text = serialise_messages(messages, rules)
    if rules.focuses_turn_prefix:
        text = f"# Conversation\n{text}\n\n# Instructions\n{_add_focus(TURN_PREFIX, focus)}"
    else:
        text = f"<conversation>\n{text}\n</conversation>\n\n{TURN_PREFIX}"
    max_tokens = reserve // 2 if rules.limits_summary else None
    need = Summarize(SYSTEM, text, max_tokens=max_tokens, source=messages, purpose="turn prefix")
    return (yield from _ask_model(need, "Turn prefix summarization failed", rules))


def _add_focus(instructions: str, focus: str) -> str:
    return f"{instructions}\n\nAdditional focus: {focus}" if focus else instructions


def _ask_model(need: Summarize, failure_text: str, rules: PiRules) -> Conversation[str]:
    try:
        answer: Answer = yield need
    except Failure as failure:
        raise SummarizationFailed(f"{failure_text}: {failure}") from None
    if rules.refuses_cut_summary and answer.finish in ("length", "max_tokens"):
        raise SummarizationFailed(
            f"{failure_text}: generation hit the token cap and the summary is incomplete"
        )
    if rules.refuses_empty_summary and not answer.text.strip():
        raise SummarizationFailed(f"{failure_text}: the summary is empty")
    return answer.text
