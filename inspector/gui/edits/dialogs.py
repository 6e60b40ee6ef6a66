"""Two dialogs: one edits the text of a message, part by part; the other asks before a drop removes further messages.

A text that an editor would change (control characters, endless lines) is read-only and can only be replaced as a whole.
"""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QWidget

from inspector.core.errors import InspectorError
from inspector.core.message import Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.words import plural
from inspector.gui.dialogs.form import FormDialog
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, choice, column, row
from inspector.gui.look.labels import label, tip
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import DIALOG_GAP
from inspector.gui.look.visible import line
from inspector.gui.widgets.editable_text import EditableText
from inspector.workbench.edits import editable

Take = Callable[[int, str], None]
"""Applies a text to the part with that index. Raises InspectorError with a sentence if the text is not valid."""
HELD = "An editor would change some characters or very long lines of this text: you can only replace the whole text."


class EditDialog(Guarded, FormDialog):
    """Edits the text of a message.

    It closes when the text is accepted; otherwise it shows the reason and keeps the text.
    """

    def __init__(
        self,
        parent: QWidget | None,
        theme: Theme,
        title: str,
        parts: list[tuple[int, Part]],
        take: Take,
    ) -> None:
        super().__init__(parent, title, "Take as a step")
        self._parts = parts
        self._take_text = take
        self.resize(720, 460)
        self.which = choice("Part of the message to edit", (named(part) for _, part in parts))
        self.which.setVisible(len(parts) > 1)
        self.which.currentIndexChanged.connect(self._show)
        self.what = label(role="strong")
        self.what.setVisible(len(parts) == 1)
        self.text = EditableText(theme, "Text of the message, to be edited")
        self.note = label(role="small", wrap=True)
        about = "Begin with an empty editor; the step replaces the current text"
        self.whole = button("Replace all text", self._write_anew, about=about)
        self.go.setToolTip(tip("Ctrl+Enter"))
        foot = row(self.whole, ..., self.buttons)
        column(
            self.which,
            self.what,
            (self.text, 1),
            self.note,
            self.trouble,
            foot,
            of=self,
            margins=None,
        )
        self._show(0)

    def _show(self, at: int) -> None:
        """Show another part. Text typed into the previous part is discarded, because only one part is changed."""
        part = self._parts[at][1]
        self.what.setText(named(part))
        self.text.show_text(editable(part) or "")
        held = self.text.currentWidget() is self.text.reader
        self.whole.setVisible(held)
        self.go.setEnabled(not held)
        words = [HELD] if held else []
        if isinstance(part, ToolCall) and not isinstance(part.arguments, str):
            words.append("The arguments of a tool call must be a JSON object.")
        if isinstance(part, Thinking) and part.signature:
            words.append(
                "Edited thinking loses its signature: some providers refuse or ignore thinking without a signature."
            )
        self.note.setText(" ".join(words))
        self.note.setVisible(bool(words))
        self.trouble.hide()
        (self.text.reader if held else self.text.editor).setFocus()

    def _write_anew(self) -> None:
        self.text.setCurrentWidget(self.text.editor)
        self.text.editor.clear()
        self.text.editor.document().setModified(True)
        self.whole.hide()
        self.go.setEnabled(True)
        self.text.editor.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Accept the text on Ctrl+Enter, which the editor does not use."""
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._accept()
        else:
            super().keyPressEvent(event)

    def _accept(self) -> None:
        if not self.go.isEnabled():
            return
        try:
            self._take_text(self._parts[max(0, self.which.currentIndex())][0], self.text.text())
        except InspectorError as failure:
            self.refuse(str(failure))
        else:
            self.accept()


class DropDialog(QDialog):
    """Asks what to do with the call or result of a dropped message. `chosen` becomes "pair", "alone" or stays empty."""

    def __init__(self, parent: QWidget | None, says: str, pair: str) -> None:
        super().__init__(parent)
        self.setWindowTitle("Drop the message")
        self.setMinimumWidth(460)
        self.chosen = ""
        self.pair = button(pair, lambda: self._choose("pair"), role="primary")
        self.pair.setDefault(True)
        about = "A provider would refuse the buffer; the Valid panel says why"
        self.alone = button("Drop only this", lambda: self._choose("alone"), about=about)
        foot = row(..., button("Cancel", self.reject), self.alone, self.pair)
        column(label(says, wrap=True), foot, of=self, margins=None, gap=DIALOG_GAP)

    def _choose(self, what: str) -> None:
        self.chosen = what
        self.accept()


def named(part: Part) -> str:
    """Return the name of a part in the choice of parts."""
    match part:
        case Text(text):
            return f"text · {plural(len(text), 'character')}"
        case Thinking(text):
            return f"thinking · {plural(len(text), 'character')}"
        case ToolCall(name=name):
            return f"tool call · {line(name, 60)} · arguments"
        case ToolResult(content=content):
            return f"tool result · {plural(len(content), 'character')}"
        case _:
            return "no text"
