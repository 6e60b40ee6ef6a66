"""The lines on gauge and timeline: where Roku's tiers stand with its own settings (spec 1.1)."""

from inspector.core.policies.policy import Watermark

MID, HIGH = 0.60, 0.75
"""Roku's MID_WATER_TRIGGER_RATIO and compact_threshold_ratio."""
RESERVE = 16_384
"""Tokens that a client usually keeps free for the answer (Pi's reserveTokens); a quarter of a small window."""


def watermarks(window: int | None) -> tuple[Watermark, ...]:
    """The lines of a window, lowest first; none while it is unknown."""
    if not window:
        return ()
    return (
        Watermark("60 %", int(window * MID), "mid_water_trigger_ratio", ("L1", "L2")),
        Watermark("75 %", int(window * HIGH), "compact_threshold_ratio", ("L3",)),
    )


def reserve(window: int | None) -> int:
    """Room at the top of the tank for the answer."""
    return min(RESERVE, window // 4) if window else 0
