"""A user's hands: real clicks and keys, typed."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

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
