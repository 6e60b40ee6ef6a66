"""The timeline while a transcript is still being read: all of what is there can be seen."""

from dataclasses import replace

from pytestqt.qtbot import QtBot

from inspector.core.session import Request
from inspector.gui.panel import Desk
from inspector.gui.timeline import Timeline
from tests.gui.stepping import session


def test_the_whole_session_is_in_sight_after_its_first_requests_were(desk: Desk, qtbot: QtBot) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    few = session()
    desk.workbench.open(few, more=True)
    qtbot.waitUntil(lambda: timeline.plot is not None, timeout=20_000)
    requests = tuple(Request(n, few.main.requests[0].view) for n in range(300))
    desk.workbench.open(replace(few, threads=(replace(few.main, requests=requests),)))
    (left, right), _ = timeline.plot.above.getViewBox().viewRange()
    assert left <= 0
    assert right >= 299
