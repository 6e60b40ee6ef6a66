"""An opaque compaction, shown with an offline summary below it."""

from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.gui.desk import Desk
from inspector.gui.panels.message.view import MessageView
from inspector.workbench.message_rows import NAME
from tests.core.policies.build import conv, user
from tests.workbench.test_readable_summary import SEALED


def test_the_summary_stands_below_what_only_the_provider_reads(desk: Desk, qtbot: QtBot) -> None:
    old = Stretch(None, conv(3).messages)
    new = Stretch(None, [SEALED, user("next")])
    requests = [Request(0, old.view()), Request(1, new.view())]
    thread = Thread(
        "main",
        requests=requests,
        end=new.view(),
        compactions=[Compaction(1, "auto", summary=SEALED)],
    )
    view = MessageView(desk)
    qtbot.addWidget(view)
    view.show()
    desk.workbench.subscribe(view.receive)
    desk.workbench.open(Session("test", (thread,), path="a"))
    desk.workbench.select("sealed")
    qtbot.waitUntil(lambda: NAME in view.text.toPlainText())
    assert "opaque · compaction · 2 bytes" in view.text.toPlainText()
    assert "initial goal" in view.text.toPlainText()
