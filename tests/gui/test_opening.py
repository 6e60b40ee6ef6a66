"""Opening: off the GUI thread, the first picture early, stopped at once; and what the bridge promises."""

import gc
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event, current_thread, main_thread

import pytest
from pytestqt.qtbot import QtBot

from inspector.core.errors import Cancelled, InspectorError, NothingToRead
from inspector.core.message import Message
from inspector.core.session import BEGINS_LATE, Session
from inspector.gui import opening
from inspector.gui.bridge import Bridge, Task
from inspector.gui.panels.lists.sessions import SessionsPanel
from inspector.gui.window import MainWindow
from inspector.gui.workspace import WORKSPACES
from inspector.resources import resource
from inspector.transcripts.files import TranscriptReading, open_transcript
from tests.core.formats.feeding import DATA
from tests.gui.gaps import many_records
from tests.gui.hands import click, double_click
from tests.gui.made import payload, session


class Slow:
    """An `open_transcript` that shows a first picture and then waits to be let on or stopped."""

    def __init__(self) -> None:
        self.on = Event()
        self.ended = Event()
        self.thread = ""

    def __call__(
        self,
        path: Path,
        *,
        progress: Callable[[int, int], None],
        first: Callable[[Session], None],
        cancelled: Callable[[], bool],
        keep: Callable[[TranscriptReading], None],
    ) -> Session:
        self.thread = current_thread().name
        progress(5_000_000, 20_000_000)
        first(session(4, path=""))
        try:
            while not self.on.wait(0.01):
                if cancelled():
                    raise Cancelled("stopped")
        finally:
            self.ended.set()
        return session(12, path=str(path))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    made = Slow()
    monkeypatch.setattr(opening, "open_transcript", made)
    return made


def test_the_first_requests_come_before_the_rest(
    window: MainWindow, slow: Slow, qtbot: QtBot
) -> None:
    bench = window.workbench
    window.open_path("/made/long.jsonl")
    qtbot.waitUntil(lambda: bench.state.session is not None)
    assert slow.thread != main_thread().name
    assert len(bench.state.session.main.requests) == 4  # type: ignore[union-attr]
    assert bench.state.at == 3
    qtbot.waitUntil(lambda: window.notice.words.text() == "Reading long.jsonl · 5 of 20 MB")
    assert window.notice.isVisible()
    assert window.notice.bar.share == 0.25
    bench.move(1)
    bench.select("main-u")
    slow.on.set()
    qtbot.waitUntil(lambda: bench.state.opening is None)
    assert len(bench.state.session.main.requests) == 12  # type: ignore[union-attr]
    assert (bench.state.at, bench.state.selected) == (1, "main-u")
    assert not window.notice.isVisible()


def test_who_has_not_walked_stands_at_the_end(window: MainWindow, slow: Slow, qtbot: QtBot) -> None:
    window.open_path("/made/long.jsonl")
    qtbot.waitUntil(lambda: window.workbench.state.session is not None)
    slow.on.set()
    qtbot.waitUntil(lambda: window.workbench.state.opening is None)
    assert window.workbench.state.at == 11


def test_cancel_stops_the_reading_and_keeps_the_picture(
    window: MainWindow, slow: Slow, qtbot: QtBot
) -> None:
    window.open_path("/made/long.jsonl")
    qtbot.waitUntil(lambda: window.workbench.state.session is not None)
    click(window.notice.button)
    assert window.workbench.state.opening is None
    assert slow.ended.wait(60)
    assert not window.notice.isVisible()
    qtbot.waitUntil(lambda: not window.bridge.busy)
    assert len(window.workbench.state.session.main.requests) == 4  # type: ignore[union-attr]
    assert window.workbench.state.failure == ""


