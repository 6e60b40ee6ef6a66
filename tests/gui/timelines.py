"""Timelines for tests: of a made-up session alone, and of the sample in a window."""

from collections.abc import Callable

from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text
from inspector.core.session import Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.panels.timeline.canvas import PlotCanvas
from inspector.gui.panels.timeline.panel import Timeline
from inspector.gui.window import MainWindow

SHIFT = Qt.KeyboardModifier.ShiftModifier


def reported(
    count: int,
    without: tuple[int, ...] = (),
    usage: Callable[[int], Usage] = lambda n: Usage(3_000 + 2_000 * n),
) -> Session:
    """Every request holds a message more, of which the provider counts 2,000 tokens; 1,000 are not in the file."""
    messages = tuple(Message(f"m{n}", "user", (Text("x" * 4_000),)) for n in range(count))
    stretch = Stretch(own=messages)
    requests = tuple(
        Request(
            n,
            stretch.view(n + 1),
            usage=None if n in without else usage(n),
            model="claude-opus-4-5",
        )
        for n in range(count)
    )
    thread = Thread("main", "", "claude-opus-4-5", requests, messages, stretch.view())
    return Session("test", (thread,), path="reported.jsonl")


def at_request(canvas: PlotCanvas, request: float, height: float = 0.5) -> QPoint:
    """The place of a request in the plot; `height`: share of the plot from its foot."""
    area = canvas.area
    return QPoint(
        round(canvas.across.pixel(request)), round(area.bottom() - height * area.height())
    )


def edges(timeline: Timeline) -> tuple[float, float]:
    """The visible requests."""
    return timeline.plot.frame.range.first, timeline.plot.frame.range.last


def open_timeline(window: MainWindow, qtbot: QtBot) -> Timeline:
    """Open the sample, and return its timeline, in a window of 1440 x 900."""
    window.resize(1_440, 900)
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(
        lambda: (
            bench.state.session is not None and bench.state.opening is None and window.docks.ready
        )
    )
    timeline = window.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    qtbot.waitUntil(
        lambda: (
            timeline.plot is not None and timeline.plot.areas is not None and not window.bridge.busy
        )
    )
    qtbot.wait(20)
    return timeline
