"""Following in the window: new requests come, the playhead stays where the user put it, and it ends when it should."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from inspector.gui.window import MainWindow
from tests.gui.hands import click
from tests.transcripts.made import lines_of, record, write

Until = Callable[[Callable[[], object]], None]


@pytest.fixture
def until(qtbot: QtBot) -> Until:
    return lambda condition: qtbot.waitUntil(lambda: bool(condition()))


def requests(window: MainWindow) -> int:
    session = window.workbench.state.session
    return len(session.main.requests) if session else 0


def following(window: MainWindow) -> str:
    return window.workbench.state.following


def append(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.writelines(lines)


@pytest.fixture
def opened(window: MainWindow, until: Until, tmp_path: Path) -> Path:
    path = write(tmp_path, lines_of(8))
    window.open_path(str(path))
    until(lambda: requests(window) == 4 and not window.bridge.busy)
    return path


def test_new_requests_come_and_the_end_is_followed(
    window: MainWindow, opened: Path, until: Until
) -> None:
    bench = window.workbench
    click(window.top.follow)
    assert bench.state.following == "file"
    assert window.top.follow.isChecked()
    assert window.status.words.text().startswith("following · ")
    append(opened, record(8), record(9)[:50])
    append(opened, record(9)[50:])
    until(lambda: requests(window) == 5)
    assert bench.state.at == 4
    assert bench.state.pressures is not None
    assert len(bench.state.pressures) == 5
    bench.move(1)
    append(opened, record(10), record(11))
    until(lambda: requests(window) == 6)
    assert bench.state.at == 1  # where the user put it
    bench.last()
    append(opened, record(12), record(13))
    until(lambda: requests(window) == 7)
    assert bench.state.at == 6


def test_it_ends_by_the_button_by_another_and_by_closing(
    window: MainWindow, opened: Path, until: Until, tmp_path: Path
) -> None:
    bench = window.workbench
    click(window.top.follow)
    click(window.top.follow)
    assert bench.state.following == ""
    until(lambda: not window.bridge.busy)
    assert "following" not in window.status.words.text()
    append(opened, record(8), record(9))
    window.follow_session()
    until(lambda: requests(window) == 5)
    window.open_path(str(write(tmp_path, lines_of(2), "other.jsonl")))
    assert bench.state.following == ""
    until(lambda: requests(window) == 1 and not window.bridge.busy)
    window.follow_session()
    window.close_session()
    until(lambda: not window.bridge.busy)
    assert bench.state.session is None
    assert bench.state.following == ""


def test_the_window_closes_while_it_follows(window: MainWindow, opened: Path, until: Until) -> None:
    window.follow_session()
    window.close()
    append(opened, record(8), record(9))
    assert requests(window) == 4


def test_the_newest_of_the_project(
    window: MainWindow, opened: Path, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "claude"
    folder = home / "projects" / "-home-dev-project"
    folder.mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    one = write(folder, lines_of(2), "one.jsonl")
    window.follow_project()
    until(lambda: requests(window) == 1)
    assert "newest session of this project" in window.status.words.text()
    append(one, record(2), record(3))
    until(lambda: requests(window) == 2)
    two = write(folder, [record(n, session="s2") for n in range(6)], "two.jsonl")
    until(lambda: requests(window) == 3)
    assert window.workbench.state.session.path == str(two)  # type: ignore[union-attr]
    assert following(window) == "project"
    click(window.top.follow)
    assert following(window) == ""
    until(lambda: not window.bridge.busy)


def test_a_file_that_cannot_be_followed_is_told(
    window: MainWindow, opened: Path, until: Until
) -> None:
    opened.unlink()
    window.follow_session()
    until(lambda: window.workbench.state.failure)
    assert "no file" in window.workbench.state.failure
    assert window.workbench.state.following == ""


def test_the_file_is_not_read_a_second_time(window: MainWindow, opened: Path, until: Until) -> None:
    before = window.workbench.state.session
    assert before is not None
    window.follow_session()
    append(opened, record(8), record(9))
    until(lambda: requests(window) == 5)
    after = window.workbench.state.session
    assert after is not None
    assert after.main.requests[0] is before.main.requests[0]  # opening's reader goes on
    window.follow_session()
    until(lambda: not window.bridge.busy)
    window.follow_session()  # once more: that reader has been used, so it is read anew
    append(opened, record(10), record(11))
    until(lambda: requests(window) == 6)


def test_notice_when_the_followed_file_is_back_goes_away(
    window: MainWindow, opened: Path, until: Until
) -> None:
    window.follow_session()
    append(opened, record(8), record(9))
    until(lambda: requests(window) == 5)
    data = opened.read_bytes()
    opened.unlink()
    until(lambda: "no longer exists" in window.notice.words.text() and window.notice.isVisible())
    assert requests(window) == 5
    opened.write_bytes(data)
    until(lambda: window.notice.words.text() == f"{opened} is back and is followed again.")
    assert window.workbench.state.failure == ""
    append(opened, record(10), record(11))
    until(lambda: requests(window) == 6)
    assert following(window) == "file"
    assert "no longer exists" not in window.notice.words.text()


def test_notice_when_the_followed_file_is_truncated_says_so(
    window: MainWindow, opened: Path, until: Until
) -> None:
    window.follow_session()
    append(opened, record(8), record(9))
    until(lambda: requests(window) == 5)
    opened.write_bytes(record(0) + record(1))
    until(lambda: requests(window) == 1)
    until(
        lambda: (
            window.notice.isVisible() and f"{opened} was truncated" in window.notice.words.text()
        )
    )
    assert window.workbench.state.failure == ""
