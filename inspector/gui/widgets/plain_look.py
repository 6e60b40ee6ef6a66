"""How the plain-text view looks: a character format for each look of a piece and each kind of a coloured stretch."""

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtGui import QColor, QFont, QTextCharFormat

from inspector.gui.look.colours import Colours
from inspector.gui.look.fonts import mono_font, ui_font
from inspector.gui.widgets.plain_json import Kind
from inspector.gui.widgets.sections import Look


@dataclass(frozen=True, slots=True)
class Looks:
    """The formats of one palette."""

    texts: Mapping[Look, QTextCharFormat]
    kinds: Mapping[Kind, QTextCharFormat]
    token: QTextCharFormat
    """A hidden character that was spelt out, the sign of a broken line."""
    hit: QTextCharFormat

    def of(self, look: Look) -> QTextCharFormat:
        """The format of a piece."""
        return self.texts[look]


def looks(colours: Colours) -> Looks:
    """The formats for one palette, at the application's font size."""
    heading = ui_font(weight=QFont.Weight.DemiBold)
    heading.setPointSizeF(max(7.0, heading.pointSizeF() - 1))
    return Looks(
        texts={
            "heading": _text(heading, colours.quiet),
            "prose": _text(ui_font(), colours.text),
            "code": _text(mono_font(), colours.text),
            "exact": _text(mono_font(), colours.text),
            "diff": _text(mono_font(), colours.text),
        },
        kinds={
            "key": _colour(colours.accent),
            "string": _colour(colours.good),
            "number": _colour(colours.on_tool),
            "word": _colour(colours.on_tool),
            "added": _colour(colours.good),
            "removed": _colour(colours.high),
            "place": _colour(colours.accent),
        },
        token=_colour(colours.high, colours.faint),
        hit=_colour(colours.text, colours.selected),
    )


def _text(font: QFont, colour: str) -> QTextCharFormat:
    made = _colour(colour)
    made.setFont(font)
    return made


def _colour(front: str, back: str = "") -> QTextCharFormat:
    made = QTextCharFormat()
    made.setForeground(QColor(front))
    if back:
        made.setBackground(QColor(back))
    return made
