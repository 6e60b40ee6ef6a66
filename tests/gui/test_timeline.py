"""The timeline while a transcript is still being read: all of what is there can be seen."""

from collections.abc import Callable
from dataclasses import replace
from html import escape, unescape
from itertools import combinations, pairwise, product

import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text
from inspector.core.session import Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.desk import Desk
from inspector.gui.look.glossary import explain
from inspector.gui.look.number_formats import short
from inspector.gui.panels.timeline.panel import Timeline
from inspector.gui.panels.timeline.plot import LOWER_HEIGHT
from inspector.gui.widgets.plot import Axis, area_of, token_axis
from inspector.gui.window import MainWindow
from inspector.workbench.pressure.timeline import Mark, MarkKind
from tests.gui.drawn import drawn
from tests.gui.hands import press
from tests.gui.stepping import session


def test_the_whole_session_is_in_sight_after_its_first_requests_were(desk: Desk, qtbot: QtBot) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    few = session()
    desk.workbench.open(few, more=True)
    qtbot.waitUntil(lambda: timeline.plot is not None)
    requests = tuple(Request(n, few.main.requests[0].view) for n in range(300))
    desk.workbench.open(replace(few, threads=(replace(few.main, requests=requests),)))
    (left, right), _ = timeline.plot.above.getViewBox().viewRange()
    assert left <= 0
    assert right >= 299


def test_what_the_cache_kept_is_told_with_its_life(desk: Desk, qtbot: QtBot) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    one = session()
    usages = (Usage(3, 0, 3_100, cache_write_1h=3_100), Usage(3, 2_000, 100, cache_write_1h=60), Usage(3))
    requests = tuple(Request(n, one.main.requests[0].view, usage=usage) for n, usage in enumerate(usages))
    desk.workbench.open(replace(one, threads=(replace(one.main, requests=requests),)))
    qtbot.waitUntil(lambda: timeline.plot is not None)
    told = [timeline.plot.about(n) for n in range(3)]
    assert "cache 3,100 written for 1 h" in told[0]
    assert "cache 2,000 read, 40 written for 5 min, 60 written for 1 h" in told[1]
    assert "cache" not in told[2]


def test_the_mouse_over_a_request_tells_all_three_numbers(desk: Desk, qtbot: QtBot) -> None:
    """Reported, predicted before that, believed by the policy; of a call without usage the latter two."""
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    desk.workbench.open(reported(10, without=(6,)))
    desk.workbench.previews.look()
    qtbot.waitUntil(lambda: timeline.plot is not None)
    qtbot.waitUntil(lambda: "own count" in timeline.plot.about(5))
    assert timeline.plot.about(0).startswith("request 0 · 3,000 reported · 1,00")
    assert timeline.plot.about(5).startswith("request 5 · 13,000 reported · 13,000 predicted · 13,")
    assert timeline.plot.about(6).startswith("request 6 · 15,000 predicted · 1")


def test_what_was_not_reported_is_a_dashed_line_between_what_was_and_to_the_end(desk: Desk, qtbot: QtBot) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    desk.workbench.open(reported(10, without=(6,)))
    qtbot.waitUntil(lambda: timeline.plot is not None)
    x, y = timeline.plot._curves["unreported"].getOriginalDataset()
    drawn = [(float(at), float(height)) for at, height in zip(x, y, strict=True) if height == height]
    assert drawn == [(5, 13_000), (6, 15_000), (7, 17_000), (9, 21_000), (9.6, 21_000)]
    assert timeline.plot._curves["unreported"].opts["pen"].dashPattern()
    assert not timeline.plot._curves["reported"].opts["pen"].dashPattern()


def reported(
    count: int, without: tuple[int, ...], usage: Callable[[int], Usage] = lambda n: Usage(3_000 + 2_000 * n)
) -> Session:
    """Every request holds a message more, of which the provider counts 2,000 tokens; 1,000 are none of theirs."""
    messages = tuple(Message(f"m{n}", "user", (Text("x" * 4_000),)) for n in range(count))
    stretch = Stretch(own=messages)
    requests = tuple(
        Request(n, stretch.view(n + 1), usage=None if n in without else usage(n), model="claude-opus-4-5")
        for n in range(count)
    )
    thread = Thread("main", "", "claude-opus-4-5", requests, messages, stretch.view())
    return Session("test", (thread,), path="reported.jsonl")


