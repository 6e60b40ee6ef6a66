"""The breakdown panel with real clicks: it adds up, leads to the messages, and the legend leads to it."""

from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QHeaderView, QToolButton
from pytestqt.qtbot import QtBot

from inspector.cli import breakdown as cli_breakdown
from inspector.cli.select import Selection
from inspector.core.findings.breakdown import BreakdownNode
from inspector.gui.desk import Desk
from inspector.gui.panels.breakdown.icicle import Icicle, PartPath, shown_name
from inspector.gui.panels.breakdown.panel import MOST, BreakdownPanel, BreakdownTree
from inspector.gui.panels.buffer.panel import BufferPanel
from inspector.gui.panels.panel import SMALLEST
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.panels.timeline.panel import Timeline
from inspector.gui.widgets.table import FittedTable
from inspector.gui.window import MainWindow
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from inspector.workbench.pressure.filling import AreaKind, Filling, areas, filling
from inspector.workbench.pressure.gauge import reading
from inspector.workbench.state import State
from tests.gui.conftest import Asked
from tests.gui.hands import click, double_click, press, write
from tests.gui.test_lists import click_cell

SAMPLE = open_transcript(str(resource("sample.jsonl")))
AT = 40


@pytest.fixture
def panel(desk: Desk, qtbot: QtBot) -> Iterator[BreakdownPanel]:
    made = BreakdownPanel(desk)
    qtbot.addWidget(made)
    made.resize(1_100, 260)
    made.show()
    desk.workbench.open(SAMPLE)
    desk.workbench.move(AT)
    stop = desk.workbench.subscribe(made.receive)
    wait(made, qtbot)
    yield made
    stop()


def wait(panel: BreakdownPanel, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: panel.filling is not None and not panel._job.busy)


def place(panel: BreakdownPanel, part: PartPath) -> QPoint:
    (cell,) = (cell for cell in panel.icicle.cells if cell.part == part)
    return cell.rect.center().toPoint()


def test_it_says_what_gauge_and_command_say(desk: Desk, panel: BreakdownPanel) -> None:
    now = reading(desk.workbench.state)
    assert now is not None
    assert panel.filling is not None
    tree = panel.filling.tree
    parts = {one.name: one.tokens for one in tree.children}
    assert parts == {**{str(name): tokens for name, tokens in now.parts}, "unseen": now.unseen}
    document = cli_breakdown.describe(Selection(SAMPLE, SAMPLE.main, AT))
    assert parts == {one["name"]: one["tokens"] for one in document["tree"]["children"]}
    assert [one.free for one in panel.repeats.rows] == [one["free"] for one in document["repeats"]]
    assert [one.name for one in panel.tools.rows] == [one["name"] for one in document["tools"]]
    assert panel.tree.topLevelItemCount() == len(parts)


