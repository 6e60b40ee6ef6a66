"""The guide in pictures: one scene after the other on the sample session, each from where the one before ended."""

from collections.abc import Callable, Sequence

from screenshots.stage import Stage

from inspector.core.message import Opaque
from inspector.gui.panels.breakdown.panel import BreakdownPanel
from inspector.gui.panels.compare.panel import ComparePanel
from inspector.gui.panels.cost.panel import CostPanel
from inspector.gui.panels.lists.lost import LostPanel
from inspector.gui.panels.message.view import MessageView
from inspector.gui.panels.pins.panel import PinsPanel
from inspector.gui.panels.timeline.panel import Timeline
from inspector.resources import resource
from inspector.workbench.steps import ORIGIN

FULL = 78
"""The request of the sample at which it is fullest: its own harness compacted right behind it."""
EARLY = 30
"""One where little is due."""
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


def walk(stage: Stage) -> None:
    """A request early on: what fills it, its buffer, one of its messages."""
    stage.open(resource("sample.jsonl"))
    stage.set_up("dark")
    stage.stand(EARLY)
    stage.bring("Message")
    newest = stage.bench.state.buffer().messages[-11:]
    stage.bench.select(max(newest, key=lambda message: len(message.text)).id)


def watermarks(stage: Stage) -> None:
    """The fullest request, right before the harness compacted; the estimators against what was reported."""
    stage.set_up("dark")
    stage.bring("Calibration")
    stage.stand(FULL)


def tiers(stage: Stage) -> None:
    """Every tier with its verdict and its preview; nothing has happened."""
    stage.set_up("light")
    stage.bring("Tiers", "Diff")
    stage.look_at("L3b")


def preview(stage: Stage) -> None:
    """L0 foreseen, in the diff."""
    stage.set_up("dark")
    stage.look_at("L0")


def step_l0(stage: Stage) -> None:
    """L0 taken."""
    stage.run("L0")
    stage.bring("Tiers", "Events")


def diff_l1(stage: Stage) -> None:
    """Another way from the same buffer: L1, its summary read line by line."""
    stage.stepping.undo()
    stage.set_up("dark")
    stage.run("L1")
    stage.show_text()


def need(stage: Stage) -> None:
    """L3b waits for the person, an answer is typed."""
    stage.stepping.undo()
    stage.set_up("dark", bottom=330)
    stage.answer_by("Manually")
    stage.run("L3b")
    stage.paste(WRITTEN)


def failed(stage: Stage) -> None:
    """The call fails as a provider's would: the mechanical digest steps in."""
    stage.fail_with("500 server error")
    stage.set_up("dark")
    stage.bring("Tiers", "Events")


def breaker(stage: Stage) -> None:
    """The third failure opens the breaker."""
    for _ in range(2):
        stage.run("L3b")
        stage.fail_with("Time out")
    stage.bring("Events")
    stage.to_foot()


def remote(stage: Stage) -> None:
    """L3a by the simulated provider: what only the provider can read, its readable summary below."""
    stage.stepping.go(ORIGIN)
    stage.set_up("dark")
    stage.answer_by("Simulated")
    stage.stepping.choose(remote=True)
    stage.stepping.set("opaque_items", "keep")
    stage.rest()
    stage.run("L3a")
    messages = stage.bench.state.buffer().messages
    stage.bench.select(next(one.id for one in messages if any(isinstance(part, Opaque) for part in one.parts)))
    stage.bring("Message")
    bar = stage.panel("Message", MessageView).text.verticalScrollBar()
    bar.setValue(bar.maximum() * 2 // 5)


def reactive(stage: Stage) -> None:
    """L4, which upstream runs when the model refuses the buffer."""
    stage.stepping.go(ORIGIN)
    stage.stepping.choose(remote=False)
    stage.stepping.set("opaque_items", None)
    stage.set_up("light")
    stage.answer_by("Offline")
    stage.run("L4")
    stage.newest()
    stage.bring("Tiers", "Diff")


def branches(stage: Stage) -> None:
    """All ways tried from one buffer, two of them compared."""
    stage.set_up("dark")
    stage.bring("Steps", "Diff")
    stage.stepping.compare(1)
    stage.rest()
    stage.show_text()


def lost(stage: Stage) -> None:
    """What the last step lost, and where it stood."""
    stage.set_up("dark", bottom=330)
    stage.stepping.compare(None)
    stage.bring("Lost")
    table = stage.panel("Lost", LostPanel).table
    table.selectRow(0)
    table.chosen.emit(0, 0)


def what_if(stage: Stage) -> None:
    """The lower watermark dragged down: where its tiers would have fired."""
    stage.stepping.go(ORIGIN)
    stage.set_up("dark")
    stage.newest()
    stage.bring("What if", "Diff")
    stage.drag_line("L1, L2", 0.4)


def compare(stage: Stage) -> None:
    """Policies side by side over the whole session."""
    stage.stepping.choose(settings=())
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
    timeline, panel = stage.panel("Timeline", Timeline), stage.panel("Breakdown", BreakdownPanel)
    timeline.way.choose("By tool")
    stage.rest(lambda: panel.filling is not None and timeline.plot is not None and timeline.plot.areas is not None)
    panel.look_into(("tool results",))


SCENES: Sequence[tuple[str, Callable[[Stage], None]]] = (
    ("01-open", welcome),
    ("02-walk", walk),
    ("03-watermarks", watermarks),
    ("04-tiers", tiers),
    ("05-preview", preview),
    ("06-step-l0", step_l0),
    ("07-diff-l1", diff_l1),
    ("08-need", need),
    ("09-failed", failed),
    ("10-breaker", breaker),
    ("11-remote", remote),
    ("12-reactive", reactive),
    ("13-branches", branches),
    ("14-lost", lost),
    ("15-what-if", what_if),
    ("16-compare", compare),
    ("21-cost", cost),
    ("23-breakdown", breakdown),
    ("22-pins", pins),
)
"""(name of the picture, what leads to it)."""
