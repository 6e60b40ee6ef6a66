"""How numbers are spelt everywhere in the window."""

from collections.abc import Callable
from decimal import Decimal
from math import floor, log10

from inspector.core.usage import FIVE_MINUTES_S, HOUR_S, Usage
from inspector.core.words import dollars as spelt
from inspector.core.words import per_cent

_TOGETHER = "\N{NO-BREAK SPACE}"


def grouped(number: int) -> str:
    """Return `152,310` or `−4,319`."""
    return f"{number:,}".replace("-", "−")


def dollars(amount: Decimal) -> str:
    """Return `$0.38` or `−$0.05`."""
    return spelt(amount).replace("-", "−")


def dollars_up_to(top: float) -> Callable[[float], str]:
    """`$2`, `$0.05`, `$0.00003`: how an axis that ends there says its amounts, all with the same places."""
    apart = max(float(top), 1e-9) / 10
    places = 0 if apart >= 1 else max(2, -floor(log10(apart)))
    return lambda amount: f"${amount:,.{places}f}" if amount else "$0"


def share_words(part: float) -> str:
    """`98%`; `100%` only of all of it."""
    return per_cent(min(part, 0.99) if part < 1 else part, 0)


def short(number: float) -> str:
    """Return `52k` or `1.2M`, for axes."""
    scale, unit = next(
        ((by, unit) for by, unit in ((1_000_000, "M"), (1_000, "k")) if abs(number) >= by), (1, "")
    )
    return f"{number / scale:g}{unit}".replace("-", "−")


def signed(number: int) -> str:
    """`+120`, `−30,594`, `0`: a difference."""
    sign = "+" if number > 0 else ""
    if number < 0:
        sign = "−"
    return f"{sign}{abs(number):,}"


def lifetime(ttl_s: int) -> str:
    """`5 min`, `1 h`: how long a cache entry is kept."""
    return f"{ttl_s // HOUR_S} h" if ttl_s >= HOUR_S else f"{ttl_s // 60} min"


def cache_words(usage: Usage | None) -> str:
    """`cache 12,000 read, 3,100 written for 1 h`; empty where the cache had no part in it."""
    if usage is None:
        return ""
    written = ((usage.cache_write_5m, FIVE_MINUTES_S), (usage.cache_write_1h, HOUR_S))
    parts = [f"{grouped(usage.cache_read)} read"] if usage.cache_read else []
    parts += [
        f"{grouped(tokens)} written for {lifetime(ttl_s)}" for tokens, ttl_s in written if tokens
    ]
    return f"cache {', '.join(parts)}" if parts else ""


def error_share(error: float | None) -> str:
    """`12.0% too low`, kept together on a line; empty where it is right to a tenth of a per cent."""
    if error is None or abs(error) < 0.0005:
        return ""
    words = f"{per_cent(abs(error), 1)} too {'low' if error < 0 else 'high'}"
    return words.replace(" ", _TOGETHER)


def error_words(error: float | None) -> str:
    """`: 12.0% too low`, to go after a number."""
    share = error_share(error)
    return f": {share}" if share else ""


def size_words(size: int | None) -> str:
    """`340 B`, `3.1 KB`, `212 KB`, `1.4 MB`; empty for an unknown one."""
    if size is None:
        return ""
    if size < 1000:
        return f"{size} B"
    kilo = size / 1000
    if kilo < 999.5:
        return f"{kilo:.1f} KB" if kilo < 9.95 else f"{kilo:.0f} KB"
    return f"{kilo / 1000:,.1f} MB"
