"""What every tier would do where we stand, without doing it: tokens freed, the calls it costs, the cache it breaks, and
whether it pays. A verdict at once, a preview a moment later; nothing here takes a step.

Without the step the next request reads its whole buffer from the provider's cache. With it, what stands in front of the
first change is still read from the cache, what comes after is written anew. From then on each request reads so many
tokens less as the step freed. All for a provider that caches prompts; prices are the model's, never guessed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Decimal
from types import MappingProxyType
from typing import Any, Literal

from inspector.core.answering import (
    NOT_WRITTEN,
    AnsweredNeed,
    Answerer,
    AnswerLog,
    missing_files_words,
    offline,
    rehearsed,
)
from inspector.core.buffer import Buffer
from inspector.core.diff import message_lines
from inspector.core.errors import InspectorError
from inspector.core.needs import drive
from inspector.core.outcome import Fate, Outcome, fates
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.verdict import Verdict
from inspector.core.replay.summary_calls import NO_CALLS, TYPICAL, CallPlace, ExpectedOutput, PricedCalls
from inspector.core.tokens.prices import call_cost
from inspector.core.usage import MINUTES, Usage, cache_written


@dataclass(frozen=True, slots=True)
class Preview:
    """A tier on a buffer, answered offline: with a model's summary the figures would differ by its length."""

    tier: str
    freed: int
    """Tokens by which the next prompt would be smaller; negative where it would grow."""
    touched: int
    """Messages that would not be kept as they are."""
    calls: PricedCalls
    """The model calls that it would make."""
    break_at: int | None
    """Index of the first message that changes: the provider's cached prefix ends there. None = nothing changes."""
    rewritten: int
    """Tokens from there on in the new buffer: they are written to the cache anew."""
    rewrite_cost: Decimal | None
    outcome: Outcome[Any] | None = None
    failure: str = ""
    cache_ttl_s: int = MINUTES
    """How long what is written anew will be kept: a write for an hour costs more."""
    expected: ExpectedOutput = TYPICAL
    """What the calls are expected to write."""
    model: str = ""
    """Whose prices hold ..."""
    time: str = ""
    """... and of which day (ISO 8601); empty: of today."""
    saves_text: bool = False
    """It would put the path of a saved file into the buffer, which nobody knows before it is saved."""
    missing_files: str = ""
    """Which files to re-attach are not in the recording, in words; empty: all are."""


def preview(
    policy: Policy[Any, Any], tier: str, context: PolicyContext[Any, Any], place: CallPlace, answer: Answerer = offline
) -> Preview:
    """Run the tier on the side. Changes nothing. Never raises for a tier that exists.

    Args:
        policy: Whose tier it is.
        tier: Its name.
        context: What the policy goes by.
        place: What measures every buffer there, and prices the model calls.
        answer: Who answers; nothing is written.
    """
    log = AnswerLog(rehearsed(answer))
    try:
        outcome: Outcome[Any] = drive(policy.tier(tier, context), log)
    except InspectorError as failure:
        return Preview(tier, 0, 0, NO_CALLS, None, 0, None, None, str(failure))
    cached_s = context.moment.cache_ttl_s
    measured = weigh(tier, context.buffer, outcome.buffer, log.asked, place, cached_s)
    touched = _touched(fates(context.buffer, outcome))
    return replace(measured, touched=touched, outcome=outcome, saves_text=_names_saved_file(outcome))


def weigh(
    name: str, before: Buffer, after: Buffer, needs: Sequence[AnsweredNeed], place: CallPlace, cache_ttl_s: int
) -> Preview:
    """Work out what a tier or a step costs and frees.

    Args:
        name: Of the tier or the step.
        before: The buffer where it starts.
        after: The buffer where it ends.
        needs: What it asked.
        place: What measures every buffer there, and prices the model calls.
        cache_ttl_s: How long the provider keeps what is written to its cache.
    """
    size, break_at = place.size, first_change(before, after)
    rewritten = size.rows(after.messages[break_at:]) if break_at is not None else 0
    written = cache_written(rewritten, cache_ttl_s)
    return Preview(
        name,
        size.tokens(before) - size.tokens(after),
        0,
        place.price(needs, before.prompt),
        break_at,
        rewritten,
        call_cost(place.model, written, place.time) if rewritten else None,
        cache_ttl_s=cache_ttl_s,
        expected=place.expected,
        model=place.model,
        time=place.time,
        missing_files=missing_files_words(needs),
    )


