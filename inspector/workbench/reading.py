"""What the gauge says at the place where we stand: the pressure, what fills it, and how far the lines are."""

from dataclasses import dataclass
from functools import lru_cache

from inspector.core.buffer import Stretch
from inspector.core.policies.catalogue import TITLES
from inspector.core.policies.policy import Watermark
from inspector.core.tokens.pressure import Pressure
from inspector.core.tokens.windows import Window
from inspector.workbench.composition import Category, sized
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.previews.beliefs import Lateness, lateness, wanted
from inspector.workbench.previews.watermarks import reserve, watermarks
from inspector.workbench.state.outlook import Same
from inspector.workbench.state.state import State


@dataclass(frozen=True, slots=True)
class Reading:
    """Numbers are tokens. The parts and what is unseen add up to the pressure, exactly."""

    pressure: Pressure
    window: Window
    parts: tuple[tuple[Category, int], ...]
    """By category, lowest in the tank first."""
    unseen: int
    """What the transcript does not hold: one opaque piece, the same before and after every tier."""
    lines: tuple[Watermark, ...]
    reserve: int
    """Room at the top that clients keep for the answer; 0 while the window is unknown."""
    slope: float
    """Tokens that a counted one weighs here."""
    believed: int | None = None
    """What the chosen policy measures, to compare with the lines; None while nobody has worked it out."""
    believer: str = ""
    """The policy's title."""
    late: tuple[str, ...] = ()
    """For each line whose tiers would fire at another request than where the reported number crosses it."""
    before: int | None = None
    """Behind a step: what the recorded buffer came to."""

    @property
    def ratio(self) -> float | None:
        """Pressure: tokens / window."""
        if self.pressure.tokens is None or not self.window.tokens:
            return None
        return self.pressure.tokens / self.window.tokens

    @property
    def belief_error(self) -> float | None:
        """believed / shown - 1. None where nothing was ever reported: an estimate is no truth to be wrong about."""
        if self.believed is None or not self.pressure.tokens or self.pressure.kind not in ("reported", "predicted"):
            return None
        return self.believed / self.pressure.tokens - 1

    @property
    def measured(self) -> int | None:
        """What the lines are compared with: the policy's belief, as in the verdicts of its tiers; until that is worked
        out what is shown."""
        return self.pressure.tokens if self.believed is None else self.believed


def reading(state: State) -> Reading | None:
    """The reading where we stand; None while nothing is open. Behind a step O(messages)."""
    thread, pressures = state.thread, state.pressures
    if thread is None or pressures is None:
        return None
    size, stepped = sizer_of(state), state.stepped_buffer
    pressure, before = size.pressure, None
    request = state.request
    view, prompt = (request.view, request.prompt) if request else (thread.end, thread.prompt)
    if stepped is not None:
        before = pressure.tokens
        if stepped.messages != view.messages():
            pressure = size.pressure_of(stepped)
        view, prompt = Stretch(own=stepped.messages).view(), stepped.prompt
    window = state.window or Window(None, "unknown", ())
    lines = watermarks(state)
    return Reading(
        pressure=pressure,
        window=window,
        parts=sized(size, pressure, view, prompt),
        unseen=size.scale.unseen,
        lines=lines,
        reserve=reserve(window.tokens),
        slope=size.scale.slope,
        believed=_believed(state),
        believer=TITLES.get(state.choices.policy, state.choices.policy),
        late=_late(state, lines),
        before=before,
    )


def _believed(state: State) -> int | None:
    if state.outlook is not None:
        return state.outlook.tokens
    known = state.believed
    if state.stepped or state.at is None or known is None or known.whose != wanted(state):
        return None
    return known.tokens[state.at] if state.at < len(known.tokens) else None


def _late(state: State, lines: tuple[Watermark, ...]) -> tuple[str, ...]:
    known, pressures = state.believed, state.pressures
    if known is None or pressures is None or not known.tokens or known.whose != wanted(state):
        return ()
    found = ((line, _lateness(line, Same(pressures), Same(known.tokens))) for line in lines)
    return tuple(f"{line.label}: {late.words}" for line, late in found if late.words)


@lru_cache(maxsize=8)
def _lateness(line: Watermark, pressures: Same, believed: Same) -> Lateness:
    """The same wherever we stand: not looked for at every step along a long session."""
    return lateness(line, pressures.held, believed.held)
