"""What takes longer than a moment is named, and can be cancelled and begun again."""

from threading import Event

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from inspector.core.findings.search import find_text
from inspector.core.heavy import checkpoint, with_checkpoints
from inspector.core.replay.pins import collect_pins
from inspector.gui.bridge import Task
from inspector.gui.window import MainWindow
from inspector.gui.work_notice import describe_work
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from tests.gui.hands import click


def test_long_work_when_it_is_cancelled_ends_and_is_offered_again(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.open_sample()
    qtbot.waitUntil(lambda: window.workbench.state.opening is None and window.docks.ready)
    window.show_panel("Cost")
    panel = window.docks.panel("Cost")
    qtbot.waitUntil(lambda: panel.shown is not None and not window.bridge.busy)
    qtbot.waitUntil(window.work.isHidden)
    height = window.status.height()
    ended = Event()

    def wait(task: Task) -> None:
        while not task.cancelled():
            task.rest(0.01)
        ended.set()

    panel.desk.bridge.run(wait, lambda _: None)
    qtbot.waitUntil(window.work.isVisible)
    qtbot.waitUntil(lambda: window.work.height() > 0)
    assert window.status.height() == height, "else every panel is laid out and painted again"
    assert window.work.words.text().startswith("Working on Cost")
    click(window.work.stop)
    assert ended.wait(10)
    assert window.work.isHidden()
    assert panel.cover is not None
    assert panel.cover.words.text() == "Cost: the work was cancelled."
    again = panel.cover.again
    assert isinstance(again, QPushButton)
    again.setFocus(Qt.FocusReason.TabFocusReason)
    click(again)
    qtbot.waitUntil(lambda: panel.cover is None and not window.bridge.busy)
    assert panel.figures is not None  # type: ignore[attr-defined]


def test_work_when_its_loops_know_their_length_says_how_far_it_is(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.open_sample()
    qtbot.waitUntil(lambda: window.workbench.state.opening is None and window.docks.ready)
    panel = window.docks.panel("Buffer")
    qtbot.waitUntil(lambda: not window.bridge.busy)
    ended = Event()

    def work(task: Task) -> None:
        for done in (*range(9), 2):
            checkpoint(done, 10)
        ended.wait(10)

    task = panel.desk.bridge.run(work, lambda _: None)
    qtbot.waitUntil(lambda: task.step == 2)
    assert describe_work([task]) == "Working on Buffer (step 2, 20% done)"
    ended.set()


def test_passes_over_a_session_when_they_run_say_how_far_they_are() -> None:
    thread = open_transcript(resource("sample.jsonl")).main
    for work in (collect_pins, lambda thread: find_text(thread, "ledger")):
        shares = list[float]()

        def note(done: int, total: int, shares: list[float] = shares) -> None:
            if total:
                shares.append(done / total)

        with with_checkpoints(note):
            work(thread)
        assert len(shares) > 50
        assert max(shares) > 0.9
