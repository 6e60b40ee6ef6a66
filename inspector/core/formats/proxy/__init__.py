"""What the proxy recorded: every exchange between agents and their providers, as sessions and threads."""

from collections.abc import Mapping

from inspector.core.formats.format import Contents, Format, Head
from inspector.core.formats.proxy.reader import ProxyReader


def _sniff(head: Head) -> float:
    """The first line says so; a recording whose beginning was lost is known by its exchanges."""
    if head.document is not None and not head.values:
        return 0.0
    rows = [row for row in (head.values or [head.document]) if isinstance(row, Mapping)]
    if any(row.get("type") == "proxy" and "version" in row for row in rows[:1]):
        return 1.0
    told = [row for row in rows if row.get("type") in ("request", "response") and isinstance(row.get("exchange"), int)]
    return 0.95 if told and 2 * len(told) > len(rows) else 0.0


FORMAT = Format(
    "proxy",
    "recording of the proxy",
    _sniff,
    ProxyReader,
    grows=True,
    contents=Contents(tokens="yes", system="yes", tools="yes"),
)
