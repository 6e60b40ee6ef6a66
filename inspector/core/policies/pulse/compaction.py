"""maybeCompactContext: trigger, split, summary, and the two fallbacks (spec 2.3, 2.5, 2.6). Mutates nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.needs import Conversation, Failure
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.inserted import inserted
from inspector.core.policies.pulse.prune import prune
from inspector.core.policies.pulse.running import Running
from inspector.core.policies.pulse.settings import Settings
from inspector.core.policies.pulse.summary import summarise, tokens
from inspector.core.policies.pulse.turns import split_by_turns, take_last_turns, turn_starts

TIER = "compact"
FALLBACK, TOO_LARGE = "fallback", "summary-too-large"
Trigger: TypeAlias = Literal["pre-loop", "length-retry", "forced"]
"""Which of the two call sites in the loop; or the user, who ran the tier by hand."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A list before its compaction: what stays in front (safe mode only), what is summarised, what is kept."""

    lead: tuple[Message, ...]
    old: tuple[Message, ...]
    recent: tuple[Message, ...]


def cut(messages: Sequence[Message], settings: Settings) -> Cut:
    """Safe mode keeps leading system messages out of it; upstream summarises them away."""
    at = 0
    while settings.safe and at < len(messages) and messages[at].role == "system":
        at += 1
    old, recent = split_by_turns(messages[at:], settings.keep_last_turns)
    return Cut(tuple(messages[:at]), tuple(old), tuple(recent))


def compact(
    buffer: Buffer, settings: Settings, running: Running, trigger: Trigger = "pre-loop"
) -> Conversation[Outcome[Running]]:
    """`succeeded` is upstream's didCompact; `error` is its reason where a fallback was taken.

    At the call site before the model call the trigger decides, at the others it is forced; without an old part even
    force does nothing.
    """
    messages = buffer.messages
    nothing = Outcome(TIER, buffer, running, succeeded=False)
    before = tokens(messages, settings)
    if trigger == "pre-loop" and before < settings.compact_trigger:
        return nothing
    parts = cut(messages, settings)
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


def _without_summary(parts: Cut, reason: str, settings: Settings) -> tuple[Message, ...]:
    """The newest turns. Safe mode goes on dropping turns until they fit, or one is left."""
    body: Sequence[Message] = (*parts.old, *parts.recent)
    if reason == FALLBACK or settings.prune_on_oversize:
        body = prune(body)
    kept = take_last_turns(body, settings.keep_last_turns)
    while (
        settings.safe
        and len(turn_starts(kept)) > 1
        and tokens((*parts.lead, *kept), settings) > (settings.compact_target)
    ):
        kept = take_last_turns(kept, len(turn_starts(kept)) - 1)
    return (*parts.lead, *kept)


def _event(reason: str, trigger: Trigger, before: int, after: int, parts: Cut, why: str) -> Event:
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
