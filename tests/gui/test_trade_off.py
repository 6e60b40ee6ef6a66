"""The scatter of cost against what was needed again: the front, infeasible policies, picking a policy."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, pairwise, product

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from inspector.core.replay.regret import Regret
from inspector.core.replay.report import ReplayReport
from inspector.gui.desk import Desk
from inspector.gui.panels.compare.panel import ComparePanel
from inspector.gui.panels.compare.trade_off import TradeOffChart
from inspector.gui.window import MainWindow
from tests.gui.drawn import drawn
from tests.gui.hands import click


@pytest.fixture
def compared(module_window: MainWindow, qtbot: QtBot) -> Iterator[ComparePanel]:
    """The sample under the policies that are compared by default: compared once, and after each test shown as it was.

    What a test left that is not taken back fails it here.
    """
    panel = _compare_sample(module_window, qtbot)
    before = _shown_by(panel)
    yield panel
    panel.trade_off.setMinimumSize(0, 0)
    panel.trade_off.setMaximumSize(16_777_215, 16_777_215)
    panel._pick_row(before.picked)
    qtbot.wait(20)
    assert _shown_by(panel) == before


@dataclass(frozen=True)
class Shown:
    """What the comparison shows, and which of its objects show it."""

    picked: str
    row: int
    says: str
    sizes: tuple[QSize, ...]
    visible: tuple[bool, ...]
    objects: tuple[object, ...]
    picture: QImage


def _shown_by(panel: ComparePanel) -> Shown:
    parts = panel.trade_off, panel.plot, panel.view, panel.table
    return Shown(
        panel._picked,
        panel.table.currentIndex().row(),
        panel.says.whole,
        tuple(part.size() for part in (panel.window(), *parts) if part.isVisible()),
        tuple(part.isVisible() for part in parts),
        (panel.trade_off, panel._found, panel.desk.workbench.state),
        panel.grab().toImage(),
    )


def _compare_sample(window: MainWindow, qtbot: QtBot) -> ComparePanel:
    """Open the sample and drive the usual policies over it, unless that was done in this window."""
    if window.workbench.state.session is not None:
        return _panel_of(window)
    window.resize(1_600, 1_000)
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(
        lambda: (
            bench.state.session is not None and bench.state.opening is None and window.docks.ready
        )
    )
    window.choose_workspace("Compare")
    panel = _panel_of(window)
    panel.run()
    qtbot.waitUntil(lambda: panel.is_complete and panel.plot is not None and not window.bridge.busy)
    qtbot.wait(20)
    return panel


def _panel_of(window: MainWindow) -> ComparePanel:
    panel = window.docks.panel("Compare")
    assert isinstance(panel, ComparePanel)
    return panel


def test_front_is_what_no_feasible_policy_beats_on_both_counts(compared: ComparePanel) -> None:
    chart = compared.trade_off
    costs = [standing.cost_usd or Decimal(0) for standing in chart.front]
    needs = [standing.needed_per_1000 or 0.0 for standing in chart.front]
    assert len(chart.front) > 1
    assert costs == sorted(costs)
    assert needs == sorted(needs, reverse=True)
    for standing in chart.standings:
        if standing.is_feasible and not standing.in_front:
            assert any(
                (one.cost_usd or 0) <= (standing.cost_usd or 0)
                and (one.needed_per_1000 or 0) <= (standing.needed_per_1000 or 0)
                for one in chart.front
            )
    assert not any(standing.in_front for standing in chart.standings if not standing.is_feasible)
    assert "No policy beats these on both cost and facts needed again: " in compared.front.whole


def _colour_distance(colour: QColor, other: QColor) -> int:
    red, green, blue = (
        colour.red() - other.red(),
        colour.green() - other.green(),
        colour.blue() - other.blue(),
    )
    return abs(red) + abs(green) + abs(blue)


def test_infeasible_policies_are_grey_and_say_why(compared: ComparePanel) -> None:
    chart = compared.trade_off
    grey = [standing for standing in chart.standings if not standing.is_feasible]
    assert grey
    picture = chart.grab().toImage()
    missing = QColor(compared.desk.theme.colours.missing)
    for standing in grey:
        centre = chart.place_of(standing).toPoint()
        around = product(
            range(centre.x() - 6, centre.x() + 7), range(centre.y() - 6, centre.y() + 7)
        )
        assert min(_colour_distance(picture.pixelColor(x, y), missing) for x, y in around) <= 24
        assert "infeasible: " in chart.describe(standing)


def test_click_on_a_point_picks_its_policy_and_hover_describes_it(
    compared: ComparePanel, qtbot: QtBot
) -> None:
    chart = compared.trade_off
    wanted = chart.front[-1]
    with qtbot.waitSignal(chart.picked) as caught:
        click(chart, chart.place_of(wanted).toPoint())
    assert caught.args == [wanted.policy]
    assert compared._picked == wanted.policy
    assert compared.table.rows[compared.table.currentIndex().row()].name == wanted.policy
    assert chart.describe(wanted).endswith("no policy beats it on both cost and needs")


@pytest.mark.parametrize("size", [(360, 260), (560, 340), (900, 700)])
def test_words_of_the_scatter_lie_on_no_point_no_line_and_no_other_words(
    compared: ComparePanel, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    chart = compared.trade_off
    chart.setFixedSize(*size)
    chart.redraw()
    texts = [
        text for text in drawn(chart, monkeypatch) if not text.words.startswith("Needed again")
    ]
    assert len(texts) > 8
    line = chart._front_line(chart.area)
    for text in texts:
        for start, end in pairwise(line):
            through = (
                min(start.x(), end.x()) < text.covers.right()
                and max(start.x(), end.x()) > text.covers.left()
            )
            across = (
                min(start.y(), end.y()) < text.covers.bottom()
                and max(start.y(), end.y()) > text.covers.top()
            )
            assert not (through and across), text
        assert not any(
            text.covers.contains(chart.place_of(standing)) for standing in chart.standings
        ), text
    for one, other in combinations(texts, 2):
        common = one.covers & other.covers
        assert common.height() <= 3 or common.width() <= 0, (one, other)


def test_narrow_panel_shows_curves_or_scatter_by_a_switch(window: MainWindow, qtbot: QtBot) -> None:
    """In a window of its own: one that was narrow is painted otherwise when it is wide again."""
    compared = _compare_sample(window, qtbot)
    assert compared.trade_off.isVisible()
    assert compared.plot.isVisible()
    assert not compared.view.isVisible()
    window.resize(1_280, 800)
    qtbot.wait(20)
    assert compared.view.isVisible()
    assert compared.plot.isVisible()
    assert not compared.trade_off.isVisible()
    click(compared.view.buttons["Cost and needs"])
    assert compared.trade_off.isVisible()
    assert not compared.plot.isVisible()


def test_policy_that_is_cheapest_and_needs_fewest_is_called_best(
    desk: Desk, qtbot: QtBot, compared: ComparePanel
) -> None:
    cheap: ReplayReport = compared._found.reports[0]
    dear = replace(
        compared._found.reports[0],
        policy="pi",
        title="Pi",
        spent=replace(cheap.spent, cost_usd=(cheap.spent.cost_usd or Decimal(0)) + 1),
    )
    free_of_needs = replace(cheap, losses=replace(cheap.losses, regrets=tuple[Regret, ...]()))
    found = replace(compared._found, reports=(free_of_needs, dear), missing=())
    chart = TradeOffChart(desk.theme)
    qtbot.addWidget(chart)
    chart.show_reports((free_of_needs, dear), "pi")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compared, "_found", found)
        patch.setattr(compared, "trade_off", chart)
        words = compared._front_words()
    assert words == (
        "Best: Session as recorded is the cheapest feasible policy and needs the fewest facts again."
    )
