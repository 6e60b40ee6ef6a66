"""The timeline while a transcript is still being read: all of what is there can be seen."""

from dataclasses import replace

from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text
from inspector.core.session import Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.desk import Desk
from inspector.gui.panels.timeline.panel import Timeline
from tests.gui.stepping import session


def test_the_whole_session_is_in_sight_after_its_first_requests_were(desk: Desk, qtbot: QtBot) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    few = session()
    desk.workbench.open(few, more=True)
    qtbot.waitUntil(lambda: timeline.plot is not None)
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
    qtbot.waitUntil(lambda: timeline.plot is not None)
    told = [timeline.plot.about(n) for n in range(3)]
    assert "cache 3,100 written for 1 h" in told[0]
    assert "cache 2,000 read, 40 written for 5 min, 60 written for 1 h" in told[1]
    assert "cache" not in told[2]


def test_the_mouse_over_a_request_tells_all_three_numbers(desk: Desk, qtbot: QtBot) -> None:
    """Reported, predicted before that, believed by the policy; of a call without usage the latter two."""
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    desk.workbench.open(reported(10, without=(6,)))
    desk.workbench.previews.look()
    qtbot.waitUntil(lambda: timeline.plot is not None)
    qtbot.waitUntil(lambda: "believed" in timeline.plot.about(5))
    assert timeline.plot.about(0).startswith("request 0 · 3,000 reported · 1,00")
    assert timeline.plot.about(5).startswith("request 5 · 13,000 reported · 13,000 predicted · 13,")
    assert timeline.plot.about(6).startswith("request 6 · 15,000 predicted · 1")


def test_what_was_not_reported_is_a_dashed_line_between_what_was_and_to_the_end(desk: Desk, qtbot: QtBot) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    desk.workbench.open(reported(10, without=(6,)))
    qtbot.waitUntil(lambda: timeline.plot is not None)
    x, y = timeline.plot._curves["unreported"].getOriginalDataset()
    drawn = [(float(at), float(height)) for at, height in zip(x, y, strict=True) if height == height]
    assert drawn == [(5, 13_000), (6, 15_000), (7, 17_000), (9, 21_000), (9.6, 21_000)]
    assert timeline.plot._curves["unreported"].opts["pen"].dashPattern()
    assert not timeline.plot._curves["reported"].opts["pen"].dashPattern()


def reported(count: int, without: tuple[int, ...]) -> Session:
    """Every request holds a message more, of which the provider counts 2,000 tokens; 1,000 are none of theirs."""
    messages = tuple(Message(f"m{n}", "user", (Text("x" * 4_000),)) for n in range(count))
    stretch = Stretch(own=messages)
    requests = tuple(
        Request(
            n, stretch.view(n + 1), usage=None if n in without else Usage(3_000 + 2_000 * n), model="claude-opus-4-5"
        )
        for n in range(count)
    )
    thread = Thread("main", "", "claude-opus-4-5", requests, messages, stretch.view())
    return Session("test", (thread,), path="reported.jsonl")


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
    qtbot.waitUntil(lambda: timeline.plot is not None)
    box = timeline.plot.above.getViewBox()
    box.setXRange(20, 40, padding=0)
    grow(140)
    assert [round(edge) for edge in box.viewRange()[0]] == [20, 40]
    box.setXRange(119.5, 139.7, padding=0)  # looking at the end: the end is what is looked at
    grow(150)
    assert [round(edge, 1) for edge in box.viewRange()[0]] == [129.5, 149.7]
    desk.workbench.open(replace(session("another.jsonl"), path="another.jsonl"))
    assert box.viewRange()[0][1] < 10
