"""What a person does to the selected message: edit it, drop it, add one. Asked here, done by `workbench.editing`.

With the commands and the menu that offer it.
"""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from inspector.core.errors import InspectorError
from inspector.core.message import Message, Part, Text, Thinking
from inspector.core.words import plural
from inspector.gui.commands import Command
from inspector.gui.desk import Desk
from inspector.workbench.edits import Partners, editable

GROUP = "Edit"


class ManualEdits:
    """For the buffer list, the message view and the window's commands alike."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        self._desk, self._parent = desk, parent

    def edit(self) -> None:
        """The selected message in an editor."""
        message = self._selected()
        if message is None:
            return
        numbered_parts = [
            (n, part) for n, part in enumerate(message.parts) if editable(part) is not None
        ]
        parts = sorted(
            numbered_parts, key=lambda numbered_part: isinstance(numbered_part[1], Thinking)
        )  # what was said first, thinking last
        if parts:
            rewrite = self._desk.workbench.editing.rewrite
            self._ask(
                f"Edit the {message.role} message",
                parts,
                lambda part, text: rewrite(message.id, part, text),
            )
        else:
            self._desk.say(
                "This message holds no text that could be edited: images, or what only the provider reads."
            )

    def drop(self) -> None:
        """The selected message goes; asked only where it would leave a call or a result alone."""
        message = self._selected()
        if message is None:
            return
        along = self._desk.workbench.editing.partners([message.id])
        if not along.messages and not along.calls:
            self._desk.workbench.editing.drop([message.id])
            return
        from inspector.gui.edits.dialogs import DropDialog

        dialog = DropDialog(self._parent, *_drop_question(message, along))
        dialog.exec()
        if dialog.chosen:
            self._desk.workbench.editing.drop([message.id], dialog.chosen == "pair")

    def insert(self) -> None:
        """A user message at the end."""
        if self._desk.workbench.state.thread is not None and self._free():
            self._ask(
                "Add a user message at the end",
                [(0, Text(""))],
                lambda part, text: self._insert(text),
                new=True,
            )

    def _ask(
        self,
        title: str,
        parts: list[tuple[int, Part]],
        take: Callable[[int, str], None],
        new: bool = False,
    ) -> None:
        from inspector.gui.edits.dialogs import EditDialog  # loaded when first wanted

        dialog = EditDialog(self._parent, self._desk.theme, title, parts, take)
        if new:
            dialog.what.hide()
        dialog.exec()

    def _insert(self, text: str) -> None:
        if not text.strip():
            raise InspectorError("Write something: a provider refuses an empty message.")
        self._desk.workbench.editing.insert(text)

    def _selected(self) -> Message | None:
        if not self._free():
            return None
        message = self._desk.workbench.editing.message()
        if message is None and self._desk.workbench.state.session is not None:
            self._desk.say("Select a message of this buffer first.")
        return message

    def _free(self) -> bool:
        if self._desk.workbench.state.asking is None:
            return True
        self._desk.say(
            "A tier waits for an answer. Answer or cancel it before you edit the buffer."
        )
        return False


def _drop_question(message: Message, along: Partners) -> tuple[str, str]:
    """The question, and the words of the button that drops the pair."""
    calls, results = sum(map(len, along.calls.values())), len(along.messages)
    if message.role == "tool":
        what = "its call" if calls + results == 1 else "its calls"
        return (
            f"This is the result of a call. Without {what} a provider would refuse the buffer.",
            f"Drop with {what}",
        )
    count = plural(results, "result")
    return (
        f"This message makes {plural(len(message.calls), 'call')}. Left alone, "
        f"{'its result' if results == 1 else f'the {count}'} would make a provider refuse the buffer.",
        f"Drop with {'its result' if results == 1 else count}",
    )


def edit_commands(desk: Desk, window: QWidget) -> tuple[Command, ...]:
    """On the selected message; none of them does anything where nothing is open."""
    edits = ManualEdits(desk, window)
    return (
        Command("Edit the message…", edits.edit, ("F2",), GROUP, typed=True),
        Command("Drop the message", edits.drop, ("Del",), GROUP, typed=True),
        Command("Add a user message at the end…", edits.insert, ("Ins",), GROUP, typed=True),
    )


def buffer_menu(desk: Desk, parent: QWidget) -> QMenu:
    """The menu, fit for where we stand now. Keys are shown only: the window's commands have them."""
    state = desk.workbench.state
    edits = ManualEdits(desk, parent.window())
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    free = state.asking is None
    has_message = free and desk.workbench.editing.message() is not None
    for words, keys, run, enabled in (
        ("Edit…", "F2", edits.edit, has_message),
        ("Drop", "Del", edits.drop, has_message),
        ("Add a user message at the end…", "Ins", edits.insert, free and state.thread is not None),
    ):
        action = menu.addAction(words, run)
        show_keys(action, keys)
        action.setEnabled(enabled)
    menu.addSeparator()
    menu.addAction("Read it in full", lambda: desk.show_panel("Message")).setEnabled(has_message)
    if desk.runs is not None:
        menu.addSeparator()
        action = menu.addAction("Run from here…", desk.runs.fork)
        show_keys(action, "Ctrl+Shift+R")
        action.setEnabled(state.thread is not None)
        if desk.runs.resumable:
            menu.addAction("Resume this run", desk.runs.resume)
    return menu


def show_keys(action: QAction, keys: str) -> None:
    """The keys beside the words, without making them work twice."""
    key_text = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
    action.setText(f"{action.text()}\t{key_text}")
