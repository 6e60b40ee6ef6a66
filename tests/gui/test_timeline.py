"""The timeline while a transcript is still being read: all of what is there can be seen."""

from dataclasses import replace

from pytestqt.qtbot import QtBot

from inspector.core.session import Request
from inspector.core.usage import Usage
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


def test_what_the_cache_kept_is_told_with_its_life(desk: Desk, qtbot: QtBot) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    one = session()
    usages = (Usage(3, 0, 3_100, cache_write_1h=3_100), Usage(3, 2_000, 100, cache_write_1h=60), Usage(3))
    requests = tuple(Request(n, one.main.requests[0].view, usage=usage) for n, usage in enumerate(usages))
    desk.workbench.open(replace(one, threads=(replace(one.main, requests=requests),)))
    qtbot.waitUntil(lambda: timeline.plot is not None, timeout=20_000)
    told = [timeline.plot.told(n) for n in range(3)]
    assert "cache 3,100 written for 1 h" in told[0]
    assert "cache 2,000 read, 40 written for 5 min, 60 written for 1 h" in told[1]
    assert "cache" not in told[2]


def test_a_closer_look_is_kept_while_the_session_grows(desk: Desk, qtbot: QtBot) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.resize(800, 300)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    one = session()

    def grow(count: int) -> None:
        requests = tuple(Request(n, one.main.requests[0].view) for n in range(count))
        desk.workbench.open(replace(one, threads=(replace(one.main, requests=requests),)))

    grow(100)
    qtbot.waitUntil(lambda: timeline.plot is not None, timeout=20_000)
    box = timeline.plot.above.getViewBox()
    box.setXRange(20, 40, padding=0)
    grow(140)
    assert [round(edge) for edge in box.viewRange()[0]] == [20, 40]
    box.setXRange(119.5, 139.7, padding=0)  # looking at the end: the end is what is looked at
    grow(150)
    assert [round(edge, 1) for edge in box.viewRange()[0]] == [129.5, 149.7]
    desk.workbench.open(replace(session("another.jsonl"), path="another.jsonl"))
    assert box.viewRange()[0][1] < 10
