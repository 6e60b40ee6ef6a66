"""What a client removed is given back in a held request: a real SDK, the proxy, and the simulated provider."""

from typing import Any

from inspector.gui.panels.losses.panel import LossesPanel
from inspector.gui.panels.proxy.hold_choices import STEPPED
from inspector.gui.panels.proxy.panel import EACH
from tests.gui.hands import click
from tests.gui.proxy_stage import Stage, stage
from tests.gui.test_proxy import titles

__all__ = ["stage"]

RULE = "Never touch the migrations folder."
TURNS = [f"Fix the importer. {RULE}", "Now add a test.", "Then update the changelog."]


def test_facts_when_added_to_a_held_request_reach_the_provider(stage: Stage) -> None:
    stage.begin()
    history: list[Any] = []
    for text in TURNS:
        history.append({"role": "user", "content": text})
        history.append({"role": "assistant", "content": stage.ask(history).result()})
    stage.window.show_panel("Proxy")
    click(stage.panel.rule.kind.buttons[EACH])
    after_drop = [*history[2:], {"role": "user", "content": "Go on with the exporter."}]
    call = stage.ask(after_drop)
    box = stage.box()
    stage.window.show_panel("What was lost")
    page = stage.window.docks.panel("What was lost")
    assert isinstance(page, LossesPanel)
    stage.until(lambda: page.table.rows)
    assert page.table.rows[0].row.fact.text == RULE
    stage.edit(lambda: click(page.insert))
    stage.window.show_panel("Proxy")
    stage.until(lambda: "With your 1 step" in titles(box))
    (stepped,) = (choice for choice in box.table.rows if choice.key == STEPPED)
    assert (stepped.changes, stepped.lost) == ("1 user message inserted", 0)
    stage.until(box.forward.isEnabled)
    click(box.forward)
    assert call.result()
    assert any(RULE in text for text in stage.arrived())
