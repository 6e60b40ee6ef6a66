"""A user's hands: real clicks and keys, typed."""

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QCursor, QMouseEvent, QWheelEvent
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


def hold(widget: QWidget, at: QPoint, modifier: Qt.KeyboardModifier = _PLAIN) -> None:
    """Press the left button and keep it down."""
    QTest.mousePress(widget, Qt.MouseButton.LeftButton, modifier, at)


def pull(widget: QWidget, to: QPoint, modifier: Qt.KeyboardModifier = _PLAIN) -> None:
    """Move the mouse with the left button down."""
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(to),
        QPointF(widget.mapToGlobal(to)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.LeftButton,
        modifier,
    )
    QApplication.sendEvent(widget, event)
    QApplication.processEvents()


def let_go(widget: QWidget, at: QPoint, modifier: Qt.KeyboardModifier = _PLAIN) -> None:
    """Release the left button."""
    QTest.mouseRelease(widget, Qt.MouseButton.LeftButton, modifier, at)


def drag(
    widget: QWidget, start: QPoint, end: QPoint, modifier: Qt.KeyboardModifier = _PLAIN
) -> None:
    """Drag from one place to another in three moves."""
    hold(widget, start, modifier)
    for part in (1, 2, 3):
        pull(widget, start + (end - start) * (part / 3), modifier)
    let_go(widget, end, modifier)


def turn_wheel(
    widget: QWidget, at: QPoint, turns: int, modifier: Qt.KeyboardModifier = _PLAIN
) -> None:
    """Turn the wheel; forward is positive."""
    event = QWheelEvent(
        QPointF(at),
        QPointF(widget.mapToGlobal(at)),
        QPoint(0, 0),
        QPoint(0, 120 * turns),
        Qt.MouseButton.NoButton,
        modifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)
