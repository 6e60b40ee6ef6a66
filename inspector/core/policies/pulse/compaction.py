"""maybeCompactContext: trigger, split, summary, the two fallbacks, and the two places in the loop that call it (spec
2.3 to 2.8). Mutates nothing.

A turn begins with a user message. A tool result never does, nor does a user message that travelled with results or
stands between a call and its result: so a call and its results are always in the same turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.message import Message, Opaque, Part, Thinking, ToolCall, ToolResult
from inspector.core.needs import Answer, Conversation, Failure, Summarize
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.pulse.settings import PulseSettings, PulseState
from inspector.core.policies.replacements import inserted, without
from inspector.core.policies.turn import AllDone, Done
from inspector.core.policies.verdict import PolicyInput
from inspector.core.tokens.characters import Chars4, ToolNames
from inspector.core.tokens.estimators import estimator, messages_weight
from inspector.core.usage import Usage

TIER = "compact"
FALLBACK, TOO_LARGE = "fallback", "summary-too-large"
Trigger: TypeAlias = Literal["pre-loop", "length-retry", "forced"]
"""Which of the two call sites in the loop; or the user, who ran the tier by hand."""
LENGTH = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
"""`finishReason === "length"` in the providers' own words."""
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
_SPACE = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""What JavaScript's `trim` removes."""
_GONE = ("reasoning", "thinking", "tool", "_call", "approval")
"""Words in the kind of an opaque part that stands for reasoning or for a tool's state."""


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """Indices of the messages that begin a turn. O(messages)."""
    answered_at = {m.result.call_id: at for at, m in enumerate(messages) if m.result is not None}
    with_results = {m.together for m in messages if m.together and m.result is not None}
    starts, owed_until = [], -1
    for at, message in enumerate(messages):
        owed_until = max([owed_until, *(answered_at.get(call.id, -1) for call in message.calls)])
        if message.role == "user" and at > owed_until and message.together not in with_results:
            starts.append(at)
    return starts


def split_by_turns(messages: Sequence[Message], keep: int) -> tuple[Sequence[Message], Sequence[Message]]:
    """(old, recent): recent holds the newest `keep` turns; all of it where there are no more."""
    starts = turn_starts(messages)
    at = starts[-keep] if len(starts) > keep else 0
    return messages[:at], messages[at:]


