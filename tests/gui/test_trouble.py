"""Bugs: logged, told once, copied as a report; the program goes on."""

import logging
import sys

import pytest
from PySide6.QtGui import QGuiApplication, QPainter
from pytestqt.qtbot import QtBot

from inspector.gui.guard import Trouble
from inspector.gui.panels.timeline.line_drag import LineDrag
from inspector.gui.panels.timeline.tank import Tank
from inspector.gui.window import MainWindow
from tests.gui.hands import click


def fall(word: str) -> None:
    raise ValueError(word)


def meet(trouble: Trouble, word: str) -> None:
    try:
        fall(word)
    except ValueError:
        kind, error, trace = sys.exc_info()
        assert kind is not None
        assert error is not None
        trouble.meet(kind, error, trace)


def test_told_once_with_a_report(
    window: MainWindow, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    trouble = Trouble(window.tell_trouble)
    with caplog.at_level(logging.ERROR, "inspector"):
        meet(trouble, "first")
    assert "ValueError: first" in caplog.text
    assert not window.notice.isVisible()  # not where it happened, which may be a paint event
    qtbot.waitUntil(window.notice.isVisible)
    assert "You can continue" in window.notice.words.text()
    click(window.notice.more)
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("Context Inspector")
    assert "ValueError: first" in copied
    click(window.notice.button)
    assert not window.notice.isVisible()
    meet(trouble, "again")
    qtbot.wait(20)
    assert not window.notice.isVisible()


def test_a_sentence_stays_while_the_state_changes(window: MainWindow) -> None:
    window.tell_trouble("Something went wrong.", "report")
    window.workbench.progress(1, 2)
    window.show_state(window.workbench.state)
    assert window.notice.isVisible()


def test_a_bug_while_painting_does_not_end_the_program(window: MainWindow, qtbot: QtBot) -> None:
    class Broken(Tank):
        def _paint(self, painter: QPainter) -> None:
            fall("in the middle of painting")

    broken = Broken(window.theme, LineDrag(window.workbench, window))
    broken.resize(100, 100)
    qtbot.addWidget(broken)
    with qtbot.captureExceptions() as caught:
        broken.show()
        qtbot.waitUntil(lambda: bool(caught))
        broken.close()
    assert {kind for kind, _, _ in caught} == {ValueError}
