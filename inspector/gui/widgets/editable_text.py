"""A text that can be edited unless an editor would alter characters in it; such a text is read-only."""

import re

from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QStackedWidget

from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import LONG_LINE, visible
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.text import PlainText

LARGEST = 400_000
"""Maximum number of characters that an editor gets; it is slow with more."""
_LONG = re.compile(f"[^\n]{{{LONG_LINE + 1},}}")


class EditableText(QStackedWidget):
    """A text to edit. It is read-only if an editor would change it or be slow (control characters, endless lines)."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.editor = QPlainTextEdit()
        self.editor.setObjectName("NeedText")
        self.editor.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.reader = PlainText(theme)
        for view in (self.editor, self.reader):
            view.setAccessibleName(name)
            self.addWidget(view)
        self._text = ""

    def show_text(self, text: str) -> None:
        """Show a text, editable if `is_editable` returns True for it."""
        self._text = text
        if is_editable(text):
            self.editor.setPlainText(text)
            self.editor.document().setModified(False)
            self.setCurrentWidget(self.editor)
        else:
            self.reader.show_sections((Section("", text),))
            self.setCurrentWidget(self.reader)

    def text(self) -> str:
        """Return the text to send: the edited text, or the exact original if it was not edited."""
        if self.currentWidget() is self.editor and self.editor.document().isModified():
            return self.editor.toPlainText()
        return self._text

    @property
    def is_edited(self) -> bool:
        """True if the user changed the text."""
        return self.text() != self._text

    def hold(self, held: bool) -> None:
        """Make the text read-only while a request is answered (`held`), or editable again."""
        self.editor.setReadOnly(held)


def is_editable(text: str) -> bool:
    """Return True if an editor would keep this text unchanged and be fast with it."""
    return len(text) <= LARGEST and not _LONG.search(text) and visible(text).text == text
