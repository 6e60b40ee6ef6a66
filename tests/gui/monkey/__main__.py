"""`python -m tests.gui.monkey SECONDS SEED...`: one window a seed; the exit status is 0 if all went well.

Without a screen, unless QT_QPA_PLATFORM names a platform: `QT_QPA_PLATFORM=xcb xvfb-run -a make fuzz`.
"""

import faulthandler
import os
import sys
import tempfile
from pathlib import Path

_SCREEN = {
    name: os.environ[name]
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    if name in os.environ
}

import tests.conftest  # noqa: E402, F401  # no screen, no network, no user: before Qt is loaded

if "QT_QPA_PLATFORM" in _SCREEN:
    os.environ.update(_SCREEN)

faulthandler.enable()


def main(seconds: float, seed: int) -> int:
    """Number of things that went wrong."""
    from PySide6.QtCore import QSettings
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from inspector.gui.app import build
    from inspector.gui.settings import Settings
    from tests.gui.monkey.monkey import Monkey

    application = QApplication.instance() or QApplication(["monkey"])
    assert isinstance(application, QApplication)
    with tempfile.TemporaryDirectory(prefix="context-inspector-monkey-") as folder:
        settings = Settings(QSettings(f"{folder}/settings.ini", QSettings.Format.IniFormat))
        window = build(application, settings)
        window.resize(1280, 800)
        window.show()
        QTest.qWait(300)
        monkey = Monkey(window, seed, Path(folder))
        window.open_sample()
        monkey.play(seconds)
        for told in monkey.found:
            print(f"seed {seed}, {told}", flush=True)
        print(f"seed {seed}: {monkey.acts:,} acts, {len(monkey.found)} went wrong", flush=True)
        window.removeEventFilter(monkey._stays)
        window.runs.controller.close()  # a demo may be under way: closing the window would ask
        window.close()
    return len(monkey.found)


if __name__ == "__main__":
    sys.exit(bool(sum(main(float(sys.argv[1]), int(seed)) for seed in sys.argv[2:])))
