"""The lines on gauge and timeline: the product's own scale, which is always shown, and the lines of another policy.

The scale consists of the default policy's lines (60% and 75% of the window). The user can move a line, which changes
the setting that determines it. A line of the chosen policy changes a setting of that policy; a line of the scale under
another policy changes `Choices.scale`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import get_type_hints

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import DEFAULT_POLICY, POLICIES
from inspector.core.policies.place import settings_for
from inspector.core.policies.settings import SettingPairs
from inspector.core.policies.verdict import Watermark
from inspector.workbench.policy_input import client_of, policy_of, preset_of, settings_of, window_of
from inspector.workbench.state import State

_DIGITS = 3
"""Decimal digits of a share: a step of 0.001 moves a line of a 200,000 token window by 200 tokens."""


@dataclass(frozen=True, slots=True)
class GaugeLine:
    """A watermark, and the policy that it belongs to."""

    watermark: Watermark
    policy: str
    """Name of the policy whose tiers fire at the line."""
    title: str
    """Title of that policy, without its part in brackets."""
    is_scale: bool
    """True for a line of the product's own scale; False for a line of another chosen policy."""
    is_moved: bool = False
    """True if the user moved the line."""

    @property
    def tokens(self) -> int:
        return self.watermark.tokens

    @property
    def label(self) -> str:
        """Return the line's label: `60% L1, L2`; for another policy with its title: `Codex 90%`."""
        if self.is_scale:
            return self.watermark.label
        return f"{self.title} {self.watermark.label.split(' ')[0]}"

    @property
    def about(self) -> str:
        """Describe the line: `60% L1, L2: 120,000 tokens. Roku fires L1, L2 above this size.`"""
        watermark = self.watermark
        tiers = ", ".join(watermark.tiers)
        side = "from this size on" if watermark.fires_on else "above this size"
        return f"{self.label}: {self.tokens:,} tokens. {self.title} fires {tiers} {side}."

    def headroom(self, tokens: int) -> str:
        """Return the distance of a buffer of `tokens` tokens from the line: `2,765 over`, `27,235 to go`."""
        room = self.tokens - tokens
        return f"{room:,} to go" if room >= 0 else f"{-room:,} over"


def short_title(title: str) -> str:
    """Return a policy's title without its part in brackets."""
    return title.partition(" (")[0]


def assumed_window() -> int:
    """Return the window in tokens that the scale assumes while none is known."""
    window: int = POLICIES[DEFAULT_POLICY].settings().context_window_tokens
    return window


def watermarks(state: State) -> tuple[Watermark, ...]:
    """Return the lines of the chosen policy, lowest first; none if the window is unknown or the policy cannot handle
    it.
    """
    if state.window is None or not state.window.tokens:
        return ()
    try:
        return policy_of(state).watermarks(settings_of(state))
    except InspectorError:
        return ()


def gauge_lines(state: State) -> tuple[GaugeLine, ...]:
    """Return the scale, then the lines of the chosen policy if it is not the default one; none while nothing is
    open.
    """
    if state.thread is None:
        return ()
    moved = {name for name, _ in scale_pairs(state)}
    title = short_title(POLICIES[DEFAULT_POLICY].title)
    scale = [
        GaugeLine(line, DEFAULT_POLICY, title, is_scale=True, is_moved=line.setting in moved)
        for line in _scale(state)
    ]
    chosen = state.choices.policy
    if chosen == DEFAULT_POLICY:
        return tuple(scale)
    moved = {name for name, _ in state.choices.settings}
    title = policy_title(state)
    others = [
        GaugeLine(line, policy=chosen, title=title, is_scale=False, is_moved=line.setting in moved)
        for line in watermarks(state)
    ]
    return (*scale, *others)


def policy_title(state: State) -> str:
    """Return the title of the chosen policy; if it cannot be loaded, its name."""
    try:
        return short_title(policy_of(state).title)
    except InspectorError:
        return state.choices.policy


def scale_pairs(state: State) -> SettingPairs:
    """Return the settings by which the user moved the scale."""
    choices = state.choices
    return choices.settings if choices.policy == DEFAULT_POLICY else choices.scale


