"""One compaction: would Pi compact this buffer, the summary calls, and the buffer after it (spec 3.2 to 3.10)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.jsontext import dumps
from inspector.core.message import Json, Message, Text, Thinking, ToolCall
from inspector.core.needs import Answer, Conversation, Failure, Summarize
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.pi import usage
from inspector.core.policies.pi.entries import (
    NO_FILES,
    Files,
    Preparation,
    Rules,
    border_of,
    entries_at,
    leading_system,
    prepare,
)
from inspector.core.policies.pi.settings import PiContext, PiSettings, PiState
from inspector.core.policies.settings import WHOSE
from inspector.core.policies.turn import Done
from inspector.core.policies.verdict import Verdict, measured
from inspector.core.tokens.harnesses import u16
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
TOOL_RESULT_MAX = 2_000
"""UTF-16 units of a tool result that the summariser sees."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The trigger's numbers. `guard` says what keeps it from firing although it is over; empty = nothing."""

    fill: usage.Fill
    reserve: int
    limit: int
    over: bool
    guard: str = ""

    @property
    def due(self) -> bool:
        return self.over and not self.guard


def judge(context: PiContext) -> Judgement:
    """The trigger on this buffer. Cheap where usage is reported: looks at the messages after it only."""
    settings, messages = context.settings, context.messages
    border = border_of(context)
    newest = (message for message in reversed(messages) if message.id == border or message.role == "assistant")
    stale = bool(border) and next((message.id for message in newest), "") == border
    if stale:  # the newest answer is older than the compaction: what was reported for it is not about this buffer
        fill = usage.Fill(usage.estimated_tokens(context.buffer, settings, context.moment.filed))
    else:
        fill = usage.context_tokens(context, border)
    room = usage.reserve(settings, messages)
    over = usage.should_compact(fill.tokens, settings.context_window, room)
    limit = settings.context_window - room
    return Judgement(fill, room, limit, over, _guard(fill, limit, context, stale))


def _guard(fill: usage.Fill, limit: int, context: PiContext, stale: bool) -> str:
    settings, running, reports = context.settings, context.running, usage.reports_of(context)
    if not settings.enabled:
        return "switched off"
    if stale:
        return "the newest answer is older than the compaction"
    if settings.is_code and reports and reports[-1].finish == "aborted":
        return "the newest answer was aborted"
    if settings.safe and not settings.context_window:
        return "the window is unknown"
    if settings.safe and running.open:
        return f"{running.failures} compactions failed in a row"
    if settings.cost_aware and fill.tokens > limit:
        going_on = usage.continue_cost(fill.tokens, settings.keep_recent_tokens, settings.expected_calls)
        if not usage.should_compact_by_cost(fill.tokens, limit, usage.compaction_cost(fill.tokens), going_on):
            return "going on costs less than compacting"
    return ""


def verdict(context: PiContext) -> Verdict:
    """The verdict on the one tier that Pi has."""
    settings, overflow = context.settings, context.moment.overflow
    judgement = judge(context)
    tokens, limit = judgement.fill.tokens, judgement.limit
    why = measured(tokens, limit, f"{settings.context_window:,} − {judgement.reserve:,}")
    notes = [why, _source(judgement.fill), f"the window is {WHOSE[settings.window_from]}", judgement.guard]
    if usage.is_clamped(settings, settings.reserve_tokens):
        notes.append(f"a reserve of {settings.reserve_tokens:,} does not fit: a quarter of the window is kept free")
    if judgement.due and _prepared(Job("threshold"), context) is None:
        notes.append("nothing can be summarised")
    notes.append(f"by the rules of pi {settings.version}")
    due = judgement.due or bool(overflow)
    return Verdict(TIER, due, " · ".join(filter(None, [overflow, *notes])), tokens, limit)


def _source(fill: usage.Fill) -> str:
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
    """An extension's veto."""


@dataclass(frozen=True, slots=True)
class Supplied:
    """A summary: by default an extension's own, in place of the model's."""

    summary: str
    files: Files = NO_FILES
    by_extension: bool = True


Extension: TypeAlias = Callable[[Preparation], Veto | Supplied | None]
"""What listens to `session_before_compact`; None = go on."""


@dataclass(frozen=True, slots=True)
class Job:
    """A compaction to be run: why, and what follows the buffer untouched.

    `rest` are messages that came after the point where Pi compacts: results of the answer that was just given.
    """

    reason: Reason
    rest: tuple[Message, ...] = ()
    retry: bool = False
    """The call is made again afterwards."""
    extension: Extension | None = None


