"""Format numbers with words: counts, durations, percentages, money. The window and the command line use the same."""

import re
from decimal import Decimal


def plural(number: int, noun: str, many: str = "") -> str:
    """Return `1 message`, `996 messages`. `many`: the plural, if it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def times(number: int) -> str:
    """Return `once`, `twice`, `5 times`."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def duration(seconds: float) -> str:
    """Return `12 s`, `7 min 32 s`, `2 h 24 min`, `3 days`."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{round(seconds / 86_400)} days"


def per_cent(part: float, places: int = 0, sign: str = "") -> str:
    """Return a share as `60%`; with `sign="+"` as `+8%` or `-3%`."""
    return f"{part * 100:{sign}.{places}f}%"


_OPENING_WORDS = re.compile(
    r"(a|an|image|it|its|no|nothing|only|opening|replay|step|that|the|there|these|this|thread|those) "
)
"""Words with which this program's sentences begin. Any other first word is a name, which keeps its spelling."""


def sentence_case(text: str) -> str:
    """Capitalise a sentence unless it begins with a name: `There is no file`, `empty.jsonl is empty`."""
    return text[0].upper() + text[1:] if _OPENING_WORDS.match(text) else text


def priced_words(expected: Decimal | float, most: Decimal | float | None) -> str:
    """Return `about $0.12 (at most $0.55)`; without the bracket if there is no limit, or both read the same."""
    words = dollars(expected)
    bound = f" (at most {dollars(most)})" if most is not None and dollars(most) != words else ""
    return f"about {words}{bound}"


_CENT, _LEAST = Decimal("0.01"), Decimal("0.0001")


def dollars(amount: Decimal | float) -> str:
    """Return `$0.38` or `-$1,204.10`; below a cent two significant digits, below $0.0001 `under $0.0001`."""
    sign = "-" if amount < 0 else ""
    size = -amount if amount < 0 else amount
    if size == 0 or size >= _CENT:
        return f"{sign}${size:,.2f}"
    return f"{sign}${size:.2g}" if size >= _LEAST else f"under {sign}$0.0001"


NOT_RECORDED = "not recorded"
"""The name of tokens that the provider counted but the file does not hold."""
_PART_TITLES = {"unseen": NOT_RECORDED, "difference": "count difference"}


def part_title(name: str) -> str:
    """Return the name of a part of the buffer as people read it."""
    return _PART_TITLES.get(name, name)
