"""Which tier would fire now, and why: with the numbers, for every tier, fired or not."""

from inspector.core.buffer import Buffer
from inspector.core.policies.policy import Moment, Verdict
from inspector.core.policies.roku.compaction import choose_path
from inspector.core.policies.roku.microcompact import clearable, freed_raw
from inspector.core.policies.roku.running import Running, total_tokens
from inspector.core.policies.roku.segment import half_split, l3_split
from inspector.core.policies.roku.settings import Settings, is_above
from inspector.core.policies.settings import of_window


def verdicts(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> tuple[Verdict, ...]:
    """L0, L1, L2, L3a, L3b, L4 in that order."""
    total = total_tokens(buffer, running)
    mid = _compared(total, settings.mid_watermark, settings.mid_water_trigger_ratio, settings)
    high = _compared(total, settings.high_watermark, settings.compact_threshold_ratio, settings)
    has_memory = bool(moment.summary.strip()) or settings.session_memory == "generate"
    mid_due, high_due = is_above(total, settings.mid_watermark), is_above(total, settings.high_watermark)
    if half_split(buffer.messages, settings) <= 1:
        mid, mid_due = f"{mid} · nothing can be removed", False
    if l3_split(buffer.messages, settings) <= 1:
        high = f"{high} · nothing can be removed"
    path = choose_path(running, moment)
    return (
        _l0(buffer, settings, running),
        Verdict(
            "L1",
            mid_due and not has_memory,
            mid + (" · a summary is at hand: L2" if has_memory else ""),
            total,
            settings.mid_watermark,
        ),
        Verdict(
            "L2",
            mid_due and has_memory,
            mid if has_memory else f"{mid} · no summary at hand: L1",
            total,
            settings.mid_watermark,
        ),
        Verdict("L3a", high_due and path == "L3a", _l3a_why(high, path, moment), total, settings.high_watermark),
        Verdict(
            "L3b", high_due and path != "L3a", _l3b_why(high, path, moment, running), total, settings.high_watermark
        ),
        Verdict("L4", bool(moment.overflow), moment.overflow or "only after the model refuses the buffer", total, None),
    )


def _l0(buffer: Buffer, settings: Settings, running: Running) -> Verdict:
    indices = clearable(buffer.messages, settings)
    freed = running.calibration.apply(freed_raw(buffer.messages, indices))
    if not indices:
        why = f"no tool result older than the newest {settings.microcompact_retain_recent} would shrink"
    else:
        why = f"{len(indices):,} old tool result{'s' * (len(indices) != 1)}"
    return Verdict("L0", bool(indices), why, freed, None)


def _compared(total: int, limit: int, ratio: float, settings: Settings) -> str:
    share = f"({ratio:.0%} of {of_window(settings.context_window_tokens, settings.window_from)})"
    if is_above(total, limit):
        return f"{total:,} > {limit:,} {share}: {total - limit:,} over"
    return f"{total:,} <= {limit:,} {share}: {limit - total + 1:,} to go"


def _l3a_why(high: str, path: str, moment: Moment) -> str:
    if path == "mechanical":
        return f"{high} · {'breaker open' if moment.router else 'no model'}: mechanical"
    return high if moment.remote else f"{high} · this provider cannot compact remotely"


def _l3b_why(high: str, path: str, moment: Moment, running: Running) -> str:
    if path == "mechanical":
        cause = "breaker open" if running.breaker.open else "no model"
        return f"{high} · {cause}: mechanical digest"
    return f"{high} · the provider compacts remotely: L3a" if path == "L3a" else high
