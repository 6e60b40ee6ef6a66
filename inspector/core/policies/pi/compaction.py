"""One compaction, from the first event to the buffer after it (spec 3.6, 3.7, 3.9)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.message import Json, Message
from inspector.core.needs import Conversation
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.pi.cut import rules_of
from inspector.core.policies.pi.entries import leading_system
from inspector.core.policies.pi.files import NO_FILES, Files
from inspector.core.policies.pi.judgement import judge
from inspector.core.policies.pi.placement import summary_message
from inspector.core.policies.pi.preparation import Preparation, prepare
from inspector.core.policies.pi.running import Running, border_of, entries_at, reports_of
from inspector.core.policies.pi.settings import Settings
from inspector.core.policies.pi.summaries import SummarizationFailed, summarise
from inspector.core.policies.pi.trigger import reserve
from inspector.core.policies.pi.usage import tokens_before
from inspector.core.policies.policy import Moment

TIER = "compact"
Reason: TypeAlias = Literal["threshold", "overflow", "manual"]
NO_MODEL = "Summarization failed: no model is selected"


@dataclass(frozen=True, slots=True)
class Cancelled:
    """An extension's veto."""


@dataclass(frozen=True, slots=True)
class Supplied:
    """An extension's own summary, in place of the model's."""

    summary: str
    files: Files = NO_FILES


Extension: TypeAlias = Callable[[Preparation], Cancelled | Supplied | None]
"""What listens to `session_before_compact`; None = go on."""


@dataclass(frozen=True, slots=True)
class Task:
    """A compaction to be run: why, on which buffer, and what stands behind it untouched.

    `rest` are messages that came after the point where Pi compacts: results of the answer that was just given.
    """

    buffer: Buffer
    reason: Reason
    rest: tuple[Message, ...] = ()
    retry: bool = False
    """The call is made again afterwards."""
    extension: Extension | None = None


def compact(task: Task, settings: Settings, running: Running, moment: Moment) -> Conversation[Outcome[Running]]:
    """Compact. Where it fails nothing is appended: the buffer stays, the event says why."""
    prepared = _prepared(task, settings, running, moment)
    events = [Event("auto_compaction_start", {"reason": task.reason})]
    if prepared is None:
        return _ended(task, running, events, "", False)
    events.append(_before(task, prepared, settings, running, moment))
    ruling = task.extension(prepared) if task.extension else None
    if isinstance(ruling, Cancelled):
        return _ended(task, running, events, "", True)
    if isinstance(ruling, Supplied):
        return _appended(task, prepared, ruling.summary, ruling.files, settings, running, events, supplied=True)
    if not moment.router:
        return _ended(task, replace(running, failures=running.failures + 1), events, NO_MODEL, False)
    try:
        room = reserve(settings, task.buffer.messages)
        summary = yield from summarise(prepared, settings, room, moment.instructions.strip())
    except SummarizationFailed as failed:
        return _ended(task, replace(running, failures=running.failures + 1), events, str(failed), False)
    return _appended(task, prepared, summary, prepared.files, settings, running, events)


def _prepared(task: Task, settings: Settings, running: Running, moment: Moment) -> Preparation | None:
    messages = task.buffer.messages
    owed = {message.result.call_id for message in task.rest if message.result is not None}
    border = border_of(messages, running, moment)
    reports = reports_of(messages, running, moment)
    before = tokens_before(task.buffer, reports, border, settings.is_newest, moment.filed)
    entries = entries_at(messages, running, moment, settings.is_newest)
    return prepare(entries, settings.keep_recent_tokens, before, settings.legacy_start, owed, rules_of(settings))


def _before(task: Task, prepared: Preparation, settings: Settings, running: Running, moment: Moment) -> Event:
    """The design's fields and the code's."""
    judgement = judge(task.buffer, settings, running, moment)
    preparation: dict[str, Json] = {
        "firstKeptEntryId": prepared.first_kept,
        "messagesToSummarize": len(prepared.to_summarise),
        "turnPrefixMessages": len(prepared.turn_prefix),
        "isSplitTurn": prepared.split,
        "tokensBefore": prepared.tokens_before,
        "previousSummary": prepared.previous_summary is not None,
    }
    fields: dict[str, Json] = {
        "contextTokens": judgement.fill.tokens,
        "contextWindow": settings.context_window,
        "reserveTokens": judgement.reserve,
        "preparation": preparation,
        "customInstructions": moment.instructions,
    }
    return Event("session_before_compact", fields)


def _ended(task: Task, running: Running, events: Sequence[Event], error: str, aborted: bool) -> Outcome[Running]:
    """Nothing was appended. With neither an error nor a veto there was nothing to compact."""
    fields = {"result": None, "aborted": aborted, "willRetry": False} | ({"errorMessage": error} if error else {})
    buffer = task.buffer.with_messages((*task.buffer.messages, *task.rest)) if task.rest else task.buffer
    return Outcome(TIER, buffer, running, (*events, Event("auto_compaction_end", fields)), False, error)


def _appended(
    task: Task,
    prepared: Preparation,
    summary: str,
    files: Files,
    settings: Settings,
    running: Running,
    events: Sequence[Event],
    supplied: bool = False,
) -> Outcome[Running]:
    messages = task.buffer.messages
    lead, kept = messages[: leading_system(messages)], {message.id for message in prepared.kept}
    removed = [message for message in messages[len(lead) :] if message.id not in kept]
    pinned = _pinned(removed, prepared) if settings.pin_last_user else ()
    inserted = summary_message(summary, removed)
    after = (*lead, inserted, *pinned, *prepared.kept)
    stays = {message.id for message in (*pinned, *prepared.lost)}
    changed: dict[str, FateName] = {one.id: "summarised" for one in removed if one.id not in stays}
    details = {"readFiles": list(files.read), "modifiedFiles": list(files.modified)}
    result: dict[str, Json] = {
        "summary": summary,
        "firstKeptEntryId": prepared.first_kept,
        "tokensBefore": prepared.tokens_before,
        "details": details,
    }
    told = (
        Event("session_compact", {"compactionEntry": inserted.id, "fromExtension": supplied}),
        Event("auto_compaction_end", {"result": result, "aborted": False, "willRetry": task.retry}),
    )
    buffer = task.buffer.with_messages((*after, *task.rest))
    seen, count = buffer.messages[-1].id, running.compactions + 1
    border, first = after[-1].id, prepared.first_kept
    running = replace(running, border=border, first_kept=first, seen=seen, failures=0, compactions=count)
    return Outcome(TIER, buffer, running, (*events, *told), changed=changed)


def _pinned(removed: Sequence[Message], prepared: Preparation) -> tuple[Message, ...]:
    """Ours: the newest user message, where it is not kept anyway."""
    if any(_is_prompt(message) for message in prepared.kept):
        return ()
    newest = next((message for message in reversed(removed) if _is_prompt(message)), None)
    return (newest,) if newest else ()


def _is_prompt(message: Message) -> bool:
    return message.role == "user" and not message.summary