def compact(job: Job, context: PiContext) -> Done[PiState]:
    """Compact. Where it fails nothing is appended: the buffer stays, the event says why."""
    prepared = _prepared(job, context)
    events = [Event("auto_compaction_start", {"reason": job.reason})]
    if prepared is None:
        return _ended(job, context, events, "", False)
    events.append(_before(prepared, context))
    ruling = job.extension(prepared) if job.extension else None
    if isinstance(ruling, Veto):
        return _ended(job, context, events, "", True)
    if ruling is not None:
        return _appended(job, prepared, ruling, context, events)
    settings, running, moment = context.settings, context.running, context.moment
    try:
        if not moment.router:
            raise SummarizationFailed(NO_MODEL)
        room = usage.reserve(settings, context.messages)
        summary = yield from summarise(prepared, settings, room, moment.instructions.strip())
    except SummarizationFailed as failed:
        another_failure = context.with_running(replace(running, failures=running.failures + 1))
        return _ended(job, another_failure, events, str(failed), False)
    return _appended(job, prepared, Supplied(summary, prepared.files, False), context, events)


def _prepared(job: Job, context: PiContext) -> Preparation | None:
    settings = context.settings
    owed = {message.result.call_id for message in job.rest if message.result is not None}
    before = usage.tokens_before(context)
    rules = Rules(settings.is_newest, settings.safe)
    keep = settings.keep_recent_tokens
    return prepare(entries_at(context), keep, before, settings.legacy_start, owed, rules)


def _before(prepared: Preparation, context: PiContext) -> Event:
    """The design's fields and the code's."""
    judgement = judge(context)
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


def _ended(job: Job, context: PiContext, events: Sequence[Event], error: str, aborted: bool) -> Outcome[PiState]:
    """Nothing was appended. With neither an error nor a veto there was nothing to compact."""
    fields = {"result": None, "aborted": aborted, "willRetry": False} | ({"errorMessage": error} if error else {})
    buffer = context.buffer.with_messages((*context.messages, *job.rest)) if job.rest else context.buffer
    return Outcome(TIER, buffer, context.running, (*events, Event("auto_compaction_end", fields)), False, error)


def _appended(
    job: Job, prepared: Preparation, made: Supplied, context: PiContext, events: Sequence[Event]
) -> Outcome[PiState]:
    messages, running = context.messages, context.running
    lead, kept = messages[: leading_system(messages)], {message.id for message in prepared.kept}
    removed = [message for message in messages[len(lead) :] if message.id not in kept]
    pinned = _pinned(removed, prepared) if context.settings.pin_last_user else ()
    inserted = usage.summary_message(made.summary, removed)
    after = (*lead, inserted, *pinned, *prepared.kept)
    stays = {message.id for message in (*pinned, *prepared.lost)}
    changed: dict[str, FateName] = {message.id: "summarised" for message in removed if message.id not in stays}
    result: dict[str, Json] = {
        "summary": made.summary,
        "firstKeptEntryId": prepared.first_kept,
        "tokensBefore": prepared.tokens_before,
        "details": {"readFiles": list(made.files.read), "modifiedFiles": list(made.files.modified)},
    }
    after_events = (
        Event("session_compact", {"compactionEntry": inserted.id, "fromExtension": made.by_extension}),
        Event("auto_compaction_end", {"result": result, "aborted": False, "willRetry": job.retry}),
    )
    buffer = context.buffer.with_messages((*after, *job.rest))
    seen, count = buffer.messages[-1].id, running.compactions + 1
    border, first = after[-1].id, prepared.first_kept
    running = replace(running, border=border, first_kept=first, seen=seen, failures=0, compactions=count)
    return Outcome(TIER, buffer, running, (*events, *after_events), changed=changed)


def _pinned(removed: Sequence[Message], prepared: Preparation) -> tuple[Message, ...]:
    """Ours: the newest user message, where it is not kept anyway."""
    if any(_is_prompt(message) for message in prepared.kept):
        return ()
    newest = next((message for message in reversed(removed) if _is_prompt(message)), None)
    return (newest,) if newest else ()


def _is_prompt(message: Message) -> bool:
    return message.role == "user" and not message.summary


class SummarizationFailed(Exception):
    """A summary could not be had. Its text is the harness's own sentence."""


