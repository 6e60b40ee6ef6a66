"""What every tier would do at the current place, without doing it.

A preview gives the tokens that the tier frees, its model calls, the cache miss that it causes, and whether it pays for
itself. A verdict is available at once, a preview a moment later; no step is taken.

Without the step, the next request reads its whole buffer from the provider's cache. With the step, the messages before
the first change are still read from the cache, and those after it are written to it again. Every later request reads
fewer tokens, by the number that the step freed. This holds for a provider that caches prompts; prices are those of the
model and are never guessed.
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
from inspector.core.replay.summary_calls import (
    NO_CALLS,
    TYPICAL,
    CallPlace,
    ExpectedOutput,
    PricedCalls,
)
from inspector.core.tokens.prices import call_cost
from inspector.core.usage import FIVE_MINUTES_S, Usage, cache_written


@dataclass(frozen=True, slots=True)
class Preview:
    """The effect of a tier on a buffer, with needs answered offline. A model's summary may have another length."""

    tier: str
    freed: int
    """Tokens by which the next prompt would be smaller; negative if it would grow."""
    touched: int
    """Number of messages that the tier would change, remove or insert."""
    calls: PricedCalls
    """The model calls that the tier would make."""
    break_at: int | None
    """Index of the first message that changes: the provider's cached prefix ends there. None: nothing changes."""
    rewritten: int
    """Tokens of the new buffer from the first changed message on, which are written to the cache again."""
    rewrite_cost: Decimal | None
    outcome: Outcome[Any] | None = None
    failure: str = ""
    cache_ttl_s: int = FIVE_MINUTES_S
    """Lifetime in seconds of the rewritten cache entries: a write for an hour costs more."""
    expected: ExpectedOutput = TYPICAL
    """The output that the calls are expected to have."""
    model: str = ""
    """The model whose prices are used."""
    time: str = ""
    """The day of the prices (ISO 8601); empty means today."""
    saves_text: bool = False
    """True if the tier would name a saved file in the buffer. The path is unknown before the file is saved."""
    missing_files: str = ""
    """The files to re-attach that are not in the recording, in words; empty if none is missing."""


def preview(
    policy: Policy[Any, Any],
    tier: str,
    context: PolicyContext[Any, Any],
    place: CallPlace,
    answer: Answerer = offline,
) -> Preview:
    """Run the tier on a copy and return its effect. Changes nothing. Never raises for a tier that exists.

    Args:
        policy: The policy.
        tier: Name of its tier.
        context: The buffer and what the policy knows.
        place: The sizer at that place, and the prices of the model calls.
        answer: Meets the needs; nothing is written.
    """
    log = AnswerLog(rehearsed(answer))
    try:
        outcome: Outcome[Any] = drive(policy.tier(tier, context), log)
    except InspectorError as failure:
        return Preview(
            tier,
            freed=0,
            touched=0,
            calls=NO_CALLS,
            break_at=None,
            rewritten=0,
            rewrite_cost=None,
            failure=str(failure),
        )
    cached_s = context.moment.cache_ttl_s
    measured = weigh(tier, context.buffer, outcome.buffer, log.asked, place, cached_s)
    touched = _count_changes(fates(context.buffer, outcome))
    return replace(
        measured, touched=touched, outcome=outcome, saves_text=_names_saved_file(outcome)
    )


