"""Pulse Coder: a policy with one tier, which summarises everything except the newest user turns.

Its settings have the names of Pulse Coder's environment variables; some switches are additions of this project. As in
Pulse Coder, a value that is not a number above 0 is ignored, and the default is used. The exception is
`COMPACT_TRIGGER=0`, which means "always".

A turn begins with a user message, unless that message was sent together with tool results, or is between a call and its
result. So a call and its results are always in the same turn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.errors import InspectorError
from inspector.core.message import Json, Message, ToolCall
from inspector.core.needs import Answer, Conversation, Failure, Summarize
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.pulse.settings import PulseSettings, is_usable
from inspector.core.policies.pulse.turns import (
    prune,
    split_by_turns,
    split_into_units,
    turn_starts,
)
from inspector.core.policies.replacements import inserted, remove_parts
from inspector.core.policies.settings import (
    apply_pairs,
    describe_window,
    share_of,
    take_window,
)
from inspector.core.policies.turn import AllDone, Done, TurnContext
from inspector.core.policies.verdict import TierName, Verdict, Verdicts, Watermark, compare_to_limit
from inspector.core.tokens.estimators import estimator, messages_weight
from inspector.core.tokens.harnesses import Chars4, ToolNames
from inspector.core.usage import Usage
from inspector.core.words import per_cent

TIER = "compact"
FALLBACK, TOO_LARGE = "fallback", "summary-too-large"
Trigger: TypeAlias = Literal["pre-loop", "length-retry", "forced"]
"""The call site in the loop that compacts; `forced` if the user runs the tier manually."""
LENGTH = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
"""Finish reasons of the providers that Pulse Coder reads as `length`."""
PREFIX = "[COMPACTED_CONTEXT]"
INSTRUCTIONS = (
    "You compress the older part of a conversation between a user and a coding agent, so that the agent can go on "
    "without it. Keep facts, file paths, identifiers, error texts and numbers as they are; invent nothing."
)
REQUEST = (
    "Compress the conversation so far. Answer in the user's language with exactly these parts, each under its heading, "
    "and nothing else:\n"
    "## 目标 (goal)\n"
    "## 进展 (progress)\n"
    "## 关键结果 (key results)\n"
    "## 文件与变更 (files and changes)\n"
    "## 关键片段 (key snippets)\n"
    "## 待确认 (to be confirmed)"
)
_EN_QUAD_TO_ZERO_WIDTH_SPACE = "".join(map(chr, range(0x2000, 0x200B)))
_SPACE = (
    " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + _EN_QUAD_TO_ZERO_WIDTH_SPACE
)
"""The characters that JavaScript's `trim` removes."""
TRIGGER_SHARE, TARGET_SHARE = 0.75, 0.50


@dataclass(frozen=True, slots=True)
class PulseState:
    """Number of compactions in the current run of Pulse Coder's loop, which starts with a user prompt."""

    attempts: int = 0
    prompt: str = ""
    """Id of the user message with which the current run of the loop started."""

    def at(self, messages: Sequence[Message]) -> "PulseState":
        """Return the state for these messages. A new prompt starts a new run of the loop with 0 attempts."""
        prompts = [
            message.id for message in messages if message.role == "user" and not message.summary
        ]
        newest = prompts[-1] if prompts else ""
        return self if newest == self.prompt else PulseState(attempts=0, prompt=newest)


PulseContext: TypeAlias = PolicyContext[PulseSettings, PulseState]


def measure_messages(messages: Sequence[Message], settings: PulseSettings) -> int:
    """Return the tokens of the messages, without prompt and tools, rounded once for the whole list."""
    by = estimator(settings.estimator)
    counted = tuple(messages)
    units = messages_weight(by, counted)
    if isinstance(by, Chars4):
        units += messages_weight(ToolNames(counted), counted)
    return by.tokens(units)


