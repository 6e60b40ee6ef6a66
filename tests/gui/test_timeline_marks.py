"""The timeline's rows of marks, its legend and the sums of a selected range."""

from functools import partial
from itertools import combinations

import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.gui.desk import Desk
from inspector.gui.panels.timeline.frame import TimelineFrame
from inspector.gui.panels.timeline.line_labels import TimelineLines
from inspector.gui.panels.timeline.mark_rows import KINDS, ROW_TITLES
from inspector.gui.panels.timeline.panel import AREA_KINDS, Timeline
from inspector.gui.window import MainWindow
from inspector.workbench.pressure.timeline import Mark
from tests.gui.drawn import drawn
from tests.gui.hands import click, double_click, drag, press
from tests.gui.timelines import SHIFT, at_request, edges, open_timeline, reported


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> Timeline:
    """The timeline of the sample, in a window of 1440 x 900."""
    return open_timeline(window, qtbot)


# -- marks and legend --------------------------------------------------------------------------------------------------


def test_rows_of_marks_have_their_names_and_counts(
    opened: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = opened.plot.mark_rows
    assert dict(zip(rows.titles, rows.counts, strict=True)) == {
        "Compaction": "1",
        "Cache miss": "3",
        "User message": "9",
        "Pin removed": str(sum(mark.kind == "pin removed" for mark in rows.marks)),
        "Over 60%, 75%": "20 requests",
    }
    words = [text.words for text in drawn(rows, monkeypatch)]
    assert set(rows.titles) | set(rows.counts) <= set(words)
    assert rows.accessibleDescription().startswith(
        "1 compaction, 3 cache misses, 9 user messages, "
    )


def test_counts_of_rows_when_zoomed_in_say_how_many_are_in_sight(opened: Timeline) -> None:
    rows = opened.plot.mark_rows
    opened.plot.frame.range.show(77.5, 117.5)
    counts = dict(zip(rows.titles, rows.counts, strict=True))
    assert counts["Compaction"] == "1"
    assert counts["Cache miss"] == "2 of 3"
    assert counts["User message"] == "4 of 9"
    assert counts["Over 60%, 75%"] == "1 of 20 requests"


def test_marks_of_different_kinds_are_never_drawn_as_one(opened: Timeline) -> None:
    rows = opened.plot.mark_rows
    for apart in (1, 2, 5, 30):
        rows.show_marks(
            [Mark(at, f"{kind} {at}", kind=kind) for at in range(0, 132, apart) for kind in KINDS]
        )
        rows.resize(rows.width(), rows.sizeHint().height())
        rows.grab()
        assert all({mark.kind for mark in fold.marks} == {fold.kind} for fold in rows.folds)
        assert sum(len(fold.marks) for fold in rows.folds) == len(rows.marks)
        for one, other in combinations(rows.folds, 2):
            assert not one.room.intersects(other.room)
        assert {fold.kind for fold in rows.folds} == set(KINDS)


def test_marks_lead_to_their_requests(opened: Timeline) -> None:
    rows, bench = opened.plot.mark_rows, opened.desk.workbench
    rows.grab()
    fold = next(fold for fold in rows.folds if fold.kind == "compaction")
    assert fold.words.startswith("Request 79: auto compaction 153,212")
    click(rows, fold.room.center().toPoint())
    assert bench.state.at == 79
    window = opened.window()
    window.setFocus()
    press(window, Qt.Key.Key_M)
    assert bench.state.at == 87
    assert opened.words.whole.startswith("Request 87: user: ")
    press(window, Qt.Key.Key_M, SHIFT)
    assert bench.state.at == 79
    assert "auto compaction 153,212" in opened.words.whole


def test_click_on_the_name_of_a_row_hides_its_marks(opened: Timeline) -> None:
    rows = opened.plot.mark_rows
    rows.grab()
    row = rows.titles.index("Cache miss")
    name = QPoint(30, row * rows.row_height + rows.row_height // 2)
    click(rows, name)
    rows.grab()
    assert "cache miss" not in {fold.kind for fold in rows.folds}
    assert rows.counts[row] == "3"
    click(rows, name)
    rows.grab()
    assert "cache miss" in {fold.kind for fold in rows.folds}


def test_search_hits_have_a_row_while_there_is_a_search(opened: Timeline, qtbot: QtBot) -> None:
    rows, window = opened.plot.mark_rows, opened.window()
    assert isinstance(window, MainWindow)
    window.ask_panel("Search", "statement.py")
    qtbot.waitUntil(lambda: "Search hit" in rows.titles)
    hit = next(mark for mark in rows.marks if mark.kind == "search hit")
    assert hit.label.endswith("with “statement.py”")
    window.docks.panel("Search").take("")
    qtbot.waitUntil(lambda: "Search hit" not in rows.titles)


def colours_of(image: QImage, area: QRectF) -> dict[str, int]:
    """How many pixels of each colour there are in a part of a picture."""
    found = dict[str, int]()
    for x in range(round(area.left()) + 2, round(area.right()) - 1):
        for y in range(round(area.top()) + 1, round(area.bottom()) - 1):
            name = image.pixelColor(x, y).name()
            found[name] = found.get(name, 0) + 1
    return found


def is_filled(timeline: Timeline, way: str) -> bool:
    """Are the areas shown that were chosen?"""
    return timeline.plot.areas is not None and timeline.plot.areas.kind == AREA_KINDS[way]


def test_every_colour_of_the_areas_is_in_the_legend(opened: Timeline, qtbot: QtBot) -> None:
    opened.plot.frame.range.show(0, 110)  # without the playhead
    for way in ("By category", "By tool"):
        opened.way.choose(way)
        qtbot.waitUntil(partial(is_filled, opened, way))
        check_colours(opened)


def check_colours(opened: Timeline) -> None:
    canvas, theme = opened.plot.canvas, opened.desk.theme.colours
    canvas.show_lines(TimelineLines())
    found = colours_of(canvas.grab().toImage(), canvas.area)
    known = {entry.colour for entry in opened.legend.entries}
    known |= {theme.window, theme.faint, theme.quiet, theme.playhead}
    many = {name for name, pixels in found.items() if pixels > 60}
    assert many <= {QColor(colour).name() for colour in known}


def test_click_on_a_legend_entry_hides_it_and_the_rest_moves_down(opened: Timeline) -> None:
    legend, canvas = opened.legend, opened.plot.canvas
    at = next(n for n, entry in enumerate(legend.entries) if entry.name == "tool calls")
    colour = QColor(legend.entries[at].colour).name()
    before = colours_of(canvas.grab().toImage(), canvas.area)
    assert before[colour] > 1_000
    click(legend, legend.rooms(legend.width())[at].center().toPoint())
    after = colours_of(canvas.grab().toImage(), canvas.area)
    assert colour not in after
    results = QColor(opened.desk.theme.colours.categories["tool results"]).name()
    assert after[results] == pytest.approx(before[results], rel=0.05)
    assert "tool calls (hidden)" in legend.accessibleDescription()
    legend.setFocus()
    press(legend, Qt.Key.Key_Space)
    assert colours_of(canvas.grab().toImage(), canvas.area) == before


def test_curves_when_hidden_in_the_legend_are_not_drawn(opened: Timeline) -> None:
    opened.way.choose("Curves")
    legend, canvas = opened.legend, opened.plot.canvas
    opened.desk.workbench.move(0)
    assert [entry.title for entry in legend.entries] == ["reported", "predicted", "own count"]
    accent = QColor(opened.desk.theme.colours.accent).name()
    assert colours_of(canvas.grab().toImage(), canvas.area)[accent] > 300
    click(legend, legend.rooms(legend.width())[0].center().toPoint())
    assert colours_of(canvas.grab().toImage(), canvas.area).get(accent, 0) < 100


def test_legend_stays_while_the_mouse_moves(opened: Timeline) -> None:
    canvas, legend = opened.plot.canvas, opened.legend
    before = legend.geometry(), legend.entries
    for request in (10, 50, 105):
        QTest.mouseMove(canvas, at_request(canvas, request))
        QApplication.processEvents()
        assert legend.isVisible()
        assert (legend.geometry(), legend.entries) == before
    assert opened.words.whole == "Request 105: 85,585 tokens (42.8%), 09:45:25"
    QTest.mouseMove(opened.way, QPoint(2, 2))
    canvas.leaveEvent(None)
    assert opened.words.whole == "Requests 0 to 131, 08:58 to 09:50"


def test_legend_in_a_narrow_timeline_has_rows_of_its_own_with_every_entry(
    opened: Timeline, qtbot: QtBot
) -> None:
    for width in (500, 1_000, 1_800):
        opened.setFixedWidth(width)
        qtbot.wait(20)
        rooms = opened.legend.rooms(opened.legend.width())
        assert all(
            opened.legend.rect().toRectF().adjusted(0, 0, 1, 1).contains(room) for room in rooms
        ), width
        for one, other in combinations(rooms, 2):
            assert not one.intersects(other)


def test_step_of_ours_has_a_row_a_line_and_a_label(opened: Timeline, qtbot: QtBot) -> None:
    bench, canvas = opened.desk.workbench, opened.plot.canvas
    bench.stepping.choose(policy="roku")
    bench.move(78)
    bench.stepping.step("L1")
    qtbot.waitUntil(lambda: "Step" in opened.plot.mark_rows.titles)
    assert any(label.name == "after L1" for label in canvas.labels)
    bench.move(20)
    assert not any(label.name == "after L1" for label in canvas.labels)
    rows = opened.plot.mark_rows
    assert ROW_TITLES["step"] == "Step"
    shown_step = canvas.grab().toImage()
    row = rows.titles.index("Step")
    click(rows, QPoint(30, row * rows.row_height + 5))
    hidden_step = canvas.grab().toImage()
    beside = canvas.across.pixel(78) + 7
    effect = canvas.effects[-1]
    middle = round(canvas.up.pixel((effect.before + effect.after) / 2))
    column = range(middle - 12, middle + 12)
    assert any(
        shown_step.pixel(round(beside), y) != hidden_step.pixel(round(beside), y) for y in column
    )
    canvas.show_effects((), True)
    assert canvas.grab().toImage() == hidden_step


# -- the selected range ------------------------------------------------------------------------------------------------


def test_shift_and_drag_select_requests_and_sum_them(opened: Timeline, qtbot: QtBot) -> None:
    canvas, panel, bench = opened.plot.canvas, opened.range_panel, opened.desk.workbench
    before = bench.state.at
    drag(canvas, at_request(canvas, 96), at_request(canvas, 105), SHIFT)
    assert opened.plot.frame.chosen == range(96, 106)
    assert bench.state.at == before
    qtbot.waitUntil(lambda: panel.isVisible() and panel.values["Growth"].text() != "…")
    assert panel._title.text() == "Requests 96 to 105"
    assert panel._times.text() == "10 requests, 09:44 to 09:45"
    assert panel.values["Growth"].text() == "+30,080 tokens"
    assert panel.values["Cost"].text() == "$0.81 of $8.67"
    assert panel.values["Cache misses"].text() == "1 (40,513 tokens, $0.25)"
    assert panel.values["Output"].text() == "3,598 tokens"
    assert [name for name, _, _ in panel.parts.parts][:2] == ["tool results", "tool calls"]
    assert panel._largest.text() == "Largest: request 105, +21,744 tokens"
    assert panel._subject.whole.startswith("Read ")
    assert "rates.csv" in panel._subject.whole


def test_selection_can_be_zoomed_to_read_and_cleared(opened: Timeline, qtbot: QtBot) -> None:
    canvas, panel = opened.plot.canvas, opened.range_panel
    drag(canvas, at_request(canvas, 60), at_request(canvas, 50), SHIFT)
    qtbot.waitUntil(lambda: panel._messages.isEnabled())
    click(panel._zoom)
    assert edges(opened) == pytest.approx((49.5, 60.5))
    click(panel._messages)
    bench = opened.desk.workbench
    assert bench.state.at == 60
    assert bench.state.selected == opened._summary.first_message  # type: ignore[union-attr]
    canvas.setFocus()
    press(canvas, Qt.Key.Key_Escape)
    assert not panel.isVisible()
    assert opened.plot.frame.chosen is None
    drag(canvas, at_request(canvas, 52), at_request(canvas, 56), SHIFT)
    click(panel._clear)
    assert opened.plot.frame.chosen is None


def test_requests_outside_the_selection_are_dimmed(opened: Timeline) -> None:
    canvas = opened.plot.canvas
    drag(canvas, at_request(canvas, 40), at_request(canvas, 60), SHIFT)
    picture = canvas.grab().toImage()
    results = QColor(opened.desk.theme.colours.categories["tool results"])
    areas = opened.plot.areas
    for at in (50, 75):
        height = sum(row[at] for row in areas.tokens) - 3_000
        place = QPoint(round(canvas.across.pixel(at)), round(canvas.up.pixel(height)))
        assert (picture.pixelColor(place) == results) is (at == 50)


def test_selection_ends_with_its_session(opened: Timeline, qtbot: QtBot) -> None:
    canvas = opened.plot.canvas
    drag(canvas, at_request(canvas, 96), at_request(canvas, 105), SHIFT)
    opened.desk.workbench.open(reported(8))
    qtbot.waitUntil(lambda: opened.plot.count == 8)
    assert opened.plot.frame.chosen is None
    assert not opened.range_panel.isVisible()


def test_watermark_when_double_clicked_goes_back_to_its_own_place(opened: Timeline) -> None:
    canvas, bench = opened.plot.canvas, opened.desk.workbench
    low = canvas.lines.watermarks[0].tokens
    start = QPoint(at_request(canvas, 20).x(), round(canvas.up.pixel(low)))
    drag(canvas, start, start + QPoint(0, 20))
    moved = canvas.lines.watermarks[0].tokens
    assert moved < low
    double_click(canvas, QPoint(start.x(), round(canvas.up.pixel(moved))))
    assert canvas.lines.watermarks[0].tokens == low
    assert bench.state.at == 131


def test_frame_without_gutters_has_room_for_the_data(desk: Desk) -> None:
    frame = TimelineFrame(desk.theme, desk.theme)
    frame.fit_gutters(300, 150)
    assert (frame.left, frame.right) == (10, 10)
    frame.fit_gutters(900, 150)
    assert frame.left > 60
    assert frame.right == 174
