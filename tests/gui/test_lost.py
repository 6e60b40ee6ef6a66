"""What was lost: listed by kind, counted in the title, and where it stood is a click away."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from inspector.core.findings.lost import lost_by_compactions
from inspector.core.session import Session
from inspector.gui.desk import Desk
from inspector.gui.panels.lists.lost import AGAIN, LostPanel
from inspector.gui.window import MainWindow
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from tests.core.findings.test_lost import thread as sealed
from tests.gui.conftest import Asked
from tests.gui.hands import click, double_click, press
from tests.gui.stepping import open_it
from tests.gui.test_lists import cells, click_cell


@pytest.fixture
def panel(desk: Desk, qtbot: QtBot) -> LostPanel:
    made = LostPanel(desk)
    qtbot.addWidget(made)
    made.resize(900, 300)
    made.show()
    open_it(desk.workbench)
    desk.workbench.subscribe(made.receive)
    assert all(found.textFormat() == Qt.TextFormat.PlainText for found in made.findChildren(QLabel))
    return made


def lose(desk: Desk, panel: LostPanel, qtbot: QtBot) -> None:
    desk.workbench.stepping.step("L0")
    qtbot.waitUntil(lambda: panel.windowTitle() == "Lost (14)")


def test_without_a_step_nothing_is_looked_for(panel: LostPanel) -> None:
    assert panel.windowTitle() == "Lost"
    assert panel.says.text() == "Take a step, or preview a tier, to see which facts are lost."


def test_what_a_step_loses_is_listed_with_where_it_stood(
    desk: Desk, panel: LostPanel, qtbot: QtBot
) -> None:
    lose(desk, panel, qtbot)
    assert panel.kinds[None].text() == "all"
    assert panel.kinds["error"].text() == "7 errors"
    assert not panel.kinds["path"].isVisible(), "the calls still name the paths"
    assert cells(panel.table)[0] == [
        "error",
        "2",
        "Bash cat src/part_0.py",
        "ValueError: bad part 0 of <b>it</b>",
        "",
        "gone",
    ]
    click_cell(panel.table, 1)
    assert desk.workbench.state.selected == desk.workbench.state.recorded().messages[4].id
    press(panel.table, Qt.Key.Key_Down)
    assert desk.workbench.state.selected == desk.workbench.state.recorded().messages[6].id


def test_where_nobody_knows_who_needed_it_there_is_no_column_for_that(
    desk: Desk, panel: LostPanel, qtbot: QtBot
) -> None:
    lose(desk, panel, qtbot)
    assert panel.table.isColumnHidden(AGAIN)


def test_what_an_unreadable_summary_lost_is_at_most_so_much(
    desk: Desk, panel: LostPanel, qtbot: QtBot
) -> None:
    desk.workbench.open(Session("test", (sealed(""),), path="sealed.jsonl"))
    desk.workbench.move(2)
    qtbot.waitUntil(lambda: panel.windowTitle() == "Lost (9)")
    expected = (
        "9 not known. The file holds no readable summary, so some of these facts may be in it."
    )
    assert panel.says.text() == expected


def test_enter_shows_it_in_the_diff(
    desk: Desk, panel: LostPanel, qtbot: QtBot, asked: Asked
) -> None:
    lose(desk, panel, qtbot)
    click_cell(panel.table, 0)
    press(panel.table, Qt.Key.Key_Return)
    assert asked.shown == ["Diff"]


def test_one_kind_alone_and_all_of_it_copied(desk: Desk, panel: LostPanel, qtbot: QtBot) -> None:
    desk.workbench.stepping.step("L0")
    qtbot.waitUntil(lambda: panel.windowTitle().startswith("Lost ("))
    total = len(panel.table.rows)
    click(panel.kinds["error"])
    shown = cells(panel.table)
    assert shown
    assert {row[0] for row in shown} == {"error"}
    assert len(shown) < total
    panel.table.clearSelection()
    assert panel.copy is not None
    click(panel.copy)
    assert QGuiApplication.clipboard().text().count("\n") == len(shown) - 1
    click(panel.kinds[None])
    assert len(panel.table.rows) == total


def test_a_recorded_compaction_tells_what_was_needed_again(
    desk: Desk, panel: LostPanel, qtbot: QtBot, asked: Asked
) -> None:
    session = open_transcript(resource("sample.jsonl"))
    (known,) = lost_by_compactions(session, session.main)
    desk.workbench.open(session)
    desk.workbench.move(known.before_request)
    qtbot.waitUntil(lambda: panel.windowTitle() == f"Lost ({known.lost:,})")
    assert [row.lost for row in panel.table.rows] == list(known.rows)
    place = next(
        n for n, row in enumerate(known.rows) if row.needed and row.needed[0].how == "call"
    )
    use = known.rows[place].needed[0]
    assert cells(panel.table)[place][AGAIN].startswith(f"{use.request} call")
    click_cell(panel.table, place)
    assert desk.workbench.state.selected == known.rows[place].message
    assert not panel.table.isColumnHidden(AGAIN)
    click_cell(panel.table, place, AGAIN)
    assert desk.workbench.state.at == known.before_request, "a click selects; it leads nowhere"
    click_cell(panel.table, place, AGAIN, double=True)
    assert (desk.workbench.state.at, desk.workbench.state.selected) == (use.request, use.message)
    assert asked.shown == ["Message"]


def test_undo_clears_the_list(desk: Desk, panel: LostPanel, qtbot: QtBot) -> None:
    lose(desk, panel, qtbot)
    desk.workbench.stepping.undo()
    assert panel.windowTitle() == "Lost"
    assert not panel.table.isVisible()


def test_a_preview_tells_what_it_would_lose(desk: Desk, panel: LostPanel, qtbot: QtBot) -> None:
    desk.workbench.previews.look()
    desk.workbench.previews.point("L0")
    qtbot.waitUntil(lambda: panel.windowTitle() == "Lost (14)")
    desk.workbench.stepping.choose(
        settings=(("context_window_tokens", "3000"), ("microcompact_retain_recent", "50"))
    )
    desk.workbench.previews.look()
    qtbot.waitUntil(lambda: panel.windowTitle() == "Lost (0)")
    assert panel.says.text() == "Nothing would be lost: every fact is still in context."


def test_lost_when_a_compaction_is_looked_at_shows_several_rows_in_compact(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(
        lambda: bench.state.drops is not None and bench.state.opening is None and window.docks.ready
    )
    bench.previous_compaction()
    lost = window.docks.panel("Lost")
    assert isinstance(lost, LostPanel)
    for size, rows in (((1280, 800), 5), ((1440, 900), 6), ((1600, 1000), 7)):
        window.docks.choose("Read")
        window.resize(*size)
        window.docks.reset()
        window.show_panel("Lost")
        qtbot.waitUntil(lambda: len(lost.table.rows) > 100 and not window.bridge.busy)
        seen = lost.table.viewport().height() / lost.table.verticalHeader().defaultSectionSize()
        assert seen >= rows, size
        assert all(lost.table.rowHeight(n) == lost.table.rowHeight(0) for n in range(20))


def test_need_when_it_is_double_clicked_is_shown_and_back_leads_to_the_list(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.resize(1440, 900)
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(
        lambda: bench.state.drops is not None and bench.state.opening is None and window.docks.ready
    )
    bench.previous_compaction()
    window.show_panel("Lost")
    lost = window.docks.panel("Lost")
    assert isinstance(lost, LostPanel)
    qtbot.waitUntil(
        lambda: any(row.lost.needed for row in lost.table.rows) and not window.bridge.busy
    )
    place = next(n for n, row in enumerate(lost.table.rows) if row.lost.needed)
    use, count = lost.table.rows[place].lost.needed[0], len(lost.table.rows)
    lost.table.scrollTo(lost.table.model().index(place, AGAIN))
    qtbot.wait(10)
    double_click(
        lost.table.viewport(),
        lost.table.visualRect(lost.table.model().index(place, AGAIN)).center(),
    )
    qtbot.waitUntil(lambda: window.docks.panel("Message").seen)
    assert (bench.state.at, bench.state.selected) == (use.request, use.message)
    qtbot.wait(200)  # one jump, as far as Back is concerned
    press(window, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: lost.seen and len(lost.table.rows) == count)
