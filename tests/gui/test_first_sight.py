"""The first screen: every start opens on the answers, the window fits its screen, and what matters has its room."""

from html import unescape
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSettings
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.findings.composition import CATEGORIES
from inspector.core.message import Message, Text
from inspector.core.session import Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.desk import Desk
from inspector.gui.look.glossary import GLOSSARY, explain
from inspector.gui.look.theme import Theme
from inspector.gui.panels.buffer.panel import BufferPanel
from inspector.gui.panels.glance.panel import GlancePanel
from inspector.gui.panels.tiers.panel import TierPanel
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.panels.timeline.panel import Timeline
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow
from inspector.gui.workspace import WORKSPACES
from tests.gui.hands import hold, let_go, pull


def start(tmp_path: Path, qtbot: QtBot, application: QApplication) -> MainWindow:
    """A start of the program, with what an earlier start in the same folder remembered."""
    settings = Settings(QSettings(str(tmp_path / "start.ini"), QSettings.Format.IniFormat))
    return MainWindow(Theme(application, settings), settings)


def open_sample(window: MainWindow, qtbot: QtBot) -> None:
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(
        lambda: (
            bench.state.session is not None and bench.state.opening is None and window.docks.ready
        )
    )
    timeline = window.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    qtbot.waitUntil(lambda: timeline.plot is not None and not window.bridge.busy)
    qtbot.wait(20)


def test_second_start_opens_on_read_with_the_size_of_the_first(
    application: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    first = start(tmp_path, qtbot, application)
    first.resize(700, 560)
    first.show()
    open_sample(first, qtbot)
    first.docks.choose("Cost")
    first.theme.choose("light")
    first.close()
    second = start(tmp_path, qtbot, application)
    second.show()
    try:
        open_sample(second, qtbot)
        assert second.docks.current.name == "Read"
        assert (second.width(), second.height()) == (700, 560)
        assert not second.theme.colours.dark
        glance = second.docks.panel("At a glance")
        assert isinstance(glance, GlancePanel)
        assert glance.seen
    finally:
        for window in (first, second):
            window.close()
            window.deleteLater()


def test_window_remembered_on_a_larger_screen_fits_this_one(
    application: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    room = application.primaryScreen().availableGeometry()
    first = start(tmp_path, qtbot, application)
    first.resize(room.width() + 400, room.height() + 300)
    first.show()
    first.close()
    second = start(tmp_path, qtbot, application)
    try:
        assert second.width() <= room.width()
        assert second.height() <= room.height()
    finally:
        for window in (first, second):
            window.deleteLater()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (800, 600)])
def test_window_with_a_session_keeps_the_size_of_a_small_screen_in_every_workspace(
    window: MainWindow, qtbot: QtBot, width: int, height: int
) -> None:
    window.resize(width, height)
    open_sample(window, qtbot)
    window.docks.reset()
    for name in WORKSPACES:
        window.docks.choose(name)
        qtbot.wait(20)
        assert (window.width(), window.height()) == (width, height), name
        page = window.docks.current
        inner = page.mapTo(window, page.rect().bottomRight())
        assert inner.x() < width, name
        assert inner.y() < height, name


