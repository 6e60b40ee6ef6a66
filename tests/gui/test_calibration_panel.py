"""The calibration panel: every estimator in the table, the chosen one plotted, points that lead to their request."""

import pytest
from PySide6.QtCore import QPointF, Qt
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.calibration import HIGHEST
from inspector.core.usage import Usage
from inspector.gui.desk import Desk
from inspector.gui.panels.calibration.panel import CalibrationPanel
from tests.gui.drawn import drawn
from tests.gui.hands import click, press


def session(requests: int, usage: bool = True) -> Session:
    """The buffer grows by a thousand letters a request; the provider counts 1.5 times what they are worth."""
    stretch = Stretch(own=tuple(Message(f"m{n}", "user", (Text("abcd " * 800),)) for n in range(requests)))
    listed = tuple(
        Request(n, stretch.view(n + 1), usage=Usage(1_500 * (n + 1) + 300, output=9) if usage else None)
        for n in range(requests)
    )
    return Session(
        "test", (Thread("main", requests=listed, messages=tuple(stretch.own), end=stretch.view()),), path="s"
    )


@pytest.fixture
def panel(desk: Desk, qtbot: QtBot) -> CalibrationPanel:
    """Visible, told of every state."""
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
    qtbot.waitUntil(lambda: row(panel, "pi")[4] == "1.0000" and not desk.bridge.busy)
    assert row(panel, "roku")[0] == "● roku"
    assert row(panel, "tiktoken")[1:] == ["–", *[""] * 6]
    assert row(panel, "pi")[1] == "0.00%", "the number that is shown, not the factor's"
    assert float(row(panel, "pi")[7].rstrip("%")) > 1, "the overhead is none of the factor's business"
    assert panel.says.text().startswith("12 samples · new user ×1.4")
    slope = float(row(panel, "chars4")[6])
    assert abs(slope - 1.5) < 0.02
    click(panel.tokenizers)
    qtbot.waitUntil(lambda: row(panel, "tiktoken-cl100k")[4] == "1.0000")
    assert not panel.tokenizers.isVisible()


def test_plots_show_the_chosen_estimator_and_lead_to_a_request(
    panel: CalibrationPanel, desk: Desk, qtbot: QtBot
) -> None:
    desk.workbench.open(session(12))
    qtbot.waitUntil(lambda: panel.plot is not None and panel.plot.found is not None)
    assert panel.plot.found.fit.name == "roku"
    assert len(panel.plot._points.getData()[0]) == 12
    assert panel.plot._curve.getData()[1].max() <= 2.0
    requests, errors = panel.plot._error_points.getData()
    assert list(requests) == list(range(1, 12)), "before the first report there is nothing to go by"
    assert abs(errors[2:]).max() < 0.001, "two growths tell the slope"
    assert "predicted" not in panel.plot.about(0)
    assert "reported 7,800 · error 0.00%" in panel.plot.about(4)
    qtbot.wait(50)
    view = panel.plot._graphics
    below = panel.plot.errors.getViewBox()
    click(view.viewport(), view.mapFromScene(below.mapViewToScene(QPointF(4, 0))))
    qtbot.waitUntil(lambda: desk.workbench.state.at == 4)
    assert panel.plot._here.getData()[0].size == 1
    second = panel.table.visualRect(panel.table.model().index(1, 0)).center()
    click(panel.table.viewport(), second)
    qtbot.waitUntil(lambda: panel.plot.found is not None and panel.plot.found.fit.name == "chars4")
    press(panel.table, Qt.Key.Key_Return)
    assert desk.workbench.state.estimator == "chars4"
    assert row(panel, "chars4")[0] == "● chars4"


@pytest.mark.parametrize("height", [300, 520, 900])
@pytest.mark.parametrize("larger", [0, 5])
def test_captions_stand_above_what_is_drawn(
    panel: CalibrationPanel, desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, height: int, larger: int
) -> None:
    desk.theme.zoom(larger)
    panel.resize(1_200, height)
    desk.workbench.open(session(12))
    qtbot.waitUntil(lambda: panel.plot is not None and panel.plot.found is not None and not desk.bridge.busy)
    qtbot.wait(20)
    plot = panel.plot
    below = [one.covers.bottom() - 2 for one in drawn(plot.captions, monkeypatch)]
    assert below
    drawn_to = [
        (plot.scatter, max(plot.found.largest)),
        (plot.scale, HIGHEST),
        (plot.errors, max(plot._errors.values())),
    ]
    tops = [one.getViewBox().mapViewToScene(QPointF(0, value)).y() for one, value in drawn_to]
    assert all(top >= foot for top, foot in zip(tops, below, strict=False))


def test_a_point_of_the_scatter_leads_to_its_request(panel: CalibrationPanel, desk: Desk, qtbot: QtBot) -> None:
    desk.workbench.open(session(6))
    qtbot.waitUntil(lambda: panel.plot is not None and panel.plot.found is not None)
    qtbot.wait(50)
    points = panel.plot._points
    x, y = (values[2] for values in points.getData())
    box, view = panel.plot.scatter.getViewBox(), panel.plot._graphics
    click(view.viewport(), view.mapFromScene(box.mapViewToScene(QPointF(x, y))))
    qtbot.waitUntil(lambda: desk.workbench.state.at == 2)


def test_a_thread_without_usage_gets_a_sentence(panel: CalibrationPanel, desk: Desk) -> None:
    assert panel._empty.text().startswith("Open a transcript")
    desk.workbench.open(session(3, usage=False))
    assert panel._empty.text() == "This thread reports no usage: there is nothing to compare the estimators with."
    assert panel._empty.isVisible()
    desk.workbench.open(Session("test", path="empty"))
    assert panel._empty.isVisible()


def test_restyle_keeps_the_plots(panel: CalibrationPanel, desk: Desk, qtbot: QtBot) -> None:
    desk.workbench.open(session(6))
    qtbot.waitUntil(lambda: panel.plot is not None)
    desk.theme.toggle()
    panel.restyle()
    assert not panel.grab().isNull()
