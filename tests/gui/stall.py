"""Opens a session in a window of its own, goes to another workspace a second later, and prints the longest times in
which the window did not answer, as JSON: by the clock, its own work, the work of the whole program.

    xvfb-run -a python -m tests.gui.stall FILE start|later [SECONDS]
"""

import json
import os
import sys
import tempfile

from PySide6.QtCore import QEventLoop, QSettings, QTimer
from PySide6.QtWidgets import QApplication

from inspector.gui.app import build
from inspector.gui.settings import Settings
from tests.gui.gaps import Gaps, watched


def main(path: str, when: str, seconds: float = 15) -> Gaps:
    """`when`: `start` as named on the command line, `later` when the window has stood for five seconds."""
    application = QApplication([])
    with tempfile.TemporaryDirectory() as folder:
        window = build(
            application, Settings(QSettings(f"{folder}/s.ini", QSettings.Format.IniFormat))
        )
        window.show()
        if when == "later":
            _run(5)
        with watched() as gaps:
            window.open_path(path)
            _run(1)
            window.choose_workspace("Compact")
            _run(seconds - 1)
            while window.bridge.busy or window.workbench.state.previews is None:
                if (
                    window.workbench.state.session is None
                    and window.workbench.state.opening is None
                ):
                    raise SystemExit(f"{path} did not open")
                # On a slow machine there was nothing open after that second.
                window.choose_workspace("Compact")
                _run(0.1)
        window.close()
    return gaps


def _run(seconds: float) -> None:
    loop = QEventLoop()
    QTimer.singleShot(int(seconds * 1000), loop.quit)
    loop.exec()


if __name__ == "__main__":
    found = main(sys.argv[1], sys.argv[2], *map(float, sys.argv[3:]))
    longest = {name: sorted(getattr(found, name))[:-8:-1] for name in ("clock", "work", "shared")}
    print(
        json.dumps({name: [round(one, 3) for one in kept] for name, kept in longest.items()}),
        flush=True,
    )
    os._exit(0)
