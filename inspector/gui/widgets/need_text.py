"""One text of a need: shown in full whatever it holds, and editable where an editor can hold it unharmed."""

import re

from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QStackedWidget

from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import LONG_LINE, visible
from inspector.gui.widgets.plain_text import PlainText
from inspector.gui.widgets.sections import Section

LARGEST = 400_000
"""Characters an editor is given; it would take more, but slowly."""
_LONG = re.compile(f"[^\n]{{{LONG_LINE + 1},}}")


class NeedText(QStackedWidget):
    """What an editor would change or choke on (controls, endless lines) is shown as it is, read-only."""

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
        """Another need's text."""
        self._text = text
        if editable(text):
            self.editor.setPlainText(text)
            self.editor.document().setModified(False)
            self.setCurrentWidget(self.editor)
        else:
            self.reader.show_sections((Section("", text),))
            self.setCurrentWidget(self.reader)

    def text(self) -> str:
        """As it is to be sent: the original, to the letter, unless it was edited."""
        if self.currentWidget() is self.editor and self.editor.document().isModified():
            return self.editor.toPlainText()
        return self._text

    @property
    def edited(self) -> bool:
        """Has the person changed it?"""
        return self.text() != self._text

    def hold(self, held: bool) -> None:
        """While somebody answers, nothing is edited."""
        self.editor.setReadOnly(held)


def editable(text: str) -> bool:
    """Would an editor hold this text unharmed, and quickly?"""
    return len(text) <= LARGEST and not _LONG.search(text) and visible(text).text == text
