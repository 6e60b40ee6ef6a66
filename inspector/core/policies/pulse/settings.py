"""Pulse Coder's configuration by the names of its environment variables (spec 2.1), our switches, its running state.

As upstream reads its environment: what is no number, or not above 0, is ignored and the default stands. One exception:
`COMPACT_TRIGGER=0` is taken, it means "always".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from inspector.core.errors import InspectorError
from inspector.core.message import Message
from inspector.core.policies.settings import (
    DERIVED,
    MODEL,
    WindowFrom,
    apply,
    check,
    plain,
    setting,
    window_setting,
    windowed,
)

TRIGGER_SHARE, TARGET_SHARE = 0.75, 0.50
WINDOW_NAMES = frozenset({"window", "contextwindow", "contextwindowtokens"})
NUMBERS = WINDOW_NAMES | frozenset(
    {
        "compacttrigger",
        "compacttarget",
        "keeplastturns",
        "maxcompactionattempts",
        "compactsummarymaxtokens",
    }
)
"""Names of what upstream reads from its environment, spelt plainly."""


@dataclass(frozen=True, slots=True)
class PulseSettings:
    """Everything that can be set. Tokens unless the name says otherwise."""

    context_window_tokens: int = window_setting(64_000)
    window_from: WindowFrom = field(default="own", metadata=DERIVED)
    compact_trigger: int = setting(
        48_000, "compacts from here on; default 75 % of the window", names=["COMPACT_TRIGGER"], low=0
    )
    compact_target: int = setting(
        32_000, "a compacted list may be so large; default 50 % of the window", names=["COMPACT_TARGET"], low=1
    )
    keep_last_turns: int = setting(6, "newest user turns that stay word for word", names=["KEEP_LAST_TURNS"], low=1)
    max_compaction_attempts: int = setting(
        2, "compactions in one call of the loop", names=["MAX_COMPACTION_ATTEMPTS"], low=1
    )
    compact_summary_max_tokens: int = setting(
        1_200, "longest summary that is asked for", names=["COMPACT_SUMMARY_MAX_TOKENS"], low=1
    )
    prune_on_oversize: bool = setting(
        False, "a summary that is too large: prune before the newest turns are taken, too"
    )
    estimator: Literal["chars4", "roku", "tiktoken", "tiktoken-cl100k"] = setting(
        "chars4", "what counts tokens: characters / 4, or a tokenizer", names=["tokenizer"]
    )
    summary_part_tokens: int = setting(
        0, "summarise the old part in parts of this size, then the summaries; 0 = all at once", low=0
    )
    summary_role: Literal["assistant", "user"] = setting("assistant", "who seems to have written the summary")
    length_ratio: float = setting(
        0.0, "`length` is trouble with the context only above this share of the window; 0 = always", low=0, high=1
    )
    write_back: bool = setting(True, "the caller takes the new list over; off = its callback forgets to")
    mode: Literal["faithful", "safe"] = setting("faithful", "as upstream, bugs and all; or with the safety proposals")

    @property
    def safe(self) -> bool:
        return self.mode == "safe"


def read(values: Sequence[tuple[str, str]], window: int | None) -> PulseSettings:
    """Trigger and target follow the window unless they are given; the window is its own, whatever the model's is.

    Raises InspectorError.
    """
    usable = [pair for pair in values if _usable(*pair)]
    first, others = windowed(PulseSettings(), usable, window, follows=False)
    shares = replace(
        first,
        compact_trigger=math.floor(first.context_window_tokens * TRIGGER_SHARE),
        compact_target=max(1, math.floor(first.context_window_tokens * TARGET_SHARE)),
    )
    return _checked(apply(shares, others))


def _usable(key: str, text: str) -> bool:
    name = plain(key)
    if name not in NUMBERS or (name in WINDOW_NAMES and plain(text) == MODEL):
        return True
    try:
        number = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        return False
    return number > 0 or (number == 0 and name == "compacttrigger")


def _checked(settings: PulseSettings) -> PulseSettings:
    """Safe mode refuses a target that a compaction could reach and still be due again."""
    trigger, target = settings.compact_trigger, settings.compact_target
    if settings.safe and 0 < trigger <= target:
        raise InspectorError(f"compact_target ({target:,}) must lie below compact_trigger ({trigger:,}).")
    return check(settings)


@dataclass(frozen=True, slots=True)
class PulseState:
    """How often the running call of its loop has compacted: a call of the loop begins with a prompt of the user."""

    attempts: int = 0
    prompt: str = ""
    """Id of the user message that the counted attempts belong to."""

    def at(self, messages: Sequence[Message]) -> "PulseState":
        """With a prompt that was not there before, a new call of the loop has begun."""
        newest = next((m.id for m in reversed(messages) if m.role == "user" and not m.summary), "")
        return self if newest == self.prompt else PulseState(0, newest)
