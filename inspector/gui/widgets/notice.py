"""The calm bar under the top: a failure in one sentence, or a transcript on its way in. Never a dialog."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton

from inspector.gui.look.labels import label
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.small import ProgressBar
from inspector.workbench.state import OpeningProgress, State


class Notice(QFrame):
    """Hidden while there is nothing to say."""

    def __init__(self, theme: Theme, cancel: Callable[[], None], dismiss: Callable[[], None]) -> None:
        super().__init__()
        self.setObjectName("Notice")
        self._cancel, self._dismiss = cancel, dismiss
        self._said = ""
        self.words = label()
        self.words.setWordWrap(True)
        self.bar = ProgressBar(theme)
        self.button = QPushButton("Cancel")
        self.more = QPushButton()
        self._more: Callable[[], None] = dismiss
        self.button.clicked.connect(self._pressed)
        self.more.clicked.connect(lambda: self._more())
        row = QHBoxLayout(self)
        row.setContentsMargins(13, 6, 13, 6)
        row.setSpacing(12)
        row.addWidget(self.words, 1)
        row.addWidget(self.bar, 1)
        row.addWidget(self.more)
        row.addWidget(self.button)
        self._opening: OpeningProgress | None = None
        self.hide()

    def show_state(self, state: State) -> None:
        """The opening, else the failure, else nothing."""
        self._opening = state.opening
        if state.opening is not None:
            self._show_opening(state.opening)
        elif state.failure:
            self._said = state.failure
            self.more.hide()
            self._show_words(state.failure, bad=True)
        elif not self._said or self.button.text() == "Cancel":
            self._said = ""
            self.hide()

    def say(self, sentence: str, more: str = "", then: Callable[[], None] | None = None) -> None:
        """A sentence of the window's own, with a second button where there is something to do."""
        self._said = sentence
        self.more.setText(more)
        self.more.setVisible(bool(more))
        self._more = then or self._dismiss
        self._show_words(sentence, bad=True)

    def _show_opening(self, opening: OpeningProgress) -> None:
        share = f" · {opening.done / 1e6:,.0f} of {opening.total / 1e6:,.0f} MB" if opening.total > 2_000_000 else ""
        self.words.setText(f"Reading {Path(opening.path).name}{share}")
        self.bar.show_share(opening.done / opening.total if opening.total else None)
        self.bar.show()
        self.more.hide()
        self.button.setText("Cancel")
        self._mark(bad=False)
        self.show()

    def _show_words(self, sentence: str, bad: bool) -> None:
        self.words.setText(sentence[:1].upper() + sentence[1:])
        self.bar.hide()
        self.button.setText("Dismiss")
        self._mark(bad)
        self.show()

    def _mark(self, bad: bool) -> None:
        if self.property("bad") != bad:
            self.setProperty("bad", bad)
            self.style().polish(self)

    def _pressed(self) -> None:
        if self._opening is not None:
            self._cancel()
            return
        self._said = ""
        self.hide()
        self._dismiss()
