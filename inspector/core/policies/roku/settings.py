"""Roku's constants as settings, each with its hard limits (spec 1.1)."""

import math
from dataclasses import dataclass, field
from typing import Literal

from inspector.core.errors import InspectorError
from inspector.core.policies.settings import DERIVED, WindowFrom, check, setting, window_setting
from inspector.core.policies.verdict import Watermark
from inspector.core.words import per_cent

MAX_WINDOW = 2_000_000
"""HARD_MAX_CONTEXT_WINDOW_TOKENS"""


@dataclass(frozen=True, slots=True)
class RokuSettings:
    """Everything that can be set. Tokens, seconds, characters as the name says."""

    context_window_tokens: int = window_setting(200_000, high=MAX_WINDOW)
    window_from: WindowFrom = field(default="own", metadata=DERIVED)
    mid_water_trigger_ratio: float = setting(
        0.60, "share of the window above which the mid tier fires", names=["mid_ratio"], low=0, high=1
    )
    compact_threshold_ratio: float = setting(
        0.75, "share of the window above which L3 fires", names=["high_ratio"], low=0, high=1
    )
    microcompact_retain_recent: int = setting(3, "newest tool results that L0 leaves alone", low=0)
    compact_request_timeout: float = setting(90.0, "seconds for a remote compact (L3a)", low=0)
    compact_llm_timeout: float = setting(300.0, "seconds for a summary call (L3b, history)", low=0)
    max_consecutive_autocompact_failures: int = setting(3, "failures in a row that open the breaker", low=1)
    max_drop_oldest_retries: int = setting(3, "times L3b drops the oldest half and asks again", low=0)
    retain_tail_steps: int = setting(8, "step records kept by a history compaction", low=0, high=32)
    working_summary_max_chars: int = setting(4_000, "longest working summary", low=0, high=32_000)
    per_turn_tool_budget_tokens: int = setting(200_000, "tool results of one turn that raise a notice", low=0)
    l3_segment: Literal["half", "tail"] = setting(
        "half", "what L3 removes: the older half, or all but the newest steps"
    )
    placement: Literal["end_of_turn", "preflight"] = setting("end_of_turn", "where in a turn L3 is checked")
    history_after_remote: Literal["mechanical", "llm"] = setting("mechanical", "history compaction after L3a")
    l0_gate: Literal["always", "cache_ttl"] = setting("always", "L0 before every attempt, or when the cache is cold")
    cache_ttl_s: float = setting(300.0, "seconds after which the provider's cache is cold", low=0)
    session_memory: Literal["none", "generate"] = setting("none", "where L2's summary comes from if none is supplied")
    truncate_large_results: bool = setting(False, "cut every tool result over 4,000 bytes before L3 measures")
    breaker_recovery_after: int = setting(0, "good turns that close the breaker again; 0 = never (upstream)", low=0)
    opaque_items: Literal["skip", "keep"] = setting("skip", "what only the provider can read in a remote compact")
    unit: Literal["chars", "bytes"] = setting("chars", "what working_summary_max_chars counts")
    pin_last_user: bool = setting(False, "keep the newest user message word for word")
    exclude_tools: tuple[str, ...] = setting((), "tools whose results L0 leaves alone (safe mode)")
    mode: Literal["faithful", "safe"] = setting("faithful", "as upstream, bugs and all; or with the safety proposals")

    @property
    def safe(self) -> bool:
        return self.mode == "safe"

    @property
    def mid_line(self) -> Watermark:
        """floor(window x ratio), in tokens. Above it the mid tier fires; exactly on it nothing happens."""
        return self._line("mid_water_trigger_ratio", "L1 / L2", ("L1", "L2"))

    @property
    def high_line(self) -> Watermark:
        """The same for L3."""
        return self._line("compact_threshold_ratio", "L3", ("L3a", "L3b"))

    def _line(self, setting: str, label: str, tiers: tuple[str, ...]) -> Watermark:
        ratio = getattr(self, setting)
        return Watermark(f"{per_cent(ratio)} {label}", math.floor(self.context_window_tokens * ratio), setting, tiers)


def checked(settings: RokuSettings) -> RokuSettings:
    """The settings, if all limits hold. Raises InspectorError."""
    check(settings)
    for name in ("mid_water_trigger_ratio", "compact_threshold_ratio"):
        value = getattr(settings, name)
        if not 0 < value < 1:
            raise InspectorError(f"{name} must lie strictly between 0 and 1, not {value}.")
    return settings
