"""Does a step pay? What it costs once, against what every later request saves.

Without the step the next request reads its whole buffer from the provider's cache. With it, what stands in front of the
first change is still read from the cache, what comes behind is written anew. From then on each request reads so many
tokens less as the step freed. All for a provider that caches prompts; prices are the model's, never guessed.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Literal, TypeAlias

from inspector.core.tokens.prices import cost
from inspector.core.usage import Usage, cache_written
from inspector.workbench.state.preview import Preview

Verdict: TypeAlias = Literal["pays", "never", "unknown"]


@dataclass(frozen=True, slots=True)
class Payback:
    """US dollars."""

    verdict: Verdict
    once: Decimal | None = None
    """Model calls, and the cache write of what is rewritten instead of its cache read."""
    saved: Decimal | None = None
    """By each later request: the cache reads of what was freed."""
    requests: int | None = None
    """After so many requests the savings reach the cost. 0 = it costs nothing."""


def payback(preview: Preview, model: str) -> Payback:
    """Of one step. `never` where it frees nothing, `unknown` where a price is."""
    if preview.freed <= 0:
        return Payback("never")
    write = cost(model, cache_written(preview.rewritten, preview.cache_ttl_s))
    read = cost(model, Usage(cache_read=preview.rewritten))
    saved = cost(model, Usage(cache_read=preview.freed))
    calls = preview.call_cost if preview.calls else Decimal(0)
    if write is None or read is None or saved is None or calls is None:
        return Payback("unknown")
    once = calls + write - read
    if not saved:
        return Payback("never", once, saved)
    return Payback("pays", once, saved, max(0, int((once / saved).to_integral_value(ROUND_CEILING))))
