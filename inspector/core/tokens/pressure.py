"""How full the buffer was at every request, each number with its kind.

Reported where the file reports it; else the last reported number plus the calibrated estimate of what came since, as
long as the reported buffer still stands unchanged under this one; else estimated. Reported numbers never cross a
compaction. All requests of a thread cost O(messages) once, and only what is new when the thread has grown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, overload

from inspector.core.buffer import Prompt, View
from inspector.core.message import Message, Thinking
from inspector.core.session import Compaction, Request, Thread
from inspector.core.tokens.calibration import Calibration
from inspector.core.tokens.estimators import Estimator, messages_weight
from inspector.core.tokens.events import EstimatorCalibrated
from inspector.core.usage import Usage

PressureKind: TypeAlias = Literal["reported", "calibrated", "estimated", "unknown"]


@dataclass(frozen=True, slots=True)
class Pressure:
    """Tokens of one buffer. `tokens` is the number to show, `kind` says where it comes from."""

    tokens: int | None
    """reported: the provider's; calibrated: last reported + calibrated estimate since; estimated: `estimated`;
    unknown: None, where there is nothing to count."""
    kind: PressureKind
    estimated: int
    """The estimator's raw number."""
    calibrated: int
    """`estimated` scaled by what was learned before this call."""
    reported: int | None = None
    """The true prompt size, as the provider told."""
    not_in_file: int | None = None
    """What the provider counted and the file does not hold: reported - estimated. None where nothing was reported,
    0 where the file holds all or where the estimate is the larger (then see `over`)."""
    over: int = 0
    """Tokens by which the estimate exceeds the reported number: the estimator counts too much here."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Anchor:
    """A buffer whose size was reported; anchors of one line of growth lie on top of each other, thousands deep."""

    view: View
    reported: int
    raw: int
    below: "_Anchor | None"


@dataclass(frozen=True, slots=True)
class _Standing:
    """What is known after a request: enough to go on from there."""

    request: Request
    pressure: Pressure
    calibration: Calibration
    anchor: _Anchor | None = field(compare=False, repr=False)
    event: EstimatorCalibrated | None


@dataclass(frozen=True, slots=True)
class Pressures(Sequence[Pressure]):
    """One pressure a request, in order."""

    estimator: str
    standings: tuple[_Standing, ...]
    end: Pressure
    """Of the buffer after the last record: what the next call would send."""

    def __len__(self) -> int:
        return len(self.standings)

    @overload
    def __getitem__(self, index: int) -> Pressure: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Pressure, ...]: ...
    def __getitem__(self, index: int | slice) -> Pressure | tuple[Pressure, ...]:
        if isinstance(index, slice):
            return tuple(standing.pressure for standing in self.standings[index])
        return self.standings[index].pressure

    @property
    def calibrations(self) -> tuple[Calibration, ...]:
        """What the estimator had learned after each request."""
        return tuple(standing.calibration for standing in self.standings)

    @property
    def calibration(self) -> Calibration:
        """What the estimator has learned by now."""
        return self.standings[-1].calibration if self.standings else Calibration()

    @property
    def events(self) -> tuple[EstimatorCalibrated, ...]:
        """One for every call that reported its usage."""
        return tuple(standing.event for standing in self.standings if standing.event)


def thread_pressures(thread: Thread, estimator: Estimator, former: Pressures | None = None) -> Pressures:
    """Pressures of all requests of a thread.

    `former`: an earlier result for the same thread when it was shorter; what still holds of it is taken over.
    """
    requests = thread.requests
    standings = _still_true(former, requests, estimator)
    weigh_prompt = _PromptWeight(estimator)
    last = standings[-1] if standings else None
    for index in range(len(standings), len(requests)):
        last = _next(last, requests[index], estimator, weigh_prompt)
        standings.append(last)
    raw = estimator.tokens(messages_weight(estimator, thread.end) + weigh_prompt(thread.prompt))
    calibration = last.calibration if last else Calibration()
    anchor = _prefix_of(last.anchor if last else None, thread.end)
    end = _pressure(raw, calibration, anchor, None, False, len(thread.end))
    return Pressures(estimator.name, tuple(standings), end)


def _still_true(former: Pressures | None, requests: Sequence[Request], estimator: Estimator) -> list[_Standing]:
    """The standings that need no work: those before the first request that is another one now."""
    if former is None or former.estimator != estimator.name:
        return []
    same = min(len(former), len(requests))
    while same and former.standings[same - 1].request is not requests[same - 1]:
        same -= 1
    return list(former.standings[:same])


def _next(last: _Standing | None, request: Request, estimator: Estimator, weigh_prompt: "_PromptWeight") -> _Standing:
    before = last.calibration if last else Calibration()
    raw = estimator.tokens(messages_weight(estimator, request.view) + weigh_prompt(request.prompt))
    anchor = _prefix_of(last.anchor if last else None, request.view)
    lacking = _lacks(request.prompt, request.view)
    pressure = _pressure(raw, before, anchor, request.usage, lacking, len(request.view))
    if request.usage is None:
        return _Standing(request, pressure, before, anchor, None)
    told = request.usage.prompt
    after = before.update(raw, told)
    event = EstimatorCalibrated(request.index, before.apply(raw), told, after.scale)
    if pressure.reported is not None:
        anchor = _Anchor(request.view, pressure.reported, raw, anchor)
    return _Standing(request, pressure, after, anchor, event)


def _pressure(
    raw: int, calibration: Calibration, anchor: _Anchor | None, usage: Usage | None, lacking: bool, messages: int
) -> Pressure:
    calibrated = calibration.apply(raw)
    if usage is not None and usage.prompt > 0:
        reported = usage.prompt
        missing = max(0, reported - raw) if lacking else 0
        return Pressure(reported, "reported", raw, calibrated, reported, missing, max(0, raw - reported))
    if anchor is not None:
        since = calibration.apply(max(0, raw - anchor.raw))
        return Pressure(anchor.reported + since, "calibrated", raw, calibrated)
    if messages == 0 and raw == 0:
        return Pressure(None, "unknown", raw, calibrated)
    return Pressure(raw, "estimated", raw, calibrated)


def _prefix_of(anchor: _Anchor | None, view: View) -> _Anchor | None:
    """The uppermost anchor whose buffer is the beginning of this one. Anchors that are not are left behind."""
    while anchor is not None and not is_prefix(anchor.view, view):
        anchor = anchor.below
    return anchor


def is_prefix(shorter: View, longer: View) -> bool:
    """Does `longer` begin with the very messages of `shorter`? By the stretches alone: O(stretches between them)."""
    stretch, length = longer.stretch, longer.length
    while stretch is not shorter.stretch:
        if stretch.base is None or length < shorter.length:  # what lies below is shorter still
            return False
        length = min(length, stretch.base.length)
        stretch = stretch.base.stretch
    return shorter.length <= length


def _lacks(prompt: Prompt, view: View) -> bool:
    """Does the file hold less than the model saw: no system prompt, no tools, or thinking that is not visible?"""
    return prompt.system is None or prompt.tools is None or view.weight("hidden thinking", _hidden) > 0


def _hidden(message: Message) -> int:
    return sum(isinstance(part, Thinking) and not part.text for part in message.parts)


class _PromptWeight:
    """Weight of a prompt, worked out once for as long as it stays the same."""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator
        self._prompt: Prompt | None = None
        self._weight = 0

    def __call__(self, prompt: Prompt) -> int:
        if prompt is not self._prompt and prompt != self._prompt:
            self._weight = self._estimator.weigh_prompt(prompt)
        self._prompt = prompt
        return self._weight


def compaction_sizes(thread: Thread, compaction: Compaction) -> tuple[int | None, int | None]:
    """Context tokens (before, after) a recorded compaction; None where nothing tells.

    Before: as recorded, else what the call before it reported. After: what the next call reported - it holds the
    re-attached things as well -, else as recorded.
    """
    at = compaction.before_request
    before = compaction.tokens_before
    if before is None and 0 < at <= len(thread.requests):
        before = _reported(thread.requests[at - 1])
    after = _reported(thread.requests[at]) if at < len(thread.requests) else None
    return before, compaction.tokens_after if after is None else after


def _reported(request: Request) -> int | None:
    return (request.usage.prompt or None) if request.usage else None
