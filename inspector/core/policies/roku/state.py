"""Roku's running state, a value that goes in and comes out, and its JSON.

The circuit breaker (spec 1.8): three failures in a row, and summaries are mechanical for the rest of the session. The
detector of broken caches (spec 1.11). LoopState.history (spec 1.9): one record a step, and how the oldest are folded
into the working summary. The calibrated estimate (spec 1.2).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import sha256
from typing import Any, Literal, TypeAlias, TypeVar

from inspector.core.buffer import Buffer, Prompt
from inspector.core.jsontext import dumps
from inspector.core.policies.roku.messages import cut
from inspector.core.policies.roku.settings import RokuSettings
from inspector.core.tokens.calibration import Calibration
from inspector.core.tokens.estimators import buffer_tokens
from inspector.core.tokens.roku import Roku

ESTIMATOR = Roku()
RELATIVE_DROP = 0.05
ABSOLUTE_DROP = 2_000
"""Both must be exceeded, strictly, for a report."""
OutcomeKind: TypeAlias = Literal["tool", "ask_user", "final", "none", "boundary"]
REASON_BYTES, OUTCOME_BYTES = 80, 100
LLM_REASON_BYTES, LLM_OUTCOME_BYTES = 100, 150
PREVIEW_BYTES = 200
D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Breaker:
    """Closed(failures) or open. Upstream never closes it again; `good_turns` serves our optional recovery."""

    failures: int = 0
    open: bool = False
    good_turns: int = 0

    def succeeded(self) -> "Breaker":
        """A compaction succeeded."""
        return self if self.open else Breaker()

    def failed(self, limit: int) -> "tuple[Breaker, bool]":
        """A compaction failed with an error. Says whether this is the failure that opens it."""
        if self.open:
            return self, False
        failures = self.failures + 1
        return Breaker(failures, failures >= limit), failures >= limit

    def good_turn(self, recovery_after: int) -> "Breaker":
        """A turn went well. Ours: after `recovery_after` of them in a row an open breaker closes; 0 = never."""
        if not self.open or recovery_after <= 0:
            return self
        turns = self.good_turns + 1
        return Breaker() if turns >= recovery_after else replace(self, good_turns=turns)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What the cached prefix hangs on."""

    system: str
    tools: str
    model: str


@dataclass(frozen=True, slots=True)
class CacheBreak:
    """A report: tokens lost and what changed (`system_prompt`, `tool_schema`, `model(a -> b)`; else `unknown`)."""

    tokens_lost: int
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Detector:
    """The last fingerprints, the cache reads of the last call, and whether a compaction explains the next drop."""

    previous: Fingerprint | None = None
    current: Fingerprint | None = None
    baseline: int | None = None
    pending: bool = False

    def notify_compaction(self) -> "Detector":
        """The next response's cache reads become the new baseline without a report."""
        return replace(self, pending=True)

    def record_prompt_state(self, prompt: Prompt, model: str) -> "Detector":
        """Before each call."""
        return replace(self, previous=self.current, current=fingerprint(prompt, model))

    def check_response(self, cache_read: int) -> "tuple[Detector, CacheBreak | None]":
        """After each call, with the tokens it read from the cache."""
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


