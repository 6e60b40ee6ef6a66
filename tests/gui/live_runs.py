"""Runs in the window for tests: a workspace, the simulated provider for real, and a user's patience."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from inspector.agent.plan import Plan, RunLimits
from inspector.agent.status import RunStatus
from inspector.gui.panels.run.bar import RunBar
from inspector.gui.panels.run.panel import RunPanel
from inspector.gui.window import MainWindow
from tests.gui.hands import press

QUICK = RunLimits(backoff_s=0.01)


class Stage:
    """A window with a run, and what a user sees of it."""

    def __init__(self, window: MainWindow, qtbot: QtBot, folder: Path) -> None:
        self.window, self.qtbot = window, qtbot
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        (self.workspace / "README.md").write_text(
            "# Notes\n\nThe parser lies in parser.py and matters most.\n"
        )
        (self.workspace / "big.txt").write_text(
            "".join(f"line {n}: what happened is told here\n" for n in range(400))
        )
        self.record = folder / "run.jsonl"
        self.run = window.runs.controller

    def begin(self, paused: bool = False, **changes: Any) -> None:
        """Start a run and wait until the window shows it."""
        fields = {
            "record": self.record,
            "permissions": "always",
            "limits": QUICK,
            "window": 200_000,
            **changes,
        }
        plan = Plan(fields.pop("task", "Please look after the parser."), self.workspace, **fields)
        self.run.begin(lambda: plan, paused)
        self.until(lambda: self.window.workbench.state.run_is_open)

    @property
    def now(self) -> RunStatus | None:
        """How the run stands, as the window shows it."""
        status = self.window.workbench.state.run
        return status.now if status is not None else None

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for it."""
        self.qtbot.waitUntil(lambda: bool(condition()))

    def state(self, name: str) -> RunStatus:
        """Wait until the run stands so."""
        self.until(lambda: self.now is not None and self.now.state == name)
        standing = self.now
        assert standing is not None
        return standing

    def paused(self) -> RunStatus:
        """Wait for a pause, and until the playhead stands there."""
        standing = self.state("paused")
        bench = self.window.workbench
        self.until(lambda: bench.state.at is None and bench.state.steps is not None)
        return standing

    def key(
        self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
    ) -> None:
        """A key of the window's, which has to be the active one."""
        self.window.activateWindow()
        self.until(self.window.isActiveWindow)
        press(self.window.docks.panel("Buffer"), key, modifier)

    @property
    def bar(self) -> RunBar:
        """The strip."""
        assert isinstance(self.window.run_bar, RunBar)
        return self.window.run_bar

    @property
    def panel(self) -> RunPanel:
        """The dock, brought to the front where something is open."""
        self.until(lambda: self.window.docks.ready)
        self.window.show_panel("Run")
        found = self.window.docks.panel("Run")
        assert isinstance(found, RunPanel)
        return found
