"""Every workspace and panel, in windows of three sizes, with letters of 9 to 16 points: all can be read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
        window.open_path(str(path))
        state = window.workbench
        qtbot.waitUntil(lambda: state.state.session is not None and state.state.opening is None and window.docks.ready)
        yield window
    finally:
        window.close()
        window.deleteLater()


def cramped(window: MainWindow, qtbot: QtBot) -> list[str]:
    """What cannot be read, in whichever workspace and panel."""
    found = list[str]()
    for name in WORKSPACES:
        window.choose_workspace(name)
        for title in ("", *(one for one in window.docks.titles if window.docks.home(one) == name)):
            if title:
                window.show_panel(title)
            for _ in range(8):  # what is worked out a moment later comes into a panel that is laid out anew
                qtbot.wait(60)
                qtbot.waitUntil(lambda: not window.bridge.busy)
                if not crowded(window):
                    break
            found += (f"{name}, {title}: {line}" for line in crowded(window))
    return found


@pytest.mark.parametrize(
    ("size", "points"), [("small", 9), ("small", 16), ("middle", 12), ("large", 10), ("large", 16)]
)
def test_all_of_the_sample_can_be_read(
    application: QApplication, qtbot: QtBot, tmp_path: Path, size: str, points: int
) -> None:
    with shown(resource("sample.jsonl"), size, points, qtbot, tmp_path) as window:
        assert not cramped(window, qtbot)


@pytest.mark.parametrize(
    ("kind", "size", "points"), [("claude-code", "small", 12), ("codex", "middle", 14), ("pi", "large", 9)]
)
def test_all_of_a_real_session_can_be_read(
    application: QApplication, qtbot: QtBot, tmp_path: Path, shared: Path, kind: str, size: str, points: int
) -> None:
    paths = sorted(shared.glob(REAL[kind]))
    if not paths:
        pytest.skip("no such session on this machine")
    with shown(max(paths, key=lambda path: path.stat().st_size), size, points, qtbot, tmp_path) as window:
        assert not cramped(window, qtbot)


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
