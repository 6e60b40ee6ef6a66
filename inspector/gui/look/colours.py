"""The colours of the window: light, dark and high contrast.

The colours of categories follow Okabe and Ito, because colour-blind people can distinguish them. For the same reason, a
fate has a letter besides its colour.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from PySide6.QtGui import QColor, QGradient

from inspector.core.findings.composition import Category
from inspector.core.outcome import FateName

_ = QGradient.Preset
"""Makes PySide create this class now, before other threads exist.

PySide otherwise creates it for the first brush, and fails if another thread is loading pyqtgraph at that moment.
"""
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
    "difference": "#9fd6d2",
}


@lru_cache(maxsize=256)
def ink(colour: str) -> QColor:
    """Return a cached colour for `#rrggbb`, because a row of the buffer list needs a dozen.

    The caller must not change it.
    """
    return QColor(colour)


@dataclass(frozen=True, slots=True)
class Colours:
    """One palette. Every value is `#rrggbb`."""

    dark: bool
    window: str
    raised: str
    """Background of buttons, fields and chips."""
    hover: str
    line: str
    """Colour of the hairlines between parts."""
    faint: str
    """Colour of the empty gauge, empty bars and grids."""
    text: str
    quiet: str
    """Second-rank text; its contrast on `window` is still 4.5:1."""
    accent: str
    on_accent: str
    selected: str
    """Background of the selected row."""
    low: str
    """The lower watermark."""
    high: str
    """The higher watermark, and errors."""
    good: str
    due: str
    """Background of something that is due, under text in `low`."""
    missing: str
    """Colour of tokens that are not recorded in the file."""
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
"""All text has a contrast of at least 7:1 on all backgrounds but the accent, hairlines have at least 3:1."""

_DARK_FATES: Mapping[FateName, str] = {"cut": "#e0a3cf", "summarised": "#b9aef4"}
_LIGHT_FATES: Mapping[FateName, str] = {"cut": "#a5407c", "summarised": "#5f4bc4"}
_GROUND = 0.16
"""Share of the fate's colour in the background of a changed row."""


def fate_colour(colours: Colours, fate: FateName) -> str:
    """Return the colour of a fate's letter, with a contrast of at least 4.5:1 on the window."""
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
    """Return the colour in which the role of a message is written."""
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
    """Mix `share` of a colour into a background."""
    below = QColor(ground)
    other = QColor(colour)
    pairs = (
        (below.red(), other.red()),
        (below.green(), other.green()),
        (below.blue(), other.blue()),
    )
    return QColor(
        *(
            round(first_channel + (second_channel - first_channel) * share)
            for first_channel, second_channel in pairs
        )
    )
