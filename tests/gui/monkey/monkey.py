"""Clicks, keys, drags, drops and files at random, seeded, on the real window; and a look at whether it is up to date.

Dialogs that would start an agent or a proxy are looked at and closed; what is saved goes to the monkey's own folder.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import monotonic
from types import TracebackType

import shiboken6
from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDropEvent, QHelpEvent, QKeyEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialog,
    QFileDialog,
    QInputDialog,
    QMenu,
    QWidget,
)

from inspector.gui.window import MainWindow
from tests.gui.monkey.files import Files
from tests.gui.monkey.fresh import stale

EVERY_MS = 4
CALM_EVERY = 5.0
"""Seconds between two looks at whether everything shows the state."""
BUTTONS = (Qt.MouseButton.LeftButton,) * 8 + (
    Qt.MouseButton.RightButton,
    Qt.MouseButton.MiddleButton,
)
NONE, CTRL, SHIFT = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
)
WALKS = (
    Qt.Key.Key_Left,
    Qt.Key.Key_Right,
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
)
KEYS = (
    *WALKS * 3,
    *(Qt.Key(key) for key in range(Qt.Key.Key_0.value, Qt.Key.Key_9.value + 1)),
    *(Qt.Key(key) for key in range(Qt.Key.Key_A.value, Qt.Key.Key_Z.value + 1)),
    *(Qt.Key(key) for key in range(Qt.Key.Key_F1.value, Qt.Key.Key_F12.value + 1)),
    *(
        Qt.Key.Key_Return,
        Qt.Key.Key_Escape,
        Qt.Key.Key_Tab,
        Qt.Key.Key_Space,
        Qt.Key.Key_Delete,
        Qt.Key.Key_PageDown,
    ),
)
LEFT_ALONE = ("run", "live demo", "proxy", "quit", "watch an agent")
"""Words of commands that begin what a monkey has no business with."""
ONLY_CLOSED = (
    "RunDialog",
    "ProxyDialog",
    "ConnectDialog",
    "KeyDialog",
    "ResumeDialog",
    "QMessageBox",
    "QFileDialog",
)


class StaysOpen(QObject):
    """The window is not closed by chance."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """No."""
        if event.type() == QEvent.Type.Close:
            event.ignore()
            return True
        return False


class Monkey:
    """One at a time: it takes `sys.excepthook` and the file dialogs for itself."""

    def __init__(self, window: MainWindow, seed: int, folder: Path) -> None:
        self.window, self.random = window, Random(seed)
        self.files = Files(folder, self.random)
        self.found: list[str] = []
        """What went wrong."""
        self.acts = 0
        self._folder, self._last = folder, ""
        self._stays = StaysOpen()
        window.installEventFilter(self._stays)
        sys.excepthook = self._caught
        QFileDialog.getOpenFileName = lambda *arguments: (self.files.any(), "")  # type: ignore[method-assign]
        QFileDialog.getSaveFileName = lambda *arguments: (self._target(), "")  # type: ignore[method-assign]
        QInputDialog.getInt = lambda *arguments: (self.random.randint(1_000, 2_000_000), True)  # type: ignore[method-assign]

    def _target(self) -> str:
        where = self._folder / "nowhere" if self.random.random() < 0.2 else self._folder
        return str(where / f"saved-{self.random.randrange(9)}.json")

    def _caught(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        import traceback

        told = "".join(traceback.format_exception(kind, error, trace)[-6:])
        self.found.append(f"after act {self.acts} ({self._last}):\n{told}")

    # -- time ----------------------------------------------------------------------------------------------------------

    def play(self, seconds: float) -> None:
        """Until the time is over, or enough went wrong."""
        end, calm = monotonic() + seconds, monotonic() + CALM_EVERY
        while monotonic() < end and len(self.found) < 5:
            self._act_once()
            if monotonic() > calm:
                self._calm_down()
                calm = monotonic() + CALM_EVERY
        self._calm_down()

    def _act_once(self) -> None:
        """One act; where it opens a dialog or a menu, that is dealt with from within its own event loop."""
        helper = QTimer()
        helper.setInterval(30)
        helper.timeout.connect(self._in_dialog)
        helper.start()
        self.acts += 1
        try:
            self._choose()()
        except Exception:  # noqa: BLE001  # what an act calls directly
            self._caught(*sys.exc_info())
        QTest.qWait(EVERY_MS)
        helper.stop()
        self._close_popups()

    def _in_dialog(self) -> None:
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, QDialog):
            if type(dialog).__name__ not in ONLY_CLOSED and self.random.random() < 0.7:
                self._click(dialog)
            if self.random.random() < 0.5 and shiboken6.isValid(dialog):
                dialog.reject()
        else:
            self._close_popups()

    def _close_popups(self) -> None:
        for _ in range(5):
            popup = QApplication.activePopupWidget()
            if popup is None:
                return
            if isinstance(popup, QMenu) and self.random.random() < 0.5:
                actions = [
                    one
                    for one in popup.actions()
                    if one.isEnabled() and not _left_alone(one.text())
                ]
                if actions and not any(one.menu() for one in actions):
                    self._last = f"menu {(chosen := self.random.choice(actions)).text()}"
                    chosen.trigger()
            if shiboken6.isValid(popup):
                popup.close()

    def _calm_down(self) -> None:
        """Wait until nothing is under way, then everything in sight must show the state."""
        QTest.mouseRelease(self.window, Qt.MouseButton.LeftButton)
        end = monotonic() + 30
        while self._busy() and monotonic() < end:
            QTest.qWait(20)
        QTest.qWait(1_000)
        if self._busy():
            return  # something was begun meanwhile
        self.found += [
            f"after act {self.acts} ({self._last}): {told}" for told in stale(self.window)
        ]

    def _busy(self) -> bool:
        state = self.window.workbench.state
        return state.opening is not None or (self.window.bridge.busy and not state.following)

    # -- acts ----------------------------------------------------------------------------------------------------------

    def _choose(self) -> Callable[[], None]:
        acts: tuple[tuple[int, Callable[[], None]], ...] = (
            (30, lambda: self._click(self.window)),
            (12, self._press),
            (6, self._drag),
            (5, self._wheel),
            (5, self._hover),
            (3, self._type),
            (3, self._drop),
            (2, self._command),
            (3, self._walk),
            (3, self._panel),
            (1, self._resize),
            (1, self._float),
            (1, lambda: self.window.follow_path(str(self.files.growing))),
            (4, self.files.disturb),
        )
        return self.random.choices([act for _, act in acts], [weight for weight, _ in acts])[0]

    def _widget(self, inside: QWidget) -> QWidget:
        seen = [
            one
            for one in inside.findChildren(QWidget)
            if one.isVisible() and one.isEnabled() and one.width() > 2
        ]
        return self.random.choice(seen) if seen else inside

    def _place(self, widget: QWidget) -> QPoint:
        return QPoint(
            self.random.randrange(max(1, widget.width())),
            self.random.randrange(max(1, widget.height())),
        )

    def _click(self, inside: QWidget) -> None:
        widget = self._widget(inside)
        if isinstance(widget, QAbstractButton) and _left_alone(widget.text()):
            return
        at, button = self._place(widget), self.random.choice(BUTTONS)
        self._last = f"{button.name} on {type(widget).__name__} {widget.accessibleName()!r} at {at.x()}, {at.y()}"
        QTest.mouseClick(widget, button, self.random.choice((NONE, NONE, NONE, CTRL, SHIFT)), at)
        if self.random.random() < 0.2 and shiboken6.isValid(widget):
            QTest.mouseDClick(widget, button, NONE, at)
            if shiboken6.isValid(widget):
                QTest.mouseRelease(widget, button, NONE, at)

    def _drag(self) -> None:
        widget = self._widget(self.window)
        start = self._place(widget)
        self._last = f"drag in {type(widget).__name__} {widget.accessibleName()!r} from {start.x()}, {start.y()}"
        QTest.mousePress(widget, Qt.MouseButton.LeftButton, NONE, start)
        for _ in range(self.random.randrange(6)):
            if shiboken6.isValid(widget):
                QTest.mouseMove(widget, self._place(widget))
                QTest.qWait(1)
        if self.random.random() < 0.2:
            QTest.keyClick(self.window, Qt.Key.Key_Escape)
        if shiboken6.isValid(widget):
            QTest.mouseRelease(widget, Qt.MouseButton.LeftButton, NONE, self._place(widget))

    def _press(self) -> None:
        key = self.random.choice(KEYS)
        modifier = self.random.choice((NONE, NONE, NONE, CTRL, SHIFT, CTRL | SHIFT))
        self._last = f"key {modifier} {key.name}"
        QTest.keyClick(QApplication.focusWidget() or self.window, key, modifier)

    def _type(self) -> None:
        text = self.random.choice(
            ("error", "(", ">open", "tokens", "文件\u202e", "1e999", "-1", "a" * 200)
        )
        self._last = f"typed {text!r}"
        for character in text:  # QTest types ASCII only
            for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
                target = QApplication.focusWidget() or self.window
                QApplication.sendEvent(target, QKeyEvent(kind, 0, NONE, character))

    def _wheel(self) -> None:
        widget = self._widget(self.window)
        at = QPointF(self._place(widget))
        self._last = f"wheel over {type(widget).__name__}"
        turn = QPoint(0, self.random.choice((-1200, -120, 120, 1200)))
        where, phase = QPointF(widget.mapToGlobal(at)), Qt.ScrollPhase.NoScrollPhase
        keys = self.random.choice((NONE, CTRL))
        wheel = QWheelEvent(at, where, QPoint(), turn, Qt.MouseButton.NoButton, keys, phase, False)
        QApplication.sendEvent(widget, wheel)

    def _hover(self) -> None:
        widget = self._widget(self.window)
        at = self._place(widget)
        self._last = f"hover over {type(widget).__name__} {widget.accessibleName()!r}"
        QTest.mouseMove(widget, at)
        QApplication.sendEvent(widget, QHelpEvent(QEvent.Type.ToolTip, at, widget.mapToGlobal(at)))

    def _drop(self) -> None:
        path = self.files.any()
        self._last = f"drop of {path}"
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(path)])
        action, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
        QApplication.sendEvent(self.window, QDropEvent(QPointF(9, 9), action, data, button, NONE))

    def _command(self) -> None:
        command = self.random.choice(
            [one for one in self.window.commands if not _left_alone(one.words)]
        )
        self._last = f"command {command.words}"
        command.run()

    def _walk(self) -> None:
        thread = self.window.workbench.state.thread
        at = self.random.choice(
            (None, self.random.randrange(len(thread.requests) + 1 if thread else 1))
        )
        self._last = f"move to {at}"
        self.window.workbench.move(at)

    def _panel(self) -> None:
        titles = self.window.docks.titles
        if titles and self.window.workbench.state.session is not None:
            self._last = f"panel {(title := self.random.choice(titles))}"
            self.window.show_panel(title)

    def _resize(self) -> None:
        self._last = "resize"
        self.window.resize(self.random.randint(960, 1_900), self.random.randint(600, 1_100))

    def _float(self) -> None:
        docks = list(self.window.docks.docks.values())
        if docks:
            dock = self.random.choice(docks)
            self._last = f"float {dock.windowTitle()}"
            dock.setFloating(not dock.isFloating())


def _left_alone(words: str) -> bool:
    return any(word in words.lower() for word in LEFT_ALONE)
