"""Roku's running state: a value that goes in and comes out, and its JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Json
from inspector.core.policies.roku.breaker import Breaker
from inspector.core.policies.roku.cache_break import Detector, Fingerprint
from inspector.core.policies.roku.records import StepRecord
from inspector.core.tokens.calibration import Calibration
from inspector.core.tokens.estimators import buffer_tokens
from inspector.core.tokens.roku import Roku

ESTIMATOR = Roku()
D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Running:
    """What Roku keeps from turn to turn (LoopState)."""

    calibration: Calibration = field(default_factory=Calibration)
    breaker: Breaker = field(default_factory=Breaker)
    detector: Detector = field(default_factory=Detector)
    history: tuple[StepRecord, ...] = ()
    working_summary: str = ""


def raw_tokens(buffer: Buffer) -> int:
    """`raw` of spec 1.2: uncalibrated tokens of messages and system prompt."""
    return buffer_tokens(ESTIMATOR, buffer.messages, buffer.prompt)


def total_tokens(buffer: Buffer, running: Running) -> int:
    """What every watermark is compared with: the calibrated total."""
    return running.calibration.apply(raw_tokens(buffer))


def dump(running: Running) -> dict[str, Any]:
    """As JSON. `scale` is derived from the samples and told for people."""
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


def load(data: Json) -> Running:
    """From JSON; what is missing is as at the start of a session. Raises InspectorError."""
    if not isinstance(data, Mapping):
        raise InspectorError("The state file must hold a JSON object, as --save-state writes it.")
    try:
        calibration = Calibration()
        for estimated, reported in data.get("samples", ()):
            calibration = calibration.update(int(estimated), int(reported))
        cache = data.get("cache") or {}
        detector = Detector(
            _made(Fingerprint, cache.get("previous")) if cache.get("previous") else None,
            _made(Fingerprint, cache.get("current")) if cache.get("current") else None,
            cache.get("baseline"),
            bool(cache.get("pending", False)),
        )
        history = tuple(_made(StepRecord, one) for one in data.get("history", ()))
        breaker = _made(Breaker, data.get("breaker") or {})
        return Running(calibration, breaker, detector, history, str(data.get("working_summary", "")))
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise InspectorError(f"The state file cannot be read: {error}.") from None


def _made(kind: type[D], data: Any) -> D:
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    return kind(**{key: value for key, value in data.items() if key in known})
