"""Workspaces: by tab and key, remembered, one panel as large as the window, and what a person asks for is in front."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTabBar, QTableView, QWidget
from pytestqt.qtbot import QtBot

from inspector.core.findings.answers import short_answers
from inspector.gui import window as window_module
from inspector.gui.desk import Desk
from inspector.gui.panels.glance.panel import CARDS, NO_SESSION, READING, GlancePanel
from inspector.gui.panels.lists.search import SearchPanel
from inspector.gui.panels.message.view import MessageView
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.window import MainWindow
from inspector.gui.workspace import WORKSPACES
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from tests.gui.hands import click, press, write

CONTROL = Qt.KeyboardModifier.ControlModifier
ALWAYS = ("Pressure", "Timeline")


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> MainWindow:
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(
        lambda: (
            bench.state.session is not None and bench.state.opening is None and window.docks.ready
        )
    )
    return window


def seen(window: MainWindow) -> list[str]:
    return [title for title, panel in window.docks.panels.items() if panel.seen]


def tab_bar(within: QWidget, title: str) -> tuple[QTabBar, int]:
    """The bar of tabs that holds that tab, and where."""
    for bar in within.findChildren(QTabBar):
        for at in range(bar.count()):
            if bar.isVisible() and bar.tabText(at) == title:
                return bar, at
    raise AssertionError(title)


def test_each_has_a_key_and_shows_gauge_and_timeline(opened: MainWindow, qtbot: QtBot) -> None:
    middles = ["Buffer", "Diff", "Cost", "Compare", "Calibration", "Proxy"]
    for n, name in enumerate(WORKSPACES):
        press(opened, Qt.Key(Qt.Key.Key_1.value + n), CONTROL)
        qtbot.waitUntil(lambda name=name: opened.docks.current.name == name)  # type: ignore[misc]
        assert opened.top.workspaces.tabText(opened.top.workspaces.currentIndex()) == name
        shown = seen(opened)
        assert set(ALWAYS) <= set(shown)
        assert middles[n] in shown


def test_by_a_click_on_its_name(opened: MainWindow, qtbot: QtBot) -> None:
    tabs = opened.top.workspaces
    click(tabs, tabs.tabRect(WORKSPACES.index("Cost")).center())
    qtbot.waitUntil(lambda: opened.docks.current.name == "Cost")
    assert "Cost" in seen(opened)


def test_of_two_that_are_chosen_the_second_is_shown(opened: MainWindow, qtbot: QtBot) -> None:
    """Also when that one stands there, while the panels of the first are still built."""
    tabs = opened.top.workspaces
    for first, second in (("Compact", "Read"), ("Compact", "Cost")):
        click(tabs, tabs.tabRect(WORKSPACES.index(first)).center())
        opened.docks.bring("Search") if second == "Read" else opened.choose_workspace(second)
        qtbot.waitUntil(lambda name=second: opened.docks.current.name == name)  # type: ignore[misc]
        assert tabs.tabText(tabs.currentIndex()) == second
    qtbot.waitUntil(lambda: not opened.bridge.busy)
    assert opened.docks.current.name == "Cost"


def test_panels_are_built_with_their_workspace_or_while_nothing_else_is_at_work(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    docks = window.docks
    window.open_sample()
    qtbot.waitUntil(lambda: docks.ready and window.workbench.state.session is not None)
    assert {"Pressure", "Timeline", "Buffer", "Message"} <= set(docks.panels)
    assert not {"Compare", "Calibration", "Proxy"} & set(docks.panels)
    window.choose_workspace("Compare")
    qtbot.waitUntil(lambda: docks.current.name == "Compare")
    assert docks.panels["Compare"].seen
    assert docks.is_current(docks.panels["Compare"])
    monkeypatch.setattr(window_module, "_REST", 1)
    qtbot.waitUntil(lambda: set(docks.panels) == set(docks.titles))
    window.workbench.move(0)
    for title in docks.titles:
        docks.bring(title)
        assert docks.is_current(docks.panels[title])


def test_a_panel_that_is_asked_for_brings_its_workspace(opened: MainWindow) -> None:
    for title in opened.docks.titles:
        opened.show_panel(title)
        assert title in seen(opened)


def test_keys_that_come_before_the_panels_do_nothing(window: MainWindow) -> None:
    assert not window.docks.ready
    for act in (window.docks.maximise_focused, window.docks.float, window.docks.close_panel):
        act()
    assert not seen(window)


def test_one_panel_takes_all_the_room_and_gives_it_back(opened: MainWindow, qtbot: QtBot) -> None:
    before = seen(opened)
    opened.docks.panel("Buffer").setFocus()
    press(opened, Qt.Key.Key_F11)
    assert seen(opened) == ["Buffer"]
    press(opened, Qt.Key.Key_F11)
    assert seen(opened) == before
    bar, at = tab_bar(opened.docks.current, "Message")
    QTest.mouseDClick(
        bar, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, bar.tabRect(at).center()
    )
    assert seen(opened) == ["Message"]
    opened.choose_workspace("Cost")
    qtbot.waitUntil(lambda: set(ALWAYS) <= set(seen(opened)))
    opened.choose_workspace("Read")
    assert seen(opened) == before


def test_maximised_panel_when_escape_is_pressed_gives_the_room_back(opened: MainWindow) -> None:
    for title in ("Buffer", "Message", "Timeline", "Search"):
        opened.show_panel(title)
        before = seen(opened)
        press(opened, Qt.Key.Key_F11)
        assert seen(opened) == [title]
        at = QApplication.focusWidget()
        assert at is not None
        press(at, Qt.Key.Key_Escape)
        assert seen(opened) == before, title


def test_gauge_and_timeline_can_take_it_too(opened: MainWindow) -> None:
    before = seen(opened)
    for title in ALWAYS:
        opened.docks.maximise(title)
        assert seen(opened) == [title]
        opened.docks.restore_all()
        assert seen(opened) == before


@pytest.mark.qt_log_ignore("propagateSizeHints", r"raise\(\)")
def test_floating_closing_and_the_layout_as_it_was(opened: MainWindow) -> None:
    before = seen(opened)
    opened.docks.bring("Search")
    opened.docks.float()
    dock = opened.docks.dock("Search")
    assert dock is not None
    assert dock.isFloating()
    opened.docks.choose("Cost")
    assert "Search" in seen(opened)  # what floats stays in sight
    opened.choose_workspace("Read")
    opened.docks.bring("Message")
    opened.docks.close_panel()
    assert "Message" not in seen(opened)
    opened.docks.reset()
    assert not dock.isFloating()
    assert seen(opened) == before


def test_a_command_of_the_palette_is_for_the_panel_that_had_the_focus(
    opened: MainWindow, qtbot: QtBot
) -> None:
    dock, line = opened.docks.dock("Message"), opened.palette_box.line
    assert dock is not None
    for words, is_so in (
        ("Maximise the panel", lambda: seen(opened) == ["Message"]),
        ("Maximise the panel", lambda: "Buffer" in seen(opened)),
        ("Float the panel", dock.isFloating),
        ("Float the panel", lambda: not dock.isFloating()),
        ("Close the panel", dock.isHidden),
    ):
        opened.activateWindow()
        opened.docks.panel("Message").setFocus()
        press(opened, Qt.Key.Key_P, CONTROL | Qt.KeyboardModifier.ShiftModifier)
        assert line.hasFocus()
        write(line, words)
        press(line, Qt.Key.Key_Return)
        qtbot.waitUntil(is_so)


def test_cards_of_sample_show_the_answers_and_lead_to_their_requests(
    opened: MainWindow, qtbot: QtBot
) -> None:
    bench = opened.workbench
    state = bench.state
    glance = opened.docks.panel("At a glance")
    assert isinstance(glance, GlancePanel)
    assert state.session is not None
    qtbot.waitUntil(lambda: all(card.answer is not None for card in glance.cards.values()))
    answers = short_answers(
        state.session, state.session.main, lambda at: bench.find_window(state, at).tokens
    )
    assert [card.words for card in glance.cards.values()] == [answer.text for answer in answers]
    assert [card.link.text() for card in glance.cards.values()] == [
        "Go to request 78 ›", "Show what was lost ›", "Show cost ›",
    ]  # fmt: skip
    for card in glance.cards.values():
        for words in (card.headline, card.detail):
            assert words.height() >= words.heightForWidth(words.width())
    for question, title, request in (
        ("lost", "What was lost", 79),
        ("cost", "Cost", 96),
        ("filled", "Breakdown", 78),
    ):
        opened.choose_workspace("Read")
        qtbot.waitUntil(lambda: opened.docks.current.name == "Read")
        card = glance.cards[question]  # type: ignore[index]
        click(card)
        assert title in seen(opened)
        assert bench.state.at == request


def test_cards_while_a_file_is_read_and_computed_say_what_is_being_done(
    desk: Desk, qtbot: QtBot
) -> None:
    glance = GlancePanel(desk)
    qtbot.addWidget(glance)
    glance.show()
    desk.workbench.subscribe(glance.receive)
    session = open_transcript(resource("sample.jsonl"))
    desk.workbench.begin(session.path)
    desk.workbench.open(session, more=True)
    assert [card.words for card in glance.cards.values()] == [READING] * 3
    desk.workbench.open(session)
    assert [card.words for card in glance.cards.values()] == [
        CARDS[name].pending for name in glance.cards
    ]
    qtbot.waitUntil(lambda: all(card.answer is not None for card in glance.cards.values()))
    desk.workbench.close()
    assert [card.words for card in glance.cards.values()] == [NO_SESSION] * 3


def test_card_of_the_fullest_request_when_another_window_is_chosen_shows_that_share(
    desk: Desk, qtbot: QtBot
) -> None:
    glance = GlancePanel(desk)
    qtbot.addWidget(glance)
    glance.show()
    desk.workbench.subscribe(glance.receive)
    desk.workbench.open(open_transcript(resource("sample.jsonl")))
    qtbot.waitUntil(lambda: "(76.1%)" in glance.cards["filled"].words)
    desk.workbench.set_window(400_000)
    qtbot.waitUntil(lambda: "(38.1%)" in glance.cards["filled"].words)


def test_search_when_hits_are_stepped_through_keeps_list_and_message_in_sight(
    opened: MainWindow, qtbot: QtBot
) -> None:
    before = seen(opened)
    opened.show_panel("Files")
    press(opened, Qt.Key.Key_F, CONTROL)
    found = opened.docks.panel("Search")
    assert isinstance(found, SearchPanel)
    assert "At a glance" not in seen(opened)  # it makes room
    write(found.field, "rounding")
    qtbot.waitUntil(lambda: len(found.table.rows) > 3 and not opened.bridge.busy)
    selected = []
    for key in (Qt.Key.Key_F3, Qt.Key.Key_F3):
        press(found.field, key)
        assert {"Search", "Buffer", "Message"} <= set(seen(opened))
        selected.append(opened.workbench.state.selected)
    assert selected == [match.hit.message.id for match in found.table.rows[:2]]
    press(found.field, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    assert opened.workbench.state.selected == selected[0]
    press(found.field, Qt.Key.Key_Escape)
    assert seen(opened) == before
    assert opened.docks.panel("Buffer").isAncestorOf(opened.focusWidget())


def test_panel_that_made_room_when_shown_closes_the_search(opened: MainWindow) -> None:
    opened.ask_panel("Search", "rounding")
    assert "At a glance" not in seen(opened)
    opened.show_panel("At a glance")
    assert "At a glance" in seen(opened)
    assert "Search" not in seen(opened)


def test_hits_are_opened_one_after_the_other(opened: MainWindow, qtbot: QtBot) -> None:
    """By Return: each is in sight; Qt ended the program where it scrolled while its list of colours was replaced."""
    opened.ask_panel("Search", "rounding")
    found, view = opened.docks.panel("Search"), opened.docks.panel("Message")
    assert isinstance(found, SearchPanel)
    assert isinstance(view, MessageView)
    qtbot.waitUntil(lambda: len(found.table.rows) > 40 and not opened.bridge.busy)
    for n in range(4):
        opened.docks.bring("Search")
        qtbot.wait(20)
        click(
            found.table.viewport(), found.table.visualRect(found.table.model().index(n, 0)).center()
        )
        press(found.table, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: view.seen and view.find_bar.isVisible() and not opened.bridge.busy)
        qtbot.wait(20)
        assert view.text.viewport().rect().contains(view.text.cursorRect().center()), n


@pytest.mark.parametrize("larger", [0, 3])
def test_a_long_answer_is_read_without_hovering(
    opened: MainWindow, qtbot: QtBot, larger: int
) -> None:
    glance = opened.docks.panel("At a glance")
    assert isinstance(glance, GlancePanel)
    qtbot.waitUntil(lambda: all(card.answer is not None for card in glance.cards.values()))
    opened.theme.zoom(larger)
    qtbot.wait(30)
    for longest in range(3):
        check_long_answer(opened, glance, longest, qtbot)


def check_long_answer(window: MainWindow, glance: GlancePanel, longest: int, qtbot: QtBot) -> None:
    """Give one of the cards a long answer, and check that the others and the timeline keep their room."""
    above = window.docks.panel("Timeline").height()
    texts = ["No compaction: the whole conversation is still in context."] * 3
    texts[longest] = ", ".join(f"{n} of them stand in some file or other" for n in range(7))
    for card, text in zip(glance.cards.values(), texts, strict=True):
        assert card.answer is not None
        card.show_answer(replace(card.answer, headline=text, details=(), strong="of them"))
    glance.fit()
    qtbot.wait(30)
    for card, text in zip(glance.cards.values(), texts, strict=True):
        assert card.words == text
        assert card.headline.height() >= card.headline.heightForWidth(card.headline.width())
    assert glance.height() < window.height() / 5
    # The buffer, which is below, gives the room.
    assert window.docks.panel("Timeline").height() == above


def test_layouts_are_put_back_before_there_is_a_panel(window: MainWindow) -> None:
    window.docks.reset()
    window.docks.restore_all()
    window.docks.keep(window.settings)


@pytest.mark.qt_log_ignore("This plugin does not support raise")
def test_no_tab_bar_stays_where_no_tabs_are(opened: MainWindow, qtbot: QtBot) -> None:
    """Qt leaves those behind whose docks went into another one, now and then: one is put there by hand."""
    page = opened.docks.workspaces["Compact"]

    def bars() -> list[list[str]]:
        """Of those that can be seen; what is put away lies outside of the page."""
        found = page.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        shown = [bar for bar in found if bar.isVisible() and page.rect().intersects(bar.geometry())]
        return sorted([bar.tabText(n) for n in range(bar.count())] for bar in shown)

    def titles(*names: str) -> list[str]:
        return [page.docks[name].windowTitle() for name in names]

    opened.docks.choose("Compact")
    left, bottom = list(page.docks)[:4], list(page.docks)[4:]
    qtbot.waitUntil(lambda: bars() == [titles(*bottom), titles(*left)])
    left_behind = QTabBar(page)
    for name in ("Lost", "Pins"):
        left_behind.addTab(name)
    left_behind.setGeometry(284, 366, 356, 30)
    left_behind.show()
    opened.docks.bring("Pins")
    qtbot.waitUntil(lambda: not left_behind.isVisible())
    for name in ("Lost", "Pins"):
        opened.docks.bring(name)
        page.docks[name].setFloating(True)
        rest = [one for one in bottom if one != name]
        qtbot.waitUntil(lambda rest=rest: bars() == sorted([titles(*rest), titles(*left)]))  # type: ignore[misc]
        page.docks[name].setFloating(False)
        qtbot.waitUntil(lambda: sorted(bars()[-1]) == sorted(titles(*left)))
    opened.docks.maximise("Lost")
    qtbot.waitUntil(lambda: bars() == [])
    opened.docks.reset()
    qtbot.waitUntil(lambda: bars() == [titles(*bottom), titles(*left)])


def test_rows_are_as_high_as_their_letters(opened: MainWindow, qtbot: QtBot) -> None:
    opened.docks.build(*WORKSPACES)
    tables = opened.docks.findChildren(QTableView)
    before = [one.verticalHeader().defaultSectionSize() for one in tables]
    opened.theme.zoom(4)
    try:
        after = [one.verticalHeader().defaultSectionSize() for one in tables]
        assert len(tables) > 10
        assert all(high > low for high, low in zip(after, before, strict=True))
    finally:
        opened.theme.zoom(0)
    assert [one.verticalHeader().defaultSectionSize() for one in tables] == before


def test_gauge_in_cost_after_a_tier_was_previewed_shows_no_preview(
    opened: MainWindow, qtbot: QtBot
) -> None:
    gauge = opened.docks.panel("Pressure")
    assert isinstance(gauge, Gauge)
    opened.docks.choose("Compact")
    qtbot.waitUntil(
        lambda: gauge.tank.reading is not None and gauge.tank.reading.preview is not None
    )
    opened.docks.choose("Cost")
    assert gauge.tank.reading is not None
    assert gauge.tank.reading.preview is None
    opened.docks.choose("Compact")
    assert gauge.tank.reading.preview is not None
