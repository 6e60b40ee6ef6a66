"""The timeline under a user's hands: what it draws, how it zooms and moves, its rows of marks, legend and sums."""

from dataclasses import replace
from itertools import combinations, pairwise, product

import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from inspector.core.session import Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.desk import Desk
from inspector.gui.look.glossary import explain
from inspector.gui.panels.timeline.canvas import PlotCanvas
from inspector.gui.panels.timeline.overview_strip import OverviewStrip
from inspector.gui.panels.timeline.panel import AREA_KINDS, Timeline
from inspector.gui.window import MainWindow
from tests.gui.drawn import DrawnText, drawn
from tests.gui.hands import click, double_click, drag, hold, let_go, press, pull, turn_wheel
from tests.gui.stepping import session
from tests.gui.timelines import SHIFT, at_request, edges, open_timeline, reported


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
    return open_timeline(window, qtbot)


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
