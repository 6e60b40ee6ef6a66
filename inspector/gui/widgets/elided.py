"""A label of one line that takes whatever room there is, and gives way to none."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy

from inspector.gui.guard import Guarded
from inspector.gui.look.labels import tip


class Elided(Guarded, QLabel):
    """Cut with an ellipsis where the room ends; the whole as its tooltip."""

    def __init__(self, role: str = "") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        if role:
            self.setProperty("role", role)
        self._whole = ""

    def show_text(self, text: str) -> None:
        """Another one."""
        if text != self._whole:
            self._whole = text
            self.setToolTip(tip(text))
            self.setAccessibleName(text)
            self._cut()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """As much of it as fits."""
        super().resizeEvent(event)
        self._cut()

    def _cut(self) -> None:
        self.setText(self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideRight, max(0, self.width() - 4)))
