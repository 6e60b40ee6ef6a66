"""A real window that follows one file, and says on stdout twice a second what it shows. Run by `tests.soak.following`.

python -m tests.soak.followed_window FILE
"""

import json
import os
import sys
import tempfile
import time

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QApplication

from inspector.gui.app import build
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow

REPORT_MS = 250


def main(path: str) -> int:
    """Open the window, follow the file, report until the process is ended."""
    application = QApplication([])
    with tempfile.TemporaryDirectory(prefix="followed-window-") as folder:
        window = build(
            application, Settings(QSettings(f"{folder}/settings.ini", QSettings.Format.IniFormat))
        )
        window.resize(1440, 900)
        window.show()
        timer = QTimer(window)
        timer.timeout.connect(lambda: report(window))
        timer.start(REPORT_MS)
        window.follow_path(path)
        return application.exec()


def report(window: MainWindow) -> None:
    """Print the time, the number of requests that are shown, what is said of those behind, and the processor time."""
    state = window.workbench.state
    shown = len(state.thread.requests) if state.thread is not None else 0
    told = {
        "at": time.monotonic(),
        "shown": shown,
        "cpu": time.process_time(),
        "busy": window.bridge.busy,
    }
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    status = main(sys.argv[1])
    os._exit(status)