def prune(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The mechanical half of the fallback: reasoning, calls and results go, text stays (spec 2.6)."""
    return without((message for message in messages if message.role != "tool"), _goes)


def _goes(part: Part) -> bool:
    match part:
        case Thinking() | ToolCall() | ToolResult():
            return True
        case Opaque(kind):
            return any(word in kind for word in _GONE)
        case _:
            return False


def tokens(messages: Sequence[Message], settings: PulseSettings) -> int:
    """The list by the estimator that is set: one ceiling for all of it; prompt and tools are not counted."""
    found, listed = estimator(settings.estimator), tuple(messages)
    units = messages_weight(found, listed)
    return found.tokens(units + (messages_weight(ToolNames(listed), listed) if isinstance(found, Chars4) else 0))


def summarise(old: Sequence[Message], settings: PulseSettings) -> Conversation[str]:
    """The text with its prefix; empty where the reply is blank. Failures pass through."""
    parts = _parts(old, settings)
    while len(parts) > 1:
        level: list[Message] = []
        for part in parts:
            text = yield from _asked(part, settings)
            if not text:
                return ""
            level.append(inserted("pulse-part", settings.summary_role, text, part))
        joined = _parts(level, settings)
        parts = joined if len(joined) < len(parts) else [tuple(level)]
    return (yield from _asked(parts[0], settings))


def _asked(messages: Sequence[Message], settings: PulseSettings) -> Conversation[str]:
    answer: Answer = yield Summarize(INSTRUCTIONS, REQUEST, tuple(messages), settings.compact_summary_max_tokens)
    text = answer.text.strip(_SPACE)
    if not text or (settings.safe and text == PREFIX):
        return ""
    return text if text.startswith(PREFIX) else f"{PREFIX}\n{text}"


def _parts(messages: Sequence[Message], settings: PulseSettings) -> list[tuple[Message, ...]]:
    """Whole turns, as many as fit into a part; a turn that is larger is a part by itself. O(messages)."""
    if not settings.summary_part_tokens:
        return [tuple(messages)]
    parts: list[list[Message]] = []
    room = 0
    for unit in _units(messages):
        size = tokens(unit, settings)
        if not parts or size > room:
            parts.append([])
            room = settings.summary_part_tokens
        parts[-1] += unit
        room -= size
    return [tuple(part) for part in parts]


def _units(messages: Sequence[Message]) -> list[Sequence[Message]]:
    """What must not be torn apart: a turn, an earlier summary."""
    own = {at for at, message in enumerate(messages) if message.summary}
    edges = sorted({0, len(messages), *turn_starts(messages), *own, *(at + 1 for at in own)})
    return [messages[start:end] for start, end in pairwise(edges)]


@dataclass(frozen=True, slots=True)
class Split:
    """A list before its compaction: what stays in front (safe mode only), what is summarised, what is kept."""

    lead: tuple[Message, ...]
    old: tuple[Message, ...]
    recent: tuple[Message, ...]


def split(messages: Sequence[Message], settings: PulseSettings) -> Split:
    """Safe mode keeps leading system messages out of it; upstream summarises them away."""
    at = 0
    while settings.safe and at < len(messages) and messages[at].role == "system":
        at += 1
    old, recent = split_by_turns(messages[at:], settings.keep_last_turns)
    return Split(tuple(messages[:at]), tuple(old), tuple(recent))


def compact(
    buffer: Buffer, settings: PulseSettings, running: PulseState, trigger: Trigger = "pre-loop"
) -> Done[PulseState]:
    """`succeeded` is upstream's didCompact; `error` is its reason where a fallback was taken.

    At the call site before the model call the trigger decides, at the others it is forced; without an old part even
    force does nothing.
    """
    messages = buffer.messages
    nothing = Outcome(TIER, buffer, running, succeeded=False)
    before = tokens(messages, settings)
    if trigger == "pre-loop" and before < settings.compact_trigger:
        return nothing
    parts = split(messages, settings)
    if not parts.old:
        return nothing
    try:
        text = yield from summarise(parts.old, settings)
        why = "" if text else "the summary is blank"
    except Failure as failure:
        text, why = "", str(failure) or type(failure).__name__
    if text:
        summary = inserted("pulse", settings.summary_role, text, parts.old)
        after: tuple[Message, ...] = (*parts.lead, summary, *parts.recent)
        reason = TOO_LARGE if tokens(after, settings) > settings.compact_target else ""
    else:
        reason = FALLBACK
    if reason:
        after = _without_summary(parts, reason, settings)
    event = _event(reason, trigger, before, tokens(after, settings), parts, why)
    changed = _fates(messages, after, "dropped" if reason else "summarised")
    return Outcome(TIER, buffer.with_messages(after), running, (event,), True, reason, changed)


def _without_summary(parts: Split, reason: str, settings: PulseSettings) -> tuple[Message, ...]:
    """The newest turns. Safe mode goes on dropping turns until they fit, or one is left."""
    body: Sequence[Message] = (*parts.old, *parts.recent)
    if reason == FALLBACK or settings.prune_on_oversize:
        body = prune(body)
    _, kept = split_by_turns(body, settings.keep_last_turns)
    while settings.safe and tokens((*parts.lead, *kept), settings) > settings.compact_target:
        turns = len(turn_starts(kept))
        if turns < 2:
            break
        _, kept = split_by_turns(kept, turns - 1)
    return (*parts.lead, *kept)


def _event(reason: str, trigger: Trigger, before: int, after: int, parts: Split, why: str) -> Event:
    """onCompacted, with the figures its authors wished for. `ratio` = after / before; no `reason` on the main path.

    `summaries` = how many earlier summaries were summarised again.
    """
    return Event(
        "Compacted",
        ({"reason": reason} if reason else {})
        | {
            "trigger": trigger,
            "tokens_before": before,
            "tokens_after": after,
            "ratio": round(after / before, 4) if before else 1.0,
            "summaries": sum(message.summary for message in parts.old),
        }
        | ({"why": why} if why else {}),
    )


def _fates(before: Sequence[Message], after: Sequence[Message], gone: FateName) -> dict[str, FateName]:
    kept = {message.id: message for message in after}
    changed: dict[str, FateName] = {}
    for message in before:
        then = kept.get(message.id)
        if then is not message:
            changed[message.id] = gone if then is None else "cut"
    return changed


def is_trouble(finish: str, usage: Usage | None, settings: PulseSettings) -> bool:
    """The call ended because of length; with `length_ratio` only where the prompt was that large, too."""
    if finish.lower() not in LENGTH:
        return False
    if not settings.length_ratio:
        return True
    return usage is not None and usage.prompt >= settings.length_ratio * settings.context_window_tokens


def forced(moment: PolicyInput, settings: PulseSettings) -> bool:
    """The call before this one ended in trouble. Safe mode treats a refusal of the buffer in the same way."""
    return is_trouble(moment.finish, moment.usage, settings) or (settings.safe and bool(moment.overflow))


def attempt(buffer: Buffer, settings: PulseSettings, running: PulseState, trigger: Trigger) -> AllDone[PulseState]:
    """One compaction if one is left; empty where none was made. A check that does not compact costs no attempt.

    With `write_back` off the buffer stays: only the attempt and its event remain.
    """
    if running.attempts >= settings.max_compaction_attempts:
        return ()
    outcome = yield from compact(buffer, settings, running, trigger)
    if not outcome.succeeded:
        return ()
    running = replace(outcome.running, attempts=running.attempts + 1)
    if not settings.write_back:
        return (Outcome(TIER, buffer, running, outcome.events, True, outcome.error),)
    return (replace(outcome, running=running),)
