"""A row that can be clicked: a name, and quietly what it is about. Painted, so nothing is interpreted."""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.labels import tip
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import visible


class Link(Guarded, QPushButton):
    """Cut with an ellipsis where the room ends."""

    def __init__(self, theme: Theme, name: str, about: str, whole: str) -> None:
        super().__init__()
        self._theme = theme
        self._name, self._about = visible(" ".join(name.split())).text, visible(about).text
        self.setToolTip(tip(whole))
        self.setAccessibleName(f"{name}, {about}")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """One line high."""
        return QSize(240, self.fontMetrics().height() + 9)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Name, then what it is about, to the right."""
        with QPainter(self) as painter:
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        c, metrics = self._theme.colours, self.fontMetrics()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() or self.hasFocus():
            painter.setPen(ink(c.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(ink(c.raised))
            painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 5, 5)
        inner = self.rect().adjusted(7, 0, -7, 0)
        middle = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        about = metrics.elidedText(self._about, Qt.TextElideMode.ElideMiddle, inner.width() * 6 // 10)
        painter.setPen(ink(c.quiet))
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignRight, about)
        room = QRect(inner)
        room.setRight(inner.right() - metrics.horizontalAdvance(about) - 12)
        painter.setPen(ink(c.text))
        painter.drawText(room, middle, metrics.elidedText(self._name, Qt.TextElideMode.ElideRight, room.width()))
