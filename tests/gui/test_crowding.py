"""Every workspace and panel, in windows of three sizes, with letters of 9 to 16 points: all can be read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication, QHBoxLayout, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from inspector.gui.look.fonts import ui_font
from inspector.gui.look.theme import Theme
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow
from inspector.gui.workspace import WORKSPACES
from inspector.resources import resource
from tests.gui.crowding import crowded
from tests.gui.drawn import drawn, painted_over
from tests.gui.hands import click

SIZES = {"small": (1280, 800), "middle": (1440, 900), "large": (1920, 1080)}
REAL = {
    "claude-code": "derived-merged/entireio+cli/*.jsonl",
    "codex": "codex/EntityProcess+agentv/79/*/0/full.jsonl",
    "pi": "pi/**/*.jsonl",
}


@contextmanager
def shown(path: Path, size: str, points: float, qtbot: QtBot, folder: Path) -> Iterator[MainWindow]:
    """A new window of that size on a machine with letters of that size, with a transcript in it."""
    QApplication.setFont(ui_font(points))
    settings = Settings(QSettings(str(folder / "crowding.ini"), QSettings.Format.IniFormat))
    window = MainWindow(Theme(QApplication.instance(), settings), settings)  # type: ignore[arg-type]
    window.resize(*SIZES[size])
    window.show()
    try:
        qtbot.waitExposed(window)
        assert not crowded(window), "the page of an empty window"
        window.open_path(str(path))
        state = window.workbench
        qtbot.waitUntil(lambda: state.state.session is not None and state.state.opening is None and window.docks.ready)
        yield window
    finally:
        window.close()
        window.deleteLater()


def unreadable(window: MainWindow, qtbot: QtBot, patch: pytest.MonkeyPatch) -> list[str]:
    """In the workspace that is shown, as soon as it stands still."""
    for _ in range(8):  # what is worked out a moment later comes into a panel that is laid out anew
        qtbot.wait(60)
        qtbot.waitUntil(lambda: not window.bridge.busy)
        if not (found := [*crowded(window), *painted_over(window, patch)]):
            break
    return found


def cramped(window: MainWindow, qtbot: QtBot, patch: pytest.MonkeyPatch) -> list[str]:
    """What cannot be read, in whichever workspace and panel."""
    found = list[str]()
    for name in WORKSPACES:
        window.choose_workspace(name)
        for title in ("", *(one for one in window.docks.titles if window.docks.home(one) == name)):
            if title:
                window.show_panel(title)
            found += (f"{name}, {title}: {line}" for line in unreadable(window, qtbot, patch))
    return found


@pytest.mark.parametrize(
    ("size", "points"), [("small", 9), ("small", 16), ("middle", 12), ("large", 10), ("large", 16)]
)
def test_all_of_the_sample_can_be_read(
    application: QApplication, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str, points: int
) -> None:
    with shown(resource("sample.jsonl"), size, points, qtbot, tmp_path) as window:
        assert not cramped(window, qtbot, monkeypatch)


@pytest.mark.parametrize(("size", "points"), [("small", 9), ("small", 16), ("middle", 12)])
def test_tables_that_are_filled_can_be_read(
    application: QApplication, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str, points: int
) -> None:
    """Where a compaction was stepped, and policies were compared."""
    with shown(resource("sample.jsonl"), size, points, qtbot, tmp_path) as window:
        window.workbench.previous_compaction()
        found = list[str]()
        for title in ("Lost", "Pins", "Events", "Compactions", "Diff", "Steps", "Cost"):
            window.show_panel(title)
            found += (f"{title}: {line}" for line in unreadable(window, qtbot, monkeypatch))
        lost: Any = window.docks.panels["Lost"]
        assert lost.table.rows
        window.show_panel("Compare")
        compare: Any = window.docks.panels["Compare"]
        click(compare.bar.button)
        qtbot.waitUntil(lambda: compare.table.model().rowCount() > 0 and not window.bridge.busy)
        found += (f"Compare: {line}" for line in unreadable(window, qtbot, monkeypatch))
        assert not found


@pytest.mark.parametrize(
    ("kind", "size", "points"), [("claude-code", "small", 12), ("codex", "middle", 14), ("pi", "large", 9)]
)
def test_all_of_a_real_session_can_be_read(
    application: QApplication,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shared: Path,
    kind: str,
    size: str,
    points: int,
) -> None:
    paths = sorted(shared.glob(REAL[kind]))
    if not paths:
        pytest.skip("no such session on this machine")
    with shown(max(paths, key=lambda path: path.stat().st_size), size, points, qtbot, tmp_path) as window:
        assert not cramped(window, qtbot, monkeypatch)


def test_painted_words_without_room_are_found(
    application: QApplication, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shown(resource("sample.jsonl"), "small", 10, qtbot, tmp_path) as window:
        gauge: Any = window.docks.panels["Pressure"]
        qtbot.waitUntil(lambda: window.workbench.state.pressures is not None and not window.bridge.busy)
        assert not list(painted_over(gauge, monkeypatch))
        assert "84% compact" in {one.words for one in drawn(gauge.tank, monkeypatch)}
        gauge.tank.setFixedWidth(130)
        gauge.legend.setFixedWidth(60)
        found = "\n".join(painted_over(gauge, monkeypatch))
        assert "Tank: 'answer reserve'" in found
        assert "Legend: 'tool results' on '71,133'" in found


def test_what_is_cut_or_covered_is_found(application: QApplication, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    box = QHBoxLayout(window)
    one, other = QPushButton("A button with a long text"), QPushButton("Another")
    box.addWidget(one)
    box.addWidget(other)
    window.show()
    assert not crowded(window)
    one.setFixedWidth(40)
    other.setGeometry(one.geometry())
    found = "\n".join(crowded(window))
    assert "'A button with a long text' 40 <" in found
    assert "over" in found
