"""The timeline under a user's hands: what it draws, how it zooms and moves, its rows of marks, legend and sums."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise, product

import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text
from inspector.core.session import Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.desk import Desk
from inspector.gui.look.glossary import explain
from inspector.gui.panels.timeline.canvas import PlotCanvas
from inspector.gui.panels.timeline.frame import TimelineFrame
from inspector.gui.panels.timeline.line_labels import TimelineLines
from inspector.gui.panels.timeline.mark_rows import KINDS, ROW_TITLES
from inspector.gui.panels.timeline.overview_strip import OverviewStrip
from inspector.gui.panels.timeline.panel import AREA_KINDS, Timeline
from inspector.gui.window import MainWindow
from inspector.workbench.pressure.timeline import Mark
from tests.gui.drawn import DrawnText, drawn
from tests.gui.hands import click, double_click, drag, hold, let_go, press, pull, turn_wheel
from tests.gui.stepping import session

SHIFT = Qt.KeyboardModifier.ShiftModifier


def reported(
    count: int,
    without: tuple[int, ...] = (),
    usage: Callable[[int], Usage] = lambda n: Usage(3_000 + 2_000 * n),
) -> Session:
    """Every request holds a message more, of which the provider counts 2,000 tokens; 1,000 are not in the file."""
    messages = tuple(Message(f"m{n}", "user", (Text("x" * 4_000),)) for n in range(count))
    stretch = Stretch(own=messages)
    requests = tuple(
        Request(
            n,
            stretch.view(n + 1),
            usage=None if n in without else usage(n),
            model="claude-opus-4-5",
        )
        for n in range(count)
    )
    thread = Thread("main", "", "claude-opus-4-5", requests, messages, stretch.view())
    return Session("test", (thread,), path="reported.jsonl")


def shown(
    desk: Desk, qtbot: QtBot, opened: Session, size: tuple[int, int] = (1_200, 380)
) -> Timeline:
    """A timeline of that session, alone."""
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.resize(*size)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    desk.workbench.open(opened)
    qtbot.waitUntil(lambda: timeline.plot is not None and not desk.bridge.busy)
    return timeline


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> Timeline:
    """The timeline of the sample, in a window of 1440 x 900."""
    window.resize(1_440, 900)
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(
        lambda: (
            bench.state.session is not None and bench.state.opening is None and window.docks.ready
        )
    )
    timeline = window.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    qtbot.waitUntil(
        lambda: (
            timeline.plot is not None and timeline.plot.areas is not None and not window.bridge.busy
        )
    )
    qtbot.wait(20)
    return timeline


def at_request(canvas: PlotCanvas, request: float, height: float = 0.5) -> QPoint:
    """The place of a request in the plot; `height`: share of the plot from its foot."""
    area = canvas.area
    return QPoint(
        round(canvas.across.pixel(request)), round(area.bottom() - height * area.height())
    )


def edges(timeline: Timeline) -> tuple[float, float]:
    """The visible requests."""
    return timeline.plot.frame.range.first, timeline.plot.frame.range.last


# -- what is drawn -----------------------------------------------------------------------------------------------------


def test_timeline_when_a_file_has_been_read_to_its_end_shows_every_request(
    desk: Desk, qtbot: QtBot
) -> None:
    timeline = shown(desk, qtbot, session())
    few = session()
    requests = tuple(Request(n, few.main.requests[0].view) for n in range(300))
    desk.workbench.open(replace(few, threads=(replace(few.main, requests=requests),)))
    first, last = edges(timeline)
    assert first <= 0
    assert last >= 299


def test_timeline_of_a_new_session_is_drawn_by_category(opened: Timeline) -> None:
    """Each column of pixels has the colours of the categories at that request, in their order."""
    canvas, found = opened.plot.canvas, opened.plot.areas
    assert opened.way.word == "By category"
    picture = canvas.grab().toImage()
    colours = opened.desk.theme.colours.categories
    for at in (40, 78, 120):
        sizes = [(name, row[at]) for name, row in zip(found.names, found.tokens, strict=True)]
        below = 0
        for name, tokens in sizes:
            middle, below = below + tokens / 2, below + tokens
            y = round(canvas.up.pixel(middle))
            is_clear = all(
                abs(canvas.up.pixel(line.tokens) - y) > 3 for line in canvas.lines.watermarks
            )
            if abs(canvas.up.per_value) * tokens > 4 and name != "unseen" and is_clear:
                x = round(canvas.across.pixel(at))
                assert picture.pixelColor(x, y) == QColor(colours[name]), (at, name)


def test_curve_of_what_was_not_reported_runs_between_reports_and_to_the_end(
    desk: Desk, qtbot: QtBot
) -> None:
    timeline = shown(desk, qtbot, reported(10, without=(6,)))
    curve = timeline.plot.curves.lines["unreported"]
    pairs = zip(curve.places, curve.values, strict=True)
    assert [(float(at), float(height)) for at, height in pairs if height == height] == [
        (5, 13_000), (6, 15_000), (7, 17_000), (9, 21_000), (9.6, 21_000)
    ]  # fmt: skip
    timeline.way.choose("Curves")
    strokes = {entry.title: entry.stroke for entry in timeline.legend.entries}
    assert strokes["predicted"] == Qt.PenStyle.DashLine
    assert strokes["reported"] == Qt.PenStyle.SolidLine


def test_hover_over_a_request_says_all_three_sizes(desk: Desk, qtbot: QtBot) -> None:
    timeline = shown(desk, qtbot, reported(10, without=(6,)))
    desk.workbench.previews.look()
    qtbot.waitUntil(lambda: "own count" in timeline.plot.about(5))
    assert "3,000 reported, 1,00" in timeline.plot.about(0)
    assert "13,000 reported, 13,000 predicted, 13," in timeline.plot.about(5)
    assert "\n15,000 predicted, 1" in timeline.plot.about(6)


def test_hover_over_a_request_says_what_the_cache_did(desk: Desk, qtbot: QtBot) -> None:
    usages = (
        Usage(3, 0, 3_100, cache_write_1h=3_100),
        Usage(3, 2_000, 100, cache_write_1h=60),
        Usage(3),
    )
    timeline = shown(desk, qtbot, reported(3, usage=lambda n: usages[n]))
    words = [timeline.plot.about(n) for n in range(3)]
    assert "cache 3,100 written for 1 h" in words[0]
    assert "cache 2,000 read, 40 written for 5 min, 60 written for 1 h" in words[1]
    assert "cache" not in words[2]


def test_no_label_lies_on_the_data_or_on_another(
    opened: Timeline, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.desk.workbench.stepping.choose(policy="roku")
    opened.desk.workbench.move(60)
    opened.desk.workbench.stepping.step("L1")
    for way, size in product(AREA_KINDS, [(1_000, 300), (1_200, 340), (2_300, 480)]):
        opened.setFixedSize(*size)
        opened.way.choose(way)
        qtbot.waitUntil(lambda: bool(opened.plot.canvas.effects) and not opened.desk.bridge.busy)
        check_labels(opened.plot.canvas, drawn(opened.plot.canvas, monkeypatch))


def check_labels(canvas: PlotCanvas, texts: list[DrawnText]) -> None:
    """Check that none lies on the data, and none on another but on the flag of the playhead."""
    assert len(texts) > 20
    flag = canvas.ruler.flag_room(canvas.area.bottom(), canvas.across.pixel(60), canvas.width())
    for text in texts:
        assert not text.covers.intersects(canvas.area.adjusted(0, 0, 0, -1)), text
    apart = [text for text in texts if not text.covers.intersects(flag)]
    for one, other in combinations(apart, 2):
        common = one.covers & other.covers
        assert common.height() <= 2 or common.width() <= 0, (one, other)
    assert any(text.words == "after L1" for text in texts)


def test_labels_of_lines_stay_inside_a_timeline_of_any_width(
    opened: Timeline, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    canvas = opened.plot.canvas
    for width in (430, 600, 900):
        opened.setFixedSize(width, 300)
        qtbot.wait(20)
        inside = QRectF(canvas.rect()).adjusted(-2, -2, 2, 2)
        texts = drawn(canvas, monkeypatch)
        assert [text for text in texts if not inside.contains(text.covers)] == [], width


def test_labels_beside_the_plot_explain_themselves_under_the_mouse(opened: Timeline) -> None:
    canvas = opened.plot.canvas
    canvas.grab()
    names = {label.name or label.about: room for room, label in canvas.gutter.rooms}
    for name, term in (
        ("Window 200,000", "window"),
        ("60% L1, L2", "watermark"),
        ("75% L3", "watermark"),
        ("Claude Code 76.6%", "client trigger"),
    ):
        assert canvas.words_at(names[name].center()).startswith(explain(term))


def test_axis_without_any_tokens_has_no_numbers(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeline = shown(desk, qtbot, Session("test", (Thread("main"),)))
    canvas = timeline.plot.canvas
    numbers = [text for text in drawn(canvas, monkeypatch) if text.words.replace(",", "").isdigit()]
    assert [text for text in numbers if text.covers.right() < canvas.area.left()] == []


@pytest.mark.parametrize("zoom", [0, 4])
@pytest.mark.parametrize("height", [260, 420])
def test_numbers_of_the_axis_are_evenly_apart(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, zoom: int, height: int
) -> None:
    desk.theme.zoom(zoom)
    try:
        timeline = shown(desk, qtbot, reported(100), (900, height))
        canvas = timeline.plot.canvas
        numbers = [
            text
            for text in drawn(canvas, monkeypatch)
            if text.covers.right() < canvas.area.left() and text.words.replace(",", "").isdigit()
        ]
        values = sorted(int(text.words.replace(",", "")) for text in numbers)
        assert len(values) > 1
        assert len({after - before for before, after in pairwise(values)}) == 1
    finally:
        desk.theme.zoom(0)


# -- zoom and view -----------------------------------------------------------------------------------------------------


def test_closer_look_is_kept_while_the_session_grows(desk: Desk, qtbot: QtBot) -> None:
    timeline = shown(desk, qtbot, session())
    one = session()

    def grow(count: int) -> None:
        requests = tuple(Request(n, one.main.requests[0].view) for n in range(count))
        desk.workbench.open(replace(one, threads=(replace(one.main, requests=requests),)))

    grow(100)
    timeline.plot.frame.range.show(20, 40)
    grow(140)
    assert edges(timeline) == (20, 40)
    timeline.plot.frame.range.show(119.5, 139.7)  # a look at the end follows the end
    grow(150)
    assert edges(timeline) == pytest.approx((129.5, 149.7))
    desk.workbench.open(replace(session("another.jsonl"), path="another.jsonl"))
    assert edges(timeline)[1] < 10


def test_wheel_when_turned_zooms_at_the_mouse_and_says_what_is_visible(opened: Timeline) -> None:
    canvas = opened.plot.canvas
    assert opened.words.whole == "Requests 0 to 131, 08:58 to 09:50"
    place = at_request(canvas, 60)
    turn_wheel(canvas, place, 4)
    first, last = edges(opened)
    assert last - first == pytest.approx(132.2 / 1.25**4, abs=1)
    assert canvas.across.value(place.x()) == pytest.approx(60, abs=0.5)
    shown_first, shown_last = opened.plot.frame.range.requests
    assert opened.words.whole.startswith(f"Requests {shown_first} to {shown_last} of 132, 09:")
    turn_wheel(canvas, place, 1, SHIFT)
    assert edges(opened)[0] < first
    turn_wheel(opened.plot.mark_rows, QPoint(400, 5), -40)
    assert opened.plot.frame.range.is_whole


def test_drag_of_the_plot_when_zoomed_in_moves_the_view_not_the_playhead(opened: Timeline) -> None:
    canvas, bench = opened.plot.canvas, opened.desk.workbench
    before = bench.state.at
    turn_wheel(canvas, at_request(canvas, 60), 6)
    first, last = edges(opened)
    drag(canvas, at_request(canvas, 60), at_request(canvas, 50))
    assert edges(opened) == pytest.approx((first + 10, last + 10), abs=0.5)
    assert bench.state.at == before


def test_drag_of_the_plot_that_shows_all_moves_the_playhead(opened: Timeline) -> None:
    canvas, bench = opened.plot.canvas, opened.desk.workbench
    hold(canvas, at_request(canvas, 20))
    for request in (25, 40, 50):
        pull(canvas, at_request(canvas, request))
        assert bench.state.at == request
    let_go(canvas, at_request(canvas, 50))


def test_drag_on_the_ruler_when_zoomed_in_moves_the_playhead(opened: Timeline) -> None:
    canvas, bench = opened.plot.canvas, opened.desk.workbench
    turn_wheel(canvas, at_request(canvas, 60), 6)
    before = edges(opened)
    ruler = round(canvas.area.bottom()) + 8
    drag(
        canvas, QPoint(at_request(canvas, 55).x(), ruler), QPoint(at_request(canvas, 62).x(), ruler)
    )
    assert bench.state.at == 62
    assert edges(opened) == before


def test_keys_w_a_s_d_zoom_and_move_and_reach_no_command_of_the_window(opened: Timeline) -> None:
    """D would run the due tiers."""
    canvas, bench = opened.plot.canvas, opened.desk.workbench
    bench.move(60)
    click(canvas, at_request(canvas, 60))
    press(canvas, Qt.Key.Key_W)
    press(canvas, Qt.Key.Key_W)
    first, last = edges(opened)
    assert last - first == pytest.approx(132.2 / 1.25**2, abs=1)
    press(canvas, Qt.Key.Key_D)
    assert edges(opened)[0] > first
    press(canvas, Qt.Key.Key_A)
    assert edges(opened)[0] == pytest.approx(first, abs=0.01)
    for _ in range(4):
        press(canvas, Qt.Key.Key_S)
    assert opened.plot.frame.range.is_whole
    assert not bench.state.stepped


def test_double_click_shows_all_and_leaves_the_playhead(opened: Timeline) -> None:
    canvas, bench = opened.plot.canvas, opened.desk.workbench
    for before in (78, None):
        bench.move(before)
        turn_wheel(canvas, at_request(canvas, 60), 6)
        double_click(canvas, at_request(canvas, 55))
        assert bench.state.at == before
        assert opened.plot.frame.range.is_whole


def test_fit_shows_all(opened: Timeline) -> None:
    turn_wheel(opened.plot.canvas, at_request(opened.plot.canvas, 60), 6)
    click(opened.fit_button)
    assert opened.plot.frame.range.is_whole
    assert opened.words.whole == "Requests 0 to 131, 08:58 to 09:50"


def overview_x(strip: OverviewStrip, request: float) -> QPoint:
    """The place of a request in the overview."""
    return QPoint(round(strip.across.pixel(request)), strip.height() // 2)


def test_brush_when_dragged_changes_what_the_plot_shows(opened: Timeline) -> None:
    strip = opened.plot.overview
    assert strip.words == "All requests shown"
    drag(strip, overview_x(strip, 40), overview_x(strip, 79))
    assert edges(opened) == pytest.approx((40, 79), abs=0.5)
    first, last = opened.plot.frame.range.requests
    assert strip.words == f"{last - first + 1} of 132 shown"
    assert 38 <= last - first + 1 <= 40
    drag(strip, overview_x(strip, 60), overview_x(strip, 80))
    assert edges(opened) == pytest.approx((60, 99), abs=0.5)
    drag(strip, overview_x(strip, 99), overview_x(strip, 120))
    assert edges(opened) == pytest.approx((60, 120), abs=0.5)
    drag(strip, overview_x(strip, 60), overview_x(strip, 100))
    assert edges(opened) == pytest.approx((100, 120), abs=0.5)
    click(strip, overview_x(strip, 30))
    assert edges(opened) == pytest.approx((20, 40), abs=0.5)
    double_click(strip, overview_x(strip, 30))
    assert opened.plot.frame.range.is_whole


def test_range_in_words_when_days_differ_names_the_dates(desk: Desk, qtbot: QtBot) -> None:
    made = reported(30)
    times = [f"2026-03-{2 + n // 20:02}T{n % 20:02}:15:00Z" for n in range(30)]
    requests = tuple(
        replace(one, time=time) for one, time in zip(made.main.requests, times, strict=True)
    )
    timeline = shown(desk, qtbot, replace(made, threads=(replace(made.main, requests=requests),)))
    assert timeline.words.whole == "Requests 0 to 29, 2026-03-02 00:15 to 2026-03-03 09:15"
    timeline.plot.frame.range.show(1.5, 9.4)
    assert timeline.words.whole == "Requests 2 to 9 of 30, 02:15 to 09:15"


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
