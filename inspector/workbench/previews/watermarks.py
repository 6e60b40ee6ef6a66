"""The lines on gauge and timeline: where the chosen policy's tiers stand with its settings; and moving one by hand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import get_type_hints

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import policy
from inspector.core.policies.policy import Watermark
from inspector.core.policies.settings import said
from inspector.workbench.policy_input import settings_of
from inspector.workbench.state.state import State

RESERVE = 16_384
"""Tokens that a client usually keeps free for the answer (Pi's reserveTokens); a quarter of a small window."""
_DIGITS = 3
"""Of a share: 0.637 moves a line of a 200,000 window by 200 tokens."""


def watermarks(state: State) -> tuple[Watermark, ...]:
    """The lines where we stand, lowest first; none while the window is unknown, or too large for the policy."""
    if state.window is None or not state.window.tokens:
        return ()
    try:
        return policy(state.choices.policy).watermarks(settings_of(state))
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
    by, now = policy(state.choices.policy), settings_of(state)
    field = next((one for one in fields(now) if one.name == setting), None)
    if field is None:
        return None
    whole = get_type_hints(type(now))[setting] is int
    window = (state.window.tokens if state.window else None) or tokens
    low, high = field.metadata.get("low"), field.metadata.get("high")
    low, high = 0 if low is None else low, window if high is None else high
    others = (*said(state.user_window), *(pair for pair in state.choices.settings if pair[0] != setting))

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