def weigh(
    name: str,
    before: Buffer,
    after: Buffer,
    needs: Sequence[AnsweredNeed],
    place: CallPlace,
    cache_ttl_s: int,
) -> Preview:
    """Compute what a tier or a step costs and frees.

    Args:
        name: Name of the tier or the step.
        before: The buffer before it.
        after: The buffer after it.
        needs: Its needs with their answers.
        place: The sizer at that place, and the prices of the model calls.
        cache_ttl_s: Lifetime of the provider's cache entries in seconds.
    """
    size = place.size
    break_at = first_change(before, after)
    freed = size.tokens(before) - size.tokens(after)
    rewritten = size.rows(after.messages[break_at:]) if break_at is not None else 0
    written = cache_written(rewritten, cache_ttl_s)
    rewrite_cost = call_cost(place.model, written, place.time) if rewritten else None
    calls = place.price(needs, before.prompt)
    return Preview(
        name,
        freed,
        touched=0,
        calls=calls,
        break_at=break_at,
        rewritten=rewritten,
        rewrite_cost=rewrite_cost,
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


def _count_changes(changes: Iterable[Fate]) -> int:
    return sum(fate.name != "kept" for fate in changes)


def fired_when_due(
    policy: Policy[Any, Any], context: PolicyContext[Any, Any], answer: Answerer
) -> tuple[str, ...]:
    """Return the tiers that would do something if the due tiers were run, in their order. Changes nothing.

    They may be fewer than the due tiers: the first one may free so much that the next is no longer due.
    """
    outcomes = drive(policy.run_due(context), rehearsed(answer))
    return tuple(outcome.tier for outcome in outcomes if outcome.changed or outcome.events)


def first_change(before: Buffer, after: Buffer) -> int | None:
    """Return the index of the first message that differs between the two; None if the buffers are equal."""
    if before is after:
        return None
    for index, (old, new) in enumerate(zip(before.messages, after.messages, strict=False)):
        if old is not new and old != new:
            return index
    shorter = min(len(before.messages), len(after.messages))
    return None if len(before.messages) == len(after.messages) else shorter


@dataclass(frozen=True, slots=True, eq=False)
class Previews:
    """The verdicts and previews of all tiers at one place: for a buffer, a running state, and the user's choices."""

    key: tuple[object, ...]
    """Everything that the previews depend on."""
    policy: Policy[Any, Any]
    context: PolicyContext[Any, Any]
    """The buffer and what the policy knows at this place."""
    estimated: int
    """Tokens of the buffer by the policy's own estimator, uncalibrated."""
    tokens: int
    """Tokens by the policy's own count, which its watermarks are compared with."""
    place: CallPlace
    """The sizer at this place, and the prices of the model calls."""
    verdicts: tuple[Verdict, ...]
    shown_tokens: int = 0
    """Tokens of the buffer by the sizer of the place."""
    due_run: tuple[str, ...] | None = None
    """The tiers that would do something if the due tiers were run; None until that is computed."""
    by_tier: Mapping[str, Preview] = field(default_factory=lambda: MappingProxyType({}))
    """The previews by tier, without those that are still being computed."""

    @property
    def next(self) -> str:
        """Return the tier that would fire first; empty if none is due."""
        return next((verdict.tier for verdict in self.verdicts if verdict.due), "")

    @property
    def due(self) -> tuple[str, ...]:
        """Return the tiers that are due, in the policy's order."""
        return tuple(verdict.tier for verdict in self.verdicts if verdict.due)

    @property
    def suggested(self) -> str:
        """Return the tier to show first: the first due tier, otherwise the tier that would free most.

        Empty until the previews are known, and if no tier would free anything.
        """
        if self.next or self.missing:
            return self.next
        freeing = [preview for preview in self.by_tier.values() if preview.freed > 0]
        return max(freeing, key=lambda preview: preview.freed).tier if freeing else ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the tiers without a preview yet."""
        return tuple(tier.name for tier in self.policy.tiers if tier.name not in self.by_tier)

    @property
    def is_complete(self) -> bool:
        """Are all previews computed, and what a due run would do?"""
        return not self.missing and self.due_run is not None

    def with_preview(self, preview: Preview) -> "Previews":
        """Return the previews with `preview` added."""
        return replace(self, by_tier=MappingProxyType({**self.by_tier, preview.tier: preview}))


@dataclass(frozen=True, slots=True)
class Payback:
    """Whether and when a step pays for itself. Amounts are in US dollars."""

    verdict: Literal["pays", "never", "unknown"]
    once: Decimal | None = None
    """One-time cost: the model calls, and writing the rewritten tokens to the cache instead of reading them."""
    saved: Decimal | None = None
    """Saving of each later request: the cache reads of the freed tokens."""
    requests: int | None = None
    """Number of requests after which the savings reach the cost; 0 if the step costs nothing."""


def payback(preview: Preview) -> Payback:
    """Return whether and when a step pays for itself: `never` if it frees or saves nothing, `unknown` without a
    price.
    """
    if preview.freed <= 0:
        return Payback("never")
    model = preview.model
    time = preview.time
    write = call_cost(model, cache_written(preview.rewritten, preview.cache_ttl_s), time)
    read = call_cost(model, Usage(cache_read=preview.rewritten), time)
    saved = call_cost(model, Usage(cache_read=preview.freed), time)
    calls = preview.calls.cost
    if write is None or read is None or saved is None or calls is None:
        return Payback("unknown")
    once = calls + write - read
    if not saved:
        return Payback("never", once, saved)
    return Payback(
        "pays", once, saved, requests=max(0, int((once / saved).to_integral_value(ROUND_CEILING)))
    )
