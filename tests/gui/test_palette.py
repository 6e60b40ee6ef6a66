"""The command palette and the keys."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QPushButton, QScrollArea
from pytestqt.qtbot import QtBot

from inspector.gui.commands import Command, matches
from inspector.gui.dialogs.key_list import KeyList
from inspector.gui.dialogs.palette import CommandPalette
from inspector.gui.window import MainWindow
from tests.gui.hands import click, press, write
from tests.gui.made import session

CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> MainWindow:
    window.workbench.open(session())
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and not window.bridge.busy)
    return window


def offered(palette: CommandPalette) -> list[str]:
    model = palette.list.model()
    return [model.index(n, 0).data() for n in range(model.rowCount())]


def test_opened_by_its_key_and_by_the_box(opened: MainWindow) -> None:
    press(opened, Qt.Key.Key_K, CONTROL)
    assert opened.palette_box.isVisible()
    press(opened.palette_box.line, Qt.Key.Key_Escape)
    assert not opened.palette_box.isVisible()
    click(opened.top.box)
    assert opened.palette_box.isVisible()


def test_a_command_is_found_and_run(opened: MainWindow) -> None:
    dark = opened.theme.colours.dark
    press(opened, Qt.Key.Key_K, CONTROL)
    write(opened.palette_box.line, "light or")
    assert offered(opened.palette_box)[0] == "Light or dark"
    press(opened.palette_box.line, Qt.Key.Key_Return)
    assert opened.theme.colours.dark is not dark
    assert not opened.palette_box.isVisible()


def test_a_number_is_a_request(opened: MainWindow) -> None:
    press(opened, Qt.Key.Key_K, CONTROL)
    write(opened.palette_box.line, "4")
    assert offered(opened.palette_box)[0] == "Go to request 4"
    press(opened.palette_box.line, Qt.Key.Key_Return)
    assert opened.workbench.state.at == 4


def test_arrows_choose_and_a_click_runs(opened: MainWindow) -> None:
    press(opened, Qt.Key.Key_K, CONTROL)
    write(opened.palette_box.line, ">request")
    names = offered(opened.palette_box)
    assert names[:4] == ["Next request", "Previous request", "First request", "Last request"]
    press(opened.palette_box.line, Qt.Key.Key_Down)
    press(opened.palette_box.line, Qt.Key.Key_Down)
    press(opened.palette_box.line, Qt.Key.Key_Return)
    assert opened.workbench.state.at == 0
    opened.open_palette(">last request")
    box = opened.palette_box.list
    click(box.viewport(), box.visualRect(box.model().index(0, 0)).center())
    assert opened.workbench.state.at == 11


def test_a_text_is_searched(opened: MainWindow, qtbot: QtBot) -> None:
    opened.open_palette()
    write(opened.palette_box.line, "needle-7")
    assert offered(opened.palette_box) == ["Search the session for “needle-7”"]
    press(opened.palette_box.line, Qt.Key.Key_Return)
    assert opened.docks.panel("Search").seen


def test_letters_belong_to_whoever_types(opened: MainWindow) -> None:
    opened.workbench.move(5)
    press(opened.docks.panel("Buffer"), Qt.Key.Key_Slash)
    field = opened.focusWidget()
    assert field is not None
    assert field.accessibleName() == "Filter messages by text"
    write(field, "cJk")
    press(field, Qt.Key.Key_Left)
    press(field, Qt.Key.Key_Home)
    assert opened.workbench.state.at == 5
    assert field.property("text") == "cJk"
    press(field, Qt.Key.Key_PageDown, Qt.KeyboardModifier.AltModifier)
    assert opened.workbench.state.at == 6


def test_every_key_is_given_once(opened: MainWindow) -> None:
    keys = [QKeySequence(keys).toString() for command in opened.commands for keys in command.keys]
    assert len(keys) == len(set(keys))
    assert all(keys)


def test_the_list_of_keys_names_them(opened: MainWindow, qtbot: QtBot) -> None:
    listed = KeyList(opened, opened.commands)
    qtbot.addWidget(listed)
    words = " ".join(label.text() for label in listed.findChildren(type(opened.notice.words)))
    assert "Next request" in words
    assert "Ctrl+K" in words


@pytest.mark.parametrize("zoom", [0, 3])
def test_list_of_keys_when_screen_is_small_fits_and_scrolls(
    opened: MainWindow, qtbot: QtBot, zoom: int
) -> None:
    for _ in range(zoom):
        opened.theme.zoom(1)
    listed = KeyList(opened, opened.commands)
    qtbot.addWidget(listed)
    listed.show()
    qtbot.waitExposed(listed)
    screen = listed.screen().availableGeometry()
    assert screen.height() == 800
    assert listed.frameGeometry().height() <= screen.height() - 40
    assert listed.frameGeometry().width() <= screen.width()
    (close,) = listed.findChildren(QPushButton)
    assert listed.rect().contains(close.geometry())
    (area,) = listed.findChildren(QScrollArea)
    assert area.verticalScrollBar().maximum() > 0
    assert area.horizontalScrollBar().maximum() == 0
    for _ in range(20):
        press(area, Qt.Key.Key_PageDown)
    assert area.verticalScrollBar().value() == area.verticalScrollBar().maximum()


def commands(*words: str) -> list[Command]:
    return [Command(word, lambda: None) for word in words]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("", ["Next request", "Light or dark", "Quit"]),
        ("dark", ["Light or dark"]),
        ("re", ["Next request"]),
        ("nr", ["Next request"]),
        ("q", ["Quit", "Next request"]),
        ("zz", []),
    ],
)
def test_matching(typed: str, found: list[str]) -> None:
    known = commands("Next request", "Light or dark", "Quit")
    assert [command.words for command in matches(known, typed)] == found


def test_offers_stand_after_what_was_meant() -> None:
    known, offers = commands("Search the session", "Light or dark", "Research"), commands("offer")
    assert [c.words for c in matches(known, "sea", offers)] == [
        "Search the session",
        "offer",
        "Research",
    ]
