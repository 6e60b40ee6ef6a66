"""A segmented switch: a few words side by side, one of which is selected."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QPushButton

from inspector.gui.look.build import button, row


class Segments(QFrame):
    """The switch. `chosen` is emitted with the word that the user selected."""

    chosen = Signal(str)

    def __init__(self, name: str, words: Sequence[str]) -> None:
        """Create the switch; `name` says to screen readers what it selects."""
        super().__init__()
        self.setAccessibleName(name)
        self.setObjectName("Segments")
        self.buttons: dict[str, QPushButton] = {}
        self._group = QButtonGroup(self)
        for word in words:
            segment = self.buttons[word] = button(word, role="segment", checkable=True)
            segment.setAccessibleName(f"{name}: {word}")
            self._group.addButton(segment)
        row(*self.buttons.values(), of=self, margins=(2, 2, 2, 2), gap=0)
        self.buttons[words[0]].setChecked(True)
        self._group.buttonClicked.connect(lambda segment: self.chosen.emit(segment.text()))

    @property
    def word(self) -> str:
        """The word of the selected segment."""
        return next(word for word, segment in self.buttons.items() if segment.isChecked())

    def choose(self, word: str) -> None:
        """Select a word as a click does, and emit `chosen`."""
        if word != self.word:
            self.buttons[word].click()
