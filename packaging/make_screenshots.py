"""The pictures of README and docs, taken anew: the real window on a real (virtual) screen, both themes, two sizes.

    make_screenshots.py                  the sample, into docs/images/
    make_screenshots.py --out DIR FILE…  other transcripts, elsewhere (to look at; not for the repository)

Starts an Xvfb of its own where there is no DISPLAY. Pictures of the sample show what is in the repository anyway; of
anyone else's transcripts none belong there.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from inspector.app import build  # noqa: E402
from inspector.gui.settings import Settings  # noqa: E402
from inspector.gui.window import Window  # noqa: E402
from inspector.resources import resource  # noqa: E402

SIZES = ((1280, 800), (1920, 1080))
THEMES = ("dark", "light")
PATIENCE = 60.0
"""Seconds for a transcript to open and all plots to be drawn."""


@contextmanager
def screen() -> Iterator[None]:
    """A display to show the window on: the one there is, else an Xvfb for as long as this lasts."""
    if os.environ.get("DISPLAY"):
        yield
        return
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "1920x1200x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        os.environ["DISPLAY"] = f":{server.stdout.readline().strip()}"
        try:
            yield
        finally:
            server.terminate()


def wait(application: QApplication, window: Window, until: Callable[[], bool]) -> None:
    """Let the window work until it is as wanted and at rest. Raises TimeoutError."""
    end, quiet = time.monotonic() + PATIENCE, 0
    while quiet < 40:
        application.processEvents()
        time.sleep(0.01)
        quiet = quiet + 1 if until() and not window.bridge.busy else 0
        if time.monotonic() > end:
            raise TimeoutError("the window did not come to rest")


def look_at_a_long_message(window: Window) -> None:
    """Of those that can be seen in the list, the longest."""
    newest = window.workbench.state.buffer().messages[-11:]
    if newest:
        window.workbench.select(max(newest, key=lambda message: len(message.text)).id)


def stand_where_it_is_full(window: Window) -> None:
    """At the fullest request: there is most to see."""
    pressures = window.workbench.state.pressures
    if pressures:
        sizes = [pressure.tokens or 0 for pressure in pressures]
        window.workbench.move(sizes.index(max(sizes)))


def take(application: QApplication, window: Window, name: str, out: Path) -> None:
    """One picture a theme and size; those of 1280 x 800 carry no size in their name."""
    for width, height in SIZES:
        window.resize(width, height)
        window.fresh_layout()
        for theme in THEMES:
            window.theme.choose(theme)  # type: ignore[arg-type]
            wait(application, window, lambda: True)
            suffix = "" if (width, height) == SIZES[0] else f"-{width}x{height}"
            path = out / f"{name}-{theme}{suffix}.png"
            window.grab().save(str(path))
            print(path)


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description="Take the pictures of README and docs anew.")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", help="folder for the pictures")
    parser.add_argument("files", nargs="*", type=Path, help="transcripts; default: the sample and the welcome page")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    with screen(), tempfile.TemporaryDirectory() as folder:
        os.environ["QT_QPA_PLATFORM"] = "xcb"
        os.environ["HOME"] = folder  # no sessions and settings of whoever runs this
        application = QApplication(["context-inspector"])
        window = build(application, Settings(QSettings(f"{folder}/settings.ini", QSettings.Format.IniFormat)))
        window.show()
        if not chosen.files:
            wait(application, window, lambda: True)
            take(application, window, "welcome", chosen.out)
        for path in chosen.files or [resource("sample.jsonl")]:
            window.open_path(str(path))
            wait(application, window, lambda: bool(window.workbench.state.session or window.workbench.state.failure))
            stand_where_it_is_full(window)
            look_at_a_long_message(window)
            take(application, window, path.stem if chosen.files else "window", chosen.out)
        window.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
