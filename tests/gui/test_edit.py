"""Messages edited, dropped and added by hand in the whole window, with a user's keys and clicks."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialog, QWidget
from pytestqt.qtbot import QtBot

from inspector.core.message import Message
from inspector.gui.edits.dialogs import DropDialog, EditDialog
from inspector.gui.panels.buffer.panel import BufferPanel
from inspector.gui.panels.message.view import MessageView
from inspector.gui.window import MainWindow
from tests.core.policies.build import result
from tests.gui.hands import click, press
from tests.gui.stepping import messages, session

D = TypeVar("D", bound=QDialog)
GOAL, LAST_CALL, LAST_RESULT = 0, 19, 20
"""Rows of the buffer, in which the oldest message is the first."""


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> MainWindow:
    qtbot.waitUntil(lambda: window.docks.ready)
    window.workbench.open(session())
    qtbot.waitUntil(lambda: buffer_of(window).model.rowCount() == 21)
    return window


def buffer_of(window: MainWindow) -> BufferPanel:
    panel = window.docks.panel("Buffer")
    assert isinstance(panel, BufferPanel)
    return panel


def pick(window: MainWindow, row: int) -> Message:
    """A click on a row of the buffer."""
    view = buffer_of(window).view
    view.scrollTo(buffer_of(window).model.index(row, 0))
    click(view.viewport(), view.visualRect(buffer_of(window).model.index(row, 0)).center())
    return buffer_of(window).model.message_at(row)


def in_dialog(
    qtbot: QtBot, kind: type[D], act: Callable[[D], None], begin: Callable[[], object]
) -> None:
    """`begin` opens a dialog of that kind; what the user does in it is `act`."""
    met: list[D] = []

    def meet() -> None:
        found = QApplication.activeModalWidget()
        if isinstance(found, kind):
            timer.stop()
            met.append(found)
            try:
                act(found)
            finally:
                if found.isVisible():
                    found.reject()

    timer = QTimer()
    timer.setInterval(10)
    timer.timeout.connect(meet)
    timer.start()
    begin()
    qtbot.waitUntil(lambda: bool(met))


def typed(editor: QWidget, text: str) -> None:
    """Everything replaced by typing."""
    press(editor, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QApplication.clipboard().setText(text)
    press(editor, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)


def fates(window: MainWindow) -> dict[str, str]:
    steps = window.workbench.state.steps
    return {fate.id: fate.name for fate in steps.fates() if fate.name != "kept"} if steps else {}


def test_f2_edits_a_result_and_ctrl_z_takes_it_back(opened: MainWindow, qtbot: QtBot) -> None:
    message = pick(opened, LAST_RESULT)
    assert message.role == "tool"

    def act(dialog: EditDialog) -> None:
        typed(dialog.text.editor, "nothing of note 文件")
        press(dialog.text.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)

    in_dialog(qtbot, EditDialog, act, lambda: press(buffer_of(opened).view, Qt.Key.Key_F2))
    qtbot.waitUntil(lambda: fates(opened) == {message.id: "replaced"})
    found = opened.workbench.state.buffer().messages[-1].result
    assert found is not None
    assert found.content == "nothing of note 文件"
    opened.activateWindow()
    qtbot.waitUntil(opened.isActiveWindow)
    press(buffer_of(opened).view, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert opened.workbench.state.buffer().messages[-1] is message


def test_arguments_that_are_not_json_are_told_and_nothing_is_lost(
    opened: MainWindow, qtbot: QtBot
) -> None:
    message = pick(opened, LAST_CALL)

    def act(dialog: EditDialog) -> None:
        dialog.which.setCurrentIndex(1)
        typed(dialog.text.editor, '{"command": "rm')
        click(dialog.go)
        assert dialog.isVisible()
        assert "not JSON" in dialog.trouble.text()
        assert dialog.text.text() == '{"command": "rm'
        typed(dialog.text.editor, '{"command": "ls -l"}')
        click(dialog.go)
        assert not dialog.isVisible()

    in_dialog(qtbot, EditDialog, act, lambda: press(buffer_of(opened).view, Qt.Key.Key_F2))
    qtbot.waitUntil(lambda: fates(opened) == {message.id: "replaced"})
    assert opened.workbench.state.buffer().messages[-2].calls[0].arguments == {"command": "ls -l"}


def test_what_an_editor_would_change_is_replaced_whole_or_left(
    opened: MainWindow, qtbot: QtBot
) -> None:
    listed = [*messages(1), result("c0", "\x1b[31mred\x1b[0m")]
    opened.workbench.open(session("controls.jsonl", listed[:2] + listed[3:]))
    qtbot.waitUntil(lambda: buffer_of(opened).model.rowCount() == 3)
    pick(opened, 2)

    def act(dialog: EditDialog) -> None:
        assert not dialog.go.isEnabled()
        click(dialog.whole)
        typed(dialog.text.editor, "red")
        click(dialog.go)

    in_dialog(qtbot, EditDialog, act, lambda: press(buffer_of(opened).view, Qt.Key.Key_F2))
    qtbot.waitUntil(lambda: bool(fates(opened)))
    assert opened.workbench.state.buffer().messages[-1].result == result("c0", "red").result


@pytest.mark.parametrize(
    ("row", "alone"), [(LAST_RESULT, False), (LAST_RESULT, True), (LAST_CALL, False)]
)
def test_a_drop_asks_about_what_pairs_with_it(
    opened: MainWindow, qtbot: QtBot, row: int, alone: bool
) -> None:
    message = pick(opened, row)
    valid = opened.docks.panel("Valid")

    def act(dialog: DropDialog) -> None:
        click(dialog.alone if alone else dialog.pair)

    in_dialog(qtbot, DropDialog, act, lambda: press(buffer_of(opened).view, Qt.Key.Key_Delete))
    qtbot.waitUntil(lambda: message.id in fates(opened))
    assert len(fates(opened)) == (1 if alone else 2)
    qtbot.waitUntil(lambda: valid.windowTitle() == ("Valid ✗ (1)" if alone else "Valid ✓"))


def test_a_message_without_partners_is_dropped_at_once(opened: MainWindow, qtbot: QtBot) -> None:
    message = pick(opened, GOAL)
    press(buffer_of(opened).view, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: fates(opened) == {message.id: "dropped"})


def test_insert_adds_a_user_message_at_the_end(opened: MainWindow, qtbot: QtBot) -> None:
    def act(dialog: EditDialog) -> None:
        click(dialog.go)
        assert "Write something" in dialog.trouble.text()
        typed(dialog.text.editor, "请继续")
        click(dialog.go)

    in_dialog(qtbot, EditDialog, act, lambda: press(buffer_of(opened).view, Qt.Key.Key_Insert))
    qtbot.waitUntil(lambda: fates(opened) == {"by-hand-1": "inserted"})
    assert opened.workbench.state.selected == "by-hand-1"
    assert opened.workbench.state.buffer().messages[-1].text == "请继续"


def test_the_context_menu_offers_it_all(opened: MainWindow, qtbot: QtBot) -> None:
    panel = buffer_of(opened)
    at = panel.view.visualRect(panel.model.index(2, 0)).center()
    menu = panel.menu_at(QPoint(at))
    words = [action.text().split("\t")[0] for action in menu.actions() if action.text()]
    assert words == [
        "Edit…",
        "Drop",
        "Add a user message at the end…",
        "Read the whole message",
        "Run from here…",
    ]
    assert panel.desk.workbench.state.selected == panel.model.message_at(2).id


def test_the_message_view_has_an_edit_button(opened: MainWindow, qtbot: QtBot) -> None:
    message = pick(opened, LAST_RESULT)
    opened.docks.bring("Message")
    view = opened.docks.panel("Message")
    assert isinstance(view, MessageView)
    qtbot.waitUntil(view.edit.isVisible)

    def act(dialog: EditDialog) -> None:
        typed(dialog.text.editor, "short")
        click(dialog.go)

    in_dialog(qtbot, EditDialog, act, lambda: click(view.edit))
    qtbot.waitUntil(lambda: message.id in fates(opened))


def test_while_a_tier_waits_nothing_is_edited(opened: MainWindow, qtbot: QtBot) -> None:
    opened.workbench.stepping.choose(answer_by="hand")
    opened.workbench.stepping.step("L3b")
    qtbot.waitUntil(lambda: opened.workbench.state.asking is not None)
    pick(opened, GOAL)
    press(buffer_of(opened).view, Qt.Key.Key_Delete)
    assert opened.workbench.state.asking is not None
    assert "waits for an answer" in opened.notice.words.text()
