"""Roku's constants as settings, each with its hard limits, and its running state.

The running state has the calibration, the circuit breaker (after three consecutive failures, all later summaries of the
session are mechanical), the detector of cache misses, and LoopState.history with one record per step.
"""

import math
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Literal, TypeAlias

from inspector.core.buffer import Buffer, Prompt
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.policies.settings import (
    DERIVED,
    WindowFrom,
    check_limits,
    setting,
    window_setting,
)
from inspector.core.policies.verdict import Watermark
from inspector.core.tokens.calibration import Calibration
from inspector.core.tokens.estimators import buffer_tokens
from inspector.core.tokens.harnesses import Roku
from inspector.core.words import per_cent

MAX_WINDOW = 2_000_000
"""HARD_MAX_CONTEXT_WINDOW_TOKENS in Roku."""
ESTIMATOR = Roku()
RELATIVE_DROP = 0.05
ABSOLUTE_DROP = 2_000
"""A drop in cache reads is reported if it exceeds both this share and this number of tokens."""
OutcomeKind: TypeAlias = Literal["tool", "ask_user", "final", "none", "boundary"]


@dataclass(frozen=True, slots=True)
class RokuSettings:
    """All settings of Roku, in tokens, seconds or characters as the name says."""

    context_window_tokens: int = window_setting(200_000, high=MAX_WINDOW)
    window_from: WindowFrom = field(default="own", metadata=DERIVED)
    mid_water_trigger_ratio: float = setting(
        0.60,
        "share of the window above which the mid tier fires",
        names=["mid_ratio"],
        low=0,
        high=1,
    )
    compact_threshold_ratio: float = setting(
        0.75, "share of the window above which L3 fires", names=["high_ratio"], low=0, high=1
    )
    microcompact_retain_recent: int = setting(3, "newest tool results that L0 leaves alone", low=0)
    compact_request_timeout: float = setting(90.0, "seconds for a remote compact (L3a)", low=0)
    compact_llm_timeout: float = setting(300.0, "seconds for a summary call (L3b, history)", low=0)
    max_consecutive_autocompact_failures: int = setting(
        3, "failures in a row that open the breaker", low=1
    )
    max_drop_oldest_retries: int = setting(
        3, "how often L3b drops the oldest half and retries", low=0
    )
    retain_tail_steps: int = setting(8, "step records kept by a history compaction", low=0, high=32)
    working_summary_max_chars: int = setting(4_000, "longest working summary", low=0, high=32_000)
    per_turn_tool_budget_tokens: int = setting(
        200_000, "tool results of one turn that raise a notice", low=0
    )
    l3_segment: Literal["half", "tail"] = setting(
        "half", "what L3 removes: the older half, or all but the newest steps"
    )
    placement: Literal["end_of_turn", "preflight"] = setting(
        "end_of_turn", "where in a turn L3 is checked"
    )
    history_after_remote: Literal["mechanical", "llm"] = setting(
        "mechanical", "history compaction after L3a"
    )
    l0_gate: Literal["always", "cache_ttl"] = setting(
        "always", "L0 runs before every attempt, or only when the cache is cold"
    )
    cache_ttl_s: float = setting(300.0, "seconds after which the provider's cache is cold", low=0)
    session_memory: Literal["none", "generate"] = setting(
        "none", "where L2's summary comes from if none is supplied"
    )
    truncate_large_results: bool = setting(
        False, "cut every tool result over 4,000 bytes before L3 measures"
    )
    breaker_recovery_after: int = setting(
        0, "good turns that close the breaker again; 0 = never (upstream)", low=0
    )
    opaque_items: Literal["skip", "keep"] = setting(
        "skip", "keep or skip what only the provider can read in a remote compact"
    )
    unit: Literal["chars", "bytes"] = setting("chars", "what working_summary_max_chars counts")
    pin_last_user: bool = setting(False, "keep the newest user message unchanged")
    exclude_tools: tuple[str, ...] = setting((), "tools whose results L0 leaves alone (safe mode)")
    mode: Literal["faithful", "safe"] = setting(
        "faithful", "faithful: like upstream, with its bugs; safe: with the safety proposals"
    )

    @property
    def safe(self) -> bool:
        return self.mode == "safe"

    @property
    def mid_line(self) -> Watermark:
        """Return the watermark of the mid tier, at floor(window x ratio) tokens. The tier fires only above it."""
        return self._line("mid_water_trigger_ratio", "L1, L2", ("L1", "L2"))

    @property
    def high_line(self) -> Watermark:
        """Return the watermark of L3, at floor(window x ratio) tokens. L3 fires only above it."""
        return self._line("compact_threshold_ratio", "L3", ("L3a", "L3b"))

    def _line(self, setting: str, label: str, tiers: tuple[str, ...]) -> Watermark:
        ratio = getattr(self, setting)
        return Watermark(
            f"{per_cent(ratio)} {label}",
            tokens=math.floor(self.context_window_tokens * ratio),
            setting=setting,
            tiers=tiers,
        )


