"""learn-claude-code's constants as settings, by their names in its source."""

from dataclasses import dataclass, field
from typing import Literal

from inspector.core.errors import InspectorError
from inspector.core.policies.settings import (
    DERIVED,
    WindowFrom,
    check_limits,
    setting,
    window_setting,
)


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """All settings of learn-claude-code, in tokens unless the name says another unit."""

    context_window: int = window_setting(200_000)
    window_from: WindowFrom = field(default="own", metadata=DERIVED)
    max_output: int = setting(
        16_384, "maximum tokens of an answer", names=["max_output_tokens"], low=0
    )
    max_output_reserve: int = setting(
        20_000, "tokens of the answer for which the threshold keeps room, at most", low=0
    )
    overhead: int = setting(
        13_000, "what the threshold leaves for system prompt, tools and the rest", low=0
    )
    min_savings: int = setting(
        20_000, "tokens that auto compaction must save at least", names=["MIN_SAVINGS"], low=0
    )
    keep_recent: int = setting(
        3, "newest tool results that micro-compaction leaves alone", names=["KEEP_RECENT"], low=0
    )
    compactable_tools: tuple[str, ...] = setting(
        ("bash", "read_file", "write_file", "edit_file"),
        "tools whose results micro-compaction clears",
        names=["COMPACTABLE_TOOLS"],
    )
    micro_min_tokens: int = setting(1_000, "results above this size are cleared", low=0)
    recent_messages: int = setting(5, "newest messages that auto and manual keep", low=1)
    max_restore_files: int = setting(5, "files read again", names=["MAX_RESTORE_FILES"], low=0)
    max_restore_tokens_per_file: int = setting(
        5_000, "of each file", names=["MAX_RESTORE_TOKENS_PER_FILE"], low=0
    )
    max_restore_tokens_total: int = setting(
        50_000, "of all files", names=["MAX_RESTORE_TOKENS_TOTAL"], low=0
    )
    restore_tools: tuple[str, ...] = setting(
        ("read_file",), "tools whose calls name the files to read again"
    )
    large_output_tokens: int = setting(40_000, "an output above this size goes to disk", low=0)
    preview_chars: int = setting(2_000, "characters of the output that stay in the buffer", low=0)
    summary_max_tokens: int = setting(2_000, "longest summary, in tokens", low=1)
    summary_message_chars: int = setting(
        500, "characters of each text that the summariser reads", low=0
    )
    summary_result_chars: int = setting(
        200, "characters of each tool result that the summariser reads", low=0
    )
    summary_total_chars: int = setting(
        100_000, "characters that the summariser reads in total", low=0
    )
    summary_timeout: float = setting(300.0, "seconds for the summary call", low=0)
    max_summary_failures: int = setting(
        3, "failed summaries in a row that end auto compaction (safe mode)", low=1
    )
    pin_last_user: bool = setting(False, "keep the newest user message unchanged")
    mode: Literal["faithful", "safe"] = setting(
        "faithful", "faithful: like upstream, with its bugs; safe: with the safety proposals"
    )

    @property
    def safe(self) -> bool:
        return self.mode == "safe"

    @property
    def reserve(self) -> int:
        """Return the tokens that the threshold reserves for the answer."""
        return min(self.max_output, self.max_output_reserve)

    @property
    def threshold(self) -> int:
        """Return the tokens above which auto compaction may fire. Negative for a small window (safe mode: an error)."""
        return self.context_window - self.reserve - self.overhead


def check_learn_settings(settings: LearnSettings) -> LearnSettings:
    """Return the settings if all values are within their limits. Raises InspectorError."""
    check_limits(settings)
    if settings.safe and settings.threshold <= 0:
        raise InspectorError(
            f"The threshold would be {settings.threshold:,} tokens: context_window {settings.context_window:,} must be "
            f"larger than {settings.reserve:,} for the answer and {settings.overhead:,} overhead."
        )
    return settings


@dataclass(frozen=True, slots=True)
class LearnState:
    """Consecutive failed summaries. `open`: True if there is no further auto compaction in this session."""

    failures: int = 0
    open: bool = False

    def failed(self, settings: LearnSettings) -> "LearnState":
        """Return the state after another failed summary. Only safe mode counts failures."""
        if not settings.safe:
            return self
        failures = self.failures + 1
        return LearnState(failures, failures >= settings.max_summary_failures)
