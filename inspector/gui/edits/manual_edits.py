"""Manual edits of the selected message: edit it, drop it, or add a message.

This module asks the user; `workbench.editing` makes the change. Commands and menu are here, too.
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
from inspector.workbench.editing import ANSWER_FIRST
from inspector.workbench.edits import Partners, editable

GROUP = "Edit"


class ManualEdits:
    """The edits that the buffer list, the message view and the window's commands offer."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        self._desk = desk
        self._parent = parent

    def edit(self) -> None:
        """Open the selected message in an editor."""
        message = self._selected_message()
        if message is None:
            return
        numbered_parts = [
            (index, part) for index, part in enumerate(message.parts) if editable(part) is not None
        ]
        # Text first, thinking last.
        parts = sorted(
            numbered_parts, key=lambda numbered_part: isinstance(numbered_part[1], Thinking)
        )
        if parts:
            rewrite = self._desk.workbench.editing.rewrite
            self._ask(
                f"Edit the {message.role} message",
                parts,
                lambda part, text: rewrite(message.id, part, text),
            )
        else:
            self._desk.say(
                "This message has no text to edit, only images or content that only the provider can read."
            )

    def drop(self) -> None:
        """Drop the selected message. Ask first if a call or a result would lose its partner."""
        message = self._selected_message()
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
        """Ask for a user message and add it at the end of the buffer."""
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
        from inspector.gui.edits.dialogs import EditDialog  # imported on first use

        dialog = EditDialog(self._parent, self._desk.theme, title, parts, take)
        if new:
            dialog.what.hide()
        dialog.exec()

    def _insert(self, text: str) -> None:
        if not text.strip():
            raise InspectorError("Write something: a provider refuses an empty message.")
        self._desk.workbench.editing.insert(text)

    def _selected_message(self) -> Message | None:
        if not self._free():
            return None
        message = self._desk.workbench.editing.message()
        if message is None and self._desk.workbench.state.session is not None:
            self._desk.say("Select a message of this buffer first.")
        return message

    def _free(self) -> bool:
        if self._desk.workbench.state.asking is None:
            return True
        self._desk.say(ANSWER_FIRST)
        return False


def _drop_question(message: Message, along: Partners) -> tuple[str, str]:
    """Return the question, and the text of the button that drops both partners."""
    calls = sum(map(len, along.calls.values()))
    results = len(along.messages)
    if message.role == "tool":
        what = "its call" if calls + results == 1 else "its calls"
        return (
            "This message is a tool result. If only the result is dropped, a provider refuses the buffer. "
            f"Drop the result together with {what}?",
            f"Drop with {what}",
        )
    count = plural(results, "result")
    return (
        f"This message makes {plural(len(message.calls), 'call')}. If only the message is dropped, a provider "
        f"refuses the buffer. Drop the message together with {'its result' if results == 1 else f'the {count}'}?",
        f"Drop with {'its result' if results == 1 else count}",
    )


def edit_commands(desk: Desk, window: QWidget) -> tuple[Command, ...]:
    """Return the commands for the selected message. They do nothing while no session is open."""
    edits = ManualEdits(desk, window)
    return (
        Command("Edit the message…", edits.edit, ("F2",), GROUP, typed=True),
        Command("Drop the message", edits.drop, ("Del",), GROUP, typed=True),
        Command("Add a user message at the end…", edits.insert, ("Ins",), GROUP, typed=True),
    )


def buffer_menu(desk: Desk, parent: QWidget) -> QMenu:
    """Return the menu for the current State. It only displays keys; the window's commands handle them."""
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
    menu.addAction("Read the whole message", lambda: desk.show_panel("Message")).setEnabled(
        has_message
    )
    if desk.runs is not None:
        menu.addSeparator()
        action = menu.addAction("Run from here…", desk.runs.fork)
        show_keys(action, "Ctrl+Shift+R")
        action.setEnabled(state.thread is not None)
        if desk.runs.resumable:
            menu.addAction("Resume this run", desk.runs.resume)
    return menu


def show_keys(action: QAction, keys: str) -> None:
    """Show the keys beside the text of an action, without adding a second shortcut."""
    key_text = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
    action.setText(f"{action.text()}\t{key_text}")