def summarise(prepared: Preparation, settings: PiSettings, reserve: int, focus: str = "") -> Conversation[str]:
    """compact(): one call, or two where a turn is split; then the file lists. Raises SummarizationFailed."""
    to_summarise, turn_prefix = prepared.counts
    if prepared.split and turn_prefix:
        before = NO_HISTORY
        if to_summarise:
            before = yield from _history(prepared, settings, reserve, focus)
        elif (settings.safe or settings.is_newest) and prepared.previous_summary:
            before = prepared.previous_summary  # older ones lose it here
        prefix = yield from _turn_prefix(prepared.turn_prefix, settings, reserve, focus)
        text = f"{before}{SPLIT}{prefix}"
    else:
        text = yield from _history(prepared, settings, reserve, focus)
    return text + prepared.files.text()


def _history(prepared: Preparation, settings: PiSettings, reserve: int, focus: str) -> Conversation[str]:
    parts = [f"<conversation>\n{serialise(prepared.to_summarise, not settings.is_newest)}\n</conversation>"]
    if prepared.previous_summary:
        parts.append(f"<previous-summary>\n{prepared.previous_summary}\n</previous-summary>")
    instructions = UPDATE if prepared.previous_summary else INITIAL
    parts.append(_focused(instructions, focus))
    need = Summarize(
        SYSTEM,
        "\n\n".join(parts),
        max_tokens=None if settings.is_newest else reserve * 8 // 10,
        source=prepared.to_summarise,
        purpose="history",
    )
    return (yield from _asked(need, "Summarization failed", settings))


def _turn_prefix(messages: tuple[Message, ...], settings: PiSettings, reserve: int, focus: str) -> Conversation[str]:
    """The newest Pi says nothing of a limit, and what the user wants kept it says here, too."""
    text = serialise(messages, not settings.is_newest)
    if settings.is_newest:
        text, most = f"# Conversation\n{text}\n\n# Instructions\n{_focused(TURN_PREFIX, focus)}", None
    else:
        text, most = f"<conversation>\n{text}\n</conversation>\n\n{TURN_PREFIX}", reserve // 2
    need = Summarize(SYSTEM, text, max_tokens=most, source=messages, purpose="turn prefix")
    return (yield from _asked(need, "Turn prefix summarization failed", settings))


def _focused(instructions: str, focus: str) -> str:
    return f"{instructions}\n\nAdditional focus: {focus}" if focus else instructions


def _asked(need: Summarize, what: str, settings: PiSettings) -> Conversation[str]:
    try:
        answer: Answer = yield need
    except Failure as failure:
        raise SummarizationFailed(f"{what}: {failure}") from None
    if settings.is_newest and answer.finish in ("length", "max_tokens"):
        raise SummarizationFailed(f"{what}: generation hit the token cap and the summary is incomplete")
    if settings.safe and not answer.text.strip():
        raise SummarizationFailed(f"{what}: the summary is empty")
    return answer.text


def serialise(messages: Iterable[Message], thoughts: bool = True) -> str:
    """serializeConversation: labelled blocks, a blank line between them. The newest Pi leaves thoughts out."""
    return "\n\n".join(block for message in messages for block in _blocks(message, thoughts))


def _blocks(message: Message, thoughts: bool) -> Iterator[str]:
    match message.role:
        case "assistant":
            yield from _answer(message, thoughts)
        case "tool":
            content = "".join(message.result.blocks or (message.result.content,)) if message.result is not None else ""
            if content:
                yield f"[Tool result]: {truncated(content)}"
        case _:
            text = "".join(part.text for part in message.parts if isinstance(part, Text))
            if text:
                yield f"[User]: {text}"


def _answer(message: Message, thoughts: bool) -> Iterator[str]:
    thinking = [part.text for part in message.parts if isinstance(part, Thinking)] if thoughts else []
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    if thinking:
        yield "[Assistant thinking]: " + "\n".join(thinking)
    if texts:
        yield "[Assistant]: " + "\n".join(texts)
    if message.calls:
        yield "[Assistant tool calls]: " + "; ".join(map(_call, message.calls))


def _call(call: ToolCall) -> str:
    arguments = call.arguments
    if isinstance(arguments, Mapping):
        return f"{call.name}({', '.join(f'{key}={dumps(value)}' for key, value in arguments.items())})"
    return f"{call.name}({dumps(arguments)})"


def truncated(text: str, limit: int = TOOL_RESULT_MAX) -> str:
    """The first `limit` UTF-16 units, and how many were left out."""
    length = u16(text)
    if length <= limit:
        return text
    head = text.encode("utf-16-le", "surrogatepass")[: 2 * limit].decode("utf-16-le", "replace")
    return f"{head}\n\n[... {length - limit} more characters truncated]"