def _scale(state: State) -> tuple[Watermark, ...]:
    """Return the default policy's lines, in a window of any size."""
    if state.choices.policy == DEFAULT_POLICY and (lines := watermarks(state)):
        return lines
    policy = POLICIES[DEFAULT_POLICY]
    try:
        return policy.watermarks(
            settings_for(policy, scale_pairs(state), window_of(state), client_of(state))
        )
    except InspectorError:  # the window is larger than the policy accepts
        window = window_of(state).tokens
        usual = assumed_window()
        lines = policy.watermarks(policy.settings())
        return tuple(
            Watermark(
                line.label,
                tokens=line.tokens * (window or usual) // usual,
                setting=line.setting,
                tiers=line.tiers,
                fires_on=line.fires_on,
            )
            for line in lines
        )


def value_for(state: State, line: GaugeLine, tokens: int) -> str | None:
    """Return the value of the line's setting that puts it nearest to `tokens`; None if no value can move it there.

    The value is found by bisection, because a line moves in one direction when its setting grows.
    """
    policy = policy_of(state) if line.policy == state.choices.policy else POLICIES[line.policy]
    setting = line.watermark.setting
    is_chosen = line.policy == state.choices.policy
    now = settings_of(state) if is_chosen else policy.settings()
    field = next((field for field in fields(now) if field.name == setting), None)
    if field is None:
        return None
    is_whole = get_type_hints(type(now))[setting] is int
    window = window_of(state).tokens or assumed_window()
    low = field.metadata.get("low")
    high = field.metadata.get("high")
    pairs = state.choices.settings if is_chosen else state.choices.scale
    other_pairs = ((name, value) for name, value in pairs if name != setting)
    others = (*preset_of(state, policy), *other_pairs)

    def spell(value: float) -> str:
        return str(round(value)) if is_whole else f"{value:.{_DIGITS}f}"

    def place(value: float) -> int | None:
        try:
            settings = policy.settings((*others, (setting, spell(value))), window)
        except InspectorError:
            return None
        lines = (mark.tokens for mark in policy.watermarks(settings) if mark.setting == setting)
        return next(lines, None)

    nearest = _nearest_value(
        place,
        tokens,
        low=0 if low is None else low,
        high=window if high is None else high,
        grain=1 if is_whole else 10**-_DIGITS,
    )
    return None if nearest is None else spell(nearest)


def _nearest_value(
    line: Callable[[float], int | None], tokens: int, low: float, high: float, grain: float
) -> float | None:
    """Return the value between `low` and `high` that puts the line nearest to `tokens`; None if the line cannot be
    placed.

    A bound that the setting does not allow is first moved inwards by one `grain`.
    """
    low = low if line(low) is not None else low + grain
    high = high if line(high) is not None else high - grain
    at_low = line(low)
    at_high = line(high)
    if at_low is None or at_high is None:
        return None
    while high - low > grain / 4:
        middle = (low + high) / 2
        tokens_there = line(middle)
        if tokens_there is None:
            return None
        if (tokens_there < tokens) == (at_high >= at_low):
            low = middle
        else:
            high = middle
    return min((low, high), key=lambda value: abs((line(value) or 0) - tokens))


@dataclass(frozen=True, slots=True)
class Firing:
    """The requests whose buffer is above a line: the line's tiers would have fired there if nothing had fired
    earlier.
    """

    line: GaugeLine
    count: int
    runs: tuple[tuple[int, int], ...]
    """(first, last) index of each run of such requests, both included."""


def firings(state: State) -> tuple[Firing, ...]:
    """Return the requests above each line. O(requests) once the counts are known.

    A line of the chosen policy is compared with its own count, a line of the scale under another policy with the shown
    tokens.
    """
    own = state.believed.tokens if state.believed else ()
    sizes = state.pressures.sizes if state.pressures is not None else []
    lines = gauge_lines(state)
    return tuple(
        _firing(line, own if line.policy == state.choices.policy else sizes) for line in lines
    )


def _firing(line: GaugeLine, tokens: Sequence[int]) -> Firing:
    least = line.watermark.least  # computed once: there may be very many requests
    above = bytes([least <= count for count in tokens])
    runs: list[tuple[int, int]] = []
    first = above.find(True)
    while first >= 0:
        end = above.find(False, first)
        end = len(above) if end < 0 else end
        runs.append((first, end - 1))
        first = above.find(True, end)
    return Firing(line, above.count(True), tuple(runs))
