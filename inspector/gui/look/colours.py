"""The colours of the window, light and dark. Categories follow Okabe and Ito, whose colours colour-blind people can
distinguish.

A fate has a letter besides its colour, for the same reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from PySide6.QtGui import QColor, QGradient

from inspector.core.findings.composition import Category
from inspector.core.outcome import FateName

_ = QGradient.Preset
"""PySide makes this class when a brush first wants it, and fails if another thread is just loading pyqtgraph: so it is
made here, before there is another thread."""
_CATEGORIES: dict[Category, str] = {
    "system": "#7d8795",
    "tools": "#a9b1bc",
    "memory files": "#5f8f86",
    "skills": "#9ccb62",
    "reminders": "#c8a878",
    "user": "#56b4e9",
    "assistant": "#0072b2",
    "thinking": "#cc79a7",
    "tool calls": "#8f7ee6",
    "tool results": "#e69f00",
    "summaries": "#009e73",
    "images": "#f0e442",
    "opaque": "#994f00",
    "difference": "#6b7078",
}


@lru_cache(maxsize=256)
def ink(colour: str) -> QColor:
    """`#rrggbb` to paint with, made once: a row of the buffer list needs a dozen. Not to be changed."""
    return QColor(colour)


@dataclass(frozen=True, slots=True)
class Colours:
    """One palette. Every value is `#rrggbb`."""

    dark: bool
    window: str
    raised: str
    """Buttons, fields, chips."""
    hover: str
    line: str
    """Hairlines between parts."""
    faint: str
    """Empty tank, empty bars, grid."""
    text: str
    quiet: str
    """Second-rank text; still 4.5:1 on `window`."""
    accent: str
    on_accent: str
    selected: str
    """Ground of the selected row."""
    low: str
    """The lower watermark."""
    high: str
    """The higher watermark, and errors."""
    good: str
    due: str
    """Ground of what is due, under `low`."""
    missing: str
    """Not in this file."""
    playhead: str
    on_tool: str
    """The word `tool` as text."""
    categories: dict[Category, str] = field(default_factory=lambda: dict(_CATEGORIES))


DARK = Colours(
    dark=True,
    window="#1d2026",
    raised="#272b33",
    hover="#323742",
    line="#30343d",
    faint="#2a2e36",
    text="#e4e7ec",
    quiet="#9aa2af",
    accent="#56b4e9",
    on_accent="#0d1620",
    selected="#2b3645",
    low="#e69f00",
    high="#f0854f",
    good="#2fb888",
    due="#3a3020",
    missing="#6b7280",
    playhead="#f2f4f7",
    on_tool="#e69f00",
)

LIGHT = Colours(
    dark=False,
    window="#ffffff",
    raised="#eff1f4",
    hover="#e3e7ec",
    line="#dfe3e8",
    faint="#eceef2",
    text="#1b2027",
    quiet="#5c6673",
    accent="#006aa6",
    on_accent="#ffffff",
    selected="#e6f0fb",
    low="#8a5a00",
    high="#ad4400",
    good="#007453",
    due="#f8eed9",
    missing="#6b7280",
    playhead="#1b2027",
    on_tool="#8a5a00",
)

CONTRAST = Colours(
    dark=True,
    window="#000000",
    raised="#1a1a1a",
    hover="#333333",
    line="#8c8c8c",
    faint="#262626",
    text="#ffffff",
    quiet="#e0e0e0",
    accent="#6fd0ff",
    on_accent="#000000",
    selected="#00416b",
    low="#ffc233",
    high="#ff9566",
    good="#4dffb8",
    due="#332600",
    missing="#a6a6a6",
    playhead="#ffffff",
    on_tool="#ffc233",
)
"""All text at least 7:1 on all grounds but the accent's, hairlines at least 3:1."""

_DARK_FATES: Mapping[FateName, str] = {"cut": "#e0a3cf", "summarised": "#b9aef4"}
_LIGHT_FATES: Mapping[FateName, str] = {"cut": "#a5407c", "summarised": "#5f4bc4"}
_GROUND = 0.16
"""Share of the colour in the ground of a changed row."""


def fate_colour(colours: Colours, fate: FateName) -> str:
    """The letter's colour: at least 4.5:1 on the window."""
    match fate:
        case "kept":
            return colours.quiet
        case "cleared":
            return colours.low
        case "replaced":
            return colours.accent
        case "dropped":
            return colours.high
        case "inserted":
            return colours.good
        case "cut" | "summarised":
            return (_DARK_FATES if colours.dark else _LIGHT_FATES)[fate]


def role_colour(colours: Colours, role: str) -> str:
    """The colour in which the role of a message is written."""
    return {
        "user": colours.accent,
        "tool": colours.on_tool,
        "result": colours.on_tool,
        "summary": colours.good,
        "system": colours.quiet,
        "file": colours.quiet,
        "reminder": colours.quiet,
        "client": colours.quiet,
    }.get(role, colours.text)


def mixed(ground: str, colour: str, share: float = _GROUND) -> QColor:
    """The ground with so much of the colour."""
    below, other = QColor(ground), QColor(colour)
    pairs = (
        (below.red(), other.red()),
        (below.green(), other.green()),
        (below.blue(), other.blue()),
    )
    return QColor(*(round(a + (b - a) * share) for a, b in pairs))
