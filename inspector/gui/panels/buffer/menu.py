"""What the buffer list offers for a message: change it by hand, look at it, run on from here."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from inspector.gui.desk import Desk
from inspector.gui.edits.manual_edits import Hand


def buffer_menu(desk: Desk, parent: QWidget) -> QMenu:
    """The menu, fit for where we stand now. Keys are shown only: the window's commands have them."""
    state = desk.workbench.state
    hand = Hand(desk, parent.window())
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    free = state.asking is None
    here = free and desk.workbench.editing.message() is not None
    for words, keys, run, enabled in (
        ("Edit…", "F2", hand.edit, here),
        ("Drop", "Del", hand.drop, here),
        ("Add a user message at the end…", "Ins", hand.insert, free and state.thread is not None),
    ):
        action = menu.addAction(words, run)
        show_keys(action, keys)
        action.setEnabled(enabled)
    menu.addSeparator()
    menu.addAction("Read it in full", lambda: desk.show_panel("Message")).setEnabled(here)
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
    shown = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
    action.setText(f"{action.text()}\t{shown}")