def _names_saved_file(outcome: Outcome[Any]) -> bool:
    """Does a message that the tier changed name a file that a preview does not write?"""
    changed = (message for message in outcome.buffer.messages if message.id in outcome.changed)
    return any(NOT_WRITTEN in message_lines(message) for message in changed)


def _touched(changes: Iterable[Fate]) -> int:
    return sum(fate.name != "kept" for fate in changes)


def fired_when_due(policy: Policy[Any, Any], context: PolicyContext[Any, Any], answer: Answerer) -> tuple[str, ...]:
    """Return the tiers that would do something if what is due were run, in their order. Changes nothing.

    Fewer than are due: the first one may free so much that the next is due no more.
    """
    outcomes = drive(policy.run_due(context), rehearsed(answer))
    return tuple(outcome.tier for outcome in outcomes if outcome.changed or outcome.events)


def first_change(before: Buffer, after: Buffer) -> int | None:
    """Index of the first message that is not the same in both; None where the buffers are equal."""
    if before is after:
        return None
    for n, (old, new) in enumerate(zip(before.messages, after.messages, strict=False)):
        if old is not new and old != new:
            return n
    shorter = min(len(before.messages), len(after.messages))
    return None if len(before.messages) == len(after.messages) else shorter


@dataclass(frozen=True, slots=True, eq=False)
class Previews:
    """Of every tier, at one place: for a buffer, a running state, and what the user chose."""

    key: tuple[object, ...]
    """All that they depend on."""
    policy: Policy[Any, Any]
    context: PolicyContext[Any, Any]
    """What it goes by there."""
    estimated: int
    """Tokens of the buffer by the policy's own estimator, raw ..."""
    tokens: int
    """... and as it believes them to be: what its watermarks are compared with."""
    place: CallPlace
    """What measures every size that is shown here, and prices the model calls."""
    verdicts: tuple[Verdict, ...]
    shown: int = 0
    """Tokens of the buffer by that measure."""
    due_run: tuple[str, ...] | None = None
    """The tiers that would do something if what is due were run; None until that is worked out."""
    by_tier: Mapping[str, Preview] = field(default_factory=lambda: MappingProxyType({}))
    """By tier; those that are missing are being worked out."""

    @property
    def next(self) -> str:
        """The tier that would fire first; empty where none is due."""
        return next((verdict.tier for verdict in self.verdicts if verdict.due), "")

    @property
    def due(self) -> tuple[str, ...]:
        """The tiers that are due, in the policy's order."""
        return tuple(verdict.tier for verdict in self.verdicts if verdict.due)

    @property
    def suggested(self) -> str:
        """The tier to look at first: the first that is due, else the one that would free most.

        Empty while that is not known yet, and if no tier would free anything.
        """
        if self.next or self.missing:
            return self.next
        freeing = [preview for preview in self.by_tier.values() if preview.freed > 0]
        return max(freeing, key=lambda preview: preview.freed).tier if freeing else ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Tiers whose preview is not there yet."""
        return tuple(tier.name for tier in self.policy.tiers if tier.name not in self.by_tier)

    @property
    def is_complete(self) -> bool:
        """Is everything worked out?"""
        return not self.missing and self.due_run is not None

    def with_preview(self, preview: Preview) -> "Previews":
        """With one more preview."""
        return replace(self, by_tier=MappingProxyType({**self.by_tier, preview.tier: preview}))


@dataclass(frozen=True, slots=True)
class Payback:
    """US dollars."""

    verdict: Literal["pays", "never", "unknown"]
    once: Decimal | None = None
    """Model calls, and the cache write of what is rewritten instead of its cache read."""
    saved: Decimal | None = None
    """By each later request: the cache reads of what was freed."""
    requests: int | None = None
    """After so many requests the savings reach the cost. 0 = it costs nothing."""


def payback(preview: Preview) -> Payback:
    """Of one step. `never` where it frees nothing, `unknown` where a price is."""
    if preview.freed <= 0:
        return Payback("never")
    model, time = preview.model, preview.time
    write = call_cost(model, cache_written(preview.rewritten, preview.cache_ttl_s), time)
    read = call_cost(model, Usage(cache_read=preview.rewritten), time)
    saved = call_cost(model, Usage(cache_read=preview.freed), time)
    calls = preview.calls.cost
    if write is None or read is None or saved is None or calls is None:
        return Payback("unknown")
    once = calls + write - read
    if not saved:
        return Payback("never", once, saved)
    return Payback("pays", once, saved, max(0, int((once / saved).to_integral_value(ROUND_CEILING))))
