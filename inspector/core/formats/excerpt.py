"""A few characters of a value, to show with a problem: enough to find it, never all of it."""

from typing import Any


def excerpt(value: Any) -> str:
    """The keys of an object, the beginning of a text, else the kind of value. One line, at most some 350 characters."""
    if isinstance(value, dict):
        return ", ".join(key[:40] for key in list(value)[:8])
    return str(value)[:80] if isinstance(value, str | int | float) else type(value).__name__
