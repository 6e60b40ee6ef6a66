"""The network table: a real SDK through the real proxy, with real clicks; and thousands of rows."""

import json
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import anthropic
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from inspector.core.exchange import ExchangePlace, ExchangeSummary
from inspector.gui import garbage
from inspector.gui.desk import Desk
from inspector.gui.look.number_formats import size_words
from inspector.gui.panels.proxy.exchange_rows import (
    COLUMNS,
    ERRORS,
    MAIN,
    SIDE,
    SUB,
    WATERFALL,
    ExchangeModel,
    ListedExchange,
    kinds_of,
    time_words,
)
from inspector.gui.panels.proxy.exchange_table import ExchangeTable, filtered_table
from inspector.gui.panels.proxy.exchange_waterfall import waterfall
from inspector.proxy.holds.hold import Rule
from tests.core.formats.recordings import CLAUDE, Recording
from tests.gui.gaps import watched
from tests.gui.hands import click, double_click, press, write
from tests.gui.proxy_stage import TOLD, Stage, stage

__all__ = ["stage"]
SENT_AT = [one.title for one in COLUMNS].index("sent at")
KEY = "sk-ant-api03-0123456789abcdefABCDEF"


def place(table: ExchangeTable, row: int, column: int = 2) -> QPoint:
    return table.visualRect(table.model().index(row, column)).center()


def sorted_by(table: ExchangeTable) -> list[str]:
    """The headings in sight with a sign that they are what the rows are sorted by."""
    heads = [table.model().headerData(n, Qt.Orientation.Horizontal) for n in range(len(COLUMNS))]
    return [
        head for n, head in enumerate(heads) if head[-1] in "▾▴" and not table.isColumnHidden(n)
    ]


def said(stage: Stage) -> str:
    return stage.panel.detail.messages.text.toPlainText()


def raw(stage: Stage) -> str:
    return stage.panel.detail.raw.text.toPlainText()


def test_the_lines_of_clients_stand_there_until_something_has_passed(stage: Stage) -> None:
    stage.begin()
    stage.window.show_panel("Proxy")
    panel = stage.panel
    assert stage.window.docks.current.name == "Live"
    assert panel.address.text() == stage.status.url
    assert panel.address.font().pointSizeF() > 1.3 * panel.to.font().pointSizeF()
    stage.until(panel.clients.isVisible)
    assert "other conversation" not in stage.window.status.words.text()  # of nothing at all
    click(panel.clients.copies["claude-code"])
    assert (
        QGuiApplication.clipboard().text()
        == f"ANTHROPIC_BASE_URL={stage.status.url} ENABLE_TOOL_SEARCH=true claude"
    )
    assert not panel.table.isVisible()
    stage.ask().result()
    stage.until(lambda: panel.table.isVisible() and panel.table.rows)
    assert not panel.clients.isVisible()


