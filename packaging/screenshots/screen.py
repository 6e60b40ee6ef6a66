"""A screen to show the window on, and patience: a picture is taken when the window is at rest."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication

from inspector.gui.window import MainWindow

PATIENCE = 60.0
"""Seconds for a transcript to open and all plots to be drawn."""
QUIET = 25
"""Rounds of ten milliseconds without a job, after which the window is at rest."""


@contextmanager
def screen() -> Iterator[None]:
    """A display to show the window on: the one there is, else an Xvfb for as long as this lasts."""
    if os.environ.get("DISPLAY"):
        yield
        return
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "1920x1200x24", "-nolisten", "tcp"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        os.environ["DISPLAY"] = f":{server.stdout.readline().strip()}"
        try:
            yield
        finally:
            server.terminate()


def rest(window: MainWindow, until: Callable[[], bool] = lambda: True) -> None:
    """Let the window work until it is as wanted and at rest, the mouse out of the way. Raises TimeoutError."""
    QCursor.setPos(1919, 1199)
    end, quiet = time.monotonic() + PATIENCE, 0
    while quiet < QUIET:
        QApplication.processEvents()
        time.sleep(0.01)
        quiet = quiet + 1 if until() and not window.bridge.busy else 0
        if time.monotonic() > end:
            raise TimeoutError("the window did not come to rest")
