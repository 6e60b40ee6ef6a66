"""The calibration panel: every estimator in the table, the selected one in charts, points that lead to requests."""

from dataclasses import replace
from itertools import combinations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.desk import Desk
from inspector.gui.panels.calibration.marks import equation_words, segment_colour
from inspector.gui.panels.calibration.panel import CalibrationPanel
from inspector.gui.widgets.chart_widget import robust_reach
from tests.gui.drawn import drawn
from tests.gui.hands import click, press


def session(requests: int, usage: bool = True) -> Session:
    """The buffer grows by a thousand letters a request; the provider counts 1.5 times what they are worth."""
    stretch = Stretch(
        own=tuple(Message(f"m{n}", "user", (Text("abcd " * 800),)) for n in range(requests))
    )
    listed = tuple(
        Request(
            n, stretch.view(n + 1), usage=Usage(1_500 * (n + 1) + 300, output=9) if usage else None
        )
        for n in range(requests)
    )
    return Session(
        "test",
        (Thread("main", requests=listed, messages=tuple(stretch.own), end=stretch.view()),),
        path="s",
    )


@pytest.fixture
def panel(desk: Desk, qtbot: QtBot) -> CalibrationPanel:
    """A visible panel that receives every state."""
    made = CalibrationPanel(desk)
    qtbot.addWidget(made)
    made.resize(1_000, 300)
    made.show()
    desk.workbench.subscribe(made.receive)
    return made


def row(panel: CalibrationPanel, name: str) -> list[str]:
    model = panel.table.model()
    number = next(n for n, one in enumerate(panel.table.rows) if one.name == name)
    return [str(model.index(number, column).data()) for column in range(model.columnCount())]


def test_every_estimator_is_compared_with_the_reported_numbers(
    panel: CalibrationPanel, desk: Desk, qtbot: QtBot
) -> None:
    desk.workbench.open(session(12))
    qtbot.waitUntil(lambda: row(panel, "pi")[4] != "" and not desk.bridge.busy)
    assert row(panel, "roku")[0] == "● Roku"
    assert row(panel, "tiktoken")[1:] == ["–", *[""] * 4]
    assert row(panel, "pi")[1] == "0.00%", "the number that is shown, not the factor's"
    assert panel.says.text().startswith(
        "12 requests with a reported size. Reported tokens for each estimated token: user 1.4"
    )
    assert float(row(panel, "chars4")[4]) == pytest.approx(1.5, abs=0.02)
    click(panel.tokenizers)
    qtbot.waitUntil(lambda: row(panel, "tiktoken-cl100k")[4] != "")
    assert not panel.tokenizers.isVisible()


def test_every_column_explains_itself_under_the_mouse(panel: CalibrationPanel) -> None:
    model = panel.table.model()
    tips = [
        model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
        for column in range(model.columnCount())
    ]
    assert all(tips)
    assert len(set(tips)) == len(tips)


def test_charts_show_the_selected_estimator_and_lead_to_a_request(
    panel: CalibrationPanel, desk: Desk, qtbot: QtBot
) -> None:
    panel.resize(1_300, 800)
    desk.workbench.open(session(12))
    qtbot.waitUntil(lambda: panel.plot.found is not None)
    assert panel.plot.found is not None
    assert panel.plot.found.fit.name == "roku"
    qtbot.wait(20)
    for chart, request in ((panel.plot.residuals, 4), (panel.plot.scatter, 7)):
        place = chart.place_of(*chart._samples[request])
        assert place is not None
        QTest.mouseMove(chart, place.toPoint())
        assert panel.says.text().startswith(
            f"Request {request}: {1_500 * (request + 1) + 300:,} reported, "
        )
        click(chart, place.toPoint())
        assert desk.workbench.state.at == request
    second = panel.table.visualRect(panel.table.model().index(1, 0)).center()
    click(panel.table.viewport(), second)
    qtbot.waitUntil(lambda: panel.plot.found is not None and panel.plot.found.fit.name == "chars4")
    press(panel.table, Qt.Key.Key_Return)
    assert desk.workbench.state.estimator == "chars4"
    assert row(panel, "chars4")[0] == "● characters / 4"


def compacted(requests: int, at: int) -> Session:
    """After a compaction the provider counts more for the same."""
    made = session(requests)
    listed = tuple(
        one if one.index < at else replace(one, usage=Usage(2_000 * (one.index + 1) + 900))
        for one in made.main.requests
    )
    thread = replace(made.main, requests=listed, compactions=(Compaction(at, "auto"),))
    return replace(made, threads=(thread,))