def test_clicked_filtered_and_gone_to(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two conversations, a token count, a refusal; head and bodies without the key; HAR by a click."""
    stage.begin()
    stage.window.show_panel("Proxy")
    with anthropic.Anthropic(api_key=KEY, base_url=stage.status.url, max_retries=0) as client:
        told = list(TOLD)
        for _ in range(3):
            answer: Any = client.messages.create(
                model="claude-simulated", max_tokens=99, messages=told
            )
            told += [
                {"role": "assistant", "content": answer.content[0].text},
                {"role": "user", "content": "go on"},
            ]
        client.messages.count_tokens(model="claude-simulated", messages=told)
        with pytest.raises(anthropic.RateLimitError):
            client.messages.create(
                model="claude-simulated",
                max_tokens=9,
                messages=told,
                extra_headers={"x-simulate-fault": "429"},
            )
    panel, table = stage.panel, stage.panel.table
    stage.until(lambda: len(table.rows) == 5 and all(row.what.ended for row in table.rows))
    assert [row.what.number for row in table.rows] == [4, 3, 2, 1, 0]
    assert sorted_by(table) == ["# ▾"]
    for which, wanted in ((ERRORS, [4]), (SIDE, [4, 3]), (MAIN, [2, 1, 0])):
        click(panel.filter.which.buttons[which])
        assert [row.what.number for row in table.rows] == wanted
    assert not panel.filter.which.buttons[SUB].isVisible(), "a chip that keeps nothing is none"
    click(panel.filter.which.buttons["all"])
    write(panel.filter.text, "count")
    assert [row.what.number for row in table.rows] == [3]
    panel.filter.text.clear()
    header = table.horizontalHeader()
    middle = header.viewport().height() // 2
    # By number, the first on top.
    click(header.viewport(), QPoint(header.sectionViewportPosition(0) + 9, middle))
    assert [row.what.number for row in table.rows] == [0, 1, 2, 3, 4]
    assert sorted_by(table) == ["# ▴"]
    table.sortByColumn(SENT_AT, Qt.SortOrder.AscendingOrder)
    assert sorted_by(table) == ["# ▴"]  # the same order, and there is no room for the other heading
    stage.window.resize(1_920, 1_000)
    stage.until(lambda: not table.isColumnHidden(SENT_AT))
    assert sorted_by(table) == ["Sent at ▴"]
    click(header.viewport(), QPoint(header.sectionViewportPosition(0) + 9, middle))
    assert sorted_by(table) == ["# ▴"]
    click(table.viewport(), place(table, 1))
    stage.until(lambda: "(redacted)" in raw(stage))
    assert KEY not in raw(stage)
    assert "POST /v1/messages" in raw(stage)
    assert '"max_tokens": 99' in raw(stage)
    assert said(stage).count("I did two") == 1
    press(table, Qt.Key.Key_Down)
    stage.until(lambda: "6 · user" in said(stage))
    double_click(table.viewport(), place(table, 0))
    stage.until(lambda: stage.bench.state.at == 0)
    assert stage.window.docks.current.name == "Read"
    stage.window.show_panel("Proxy")
    click(table.viewport(), place(table, 3))
    assert not panel.detail.go.isEnabled()
    target = tmp_path / "out.har"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *given: (str(target), ""))
    click(panel.filter.save)
    stage.until(target.exists)
    assert len(json.loads(target.read_text(encoding="utf-8"))["log"]["entries"]) == 5
    assert KEY not in target.read_text(encoding="utf-8")


def test_a_request_is_held_and_sent_on_while_another_workspace_is_shown(stage: Stage) -> None:
    """It opens Live, its whole box in sight; the table says how long it was held."""
    stage.begin(Rule("each"))
    stage.until(lambda: stage.window.docks.ready)
    stage.window.choose_workspace("Read")
    call = stage.ask()
    box = stage.box()
    tabs = stage.window.top.workspaces
    assert stage.window.docks.current.name == "Live"
    stage.until(lambda: tabs.tabText(tabs.currentIndex()) == "Live ●")
    stage.until(
        lambda: box.table.isVisible() and box.visibleRegion().boundingRect().size() == box.size()
    )
    assert box.as_it_was.visibleRegion().boundingRect().size() == box.as_it_was.size()
    stage.until(lambda: stage.panel.table.rows and stage.panel.table.rows[0].what.is_waiting)
    click(box.as_it_was)
    assert call.result()
    stage.until(lambda: stage.panel.table.rows[0].what.held_ms is not None)
    stage.until(lambda: tabs.tabText(tabs.currentIndex()) == "Live")
    assert not stage.panel.boxes


def test_a_recording_that_nobody_writes_shows_its_exchanges(stage: Stage, tmp_path: Path) -> None:
    recording = Recording()
    for n in range(12):
        messages = [{"role": "user", "content": f"step {m}"} for m in range(n + 1)]
        recording.reply(
            recording.ask({"model": "m", "messages": messages}, headers=CLAUDE), {"type": "message"}
        )
    stage.window.open_path(str(recording.save(tmp_path / "old.jsonl")))
    stage.until(lambda: stage.window.docks.ready and stage.bench.state.session is not None)
    stage.window.show_panel("Proxy")
    stage.until(lambda: len(stage.panel.table.rows) == 12)
    assert not stage.panel.address.isVisible()
    assert {row.what.client for row in stage.panel.table.rows} == {"claude-code"}


def _rows(count: int) -> list[ListedExchange]:
    made = [
        ExchangeSummary(
            n, n + 2, f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z", "POST", "/v1/messages", "c", "m",
            status=200, ended="complete", first_byte_ms=100, elapsed_ms=500 + n % 1000, up=n,
        )
        for n in range(count)
    ]  # fmt: skip
    return [ListedExchange(one, ExchangePlace("main", one.number)) for one in made]


def test_one_that_comes_is_one_row_more(stage: Stage) -> None:
    """Of ten thousand nothing is laid out again; one that changed is one that changed."""
    model, heard = ExchangeModel(stage.window.bridge), list[object]()
    rows = _rows(10_000)
    model.show_all(rows[:-1])
    model.sort(0, Qt.SortOrder.DescendingOrder)
    model.modelReset.connect(lambda: heard.append("all"))
    model.rowsInserted.connect(lambda parent, first, last: heard.append((first, last)))
    model.dataChanged.connect(
        lambda first, last: heard.append((first.row(), last.row(), "changed"))
    )
    model.show_all(rows)
    assert heard == [(0, 0)]
    changed = ListedExchange(rows[-1].what, ExchangePlace("other", 0))
    model.show_all([*rows[:-1], changed])
    assert heard == [(0, 0), (0, 0, "changed")]
    model.sort(
        next(n for n, one in enumerate(COLUMNS) if one.title == "up"), Qt.SortOrder.AscendingOrder
    )
    assert heard[-1] == "all"
    assert [row.what.number for row in model.rows[:3]] == [0, 1, 2]
    assert len(COLUMNS) == model.columnCount()
    assert COLUMNS[WATERFALL].title == "time"


def test_200_000_calls_are_filtered_and_found_beside_the_window(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Counting the objects that earlier tests left takes 0.15 s.
    monkeypatch.setattr(garbage, "THAW_S", inf)
    _, over, table = filtered_table(desk.theme, desk.bridge)
    rows, took = _rows(200_000), list[float]()

    def measured(call: Callable[[], object]) -> None:
        qtbot.waitUntil(lambda: not desk.bridge.busy, timeout=60_000)
        with watched() as gaps:
            call()
            qtbot.waitUntil(lambda: not desk.bridge.busy, timeout=60_000)
        took.append(max(gaps.work))

    measured(lambda: table.show_rows(rows))
    for at in (0, 150_000):
        measured(lambda at=at: table.show_place("main", at))  # type: ignore[misc]
        assert table.currentIndex().row() == 199_999 - at
    for text in ("r", "re", "request 7", "request 77777", "no such"):
        measured(lambda text=text: over.text.setText(text))  # type: ignore[misc]
        wanted = [
            n
            for n in range(199_999, -1, -1)
            if all(word in f"request {n}" for word in text.split())
        ]
        assert [row.what.number for row in table.rows] == wanted
    assert max(took) < 0.1, (
        "of the window's own thread: 0.25 s to put them in order there, 0.1 s to find one"
    )


@pytest.mark.parametrize("width", [700, 950, 1_300, 1_900])
def test_the_columns_have_all_the_room(desk: Desk, qtbot: QtBot, width: int) -> None:
    """With bars these take it; without, all columns share it."""
    for rows in (
        _rows(30),
        [replace(row, what=replace(row.what, elapsed_ms=None)) for row in _rows(30)],
    ):
        table = ExchangeTable(desk.theme, desk.bridge)
        qtbot.addWidget(table)
        table.resize(width, 300)
        table.show()
        table.show_rows(rows)
        table._fit()
        columns = [table.columnWidth(n) for n in range(len(COLUMNS)) if not table.isColumnHidden(n)]
        assert sum(columns) == table.viewport().width()


def test_chips_are_offered_for_what_there_is() -> None:
    rows = _rows(3)
    failed = replace(rows[0], what=replace(rows[0].what, status=529))
    side = replace(rows[1], place=ExchangePlace("main", None, "title"))
    assert kinds_of([]) == kinds_of(rows) == frozenset()
    assert kinds_of([failed, *rows]) == {ERRORS}
    assert kinds_of([side, *rows]) == {MAIN, SIDE}


def test_bars_share_an_axis_and_pauses_take_little_of_it() -> None:
    first, second, third = _rows(3)
    later = ExchangeSummary(
        9, 99, "2026-01-02T00:00:00Z", "POST", "/", first_byte_ms=500, elapsed_ms=1000
    )
    bars = waterfall([ListedExchange(later, third.place), second, first])
    assert set(bars) == {2, 3, 99}
    assert bars[2][0] == 0
    assert bars[2][0] < bars[2][1] < bars[2][2] < bars[3][0] < bars[3][2] < bars[99][0]
    assert bars[99][2] == pytest.approx(1)
    assert bars[99][2] - bars[99][0] == pytest.approx(2 * (bars[99][1] - bars[99][0]))
    assert bars[99][2] - bars[99][0] > 0.4  # a second of two, not of a day
    assert waterfall([]) == {}


def test_words() -> None:
    assert [size_words(n) for n in (None, 0, 999, 1_000, 9_960, 402_000, 1_400_000)] == [
        "", "0 B", "999 B", "1.0 KB", "10 KB", "402 KB", "1.4 MB",
    ]  # fmt: skip
    assert [time_words(ms) for ms in (None, 0, 640, 1_900, 125_000)] == [
        "",
        "0 ms",
        "640 ms",
        "1.9 s",
        "2:05 min",
    ]
