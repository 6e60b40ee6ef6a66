"""Opens the sample in a window and prints which modules with classes of Qt's were first imported on another thread."""

import sys
import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

apart: list[str] = []


class _Watch:
    """Finds nothing; sees what is looked for."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> None:
        if (
            name.startswith(("inspector.gui", "pyqtgraph", "PySide6"))
            and threading.current_thread() is not _MAIN
        ):
            apart.append(name)


_MAIN = threading.main_thread()
sys.meta_path.insert(0, _Watch())


def main(ini: str, path: str) -> None:
    """Until every plot is there."""
    from inspector.gui.app import build
    from inspector.gui.settings import Settings

    application = QApplication([])
    window = build(application, Settings(QSettings(ini, QSettings.Format.IniFormat)))
    window.show()
    window.open_path(path)
    end = monotonic() + 60
    plots = ("Timeline", "Cost", "Compare", "Calibration")
    while monotonic() < end:
        application.processEvents()
        if window.workbench.state.session is None:
            continue
        for title in plots:
            if title not in window.docks.panels:
                window.docks.bring(title)
        missing = [title for title in plots if window.docks.panel(title).plot is None]  # type: ignore[attr-defined]
        if not missing and not window.bridge.busy:
            break
        if missing:
            window.docks.bring(missing[0])
    else:
        apart.append("no end")
    window.close()
    print(" ".join(apart) or "none")


main(*sys.argv[1:])
