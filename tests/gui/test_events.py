"""The events of the steps, in order, each a click away from its step."""

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from inspector.core.outcome import Event
from inspector.core.session import RecordedEvent
from inspector.gui.desk import Desk
from inspector.gui.panels.lists.events import EventsPanel
from tests.gui.hands import click
from tests.gui.stepping import open_it, session
from tests.gui.test_lists import cells, click_cell


@pytest.fixture
def panel(desk: Desk, qtbot: QtBot) -> EventsPanel:
    made = EventsPanel(desk)
    qtbot.addWidget(made)
    made.resize(900, 300)
    made.show()
    open_it(desk.workbench)
    desk.workbench.subscribe(made.receive)
    return made


def test_without_a_step_there_is_none(panel: EventsPanel) -> None:
    assert panel.windowTitle() == "Events"
    assert panel.says.text().startswith("No events yet")


def test_events_after_a_step_are_those_of_the_step_with_a_sentence_each(
    desk: Desk, panel: EventsPanel
) -> None:
    desk.workbench.stepping.step("L0")
    steps = desk.workbench.state.steps
    assert steps is not None
    freed = steps.taken[0].events[0].fields["freed_tokens"]
    assert panel.windowTitle() == "Events (1)"
    sentence = f"Old tool results were cleared, which freed {freed:,} tokens."
    fields = f'{{"step":1,"freed_tokens":{freed}}}'
    assert cells(panel.table) == [["1 L0", "L0", "MicrocompactRan", sentence, fields]]
    desk.workbench.stepping.step("L3b")
    assert panel.windowTitle() == "Events (3)"
    assert panel.says.text() == "3 events of L3b"
    assert [row[2] for row in cells(panel.table)] == [
        "CompactTriggered",
        "AutoCompactSummarizerCalled",
        "CompactComplete",
    ]
    assert cells(panel.table)[2][3] == "The compaction ended with the model's summary."


def test_events_of_all_steps_when_asked_for_lead_to_their_steps(
    desk: Desk, panel: EventsPanel
) -> None:
    desk.workbench.stepping.step("L0")
    desk.workbench.stepping.step("L3b")
    click(panel.all)
    assert panel.says.text() == "4 events"
    assert [row[0] for row in cells(panel.table)] == ["1 L0", "2 L3b", "2 L3b", "2 L3b"]
    click_cell(panel.table, 0)
    assert desk.workbench.state.steps is not None
    assert desk.workbench.state.steps.at == 0
    assert panel.windowTitle() == "Events (1)"
    assert [row[0] for row in cells(panel.table)] == ["1 L0", "(2 L3b)", "(2 L3b)", "(2 L3b)"], (
        "what lies ahead"
    )
    click_cell(panel.table, 3)
    assert desk.workbench.state.steps.at == 1


def test_events_of_a_step_on_another_branch_are_left_out(desk: Desk, panel: EventsPanel) -> None:
    desk.workbench.stepping.step("L0")
    desk.workbench.stepping.undo()
    desk.workbench.stepping.step("L1")
    click(panel.all)
    assert [row[:2] for row in cells(panel.table)] == [["2 L1", "L1"]] * len(panel.table.rows)


def test_events_that_a_run_recorded_lead_to_their_requests(desk: Desk, panel: EventsPanel) -> None:
    told = [
        RecordedEvent(0, "L0", Event("MicrocompactRan", {"freed_tokens": 1})),
        RecordedEvent(1, "L3a", Event("CompactTriggered")),
    ]
    one = session()
    desk.workbench.open(replace(one, threads=(replace(one.threads[0], events=told),)))
    desk.workbench.move(1)
    assert panel.windowTitle() == "Events (2)"
    assert [row[:3] for row in cells(panel.table)] == [
        ["request 0", "L0", "MicrocompactRan"],
        ["request 1", "L3a", "CompactTriggered"],
    ]
    assert not panel.all.isVisible()
    click_cell(panel.table, 0)
    assert desk.workbench.state.at == 0
    assert panel.windowTitle() == "Events (1)"
    assert [row[0] for row in cells(panel.table)] == ["request 0", "(request 1)"], "what lies ahead"
    desk.workbench.stepping.step("L0")
    assert [row[0] for row in cells(panel.table)] == ["1 L0"]
    click(panel.all)
    assert [row[0] for row in cells(panel.table)] == ["request 0", "1 L0", "(request 1)"]
