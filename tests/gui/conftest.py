"""A desk for a panel under test: a real workbench, bridge and theme, settings in the test's own folder."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QSettings
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.gui.bridge import Bridge
from inspector.gui.desk import Desk
from inspector.gui.garbage import Garbage
from inspector.gui.look import fonts
from inspector.gui.look.theme import Theme
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow
from inspector.workbench.workbench import Workbench
from tests.gui.live_runs import Stage

PATIENCE = 60_000
"""Milliseconds. A test that waits longer hangs; a busy machine is no failure."""


class PatientBot(QtBot):
    """Waits as long as a person would who sees that the machine is busy."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = PATIENCE) -> None:
        super().waitUntil(callback, timeout=timeout)

    def wait(self, ms: int) -> None:
        """So long, and so often as a quick machine's events come meanwhile: what one event posts is met in the next."""
        super().wait(ms)
        for _ in range(5):
            super().wait(1)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    """pytest-qt's, with more patience."""
    return PatientBot(request)


@dataclass
class Asked:
    """What panels asked of the window."""

    opened: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def application(qapp: QApplication) -> QApplication:
    """The one application, with the program's fonts and its way to collect garbage."""
    fonts.load()
    gc.set_threshold(700, *gc.get_threshold()[1:])  # as in the program: `Garbage` reads it
    Garbage(qapp)
    return qapp


@pytest.fixture
def asked() -> Asked:
    """Filled by the desk."""
    return Asked()


@pytest.fixture
def desk(application: QApplication, qtbot: QtBot, tmp_path: Path, asked: Asked) -> Iterator[Desk]:
    """What a panel may reach."""
    settings = Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    bridge = Bridge()
    theme = Theme(application, settings)
    yield Desk(
        Workbench(),
        bridge,
        theme,
        settings,
        asked.opened.append,
        asked.shown.append,
        asked.said.append,
    )
    bridge.close()


@pytest.fixture(autouse=True)
def as_before(application: QApplication) -> Iterator[None]:
    """Restore the font and how often threads take turns, and delete the widgets that a test left: every later test
    would restyle them.

    In a module that shares one window nothing is deleted: its menus and panels are made when they are first used.
    """
    font, former = application.font(), set(application.topLevelWidgets())
    turn_s = sys.getswitchinterval()
    is_shared = any(isinstance(widget, MainWindow) for widget in former)
    yield
    for left in set() if is_shared else set(application.topLevelWidgets()) - former:
        if left.parent() is None:
            left.close()
            left.deleteLater()
    if not is_shared:
        sys.setswitchinterval(turn_s)
    application.setFont(font)
    application.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@contextmanager
def shown_window(application: QApplication, folder: Path) -> Iterator[MainWindow]:
    """A whole window, shown, with settings in that folder.

    At the end it closes without a question, whatever is running: a dialog that nobody answers would block the suite.
    """
    settings = Settings(QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat))
    made = MainWindow(Theme(application, settings), settings)
    made.resize(1280, 800)
    made.show()
    while not made.windowHandle().isExposed():
        application.processEvents()
    yield made
    with pytest.MonkeyPatch.context() as patch:
        for desk in ("runs", "proxies"):
            patch.setattr(f"inspector.gui.{desk}.desk.is_sure", lambda *_, **_named: True)
        made.runs.controller.close()
        made.proxies.close()
        made.close()
    made.deleteLater()


@pytest.fixture
def window(application: QApplication, qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    """The whole window, shown, with settings of the test's own; what goes wrong inside it fails the test."""
    with shown_window(application, tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def module_window(
    application: QApplication, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MainWindow]:
    """One window for the tests of a module, which leave it as they found it. The module compares what it shows."""
    with shown_window(application, tmp_path_factory.mktemp("window")) as made:
        yield made
    application.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def stage(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stage]:
    """The window with a workspace to run an agent in; its journals and demos go to the test's own folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    yield Stage(window, qtbot, tmp_path)
    window.runs.controller.close()
