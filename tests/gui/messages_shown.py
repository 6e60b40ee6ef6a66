"""A message shown in a panel."""

import base64
from collections.abc import Callable

import pytest
from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.message import (
    Message,
    Part,
)
from inspector.core.session import Session, Thread
from inspector.gui.desk import Desk
from inspector.gui.panels.message.header import PLAIN
from inspector.gui.panels.message.view import MessageView

Show = Callable[..., MessageView]


def displayed(view: MessageView) -> str:
    return view.text.document().toPlainText()


def picture() -> str:
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(QColor("red"))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return base64.b64encode(bytes(buffer.data().data())).decode()


@pytest.fixture
def show(desk: Desk, qtbot: QtBot) -> Show:
    """Show a message of these parts in a visible panel, as plain text."""
    desk.settings.keep_text("message/form", PLAIN)
    view = MessageView(desk)
    qtbot.addWidget(view)
    view.resize(600, 500)
    view.show()

    def shown(*parts: Part, others: tuple[Message, ...] = (), together: str = "") -> MessageView:
        message = Message(
            "m1", "user", parts, together=together, line=7, time="2026-01-03T10:11:12Z"
        )
        messages = (message, *others)
        desk.workbench.open(
            Session("test", (Thread("main", messages=messages, end=Stretch(own=messages).view()),))
        )
        desk.workbench.select("m1")
        view.show_state(desk.workbench.state)
        return view

    return shown