def test_a_closer_look_is_kept_while_the_session_grows(desk: Desk, qtbot: QtBot) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.resize(800, 300)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    one = session()

    def grow(count: int) -> None:
        requests = tuple(Request(n, one.main.requests[0].view) for n in range(count))
        desk.workbench.open(replace(one, threads=(replace(one.main, requests=requests),)))

    grow(100)
    qtbot.waitUntil(lambda: timeline.plot is not None)
    box = timeline.plot.above.getViewBox()
    box.setXRange(20, 40, padding=0)
    grow(140)
    assert [round(edge) for edge in box.viewRange()[0]] == [20, 40]
    box.setXRange(119.5, 139.7, padding=0)  # looking at the end: the end is what is looked at
    grow(150)
    assert [round(edge, 1) for edge in box.viewRange()[0]] == [129.5, 149.7]
    desk.workbench.open(replace(session("another.jsonl"), path="another.jsonl"))
    assert box.viewRange()[0][1] < 10


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> Timeline:
    """The timeline of the sample."""
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(lambda: bench.state.session is not None and bench.state.opening is None and window.docks.ready)
    timeline = window.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    qtbot.waitUntil(lambda: timeline.plot is not None and len(timeline.plot.mark_row.marks) > 1)
    return timeline


def test_no_label_lies_on_another(opened: Timeline, qtbot: QtBot) -> None:
    for larger, height in product((0, 5), (150, 240, 420)):
        if height == 150:
            opened.desk.theme.zoom(larger)
        opened.setFixedHeight(height)
        qtbot.wait(10)
        opened.plot.overlay.grab()
        rooms = opened.plot.overlay.labels.taken
        assert len(rooms) >= 3, (larger, height)
        for one, other in combinations(rooms, 2):
            assert not one.intersects(other), (larger, height)


@pytest.mark.parametrize("least", [40_000, 120_000, 160_000])
def test_words_hide_no_curve(desk: Desk, qtbot: QtBot, least: int) -> None:
    """Where the session stands at the very line that the words are about they have no ground of their own."""
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.resize(900, 260)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    desk.workbench.stepping.choose(policy="roku")
    desk.workbench.open(reported(60, (), lambda n: Usage(2_500 * (n % 9), least)))
    desk.workbench.move(30)
    qtbot.waitUntil(lambda: timeline.plot is not None and bool(timeline.plot.overlay.lines))
    plot, c = timeline.plot, desk.theme.colours
    qtbot.waitUntil(lambda: plot.below.isVisible() and area_of(plot.below.getViewBox()).height() > 30)
    words = plot.grab().toImage()
    plot.overlay.hide()
    curves = plot.grab().toImage()
    lines = {QColor(one).rgb() for one in (c.accent, c.good)}
    of_a_curve = [(x, y) for x in range(curves.width()) for y in range(curves.height()) if curves.pixel(x, y) in lines]
    assert len(of_a_curve) > 100
    assert len(plot.overlay.labels.taken) >= 3
    (dot,) = (room for room in plot.overlay.labels.taken if room.width() < 14)  # where we stand, with a ring around it
    hidden = [at for at in of_a_curve if words.pixel(*at) == QColor(c.window).rgb()]
    assert [at for at in hidden if not dot.contains(QPointF(*at))] == []


