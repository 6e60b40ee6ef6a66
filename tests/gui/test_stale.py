"""Nothing that is shown is stale: one panel that fails starves no other, and says so itself."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from inspector.core.errors import InspectorError
from inspector.gui import opening
from inspector.gui.desk import Desk
from inspector.gui.dialogs import ask
from inspector.gui.panels.calibration.panel import CalibrationPanel
from inspector.gui.panels.catalogue import PANELS
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.steps import files as steps_files
from inspector.gui.window import MainWindow
from inspector.transcripts.saving import save_text
from inspector.workbench import analysis as analysis_module
from inspector.workbench.state import State
from inspector.workbench.workbench import Workbench
from tests.gui.made import payload, session
from tests.gui.thrown import Thrown, thrown_in
from tests.transcripts.made import lines_of, write

Until = Callable[[Callable[[], object]], None]


@pytest.fixture
def until(qtbot: QtBot) -> Until:
    return lambda condition: qtbot.waitUntil(lambda: bool(condition()))


def fall(*arguments: object, **more: object) -> None:
    raise Thrown


def _tells(window: MainWindow, word: str) -> bool:
    return word in window.workbench.state.failure


def covered(panel: Panel) -> bool:
    return panel.cover is not None


def idle(window: MainWindow) -> bool:
    state = window.workbench.state
    return state.session is not None and state.opening is None and not window.bridge.busy


@pytest.fixture
def opened(window: MainWindow, until: Until) -> MainWindow:
    window.open_sample()
    until(lambda: idle(window))
    return window


def test_a_panel_knows_what_is_another(desk: Desk, qtbot: QtBot) -> None:
    """Objects by what they are, however alike; words, numbers and tuples by what they say."""
    panel = CalibrationPanel(desk)
    qtbot.addWidget(panel)
    one, alike = [1], [1]
    assert panel.is_new("rows", one, "a", (1, 2))
    assert not panel.is_new("rows", one, "".join(["a"]), (1, 2))
    assert panel.is_new("rows", alike, "a", (1, 2))
    assert panel.is_new("rows", alike, "b", (1, 2))
    assert panel.is_new("rows", alike, "b", (1, 3))
    assert panel.is_new("title", alike, "b", (1, 3))


def test_a_panel_that_fails_says_so_and_starves_no_other(
    opened: MainWindow, until: Until, qtbot: QtBot, tmp_path: Path
) -> None:
    for number, (*_, kind) in enumerate(PANELS):
        _one_fails(opened, until, qtbot, payload(tmp_path / f"next-{number}.json"), kind)


def _one_fails(
    window: MainWindow, until: Until, qtbot: QtBot, following: Path, kind: type[Panel]
) -> None:
    """This kind of panel throws while the next file opens."""
    broken = window.docks.panel(kind.TITLE)
    window.docks.bring(kind.TITLE)
    until(lambda: broken.isVisible() and idle(window))
    with qtbot.captureExceptions() as caught, thrown_in(kind.show_state):
        window.open_path(str(following))
        until(lambda: window.windowTitle().startswith(following.name) and idle(window))
        assert broken.cover is not None
        assert broken.cover.isVisible()
        assert broken.cover.geometry() == broken.rect()
        assert kind.TITLE in broken.cover.words.text()
    assert {kind for kind, _, _ in caught} == {Thrown}
    others = [one for one in window.docks.panels.values() if one is not broken]
    assert [one.TITLE for one in others if one.cover is not None] == []
    window.workbench.move(0)
    window.workbench.set_window(77_000)
    assert not covered(broken)
    until(lambda: idle(window))


def test_a_job_of_a_panel_that_fails_is_said_over_it(
    opened: MainWindow, until: Until, qtbot: QtBot
) -> None:
    diff = opened.docks.panel("Diff")

    with qtbot.captureExceptions() as caught:
        diff.desk.bridge.run(fall, lambda _: None)
        until(lambda: diff.cover is not None)
    assert [kind for kind, _, _ in caught] == [Thrown]
    assert [one.TITLE for one in opened.docks.panels.values() if one.cover is not None] == ["Diff"]


# -- the order of states -------------------------------------------------------------------------------------------


def test_a_change_made_while_a_state_is_told_comes_after_it() -> None:
    bench = Workbench()
    bench.open(session(6, path="six.jsonl"))
    first: list[int | None] = []
    second: list[int | None] = []

    def walks(state: State) -> None:
        first.append(state.at)
        if state.at == 2:
            bench.move(4)

    bench.subscribe(walks)
    bench.subscribe(lambda state: second.append(state.at))
    bench.move(2)
    assert first == [5, 2, 4]
    assert second == [5, 2, 4]
    assert bench.state.at == 4


def test_a_subscriber_that_fails_keeps_nothing_from_the_others() -> None:
    bench = Workbench()
    told: list[int | None] = []

    def falls(state: State) -> None:
        if state.at == 1:
            raise Thrown

    bench.subscribe(falls)
    bench.subscribe(lambda state: told.append(state.at))
    bench.open(session(4, path="four.jsonl"))
    with pytest.raises(Thrown):
        bench.move(1)
    bench.move(2)
    assert told[-2:] == [1, 2]


# -- failures ------------------------------------------------------------------------------------------------------


def test_opening_ends_whatever_fails_while_reading(
    window: MainWindow, until: Until, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "open_transcript", fall)
    with qtbot.captureExceptions() as caught:
        window.open_path("/made/broken.jsonl")
        until(lambda: window.workbench.state.opening is None)
    assert [kind for kind, _, _ in caught] == [Thrown]
    assert window.notice.words.text().startswith("Cannot show broken.jsonl: something went wrong")


def test_opening_ends_whatever_fails_while_weighing(
    opened: MainWindow, until: Until, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis_module, "analyse", fall)
    with qtbot.captureExceptions() as caught:
        opened.open_path(str(payload(tmp_path / "next.json")))
        until(lambda: opened.workbench.state.opening is None and not opened.bridge.busy)
    assert {kind for kind, _, _ in caught} <= {Thrown}
    assert opened.workbench.state.failure.startswith("Cannot show next.json")
    assert opened.notice.isVisible()


def test_a_followed_file_that_vanishes_or_turns_to_garbage_says_so(
    window: MainWindow, until: Until, tmp_path: Path
) -> None:
    path = write(tmp_path, lines_of(8))
    whole = path.read_bytes()
    window.follow_path(str(path))
    until(lambda: window.workbench.state.session is not None and not window.workbench.state.failure)
    for break_it, word in (
        (path.unlink, "no longer exists"),
        (
            lambda: path.write_bytes(b"\x00\xffnothing that is a transcript\n" * 9),
            "unrecognised file format",
        ),
        (lambda: path.write_bytes(b""), "empty"),
    ):
        break_it()
        until(partial(_tells, window, word))
        assert str(path) in window.notice.words.text()
        assert window.workbench.state.following == "file"
        path.write_bytes(whole)
        until(lambda: not window.workbench.state.failure)


def test_a_save_that_fails_names_the_file(tmp_path: Path) -> None:
    nowhere = tmp_path / "no folder" / "buffer.json"
    for path, text in (
        (nowhere, "text"),
        (tmp_path, "text"),
        (tmp_path / ("n" * 300), "text"),
        (tmp_path / "surrogate.json", "\ud800"),
        (tmp_path / "nul\0.json", "text"),
    ):
        with pytest.raises(InspectorError, match="cannot be written") as caught:
            save_text(text, str(path), force=True)
        assert str(path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_save_that_fails_in_the_window_names_the_file(
    opened: MainWindow, until: Until, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = opened.docks.panel("Steps")
    monkeypatch.setattr(
        ask, "ask_new_file", lambda *_, **_named: str(tmp_path / "gone" / "buffer.json")
    )
    steps.files.export_buffer("anthropic")  # type: ignore[attr-defined]
    until(lambda: str(tmp_path / "gone" / "buffer.json") in opened.notice.words.text())
    monkeypatch.setattr(ask, "ask_new_file", lambda *_, **_named: str(tmp_path / "buffer.json"))
    monkeypatch.setattr(steps_files, "buffer_text", fall)
    with qtbot.captureExceptions():
        steps.files.export_buffer("anthropic")  # type: ignore[attr-defined]
        until(lambda: "Cannot write buffer.json" in opened.notice.words.text())
    assert steps.cover is None