def fingerprint(prompt: Prompt, model: str) -> Fingerprint:
    """Hashes of the static system prompt and of the tool schemas, and the model's name."""
    tools = dumps([tool.definition for tool in prompt.tools or ()])
    return Fingerprint(_hash(prompt.system or ""), _hash(tools), model)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def _changed(before: Fingerprint | None, now: Fingerprint) -> tuple[str, ...]:
    if before is None:
        return ("unknown",)
    changed = []
    if before.system != now.system:
        changed.append("system_prompt")
    if before.tools != now.tools:
        changed.append("tool_schema")
    if before.model != now.model:
        changed.append(f"model({before.model} -> {now.model})")
    return tuple(changed) or ("unknown",)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What one step of the loop did. A boundary stands for records that were compacted away."""

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
        """In words, as both summaries quote it."""
        match self.kind:
            case "tool":
                state = "ok" if self.ok else "error"
                return f"{state}: {self.message}" if self.message else state
            case "ask_user" | "final":
                return f"{self.kind}: {self.message}"
            case _:
                return "no observation"


def split_records(history: Sequence[StepRecord], settings: RokuSettings) -> tuple[tuple[StepRecord, ...], ...]:
    """(to be removed, kept); nothing to remove while no more than `retain_tail_steps` are there.

    Upstream counts a leading boundary; safe mode does not.
    """
    counted = len(history)
    if settings.safe and history and history[0].kind == "boundary":
        counted -= 1
    if counted <= settings.retain_tail_steps:
        return (), tuple(history)
    at = len(history) - settings.retain_tail_steps
    return tuple(history[:at]), tuple(history[at:])


def mechanical_text(removed: Sequence[StepRecord]) -> str:
    """The text without a model."""
    lines = [f"[Compact summary — {len(removed)} steps discarded]"]
    for one in removed:
        reason, outcome = cut(one.reason, REASON_BYTES), cut(one.outcome, OUTCOME_BYTES)
        lines.append(f"Step {one.step}: {one.tool or 'unknown'} — {reason} — {outcome}")
    return "\n".join(lines)


def records_json(removed: Sequence[StepRecord]) -> str:
    """What the model is given to summarise."""
    return dumps(
        [
            {
                "step": one.step,
                "tool": one.tool or "unknown",
                "reason": cut(one.reason, LLM_REASON_BYTES),
                "outcome": cut(one.outcome, LLM_OUTCOME_BYTES),
            }
            for one in removed
        ]
    )


def boundary(step: int, removed: Sequence[StepRecord], text: str) -> StepRecord:
    """The record that stands for the removed ones."""
    count = len(removed)
    return StepRecord(step, None, str(count), "boundary", discarded=count, preview=cut(text, PREVIEW_BYTES))


def joined_summary(text: str, old: str, settings: RokuSettings) -> str:
    """Newest first, cut to the limit: the oldest information is what gets lost. No ellipsis."""
    joined = f"{text}\n\n{old}" if old else text
    limit = settings.working_summary_max_chars
    if settings.unit == "bytes":
        return joined.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    return joined[:limit]


@dataclass(frozen=True, slots=True)
class RokuState:
    """What Roku keeps from turn to turn (LoopState)."""

    calibration: Calibration = field(default_factory=Calibration)
    breaker: Breaker = field(default_factory=Breaker)
    detector: Detector = field(default_factory=Detector)
    history: tuple[StepRecord, ...] = ()
    working_summary: str = ""


def raw_tokens(buffer: Buffer) -> int:
    """`raw` of spec 1.2: uncalibrated tokens of messages and system prompt."""
    return buffer_tokens(ESTIMATOR, buffer.messages, buffer.prompt)


def total_tokens(buffer: Buffer, running: RokuState) -> int:
    """What every watermark is compared with: the calibrated total."""
    return running.calibration.apply(raw_tokens(buffer))


def dump(running: RokuState) -> dict[str, Any]:
    """As JSON. `scale` is derived from the samples, for people to read."""
    detector = running.detector
    return {
        "breaker": asdict(running.breaker),
        "scale": running.calibration.scale,
        "samples": [list(pair) for pair in running.calibration.samples],
        "working_summary": running.working_summary,
        "history": [asdict(one) for one in running.history],
        "cache": {
            "baseline": detector.baseline,
            "pending": detector.pending,
            "previous": asdict(detector.previous) if detector.previous else None,
            "current": asdict(detector.current) if detector.current else None,
        },
    }


def parsed(data: Mapping[str, Any]) -> RokuState:
    """From JSON; what is missing is as at the start of a session."""
    calibration = Calibration()
    for estimated, reported in data.get("samples", ()):
        calibration = calibration.update(int(estimated), int(reported))
    cache = data.get("cache") or {}
    previous, current = cache.get("previous"), cache.get("current")
    detector = Detector(
        _made(Fingerprint, previous) if previous else None,
        _made(Fingerprint, current) if current else None,
        cache.get("baseline"),
        bool(cache.get("pending", False)),
    )
    history = tuple(_made(StepRecord, one) for one in data.get("history", ()))
    breaker = _made(Breaker, data.get("breaker") or {})
    return RokuState(calibration, breaker, detector, history, str(data.get("working_summary", "")))


def _made(kind: type[D], data: Any) -> D:
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    return kind(**{key: value for key, value in data.items() if key in known})
