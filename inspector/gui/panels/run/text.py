"""What the model is saying, as it comes: plain text that only grows, kept at its end unless the user scrolled up."""

from PySide6.QtGui import QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit

from inspector.gui.look.visible import visible

LARGEST = 200_000
"""Characters that are shown; the journal has them all."""


class RunText(QPlainTextEdit):
    """`show_text` costs what is new, not what is there."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("RunText")
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setAccessibleName("What the model is saying")
        self._text = ""

    def show_text(self, text: str) -> None:
        """All that was said so far in this call."""
        if text == self._text:
            return
        bar = self.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 4
        before, self._text = self._text, text
        if before and text.startswith(before):
            new = text[len(before) : LARGEST]
        else:
            self.clear()
            new = text[:LARGEST]
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(visible(new).text)
        if at_end:
            bar.setValue(bar.maximum())
