"""Fonts and colours of the text viewer."""

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtGui import (
    QColor,
    QFont,
    QTextCharFormat,
)

from inspector.gui.look.colours import Colours
from inspector.gui.look.fonts import mono_font, ui_font
from inspector.gui.widgets.code import Kind
from inspector.gui.widgets.pieces import (
    Look,
)


@dataclass(frozen=True, slots=True)
class Looks:
    """The text formats of one palette, by the look of a piece and by the kind of a coloured stretch."""

    texts: Mapping[Look, QTextCharFormat]
    kinds: Mapping[Kind, QTextCharFormat]
    token: QTextCharFormat
    """Format of a spelt-out hidden character and of the sign at a broken line."""
    hit: QTextCharFormat


def build_looks(colours: Colours) -> Looks:
    """Return the formats for one palette, at the application's font size."""
    heading_font = ui_font(weight=QFont.Weight.DemiBold)
    heading_font.setPointSizeF(max(7.0, heading_font.pointSizeF() - 1))
    exact = _text_format(mono_font(), colours.text)
    texts: dict[Look, QTextCharFormat] = {
        "heading": _text_format(heading_font, colours.quiet),
        "prose": _text_format(ui_font(), colours.text),
        "code": exact,
        "exact": exact,
        "diff": exact,
    }
    colour_of: dict[Kind, str] = {
        "key": colours.accent,
        "string": colours.good,
        "number": colours.on_tool,
        "word": colours.on_tool,
        "added": colours.good,
        "removed": colours.high,
        "place": colours.accent,
        "comment": colours.quiet,
    }
    return Looks(
        texts=texts,
        kinds={kind: _colour_format(colour) for kind, colour in colour_of.items()},
        token=_colour_format(colours.high, colours.faint),
        hit=_colour_format(colours.text, colours.selected),
    )


def _text_format(font: QFont, colour: str) -> QTextCharFormat:
    text_format = _colour_format(colour)
    text_format.setFont(font)
    return text_format


def _colour_format(front: str, back: str = "") -> QTextCharFormat:
    text_format = QTextCharFormat()
    text_format.setForeground(QColor(front))
    if back:
        text_format.setBackground(QColor(back))
    return text_format
