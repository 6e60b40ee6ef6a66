"""A few choices as chips, one of them taken."""

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QPushButton, QWidget

from inspector.gui.look.labels import tip
from inspector.gui.widgets.flow import Flow


class Chips(QWidget):
    """`chosen` carries the word of the chip that was clicked."""

    chosen = Signal(str)

    def __init__(self, name: str, choices: Iterable[tuple[str, str]]) -> None:
        """`choices`: (word, what it means)."""
        super().__init__()
        self.setAccessibleName(name)
        self.buttons: dict[str, QPushButton] = {}
        self._group = QButtonGroup(self)
        flow = Flow()
        self.setLayout(flow)
        for word, what in choices:
            button = QPushButton(word)
            button.setProperty("role", "chip")
            button.setCheckable(True)
            button.setToolTip(tip(what))
            button.setAccessibleName(f"{name}: {word}")
            button.setAccessibleDescription(what)
            self._group.addButton(button)
            self.buttons[word] = button
            flow.add(button)
        self._group.buttonClicked.connect(lambda button: self.chosen.emit(button.text()))

    def take(self, word: str) -> None:
        """That one is taken, without telling anybody."""
        button = self.buttons.get(word)
        if button is not None:
            button.setChecked(True)
