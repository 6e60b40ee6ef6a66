"""What a tier would do, without doing it: tokens freed, messages touched, the call it costs, the cache it breaks."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from inspector.core.answering import Asked, Listening, offline, rehearsed
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.needs import RemoteCompact, Summarize, drive
from inspector.core.outcome import Outcome, fates
from inspector.core.policies.policy import Moment, Policy
from inspector.core.tokens.prices import cost
from inspector.core.tokens.sizing import Sizer
from inspector.core.usage import MINUTES, Usage, cache_written


@dataclass(frozen=True, slots=True)
class Preview:
    """A tier on a buffer, answered offline: with a model's summary the figures would differ by its length."""

    tier: str
    freed: int
    """Tokens by which the next prompt would be smaller; negative where it would grow."""
    touched: int
    """Messages that would not be kept as they are."""
    calls: int
    call_input: int
    """Tokens that the model calls would read."""
    call_output: int
    """Tokens that they may write, at most."""
    call_cost: Decimal | None
    """US dollars for these, at the model's price; None where it is not known."""
    break_at: int | None
    """Index of the first message that changes: the provider's cached prefix ends there. None = nothing changes."""
    rewritten: int
    """Tokens from there on in the new buffer: they are written to the cache anew."""
    rewrite_cost: Decimal | None
    outcome: Outcome[Any] | None = None
    failure: str = ""
    cache_ttl_s: int = MINUTES
    """How long what is written anew will be kept: a write for an hour costs more."""


def preview(
    policy: Policy[Any, Any],
    tier: str,
    buffer: Buffer,
    settings: Any,
    running: Any,
    moment: Moment,
    sizer: Sizer,
) -> Preview:
    """Run the tier on the side. Changes nothing. Never raises for a tier that exists. All sizes are the `sizer`'s."""
    heard = Listening(rehearsed(offline))
    try:
        outcome: Outcome[Any] = drive(policy.tier(tier, buffer, settings, running, moment), heard)
    except InspectorError as failure:
        return Preview(tier, 0, 0, 0, 0, 0, None, None, 0, None, None, str(failure))
    touched = sum(fate.name != "kept" for fate in fates(buffer, outcome))
    calls = sum(isinstance(one.need, Summarize | RemoteCompact) for one in heard.asked)
    read, written = _call_tokens(heard.asked, sizer)
    break_at = first_change(buffer, outcome.buffer)
    rewritten = 0
    if break_at is not None:
        rewritten = sizer.rows(outcome.buffer.messages[break_at:])
    return Preview(
        tier,
        sizer.tokens(buffer) - sizer.tokens(outcome.buffer),
        touched,
        calls,
        read,
        written,
        cost(moment.model, Usage(input=read, output=written)) if calls else None,
        break_at,
        rewritten,
        cost(moment.model, cache_written(rewritten, moment.cache_ttl_s)) if rewritten else None,
        outcome,
        cache_ttl_s=moment.cache_ttl_s,
    )


def first_change(before: Buffer, after: Buffer) -> int | None:
    """Index of the first message that is not the same in both; None where the buffers are equal."""
    if before is after:
        return None
    for n, (old, new) in enumerate(zip(before.messages, after.messages, strict=False)):
        if old is not new and old != new:
            return n
    shorter = min(len(before.messages), len(after.messages))
    return None if len(before.messages) == len(after.messages) else shorter


def _call_tokens(asked: list[Asked], sizer: Sizer) -> tuple[int, int]:
    read, written = 0, 0
    for one in asked:
        match one.need:
            case Summarize(instructions, text, messages, max_tokens):
                read += sizer.text(instructions) + sizer.text(text) + sizer.rows(messages)
                written += max_tokens or 0
            case RemoteCompact(instructions, messages):
                read += sizer.text(instructions) + sizer.rows(messages)
            case _:
                pass
    return read, written