def test_of_a_session_that_is_being_read_it_is_worked_out_once(
    desk: Desk, panel: BreakdownPanel, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When all of it is there; what is shown beside a file that is being read goes on."""
    asked = list[int | None]()

    def counted(state: State, *rest: Any) -> Filling:
        asked.append(state.at)
        return filling(state, *rest)

    monkeypatch.setattr("inspector.gui.panels.breakdown.panel.filling", counted)
    desk.workbench.begin("another.jsonl")
    desk.workbench.move(AT + 1)
    wait(panel, qtbot)
    desk.workbench.close()
    desk.workbench.begin(SAMPLE.path)
    thread = replace(SAMPLE.main, requests=SAMPLE.main.requests[:9])
    desk.workbench.open(replace(SAMPLE, threads=(thread,)), more=True)
    assert (panel.filling, panel._job.busy, panel.says.text()) == (None, False, "")
    desk.workbench.open(SAMPLE)
    wait(panel, qtbot)
    assert asked == [AT + 1, len(SAMPLE.main.requests) - 1]


def test_a_part_is_as_wide_as_its_share(panel: BreakdownPanel) -> None:
    assert panel.filling is not None
    for cell in panel.icicle.cells:
        if len(cell.part) == 1:
            share = cell.node.tokens / panel.filling.tree.tokens
            assert cell.rect.width() == pytest.approx(share * panel.icicle.width())


def test_parts_when_the_difference_is_below_zero_fill_the_width_and_no_more(
    panel: BreakdownPanel,
) -> None:
    parts = (("tool results", 900), ("user", 300), ("difference", -200))
    children = tuple(BreakdownNode(name, "category", tokens) for name, tokens in parts)
    panel.icicle.show_tree(BreakdownNode("buffer", "buffer", 1_000, (), children), ())
    whole, *cells = panel.icicle.cells
    assert [cell.node.name for cell in cells] == ["tool results", "user"]
    assert [cell.rect.width() for cell in cells] == pytest.approx(
        [whole.rect.width() * 3 / 4, whole.rect.width() / 4]
    )


@pytest.mark.parametrize("height", [SMALLEST.height(), 130, 170, 420])
def test_every_row_is_seen_whole(panel: BreakdownPanel, height: int) -> None:
    panel.setFixedSize(1_100, height)
    seen = panel.icicle.visibleRegion().boundingRect()
    assert seen == panel.icicle.rect()
    lowest = max(cell.rect.bottom() for cell in panel.icicle.cells)
    assert (
        seen.height() - panel.icicle.fontMetrics().height() < lowest <= seen.height()
        or height > 300
    )


def test_a_click_reduces_the_buffer_and_a_double_click_goes_there(
    desk: Desk, panel: BreakdownPanel, qtbot: QtBot, asked: Asked
) -> None:
    buffer = BufferPanel(desk)
    qtbot.addWidget(buffer)
    buffer.resize(800, 400)
    buffer.show()
    desk.workbench.subscribe(buffer.receive)
    everything = buffer.model.rowCount()
    click(panel.icicle, place(panel, ("tool results",)))
    click(panel.icicle, place(panel, ("tool results", "Read")))
    (node,) = (cell.node for cell in panel.icicle.cells if cell.part == ("tool results", "Read"))
    assert buffer.model.rowCount() == len(node.messages) < everything
    assert buffer.only.isVisible()
    assert "tool results › Read" in panel.says.whole
    inside = next(cell for cell in panel.icicle.cells if len(cell.part) == 3)
    double_click(panel.icicle, inside.rect.center().toPoint())
    assert desk.workbench.state.part == inside.part
    assert desk.workbench.state.selected in {
        desk.workbench.state.buffer().messages[at].id for at in inside.node.messages
    }
    assert asked.shown == ["Message"]
    click(buffer.only)
    assert buffer.model.rowCount() == everything
    assert not buffer.only.isVisible()
    assert desk.workbench.state.part == ()


def test_by_keyboard(desk: Desk, panel: BreakdownPanel) -> None:
    for key, depth in (
        (Qt.Key.Key_Down, 1),
        (Qt.Key.Key_Right, 1),
        (Qt.Key.Key_Down, 2),
        (Qt.Key.Key_Up, 1),
    ):
        press(panel.icicle, key)
        assert len(desk.workbench.state.part) == depth
    assert panel.icicle.accessibleDescription().startswith(desk.workbench.state.part[0])
    press(panel.icicle, Qt.Key.Key_Escape)
    assert desk.workbench.state.part == ()


def test_the_tree_is_sorted_and_opened(desk: Desk, panel: BreakdownPanel) -> None:
    def names() -> list[str]:
        return [
            item.text(0)
            for n in range(panel.tree.topLevelItemCount())
            if (item := panel.tree.topLevelItem(n))
        ]

    assert panel.filling is not None
    by_size = sorted(panel.filling.tree.children, key=lambda one: -one.tokens)
    assert names() == [shown_name(one) for one in by_size]
    header = panel.tree.header()
    assert isinstance(header, QHeaderView)
    assert heads(panel) == ["Part", "Tokens ▾", "Share", "Calls", "Messages"]
    click(header.viewport(), QPoint(header.sectionViewportPosition(0) + 8, header.height() // 2))
    assert names() == sorted(names(), key=str.casefold)
    assert heads(panel) == ["Part ▴", "Tokens", "Share", "Calls", "Messages"]
    assert not header.isSortIndicatorShown()  # it would lie over the words
    desk.workbench.look_into(("tool results", "Read"))
    current = panel.tree.currentItem()
    assert current is not None
    above = current.parent()
    assert above is not None
    assert (current.text(0), above.text(0)) == ("Read", "tool results")
    assert desk.workbench.state.among is not None, "the panel adds the messages of the part"


def heads(panel: BreakdownPanel) -> list[str]:
    return [panel.tree.headerItem().text(n) for n in range(panel.tree.columnCount())]


def test_every_tab_has_its_whole_name(desk: Desk, panel: BreakdownPanel, qtbot: QtBot) -> None:
    """The chosen one is in wider letters, and no arrows to scroll by lie over the last."""
    for at in (AT, 0):
        desk.workbench.move(at)
        wait(panel, qtbot)
        for n in range(panel.tabs.count()):
            panel.tabs.setCurrentIndex(n)
            qtbot.wait(10)
            assert not [one for one in panel.tabs.findChildren(QToolButton) if one.isVisible()]
            assert all(
                panel.tabs.rect().contains(panel.tabs.tabRect(one))
                for one in range(panel.tabs.count())
            ), (
                at,
                n,
            )
            assert panel.tabs.tabRect(n).width() >= panel.tabs.tabSizeHint(n).width()


def test_repeats_and_tools_lead_to_their_messages(
    desk: Desk, panel: BreakdownPanel, asked: Asked
) -> None:
    panel.tabs.setCurrentIndex(2)
    click_cell(panel.repeats, 0)
    among, one = desk.workbench.state.among, panel.repeats.rows[0]
    assert among is not None
    assert among.ids == {desk.workbench.state.buffer().messages[at].id for at in one.messages}
    press(panel.repeats, Qt.Key.Key_Return)
    assert (
        desk.workbench.state.selected == desk.workbench.state.buffer().messages[one.messages[-1]].id
    )
    panel.tabs.setCurrentIndex(3)
    click_cell(panel.tools, 0)
    assert desk.workbench.state.part == ("tool results", panel.tools.rows[0].name)


def test_the_legend_leads_here(
    desk: Desk, panel: BreakdownPanel, qtbot: QtBot, asked: Asked
) -> None:
    gauge = Gauge(desk)
    qtbot.addWidget(gauge)
    gauge.resize(230, 700)
    gauge.show()
    desk.workbench.subscribe(gauge.receive)
    now = reading(desk.workbench.state)
    assert now is not None
    high = gauge.legend.height() // (len(now.parts) + 1)
    click(gauge.legend, QPoint(40, high // 2))
    top = now.parts[-1][0]
    assert (desk.workbench.state.part, asked.shown) == ((top,), ["Breakdown"])
    assert desk.workbench.state.among is not None
    press(gauge.legend, Qt.Key.Key_Down)
    press(gauge.legend, Qt.Key.Key_Return)
    assert desk.workbench.state.part == (now.parts[-2][0],)
    click(gauge.legend, QPoint(40, gauge.legend.height() - high // 2))
    assert desk.workbench.state.part == ("unseen",)
    assert desk.workbench.state.among is None, "what is unseen stands in no message"


def test_it_follows_the_playhead_and_a_step(
    desk: Desk, panel: BreakdownPanel, qtbot: QtBot
) -> None:
    before = panel.filling
    desk.workbench.look_into(("tool results",))
    desk.workbench.move(AT + 20)
    qtbot.waitUntil(lambda: panel.filling is not before)
    assert panel.filling is not None
    among = desk.workbench.state.among
    assert among is not None
    assert among.ids == panel.filling.ids(panel.filling.tree.along(("tool results",))[-1].messages)
    recorded = panel.filling
    desk.workbench.stepping.choose(policy="roku")
    desk.workbench.stepping.step("L0")
    qtbot.waitUntil(lambda: panel.filling is not recorded)
    now = reading(desk.workbench.state)
    assert now is not None
    assert panel.filling.tree.tokens == now.pressure.tokens


def test_while_a_key_is_held_it_says_that_it_is_late(
    desk: Desk, panel: BreakdownPanel, qtbot: QtBot
) -> None:
    before = panel.says.text()
    free = Event()
    for _ in range(4):  # more jobs than the lane has threads
        desk.bridge.run(lambda task: free.wait(), lambda done: None)
    try:
        for _ in range(5):
            desk.workbench.previous()
        qtbot.waitUntil(lambda: panel.icicle.faded)
        assert panel.says.text() == "computing …"
    finally:
        free.set()
    desk.workbench.move(AT)
    wait(panel, qtbot)
    assert not panel.icicle.faded
    assert panel.says.text() == before


def test_with_nothing_open(desk: Desk, panel: BreakdownPanel) -> None:
    desk.workbench.close()
    assert panel.filling is None
    assert panel.icicle.cells == ()
    assert panel.says.whole == "Open a transcript to see what fills its window."


@pytest.mark.parametrize("way", ["By category", "By tool"])
def test_timeline_when_a_way_is_chosen_shows_what_filled_the_buffer(
    desk: Desk, qtbot: QtBot, way: str
) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.resize(1_200, 420)
    timeline.show()
    desk.workbench.open(SAMPLE)
    desk.workbench.subscribe(timeline.receive)
    qtbot.waitUntil(lambda: timeline.plot is not None)
    kind: AreaKind = "tool" if way == "By tool" else "category"
    click(timeline.way.buttons[way])  # its legend takes its room
    qtbot.waitUntil(lambda: timeline.plot.areas is not None and timeline.plot.areas.kind == kind)
    click(timeline.way.buttons["Curves"])
    qtbot.waitUntil(lambda: not desk.bridge.busy)
    qtbot.wait(20)
    before = timeline.plot.canvas.grab().toImage()
    click(timeline.way.buttons[way])
    qtbot.waitUntil(lambda: timeline.plot.areas is not None and timeline.plot.areas.kind == kind)
    found = timeline.plot.areas
    assert found == areas(desk.workbench.state, kind)
    highest = max(zip(found.tokens, found.names, strict=True), key=lambda pair: pair[0][AT])
    assert f"{highest[1]} {highest[0][AT]:,}" in timeline.plot.about(AT)
    assert timeline.plot.canvas.grab().toImage() != before
    click(timeline.way.buttons["Curves"])
    qtbot.waitUntil(lambda: timeline.plot.areas is None)
    assert timeline.plot.canvas.grab().toImage() == before


def test_map_when_a_thin_part_comes_before_the_largest_shows_both_apart(
    desk: Desk, qtbot: QtBot
) -> None:
    parts = (("user", 900), ("images", 1), ("reminders", 1), ("unseen", 9_000))
    children = tuple(BreakdownNode(name, "category", tokens) for name, tokens in parts)
    icicle = Icicle(desk.theme)
    qtbot.addWidget(icicle)
    icicle.resize(800, 200)
    icicle.show_tree(BreakdownNode("buffer", "buffer", 9_902, children=children), ())
    widths = {cell.part[0]: cell.rect.width() for cell in icicle.cells if cell.part}
    assert widths == {
        "user": pytest.approx(800 * 900 / 9_902),
        "unseen": pytest.approx(800 * 9_000 / 9_902),
        "2 smaller parts": pytest.approx(800 * 2 / 9_902),
    }
    assert max(cell.rect.right() for cell in icicle.cells) == pytest.approx(800)


def test_very_many_parts_are_few_cells_and_rows(desk: Desk, qtbot: QtBot) -> None:
    files = tuple(BreakdownNode(f"{n}.py", "file", 2) for n in range(50_000))
    tree = BreakdownNode(
        "all", "buffer", 100_000, children=(BreakdownNode("Read", "tool", 100_000, (), files),)
    )
    icicle, rows = Icicle(desk.theme), BreakdownTree()
    for widget in (icicle, rows):
        qtbot.addWidget(widget)
        widget.resize(600, 300)
        widget.show_tree(tree, ("Read",))
    *_, rest = icicle.cells
    assert len(icicle.cells) == 3
    assert rest.node.tokens == 100_000
    assert rest.leads_to == ("Read",)
    (item,) = rows.selectedItems()
    item.setExpanded(True)
    assert item.childCount() == MOST + 1
    assert item.child(MOST).text(1) == "98,000"  # type: ignore[union-attr]


def test_search_when_a_name_is_typed_reduces_map_and_tables(
    panel: BreakdownPanel, qtbot: QtBot
) -> None:
    whole = len(panel.icicle.cells)
    write(panel.search, "rates")
    qtbot.waitUntil(lambda: 0 < len(panel.icicle.cells) < whole)
    names = {
        cell.node.name for cell in panel.icicle.cells if not cell.node.children and not cell.rest
    }
    assert all("rates" in name or name.startswith("message") for name in names)
    assert all("rates" in repeat.what for repeat in panel.repeats.rows)
    write(panel.search, "no such part anywhere")
    qtbot.waitUntil(lambda: panel.says.whole == "No part matches the search.")
    panel.search.clear()
    qtbot.waitUntil(lambda: len(panel.icicle.cells) == whole)


def test_changes_when_an_earlier_request_is_typed_say_what_came_in_between(
    desk: Desk, panel: BreakdownPanel, qtbot: QtBot
) -> None:
    desk.workbench.move(78)
    panel.tabs.setCurrentIndex(4)
    panel.changes.since.setText("40")
    press(panel.changes.since, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.changes.says.whole.startswith("Requests 40 to 78: "))
    pressures = desk.workbench.state.pressures
    assert pressures is not None
    grown = (pressures.at(78).tokens or 0) - (pressures.at(40).tokens or 0)
    assert sum(change.change for change in panel.changes.table.rows) == grown
    assert f": +{grown:,} tokens; " in panel.changes.says.whole
    click_cell(panel.changes.table, 0)
    assert desk.workbench.state.part == panel.changes.table.rows[0].part


def test_tables_when_the_window_has_1440_by_900_pixels_show_eight_rows(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.resize(1440, 900)
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(
        lambda: bench.state.opening is None and window.docks.ready and not window.bridge.busy
    )
    window.show_panel("Breakdown")
    panel = window.docks.panel("Breakdown")
    assert isinstance(panel, BreakdownPanel)
    qtbot.waitUntil(lambda: panel.filling is not None and not window.bridge.busy)
    for at, table in (
        (1, panel.tree),
        (2, panel.repeats),
        (3, panel.tools),
        (4, panel.changes.table),
    ):
        panel.tabs.setCurrentIndex(at)
        qtbot.waitUntil(lambda: not window.bridge.busy)
        high = table.fontMetrics().height() * FittedTable.LINES
        if isinstance(table, BreakdownTree):
            first = table.topLevelItem(0)
            assert first is not None
            high = table.visualItemRect(first).height()
        assert table.viewport().height() // high >= 8, panel.tabs.tabText(at)


def test_map_when_many_parts_are_thin_paints_no_group_wider_than_a_part(
    desk: Desk, qtbot: QtBot
) -> None:
    icicle = Icicle(desk.theme)
    qtbot.addWidget(icicle)
    icicle.resize(500, 200)
    large = [BreakdownNode(f"large {n}", "text", 1_000) for n in range(5)]
    small = [BreakdownNode(f"small {n}", "text", 1) for n in range(20_000)]
    icicle.show_tree(BreakdownNode("buffer", "buffer", 25_000, (), (*large, *small)), ())
    groups = [cell.rect.width() for cell in icicle.cells if cell.rest]
    widest = max(cell.rect.width() for cell in icicle.cells if cell.part and not cell.rest)
    assert len(groups) > 1
    assert max(groups) <= max(widest, 24)
