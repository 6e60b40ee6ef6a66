"""What the gauge says where we stand: the pressure, what fills it, the policy's lines and what it believes.

The lines lie where the chosen policy's tiers fire with its settings, and can be moved by hand. What the policy believes
is worked out for every request of the thread, and compared with what was reported.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import get_type_hints

from inspector.core.buffer import Stretch
from inspector.core.errors import InspectorError
from inspector.core.findings.composition import Category, sized
from inspector.core.findings.triggers import ObservedTrigger, observed_triggers
from inspector.core.identity import SameObject
from inspector.core.policies.catalogue import TITLES
from inspector.core.policies.place import believed_at, counts_by_itself
from inspector.core.policies.verdict import Watermark
from inspector.core.session import Thread
from inspector.core.tokens.pressure import Pressure, Pressures
from inspector.core.tokens.sizing import Sizer
from inspector.core.tokens.windows import Window
from inspector.core.words import plural
from inspector.workbench.policy_input import policy_of, preset_of, settings_of, sizer_of
from inspector.workbench.state import PolicyBelief, State

RESERVE = 16_384
"""Tokens that a client usually keeps free for the answer (Pi's reserveTokens); a quarter of a small window."""
_DIGITS = 3
"""Of a share: 0.637 moves a line of a 200,000 window by 200 tokens."""


def watermarks(state: State) -> tuple[Watermark, ...]:
    """The lines where we stand, lowest first; none while the window is unknown, or too large for the policy."""
    if state.window is None or not state.window.tokens:
        return ()
    try:
        return policy_of(state).watermarks(settings_of(state))
    except InspectorError:
        return ()


def reserve(window: int | None) -> int:
    """Room at the top of the tank for the answer."""
    return min(RESERVE, window // 4) if window else 0


@dataclass(frozen=True, slots=True)
class Firing:
    """The requests whose buffer lies above a line: there its tiers would have fired, had nothing fired before."""

    line: Watermark
    count: int
    runs: tuple[tuple[int, int], ...]
    """(first, last) of requests in a row, both included."""


def firings(state: State) -> tuple[Firing, ...]:
    """Per line, by what the policy believes at each request. O(requests) once the beliefs are there."""
    tokens = state.believed.tokens if state.believed else ()
    return tuple(_firing(line, tokens) for line in watermarks(state))


def _firing(line: Watermark, tokens: Sequence[int]) -> Firing:
    least = line.least  # asked once: there may be very many requests
    above = [n for n, one in enumerate(tokens) if one >= least]
    runs: list[tuple[int, int]] = []
    for n in above:
        if runs and runs[-1][1] == n - 1:
            runs[-1] = (runs[-1][0], n)
        else:
            runs.append((n, n))
    return Firing(line, len(above), tuple(runs))


def value_for(state: State, setting: str, tokens: int) -> str | None:
    """What `setting` must be for its line to lie nearest to `tokens`; None where no value moves it there.

    Found by halving: lines move one way with their setting, whichever way that is.
    """
    by, now = policy_of(state), settings_of(state)
    field = next((one for one in fields(now) if one.name == setting), None)
    if field is None:
        return None
    whole = get_type_hints(type(now))[setting] is int
    window = (state.window.tokens if state.window else None) or tokens
    low, high = field.metadata.get("low"), field.metadata.get("high")
    low, high = 0 if low is None else low, window if high is None else high
    others = (*preset_of(state, by), *(pair for pair in state.choices.settings if pair[0] != setting))

    def spelt(value: float) -> str:
        return str(round(value)) if whole else f"{value:.{_DIGITS}f}"

    def line(value: float) -> int | None:
        try:
            settings = by.settings((*others, (setting, spelt(value))), window)
        except InspectorError:
            return None
        return next((one.tokens for one in by.watermarks(settings) if one.setting == setting), None)

    found = _nearest(line, tokens, low, high, 1 if whole else 10**-_DIGITS)
    return None if found is None else spelt(found)


def _nearest(line: Callable[[float], int | None], tokens: int, low: float, high: float, grain: float) -> float | None:
    """The value between low and high (each moved in by a grain where it is not allowed) that comes closest."""
    low = low if line(low) is not None else low + grain
    high = high if line(high) is not None else high - grain
    at_low, at_high = line(low), line(high)
    if at_low is None or at_high is None:
        return None
    while high - low > grain / 4:
        middle = (low + high) / 2
        here = line(middle)
        if here is None:
            return None
        if (here < tokens) == (at_high >= at_low):
            low = middle
        else:
            high = middle
    return min((low, high), key=lambda value: abs((line(value) or 0) - tokens))


_MOST = 30_000_000
"""Messages to look at over all requests, for a policy whose measure is no running sum; beyond it nothing is drawn."""


def wanted(state: State) -> tuple[object, ...] | None:
    """All that the beliefs depend on; None until that is known. O(1)."""
    if state.thread is None or state.pressures is None or state.window is None:
        return None
    choices = state.choices
    return SameObject(state.thread), choices.policy, choices.settings, state.window.tokens, state.user_window


def beliefs(state: State) -> PolicyBelief:
    """Of every request. O(requests) for a harness that calibrates an estimator, O(requests x messages) for others;
    what the last ones still hold is taken over."""
    thread, by = state.thread, policy_of(state)
    whose = wanted(state)
    assert thread is not None
    assert whose is not None
    try:
        settings = settings_of(state)
    except InspectorError:
        return PolicyBelief(whose, thread)
    start = _kept(state.believed, whose, thread)
    left = islice(thread.requests, len(start), None)
    if by.prompt_estimator is None and sum(len(request.view) for request in left) > _MOST:
        return PolicyBelief(whose, thread)
    count = len(thread.requests)
    more = [believed_at(by, settings, thread, n) for n in range(len(start), count + 1)]
    return PolicyBelief(whose, thread, (*start, *more[:-1]), more[-1])


def _kept(former: PolicyBelief | None, whose: tuple[object, ...], thread: Thread) -> tuple[int, ...]:
    """Those of a shorter state of the same thread, as far as its requests are the same."""
    if former is None or former.whose[1:] != whose[1:] or former.thread.id != thread.id:
        return ()
    same = min(len(former.tokens), len(thread.requests))
    while same and former.thread.requests[same - 1] is not thread.requests[same - 1]:
        same -= 1
    return former.tokens[:same]


@dataclass(frozen=True, slots=True)
class Lateness:
    """When a line is crossed for the first time, by what was reported and by what the policy believes."""

    line: Watermark
    reported: int | None
    """Index of the request; None = never."""
    believed: int | None

    @property
    def words(self) -> str:
        """`fires 31 requests late`; empty where nothing is to be said."""
        match self.reported, self.believed:
            case None, None:
                return ""
            case int(), None:
                return "never fires"
            case None, int():
                return "fires although the line is never reached"
            case int(true), int(own) if own == true:
                return ""
            case int(true), int(own):
                count = abs(own - true)
                return f"fires {plural(count, 'request')} {'late' if own > true else 'early'}"
        return ""


def lateness(
    line: Watermark, pressures: Pressures, believed: tuple[int, ...], compactions: Sequence[int] = ()
) -> Lateness:
    """Of one line, up to the first recorded compaction (`compactions`: requests that came after one) after either is
    crossed: what came then says nothing of when the other would have been. O(requests)."""
    least = line.least  # asked once: there may be very many requests
    reported = (one.reported for one in pressures)
    true = next((n for n, tokens in enumerate(reported) if tokens is not None and tokens >= least), None)
    own = next((n for n, tokens in enumerate(believed) if tokens >= least), None)
    crossed = min((n for n in (true, own) if n is not None), default=0)
    cut = next((n for n in compactions if n > crossed), None)
    if cut is not None and true is not None and (own is None or max(true, own) >= cut):
        return Lateness(line, None, None)
    return Lateness(line, true, own)


@dataclass(frozen=True, slots=True)
class GaugeReading:
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
    by_itself: bool = False
    """It counts by itself, without system prompt and tools, as such a harness does from a compaction to a report."""
    late: tuple[str, ...] = ()
    """For each line whose tiers would fire at another request than where the reported number crosses it."""
    before: int | None = None
    """After a step: the size of the buffer that the steps here start from."""
    triggers: tuple[ObservedTrigger, ...] = ()
    """Where the recorded agent compacted by itself."""

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


def reading(state: State) -> GaugeReading | None:
    """The reading where we stand; None while nothing is open. After a step O(messages)."""
    thread, pressures = state.thread, state.pressures
    if thread is None or pressures is None:
        return None
    size, stepped = sizer_of(state), state.stepped_buffer
    pressure, before = pressure_here(state, size)
    request = state.request
    view, prompt = (request.view, request.prompt) if request else (thread.end, thread.prompt)
    if stepped is not None:
        view, prompt = Stretch(own=stepped.messages).view(), stepped.prompt
    window = state.window or Window(None, "unknown", ())
    lines = watermarks(state)
    return GaugeReading(
        pressure=pressure,
        window=window,
        parts=sized(size, pressure, view, prompt),
        unseen=size.scale.unseen,
        lines=lines,
        reserve=reserve(window.tokens),
        slope=size.scale.slope,
        believed=belief_here(state),
        believer=TITLES.get(state.choices.policy, state.choices.policy),
        by_itself=_by_itself(state, thread),
        late=_late(state, lines),
        before=before,
        triggers=observed_triggers(thread, pressures, window.tokens),
    )


def pressure_here(state: State, size: Sizer) -> tuple[Pressure, int | None]:
    """Of the buffer that is looked at, which a step may have changed; and after one the size of the recorded buffer.
    O(messages) after a step."""
    steps, stepped = state.steps, state.stepped_buffer
    if stepped is None or steps is None:
        return size.pressure, None
    ground = steps.buffer_of(steps.base(steps.at))
    changed = stepped.messages != ground.messages
    before = size.pressure.tokens if steps.own_path else None
    return size.pressure_of(stepped) if changed else size.pressure, before


def belief_here(state: State) -> int | None:
    """The chosen policy's own count of the buffer that is looked at; None until it is worked out. O(1)."""
    known = state.believed
    if known is not None and not state.stepped and known.whose == wanted(state):
        count = known.end if state.at is None else next(iter(known.tokens[state.at : state.at + 1]), None)
        if count is not None:
            return count
    return None if state.previews is None else state.previews.tokens


def lacks_belief(state: State) -> bool:
    """Is the policy's count of the buffer that is looked at still to be worked out, by its verdicts? O(1)."""
    known = state.believed
    return known is not None and known.whose == wanted(state) and belief_here(state) is None


def _by_itself(state: State, thread: Thread) -> bool:
    try:
        by = policy_of(state)
    except InspectorError:
        return False
    at = len(thread.requests) if state.at is None else state.at
    return not state.stepped and counts_by_itself(by, thread, at)


def _late(state: State, lines: tuple[Watermark, ...]) -> tuple[str, ...]:
    known, pressures = state.believed, state.pressures
    if known is None or pressures is None or not known.tokens or known.whose != wanted(state):
        return ()
    cuts, said = [one.before_request for one in known.thread.compactions], list[str]()
    for line in lines:
        if (key := (line, SameObject(pressures))) not in known.late:
            known.late[key] = lateness(line, pressures, known.tokens, cuts).words
        said += [f"{line.label}: {known.late[key]}"] if known.late[key] else []
    return tuple(said)
