"""Speed of the message view: large messages until they are painted, and the longest that the rest keeps the window."""

import json
import os
import tempfile
from pathlib import Path
from time import perf_counter

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from inspector.gui.look import fonts
from inspector.gui.look.theme import Theme
from inspector.gui.settings import Settings
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.text import PlainText

CODE = "    def hello(self, world): return foo(bar, baz)\n" * 20_409
TEXTS = {
    "1 MB of code": CODE,
    "1 MB of JSON in a line": json.dumps(
        [{"id": n, "name": "hello", "tags": ["a", "b"]} for n in range(21_000)]
    ),
    "1 MB of Chinese": "请先不要改接口，只修复压缩之后的指针问题。\n" * 15_900,
    "1 MB in a line": "x y" * 333_333,
    "1 MB of NUL and ESC": "a\0b\x1b" * 250_000,
    "20 MB of code": CODE * 20,
}


def main() -> list[tuple[str, float, str]]:
    """Rows of (what, figure, unit)."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    fonts.load()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        store = QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat)
        view = PlainText(Theme(application, Settings(store)))
        view.resize(700, 900)
        view.show()
        view.show_sections([Section("warm", "up 中文 👨‍👩‍👧", look) for look in ("prose", "code")])
        view.grab()
        for name, text in TEXTS.items():
            painted, longest = _measured(application, view, text)
            rows += [
                (f"{name}: painted", painted, "ms"),
                (f"{name}: longest stretch after", longest, "ms"),
            ]
        view.close()
    return rows


def _measured(application: QApplication, view: PlainText, text: str) -> tuple[float, float]:
    start = perf_counter()
    view.show_sections([Section("tool result", text, "code")])
    view.grab()
    painted = perf_counter() - start
    longest = 0.0
    while not view.is_complete and not view.has_rest:
        start = perf_counter()
        application.processEvents()
        longest = max(longest, perf_counter() - start)
    return painted * 1_000, longest * 1_000


if __name__ == "__main__":
    for what, figure, unit in main():
        print(f"{what:45} {figure:9.1f} {unit}")
