"""The colours of fates, and the grounds of the two sides of a diff. A fate has a letter, too: never colour alone."""

from collections.abc import Mapping
from functools import lru_cache

from PySide6.QtGui import QColor

from inspector.core.outcome import FateName
from inspector.gui.look.colours import Colours

_DARK: Mapping[FateName, str] = {"cut": "#d48fc0", "summarised": "#a99bf0"}
_LIGHT: Mapping[FateName, str] = {"cut": "#a5407c", "summarised": "#5f4bc4"}
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
            return (_DARK if colours.dark else _LIGHT)[fate]


@lru_cache(maxsize=8)
def grounds(window: str, out: str, into: str) -> tuple[QColor, QColor]:
    """(ground of what was, ground of what is): the window with a breath of colour. Not to be changed."""
    return _mixed(window, out), _mixed(window, into)


def _mixed(ground: str, colour: str) -> QColor:
    one, other = QColor(ground), QColor(colour)
    return QColor(
        *(
            round(a + (b - a) * _GROUND)
            for a, b in (
                (one.red(), other.red()),
                (one.green(), other.green()),
                (one.blue(), other.blue()),
            )
        )
    )
