"""Times as files write them, in ISO 8601 as a Session has them."""

from datetime import UTC, datetime
from typing import Any


def iso_time(since: Any, unit: float = 1000) -> str:
    """Of so many ms since 1970 (`unit` of them are a second), in UTC; empty for what is no time."""
    if type(since) not in (int, float) or not 0 < since < 1 << 53:
        return ""
    try:
        return datetime.fromtimestamp(since / unit, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return ""
