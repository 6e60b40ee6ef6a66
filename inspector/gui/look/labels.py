"""Labels, tooltips and messages that never interpret what they show.

Qt guesses whether a text is HTML; a transcript's `<img src=...>` would then be fetched, and a FIFO at that path would
freeze the program. So every label is made here, and every tooltip is escaped.
"""

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

NOT_IN_FILE = "not in this file"
"""How the unseen part of a buffer is called everywhere."""


def label(
    text: str = "", *, role: str = "", parent: QWidget | None = None, wrap: bool = False, centred: bool = False
) -> QLabel:
    """A label of plain text. `role` picks its look from the style sheet: caption, quiet, strong, number."""
    made = QLabel(parent)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setText(text)
    made.setWordWrap(wrap)
    if centred:
        made.setAlignment(Qt.AlignmentFlag.AlignCenter)
    if role:
        made.setProperty("role", role)
    return made


class EmphasisLabel(QLabel):
    """A sentence with the words that matter most in a heavier weight. Nothing in it is interpreted."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self.words = ""
        """The sentence as it is read."""

    def show_words(self, words: str, strong: str = "", quiet: bool = False) -> None:
        """Show a sentence; `strong` is the part of it that is emphasised, `quiet` writes it as second-rank text."""
        self.words = words
        before, found, after = words.partition(strong) if strong else (words, "", "")
        emphasised = f"<span style='font-weight:600'>{escape(found)}</span>" if found else ""
        self.setText(f"{escape(before)}{emphasised}{escape(after)}")
        self.setAccessibleName(words)
        if self.property("role") != (role := "quiet" if quiet else ""):
            self.setProperty("role", role)
            self.style().unpolish(self)
            self.style().polish(self)


def say(made: QLabel, text: str) -> None:
    """Show this; a label with nothing to say takes no room."""
    made.setText(text)
    made.setVisible(bool(text))


def tip(text: str) -> str:
    """A tooltip's text: escaped, lines kept, cut at 2,000 characters."""
    shown = text if len(text) <= 2000 else text[:2000] + "…"
    return f"<p style='white-space:pre-wrap'>{escape(shown)}</p>" if shown else ""
