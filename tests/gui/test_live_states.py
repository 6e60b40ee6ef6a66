"""What Live says of a run agrees everywhere: a pause that is wanted, a tier that is due, a turn's number, a run that is
over."""

import threading

import pytest
from PySide6.QtCore import Qt

from inspector.agent.status import ANY, Breakpoints
from inspector.gui.live.status import PAUSING
from inspector.gui.panels.tiers.panel import TierPanel
from inspector.simulated.call import SimulatedAnswer, SimulatedCall
from tests.agent.running import call, script
from tests.gui.hands import click
from tests.gui.live_runs import Stage


def test_a_tier_breakpoint_opens_compact_with_that_tiers_preview(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what that tier would cost, and no other."""
    script(
        monkeypatch, *[[call("read_file", path="big.txt", limit=300)] for _ in range(8)], "Done."
    )
    stage.until(lambda: stage.window.docks.ready)
    stage.run.break_at(Breakpoints(tiers=frozenset({ANY})))
    stage.begin(window=12_000, remote=False)
    standing = stage.paused()
    assert standing.stop == "tier"
    assert standing.verdict is not None
    tier, bench, docks = standing.verdict.tier, stage.window.workbench, stage.window.docks
    stage.until(lambda: docks.current.name == "Compact")
    tiers = docks.panel("Tiers")
    assert isinstance(tiers, TierPanel)
    stage.until(lambda: tiers.seen and bench.state.preview is not None)
    assert bench.state.preview is not None
    assert bench.state.preview.tier == tier
    assert tiers.cost.caption.whole == f"COST OF {tier}"
    assert tier in stage.bar.says.toolTip() + stage.bar.says.text()
    docks.choose("Read")  # looked at once: it is not brought again
    bench.select(bench.state.buffer().messages[0].id)
    assert docks.current.name == "Read"
    stage.run.break_at(Breakpoints())
    stage.run.stop()
    stage.state("ended")


def test_a_pause_that_is_wanted_is_told_at_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    let = threading.Event()

    def slow(asked: SimulatedCall) -> SimulatedAnswer:
        let.wait(30)
        return SimulatedAnswer("Let me see.", (call("read_file", path="README.md"),), "calls")

    heard = script(monkeypatch, slow, "Done.")
    stage.begin()
    stage.until(lambda: heard)
    click(stage.bar.pause)
    stage.until(lambda: stage.bar.chip.text() == "‖ pausing")
    assert PAUSING in stage.bar.says.text() + stage.bar.says.toolTip()
    assert not stage.bar.pause.isEnabled()
    let.set()
    stage.paused()
    assert stage.bar.chip.text() == "‖ paused"
    click(stage.bar.go)
    stage.state("ended")
    assert stage.bar.chip.text() == "✓ done"


def test_a_turn_has_one_number(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the bar, in the list of turns, and on the timeline."""
    script(
        monkeypatch,
        [call("read_file", path="README.md")],
        [call("read_file", path="README.md")],
        "Done.",
    )
    stage.begin()
    stage.state("ended")
    bench = stage.window.workbench
    stage.until(
        lambda: bench.state.session is not None and len(bench.state.session.main.requests) == 3
    )
    stage.until(lambda: len(stage.panel.turns.rows) == 3)
    table = stage.panel.turns
    shown = [table.model().index(row, 0).data() for row in range(3)]
    assert shown == ["2", "1", "0"]
    assert stage.bar.says.text().startswith("3 answered calls: ")
    click(table.viewport(), table.visualRect(table.model().index(1, 0)).center())
    stage.until(lambda: bench.state.at == 1)


def test_a_run_that_is_over_leaves_with_its_session(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "Done.")
    stage.begin()
    stage.state("ended")
    bench = stage.window.workbench
    stage.until(lambda: bench.state.session is not None and bench.state.session.main.requests)
    assert stage.bar.isVisible()
    assert stage.panel.seen
    stage.window.open_sample()
    stage.until(lambda: bench.state.run is None)
    assert not stage.bar.isVisible()
    stage.window.docks.choose("Live")
    assert not stage.window.docks.panel("Run").seen


def test_a_run_that_goes_on_stays_whatever_is_opened(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, [call("read_file", path="README.md")], "Done.")
    stage.begin(paused=True)
    stage.paused()
    stage.window.open_sample()
    bench = stage.window.workbench
    stage.until(lambda: not bench.state.run_is_open and bench.state.opening is None)
    assert bench.state.run is not None
    click(stage.bar.chip)
    stage.until(lambda: bench.state.run_is_open)
    stage.key(Qt.Key.Key_F5)
    stage.state("ended")
    assert bench.state.run is not None
