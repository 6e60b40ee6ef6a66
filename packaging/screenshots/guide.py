"""The guide in pictures: one scene after the other on the sample session, each from where the one before ended."""

from collections.abc import Callable, Sequence

from screenshots.stage import Stage

from inspector.gui.panels.breakdown.panel import BreakdownPanel
from inspector.gui.panels.compare.panel import ComparePanel
from inspector.gui.panels.cost.panel import CostPanel
from inspector.gui.panels.pins.panel import PinsPanel
from inspector.gui.panels.timeline.panel import Timeline
from inspector.resources import resource
from inspector.workbench.steps import ORIGIN

FULL = 78
"""The request of the sample at which it is fullest: its own harness compacted right behind it."""
WRITTEN = """Goal:
Move all amounts of ledger-kit to exact decimals and import the statements of two more banks.
Accomplished:
Rounding happens in one place; nordbank and riverside import, each with tests.
Key Decisions:
Half-even at the currency's own precision; statements are invented data and stay as they are.
Relevant Files:
ledger/money.py, ledger/importers, docs/rounding.md"""
"""A summary as L3b wants it, by hand."""


def welcome(stage: Stage) -> None:
    """What a new user sees."""


def tiers(stage: Stage) -> None:
    """Every tier with its verdict; the tier that is due is selected, and nothing has happened."""
    stage.open(resource("sample.jsonl"))
    stage.set_up("light")
    stage.window.choose_workspace("Compact")
    stage.bring("Tiers", "Lost")
    stage.look_at("L0")


def step_l0(stage: Stage) -> None:
    """After L0: the new pressure, the diff, what was lost."""
    stage.set_up("dark")
    stage.run("L0")
    stage.bring("Tiers", "Lost")


def need(stage: Stage) -> None:
    """L3b waits for the person, an answer is typed."""
    stage.stepping.undo()
    stage.set_up("dark", bottom=330)
    stage.answer_by("Manually")
    stage.run("L3b")
    stage.paste(WRITTEN)


def branches(stage: Stage) -> None:
    """Two ways tried from one buffer, compared. The waiting call fails, and a digest takes the place of the summary."""
    stage.fail_with("500 server error")
    stage.set_up("dark")
    stage.bring("Steps", "Diff")
    stage.stepping.compare(1)
    stage.rest()
    stage.show_text()


def compare(stage: Stage) -> None:
    """Policies side by side over the whole session."""
    stage.stepping.compare(None)
    stage.stepping.go(ORIGIN)
    stage.set_up("dark")
    stage.bring("Compare")
    stage.rest(lambda: stage.panel("Compare", ComparePanel).is_complete)


def cost(stage: Stage) -> None:
    """What the session cost, a cache break looked at."""
    stage.set_up("dark")
    stage.bring("Cost")
    table = stage.panel("Cost", CostPanel).table
    stage.rest(lambda: bool(table.rows))
    table.selectRow(0)
    table.chosen.emit(0, -1)


def pins(stage: Stage) -> None:
    """What the users said should hold, as recorded and under two policies."""
    stage.set_up("dark", bottom=330)
    stage.bring("Pins")
    panel = stage.panel("Pins", PinsPanel)
    stage.bench.pin("CLAUDE.md has the house rules.")
    for action in panel.policies.menu().actions():
        action.setChecked(action.data() in ("codex", "opencode"))


def breakdown(stage: Stage) -> None:
    """What fills the window where it is fullest, and when it came in."""
    stage.set_up("dark")
    stage.bring("Message", "Breakdown")
    stage.stand(FULL)
    stage.bench.select("")  # an earlier scene selected a message of a step
    timeline, panel = stage.panel("Timeline", Timeline), stage.panel("Breakdown", BreakdownPanel)
    timeline.way.choose("By tool")
    stage.rest(
        lambda: (
            panel.filling is not None
            and timeline.plot is not None
            and timeline.plot.areas is not None
        )
    )
    panel.look_into(("tool results",))


SCENES: Sequence[tuple[str, Callable[[Stage], None]]] = (
    ("01-open", welcome),
    ("04-tiers", tiers),
    ("06-step-l0", step_l0),
    ("08-need", need),
    ("13-branches", branches),
    ("16-compare", compare),
    ("21-cost", cost),
    ("23-breakdown", breakdown),
    ("22-pins", pins),
)
"""(name of the picture, what leads to it)."""
