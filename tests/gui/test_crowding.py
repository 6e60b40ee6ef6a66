"""Every workspace and panel, in windows of three sizes, with letters of 9 to 16 points: all can be read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QRect, QSettings
from PySide6.QtWidgets import QApplication, QHBoxLayout, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from inspector.gui.look.fonts import ui_font
from inspector.gui.look.theme import Theme
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow
from inspector.gui.workspace import PAGES, WORKSPACES
from inspector.resources import resource
from tests.gui.crowding import crowded, layout_of
from tests.gui.drawn import drawn, painted_over
from tests.gui.hands import click

SIZES = {"small": (1280, 800), "middle": (1440, 900), "large": (1920, 1080)}
REAL = {
    "claude-code": "claude-code/entireio+cli/*/*/0/full.jsonl",
    "codex": "codex/EntityProcess+agentv/79/*/0/full.jsonl",
    "pi": "pi/**/*.jsonl",
}

DATA = Path(__file__).parents[1] / "data"
LETTERS = (("small", 9), ("small", 16), ("middle", 16), ("large", 12.5))
"""Window sizes with font sizes in points; the second is the tightest."""
LOOKS = [
    (kind, *look)
    for kind, other in zip(REAL, (3, 2, 0), strict=True)
    for look in (LETTERS[1], LETTERS[other])
]
"""Each kind of session in the tightest look and in one other."""
OF_A_PLACE = WORKSPACES[:3]
"""Workspaces that show where we stand; the others show the whole session."""
LARGEST = 5_000_000
"""Bytes: larger ones look alike, and take longer."""


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
        qtbot.waitUntil(
            lambda: (
                state.state.session is not None
                and state.state.opening is None
                and window.docks.ready
            )
        )
        yield window
    finally:
        window.close()
        window.deleteLater()


def unreadable(
    window: MainWindow, qtbot: QtBot, patch: pytest.MonkeyPatch, within: QWidget | None = None
) -> list[str]:
    """List what cannot be read in the workspace that is shown, after its layout has settled."""
    part = within or window
    found = list[str]()
    for _ in range(4):
        settle(window, qtbot, part)
        if not (found := crowded(part)):
            break
    return [*found, *painted_over(part, patch)]


def settle(window: MainWindow, qtbot: QtBot, part: QWidget) -> None:
    """Wait until the layout no longer changes."""
    layout: list[tuple[int, QRect, str]] = []
    for _ in range(8):
        qtbot.wait(30)
        qtbot.waitUntil(lambda: not window.bridge.busy)
        former, layout = layout, layout_of(part)
        if former == layout:
            break


def compared(window: MainWindow, qtbot: QtBot) -> None:
    """The chosen policies stand side by side."""
    compare: Any = window.docks.panel("Compare")
    window.docks.choose("Compare")

    def is_complete() -> bool:
        if compare._found.missing and not compare._job.busy:
            click(compare.bar.button)  # it takes too long on this machine to start unasked
        return not compare._found.missing and not window.bridge.busy

    qtbot.waitUntil(is_complete)


def _show_sweep(window: MainWindow) -> None:
    compare: Any = window.docks.panel("Compare")
    if not compare.sweeping.isChecked():
        click(compare.sweeping)


def cramped(window: MainWindow, qtbot: QtBot, patch: pytest.MonkeyPatch) -> list[str]:
    """What cannot be read, in whichever workspace and panel: as each opens, and where a compaction is looked at."""
    found = list[str]()
    for place in ("at the end", "after a compaction"):
        if place != "at the end":
            window.workbench.previous_compaction()
        for name in (*WORKSPACES, *PAGES) if place == "at the end" else OF_A_PLACE:
            window.docks.choose(name)
            titles = [one for one in window.docks.titles if window.docks.home(one) == name]
            for title in titles if name in ("Read", "Compact") else titles[:1]:
                window.show_panel(title)
                if title == "Search":
                    window.ask_panel("Search", "test")  # a word that is found often
                if title == "Compare":
                    _show_sweep(window)
                # Gauge and timeline stay as they are.
                part = None if title == titles[0] else window.docks.current
                found += (
                    f"{name}, {title}, {place}: {line}"
                    for line in unreadable(window, qtbot, patch, part)
                )
        if not window.workbench.state.thread or not window.workbench.state.thread.compactions:
            break
    return list(dict.fromkeys(found))


@pytest.mark.parametrize(("size", "points"), LETTERS)
def test_all_of_the_sample_can_be_read(
    application: QApplication,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: str,
    points: float,
) -> None:
    with shown(resource("sample.jsonl"), size, points, qtbot, tmp_path) as window:
        compared(window, qtbot)
        assert not cramped(window, qtbot, monkeypatch)


@pytest.mark.parametrize(("kind", "size", "points"), LOOKS)
def test_all_of_a_real_session_can_be_read(
    application: QApplication,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shared: Path,
    kind: str,
    size: str,
    points: float,
) -> None:
    paths = sorted(shared.glob(REAL[kind])) or sorted(shared.glob(f"{kind}/made-up/**/*.jsonl"))
    largest = max(
        (path for path in paths if path.stat().st_size < LARGEST),
        key=lambda path: path.stat().st_size,
    )
    with shown(largest, size, points, qtbot, tmp_path) as window:
        assert not cramped(window, qtbot, monkeypatch)


@pytest.mark.parametrize("name", ["traces/langfuse.json", "proxy/recording.jsonl"])
def test_all_of_a_trace_and_a_recording_can_be_read(
    application: QApplication,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """With few requests, a tiny buffer and no price: plots and tables are almost empty."""
    with shown(DATA / name, "small", 10, qtbot, tmp_path) as window:
        assert not cramped(window, qtbot, monkeypatch)


def test_a_window_that_was_resized_elsewhere_can_be_read(
    application: QApplication, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Larger, smaller, with larger letters, while another workspace is shown."""
    with shown(resource("sample.jsonl"), "small", 9, qtbot, tmp_path) as window:
        window.docks.choose("Read")
        assert not unreadable(window, qtbot, monkeypatch)
        for size, steps in (("large", 0), ("small", 0), ("small", 2)):
            window.docks.choose("Compact")
            window.resize(*SIZES[size])
            if steps:
                window.theme.zoom(steps)
            qtbot.wait(30)
            window.docks.choose("Read")
            assert not unreadable(window, qtbot, monkeypatch), (size, steps)


def test_painted_words_without_room_are_found(
    application: QApplication, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shown(resource("sample.jsonl"), "small", 10, qtbot, tmp_path) as window:
        gauge: Any = window.docks.panel("Pressure")
        qtbot.waitUntil(
            lambda: window.workbench.state.pressures is not None and not window.bridge.busy
        )
        assert not list(painted_over(gauge, monkeypatch))
        assert {"60% L1, L2", "75% L3"} <= {one.words for one in drawn(gauge.tank, monkeypatch)}
        gauge.tank.setFixedWidth(130)
        gauge.legend.setFixedWidth(60)
        found = "\n".join(painted_over(gauge, monkeypatch))
        assert "Tank: " in found
        assert "Legend: '78,531'" in found  # tool results


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
