"""The events of the steps, in order, each a click away from its step."""

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from inspector.core.outcome import Event
from inspector.core.session import RecordedEvent
from inspector.gui.desk import Desk
from inspector.gui.panels.lists.recorded import EventsPanel
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


def test_events_by_name_and_fields_newest_last_and_a_click_goes_to_the_step(desk: Desk, panel: EventsPanel) -> None:
    desk.workbench.stepping.step("L0")
    desk.workbench.stepping.step("L3b")
    steps = desk.workbench.state.steps
    assert steps is not None
    freed = steps.taken[0].events[0].fields["freed_tokens"]
    assert panel.windowTitle() == "Events (4)"
    assert cells(panel.table)[0] == [
        "1",
        "L0",
        "L0",
        "MicrocompactRan",
        f'{{"step":1,"freed_tokens":{freed}}}',
    ]
    assert [row[3] for row in cells(panel.table)] == [
        "MicrocompactRan",
        "CompactTriggered",
        "AutoCompactSummarizerCalled",
        "CompactComplete",
    ]
    click_cell(panel.table, 0)
    assert desk.workbench.state.steps is not None
    assert desk.workbench.state.steps.at == 0
    assert panel.windowTitle() == "Events (1)"
    assert [row[0] for row in cells(panel.table)] == ["1", "(2)", "(2)", "(2)"], "what lies ahead"
    click_cell(panel.table, 3)
    assert desk.workbench.state.steps.at == 1


def test_only_the_path_counts(desk: Desk, panel: EventsPanel) -> None:
    desk.workbench.stepping.step("L0")
    desk.workbench.stepping.undo()
    desk.workbench.stepping.step("L1")
    assert [row[:3] for row in cells(panel.table)] == [["2", "L1", "L1"]] * len(panel.table.rows)


def test_what_a_run_recorded_is_told_by_request_and_a_click_goes_there(desk: Desk, panel: EventsPanel) -> None:
    told = [
        RecordedEvent(0, "L0", Event("MicrocompactRan", {"step": 1})),
        RecordedEvent(1, "L3a", Event("CompactTriggered")),
    ]
    one = session()
    desk.workbench.open(replace(one, threads=(replace(one.threads[0], events=told),)))
    desk.workbench.move(1)
    assert panel.windowTitle() == "Events (2)"
    assert cells(panel.table) == [
        ["", "request 0", "L0", "MicrocompactRan", '{"step":1}'],
        ["", "request 1", "L3a", "CompactTriggered", "{}"],
    ]
    click_cell(panel.table, 0)
    assert desk.workbench.state.at == 0
    assert panel.windowTitle() == "Events (1)"
    assert [row[1] for row in cells(panel.table)] == ["request 0", "(request 1)"], "what lies ahead"
    desk.workbench.stepping.step("L0")
    assert [row[0] for row in cells(panel.table)] == ["", "1", ""], "by hand, where we stand"
