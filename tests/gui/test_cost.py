"""The cost of a session in the window: the numbers of the command line, a row that explains and leads there."""

from decimal import Decimal
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, QPointF
from pytestqt.qtbot import QtBot

from inspector.cli.cost import describe
from inspector.core.findings.spending import session_cost
from inspector.core.session import Session, SideCall, Thread
from inspector.core.tokens.prices import BILL_KINDS, Bill
from inspector.core.usage import Usage
from inspector.core.words import dollars
from inspector.gui.desk import Desk
from inspector.gui.look.number_formats import dollars_up_to
from inspector.gui.panels.cost.figures import CAUSE_NAMES, cost_rows, stack_bars
from inspector.gui.panels.cost.panel import CostPanel
from inspector.gui.widgets.plot import _spell_request
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from tests.core.sessions import MODEL
from tests.core.test_breaks import GREW, LOST, session, used
from tests.gui.drawn import drawn
from tests.gui.hands import click, double_click
from tests.shared import transcripts


@pytest.fixture
def panel(desk: Desk, qtbot: QtBot) -> CostPanel:
    """Visible, tall, told of every state."""
    made = CostPanel(desk)
    qtbot.addWidget(made)
    made.resize(1_200, 700)
    made.show()
    qtbot.waitExposed(made)
    desk.workbench.subscribe(made.receive)
    return made


def shown(panel: CostPanel, desk: Desk, qtbot: QtBot, opened: Session) -> None:
    desk.workbench.open(opened)
    qtbot.waitUntil(lambda: panel.figures is not None and panel.plot is not None)


