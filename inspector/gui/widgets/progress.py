"""How far a job is, as a thin bar. Unlike Qt's own it never repaints on the spot, so that telling it costs nothing."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.theme import Theme

THICK = 6


class Progress(Guarded, QWidget):
    """`share` from 0 to 1; None while nobody knows."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.share: float | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(320)
        self.setAccessibleName("Progress")

    def show_share(self, share: float | None) -> None:
        """From now on."""
        self.share = share
        self.setAccessibleDescription("" if share is None else f"{share:.0%}")
        self.update()

    def sizeHint(self) -> QSize:
        """Thin and long."""
        return QSize(320, THICK)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The groove, and the part that is done."""
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            whole = QRectF(0, (self.height() - THICK) / 2, self.width(), THICK)
            painter.setBrush(ink(self._theme.colours.line))
            painter.drawRoundedRect(whole, THICK / 2, THICK / 2)
            whole.setWidth(self.width() * (self.share or 0))
            painter.setBrush(ink(self._theme.colours.accent))
            painter.drawRoundedRect(whole, THICK / 2, THICK / 2)
