"""The program as it is started."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.gui import app
from inspector.gui.window import MainWindow
from tests.gui.made import payload


@pytest.fixture(autouse=True)
def _interrupt_as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_path_on_the_command_line_is_opened(
    application: QApplication, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = payload(tmp_path / "body.json")
    shown: list[MainWindow] = []

    def run() -> int:
        (window,) = (
            widget
            for widget in QApplication.topLevelWidgets()
            if isinstance(widget, MainWindow) and widget.isVisible()
        )
        shown.append(window)
        qtbot.waitUntil(lambda: window.workbench.state.session is not None)
        return 7

    monkeypatch.setattr(application, "exec", run, raising=False)
    assert app.main([str(path)]) == 7
    (window,) = shown
    assert window.windowTitle() == "body.json – Context Inspector"
    assert window.isVisible()
    window.close()
    window.deleteLater()


def test_the_start_loads_no_run_no_proxy_and_no_plots() -> None:
    """Each of them is loaded when it is first asked for."""
    code = "import sys, inspector.gui.app, linecache; print(*sys.modules, *linecache.cache)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    for package in (
        "inspector.simulated",
        "inspector.providers",
        "inspector.proxy",
        "inspector.agent.runner",
    ):
        assert package not in loaded
    assert not {"pyqtgraph", "numpy", "anthropic", "openai", "aiohttp", "rapidfuzz"} & set(loaded)
    assert not [name for name in loaded if "/inspector/" in name], "PySide6 reads no source of ours"
