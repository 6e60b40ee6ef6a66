"""The window as a user meets it: opening, walking, choosing, by mouse and keys."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QInputDialog, QLabel, QToolButton
from pytestqt.qtbot import QtBot

from inspector.gui.panels.buffer.panel import BufferPanel
from inspector.gui.panels.glance.panel import AnswerCard
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.panels.timeline.panel import Timeline
from inspector.gui.window import MainWindow
from inspector.workbench.pressure.gauge import estimate_here
from tests.gui.hands import click, press
from tests.gui.made import payload, session

LAST = 11


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """The window with a made session, everything loaded."""
    window.workbench.open(session())
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and not window.bridge.busy)
    return window


def buffer_of(window: MainWindow) -> BufferPanel:
    panel = window.docks.panel("Buffer")
    assert isinstance(panel, BufferPanel)
    return panel


def at(window: MainWindow) -> int | None:
    return window.workbench.state.at


def settle(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not window.bridge.busy and window.workbench.state.opening is None)


def choose(button: QToolButton, words: str) -> None:
    """What a user does with a drop-down: open it, take the line that begins so."""
    menu = button.menu()
    menu.aboutToShow.emit()
    next(action for action in menu.actions() if action.text().startswith(words)).trigger()


# -- opening -------------------------------------------------------------------------------------------------------


def test_a_fresh_window_shows_the_welcome_page(window: MainWindow) -> None:
    assert window.pages.currentWidget() is window.welcome
    assert window.welcome.open.isVisible()


def test_open_by_dialog(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = payload(tmp_path / "body.json")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    click(window.top.opener)
    qtbot.waitUntil(lambda: window.workbench.state.session is not None)
    assert window.windowTitle().startswith("body.json")
    assert window.settings.recents() == (str(path),)


def test_open_by_drop(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(payload(tmp_path / "body.json")))])
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    copy = Qt.DropAction.CopyAction
    enter = QDragEnterEvent(QPoint(50, 200), copy, data, buttons, keys)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    assert window.welcome.drop.property("over")
    QApplication.sendEvent(window, QDropEvent(QPointF(50, 200), copy, data, buttons, keys))
    assert not window.welcome.drop.property("over")
    qtbot.waitUntil(lambda: window.workbench.state.session is not None)


def test_the_recents_are_on_the_welcome_page(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    window.open_path(str(payload(tmp_path / "body.json")))
    settle(window, qtbot)
    press(window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert window.pages.currentWidget() is window.welcome
    (row,) = window.welcome.recent.rows
    click(row)
    qtbot.waitUntil(lambda: window.workbench.state.session is not None)


def test_a_missing_file_is_one_calm_sentence(
    opened: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    before = opened.workbench.state.session
    opened.open_path(str(tmp_path / "nowhere.jsonl"))
    qtbot.waitUntil(lambda: bool(opened.workbench.state.failure))
    assert "nowhere.jsonl" in opened.notice.words.text()
    assert opened.workbench.state.session is before
    click(opened.notice.button)
    assert not opened.notice.isVisible()
    assert opened.workbench.state.failure == ""


def test_an_unknown_format_is_one_calm_sentence(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    odd = tmp_path / "odd.jsonl"
    odd.write_text('{"what": "is this"}\n')
    window.open_path(str(odd))
    qtbot.waitUntil(lambda: bool(window.workbench.state.failure))
    assert window.notice.isVisible()
    assert window.pages.currentWidget() is window.welcome


# -- walking -------------------------------------------------------------------------------------------------------


def test_keys_walk_through_the_requests(opened: MainWindow) -> None:
    view = buffer_of(opened).view
    assert at(opened) == LAST
    press(view, Qt.Key.Key_Left)
    press(view, Qt.Key.Key_Left)
    assert at(opened) == LAST - 2
    press(view, Qt.Key.Key_Right)
    assert at(opened) == LAST - 1
    press(view, Qt.Key.Key_Home)
    assert at(opened) == 0
    press(view, Qt.Key.Key_Left)
    assert at(opened) == 0
    press(view, Qt.Key.Key_End)
    press(view, Qt.Key.Key_Right)
    assert at(opened) is None
    press(view, Qt.Key.Key_Left)
    assert at(opened) == LAST
    press(view, Qt.Key.Key_Home)
    press(view, Qt.Key.Key_C)
    assert at(opened) == LAST  # the compaction stands before it


def test_a_click_in_the_timeline_moves_the_playhead(opened: MainWindow, qtbot: QtBot) -> None:
    timeline = opened.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    qtbot.waitUntil(lambda: timeline.plot is not None and timeline.plot.isVisible())
    QApplication.processEvents()
    canvas = timeline.plot.canvas
    for wanted in (2, 9):
        click(canvas, QPoint(round(canvas.across.pixel(wanted)), round(canvas.up.pixel(10_000))))
        QApplication.processEvents()
        assert at(opened) == wanted


def test_the_gauge_follows(opened: MainWindow) -> None:
    gauge = opened.docks.panel("Pressure")
    assert isinstance(gauge, Gauge)
    opened.workbench.move(10)
    shown = [label.text() for label in gauge.findChildren(QLabel)]
    assert "55.2%" in shown
    assert "110,500 of 200,000 tokens" in shown
    assert "reported" in shown


# -- choosing ------------------------------------------------------------------------------------------------------


def test_a_sub_agent_is_chosen(opened: MainWindow, qtbot: QtBot) -> None:
    choose(opened.top.agent, "agent-1")
    settle(opened, qtbot)
    assert opened.workbench.state.thread_id == "agent-1"
    assert opened.workbench.state.at == 2
    assert buffer_of(opened).model.rowCount() == 5


def test_the_window_is_chosen_and_taken_back(opened: MainWindow) -> None:
    choose(opened.top.limit, "1,000,000")
    window = opened.workbench.state.window
    assert window is not None
    assert (window.tokens, window.source) == (1_000_000, "user")
    assert "1,000,000 user" in opened.top.limit.text()
    choose(opened.top.limit, "Detected")
    window = opened.workbench.state.window
    assert window is not None
    assert (window.tokens, window.source) == (200_000, "catalogue")


def test_a_window_of_the_users_own(opened: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QInputDialog, "getInt", lambda *_: (123_000, True))
    choose(opened.top.limit, "Other")
    window = opened.workbench.state.window
    assert window is not None
    assert window.tokens == 123_000


def test_estimator_when_chosen_in_the_palette_changes_the_estimate_and_no_size(
    opened: MainWindow, qtbot: QtBot
) -> None:
    bench = opened.workbench
    qtbot.waitUntil(lambda: estimate_here(bench.state) is not None)
    sizes, estimate = list(bench.state.pressures or ()), estimate_here(bench.state)
    next(one for one in opened.commands if one.words == "Estimate by chars4").run()
    settle(opened, qtbot)
    assert bench.state.estimator == "chars4"
    qtbot.waitUntil(lambda: estimate_here(bench.state) not in (None, estimate))
    assert list(bench.state.pressures or ()) == sizes


def test_policy_when_chosen_in_the_top_bar_is_named_there_and_in_the_gauge(
    opened: MainWindow, qtbot: QtBot
) -> None:
    assert opened.top.policy.text().endswith("Roku ▾")
    choose(opened.top.policy, "Claude Code")
    settle(opened, qtbot)
    assert opened.workbench.state.choices.policy == "claude-code"
    assert opened.top.policy.text().endswith("Claude Code ▾")
    gauge = opened.docks.panel("Pressure")
    assert "Policy: Claude Code" in [one.text() for one in gauge.findChildren(QLabel)]


def test_the_theme_toggles_and_is_remembered(opened: MainWindow) -> None:
    dark = opened.theme.colours.dark
    press(opened, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    assert opened.theme.colours.dark is not dark
    assert opened.settings.text("theme") == ("light" if dark else "dark")
    press(opened, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    assert opened.theme.colours.dark is dark


def test_problems_are_counted_and_shown(opened: MainWindow) -> None:
    assert opened.status.problems.text() == "1 problem"
    click(opened.status.problems)
    assert opened.docks.panel("Problems").seen


def test_the_layout_is_remembered(opened: MainWindow, qtbot: QtBot) -> None:
    opened.docks.workspaces["Read"].docks["Message"].hide()
    opened.docks.choose("Compact")
    opened.close()
    again = MainWindow(opened.theme, opened.settings)
    again.workbench.open(session())
    again.show()
    try:
        qtbot.waitUntil(lambda: again.workbench.state.session is not None and not again.bridge.busy)
        assert again.docks.current.name == "Read", (
            "the layouts are remembered, the workspace is not"
        )
        message = again.docks.workspaces["Read"].docks["Message"]
        assert not message.isVisible()
        again.docks.reset()
        assert message.isVisible()
    finally:
        again.close()
        again.deleteLater()


# -- safety --------------------------------------------------------------------------------------------------------


def test_no_label_interprets_text(opened: MainWindow) -> None:
    labels = opened.findChildren(QLabel)
    assert len(labels) > 10
    assert [label.text() for label in labels if label.textFormat() != Qt.TextFormat.PlainText] == []


def test_everything_that_can_have_the_focus_has_a_name(opened: MainWindow) -> None:
    reachable = (widget for widget in opened.findChildren(QToolButton) if widget.isVisible())
    assert [widget for widget in reachable if not (widget.accessibleName() or widget.text())] == []


def test_compaction_key_when_at_the_last_request_goes_to_the_compaction(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(lambda: bench.state.drops is not None and bench.state.opening is None)
    assert bench.state.at == 131
    press(window, Qt.Key.Key_C)
    assert bench.state.at == 79


def test_compaction_key_when_there_is_no_compaction_says_so(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    window.open_path(str(payload(tmp_path / "body.json")))
    qtbot.waitUntil(
        lambda: window.workbench.state.drops is not None and window.workbench.state.opening is None
    )
    for key in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier):
        window.notice.hide()
        press(window, Qt.Key.Key_C, key)
        assert window.notice.isVisible()
        assert window.notice.words.text() == "This conversation has no compaction."


def test_error_when_it_begins_with_a_file_name_keeps_its_spelling(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.jsonl").write_text("")
    window.open_path("empty.jsonl")
    qtbot.waitUntil(lambda: window.notice.isVisible() and window.workbench.state.opening is None)
    assert window.notice.words.text().startswith("empty.jsonl is empty")
    window.open_path(str(tmp_path / "none.jsonl"))
    qtbot.waitUntil(lambda: window.notice.words.text().startswith("There is no file"))


def test_read_when_a_trace_has_no_model_call_says_why_it_is_empty(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    span = {
        "name": "search",
        "parent_id": None,
        "start_time": 1,
        "end_time": 2,
        "attributes": {"agent": "A"},
    }
    spans = [{**span, "context": {"trace_id": "t" * 32, "span_id": f"{n:016x}"}} for n in range(3)]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"spans": spans}))
    window.open_path(str(path))
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and not window.bridge.busy)
    reason = "None of the 3 spans is a call of a model"
    assert reason in buffer_of(window).view.empty
    message = window.docks.panel("Message")
    assert any(
        reason in words.text() for words in message.findChildren(QLabel) if words.isVisible()
    )
    cards = window.docks.panel("At a glance").findChildren(AnswerCard)
    assert len(cards) == 3
    assert all(card.answer is not None for card in cards)
