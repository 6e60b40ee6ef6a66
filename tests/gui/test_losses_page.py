"""What was lost, as a page: filters, three places of a fact, what gives it back, and the way there and back."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from inspector.gui.panels.losses.panel import LossesPanel
from inspector.gui.window import MainWindow
from inspector.workbench.loss_judging import NO_MODEL
from tests.gui.hands import click, click_name, press, write
from tests.gui.test_lists import click_cell

ALT = Qt.KeyboardModifier.AltModifier


@pytest.fixture
def page(window: MainWindow, qtbot: QtBot) -> LossesPanel:
    """The page of the sample, opened by the second card of the first screen."""
    window.open_sample()
    qtbot.waitUntil(lambda: window.workbench.state.opening is None and window.docks.ready)
    qtbot.waitUntil(lambda: not window.bridge.busy)
    card = window.docks.panel("At a glance").cards["lost"]  # type: ignore[attr-defined]
    click(card)
    panel = window.docks.panel("What was lost")
    assert isinstance(panel, LossesPanel)
    qtbot.waitUntil(lambda: panel.seen and bool(panel.table.rows) and not window.bridge.busy)
    return panel


def test_page_when_opened_has_the_room_of_the_timeline_and_gives_it_back(
    window: MainWindow, page: LossesPanel, qtbot: QtBot
) -> None:
    assert not window.docks.panel("Timeline").seen
    assert window.top.workspaces.tabText(window.top.workspaces.currentIndex()) == "Compact"
    click(page.back)
    assert window.docks.current.name == "Read"
    assert window.docks.panel("Timeline").seen
    window.show_panel("What was lost")
    press(page.table, Qt.Key.Key_Escape)
    assert window.docks.current.name == "Read"
    window.show_panel("What was lost")
    click_name(window.top.workspaces, "Compact")
    qtbot.waitUntil(lambda: window.docks.current.name == "Compact")


def test_filters_when_chosen_show_as_many_facts_as_they_say(page: LossesPanel) -> None:
    for view, choice in page.choices.views.items():
        click(choice)
        count = int(choice.accessibleName().rpartition(", ")[2].replace(",", ""))
        assert len(page.table.rows) == count, view
    click(page.choices.views["Needed again"])
    assert all(entry.row.needed for entry in page.table.rows)
    click(page.choices.kinds["Paths"])
    assert {entry.row.fact.kind for entry in page.table.rows} == {"path"}
    click(page.choices.any_kind)
    write(page.filter, "test_import")
    assert page.table.rows
    assert all(
        "test_import" in f"{entry.row.fact.text} {entry.caller} {entry.holder}"
        for entry in page.table.rows
    )


def test_places_when_a_fact_is_selected_mark_it_without_moving_the_playhead(
    window: MainWindow, page: LossesPanel, qtbot: QtBot
) -> None:
    click(page.choices.views["Needed again"])
    at = window.workbench.state.at
    click_cell(page.table, 0)
    entry = page.selected[0]
    assert entry.use is not None
    before, after, again = page.cards.all
    assert before.reader.text.hits
    assert again.reader.text.hits
    assert after.place is not None
    assert after.place.message == window.workbench.state.thread.compactions[0].summary.id  # type: ignore[union-attr]
    assert window.workbench.state.at == at
    click(again.link)
    qtbot.waitUntil(lambda: window.docks.current.name == "Read")
    assert (window.workbench.state.at, window.workbench.state.selected) == (
        entry.use.request,
        entry.use.message,
    )
    qtbot.wait(120)
    press(window, Qt.Key.Key_Left, ALT)
    qtbot.waitUntil(lambda: window.docks.current.name == "What was lost")
    assert page.selected == [entry]


def test_give_back_when_facts_are_selected_copies_them_as_a_message(page: LossesPanel) -> None:
    click(page.choices.views["Open instructions"])
    click_cell(page.table, 0)
    click(page.copy_message)
    text = QGuiApplication.clipboard().text()
    assert text.startswith("The conversation was compacted. This was lost and still counts:")
    assert page.selected[0].row.fact.text in text
    click(page.copy_names)
    assert QGuiApplication.clipboard().text() == page.selected[0].row.fact.text
    assert page.give_words.whole == "Copied 1 fact. Paste the text into the session."


def test_judge_without_a_model_says_where_to_choose_one_and_facts_are_added_to_the_buffer(
    window: MainWindow, page: LossesPanel, qtbot: QtBot
) -> None:
    click(page.judge)
    assert page.give_words.whole == NO_MODEL
    bench = window.workbench
    bench.stepping.choose(answer_by="anthropic")
    click(page.judge)
    assert page.give_words.whole.startswith("claude-")
    assert ", at most $0." in page.give_words.whole
    assert page.judge.text() == "Ask the model"
    click_cell(page.table, 0)
    click(page.insert)
    qtbot.waitUntil(lambda: bench.state.steps is not None and bool(bench.state.steps.taken))
    last = bench.state.buffer().messages[-1]
    assert last.text.startswith("The conversation was compacted. This was lost and still counts:")
    assert page.table.rows[0].row.fact.text in last.text