def test_tiers_in_a_window_of_800x600_are_not_scrolled_sideways(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.resize(800, 600)
    open_sample(window, qtbot)
    window.docks.choose("Compact")
    tiers = window.docks.panel("Tiers")
    assert isinstance(tiers, TierPanel)
    qtbot.waitUntil(
        lambda: not window.bridge.busy and tiers.rows["L0"].badge.text() == "Runs first"
    )
    assert not tiers.area.horizontalScrollBar().isVisible()


@pytest.mark.parametrize(("width", "height", "rows"), [(1280, 800, 10), (800, 600, 5)])
def test_buffer_in_read_shows_rows_in_small_windows(
    window: MainWindow, qtbot: QtBot, width: int, height: int, rows: int
) -> None:
    window.resize(width, height)
    open_sample(window, qtbot)
    panel = window.docks.panel("Buffer")
    assert isinstance(panel, BufferPanel)
    glance = window.docks.panel("At a glance")
    assert isinstance(glance, GlancePanel)
    qtbot.waitUntil(lambda: all(card.answer is not None for card in glance.cards.values()))
    qtbot.wait(30)
    view = panel.view
    row = view.visualRect(view.model().index(0, 0)).height()
    assert view.viewport().height() // row >= rows


def test_cards_in_a_low_window_with_large_letters_leave_out_last_sentences(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.resize(1280, 800)
    open_sample(window, qtbot)
    glance = window.docks.panel("At a glance")
    assert isinstance(glance, GlancePanel)
    qtbot.waitUntil(lambda: all(card.answer is not None for card in glance.cards.values()))
    card = glance.cards["cost"]
    answer = card.answer
    assert answer is not None
    assert card.detail.text() == answer.detail
    window.resize(800, 600)
    window.theme.zoom(3)
    qtbot.waitUntil(lambda: card.detail.text().endswith("…"))
    in_part = card.heightForWidth(card.width())
    assert card.detail.text() in (f"{answer.details[0]} …", "…")
    assert unescape(card.toolTip()).count(answer.text) == 1
    card.show_details()
    assert in_part < card.heightForWidth(card.width())
    window.resize(1600, 1000)
    window.theme.zoom(0)
    qtbot.waitUntil(lambda: card.detail.text() == answer.detail)
    assert card.toolTip() == ""


def test_timeline_in_a_low_window_with_large_letters_keeps_room_for_its_data(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.resize(800, 600)
    open_sample(window, qtbot)
    glance, timeline = window.docks.panel("At a glance"), window.docks.panel("Timeline")
    assert isinstance(glance, GlancePanel)
    qtbot.waitUntil(lambda: all(card.answer is not None for card in glance.cards.values()))
    for _ in range(3):
        window.theme.zoom(1)
    qtbot.waitUntil(lambda: timeline.height() >= 110 and glance.height() <= 0.4 * window.height())


def test_plot_of_the_timeline_when_the_window_grows_keeps_its_share_of_the_height(
    window: MainWindow, qtbot: QtBot
) -> None:
    open_sample(window, qtbot)
    timeline = window.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    for size, least, low in (
        ((1440, 900), 130, 75),
        ((1280, 800), 76, 66),
        ((2560, 1440), 260, 120),
    ):
        window.resize(*size)
        check_plot(window, timeline, least, low, qtbot)


def check_plot(window: MainWindow, timeline: Timeline, least: int, low: int, qtbot: QtBot) -> None:
    """Check its height in pixels: at least `least` in Read, about `low` in the other workspaces."""
    for name in ("Read", "Compact", "Read", "Live"):
        window.docks.choose(name)
        qtbot.wait(20)
        plot = timeline.plot.canvas.area.height()
        if name == "Read":
            assert plot >= least
            assert timeline.plot.mark_rows.isVisible()
            assert timeline.plot.overview.isVisible() is (window.height() > 850)
        else:
            assert low <= plot <= low * 1.3, name
            assert not timeline.plot.mark_rows.isVisible()


def test_height_that_the_user_drags_stays_for_its_workspaces_and_for_the_next_start(
    application: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    heights = dict[str, int]()
    for number in ("first", "second"):
        window = start(tmp_path, qtbot, application)
        window.resize(1440, 900)
        window.show()
        try:
            open_sample(window, qtbot)
            dock = window.docks.dock("Timeline")
            assert dock is not None
            if number == "first":
                low_edge = dock.mapTo(window.docks, QPoint(dock.width() // 2, dock.height()))
                heights["before"] = dock.height()
                hold(window.docks, low_edge)
                pull(window.docks, low_edge + QPoint(0, 20))
                pull(window.docks, low_edge + QPoint(0, 40))
                let_go(window.docks, low_edge + QPoint(0, 40))
                heights["dragged"] = dock.height()
                window.docks.choose("Compact")
                qtbot.wait(20)
                heights["compact"] = dock.height()
                window.docks.choose("Read")
                qtbot.wait(20)
                heights["again"] = dock.height()
            else:
                heights["next start"] = dock.height()
        finally:
            window.close()
            window.deleteLater()
    assert heights["dragged"] == pytest.approx(heights["before"] + 40, abs=3)
    assert heights["compact"] < heights["before"] - 100
    assert heights["again"] == heights["next start"] == heights["dragged"]


@pytest.mark.parametrize(
    ("tokens", "size"), [(179, 400_000), (12_000, 1_000_000), (150_000, 200_000)]
)
def test_axis_of_the_timeline_ends_above_the_window_so_that_an_empty_one_looks_empty(
    desk: Desk, qtbot: QtBot, tokens: int, size: int
) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.resize(900, 300)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    view = Stretch(own=[Message("m", "user", (Text("Hello"),))]).view()
    requests = tuple(Request(at, view, usage=Usage(tokens + at)) for at in range(5))
    desk.workbench.set_window(size)
    desk.workbench.open(
        Session("test", (Thread("main", requests=requests, end=view),), path="small.json")
    )
    desk.workbench.set_window(size)
    qtbot.waitUntil(lambda: timeline.plot is not None and timeline.plot.canvas.lines.window == size)
    up = timeline.plot.canvas.up
    assert up.low == 0
    assert up.high > size
    labels = timeline.plot.canvas.labels
    assert labels[0].about == f"Window {size:,}"
    assert {"60% L1, L2", "75% L3"} <= {label.name for label in labels}


def test_axis_of_an_unknown_window_says_what_is_assumed(desk: Desk, qtbot: QtBot) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.resize(900, 300)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    view = Stretch(own=[Message("m", "user", (Text("Hello"),))]).view()
    thread = Thread("main", requests=(Request(0, view, usage=Usage(500)),), end=view)
    desk.workbench.open(Session("test", (thread,), path="unknown.json"))
    qtbot.waitUntil(
        lambda: timeline.plot is not None and timeline.plot.canvas.lines.window == 200_000
    )
    assert timeline.plot.canvas.labels[0].about == "200,000 assumed"
    assert timeline.plot.canvas.up.high > 200_000


def test_narrow_window_folds_the_gauge_and_a_wide_one_shows_all_of_it(
    window: MainWindow, qtbot: QtBot
) -> None:
    open_sample(window, qtbot)
    gauge = window.docks.panel("Pressure")
    assert isinstance(gauge, Gauge)
    for width, folded in ((800, True), (1280, False)):
        window.resize(width, 700)
        window.docks.reset()
        qtbot.wait(20)
        assert gauge.folded == folded
        assert gauge.width() == (gauge.folded_width if folded else gauge.whole_width)


def test_glossary_explains_every_category_and_kind_in_one_sentence() -> None:
    assert set(CATEGORIES) <= GLOSSARY.keys()
    for term, sentence in GLOSSARY.items():
        assert sentence.endswith("."), term
        assert ". " not in sentence, f"{term}: one sentence"
        assert len(sentence) < 160, term
    with pytest.raises(KeyError):
        explain("no such term")
