"""What the gauge says at the place where we stand: the pressure, what fills it, and how far the lines are."""

from dataclasses import dataclass

from inspector.core.buffer import Stretch
from inspector.core.policies.catalogue import policy
from inspector.core.policies.policy import Watermark
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import Pressure
from inspector.core.tokens.windows import Window
from inspector.workbench.composition import Category, composition
from inspector.workbench.ghosts import measured
from inspector.workbench.state import State
from inspector.workbench.steps import Step, Steps
from inspector.workbench.watermarks import reserve, watermarks


@dataclass(frozen=True, slots=True)
class Reading:
    """Numbers are tokens. Parts are never rescaled: what they leave open has a field of its own."""

    pressure: Pressure
    window: Window
    parts: tuple[tuple[Category, int], ...]
    """By category as the estimator counts them, lowest in the tank first."""
    lines: tuple[Watermark, ...]
    reserve: int
    """Room at the top that clients keep for the answer; 0 while the window is unknown."""
    scale: float | None
    """What the calibration multiplies with here; None before the first sample."""
    before: int | None = None
    """Behind a step: what the recorded buffer came to, by the same measure."""

    @property
    def counted(self) -> int:
        """Sum of the parts."""
        return sum(tokens for _, tokens in self.parts)

    @property
    def missing(self) -> int:
        """What the file does not hold: reported minus estimated."""
        return self.pressure.not_in_file or 0

    @property
    def gap(self) -> int:
        """What parts and `missing` leave open: positive = the estimate falls short, negative = it is too high."""
        return 0 if self.pressure.tokens is None else self.pressure.tokens - self.counted - self.missing

    @property
    def ratio(self) -> float | None:
        """Pressure: tokens / window."""
        if self.pressure.tokens is None or not self.window.tokens:
            return None
        return self.pressure.tokens / self.window.tokens


def reading(state: State) -> Reading | None:
    """The reading at the playhead; None while nothing is open."""
    thread, pressures = state.thread, state.pressures
    if thread is None or pressures is None:
        return None
    window = state.window or Window(None, "unknown", ())
    lines, room = watermarks(state), reserve(window.tokens)
    steps, step = state.steps, state.steps.step if state.steps else None
    if steps is not None and step is not None:
        return _behind(steps, step, window, lines, room, state.estimator)
    request = state.request
    view, prompt = (request.view, request.prompt) if request else (thread.end, thread.prompt)
    calibration = pressures.standings[request.index].calibration if request else pressures.calibration
    return Reading(
        pressure=pressures[request.index] if request else pressures.end,
        window=window,
        parts=tuple(composition(estimator(state.estimator), view, prompt).items()),
        lines=lines,
        reserve=room,
        scale=calibration.scale if calibration.samples else None,
    )


def _behind(steps: Steps, step: Step, window: Window, lines: tuple[Watermark, ...], room: int, name: str) -> Reading:
    """Behind a step: nothing is reported yet, so the pressure is the policy's own calibrated estimate. O(messages)."""
    raw, tokens = measured(steps, step)
    by = policy(steps.policy)
    view = Stretch(own=step.buffer.messages).view()
    return Reading(
        pressure=Pressure(tokens, "estimated", raw, tokens),
        window=window,
        parts=tuple(composition(estimator(name), view, step.buffer.prompt).items()),
        lines=lines,
        reserve=room,
        scale=tokens / raw if raw else None,
        before=by.measure(steps.origin, step.settings, steps.running)[1],
    )
