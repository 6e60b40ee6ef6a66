"""Formats of numbers, used everywhere in the window."""

from collections.abc import Callable
from decimal import Decimal
from math import floor, log10

from inspector.core.usage import FIVE_MINUTES_S, HOUR_S, Usage
from inspector.core.words import dollars as spelt
from inspector.core.words import per_cent

_TOGETHER = "\N{NO-BREAK SPACE}"


def grouped(number: int) -> str:
    """Return a number with thousands separators, such as `152,310` or `−4,319`."""
    return f"{number:,}".replace("-", "−")


def dollars(amount: Decimal) -> str:
    """Return an amount of money, such as `$0.38` or `−$0.05`."""
    return spelt(amount).replace("-", "−")


def dollars_up_to(top: float) -> Callable[[float], str]:
    """Return a format for the amounts on an axis that ends at `top`, all with the same number of decimals.

    Examples: `$2`, `$0.05`, `$0.00003`.
    """
    apart = max(float(top), 1e-9) / 10
    places = 0 if apart >= 1 else max(2, -floor(log10(apart)))
    return lambda amount: f"${amount:,.{places}f}" if amount else "$0"


def share_words(part: float) -> str:
    """Return a fraction as a percentage, such as `98%`; `100%` only if it is exactly 1 or more."""
    return per_cent(min(part, 0.99) if part < 1 else part)


def short(number: float) -> str:
    """Return a short number for axes, such as `52k` or `1.2M`."""
    scale, unit = next(
        ((size, unit) for size, unit in ((1_000_000, "M"), (1_000, "k")) if abs(number) >= size),
        (1, ""),
    )
    return f"{number / scale:g}{unit}".replace("-", "−")


def signed(number: int) -> str:
    """Return a difference with its sign, such as `+120`, `−30,594` or `0`."""
    sign = "+" if number > 0 else ""
    if number < 0:
        sign = "−"
    return f"{sign}{abs(number):,}"


def lifetime(ttl_s: int) -> str:
    """Return for how long a cache entry is kept, such as `5 min` or `1 h`."""
    return f"{ttl_s // HOUR_S} h" if ttl_s >= HOUR_S else f"{ttl_s // 60} min"


def cache_words(usage: Usage | None) -> str:
    """Return a text such as `cache 12,000 read, 3,100 written for 1 h`; empty if the request did not use the cache."""
    if usage is None:
        return ""
    written = ((usage.cache_write_5m, FIVE_MINUTES_S), (usage.cache_write_1h, HOUR_S))
    parts = [f"{grouped(usage.cache_read)} read"] if usage.cache_read else []
    parts += [
        f"{grouped(tokens)} written for {lifetime(ttl_s)}" for tokens, ttl_s in written if tokens
    ]
    return f"cache {', '.join(parts)}" if parts else ""


def error_share(error: float | None) -> str:
    """Return a text such as `12.0% too low`, with no-break spaces; empty if the error is below 0.05%."""
    if error is None or abs(error) < 0.0005:
        return ""
    words = f"{per_cent(abs(error), places=1)} too {'low' if error < 0 else 'high'}"
    return words.replace(" ", _TOGETHER)


def error_words(error: float | None) -> str:
    """Return a text such as `: 12.0% too low` to append to a number; empty if the error is below 0.05%."""
    share = error_share(error)
    return f": {share}" if share else ""


def size_words(size: int | None) -> str:
    """Return a size in bytes as `340 B`, `3.1 KB`, `212 KB` or `1.4 MB`; empty if it is unknown."""
    if size is None:
        return ""
    if size < 1000:
        return f"{size} B"
    kilo = size / 1000
    if kilo < 999.5:
        return f"{kilo:.1f} KB" if kilo < 9.95 else f"{kilo:.0f} KB"
    return f"{kilo / 1000:,.1f} MB"
