"""What a person does to the selected message: edit, drop, add one behind. Asked here, done by `workbench.editing`."""

from PySide6.QtWidgets import QWidget

from inspector.core.errors import InspectorError
from inspector.core.message import Message, Text
from inspector.gui.desk import Desk
from inspector.gui.edits.dialog import DropDialog, EditDialog, texts
from inspector.gui.look.number_formats import plural
from inspector.workbench.edits import Partners


class Hand:
    """For the buffer list, the message view and the window's commands alike."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        self._desk, self._parent = desk, parent
        self._editing = desk.workbench.editing

    def edit(self) -> None:
        """The selected message in an editor."""
        message = self._selected()
        if message is None:
            return
        parts = texts(message)
        if not parts:
            self._desk.say("This message holds no text that could be edited: images, or what only the provider reads.")
            return
        title = f"Edit the {message.role} message"
        take = self._editing.rewrite
        dialog = EditDialog(
            self._parent, self._desk.theme, title, parts, lambda part, text: take(message.id, part, text)
        )
        dialog.exec()

    def drop(self) -> None:
        """The selected message goes; asked only where it would leave a call or a result alone."""
        message = self._selected()
        if message is None:
            return
        along = self._editing.partners([message.id])
        if not along.messages and not along.calls:
            self._editing.drop([message.id])
            return
        dialog = DropDialog(self._parent, *_asked(message, along))
        dialog.exec()
        if dialog.chosen:
            self._editing.drop([message.id], dialog.chosen == "pair")

    def insert(self) -> None:
        """A user message at the end."""
        if self._desk.workbench.state.thread is None or not self._free():
            return
        dialog = EditDialog(
            self._parent,
            self._desk.theme,
            "Add a user message at the end",
            [(0, Text(""))],
            lambda part, text: self._insert(text),
        )
        dialog.what.hide()
        dialog.exec()

    def _insert(self, text: str) -> None:
        if not text.strip():
            raise InspectorError("Write something: a provider refuses an empty message.")
        self._editing.insert(text)

    def _selected(self) -> Message | None:
        if not self._free():
            return None
        message = self._editing.message()
        if message is None and self._desk.workbench.state.session is not None:
            self._desk.say("Select a message of this buffer first.")
        return message

    def _free(self) -> bool:
        if self._desk.workbench.state.asking is None:
            return True
        self._desk.say("A tier waits for an answer: answer it or give it up before the buffer is edited.")
        return False


def _asked(message: Message, along: Partners) -> tuple[str, str]:
    """The question, and the words of the button that drops the pair."""
    calls, results = sum(map(len, along.calls.values())), len(along.messages)
    if message.role == "tool":
        what = "its call" if calls + results == 1 else "its calls"
        return f"This is the result of a call. Without {what} a provider would refuse the buffer.", f"Drop with {what}"
    count = plural(results, "result")
    return (
        f"This message makes {plural(len(message.calls), 'call')}. Left alone, "
        f"{'its result' if results == 1 else f'the {count}'} would make a provider refuse the buffer.",
        f"Drop with {'its result' if results == 1 else count}",
    )
