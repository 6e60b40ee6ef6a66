"""Pins as a user meets them: lines over all requests, pinned by mouse and key, policies, clicks that lead there."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QLabel, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from inspector.core.replay.pins import PinIndex, collect_pins, recorded_pins
from inspector.core.session import Session
from inspector.gui.desk import Desk
from inspector.gui.panels.message.view import NOTHING_TO_PIN, MessageView
from inspector.gui.panels.pins.panel import BECAME, STRIP, PinsPanel
from inspector.gui.window import MainWindow
from tests.core.findings.test_pins import RULE, session
from tests.gui.conftest import Asked
from tests.gui.hands import click, press, write
from tests.gui.test_lists import cells, click_cell

SESSION = Session(
    "test",
    (
        session(
            ("user", f"Mend the parser, please. {RULE}"),
            ("answer", "The port is 8417. I begin."),
            ("edit", "src/parser.py"),
            ("compact", "We mended the parser."),
            ("answer", "Next."),
            ("edit", "db/migrations/0007_rows.py"),
        ),
    ),
    path="pinned.jsonl",
)


@pytest.fixture
def panel(desk: Desk, qtbot: QtBot) -> PinsPanel:
    made = PinsPanel(desk)
    qtbot.addWidget(made)
    made.resize(1_200, 300)
    made.show()
    qtbot.waitExposed(made)
    desk.workbench.open(SESSION)
    desk.workbench.subscribe(made.receive)
    qtbot.waitUntil(lambda: bool(made.table.rows))
    assert all(found.textFormat() == Qt.TextFormat.PlainText for found in made.findChildren(QLabel))
    return made


def test_it_shows_what_the_core_finds(panel: PinsPanel) -> None:
    assert cells(panel.table) == [
        ["0", "constraint", RULE, "recorded", "0-1 verbatim, 2-3 gone", GONE],
    ]
    assert panel.says.text() == "Always in context: 0 of 1 as recorded."
    click(panel.instructions)
    thread = SESSION.main
    assert [line.history for line in panel.table.rows] == list(
        recorded_pins(thread, PinIndex(collect_pins(thread)))
    )


GONE = "gone since request 2, by auto compaction"


def test_click_on_a_pin_leads_to_where_it_was_said_and_where_it_went(
    desk: Desk, panel: PinsPanel
) -> None:
    click_cell(panel.table, 0)
    assert (desk.workbench.state.at, desk.workbench.state.selected) == (0, "u0")
    click_cell(panel.table, 0, BECAME)
    assert (desk.workbench.state.at, desk.workbench.state.selected) == (2, "u0")
    room = panel.table.visualRect(panel.table.model().index(0, STRIP))
    click(panel.table.viewport(), QPoint(room.left() + 15, room.center().y()))
    assert desk.workbench.state.at == 0
    click(
        panel.table.viewport(),
        QPoint(room.left() + 9 + (room.width() - 18) * 5 // 8, room.center().y()),
    )
    assert desk.workbench.state.at == 2


def test_a_text_is_pinned_by_key_and_unpinned_by_click(
    desk: Desk, panel: PinsPanel, qtbot: QtBot
) -> None:
    write(panel.typed, "port is 8417")
    press(panel.typed, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(panel.table.rows) == 2)
    assert cells(panel.table)[0][:5] == [
        "1",
        "pinned",
        "port is 8417",
        "recorded",
        "1-1 verbatim, 2-3 gone",
    ]
    assert panel.typed.text() == ""
    click_cell(panel.table, 0)
    assert panel.pin.text() == "unpin"
    click(panel.pin)
    qtbot.waitUntil(lambda: len(panel.table.rows) == 1)
    assert not desk.workbench.state.pins
    click_cell(panel.table, 0)
    assert panel.pin.text() == "pin"
    click(panel.pin)
    qtbot.waitUntil(lambda: bool(cells(panel.table)) and cells(panel.table)[0][1] == "pinned")
    assert desk.workbench.state.pins[0] == RULE
    desk.workbench.close()
    assert not desk.workbench.state.pins


def test_policies_are_driven_when_chosen(panel: PinsPanel, qtbot: QtBot) -> None:
    chosen = next(one for one in panel.policies.menu().actions() if one.data() == "none")
    chosen.trigger()
    qtbot.waitUntil(lambda: len(panel.table.rows) == 2)
    assert cells(panel.table)[1] == ["", "", "", "none", "0-3 verbatim", "verbatim"]
    assert panel.says.text().startswith("Always in context: 0 of 1 as recorded, 1 of 1 under none.")
    chosen.trigger()
    assert len(panel.table.rows) == 1


@pytest.fixture
def message(desk: Desk, qtbot: QtBot) -> MessageView:
    made = MessageView(desk)
    qtbot.addWidget(made)
    made.resize(700, 400)
    made.show()
    desk.workbench.open(SESSION)
    desk.workbench.move(0)
    desk.workbench.select("u0")
    desk.workbench.subscribe(made.receive)
    return made


def put_cursor(view: MessageView, text: str, select: bool = False) -> None:
    found = view.text.document().find(text)
    assert not found.isNull()
    if not select:
        found.setPosition(found.selectionStart() + len(text) // 2)
    view.text.setTextCursor(found)


def test_the_sentence_at_the_cursor_is_pinned(
    desk: Desk, message: MessageView, asked: Asked
) -> None:
    put_cursor(message, "migrations")
    click(message.pin)
    assert asked.shown == ["Pins"]
    put_cursor(message, "the parser", select=True)
    message.take("")
    assert desk.workbench.state.pins == (RULE, "the parser")


def test_the_menu_pins_what_was_clicked(desk: Desk, message: MessageView) -> None:
    put_cursor(message, "parser")
    place = message.text.cursorRect().center()
    message.text.moveCursor(QTextCursor.MoveOperation.Start)
    menu = message.menu_at(place)
    next(one for one in menu.actions() if one.text() == "Pin this sentence").trigger()
    assert desk.workbench.state.pins == ("Mend the parser, please.",)
    menu.close()


def test_what_is_no_text_of_the_message_is_not_pinned(
    desk: Desk, message: MessageView, asked: Asked
) -> None:
    message.text.moveCursor(QTextCursor.MoveOperation.Start)  # on the heading
    click(message.pin)
    assert desk.workbench.state.pins == ()
    assert QToolTip.isVisible()
    assert NOTHING_TO_PIN in QToolTip.text()
    assert asked.said == [], "a bar above the panels would push them down"
    QToolTip.hideText()


def test_pin_without_a_selection_moves_nothing_in_the_window(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.open_sample()
    qtbot.waitUntil(lambda: window.docks.ready and not window.bridge.busy)
    window.docks.bring("Message")
    view = window.docks.panel("Message")
    assert isinstance(view, MessageView)
    view.text.moveCursor(QTextCursor.MoveOperation.Start)
    qtbot.wait(50)
    place = view.pin.mapTo(window, QPoint())
    click(view.pin)
    qtbot.wait(50)
    assert view.pin.mapTo(window, QPoint()) == place
    assert not window.notice.isVisible()
    QToolTip.hideText()


def show_rule(window: MainWindow, qtbot: QtBot) -> MessageView:
    """Show the message in which the user states the rule."""
    qtbot.waitUntil(lambda: window.docks.ready)
    window.workbench.open(SESSION)
    qtbot.waitUntil(lambda: window.workbench.state.session is SESSION)
    window.workbench.move(0)
    window.workbench.select("u0")
    window.docks.bring("Message")
    view = window.docks.panel("Message")
    assert isinstance(view, MessageView)
    return view


def pin_by_key(window: MainWindow, text: QWidget, qtbot: QtBot) -> None:
    """Press the key that pins the sentence at the cursor, and wait until the rule is pinned."""
    text.setFocus()
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    press(text, Qt.Key.Key_D, modifiers)
    qtbot.waitUntil(lambda: window.workbench.state.pins == (RULE,))


def test_the_key_of_the_window_pins(window: MainWindow, qtbot: QtBot) -> None:
    view = show_rule(window, qtbot)
    qtbot.waitUntil(lambda: "migrations" in view.text.toPlainText())
    put_cursor(view, "migrations")
    pin_by_key(window, view.text, qtbot)
    panel = window.docks.panel("Pins")
    qtbot.waitUntil(lambda: panel.isVisible())


def show_prose(desk: Desk, message: MessageView, text: str) -> None:
    """Show a message of the user with this text, rendered."""
    desk.workbench.open(
        Session("test", (session(("user", text), ("answer", "Done.")),), path="prose.jsonl")
    )
    desk.workbench.move(0)
    desk.workbench.select("u0")
    assert message.markdown.isVisible()


def put_rendered_cursor(view: MessageView, text: str, select: bool = False) -> None:
    found = view.markdown.document().find(text)
    assert not found.isNull()
    if not select:
        found.setPosition(
            found.selectionStart() + (found.selectionEnd() - found.selectionStart()) // 2
        )
    view.markdown.setTextCursor(found)


PROSE = (
    "# Goal 🎯\n\nRead [the docs](https://a.b/the/page) of **all** amounts in `money.py`. Never touch\n"
    "db/migrations.\n\n- one step. *Two* steps.\n\n```python\nrun(1)\n```\n\n"
    "| who | what |\n|---|---|\n| Ada | a loom |\n\n"
    "pay\u202e lla &amp; go. It _has_ changed."
)


@pytest.mark.parametrize(
    ("at", "pinned"),
    [
        ("amounts", "Read [the docs](https://a.b/the/page) of **all** amounts in `money.py`."),
        ("migrations", "Never touch db/migrations."),
        ("Goal", "Goal 🎯"),
        ("one step", "one step."),
        ("Two", "*Two* steps."),
        ("run", "run(1)"),
        ("Ada", "Ada"),
        ("loom", "a loom"),
        ("lla", "pay\u202e lla &amp; go."),
        ("has changed", "It _has_ changed."),
    ],
)
def test_pin_when_the_cursor_is_in_rendered_prose_takes_the_sentence_as_written(
    desk: Desk, message: MessageView, asked: Asked, at: str, pinned: str
) -> None:
    show_prose(desk, message, PROSE)
    put_rendered_cursor(message, at)
    click(message.pin)
    assert desk.workbench.state.pins == (pinned,)
    assert asked.shown == ["Pins"]
    assert message.markdown.isVisible()


@pytest.mark.parametrize(
    ("selected", "pinned"),
    [
        ("docs of all amounts", "docs](https://a.b/the/page) of **all** amounts"),
        ("mounts in money.p", "mounts in `money.p"),
        ("touch db/migrations.", "touch db/migrations."),
        ("(1)", "(1)"),
        ("tep. Two", "tep. *Two"),
    ],
)
def test_pin_when_rendered_prose_is_selected_takes_it_as_written(
    desk: Desk, message: MessageView, selected: str, pinned: str
) -> None:
    show_prose(desk, message, PROSE)
    put_rendered_cursor(message, selected, select=True)
    message.take("")
    assert desk.workbench.state.pins == (pinned,)


def test_pin_when_no_place_in_rendered_prose_was_clicked_says_what_to_do(
    desk: Desk, message: MessageView
) -> None:
    show_prose(desk, message, "Goals first. Means later.")
    click(message.pin)
    assert list(desk.workbench.state.pins) == []
    assert NOTHING_TO_PIN in QToolTip.text()
    QToolTip.hideText()
    click(message.markdown.viewport(), message.markdown.cursorRect().center())
    click(message.pin)
    assert desk.workbench.state.pins == ("Goals first.",)


def test_the_menu_of_rendered_prose_pins_what_was_clicked(desk: Desk, message: MessageView) -> None:
    show_prose(desk, message, "Goals **first**. Means later.")
    put_rendered_cursor(message, "later")
    place = message.markdown.cursorRect().center()
    message.markdown.moveCursor(QTextCursor.MoveOperation.Start)
    menu = message.markdown_menu_at(place)
    next(one for one in menu.actions() if one.text() == "Pin this sentence").trigger()
    assert desk.workbench.state.pins == ("Means later.",)
    menu.close()


def test_the_key_of_the_window_pins_when_the_cursor_is_in_rendered_prose(
    window: MainWindow, qtbot: QtBot
) -> None:
    view = show_rule(window, qtbot)
    qtbot.waitUntil(lambda: "migrations" in view.markdown.toPlainText())
    put_rendered_cursor(view, "migrations")
    pin_by_key(window, view.markdown, qtbot)