def test_opening_another_stops_the_first(window: MainWindow, slow: Slow, qtbot: QtBot) -> None:
    window.open_path("/made/one.jsonl")
    qtbot.waitUntil(lambda: window.workbench.state.session is not None)
    window.open_path("/made/two.jsonl")
    assert slow.ended.wait(60)
    slow.on.set()
    qtbot.waitUntil(lambda: window.workbench.state.opening is None and not window.bridge.busy)
    assert window.workbench.state.session.path == "/made/two.jsonl"  # type: ignore[union-attr]
    assert window.settings.recents() == ("/made/two.jsonl",)


def test_a_real_file_through_all_layers(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    words = ["one", "two", "three"]
    body = {"model": "m", "messages": [{"role": "user", "content": word} for word in words]}
    path = tmp_path / "body.json"
    path.write_text(json.dumps(body))
    window.open_path(str(path))
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and not window.bridge.busy)
    assert [message.text for message in window.workbench.state.buffer().messages] == words
    assert "unknown" in window.top.limit.text()


# -- the bridge ----------------------------------------------------------------------------------------------------


@pytest.fixture
def bridge(application: object) -> Bridge:
    return Bridge()


def test_results_and_reports_come_home_in_order(bridge: Bridge, qtbot: QtBot) -> None:
    seen: list[tuple[object, bool]] = []

    def job(task: Task) -> str:
        task.report(1)
        task.report(2)
        return "done"

    def note(value: object) -> None:
        seen.append((value, current_thread() is main_thread()))

    bridge.run(job, note, reported=note)
    qtbot.waitUntil(lambda: not bridge.busy)
    assert seen == [(1, True), (2, True), ("done", True)]


def test_a_job_waits_until_this_thread_is_done_with_what_it_is_at(
    bridge: Bridge, qtbot: QtBot
) -> None:
    """They share one interpreter: else every call of Qt meanwhile waits for the job's turn."""
    began, told = Event(), list[str]()
    bridge.run(lambda task: began.set(), lambda _: told.append("kept"))
    dropped = bridge.run(lambda task: pytest.fail("not begun"), lambda _: None)
    dropped.cancel()
    assert bridge.busy
    assert not began.wait(0.05)
    qtbot.waitUntil(lambda: not bridge.busy)
    assert told == ["kept"]


def test_an_expected_failure_is_told(bridge: Bridge, qtbot: QtBot) -> None:
    told: list[InspectorError] = []

    def job(task: Task) -> None:
        raise NothingToRead("it is empty")

    bridge.run(job, lambda _: pytest.fail("no result"), told.append)
    qtbot.waitUntil(lambda: not bridge.busy)
    assert [str(error) for error in told] == ["it is empty"]


def test_a_bug_in_a_job_reaches_the_hook(bridge: Bridge, qtbot: QtBot) -> None:
    def job(task: Task) -> None:
        raise KeyError("oops")

    with qtbot.captureExceptions() as caught:
        bridge.run(job, lambda _: None, lambda _: pytest.fail("not expected"))
        qtbot.waitUntil(lambda: not bridge.busy)
    assert [kind for kind, _, _ in caught] == [KeyError]


def test_nothing_arrives_after_a_cancel(bridge: Bridge, qtbot: QtBot) -> None:
    go = Event()

    def job(task: Task) -> str:
        go.wait(5)
        task.report("late")
        return "late"

    task = bridge.run(
        job, lambda _: pytest.fail("result"), reported=lambda _: pytest.fail("report")
    )
    task.cancel()
    go.set()
    qtbot.waitUntil(lambda: not bridge.busy)


