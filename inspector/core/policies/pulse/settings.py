"""The settings of Pulse Coder, which it reads from environment variables."""

from dataclasses import dataclass, field
from typing import Literal

from inspector.core.policies.settings import (
    DERIVED,
    MODEL,
    WindowFrom,
    plain_name,
    setting,
    window_setting,
)

WINDOW_NAMES = frozenset({"window", "contextwindow", "contextwindowtokens"})
NUMBERS = WINDOW_NAMES | {
    "compacttrigger",
    "compacttarget",
    "keeplastturns",
    "maxcompactionattempts",
    "compactsummarymaxtokens",
}
"""Plain names of the numbers that Pulse Coder reads from its environment."""


@dataclass(frozen=True, slots=True)
class PulseSettings:
    """All settings of Pulse Coder, in tokens unless the name says another unit."""

    context_window_tokens: int = window_setting(64_000)
    window_from: WindowFrom = field(default="own", metadata=DERIVED)
    compact_trigger: int = setting(
        48_000,
        "compacts from this size; default 75% of the window",
        names=["COMPACT_TRIGGER"],
        low=0,
    )
    compact_target: int = setting(
        32_000, "largest result; default 50% of the window", names=["COMPACT_TARGET"], low=1
    )
    keep_last_turns: int = setting(
        6, "newest user turns that stay unchanged", names=["KEEP_LAST_TURNS"], low=1
    )
    max_compaction_attempts: int = setting(
        2, "compactions in one call of the loop", names=["MAX_COMPACTION_ATTEMPTS"], low=1
    )
    compact_summary_max_tokens: int = setting(
        1_200, "longest summary", names=["COMPACT_SUMMARY_MAX_TOKENS"], low=1
    )
    prune_on_oversize: bool = setting(
        False, "if a summary is too large, also prune before the newest turns are taken"
    )
    estimator: Literal["chars4", "roku", "tiktoken", "tiktoken-cl100k"] = setting(
        "chars4", "what counts tokens: characters / 4, or a tokenizer", names=["tokenizer"]
    )
    summary_part_tokens: int = setting(
        0,
        "summarise the old part in parts of this size, then the summaries; 0 = all at once",
        low=0,
    )
    summary_role: Literal["assistant", "user"] = setting(
        "assistant", "role of the message with the summary"
    )
    length_ratio: float = setting(
        0.0,
        "the finish reason `length` means a full context only above this share of the window; 0 = always",
        low=0,
        high=1,
    )
    write_back: bool = setting(
        True,
        "the caller uses the compacted list; off = the caller keeps its old list (a known bug)",
    )
    mode: Literal["faithful", "safe"] = setting(
        "faithful", "faithful: like upstream, with its bugs; safe: with the safety proposals"
    )

    @property
    def safe(self) -> bool:
        return self.mode == "safe"


def is_usable(key: str, text: str) -> bool:
    """Would Pulse Coder use this value rather than ignore it?"""
    name = plain_name(key)
    if name not in NUMBERS or (name in WINDOW_NAMES and plain_name(text) == MODEL):
        return True
    try:
        number = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        return False
    return number > 0 or (number == 0 and name == "compacttrigger")
