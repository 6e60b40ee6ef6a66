"""A user's hands: real clicks and keys, typed."""

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDockWidget, QMenu, QTabBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot

_PLAIN = Qt.KeyboardModifier.NoModifier


def click(widget: QWidget, at: QPoint | None = None) -> None:
    """One left click, in the middle unless told otherwise."""
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, _PLAIN, at or widget.rect().center())


def double_click(widget: QWidget, at: QPoint) -> None:
    """A double click as Qt sees one."""
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, _PLAIN, at)
    QTest.mouseDClick(widget, Qt.MouseButton.LeftButton, _PLAIN, at)  # its second press alone
    QTest.mouseRelease(widget, Qt.MouseButton.LeftButton, _PLAIN, at)


def press(widget: QWidget, key: Qt.Key, modifier: Qt.KeyboardModifier = _PLAIN) -> None:
    """One key."""
    QTest.keyClick(widget, key, modifier)


def write(widget: QWidget, text: str) -> None:
    """Keys, one after the other."""
    QTest.keyClicks(widget, text)


def choose(qtbot: QtBot, button: QToolButton, *words: str) -> None:
    """Open the button's menu and click through it: an entry, or a submenu and an entry of it."""
    ways, walked = iter(words), list[QMenu]()

    def walk() -> None:
        menu = QApplication.activePopupWidget()
        if not isinstance(menu, QMenu) or menu in walked:
            return
        walked.append(menu)
        if len(walked) == len(words):
            timer.stop()  # the click may open a dialog, which lasts
        word = next(ways)
        at = menu.actionGeometry(next(one for one in menu.actions() if one.text() == word)).center()
        QTest.mouseMove(menu, at)
        click(menu, at)

    timer = QTimer()
    timer.timeout.connect(walk)
    timer.start(10)
    stood = QCursor.pos()
    click(button)
    qtbot.waitUntil(lambda: len(walked) == len(words))
    QCursor.setPos(stood)  # the next window would take it for the mouse of its user
    button.window().activateWindow()  # as a window manager does when the menu closes


def click_name(bar: QTabBar, name: str) -> None:
    """The tab of that name."""
    at = next(n for n in range(bar.count()) if bar.tabText(n) == name)
    click(bar, bar.tabRect(at).center())


def click_tab(dock: QDockWidget | None) -> None:
    """The tab of a dock that stands behind others."""
    assert dock is not None
    name, frame = dock.windowTitle(), dock.parentWidget()
    assert frame is not None
    bars = (bar for bar in frame.findChildren(QTabBar) if bar.isVisible())
    click_name(next(bar for bar in bars if name in map(bar.tabText, range(bar.count()))), name)