def check_roku_settings(settings: RokuSettings) -> RokuSettings:
    """Return the settings if all values are within their limits. Raises InspectorError."""
    check_limits(settings)
    for name in ("mid_water_trigger_ratio", "compact_threshold_ratio"):
        value = getattr(settings, name)
        if not 0 < value < 1:
            raise InspectorError(f"{name} must be above 0 and below 1, not {value}.")
    return settings


@dataclass(frozen=True, slots=True)
class Breaker:
    """The circuit breaker. Roku never closes an open breaker; `good_turns` is for `breaker_recovery_after`."""

    failures: int = 0
    open: bool = False
    good_turns: int = 0

    def succeeded(self) -> "Breaker":
        """Return the breaker after a compaction that succeeded."""
        return self if self.open else Breaker()

    def failed(self, limit: int) -> "tuple[Breaker, bool]":
        """Return the breaker after a failed compaction, and whether this failure opens it."""
        if self.open:
            return self, False
        failures = self.failures + 1
        return Breaker(failures, failures >= limit), failures >= limit

    def good_turn(self, recovery_after: int) -> "Breaker":
        """Return the breaker after a turn without a failure.

        An open breaker closes after `recovery_after` such turns in a row; 0 means never, as in Roku itself.
        """
        if not self.open or recovery_after <= 0:
            return self
        turns = self.good_turns + 1
        return Breaker() if turns >= recovery_after else replace(self, good_turns=turns)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Hashes and names of everything on which the cached prefix depends."""

    system: str
    tools: str
    model: str


@dataclass(frozen=True, slots=True)
class CacheBreak:
    """A cache miss: tokens lost and what changed (`system_prompt`, `tool_schema`, `model(a -> b)`, or `unknown`)."""

    tokens_lost: int
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Detector:
    """The last two fingerprints, the last request's cache reads, and whether a compaction explains the next drop."""

    baseline: int | None = None
    pending: bool = False
    previous: Fingerprint | None = None
    current: Fingerprint | None = None

    def notify_compaction(self) -> "Detector":
        """Accept the next response's cache reads as the new baseline, without a report."""
        return replace(self, pending=True)

    def record_prompt_state(self, prompt: Prompt, model: str) -> "Detector":
        """Record system prompt, tools and model. Call before each request."""
        return replace(self, previous=self.current, current=fingerprint_prompt(prompt, model))

    def check_response(self, cache_read: int) -> "tuple[Detector, CacheBreak | None]":
        """Compare a request's cache reads, in tokens, with those of the previous request.

        Returns:
            (the new detector, the cache miss or None).
        """
        if self.current is None:
            return self, None
        after = replace(self, baseline=cache_read, pending=False)
        before = self.baseline
        if self.pending or not before or cache_read >= before:
            return after, None
        drop = before - cache_read
        if drop / before > RELATIVE_DROP and drop > ABSOLUTE_DROP:
            return after, CacheBreak(drop, _changed(self.previous, self.current))
        return after, None


def fingerprint_prompt(prompt: Prompt, model: str) -> Fingerprint:
    """Return hashes of the static system prompt and the tool schemas, with the model's name."""
    texts = prompt.system or "", dumps([tool.definition for tool in prompt.tools or ()])
    system, tools = (sha256(text.encode("utf-8", "replace")).hexdigest() for text in texts)
    return Fingerprint(system, tools, model)


def _changed(before: Fingerprint | None, now: Fingerprint) -> tuple[str, ...]:
    if before is None or before == now:
        return ("unknown",)
    parts = (
        (before.system != now.system, "system_prompt"),
        (before.tools != now.tools, "tool_schema"),
        (before.model != now.model, f"model({before.model} -> {now.model})"),
    )
    return tuple(name for is_other, name in parts if is_other)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """The record of one step of the loop. A boundary replaces compacted records."""

    step: int
    tool: str | None = None
    reason: str = ""
    kind: OutcomeKind = "none"
    ok: bool = True
    message: str = ""
    discarded: int = 0
    preview: str = ""

    @property
    def outcome(self) -> str:
        """Return the outcome as text, for both kinds of history summary."""
        match self.kind:
            case "tool":
                state = "ok" if self.ok else "error"
                return f"{state}: {self.message}" if self.message else state
            case "ask_user" | "final":
                return f"{self.kind}: {self.message}"
            case _:
                return "no observation"


@dataclass(frozen=True, slots=True)
class RokuState:
    """The state that Roku keeps between turns (LoopState)."""

    calibration: Calibration = field(default_factory=Calibration)
    breaker: Breaker = field(default_factory=Breaker)
    detector: Detector = field(default_factory=Detector)
    history: tuple[StepRecord, ...] = ()
    working_summary: str = ""


def raw_tokens(buffer: Buffer) -> int:
    """Return the uncalibrated tokens of messages and system prompt."""
    return buffer_tokens(ESTIMATOR, buffer.messages, buffer.prompt)


def total_tokens(buffer: Buffer, running: RokuState) -> int:
    """Return the calibrated tokens of messages and system prompt, which are compared with every watermark."""
    return running.calibration.apply(raw_tokens(buffer))
