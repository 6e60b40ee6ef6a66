"""Pi's settings by their own names, and its running state: reports, the latest compaction, failures."""

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from inspector.core.errors import InspectorError
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.pi.rules import PiRules, find_rules
from inspector.core.policies.settings import (
    DERIVED,
    WindowFrom,
    check_limits,
    setting,
    window_setting,
)
from inspector.core.policies.verdict import CallReport

RESERVE, KEEP = 16_384, 20_000
MAX_FAILURES = 3
"""Number of consecutive failures after which automatic compaction stops in safe mode."""


@dataclass(frozen=True, slots=True)
class PiSettings:
    """All settings of Pi."""

    context_window: int = window_setting(200_000, low=0, high=100_000_000)
    window_from: WindowFrom = field(default="own", metadata=DERIVED)
    reserve_tokens: int = setting(
        RESERVE,
        "tokens kept free; compaction starts above window - reserve; 0 = the default",
        low=0,
    )
    keep_recent_tokens: int = setting(
        KEEP, "newest messages that stay, by their estimate; 0 = the default", low=0
    )
    enabled: bool = setting(True, "compact automatically")
    profile: Literal["seed", "upstream", "newest"] = setting(
        "seed",
        "whose rules: the design's trigger (reported prompt) on the code of 0.58; all as the code of 0.73 (plus the "
        "tail); or as that of 1.5",
    )
    check_point: Literal["after_llm", "before_llm", "turn_end", "agent_end"] = setting(
        "after_llm",
        "after the answer, before the call, after the tools, or when the agent has ended",
    )
    estimator: Literal["characters", "tiktoken"] = setting(
        "characters",
        "if nothing is reported (seed): characters / 4 + 10 a message, or a tokenizer",
    )
    dynamic_reserve: bool = setting(
        False, "reserve by the length of the last 10 messages (getDynamicReserveTokens)"
    )
    optimal_config: bool = setting(
        False, "reserve 8% and keep 10% of the window (getOptimalConfig)"
    )
    cost_aware: bool = setting(False, "compact only if compacting costs less than not compacting")
    expected_calls: int = setting(10, "calls expected after the compaction, for cost_aware", low=0)
    legacy_start: bool = setting(
        False,
        "summarise only what follows the last compaction's record (83378aa): messages that it kept are lost",
    )
    pin_last_user: bool = setting(False, "keep the newest user message unchanged")
    mode: Literal["faithful", "safe"] = setting(
        "faithful", "faithful: like upstream, with its bugs; safe: with the safety proposals"
    )

    @property
    def rules(self) -> PiRules:
        return find_rules(self.profile, self.safe)

    @property
    def safe(self) -> bool:
        return self.mode == "safe"


def apply_defaults(settings: PiSettings) -> PiSettings:
    """Return the settings as Pi reads them: a reserve or keep of 0 means the default.

    `optimal_config` replaces both by those for the window. Safe mode takes a keep of 0 literally.

    Raises:
        InspectorError: A value is impossible, or the reserve is 0 in safe mode.
    """
    check_limits(settings)
    if settings.optimal_config:
        reserve, keep = optimal_config(settings.context_window)
        return replace(settings, reserve_tokens=reserve, keep_recent_tokens=keep)
    if settings.safe:
        if not settings.reserve_tokens:
            raise InspectorError(
                "reserve_tokens must be above 0 in safe mode: the answer needs room."
            )
        return settings
    return replace(
        settings,
        reserve_tokens=settings.reserve_tokens or RESERVE,
        keep_recent_tokens=settings.keep_recent_tokens or KEEP,
    )


def optimal_config(window: int) -> tuple[int, int]:
    """Return (reserve, keep) of getOptimalConfig: floor(8%) and floor(10%) of the window."""
    return window * 8 // 100, window // 10


@dataclass(frozen=True, slots=True)
class PiState:
    """The state that Pi keeps between requests."""

    reports: tuple[CallReport, ...] = ()
    """Reports of the newest requests, oldest first, back to one that has usage and did not fail."""
    border: str = ""
    """Id of the last message at the latest compaction: messages up to it are older than the compaction."""
    checked: str = ""
    """Id of the last answer that was checked. Each answer is checked once."""
    failures: int = 0
    """Number of consecutive failed compactions."""
    overflowed: bool = False
    """True if Pi recovered from an overflow and no request has succeeded since."""
    compactions: int = 0
    messages: int = 0
    """Number of added messages, for the frequency of compactions."""
    seen: str = ""
    """Id of the last message that was counted in `messages`."""
    first_kept: str = ""
    """Id of the first entry that the latest compaction kept."""

    @property
    def open(self) -> bool:
        """Is the breaker of safe mode open, after `MAX_FAILURES` consecutive failures?"""
        return self.failures >= MAX_FAILURES


PiContext: TypeAlias = PolicyContext[PiSettings, PiState]
