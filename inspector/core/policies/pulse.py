"""Pulse Coder: one tier, summary of all but the newest user turns (spec section 2).

Settings by the names of its environment variables (spec 2.1), and our switches. As upstream reads its environment: what
is no number, or not above 0, is ignored and the default stands. One exception: `COMPACT_TRIGGER=0` is taken, it means
"always".

A turn begins with a user message. A tool result never does, nor does a user message that travelled with results or
stands between a call and its result: so a call and its results are always in the same turn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, TypeAlias

from inspector.core.errors import InspectorError
from inspector.core.message import Json, Message, Opaque, Part, Thinking, ToolCall, ToolResult
from inspector.core.needs import Answer, Conversation, Failure, Summarize
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.replacements import inserted, without
from inspector.core.policies.settings import (
    DERIVED,
    MODEL,
    WindowFrom,
    apply,
    of_window,
    plain,
    setting,
    share_of,
    window_setting,
    windowed,
)
from inspector.core.policies.turn import AllDone, Done, TurnContext
from inspector.core.policies.verdict import TierName, Verdict, Verdicts, Watermark, measured
from inspector.core.tokens.estimators import estimator, messages_weight
from inspector.core.tokens.harnesses import Chars4, ToolNames
from inspector.core.usage import Usage
from inspector.core.words import per_cent

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
TRIGGER_SHARE, TARGET_SHARE = 0.75, 0.50
WINDOW_NAMES = frozenset({"window", "contextwindow", "contextwindowtokens"})
NUMBERS = WINDOW_NAMES | {
    "compacttrigger",
    "compacttarget",
    "keeplastturns",
    "maxcompactionattempts",
    "compactsummarymaxtokens",
}
"""Names of what upstream reads from its environment, spelt plainly."""


@dataclass(frozen=True, slots=True)
class PulseSettings:
    """Everything that can be set. Tokens unless the name says otherwise."""

    context_window_tokens: int = window_setting(64_000)
    window_from: WindowFrom = field(default="own", metadata=DERIVED)
    compact_trigger: int = setting(
        48_000, "compacts from here on; default 75% of the window", names=["COMPACT_TRIGGER"], low=0
    )
    compact_target: int = setting(
        32_000, "a compacted list may be so large; default 50% of the window", names=["COMPACT_TARGET"], low=1
    )
    keep_last_turns: int = setting(6, "newest user turns that stay word for word", names=["KEEP_LAST_TURNS"], low=1)
    max_compaction_attempts: int = setting(
        2, "compactions in one call of the loop", names=["MAX_COMPACTION_ATTEMPTS"], low=1
    )
    compact_summary_max_tokens: int = setting(
        1_200, "longest summary that is asked for", names=["COMPACT_SUMMARY_MAX_TOKENS"], low=1
    )
    prune_on_oversize: bool = setting(
        False, "a summary that is too large: prune before the newest turns are taken, too"
    )
    estimator: Literal["chars4", "roku", "tiktoken", "tiktoken-cl100k"] = setting(
        "chars4", "what counts tokens: characters / 4, or a tokenizer", names=["tokenizer"]
    )
    summary_part_tokens: int = setting(
        0, "summarise the old part in parts of this size, then the summaries; 0 = all at once", low=0
    )
    summary_role: Literal["assistant", "user"] = setting("assistant", "who seems to have written the summary")
    length_ratio: float = setting(
        0.0, "`length` is trouble with the context only above this share of the window; 0 = always", low=0, high=1
    )
    write_back: bool = setting(True, "the caller takes the new list over; off = its callback forgets to")
    mode: Literal["faithful", "safe"] = setting("faithful", "as upstream, bugs and all; or with the safety proposals")

    @property
    def safe(self) -> bool:
        return self.mode == "safe"


def _usable(key: str, text: str) -> bool:
    name = plain(key)
    if name not in NUMBERS or (name in WINDOW_NAMES and plain(text) == MODEL):
        return True
    try:
        number = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        return False
    return number > 0 or (number == 0 and name == "compacttrigger")


@dataclass(frozen=True, slots=True)
class PulseState:
    """How often the running call of its loop has compacted: a call of the loop begins with a prompt of the user."""

    attempts: int = 0
    prompt: str = ""
    """Id of the user message that the counted attempts belong to."""

    def at(self, messages: Sequence[Message]) -> "PulseState":
        """With a prompt that was not there before, a new call of the loop has begun."""
        newest = next((m.id for m in reversed(messages) if m.role == "user" and not m.summary), "")
        return self if newest == self.prompt else PulseState(0, newest)


PulseContext: TypeAlias = PolicyContext[PulseSettings, PulseState]


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


def compact(context: PulseContext, trigger: Trigger = "pre-loop") -> Done[PulseState]:
    """`succeeded` is upstream's didCompact; `error` is its reason where a fallback was taken.

    At the call site before the model call the trigger decides, at the others it is forced; without an old part even
    force does nothing.
    """
    buffer, messages, settings, running = context.buffer, context.messages, context.settings, context.running
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
    kept = {message.id: message for message in after}
    gone: FateName = "dropped" if reason else "summarised"
    changed: dict[str, FateName] = {m.id: "cut" for m in messages if kept.get(m.id) is not m}
    changed |= {message.id: gone for message in messages if message.id not in kept}
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
    """The call ended because of length; with `length_ratio` only where the prompt was that large, too."""
    if finish.lower() not in LENGTH:
        return False
    if not settings.length_ratio:
        return True
    return usage is not None and usage.prompt >= settings.length_ratio * settings.context_window_tokens


def forced(context: PulseContext) -> bool:
    """The call before this one ended in trouble. Safe mode treats a refusal of the buffer in the same way."""
    moment, settings = context.moment, context.settings
    return is_trouble(moment.finish, moment.usage, settings) or (settings.safe and bool(moment.overflow))


def attempt(context: PulseContext, trigger: Trigger) -> AllDone[PulseState]:
    """One compaction if one is left; empty where none was made. A check that does not compact costs no attempt.

    With `write_back` off the buffer stays: only the attempt and its event remain.
    """
    settings, attempts = context.settings, context.running.attempts
    if attempts >= settings.max_compaction_attempts:
        return ()
    outcome = yield from compact(context, trigger)
    if not outcome.succeeded:
        return ()
    running = replace(outcome.running, attempts=attempts + 1)
    if not settings.write_back:
        return (Outcome(TIER, context.buffer, running, outcome.events, True, outcome.error),)
    return (replace(outcome, running=running),)


Turn: TypeAlias = TurnContext[PulseSettings, PulseState]


class PulsePolicy(Policy[PulseSettings, PulseState]):
    """See `Policy`. It never looks at what the provider reports."""

    name = "pulse"
    title = "Pulse Coder"
    tiers: Sequence[TierName] = (
        TierName(TIER, "Compact", "Has a model summarise all but the newest user turns.", calls_model=True),
    )
    settings_type = PulseSettings
    state_type = PulseState

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> PulseSettings:
        """Trigger and target follow the window unless they are given; the window is its own, whatever the model's is.
        Safe mode refuses a target that a compaction could reach and still be due again."""
        usable = [pair for pair in values if _usable(*pair)]
        first, others = windowed(PulseSettings(), usable, window, follows=False)
        trigger = math.floor(first.context_window_tokens * TRIGGER_SHARE)
        target = max(1, math.floor(first.context_window_tokens * TARGET_SHARE))
        found = apply(replace(first, compact_trigger=trigger, compact_target=target), others)
        trigger, target = found.compact_trigger, found.compact_target
        if found.safe and 0 < trigger <= target:
            raise InspectorError(f"compact_target ({target:,}) must lie below compact_trigger ({trigger:,}).")
        return found

    def measure(self, context: PulseContext) -> tuple[int, int]:
        total = tokens(context.messages, context.settings)
        return total, total

    def watermarks(self, settings: PulseSettings) -> tuple[Watermark, ...]:
        limit = settings.compact_trigger
        share = share_of(limit, settings.context_window_tokens, settings.window_from)
        return (Watermark(f"{share} compact", limit, "compact_trigger", (TIER,), fires_on=True),)

    def due(self, context: PulseContext) -> Verdicts:
        messages, settings = context.messages, context.settings
        total, limit = tokens(messages, settings), settings.compact_trigger
        window = settings.context_window_tokens
        share = f"{per_cent(limit / window)} of {of_window(window, settings.window_from)}"
        why = measured(total, limit, share, fires_on=True)
        by_force = forced(context)
        due = total >= limit or by_force
        if by_force and total < limit:
            why += f" · forced: the last call ended with {context.moment.finish or 'an overflow'}"
        most = settings.max_compaction_attempts
        if context.running.at(messages).attempts >= most:
            why, due = f"{why} · all {most} attempts of this loop are used up", False
        elif not split(messages, settings).old:
            turns = len(turn_starts(messages))
            why += f" · nothing older than the {settings.keep_last_turns} turns kept (there are {turns})"
            due = False
        return (Verdict(TIER, due, why, total, limit),)

    def tier(self, name: str, context: PulseContext) -> Done[PulseState]:
        """Forced, by hand: it costs no attempt of the loop."""
        if name.lower() != TIER:
            raise self.unknown(name)
        return (yield from compact(context, "forced"))

    def before_call(self, context: PulseContext) -> AllDone[PulseState]:
        """The way from the end of one model call to the next: forced where that one ended with `length`
        (`moment.finish`), then while it is due."""
        context = context.with_running(context.running.at(context.messages))
        done: tuple[Outcome[PulseState], ...] = ()
        if forced(context):
            done = yield from attempt(context, "length-retry")
        while True:
            more = yield from attempt(context.after(*done), "pre-loop")
            if not more:
                return done
            done += more

    def recover(self, turn: Turn, error: str) -> Conversation[str]:
        """Safe mode treats a refusal like `length`; upstream fails."""
        if turn.now.settings.safe:
            done = len(turn.outcomes)
            turn.update_moment(overflow=error)
            yield from self.compact(turn)
            return error if len(turn.outcomes) == done else ""
        return error

    def accept(self, turn: Turn, answer: Answer) -> Conversation[Answer | None]:
        """After an answer that was cut off it compacts and asks again, while it may. Nobody runs such an answer's
        calls."""
        if not is_trouble(answer.finish, answer.usage, turn.now.settings):
            turn.add(answer.messages)
            return answer
        cut_off = replace(answer, messages=without(answer.messages, lambda part: isinstance(part, ToolCall)))
        turn.add(cut_off.messages)
        done = len(turn.outcomes)
        turn.update_moment(usage=answer.usage, finish=answer.finish)
        yield from self.compact(turn)
        if len(turn.outcomes) > done:
            return None
        said = "\n".join(message.text for message in cut_off.messages)
        return replace(cut_off, text=said or "Context limit reached.")


POLICY = PulsePolicy()
