"""No exception leaves what Qt calls: everything is guarded, told once, and a sentence stands in its place."""

import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor, QHelpEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

import inspector.gui
from inspector.gui.guard import Guarded, attempt, is_guarded, overrides
from inspector.gui.widgets import plot
from inspector.gui.window import MainWindow
from tests.gui.thrown import Thrown, thrown_in

ROOT = Path(__file__).resolve().parent.parent.parent


def ours() -> list[tuple[type, str]]:
    """(class, method) of all that the window overrides of Qt."""
    found = []
    for place in pkgutil.walk_packages(inspector.gui.__path__, "inspector.gui."):
        module = importlib.import_module(place.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                found += [
                    (kind, name)
                    for name, method in vars(kind).items()
                    if inspect.isfunction(method) and overrides(kind, name)
                ]
    return found


def test_everything_that_qt_calls_is_guarded() -> None:
    found = ours()
    assert len(found) > 80  # the walk sees them
    assert [
        f"{kind.__name__}.{name}" for kind, name in found if not is_guarded(vars(kind)[name])
    ] == []


def test_pyqtgraph_is_guarded_and_imported_in_one_place_only() -> None:
    kinds = [kind for kind in plot.classes() if list(plot.called(kind))]
    assert len(kinds) > 20
    for kind in kinds:
        assert all(is_guarded(vars(kind)[name]) for name in plot.called(kind))
    others = [
        path.name
        for path in (ROOT / "inspector").rglob("*.py")
        if "import pyqtgraph" in path.read_text("utf-8") and str(path) != plot.__file__
    ]
    assert others == []


def test_a_class_that_inherits_from_a_guarded_one_is_guarded(
    application: QApplication, qtbot: QtBot
) -> None:
    class Broken(Guarded, QWidget):
        def event(self, event: QEvent) -> bool:
            if event.type() == QEvent.Type.User:
                raise Thrown
            return super().event(event)

    broken = Broken()
    qtbot.addWidget(broken)
    with qtbot.captureExceptions() as caught:
        assert not QApplication.sendEvent(broken, QEvent(QEvent.Type.User))
    assert [kind for kind, _, _ in caught] == [Thrown]


def test_what_is_attempted_is_told_and_returned(qtbot: QtBot) -> None:
    def fall() -> None:
        raise Thrown

    with qtbot.captureExceptions() as caught:
        failure = attempt(fall)
    assert isinstance(failure, Thrown)
    assert failure.__traceback__ is None
    assert len(caught) == 1


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> MainWindow:
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(lambda: bench.state.session is not None and bench.state.opening is None)
    qtbot.waitUntil(lambda: not window.bridge.busy)
    return window


def everything(window: MainWindow) -> Iterator[QWidget]:
    """Every panel, each brought to light, and in it a widget of each class in a parent of each class.

    What throws are the methods of a class, and those of its parent's, to which Qt passes what it leaves: a second one
    meets the same.
    """
    for title in window.docks.titles:
        window.docks.bring(title)
        panel = window.docks.panel(title)
        QApplication.processEvents()
        yield panel
        seen = set[tuple[type, type]]()
        for widget in panel.findChildren(QWidget):
            kinds = type(widget), type(widget.parent())
            if widget.isVisible() and kinds not in seen:
                seen.add(kinds)
                yield widget


def touch(widget: QWidget) -> None:
    """All the events that a mouse, a key and a new picture bring."""
    middle = widget.rect().center()
    QTest.mouseMove(widget, middle)
    QTest.mouseClick(widget, Qt.MouseButton.MiddleButton, Qt.KeyboardModifier.NoModifier, middle)
    QTest.keyClick(widget, Qt.Key.Key_F35)
    for kind in (QEvent.Type.ToolTip, QEvent.Type.WhatsThis):
        QApplication.sendEvent(widget, QHelpEvent(kind, middle, widget.mapToGlobal(middle)))
    widget.resize(widget.width() + 1, widget.height())
    widget.repaint()


@pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)
def test_nothing_leaves_any_panel(opened: MainWindow, qtbot: QtBot) -> None:
    """Real widgets, real events; every method that Qt calls throws at its first line."""
    methods = [vars(kind)[name] for kind, name in ours() if kind is not MainWindow]
    methods += [vars(kind)[name] for kind in plot.classes() for name in plot.called(kind)]
    methods = [
        one
        for one in methods
        if one.__name__ not in ("eventFilter", "rowCount", "columnCount", "count")
    ]
    # Where it throws, no part is painted.
    whole = [one for one in methods if one.__name__ == "paintEvent"]
    parts = [one for one in methods if one.__name__ != "paintEvent"]
    names: list[str] = []
    with warnings.catch_warnings(), qtbot.captureExceptions() as caught:
        warnings.simplefilter("error")  # an answer of the wrong kind is a warning of PySide
        for some in (whole, parts):
            with thrown_in(*some) as thrown:
                for widget in everything(opened):
                    touch(widget)
            names += thrown
    assert {kind for kind, _, _ in caught} == {Thrown}
    assert {
        "paint",
        "paintEvent",
        "event",
        "data",
        "sizeHint",
        "keyPressEvent",
        "mouseMoveEvent",
    } <= set(names)
    assert opened.isVisible()


@pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)
def test_filters_and_models_that_throw(opened: MainWindow, qtbot: QtBot) -> None:
    methods = [
        vars(kind)[name]
        for kind, name in ours()
        if name in ("eventFilter", "rowCount", "columnCount", "count")
    ]
    with warnings.catch_warnings(), qtbot.captureExceptions() as caught:
        warnings.simplefilter("error")
        with thrown_in(*methods) as names:
            opened.workbench.move(0)
            for widget in everything(opened):
                touch(widget)
    assert {kind for kind, _, _ in caught} == {Thrown}
    assert {"eventFilter", "rowCount"} <= set(names)


def picture(widget: QWidget) -> QImage:
    return widget.grab().toImage()


def has_colour(image: QImage, colour: Qt.GlobalColor) -> bool:
    wanted = QColor(colour).rgb()
    return any(
        image.pixel(x, y) == wanted
        for x in range(image.width())
        for y in range(0, image.height(), 2)
    )


def test_a_sentence_stands_where_nothing_could_be_painted(opened: MainWindow, qtbot: QtBot) -> None:
    from inspector.gui.guard import GROUND
    from inspector.gui.panels.timeline.tank import Tank

    tank = opened.findChild(Tank)
    assert tank is not None
    before = picture(tank)
    with qtbot.captureExceptions(), thrown_in(Tank._paint):
        broken = picture(tank)
    assert has_colour(broken, GROUND)
    assert broken != before
    assert picture(tank) == before


PROGRAM = """
import sys
from PySide6.QtCore import QPoint, QSettings, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from inspector.gui.app import build
from inspector.gui.settings import Settings
from tests.gui.thrown import thrown_in
from tests.gui.test_guard import everything, ours, touch

app = QApplication(["test"])
window = build(app, Settings(QSettings(sys.argv[1], QSettings.Format.IniFormat)))
window.show()
window.open_sample()

def turn(ready):
    while not ready():
        app.processEvents()
        QTest.qWait(10)

turn(lambda: window.workbench.state.session is not None and not window.bridge.busy)
methods = [vars(kind)[name] for kind, name in ours() if name in ("paint", "paintEvent", "event") or "mouse" in name]
with thrown_in(*methods) as names:
    for widget in everything(window):
        touch(widget)
    window.bridge.run(lambda task: task.rest(60), print)
    QTimer.singleShot(300, lambda: app.exit(0))  # quit would close the window first
    app.exec()
    assert not window.bridge.busy  # else the process waits for its jobs
turn(window.notice.isVisible)
print(window.notice.words.text())
print(QApplication.platformName(), len(names), "survived")
"""


def test_on_a_real_screen_the_process_survives(screen: str, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "QT_QPA_PLATFORM": "xcb",
        "DISPLAY": screen,
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-X", "faulthandler", "-c", PROGRAM, str(tmp_path / "settings.ini")]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    sentence, last = done.stdout.splitlines()[-2:]
    assert sentence.startswith("Something went wrong inside the program (Thrown)")
    assert last.startswith("xcb ")
    assert last.endswith(" survived")
