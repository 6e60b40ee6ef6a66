"""Silent drops in the window: a row with the evidence, a mark on the timeline, told apart from what is recorded."""

from pytestqt.qtbot import QtBot

from inspector.core.buffer import Prompt, Stretch
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.desk import Desk
from inspector.gui.panels.lists.recorded import CompactionsPanel
from inspector.gui.panels.timeline.panel import Timeline
from inspector.workbench.pressure.timeline import series

LONG = "a result of many words " * 20


def session(recorded: bool = False, evidence: str = "") -> Session:
    """Request 1 shows a result cleared, request 2 a rewind; with `recorded` the first is announced."""
    task = Message("u", "user", (Text("do it"),))
    call = Message("a", "assistant", (ToolCall("c", "read", {}),))
    full = Message("r", "tool", (ToolResult("c", LONG),))
    cleared = Message("r", "tool", (ToolResult("c", "[Old tool result content cleared]"),))
    anew = Message("u2", "user", (Text("something else"),))
    first = Stretch(own=[task, call, full])
    second = Stretch(first.view(2), [cleared])
    third = Stretch(first.view(1), [anew])
    usages = (Usage(9_000), Usage(4_000), Usage(3_500))
    views = (first.view(), second.view(), third.view())
    requests = [
        Request(n, view, Prompt("s", ()), usage)
        for n, (view, usage) in enumerate(zip(views, usages, strict=True))
    ]
    compactions = (
        (Compaction(1, "micro", kind="micro", cleared=("r",), evidence=evidence),)
        if recorded
        else ()
    )
    thread = Thread(
        "main", "", "m", requests, [task, call, full, anew], third.view(), compactions=compactions
    )
    return Session("test", (thread,), path="d.jsonl")


def rows(panel: CompactionsPanel) -> list[tuple[int, str, str]]:
    return [(row.request, row.kind, row.trigger) for row in panel.table.rows]


def test_rows_with_their_evidence(desk: Desk, qtbot: QtBot) -> None:
    panel = CompactionsPanel(desk)
    qtbot.addWidget(panel)
    panel.show()
    desk.workbench.subscribe(panel.receive)
    desk.workbench.open(session())
    assert panel.windowTitle() == "Compactions (2 silent)"
    assert rows(panel) == [(1, "micro-compaction", "silent"), (2, "rewind", "silent")]
    assert "[Old tool result content cleared]: 1 message cleared" in panel.table.rows[0].evidence
    assert "2 messages dropped" in panel.table.rows[1].evidence
    assert "No recorded compaction, 2 unrecorded changes" in panel.says.text()
    panel.table.chosen.emit(1, 0)
    assert desk.workbench.state.at == 2
    desk.workbench.open(session(recorded=True))
    assert rows(panel) == [(1, "micro", "micro"), (2, "rewind", "silent")]
    assert panel.table.rows[0].evidence == "recorded: 1 message cleared"
    desk.workbench.open(session(recorded=True, evidence="The count fell."))
    assert panel.table.rows[0].evidence == "inferred: 1 message cleared. The count fell."
    assert "No recorded compaction, 1 inferred, 1 unrecorded change" in panel.says.text()


def test_marks_on_the_timeline(desk: Desk, qtbot: QtBot) -> None:
    timeline = Timeline(desk)
    qtbot.addWidget(timeline)
    timeline.resize(800, 300)
    timeline.show()
    desk.workbench.subscribe(timeline.receive)
    desk.workbench.open(session(recorded=True))
    drawn = series(desk.workbench.state)
    assert drawn
    assert [(mark.at, mark.silent) for mark in drawn.marks] == [(1, False), (2, True)]
    assert drawn.marks[1].label == "drop, rewind"
    qtbot.waitUntil(lambda: timeline.plot is not None)
    assert not timeline.grab().isNull()
