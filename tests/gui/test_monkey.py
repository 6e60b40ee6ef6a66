"""A monkey plays with the real window for a while: nothing is raised, and what is seen is the current state."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.gui.look.theme import Theme
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow
from inspector.workbench.state import State
from tests.gui.monkey.files import CRASHES
from tests.gui.monkey.fresh import stale
from tests.gui.thrown import thrown_in

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 30


def test_a_monkey_finds_nothing() -> None:
    """In a process of its own: it takes dialogs and the hook for itself, and may end it."""
    command = [sys.executable, "-m", "tests.gui.monkey", str(SECONDS), "20261122"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_look_for_what_is_stale_sees_it(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The monkey's eyes: a panel that shows an older state, or none, is found."""
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(lambda: bench.state.session is not None and not window.bridge.busy)
    qtbot.wait(1_000)
    assert list(stale(window)) == []
    gauge = window.docks.panel("Pressure")
    with monkeypatch.context() as patched:
        patched.setattr(gauge, "receive", lambda state: None)
        bench.move(0)
        assert "Pressure shows an older state" in list(stale(window))
    with qtbot.captureExceptions(), thrown_in(type(gauge).show_state):
        bench.move(2)
    assert any("Pressure cannot be shown" in told for told in stale(window))


INPUTS = (
    sorted(path for path in CRASHES.glob("*") if path.suffix != ".md") if CRASHES.is_dir() else []
)


@pytest.fixture(scope="module")
def one_window(
    application: QApplication, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MainWindow]:
    """For all of them, one after the other."""
    kept = QSettings(
        str(tmp_path_factory.mktemp("broken") / "window.ini"), QSettings.Format.IniFormat
    )
    made = MainWindow(Theme(application, Settings(kept)), Settings(kept))
    made.resize(1280, 800)
    made.show()
    yield made
    made.close()
    made.deleteLater()


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_what_broke_something_opens_or_ends_in_a_sentence(
    one_window: MainWindow, qtbot: QtBot, path: Path
) -> None:
    window = one_window
    window.close_session()
    window.open_path(str(path))

    def state() -> State:
        return window.workbench.state

    qtbot.waitUntil(lambda: state().opening is None and not window.bridge.busy, timeout=120_000)
    if state().session is None:
        assert state().failure
        assert window.notice.isVisible()
        return
    assert window.windowTitle().startswith(path.name)
    thread = state().thread
    for title in window.docks.titles:
        window.docks.bring(title)
        QApplication.processEvents()
    for at in (0, len(thread.requests) // 2 if thread else 0, None):
        window.workbench.move(at)
        window.repaint()
        QApplication.processEvents()
    qtbot.waitUntil(lambda: not window.bridge.busy)
    assert all(panel.cover is None for panel in window.docks.panels.values())