def test_sessions_are_let_go_when_others_were_opened(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    """What is remembered of a session (sizes, previews) must not keep every one of a day in memory."""
    names = [f"session{n}" for n in range(8)]
    for name in names:
        path = tmp_path / f"{name}.json"
        body = {
            "model": "m",
            "messages": [{"role": "user", "content": f"{name} {n}"} for n in range(9)],
        }
        path.write_text(json.dumps(body))
        window.open_path(str(path))
        qtbot.waitUntil(partial(_shows, window, path.name))
    gc.unfreeze()
    gc.collect()
    alive = {one.text.partition(" ")[0] for one in gc.get_objects() if isinstance(one, Message)}
    assert len(alive & set(names)) <= 4


def test_sessions_that_are_closed_are_let_go(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    """Four of them, each shown in every workspace: of three nothing is left, and no circle waits for a collector."""
    path, left = many_records(tmp_path / "many.jsonl", 300), list[int]()
    qtbot.waitUntil(lambda: window.docks.ready)
    for _ in range(4):
        window.open_path(str(path))
        qtbot.waitUntil(lambda: window.workbench.state.session is not None)
        for name in WORKSPACES:
            qtbot.waitUntil(lambda: not window.bridge.busy)
            window.docks.choose(name)
            window.workbench.move(30)
        qtbot.waitUntil(lambda: not window.bridge.busy)
        window.close_session()
        qtbot.waitUntil(lambda: not window.bridge.busy)
        gc.unfreeze()
        left.append(sum(isinstance(one, Message) for one in gc.get_objects()))
    assert left[-1] - left[0] < 30, left


def _shows(window: MainWindow, name: str) -> bool:
    return window.windowTitle().startswith(name) and not window.bridge.busy


def test_a_log_with_many_samples_asks_which(window: MainWindow, qtbot: QtBot) -> None:
    """The first one is shown, the others are listed, and a double click opens one."""
    log = DATA / "harnesses" / "inspect.json"
    window.open_path(str(log))
    qtbot.waitUntil(
        lambda: "Sessions" in window.docks.panels and window.docks.panel("Sessions").seen
    )
    panel = window.docks.panel("Sessions")
    assert isinstance(panel, SessionsPanel)
    qtbot.waitUntil(
        lambda: (
            [row.name for row in panel.table.rows[:2]]
            == ["1_epoch_1  Question 1", "2_epoch_1  Question 2"]
        )
    )
    assert "; the 2 of the open file come first" in panel.says.text()
    row = panel.table.visualRect(panel.table.model().index(1, 0))
    click(panel.table.viewport(), row.center())
    double_click(panel.table.viewport(), row.center())
    qtbot.waitUntil(lambda: shown(window).path == f"{log}#2_epoch_1")
    assert "What stands at x? (2)" in shown(window).main.messages[0].text


def shown(window: MainWindow) -> Session:
    return window.workbench.state.session or Session("")


def test_note_when_another_file_is_opened_says_that_the_steps_are_kept(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    sample, other = resource("sample.jsonl"), payload(tmp_path / "other.json")

    def opened(path: Path) -> None:
        window.open_path(str(path))
        state = window.workbench
        qtbot.waitUntil(lambda: state.state.is_open(str(path)) and state.state.opening is None)
        qtbot.waitUntil(lambda: not window.bridge.busy)

    opened(sample)
    window.workbench.stepping.choose(policy="roku")
    window.workbench.stepping.step("L0")
    qtbot.waitUntil(lambda: window.workbench.state.stepped)
    opened(other)
    assert window.notice.isVisible()
    assert window.notice.words.text().startswith(
        "Kept 1 step on sample.jsonl until the program ends."
    )
    assert window.notice.property("bad") is False
    click(window.notice.button)
    assert not window.notice.isVisible()
    opened(sample)
    assert window.workbench.state.stepped
    assert window.notice.words.text() == "Restored 1 step on sample.jsonl."


def test_a_file_that_begins_in_the_middle_when_open_says_so_below_every_workspace(
    window: MainWindow, qtbot: QtBot
) -> None:
    for name, is_late in (("suffix.jsonl", True), ("plain.jsonl", False)):
        window.workbench.open(open_transcript(DATA / "claude_code" / name))
        qtbot.waitUntil(lambda: not window.bridge.busy)
        assert ("begins in the middle" in window.status.words.text()) is is_late
        assert (BEGINS_LATE in window.status.words.toolTip()) is is_late
