"""When each listed exchange began, answered and ended, as shares of the shown span."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from inspector.gui.panels.proxy.exchange_rows import ListedExchange

_GAP = 0.03
"""Share of the column's width that an idle time takes, regardless of its length."""


@dataclass(frozen=True, slots=True)
class _BarTimes:
    """The id of a row, and the times of its exchange in seconds."""

    id: object
    start: float
    first_byte: float
    end: float


def waterfall(rows: Sequence[ListedExchange]) -> dict[object, tuple[float, float, float]]:
    """Return start, first byte and end of each bar, from 0 to 1, by the row's id. O(n log n).

    All bars share one axis, on which every idle time is a small gap, regardless of its length. Holding is idle time.
    Rows without times have no bar.
    """
    spans = sorted(
        filter(None, map(_span, rows)), key=lambda span: (span.start, span.first_byte, span.end)
    )
    lefts = list[tuple[float, int]]()  # busy seconds, and number of gaps before each span
    idle = 0.0
    busy_until = 0.0
    gaps = 0
    for index, span in enumerate(spans):
        if index == 0:
            idle = busy_until = span.start
        if span.start > busy_until:
            idle += span.start - busy_until
            gaps += 1
        busy_until = max(busy_until, span.end)
        lefts.append((span.start - idle, gaps))
    ends = [busy + span.end - span.start for span, (busy, _) in zip(spans, lefts, strict=True)]
    gap = min(_GAP, 0.5 / gaps) if gaps else 0.0
    per_second = (1 - gaps * gap) / (max(ends, default=0.0) or 1.0)
    bars = dict[object, tuple[float, float, float]]()
    for span, (busy, gaps_before) in zip(spans, lefts, strict=True):
        left = busy * per_second + gaps_before * gap
        first_byte = left + (span.first_byte - span.start) * per_second
        bars[span.id] = (left, first_byte, left + (span.end - span.start) * per_second)
    return bars


def _span(row: ListedExchange) -> _BarTimes | None:
    """Return when an exchange was forwarded, got its first byte and ended; None if these times are not recorded."""
    exchange = row.what
    if exchange.elapsed_ms is None:
        return None
    try:
        start = datetime.fromisoformat(exchange.time).timestamp() + (exchange.held_ms or 0.0) / 1000
    except ValueError:
        return None
    first_byte_ms = min(exchange.first_byte_ms or exchange.elapsed_ms, exchange.elapsed_ms)
    return _BarTimes(
        row.id,
        start,
        first_byte=start + first_byte_ms / 1000,
        end=start + exchange.elapsed_ms / 1000,
    )
