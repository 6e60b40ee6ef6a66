"""The calm bar under the top: a failure in one sentence, or a transcript on its way in. Never a dialog."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFrame

from inspector.gui.look.build import button, mark, row
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
        self.words = label(wrap=True)
        self.bar = ProgressBar(theme)
        self.button = button("Cancel", self._pressed)
        self._then: Callable[[], None] = dismiss
        self.more = button("", lambda: self._then())
        row((self.words, 1), (self.bar, 1), self.more, self.button, of=self, margins=(13, 6, 13, 6), gap=12)
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
        self._then = then or self._dismiss
        self._show_words(sentence, bad=True)

    def _show_opening(self, opening: OpeningProgress) -> None:
        share = f" · {opening.done / 1e6:,.0f} of {opening.total / 1e6:,.0f} MB" if opening.total > 2_000_000 else ""
        self.words.setText(f"Reading {Path(opening.path).name}{share}")
        self.bar.show_share(opening.done / opening.total if opening.total else None)
        self.bar.show()
        self.more.hide()
        self.button.setText("Cancel")
        mark(self, "bad", False)
        self.show()

    def _show_words(self, sentence: str, bad: bool) -> None:
        self.words.setText(sentence[:1].upper() + sentence[1:])
        self.bar.hide()
        self.button.setText("Dismiss")
        mark(self, "bad", bad)
        self.show()

    def _pressed(self) -> None:
        if self._opening is not None:
            self._cancel()
            return
        self._said = ""
        self.hide()
        self._dismiss()