def test_the_number_of_the_playhead_hides_no_bar(
    panel: CostPanel, desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown(panel, desk, qtbot, open_transcript(str(resource("sample.jsonl"))))
    overlay, bills = panel.plot.overlay, panel.figures.cost.bills if panel.figures else ()
    for at in (3, 30, 78, 110):
        desk.workbench.move(at)
        (covers,) = (one.covers for one in drawn(overlay, monkeypatch) if one.words == str(at))
        bars = [
            QPointF(overlay._point(n, float(bill.total if bill else 0)))
            for n, bill in enumerate(bills)
        ]
        assert all(
            bar.y() >= covers.bottom() - 1
            for bar in bars
            if covers.left() < bar.x() < covers.right()
        ), at


def check(panel: CostPanel, opened: Session) -> None:
    """The rows are those of the command line, with its money."""
    document = describe(opened, opened.main)
    expected = [
        (miss["request"], CAUSE_NAMES[miss["cause"]], miss["evidence"])
        for miss in document["breaks"]
    ]
    causes = {cause for _, cause, _ in expected}
    rows = [row for row in panel.table.rows if row.request is not None]
    shown_misses = [(row.request, row.what, row.evidence) for row in rows if row.what in causes]
    assert sorted(shown_misses) == sorted(expected)
    assert len(rows) == len(expected) + len(document["compactions"])
    bill = panel.figures.cost.bill if panel.figures else None
    if document["total"] is not None:
        assert bill is not None
        assert float(round(bill.total, 6)) == document["total"]
        assert f"${document['total']:,.2f}" in panel.title.text() or document["total"] < 0.01


def test_it_is_what_the_command_line_says(panel: CostPanel, desk: Desk, qtbot: QtBot) -> None:
    sample = open_transcript(resource("sample.jsonl"))
    shown(panel, desk, qtbot, sample)
    check(panel, sample)
    assert panel.title.text() == "Cost of this thread: $8.63; of the whole session: $8.67"
    words = panel.says.text()
    assert words.startswith(
        "3 cache misses of this thread, 1 of them after compactions: 87,886 tokens re-sent"
    )
    assert "1 of 1 compaction of this thread paid for itself" in words
    assert words.endswith(
        "By model: claude-opus-4-5-20251101 $8.63, claude-haiku-4-5-20251001 $0.04."
        " About $0.12 more (estimated) for requests whose usage is not recorded."
        " Compare shows $8.75: requests and summaries with that estimate, without titles and other side calls."
    )


@pytest.mark.parametrize("pattern", ["codex/**/full.jsonl", "claude-code/**/full.jsonl"])
def test_so_it_is_on_real_sessions(
    panel: CostPanel, desk: Desk, qtbot: QtBot, pattern: str
) -> None:
    paths: list[Path] = sorted(transcripts(pattern), key=lambda path: path.stat().st_size)
    if not paths:
        pytest.skip("no real transcripts on this machine")
    opened = open_transcript(paths[-1])
    shown(panel, desk, qtbot, opened)
    check(panel, opened)


def test_a_click_explains_and_a_double_click_goes_there(
    panel: CostPanel, desk: Desk, qtbot: QtBot
) -> None:
    thread = session(*GREW, LOST, used(54_000, 500))
    shown(panel, desk, qtbot, Session("test", (thread,), path="cost.jsonl"))
    assert panel.more.text().endswith(
        "Select a row to see its evidence; double-click it to go to its request."
    )
    (row,) = panel.table.rows
    desk.workbench.move(3)  # it is the playhead's
    assert panel.table.currentIndex().row() == 0
    assert panel.more.text().startswith(row.evidence)
    panel.table.setCurrentIndex(QModelIndex())
    desk.workbench.move(4)
    place = panel.table.visualRect(panel.table.model().index(0, 1)).center()
    click(panel.table.viewport(), place)
    assert panel.more.text().startswith(row.evidence)
    assert "Nothing was read from the cache" in row.evidence
    desk.workbench.move(0)
    double_click(panel.table.viewport(), place)
    assert desk.workbench.state.at == 3
    assert desk.workbench.state.selected == row.message == thread.messages[0].id


def test_rows_when_a_cause_has_several_misses_begin_with_their_sum() -> None:
    thread = session(*GREW, used(0, 53_000), used(0, 54_000), minutes=(0, 1, 2, 20, 40))
    total, *misses = cost_rows(session_cost(Session("test", (thread,))).threads[0])
    assert (total.request, total.what) == (None, "cache expired: 2 misses")
    assert [(miss.request, miss.what) for miss in misses] == [
        (3, "cache expired"),
        (4, "cache expired"),
    ]
    assert total.tokens == f"{sum(int(miss.tokens.replace(',', '')) for miss in misses):,}"


def test_selected_request_when_a_message_changed_shows_the_first_difference(
    panel: CostPanel, desk: Desk, qtbot: QtBot
) -> None:
    thread = session(*GREW)
    shown(panel, desk, qtbot, Session("test", (thread,), path="cost.jsonl"))
    desk.workbench.move(2)
    assert panel.more.text().startswith(
        "Request 2: The prompt of request 1 is unchanged (3 messages); 2 messages follow."
    )


def test_advice_when_clicked_goes_to_its_request(
    panel: CostPanel, desk: Desk, qtbot: QtBot
) -> None:
    shown(panel, desk, qtbot, open_transcript(str(resource("sample.jsonl"))))
    (piece,) = panel.advice.pieces
    assert panel.advice.isVisible()
    click(panel.advice.rows[0], panel.advice.rows[0].rect().center())
    assert desk.workbench.state.at == piece.request
    assert not panel.advice.rows[1].isVisible()


def test_the_mouse_over_a_bar_tells_its_parts(panel: CostPanel, desk: Desk, qtbot: QtBot) -> None:
    shown(panel, desk, qtbot, Session("test", (session(*GREW, LOST),), path="cost.jsonl"))
    plot = panel.plot
    plot._hover(plot.plot.getViewBox().mapViewToScene(QPointF(3, 0.01)))
    assert panel.says.text().startswith(
        "request 3 · $0.33 · $0.66 so far · input under $0.0001 · write 5 min"
    )
    assert "cache miss: prompt changed" in panel.says.text()
    plot._point(1.2)
    assert desk.workbench.state.at == 1


def test_in_a_low_dock_the_plot_stands_beside_the_table(
    panel: CostPanel, desk: Desk, qtbot: QtBot
) -> None:
    shown(panel, desk, qtbot, Session("test", (session(*GREW, LOST),), path="cost.jsonl"))
    table = QPointF().toPoint()
    qtbot.waitUntil(
        lambda: (
            panel.plot.mapTo(panel, panel.plot.rect().bottomLeft()).y()
            < panel.table.mapTo(panel, table).y()
        )
    )
    panel.resize(900, 220)
    qtbot.waitUntil(
        lambda: panel.plot.geometry().right() < panel.table.mapTo(panel, QPointF().toPoint()).x()
    )
    assert not panel.more.isVisible()


def test_calls_of_which_nobody_knows_for_whom_are_of_the_session(
    panel: CostPanel, desk: Desk, qtbot: QtBot
) -> None:
    one = session(*GREW, LOST)
    side = (
        SideCall("compaction", "main", 3, usage=Usage(100_000)),
        SideCall("probe", usage=Usage(200_000), model=MODEL),
    )
    made = Session("test", (one,), path="cost.jsonl", side_calls=side)
    shown(panel, desk, qtbot, made)
    check(panel, made)
    bill = session_cost(made).bill
    assert bill is not None
    words = (
        f"Cost of this thread: {dollars(bill.total - 1)}; "
        f"of the whole session: {dollars(bill.total)}"
    )
    assert panel.title.text().startswith(words)


def test_what_nobody_knows_is_said(panel: CostPanel, desk: Desk, qtbot: QtBot) -> None:
    shown(panel, desk, qtbot, Session("test", (session(*GREW, LOST, model="nobody's"),), path="a"))
    assert panel.title.text().startswith("Cost unknown: 4 requests without a price")
    assert panel.table.rows[0].cost == "no price"
    silent = Thread("main")
    desk.workbench.open(Session("test", (silent,), path="b"))
    assert "records no token usage" in panel._empty.text()
    assert not panel.table.rows


def test_many_requests_are_drawn_in_groups_by_their_dearest() -> None:
    bills = [Bill(input=Decimal(n % 7), output=Decimal(1)) for n in range(9_000)]
    edges, tops = stack_bars(bills)
    assert len(tops) == len(BILL_KINDS)
    assert len(edges) == len(tops[0]) + 1 == 3_001
    assert max(tops[0]) == 6
    assert max(tops[-1]) == 7
    assert stack_bars([])[0] == [-0.5]


@pytest.mark.parametrize(
    ("top", "amount", "said"),
    [
        (0.00004, 0.00003, "$0.000030"),
        (0.004, 0.0015, "$0.0015"),
        (0.4, 0.3, "$0.30"),
        (3, 1.5, "$1.50"),
        (90, 40, "$40"),
    ],
)
def test_an_axis_says_amounts_as_people_read_them(top: float, amount: float, said: str) -> None:
    assert dollars_up_to(top)(amount) == said
    assert dollars_up_to(top)(0) == "$0"


def test_numbers_of_requests_when_few_are_shown_name_each_once() -> None:
    assert [_spell_request(place) for place in (-1, -0.5, 0, 0.5, 1, 1_500)] == [
        "",
        "",
        "0",
        "",
        "1",
        "1,500",
    ]