def test_the_number_of_the_playhead_lies_on_no_circle(
    opened: Timeline, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after a compaction the curve is at the floor, where the number stands; there our step has its circle."""
    window = opened.window()
    assert isinstance(window, MainWindow)
    bench, overlay = window.workbench, opened.plot.overlay
    bench.move(79)
    qtbot.wait(10)
    for stepped in (False, True):
        if stepped:
            bench.stepping.choose(policy="roku")
            bench.stepping.step("L4")
            qtbot.waitUntil(lambda: bool(overlay.effects))
        number = next(one.covers for one in drawn(overlay, monkeypatch) if one.words == "79")
        dot, *effects = (room for room in overlay.labels.taken if room.width() < 14)
        assert not any(number.intersects(circle) for circle in (dot, *effects))


def test_the_number_of_the_playhead_stays_in_the_plot(
    opened: Timeline, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the last request, where steps of ours take the place left of it."""
    bench, overlay = opened.desk.workbench, opened.plot.overlay
    opened.setFixedHeight(150)
    bench.last()
    bench.stepping.choose(policy="roku")
    for tier in ("L0", "L1"):
        bench.stepping.step(tier)
        qtbot.waitUntil(lambda tier=tier: any(one.name == tier for one in overlay.effects))  # type: ignore[misc]
    number = next(one.covers for one in drawn(overlay, monkeypatch) if one.words == str(bench.state.at))
    assert area_of(opened.plot.above.getViewBox()).contains(number)


def test_no_line_is_seen_through_words(opened: Timeline) -> None:
    picture = QImage(60, 20, QImage.Format.Format_RGB32)
    picture.fill(Qt.GlobalColor.red)
    with QPainter(picture) as painter:
        opened.plot.overlay._paint_on_ground(painter, QRectF(0, 0, 60, 20), "ii", "#000000")
    assert picture.pixelColor(1, 1) == QColor(opened.desk.theme.colours.window)


def test_the_lower_plot_gives_way_before_the_pressure_does(opened: Timeline, qtbot: QtBot) -> None:
    heights = {}
    for height in (150, 200, 420):
        opened.setFixedHeight(height)
        qtbot.wait(10)
        above, below = opened.plot.above, opened.plot.below
        heights[height] = above.geometry().height(), below.geometry().height() if below.isVisible() else 0
        assert heights[height][0] >= 75
    assert heights[150][1] == 0
    assert heights[420][1] == LOWER_HEIGHT


def test_marks_fold_open_and_lead_to_their_requests(opened: Timeline, qtbot: QtBot) -> None:
    """The sample: a compaction, two constraints that went with it, its cache miss; two other misses."""
    row, bench = opened.plot.mark_row, opened.desk.workbench
    qtbot.waitUntil(lambda: not opened._pin_job.busy and not opened._break_job.busy)
    row.grab()
    assert [mark.kind for mark in row.marks] == [
        "cache miss", "compaction", "cache miss", "pin removed", "pin removed", "cache miss",
    ]  # fmt: skip
    folds = [(fold.kind, len(fold.marks)) for fold in row.folds]
    assert folds == [("cache miss", 1), ("compaction", 1), ("cache miss", 1), ("pin removed", 2), ("cache miss", 1)]
    fold = row.folds[1]
    assert "auto compaction" in fold.words
    assert "\n" not in fold.words
    assert row.folds[3].words.count("\n") == 1
    assert "removed: " in row.folds[3].words
    assert row.accessibleDescription() == "1 compaction, 3 cache misses, 2 pins removed"
    QTest.mouseClick(row, Qt.MouseButton.LeftButton, pos=fold.room.center().toPoint())
    assert bench.state.at == 79
    window = opened.window()
    press(window, Qt.Key.Key_M)
    assert bench.state.at == row.marks[-1].at
    press(window, Qt.Key.Key_M, Qt.KeyboardModifier.ShiftModifier)
    assert bench.state.at == 79
    assert "auto compaction 153,212" in opened._here.whole


def test_marks_of_different_kinds_are_never_drawn_as_one(opened: Timeline, qtbot: QtBot) -> None:
    row = opened.plot.mark_row
    kinds: tuple[MarkKind, ...] = ("compaction", "drop", "pin removed", "step", "search hit")
    for apart in (1, 2, 5, 30):
        row.show_marks([Mark(at, f"{kind} {at}", kind=kind) for at in range(0, 132, apart) for kind in kinds])
        row.grab()
        assert all({mark.kind for mark in fold.marks} == {fold.kind} for fold in row.folds)
        assert sum(len(fold.marks) for fold in row.folds) == len(row.marks)
        for fold, following in pairwise(row.folds):
            assert fold.room.right() < following.room.left()
        assert {fold.kind for fold in row.folds} == set(kinds)


@pytest.mark.parametrize("size", [(960, 150), (1_280, 190), (1_600, 300)])
def test_label_of_a_step_never_lies_on_a_curve(
    opened: Timeline, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    bench, overlay = opened.desk.workbench, opened.plot.overlay
    bench.stepping.choose(policy="roku")
    opened.window().resize(size[0], 800)
    opened.setFixedHeight(size[1])
    labelled = 0
    for at in range(20, 131, 9):
        bench.move(at)
        bench.stepping.step("L1")
        qtbot.waitUntil(lambda: bench.state.stepped)
        qtbot.waitUntil(lambda: bool(overlay.effects))
        labels = [text for text in drawn(overlay, monkeypatch) if text.words.startswith("L1 ") and "→" in text.words]
        labelled += len(labels)
        assert not [text for text in labels if overlay._is_crossed(text.covers)], f"request {at}"
    assert labelled > 8


def test_what_the_search_found_and_our_steps_are_marks(opened: Timeline, qtbot: QtBot) -> None:
    row, window = opened.plot.mark_row, opened.window()
    assert isinstance(window, MainWindow)
    window.ask_panel("Search", "statement.py")
    qtbot.waitUntil(lambda: any(mark.kind == "search hit" for mark in row.marks))
    hit = next(mark for mark in row.marks if mark.kind == "search hit")
    assert hit.label.endswith("with “statement.py”")
    row.grab()
    for one, other in pairwise(row.folds):
        assert one.room.right() < other.room.left()
    assert sum(len(one.marks) for one in row.folds) == len(row.marks)
    window.docks.panel("Search").take("")
    assert not any(mark.kind == "search hit" for mark in row.marks)


def test_a_plot_without_height_has_no_grid(qtbot: QtBot) -> None:
    axis = token_axis()
    axis.setGeometry(QRectF(0, 0, 40, 200))
    assert axis.levels(0, 100)
    axis.setGeometry(QRectF(0, 0, 40, 0))
    assert axis.levels(0, 100) == []


@pytest.mark.parametrize("zoom", [0, 4])
def test_the_numbers_of_an_axis_are_even(desk: Desk, qtbot: QtBot, zoom: int) -> None:
    """None is left out between others because it would lie on one of them."""
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    desk.workbench.subscribe(timeline.receive)
    desk.theme.zoom(zoom)
    timeline.show()
    desk.workbench.open(reported(100, without=()))
    qtbot.waitUntil(lambda: timeline.plot is not None)
    for high in range(200, 520, 24):
        timeline.resize(900, high)
        for top in (900, 105_000, 160_000, 199_000, 240_000, 1_200_000):
            for plot in (timeline.plot.above, timeline.plot.below):
                plot.setYRange(0, top, padding=0)
            QApplication.processEvents()  # the plots are laid out
            timeline.grab()
            axes = [plot.getAxis("left") for plot in (timeline.plot.above, timeline.plot.below) if plot.isVisible()]
            for axis in axes:
                levels = axis.levels(0, top)
                assert [text for _, text in axis.numbers] == [short(level) for level in levels], (high, top)
                assert len(levels) > 1
                assert len({round(after - before) for before, after in pairwise(levels)}) == 1


def test_an_axis_of_nothing_has_no_numbers(desk: Desk, qtbot: QtBot) -> None:
    panel = Timeline(desk)
    qtbot.addWidget(panel)
    panel.resize(900, 260)
    panel.show()
    desk.workbench.subscribe(panel.receive)
    desk.workbench.open(Session("test", (Thread("main"),)))
    qtbot.waitUntil(lambda: panel.plot is not None and not desk.bridge.busy)

    def numbers() -> int:
        panel.grab()
        axes = [plot.getAxis("left") for plot in (panel.plot.above, panel.plot.below)]
        assert all(isinstance(axis, Axis) for axis in axes)
        return sum(len(axis.numbers) for axis in axes)

    assert numbers() == 0
    desk.workbench.open(session())
    qtbot.waitUntil(lambda: not desk.bridge.busy and numbers() > 0)


def test_the_axis_of_a_plot_that_comes_back_is_as_wide_as_the_other(desk: Desk, qtbot: QtBot) -> None:
    """The letters were changed while it had no room."""
    panel = Timeline(desk)
    qtbot.addWidget(panel)
    panel.resize(900, 400)
    panel.show()
    desk.workbench.subscribe(panel.receive)
    desk.workbench.open(session())
    qtbot.waitUntil(lambda: panel.plot is not None and not desk.bridge.busy)
    plot = panel.plot
    panel.resize(900, 140)
    qtbot.waitUntil(lambda: not plot.below.isVisible())
    panel.restyle()
    panel.resize(900, 400)
    qtbot.waitUntil(plot.below.isVisible)
    assert plot.below.getAxis("left").minimumWidth() == plot.above.getAxis("left").minimumWidth() > 0


def test_labels_beside_the_plot_explain_themselves_under_the_mouse(opened: Timeline, qtbot: QtBot) -> None:
    opened.setFixedHeight(300)
    qtbot.wait(20)
    overlay = opened.plot.overlay
    overlay.grab()
    names = {label.name or label.about: room for room, label in overlay._label_rooms}
    for name, sentence in (
        ("Window 200,000", explain("window")),
        ("60% L1, L2", explain("watermark")),
        ("75% L3", explain("watermark")),
        ("Claude Code 76.6%", explain("client trigger")),
    ):
        assert overlay.about_label(names[name].center()).startswith(sentence)
        opened.plot._hover(names[name].center())
        assert escape(sentence) in opened.plot._graphics.viewport().toolTip()
    opened.plot._hover(area_of(opened.plot._box).center())
    assert opened.plot._graphics.viewport().toolTip() == ""


def test_key_of_the_curves_explains_its_terms(opened: Timeline) -> None:
    words = unescape(opened._key.toolTip())
    for term in ("reported", "predicted", "own count", "compaction", "cache miss"):
        assert explain(term) in words


def test_labels_of_lines_stay_inside_a_timeline_of_any_width(opened: Timeline, qtbot: QtBot) -> None:
    for width in (430, 600, 900):
        opened.setFixedSize(width, 240)
        qtbot.wait(20)
        overlay = opened.plot.overlay
        overlay.grab()
        plain, bold = overlay._label_fonts()
        for room, label in overlay._label_rooms:
            wide = bold.horizontalAdvance(label.name) + plain.horizontalAdvance(label.about)
            assert room.left() + wide <= overlay.width(), (width, label.name)
            assert room.left() >= area_of(opened.plot._box).right(), "no label lies on a curve"