def summarise_old(old: Sequence[Message], settings: PulseSettings) -> Conversation[str]:
    """Return the summary with its prefix; empty if the reply is blank. Raises Failure if the call fails."""
    parts = _split_into_parts(old, settings)
    while len(parts) > 1:
        level: list[Message] = []
        for part in parts:
            text = yield from _request_summary(part, settings)
            if not text:
                return ""
            level.append(inserted("pulse-part", settings.summary_role, text, made_from=part))
        joined = _split_into_parts(level, settings)
        parts = joined if len(joined) < len(parts) else [tuple(level)]
    return (yield from _request_summary(parts[0], settings))


def _request_summary(messages: Sequence[Message], settings: PulseSettings) -> Conversation[str]:
    answer: Answer = yield Summarize(
        INSTRUCTIONS,
        text=REQUEST,
        messages=tuple(messages),
        max_tokens=settings.compact_summary_max_tokens,
    )
    text = answer.text.strip(_SPACE)
    if not text or (settings.safe and text == PREFIX):
        return ""
    return text if text.startswith(PREFIX) else f"{PREFIX}\n{text}"


def _split_into_parts(
    messages: Sequence[Message], settings: PulseSettings
) -> list[tuple[Message, ...]]:
    """Split the messages into parts of as many whole turns as fit. An oversized turn is its own part. O(messages)."""
    if not settings.summary_part_tokens:
        return [tuple(messages)]
    parts: list[list[Message]] = []
    room = 0
    for unit in split_into_units(messages):
        size = measure_messages(unit, settings)
        if not parts or size > room:
            parts.append([])
            room = settings.summary_part_tokens
        parts[-1] += unit
        room -= size
    return [tuple(part) for part in parts]


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of a buffer: leading messages to keep (safe mode only), old to summarise, recent to keep."""

    lead: tuple[Message, ...]
    old: tuple[Message, ...]
    recent: tuple[Message, ...]


def split_old(messages: Sequence[Message], settings: PulseSettings) -> Split:
    """Split off the old turns. Leading system messages are old turns in Pulse Coder, but kept in safe mode."""
    lead_count = 0
    if settings.safe:
        while lead_count < len(messages) and messages[lead_count].role == "system":
            lead_count += 1
    old, recent = split_by_turns(messages[lead_count:], settings.keep_last_turns)
    return Split(tuple(messages[:lead_count]), tuple(old), tuple(recent))


def compact_old_turns(context: PulseContext, trigger: Trigger = "pre-loop") -> Done[PulseState]:
    """Summarise the old turns.

    The call site before a model call (`pre-loop`) compacts only at or above the trigger; the others are forced. Without
    old turns nothing happens, even if forced.

    Returns:
        An outcome whose `succeeded` is Pulse Coder's didCompact, and whose `error` is its reason for a fallback.
    """
    buffer = context.buffer
    messages = context.messages
    settings = context.settings
    running = context.running
    unchanged = Outcome(TIER, buffer, running, succeeded=False)
    before = measure_messages(messages, settings)
    if trigger == "pre-loop" and before < settings.compact_trigger:
        return unchanged
    parts = split_old(messages, settings)
    if not parts.old:
        return unchanged
    try:
        text = yield from summarise_old(parts.old, settings)
        why = "" if text else "the summary is blank"
    except Failure as failure:
        text = ""
        why = str(failure) or type(failure).__name__
    reason, after = _replace_old(parts, text, settings)
    event = _describe_compaction(
        reason, trigger, before, measure_messages(after, settings), parts, why
    )
    fate: FateName = "dropped" if reason else "summarised"
    changed = _find_changes(messages, after, fate)
    return Outcome(
        TIER,
        buffer=buffer.with_messages(after),
        running=running,
        events=(event,),
        error=reason,
        changed=changed,
    )


def _replace_old(
    parts: Split, text: str, settings: PulseSettings
) -> tuple[str, tuple[Message, ...]]:
    """Return (reason for a fallback, new messages). The reason is empty if the summary replaces the old turns."""
    if not text:
        return FALLBACK, _keep_newest_turns(parts, FALLBACK, settings)
    summary = inserted("pulse", settings.summary_role, text, made_from=parts.old)
    after = (*parts.lead, summary, *parts.recent)
    if measure_messages(after, settings) > settings.compact_target:
        return TOO_LARGE, _keep_newest_turns(parts, TOO_LARGE, settings)
    return "", after


def _find_changes(
    before: Sequence[Message], after: Sequence[Message], removed: FateName
) -> dict[str, FateName]:
    """Return the fate of each message that changed or was removed, by id."""
    by_id = {message.id: message for message in after}
    changed: dict[str, FateName] = {}
    for message in before:
        if message.id not in by_id:
            changed[message.id] = removed
        elif by_id[message.id] is not message:
            changed[message.id] = "cut"
    return changed


def _keep_newest_turns(parts: Split, reason: str, settings: PulseSettings) -> tuple[Message, ...]:
    """Return the newest turns. Safe mode drops more turns until they fit, or only one is left."""
    body: Sequence[Message] = (*parts.old, *parts.recent)
    if reason == FALLBACK or settings.prune_on_oversize:
        body = prune(body)
    _, newest = split_by_turns(body, settings.keep_last_turns)
    while (
        settings.safe
        and measure_messages((*parts.lead, *newest), settings) > settings.compact_target
    ):
        turns = len(turn_starts(newest))
        if turns < 2:
            break
        _, newest = split_by_turns(newest, turns - 1)
    return (*parts.lead, *newest)


def _describe_compaction(
    reason: str, trigger: Trigger, before: int, after: int, parts: Split, why: str
) -> Event:
    """Return the event of onCompacted, with the figures that Pulse Coder's authors planned.

    `ratio` is tokens after / before, `summaries` the number of earlier summaries that were summarised again. Without a
    fallback the event has no `reason`.
    """
    fields: dict[str, Json] = {
        "reason": reason,
        "trigger": trigger,
        "tokens_before": before,
        "tokens_after": after,
        "ratio": round(after / before, 4) if before else 1.0,
        "summaries": sum(message.summary for message in parts.old),
        "why": why,
    }
    return Event("Compacted", {name: value for name, value in fields.items() if value != ""})


def is_trouble(finish: str, usage: Usage | None, settings: PulseSettings) -> bool:
    """Did the request end because of length? With `length_ratio`, the prompt must also be that share of the window."""
    if finish.lower() not in LENGTH:
        return False
    if not settings.length_ratio:
        return True
    return (
        usage is not None and usage.prompt >= settings.length_ratio * settings.context_window_tokens
    )


def is_forced(context: PulseContext) -> bool:
    """Did the previous request end because of length? Safe mode treats an overflow in the same way."""
    moment, settings = context.moment, context.settings
    if settings.safe and moment.overflow:
        return True
    return is_trouble(moment.finish, moment.usage, settings)


def attempt_compaction(context: PulseContext, trigger: Trigger) -> AllDone[PulseState]:
    """Compact if an attempt is left. A check that does not compact uses no attempt.

    With `write_back` off, the buffer does not change; only the attempt and its event are recorded.

    Returns:
        A tuple with the outcome; empty if nothing was compacted.
    """
    settings, attempts = context.settings, context.running.attempts
    if attempts >= settings.max_compaction_attempts:
        return ()
    outcome = yield from compact_old_turns(context, trigger)
    if not outcome.succeeded:
        return ()
    running = replace(outcome.running, attempts=attempts + 1)
    if not settings.write_back:
        return (Outcome(TIER, context.buffer, running, outcome.events, error=outcome.error),)
    return (replace(outcome, running=running),)


Turn: TypeAlias = TurnContext[PulseSettings, PulseState]


class PulsePolicy(Policy[PulseSettings, PulseState]):
    """Pulse Coder as a `Policy`. It does not calibrate its estimate with reported usage."""

    name = "pulse"
    title = "Pulse Coder"
    tiers: Sequence[TierName] = (
        TierName(
            TIER,
            "Compact",
            "Has a model summarise all but the newest user turns.",
            calls_model=True,
        ),
    )
    settings_type = PulseSettings
    state_type = PulseState

    def settings(
        self, values: Sequence[tuple[str, str]] = (), window: int | None = None
    ) -> PulseSettings:
        """Return the settings. The window is Pulse Coder's own; trigger and target depend on it unless set.

        Safe mode refuses a target at which the next compaction would be due immediately.
        """
        usable = [pair for pair in values if is_usable(*pair)]
        first, others = take_window(PulseSettings(), usable, window, follows=False)
        trigger = math.floor(first.context_window_tokens * TRIGGER_SHARE)
        target = max(1, math.floor(first.context_window_tokens * TARGET_SHARE))
        settings = apply_pairs(
            replace(first, compact_trigger=trigger, compact_target=target), others
        )
        trigger, target = settings.compact_trigger, settings.compact_target
        if settings.safe and 0 < trigger <= target:
            raise InspectorError(
                f"compact_target ({target:,}) must be below compact_trigger ({trigger:,})."
            )
        return settings

    def measure(self, context: PulseContext) -> tuple[int, int]:
        total = measure_messages(context.messages, context.settings)
        return total, total

    def watermarks(self, settings: PulseSettings) -> tuple[Watermark, ...]:
        limit = settings.compact_trigger
        share = share_of(limit, settings.context_window_tokens, settings.window_from)
        return (
            Watermark(
                f"{share} compact",
                tokens=limit,
                setting="compact_trigger",
                tiers=(TIER,),
                fires_on=True,
            ),
        )

    def due(self, context: PulseContext) -> Verdicts:
        messages, settings = context.messages, context.settings
        total = measure_messages(messages, settings)
        limit = settings.compact_trigger
        window = settings.context_window_tokens
        share = f"{per_cent(limit / window)} of {describe_window(window, settings.window_from)}"
        why = compare_to_limit(total, limit, share, fires_on=True)
        by_force = is_forced(context)
        is_due = total >= limit or by_force
        if by_force and total < limit:
            why += f" · forced: the last call ended with {context.moment.finish or 'an overflow'}"
        most = settings.max_compaction_attempts
        if context.running.at(messages).attempts >= most:
            why += f" · all {most} attempts of this loop are used up"
            is_due = False
        elif not split_old(messages, settings).old:
            turns = len(turn_starts(messages))
            kept = f"the {settings.keep_last_turns} turns that are kept"
            why += f" · nothing is older than {kept} (the buffer has {turns})"
            is_due = False
        return (Verdict(TIER, is_due, why, tokens=total, limit=limit),)

    def tier(self, name: str, context: PulseContext) -> Done[PulseState]:
        """Compact, forced and without using an attempt of the loop. Raises InspectorError for an unknown name."""
        if name.lower() != TIER:
            raise self.unknown(name)
        return (yield from compact_old_turns(context, "forced"))

    def before_call(self, context: PulseContext) -> AllDone[PulseState]:
        """Compact between two requests: forced if the last one ended because of length, then repeatedly while due."""
        context = context.with_running(context.running.at(context.messages))
        done: tuple[Outcome[PulseState], ...] = ()
        if is_forced(context):
            done = yield from attempt_compaction(context, "length-retry")
        while True:
            more = yield from attempt_compaction(context.after(*done), "pre-loop")
            if not more:
                return done
            done += more

    def recover(self, turn: Turn, error: str) -> Conversation[str]:
        """In safe mode, handle an overflow like `length`; Pulse Coder itself fails with the error."""
        if turn.now.settings.safe:
            done = len(turn.outcomes)
            turn.update_moment(overflow=error)
            yield from self.compact(turn)
            return error if len(turn.outcomes) == done else ""
        return error

    def accept(self, turn: Turn, answer: Answer) -> Conversation[Answer | None]:
        """Accept the answer. If it was cut off, compact and ask again while attempts are left.

        The calls of a cut-off answer are never run.
        """
        if not is_trouble(answer.finish, answer.usage, turn.now.settings):
            turn.add(answer.messages)
            return answer
        cut_off = replace(
            answer, messages=remove_parts(answer.messages, lambda part: isinstance(part, ToolCall))
        )
        turn.add(cut_off.messages)
        done = len(turn.outcomes)
        turn.update_moment(usage=answer.usage, finish=answer.finish)
        yield from self.compact(turn)
        if len(turn.outcomes) > done:
            return None
        text = "\n".join(message.text for message in cut_off.messages)
        return replace(cut_off, text=text or "Context limit reached.")


POLICY = PulsePolicy()
