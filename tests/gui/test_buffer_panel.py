"""The buffer list: rows, filter, order, selection."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QAbstractSlider
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from inspector.core.calls import CallIndex
from inspector.core.tokens.estimators import estimator
from inspector.gui.desk import Desk
from inspector.gui.panels.buffer.panel import BufferPanel
from inspector.gui.panels.buffer.rows import BufferModel, buffer_heads
from inspector.gui.widgets.painted import split_line
from tests.gui.hands import click, press, write
from tests.gui.made import session
from tests.gui.test_window import choose


@pytest.fixture
def panel(desk: Desk, qtbot: QtBot) -> BufferPanel:
    made = BufferPanel(desk)
    qtbot.addWidget(made)
    made.resize(700, 400)
    made.show()
    desk.workbench.open(session())
    desk.workbench.subscribe(made.receive)
    return made


def ids(panel: BufferPanel) -> list[str]:
    return [panel.model.message_at(n).id for n in range(panel.model.rowCount())]


def test_buffer_when_a_session_opens_lists_the_oldest_first_and_marks_new_messages(
    panel: BufferPanel,
) -> None:
    panel.desk.workbench.move(2)
    assert ids(panel) == ["main-u", "main-a0", "main-r0", "main-a1", "main-r1"]
    assert [panel.model.row_at(n).fresh for n in range(5)] == [False, False, False, True, True]


def test_order_when_the_user_chose_another_one_is_that_of_the_next_window(
    panel: BufferPanel, desk: Desk, qtbot: QtBot
) -> None:
    panel.desk.workbench.move(2)
    choose(panel.order, "Newest first")
    assert ids(panel) == ["main-r1", "main-a1", "main-r0", "main-a0", "main-u"]
    next_panel = BufferPanel(desk)
    qtbot.addWidget(next_panel)
    next_panel.show()
    next_panel.receive(desk.workbench.state)
    assert ids(next_panel) == ids(panel)
    assert next_panel.order.text() == "Newest first ▾"


def test_two_lines_when_chosen_make_every_row_higher_and_are_remembered(
    panel: BufferPanel, desk: Desk, qtbot: QtBot
) -> None:
    panel.desk.workbench.move(2)
    height = panel.view.rowHeight(0)
    click(panel.two_lines)
    spacing = panel.view.fontMetrics().lineSpacing()
    assert panel.view.rowHeight(0) == panel.view.rowHeight(4) == height + spacing
    next_panel = BufferPanel(desk)
    qtbot.addWidget(next_panel)
    next_panel.show()
    next_panel.receive(desk.workbench.state)
    assert next_panel.two_lines.isChecked()
    assert next_panel.view.rowHeight(0) == height + spacing


def test_line_when_it_is_split_breaks_between_words_or_letters(panel: BufferPanel) -> None:
    metrics = panel.view.fontMetrics()
    width = metrics.horizontalAdvance("python -m pytest")
    assert split_line("python -m pytest tests", metrics, width) == ("python -m pytest", "tests")
    first, rest = split_line("四舍五入的错误先写一个失败的测试再修", metrics, width)
    assert first + rest == "四舍五入的错误先写一个失败的测试再修"
    assert 0 < metrics.horizontalAdvance(first) <= width


@pytest.mark.parametrize(("width", "has_sizes"), [(420, False), (1200, True)])
def test_heads_of_the_buffer_are_above_their_columns(
    panel: BufferPanel, width: int, has_sizes: bool
) -> None:
    metrics = panel.view.fontMetrics()
    room = QRect(0, 0, width, 24)
    columns = panel.delegate.columns(room, metrics)
    heads = list(buffer_heads(columns))
    places = [head.room for head in heads]
    assert places == sorted(places, key=QRect.left)
    assert all(left.right() < right.left() for left, right in pairwise(places))
    assert {"#", "Role", "Subject", "Tokens"} <= {head.name for head in heads}
    assert ("Size" in {head.name for head in heads}) == has_sizes


def test_a_move_tells_the_view_only_what_is_new(panel: BufferPanel, qtbot: QtBot) -> None:
    panel.desk.workbench.move(2)
    with qtbot.waitSignal(panel.model.rowsInserted), qtbot.assertNotEmitted(panel.model.modelReset):
        panel.desk.workbench.next()
    with qtbot.waitSignal(panel.model.rowsRemoved), qtbot.assertNotEmitted(panel.model.modelReset):
        panel.desk.workbench.previous()
    panel.desk.workbench.move(10)
    with qtbot.waitSignal(panel.model.modelReset):
        panel.desk.workbench.next()  # over the compaction
    assert ids(panel) == ["main-s"]


def test_the_selected_row_stays_in_sight_where_rows_go_above_it(
    panel: BufferPanel, qtbot: QtBot
) -> None:
    """Back from the newest request: Qt scrolls to where the row stood before."""
    panel.resize(700, 160)
    choose(panel.order, "Newest first")
    panel.desk.workbench.move(10)
    assert panel.view.currentIndex().row() == 0
    panel.desk.workbench.select("main-a5")
    panel.desk.workbench.move(6)
    qtbot.wait(20)
    assert (
        panel.model.message_at(panel.view.currentIndex().row()).id
        == panel.desk.workbench.state.selected
    )
    assert panel.view.viewport().rect().intersects(panel.view.visualRect(panel.view.currentIndex()))
    panel.desk.workbench.move(10)
    panel.desk.workbench.select("")
    panel.desk.workbench.move(6)
    qtbot.wait(20)
    assert panel.view.currentIndex().row() == 0
    assert panel.view.verticalScrollBar().value() == 0


def test_a_row_says_what_it_is(panel: BufferPanel) -> None:
    panel.desk.workbench.move(5)
    line = panel.model.row_at(10)
    assert (line.row.role, line.row.tool, line.row.badges) == ("result", "Bash", ("error",))
    assert (line.row.subject, line.row.line) == ("pytest -q tests/4.py", "needle-4 found")
    words = panel.model.index(10, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert (
        words
        == f"10 result Bash error pytest -q tests/4.py  needle-4 found, {line.tokens:,} tokens"
    )
    assert panel.model.row_at(9).row.badges == ("thinking",)


def test_filter_by_kind(panel: BufferPanel) -> None:
    panel.desk.workbench.move(10)
    choose(panel.kind, "Errors")
    assert ids(panel) == ["main-r4", "main-r9"]
    assert panel.count.text() == "2 of 21 messages"
    choose(panel.kind, "All")
    assert len(ids(panel)) == 21


def test_filter_by_text_looks_into_whole_messages(panel: BufferPanel, qtbot: QtBot) -> None:
    panel.desk.workbench.move(10)
    write(panel.text, "NEEDLE-7")
    qtbot.waitUntil(lambda: ids(panel) == ["main-r7"])
    panel.desk.workbench.move(3)
    qtbot.waitUntil(lambda: ids(panel) == [])
    panel.text.clear()
    qtbot.waitUntil(lambda: len(ids(panel)) == 7)


def test_sort_by_size(panel: BufferPanel) -> None:
    panel.desk.workbench.move(10)
    choose(panel.order, "Largest first")
    sizes = [panel.model.row_at(n).tokens for n in range(21)]
    assert sizes == sorted(sizes, reverse=True)
    choose(panel.order, "Oldest first")
    assert ids(panel)[:2] == ["main-u", "main-a0"]


def test_the_selection_is_the_states(panel: BufferPanel) -> None:
    bench = panel.desk.workbench
    bench.move(5)
    assert bench.state.selected == "main-r4"
    press(panel.view, Qt.Key.Key_Up)
    assert bench.state.selected == "main-a4"
    bench.select("main-u")
    assert panel.view.currentIndex().row() == 0
    bench.next()
    assert bench.state.selected == "main-u"
    assert panel.view.currentIndex().row() == 0


def test_newest_row_stays_in_sight_when_the_list_gets_another_height(panel: BufferPanel) -> None:
    panel.desk.workbench.move(10)
    newest = panel.view.currentIndex()
    assert newest.row() == panel.model.rowCount() - 1
    for height in (160, 500, 120):
        panel.resize(700, height)
        assert panel.view.viewport().rect().contains(panel.view.visualRect(newest).center())


def test_list_that_the_user_scrolled_stays_there_when_it_gets_another_height(
    panel: BufferPanel,
) -> None:
    panel.resize(700, 200)
    panel.desk.workbench.move(10)
    bar = panel.view.verticalScrollBar()
    bar.triggerAction(QAbstractSlider.SliderAction.SliderToMinimum)
    panel.resize(700, 160)
    assert bar.value() == 0


def test_the_model_keeps_qts_rules(panel: BufferPanel, qtmodeltester: ModelTester) -> None:
    qtmodeltester.check(panel.model)  # type: ignore[no-untyped-call]
    panel.desk.workbench.move(4)
    panel.desk.workbench.move(9)
    panel.desk.workbench.move(1)


def test_an_empty_model_has_nothing() -> None:
    model = BufferModel()
    model.use(CallIndex(), estimator("roku"), is_growth=False)
    model.show((), None, 0)
    assert model.rowCount() == 0
    assert model.place_of("x") == -1


def test_seek_leads_to_errors_edits_and_messages_of_the_user(panel: BufferPanel) -> None:
    bench = panel.desk.workbench
    bench.move(10)
    bench.select("main-u")
    panel.seek("Errors", 1)
    assert bench.state.selected == "main-r4"
    panel.seek("Errors", 1)
    assert bench.state.selected == "main-r9"
    panel.seek("Errors", 1)
    assert bench.state.selected == "main-r9"
    assert bench.state.note == "This buffer has no error after the selected message."
    panel.seek("Errors", -1)
    assert bench.state.selected == "main-r4"
    panel.seek("User", -1)
    assert bench.state.selected == "main-u"
    panel.seek("Edits", 1)
    assert bench.state.note == "This buffer has no edit of a file after the selected message."
