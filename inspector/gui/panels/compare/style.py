"""How each policy is drawn: a letter, a pattern of strokes, a colour. Never told apart by the colour alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPen, QPixmap

from inspector.gui.look.colours import Colours, ink
from inspector.workbench.compare import BASE, PLAIN


@dataclass(frozen=True, slots=True)
class PolicyStyle:
    """`strokes`: lengths of stroke, gap, stroke ... in pixels; empty = solid. `#rrggbb` on dark and on light."""

    letter: str
    strokes: tuple[float, ...]
    dark: str = ""
    light: str = ""

    def colour(self, colours: Colours) -> str:
        """In one of the two palettes."""
        return (self.dark if colours.dark else self.light) or colours.missing

    def pen(self, colours: Colours, width: float = 1.0) -> QPen:
        """A cosmetic one."""
        pen = QPen(ink(self.colour(colours)), width)
        pen.setCosmetic(True)
        if self.strokes:
            pen.setDashPattern([length / width for length in self.strokes])
        return pen


STYLES: Mapping[str, PolicyStyle] = {
    "roku": PolicyStyle("R", (), "#56b4e9", "#0072b2"),
    "pulse": PolicyStyle("P", (7, 3), "#e69f00", "#a86f00"),
    "pi": PolicyStyle("π", (2, 2), "#2fb888", "#007a58"),
    "learn-claude-code": PolicyStyle("L", (9, 3, 2, 3), "#cc79a7", "#a8447d"),
    "claude-code": PolicyStyle("CC", (5, 2), "#9cc3dd", "#35657f"),
    "codex": PolicyStyle("C", (14, 4), "#e8743b", "#c04f00"),
    "anthropic-editing": PolicyStyle("A", (4, 4), "#a394f0", "#6a55d0"),
    "opencode": PolicyStyle("O", (1, 3), "#f0e442", "#7a7200"),
    "gemini": PolicyStyle("G", (7, 3, 2, 3, 2, 3), "#c79a6b", "#7a4a12"),
    PLAIN: PolicyStyle("N", ()),
    BASE: PolicyStyle("S", (18, 3, 2, 3), "#ffffff", "#000000"),
}
"""Okabe and Ito's colours, made darker where they must stand on white."""


def style_of(name: str) -> PolicyStyle:
    """Of the policy of that name; any other one's initial, dotted."""
    number = name.partition(" ")[0]
    if number.isdecimal():  # a point of a sweep
        like = list(STYLES.values())[(int(number) - 1) % (len(STYLES) - 2)]
        return PolicyStyle(number, like.strokes, like.dark, like.light)
    return STYLES.get(name) or PolicyStyle(name[:1].upper(), (2, 4))


SAMPLE = QSize(22, 12)


def paint_sample(painter: QPainter, room: QRectF, name: str, colours: Colours) -> None:
    """A piece of its line across the middle of `room`."""
    painter.setPen(style_of(name).pen(colours, 2))
    painter.drawLine(QPointF(room.left(), room.center().y()), QPointF(room.right(), room.center().y()))


def sample_icon(name: str, colours: Colours, scale: float) -> QIcon:
    """For a chip."""
    picture = QPixmap(SAMPLE * scale)
    picture.setDevicePixelRatio(scale)
    picture.fill(Qt.GlobalColor.transparent)
    with QPainter(picture) as painter:
        paint_sample(painter, QRectF(0, 0, SAMPLE.width() - 3, SAMPLE.height()), name, colours)
    return QIcon(picture)
