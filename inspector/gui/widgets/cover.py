"""What lies over a panel that could not show the state: a sentence, so that nobody takes an older one for it."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.labels import label


class Cover(Guarded, QFrame):
    """As large as what it covers, as long as it is there."""

    def __init__(self, under: QWidget) -> None:
        super().__init__(under)
        self._under = under
        self.setAutoFillBackground(True)
        self.words = label(role="quiet")
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.words.setWordWrap(True)
        QVBoxLayout(self).addWidget(self.words)
        under.installEventFilter(self)
        self._fit()

    def say(self, sentence: str) -> None:
        """Show this."""
        self.words.setText(sentence)
        self._fit()
        self.show()
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """What is under it has another size."""
        if event.type() == QEvent.Type.Resize:
            self._fit()
        return False

    def _fit(self) -> None:
        self.setGeometry(self._under.rect())
