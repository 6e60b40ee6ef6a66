"""When to compact: the formula, and the variants that the design offers (spec 3.2, 3.3). Pure numbers."""

from collections.abc import Callable, Sequence

from inspector.core.message import Message
from inspector.core.policies.pi.settings import Settings
from inspector.core.policies.pi.usage import characters, content

RECENT = 10
"""Messages that getDynamicReserveTokens looks at."""
OUTPUT_PRICE = 5
"""What an output token costs in input tokens, for our own cost functions."""
SUMMARY_TOKENS = 2_000
"""What our own cost functions take a summary to be."""


def should_compact(tokens: int, window: int, reserve: int, enabled: bool = True) -> bool:
    """tokens > window - reserve, strictly. So it is always true for a window of 0."""
    return enabled and tokens > window - reserve


def dynamic_reserve(contents: Sequence[str]) -> int:
    """getDynamicReserveTokens, of the contents of messages: by the mean estimate of the last 10."""
    recent = [characters(text) for text in contents[-RECENT:]]
    total = sum(recent)
    if total > 2_000 * len(recent):
        return 32_768
    return 16_384 if total > 1_000 * len(recent) else 8_192


def reserve(settings: Settings, messages: Sequence[Message]) -> int:
    """The reserve that holds for these messages. Safe mode: at most a quarter of a window that it would fill."""
    found = settings.reserve_tokens
    if settings.dynamic_reserve:
        found = dynamic_reserve([content(message) for message in messages[-RECENT:]])
    return settings.context_window // 4 if is_clamped(settings, found) else found


def is_clamped(settings: Settings, found: int) -> bool:
    """Does safe mode cut this reserve?"""
    return settings.safe and settings.context_window > 0 and found >= settings.context_window


Cost = Callable[[int], float]
"""Cost of a buffer of that many tokens, in any unit."""


def should_compact_by_cost(tokens: int, threshold: int, compaction_cost: Cost, continue_cost: Cost) -> bool:
    """shouldCompactWithCostAwareness: above the threshold, and compacting costs less than going on (both strictly).

    The design defines neither cost; ours are `compaction_cost` and `continue_cost`.
    """
    return tokens > threshold and compaction_cost(tokens) < continue_cost(tokens)


def compaction_cost(tokens: int) -> float:
    """Ours, in input tokens: the summariser reads it all and writes a summary."""
    return tokens + OUTPUT_PRICE * SUMMARY_TOKENS


def continue_cost(tokens: int, keep: int, calls: int) -> float:
    """Ours, in input tokens: what each call to come reads more than it would after a compaction."""
    return max(0, tokens - keep - SUMMARY_TOKENS) * calls


def messages_per_compaction(messages: int, compactions: int) -> float | None:
    """The design's frequency statistic; None before the first compaction."""
    return messages / compactions if compactions else None


def messages_until_compaction(threshold: int, tokens_per_message: int) -> int:
    """How many messages of that mean size fill the window to the threshold."""
    return threshold // tokens_per_message if tokens_per_message > 0 else 0