def test_each_segment_has_a_line_a_colour_and_an_equation(
    panel: CalibrationPanel, desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.resize(1_300, 800)
    desk.workbench.open(compacted(24, 12))
    qtbot.waitUntil(lambda: panel.plot.found is not None and not desk.bridge.busy)
    assert panel.plot.found is not None
    segments = panel.plot.found.segments
    assert [(one.first, one.last) for one in segments] == [(0, 11), (12, 23)]
    assert " / " in row(panel, "roku")[4]
    qtbot.wait(20)
    scatter = panel.plot.scatter
    scatter.redraw()
    words = [text.words for text in drawn(scatter, monkeypatch)]
    assert "Segment 1, requests 0 to 11" in words
    assert equation_words(segments[1]) in words
    assert "Estimated by Roku (tokens)" in words
    assert "Reported by the provider (tokens)" in words
    picture = scatter.grab().toImage()
    for number in (0, 1):
        sample = segments[number].samples[5]
        place = scatter.place_of(sample, number)
        assert place is not None
        assert picture.pixelColor(place.toPoint()).name() == segment_colour(
            desk.theme.colours, number
        )


@pytest.mark.parametrize("height", [300, 490, 520, 900])
@pytest.mark.parametrize("larger", [0, 5])
def test_words_of_the_charts_lie_on_no_data_and_on_no_other_words(
    panel: CalibrationPanel,
    desk: Desk,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    height: int,
    larger: int,
) -> None:
    desk.theme.zoom(larger)
    panel.resize(1_400, height)
    desk.workbench.open(compacted(60, 30))
    qtbot.waitUntil(lambda: panel.plot.found is not None and not desk.bridge.busy)
    qtbot.wait(20)
    beside = "Reported by the provider (tokens)", "Residual (tokens)"
    for chart in (panel.plot.scatter, panel.plot.residuals, panel.plot.coverage):
        if chart.area.height() < 40:
            continue
        chart.redraw()
        texts = [text for text in drawn(chart, monkeypatch) if text.words not in beside]
        assert texts
        data = chart.area.adjusted(1, 1, -1, -1)
        for text in texts:
            assert not text.covers.intersects(data), text
        for one, other in combinations(texts, 2):
            common = one.covers & other.covers
            assert common.height() <= 3 or common.width() <= 0, (one, other)


def test_residuals_fall_into_bins_by_segment(
    panel: CalibrationPanel, desk: Desk, qtbot: QtBot
) -> None:
    desk.workbench.open(compacted(24, 12))
    qtbot.waitUntil(lambda: panel.plot.found is not None)
    counts = panel.plot.residuals.bins()
    assert [sum(count[number] for count in counts) for number in (0, 1)] == [12, 12]
    assert panel.plot.residual_words.whole.startswith("median ")


def test_one_wild_number_does_not_flatten_the_charts(
    panel: CalibrationPanel, desk: Desk, qtbot: QtBot
) -> None:
    made = session(200)
    wild = replace(made.main.requests[100], usage=Usage(9_000_000))
    requests = (*made.main.requests[:100], wild, *made.main.requests[101:])
    desk.workbench.open(replace(made, threads=(replace(made.main, requests=requests),)))
    qtbot.waitUntil(lambda: panel.plot.found is not None)
    _, up = panel.plot.scatter.scales
    assert up.high < 1_000_000
    assert panel.plot.hidden_words.whole == "1 point outside the axes"


def test_coverage_says_how_many_reports_lay_inside(
    panel: CalibrationPanel, desk: Desk, qtbot: QtBot
) -> None:
    desk.workbench.open(session(40))
    qtbot.waitUntil(lambda: panel.plot.found is not None)
    rows = panel.plot.coverage.rows
    assert [row.expected for row in rows] == [0.95, 0.5, 0.8, 0.9, 0.95]
    assert rows[0].count == 39
    assert all(row.count == 19 for row in rows[1:])
    assert "Range on the gauge: " in panel.plot.coverage.accessibleDescription()


def test_a_thread_without_usage_gets_a_sentence(panel: CalibrationPanel, desk: Desk) -> None:
    assert panel._empty.text().startswith("Open a transcript")
    desk.workbench.open(session(3, usage=False))
    assert (
        panel._empty.text()
        == "This thread reports no usage: there is nothing to compare the estimators with."
    )
    assert panel._empty.isVisible()
    desk.workbench.open(Session("test", path="empty"))
    assert panel._empty.isVisible()


def test_restyle_keeps_the_plots(panel: CalibrationPanel, desk: Desk, qtbot: QtBot) -> None:
    desk.workbench.open(session(6))
    qtbot.waitUntil(lambda: panel.plot is not None)
    desk.theme.toggle()
    panel.restyle()
    assert not panel.grab().isNull()


def test_axis_when_it_has_few_values_reaches_all_of_them() -> None:
    assert robust_reach([13, 45]) == 45
    assert robust_reach([]) == 1
    assert robust_reach([*[10.0] * 100, 900.0]) < 900
