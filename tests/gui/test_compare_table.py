"""The table of the comparison, its way to the playhead, and what it looks like."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from inspector.gui.desk import Desk
from inspector.gui.panels.compare.panel import ComparePanel
from inspector.gui.panels.compare.plot import LetterPlace, spread_places
from inspector.gui.window import MainWindow
from inspector.resources import resource
from inspector.workbench.compare import (
    BASE,
    DEFAULT,
    FIGURES,
    PLAIN,
)
from tests.core.findings.test_lost import thread as sealed
from tests.core.policies.build import assistant
from tests.gui.comparisons import click_cell, clock, compared, names, panel, run, session
from tests.gui.drawn import drawn
from tests.gui.hands import click, press, write

__all__ = ["clock", "compared", "panel"]


def cells_of(panel: ComparePanel) -> list[list[str]]:
    model = panel.table.model()
    return [
        [model.index(n, m).data() for m in range(model.columnCount())]
        for n in range(model.rowCount())
    ]


def click_head(panel: ComparePanel, title: str) -> None:
    header = panel.table.horizontalHeader()
    column = 1 + [figure.name for figure in FIGURES].index(title)
    panel.table.scrollTo(panel.table.model().index(0, column))
    click(
        header.viewport(), QPoint(header.sectionViewportPosition(column) + 20, header.height() // 2)
    )


def at(desk: Desk) -> int | None:
    return desk.workbench.state.at


# -- the table ---------------------------------------------------------------------------------------------------------


def test_policy_whose_requests_exceed_the_window_is_marked_infeasible(
    compared: ComparePanel,
) -> None:
    rows = {row.name: row for row in compared.table.rows}
    assert compared._found.base is not None
    assert compared._found.base.over > 0
    assert not rows[BASE].mark.startswith("infeasible"), (
        "what happened did happen: its window is at fault"
    )
    plain = rows[PLAIN].report
    assert rows[PLAIN].mark == f"infeasible: {plain.over} too large"
    assert rows["roku"].report.over == 0
    assert not rows["roku"].mark.startswith("infeasible")
    place = [row.name for row in compared.table.rows].index(PLAIN)
    assert rows[PLAIN].mark in compared.table.model().index(place, 0).data()
    click(
        compared.table.viewport(),
        compared.table.visualRect(compared.table.model().index(place, 0)).center(),
    )
    sentence = f"No compaction is infeasible: {plain.over} of 32 requests exceed the window of 20,000 tokens."
    assert sentence in compared.says.whole


def test_a_click_on_a_heading_sorts(compared: ComparePanel) -> None:
    chosen = names(compared)
    click_head(compared, "sent")
    sent = [row.report.spent.prompt for row in compared.table.rows[1:]]
    assert (names(compared)[0], sent) == (BASE, sorted(sent, reverse=True))
    model, across = compared.table.model(), Qt.Orientation.Horizontal
    assert [
        head
        for n in range(model.columnCount())
        if (head := model.headerData(n, across))[-1] in "▾▴"
    ] == ["Sent ▾"]
    click_head(compared, "sent")
    assert (names(compared)[0], [row.report.spent.prompt for row in compared.table.rows[1:]]) == (
        BASE,
        sorted(sent),
    )
    click_head(compared, "sent")
    assert names(compared) == chosen


def test_a_row_brings_its_curve_forward_and_its_regrets(compared: ComparePanel) -> None:
    for place, name in enumerate(names(compared)):
        click_cell(compared, place)
        one = compared._found.report(name)
        assert one is not None
        assert tuple(compared.regrets.rows) == one.losses.regrets
        assert compared.plot.curves[name].zValue() > 0
        others = [curve for other, curve in compared.plot.curves.items() if other != name]
        assert all(curve.opts["pen"].color().alpha() < 255 for curve in others)
        assert one.title in compared.says.whole
    assert any(row.report.losses.regrets for row in compared.table.rows), "or this says nothing"


def test_what_an_unreadable_summary_cost_is_no_number(
    panel: ComparePanel, desk: Desk, qtbot: QtBot
) -> None:
    desk.workbench.open(session(sealed("", assistant("What did the map say?")), "sealed.jsonl"))
    run(panel, qtbot)
    heads = ["policy", *(figure.name for figure in FIGURES)]
    rows = zip(panel.table.rows, cells_of(panel), strict=True)
    shown = {row.name: dict(zip(heads, cells, strict=True)) for row, cells in rows}
    assert (shown[BASE]["facts lost"], shown[BASE]["needed again"]) == ("at most 9", "unknown")
    assert shown["roku"]["facts lost"] == "0", "a difference from what nobody knows is none"
    panel._pick(BASE)
    assert panel.says.whole == (
        "Session as recorded: at most 9 of 9 facts lost."
        " It is unknown what was needed again, because a summary is not readable in this file."
    )
    assert "at most 9" in panel.table.copied()


def test_it_is_copied_for_a_spreadsheet(compared: ComparePanel) -> None:
    click(compared.copy)
    lines = [line.split("\t") for line in QGuiApplication.clipboard().text().split("\n")]
    assert lines[0][:3] == ["policy", "compactions", "compactions, difference"]
    assert [line[0] for line in lines[1:]] == names(compared)
    assert {len(line) for line in lines} == {1 + 2 * len(FIGURES)}
    roku = compared._found.report("roku")
    assert roku is not None
    assert lines[2][5] == str(roku.spent.prompt)


# -- the playhead ------------------------------------------------------------------------------------------------------


def test_a_click_on_a_curve_moves_the_playhead(
    compared: ComparePanel, desk: Desk, qtbot: QtBot
) -> None:
    qtbot.wait(50)
    view = compared.plot._graphics
    click(
        view.viewport(),
        view.mapFromScene(compared.plot.plot.getViewBox().mapViewToScene(QPointF(7, 4_000))),
    )
    qtbot.waitUntil(lambda: at(desk) == 7)
    assert compared.plot.overlay._at == 7


def test_a_regret_leads_to_its_need_and_to_its_loss(compared: ComparePanel, desk: Desk) -> None:
    place = next(n for n, row in enumerate(compared.table.rows) if row.report.losses.regrets)
    click_cell(compared, place)
    one = compared.regrets.rows[0]
    model = compared.regrets.model()
    click(compared.regrets.viewport(), compared.regrets.visualRect(model.index(0, 3)).center())
    assert (at(desk), desk.workbench.state.selected) == (one.needed_by, one.message)
    click(compared.regrets.viewport(), compared.regrets.visualRect(model.index(0, 1)).center())
    assert at(desk) == one.at.before_request
    assert model.index(0, 1).data() == f"{one.at.tier} before {one.at.before_request}"


# -- room and looks ----------------------------------------------------------------------------------------------------


def test_where_there_is_little_room_the_regrets_take_turns_with_the_curves(
    compared: ComparePanel,
) -> None:
    assert compared.regrets.isVisible()
    assert not compared.regretted.isVisible()
    assert compared.bar.chips["pi"].text() == "π Pi"
    compared.resize(700, 220)
    assert compared.bar.chips["pi"].text() == "π"
    assert (compared.regrets.isVisible(), compared.plot.isVisible()) == (False, True)
    click(compared.regretted)
    assert (compared.regrets.isVisible(), compared.plot.isVisible()) == (True, False)
    compared.resize(1_200, 220)
    assert (compared.regrets.isVisible(), compared.plot.isVisible()) == (True, True)


def test_both_themes(compared: ComparePanel, desk: Desk) -> None:
    for _ in range(2):
        desk.theme.toggle()
        compared.restyle()
        assert not compared.grab().isNull()


def test_letters_never_touch() -> None:
    tops = {"a": 5.0, "b": 6.0, "c": 90.0, "d": 99.0, "e": 100.0}
    places = [LetterPlace(y, name) for name, y in tops.items()]
    found = spread_places(places, 10, 100)
    assert found == [(5, "a"), (15, "b"), (80, "c"), (90, "d"), (100, "e")]


def test_the_palette_compares_the_sample(window: MainWindow, qtbot: QtBot) -> None:
    window.open_path(str(resource("sample.jsonl")))
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and not window.bridge.busy)
    window.open_palette()
    write(window.palette_box.line, "compare pol")
    press(window.palette_box.line, Qt.Key.Key_Return)
    panel = window.docks.panel("Compare")
    assert isinstance(panel, ComparePanel)
    qtbot.waitUntil(lambda: len(panel.table.rows) == len(DEFAULT) + 1 and not panel._job.busy)
    assert "claude-code" in names(panel)  # whose session it is
    assert panel.seen
    assert panel.height() > window.height() // 3
    thread = window.workbench.state.thread
    assert thread is not None
    for row in panel.table.rows:
        assert len(row.report.rows) == len(thread.requests)
        assert row.report.spent.prompt == sum(one.tokens for one in row.report.rows)
        assert bool(row.report.compactions) == (row.name != PLAIN)


def test_curve_that_leaves_the_plot_says_how_far_it_goes(
    compared: ComparePanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay = compared.plot.overlay
    reports = compared.plot._reports
    low = min(
        (report for report in reports if report.policy != PLAIN), key=lambda report: report.peak
    )
    compared.plot.show_reports(
        [report for report in reports if report.policy in (PLAIN, low.policy)], low.policy
    )
    overlay.grab()
    (plain,) = (report for report in compared.plot._reports if report.policy == PLAIN)
    assert plain.peak > compared.plot.plot.getViewBox().viewRange()[1][1], "it leaves the plot"
    words = {one.words for one in drawn(overlay, monkeypatch)}
    assert f"↑ No compaction, up to {plain.peak:,}" in words
