"""Problems, validity, recorded compactions, search, sessions: each read, clicked and walked by key."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtWidgets import (
    QLabel,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QTextEdit,
)
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text, ToolResult
from inspector.core.session import Compaction, Problem, Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.desk import Desk
from inspector.gui.look.fonts import mono_font, ui_font
from inspector.gui.panels.lists.recorded import CompactionsPanel, ProblemsPanel
from inspector.gui.panels.lists.search import LAST, REMOVED, SearchPanel
from inspector.gui.panels.lists.sessions import SessionsPanel, distinct_names
from inspector.gui.panels.lists.validity import ValidityPanel
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.small import cut_words
from inspector.gui.widgets.table import Column, Rows
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from tests.gui.conftest import Asked
from tests.gui.hands import click, double_click, press, write

Place = Callable[[type[Panel]], Panel]


def message(id_: str, text: str, role: str = "user", line: int = 0) -> Message:
    return Message(id_, role, (Text(text),), line=line)  # type: ignore[arg-type]


def session() -> Session:
    """Three requests, a compaction before the third, a sub-agent, two problems."""
    old = Stretch(
        own=(message("a", "alpha needle", line=1), message("b", "beta", "assistant", line=2))
    )
    old.append(message("c", "gamma", line=3))
    summary = Message("s", "user", (Text("summary of it"),), summary=True, line=5)
    new = Stretch(own=(summary, message("d", "delta NEEDLE", line=6)))
    usages = (Usage(100, output=5), Usage(150, output=5), Usage(60, output=5))
    requests = tuple(
        Request(n, view, usage=usage)
        for n, (view, usage) in enumerate(
            zip((old.view(1), old.view(3), new.view()), usages, strict=True)
        )
    )
    messages = (*old.own, *new.own)
    compactions = (Compaction(2, "auto", summary=summary, kept=1, line=5),)
    main = Thread(
        "main", requests=requests, messages=messages, end=new.view(), compactions=compactions
    )
    lone = (
        message("x", "needle in the sub-agent"),
        Message("y", "tool", (ToolResult("no-such-call", "r"),)),
    )
    view = Stretch(own=lone).view()
    agent = Thread("agent", "the helper", requests=(Request(0, view),), messages=lone, end=view)
    problems = (
        Problem(2, "not JSON", '{"torn & <b>bold</b>'),
        Problem(9, "unknown record", "\u202e", "other.jsonl"),
    )
    return Session(
        "test", (main, agent), problems, path="/tmp/s.jsonl", notes=("It begins in the middle.",)
    )


@pytest.fixture
def place(desk: Desk, qtbot: QtBot) -> Place:
    """Put a panel before the user, with the session open."""

    def placed(kind: type[Panel]) -> Panel:
        panel = kind(desk)
        qtbot.addWidget(panel)
        panel.resize(900, 300)
        panel.show()
        desk.workbench.open(session())
        desk.workbench.subscribe(panel.receive)
        assert not panel.findChildren(QTextEdit)
        assert all(
            found.textFormat() == Qt.TextFormat.PlainText for found in panel.findChildren(QLabel)
        )
        return panel

    return placed


@pytest.mark.parametrize("points", [9, 11, 12.5, 16])
def test_a_long_text_takes_the_lines_that_it_may_and_no_more(qtbot: QtBot, points: float) -> None:
    words = " ".join(f"word{n}" for n in range(20))
    columns: list[Column[str]] = [
        Column("number", lambda one: "7", 6, True),
        Column("text", lambda one: one, lines=3),
    ]
    table: Rows[str] = Rows("Rows", columns)
    qtbot.addWidget(table)
    table.setFont(ui_font(points))
    table.resize(55 * table.fontMetrics().horizontalAdvance("0"), 300)
    table.show_rows(["short", words[:85], words * 9])
    table.show()
    one, line = table.verticalHeader().defaultSectionSize(), table.fontMetrics().lineSpacing()
    qtbot.waitUntil(lambda: table.rowHeight(2) == one + 2 * line)
    assert [table.rowHeight(row) for row in range(3)] == [one, one + line, one + 2 * line]
    table.resize(2_400, 300)  # there is room
    qtbot.waitUntil(lambda: table.rowHeight(1) == one)
    asked = QStyleOptionViewItem()
    delegate = table.itemDelegate()
    assert isinstance(delegate, QStyledItemDelegate)
    delegate.initStyleOption(asked, table.model().index(1, 1))
    assert asked.text == words[:85]


def cells(table: QTableView) -> list[list[str]]:
    model = table.model()
    return [
        [str(model.index(row, column).data()) for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def click_cell(table: QTableView, row: int, column: int = 0, double: bool = False) -> None:
    at = table.visualRect(table.model().index(row, column)).center()
    (double_click if double else click)(table.viewport(), at)


def test_problems_are_listed_counted_and_copied(place: Place, desk: Desk) -> None:
    panel = place(ProblemsPanel)
    assert isinstance(panel, ProblemsPanel)
    assert panel.windowTitle() == "Problems (2)"
    assert panel.says.text() == "2 problems; the rest was read. It begins in the middle."
    assert cells(panel.table) == [
        ["2", "not JSON", '{"torn & <b>bold</b>', ""],
        ["9", "unknown record", "⟨U+202E⟩", "other.jsonl"],
    ]
    click_cell(panel.table, 0)
    assert desk.workbench.state.selected == "b"
    press(panel.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == '2\tnot JSON\t{"torn & <b>bold</b>\t'
    panel.table.clearSelection()
    assert panel.copy is not None
    click(panel.copy)
    assert QGuiApplication.clipboard().text().endswith("9\tunknown record\t\u202e\tother.jsonl")


def test_a_copied_cell_holds_neither_tab_nor_line_end(desk: Desk, qtbot: QtBot) -> None:
    """Pasted into a spreadsheet, a row stays a row and a cell a cell, whatever the transcript holds."""
    panel = ProblemsPanel(desk)
    qtbot.addWidget(panel)
    torn = Problem(3, "not\tJSON", "first\nsecond\r\n\tthird", "a\tb.jsonl")
    desk.workbench.open(Session("test", (), (torn, torn), path="/tmp/s.jsonl"))
    panel.show_state(desk.workbench.state)
    panel.table.copy()
    row = "3\tnot JSON\tfirst second third\ta b.jsonl"
    assert QGuiApplication.clipboard().text() == f"{row}\n{row}"


def test_a_file_without_problems_says_so(place: Place, desk: Desk) -> None:
    panel = place(ProblemsPanel)
    assert isinstance(panel, ProblemsPanel)
    desk.workbench.open(Session("test", path="/tmp/other.jsonl"))
    assert panel.says.text() == "Everything in this file was read."
    assert panel.windowTitle() == "Problems"


def test_validity_of_the_buffer_where_we_stand(place: Place, desk: Desk, qtbot: QtBot) -> None:
    panel = place(ValidityPanel)
    assert isinstance(panel, ValidityPanel)
    qtbot.waitUntil(lambda: panel.says.text() == "Any provider would take this buffer.")
    assert not panel.mend.isVisible()
    desk.workbench.choose_thread("agent")
    desk.workbench.move(None)
    qtbot.waitUntil(lambda: "1 reason why anthropic" in panel.says.text())
    assert cells(panel.table)[0][0] == "result-without-call"
    click_cell(panel.table, 0)
    assert desk.workbench.state.selected == "y"
    click(panel.mend)
    qtbot.waitUntil(lambda: panel.windowTitle() == "Valid ✓")
    steps = desk.workbench.state.steps
    assert steps is not None
    assert [fate.name for fate in steps.fates()] == ["kept", "dropped"]
    assert not panel.mend.isVisible()
    desk.workbench.stepping.undo()
    qtbot.waitUntil(lambda: panel.windowTitle() == "Valid ✗ (1)")


def test_the_verdict_reaches_the_title_of_a_hidden_panel(desk: Desk, qtbot: QtBot) -> None:
    panel = ValidityPanel(desk)
    qtbot.addWidget(panel)
    desk.workbench.open(session())
    panel.receive(desk.workbench.state)
    qtbot.waitUntil(lambda: panel.windowTitle() == "Valid ✓")


def test_compactions_with_their_sizes(place: Place, desk: Desk, asked: Asked) -> None:
    panel = place(CompactionsPanel)
    assert isinstance(panel, CompactionsPanel)
    assert panel.windowTitle() == "Compactions (1)"
    assert cells(panel.table)[0][:7] == [
        "2",
        "auto",
        "summary",
        "≈157",  # 150 reported, and 7 tokens of d that came since
        "60",
        "≈97",
        "summary of 13 characters, 1 message word for word",
    ]
    desk.workbench.move(0)
    click_cell(panel.table, 0)
    assert (desk.workbench.state.at, desk.workbench.state.selected) == (2, "s")
    press(panel.table, Qt.Key.Key_Return)
    assert asked.shown == ["Message"]


def test_search_finds_where_a_text_comes_and_goes(
    place: Place, desk: Desk, qtbot: QtBot, asked: Asked
) -> None:
    panel = place(SearchPanel)
    assert isinstance(panel, SearchPanel)
    write(panel.field, "needle")
    qtbot.waitUntil(lambda: panel.says.text() == "2 messages")
    assert cells(panel.table) == [
        ["user", "", "alpha needle", "12 chars", "0", "1", "auto compaction", "main"],
        ["user", "", "delta NEEDLE", "12 chars", "2", "", "", "main"],
    ]
    press(panel.field, Qt.Key.Key_Return)
    assert (desk.workbench.state.at, desk.workbench.state.selected) == (0, "a")
    press(panel.table, Qt.Key.Key_Down)
    assert (desk.workbench.state.at, desk.workbench.state.selected) == (2, "d")
    press(panel.table, Qt.Key.Key_Return)
    assert asked.shown == ["Message"]
    click_cell(panel.table, 0, column=LAST)
    assert (desk.workbench.state.at, desk.workbench.state.selected) == (1, "a")
    click_cell(panel.table, 0, column=REMOVED)
    assert (desk.workbench.state.at, desk.workbench.state.selected) == (2, "a")


def test_search_when_a_result_matches_names_its_file_and_size(
    place: Place, desk: Desk, qtbot: QtBot
) -> None:
    panel = place(SearchPanel)
    assert isinstance(panel, SearchPanel)
    desk.workbench.open(open_transcript(resource("sample.jsonl")))
    qtbot.waitUntil(lambda: len(desk.workbench.state.thread_id) > 0)
    panel.take("class RateBook")
    qtbot.waitUntil(lambda: bool(panel.table.rows))
    result = next(row for row in cells(panel.table) if row[0] == "result")
    assert result[1].startswith("Read ")
    assert result[1].endswith(".py")
    assert result[3].endswith(" lines")


def test_table_when_it_has_many_rows_gives_each_two_lines_and_measures_none(
    qtbot: QtBot,
) -> None:
    asked = list[int]()

    def spell(row: int) -> str:
        asked.append(row)
        return "words " * 90

    table = Rows[int]("Many", (Column("text", spell, lines=3),))
    qtbot.addWidget(table)
    table.resize(400, 300)
    table.show()
    table.show_rows(range(100_000))
    qtbot.wait(1)
    high, one = table.rowHeight(99_999), table.fontMetrics().lineSpacing()
    assert high == table.rowHeight(0) >= 2 * one
    table.scrollToBottom()
    table.grab()
    assert len(set(asked)) < 100
    table.show_rows(range(2))
    assert table.rowHeight(0) > high  # a short list has as many lines as the text needs, here three


def test_search_when_its_panel_is_as_wide_as_usual_shows_most_of_a_line(
    place: Place, desk: Desk, qtbot: QtBot
) -> None:
    panel = place(SearchPanel)
    assert isinstance(panel, SearchPanel)
    panel.resize(1000, 400)
    write(panel.field, "needle")
    qtbot.waitUntil(lambda: bool(panel.table.rows))
    figure = panel.fontMetrics().horizontalAdvance("0")
    assert panel.table.columnWidth(2) >= 32 * figure
    by = panel.table.model().index(0, REMOVED)
    shown = panel.table.columnWidth(REMOVED) - 18
    assert panel.table.fontMetrics().horizontalAdvance(by.data()) <= shown, by.data()


def test_search_minds_case_and_scope(place: Place, desk: Desk, qtbot: QtBot) -> None:
    panel = place(SearchPanel)
    assert isinstance(panel, SearchPanel)
    panel.take("NEEDLE")
    qtbot.waitUntil(lambda: panel.says.text() == "2 messages")
    click(panel.case)
    qtbot.waitUntil(lambda: panel.says.text() == "1 message")
    click(panel.case)
    panel.scope.setCurrentIndex(2)
    qtbot.waitUntil(lambda: panel.says.text() == "3 messages")
    click_cell(panel.table, 2)
    state = desk.workbench.state
    assert (state.thread_id, state.at, state.selected) == ("agent", 0, "x")
    panel.scope.setCurrentIndex(0)
    qtbot.waitUntil(lambda: panel.says.text() == "1 message")
    panel.take("nowhere to be found")
    qtbot.waitUntil(lambda: panel.says.text() == "No message holds this text.")


def test_a_jump_to_another_thread_waits_until_it_was_weighed(desk: Desk, qtbot: QtBot) -> None:
    from inspector.gui.navigation import go_to
    from inspector.workbench.workbench import Workbench

    workbench = Workbench(desk.bridge.work)
    workbench.open(session())
    qtbot.waitUntil(lambda: workbench.state.session is not None)
    go_to(workbench, "agent", 0, "x")
    qtbot.waitUntil(lambda: workbench.state.selected == "x")
    assert (workbench.state.thread_id, workbench.state.at) == ("agent", 0)


def test_sessions_are_found_filtered_and_opened(
    place: Place, home: Path, qtbot: QtBot, asked: Asked, desk: Desk
) -> None:
    folder = home / ".pi" / "agent" / "sessions" / "p"
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        (folder / f"{name}.jsonl").write_text(
            '{"type":"session","version":1,"id":"i","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/here"}\n'
            '{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","message":'
            f'{{"role":"user","content":"fix {name} <b>&amp;</b>"}}}}\n'
        )
    elsewhere = home / "elsewhere.jsonl"
    elsewhere.write_text("{}\n")
    desk.settings.remember(str(elsewhere))
    desk.settings.remember(str(home / "gone.jsonl"))
    panel = place(SessionsPanel)
    assert isinstance(panel, SessionsPanel)
    qtbot.waitUntil(lambda: panel.says.text() == "3 sessions")
    assert cells(panel.table)[0][0] == "elsewhere.jsonl"
    assert {row[0] for row in cells(panel.table)[1:]} == {
        "fix one <b>&amp;</b>",
        "fix two <b>&amp;</b>",
    }
    for wide in range(300, 1_000, 40):  # a column that is shown can be read
        panel.resize(wide, 300)
        dates = [
            n for n, column in enumerate(panel.COLUMNS) if column.title in ("format", "changed")
        ]
        for n in dates:
            if not panel.table.isColumnHidden(n):
                text = max(
                    (row[n] for row in cells(panel.table)),
                    key=panel.table.fontMetrics().horizontalAdvance,
                )
                assert (
                    panel.table.columnWidth(n)
                    >= panel.table.fontMetrics().horizontalAdvance(text) + 12
                ), (wide, n)
    panel.resize(900, 300)
    write(panel.filter, "two")
    assert panel.says.text() == "1 of 3 sessions"
    click_cell(panel.table, 0, double=True)
    press(panel.filter, Qt.Key.Key_Return)
    assert asked.opened == [str(folder / "two.jsonl")] * 2


def test_sessions_when_files_have_one_name_shows_format_and_folder(
    place: Place, home: Path, qtbot: QtBot, desk: Desk
) -> None:
    body = '{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hello"}]}'
    for folder in ("runs/first", "runs/second"):
        (home / folder).mkdir(parents=True)
        (home / folder / "full.json").write_text(body)
        desk.settings.remember(str(home / folder / "full.json"))
    (home / "notes.txt").write_text("no transcript")
    desk.settings.remember(str(home / "notes.txt"))
    panel = place(SessionsPanel)
    assert isinstance(panel, SessionsPanel)
    qtbot.waitUntil(lambda: panel.says.text() == "3 sessions")
    titles = [column.title for column in panel.COLUMNS]
    rows = [dict(zip(titles, row, strict=True)) for row in cells(panel.table)]
    assert [row["format"] for row in rows] == ["", "anthropic", "anthropic"]
    assert [row["title"] for row in rows] == [
        "notes.txt",
        "hello · second/full.json",
        "hello · first/full.json",
    ]
    assert {row["found"] for row in rows} == {"recent"}
    assert panel.again.text() == "Refresh"


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/a/x.jsonl", "/b/y.jsonl"], ["x.jsonl", "y.jsonl"]),
        (
            ["/a/full.jsonl", "/b/full.jsonl", "/c/y.jsonl"],
            ["a/full.jsonl", "b/full.jsonl", "y.jsonl"],
        ),
        (["/a/run/full.jsonl", "/b/run/full.jsonl"], ["a/run/full.jsonl", "b/run/full.jsonl"]),
        (["/a/full.jsonl", "/a/full.jsonl"], ["/a/full.jsonl", "/a/full.jsonl"]),
        ([], []),
    ],
)
def test_names_of_paths_when_they_end_alike_hold_the_folder_that_differs(
    paths: list[str], names: list[str]
) -> None:
    assert distinct_names([Path(path) for path in paths]) == names


@pytest.mark.parametrize(
    ("text", "letters", "said"),
    [
        ("all of it · 100.0% · 138 messages", 99, "all of it · 100.0% · 138 messages"),
        ("all of it · 100.0% · 138 messages", 30, "all of it · 100.0% …"),
        ("all of it · 100.0% · 138 messages", 14, "all of it …"),
        ("122,765 tokens", 6, "…"),
        ("before request 1,234 and later", 18, "before request…"),
        ("a sentence without a number", 12, "a sentence …"),
    ],
)
def test_a_text_is_cut_between_its_parts_and_never_in_a_number(
    qapp: object, text: str, letters: int, said: str
) -> None:
    metrics = QFontMetrics(mono_font(10))
    assert cut_words(text, metrics, letters * metrics.horizontalAdvance("0")) == said


def test_a_cell_is_cut_in_no_number(qtbot: QtBot) -> None:
    said = "Paid after 2 requests; 52 later requests saved $4.10, 1,200 tokens"
    table: Rows[str] = Rows("Said", [Column("what", lambda row: row)])
    qtbot.addWidget(table)
    table.show_rows([said])
    index, delegate = table.model().index(0, 0), table.itemDelegate()
    assert isinstance(delegate, QStyledItemDelegate)
    seen = set[str]()
    for width in range(60, 480, 3):
        option = QStyleOptionViewItem()
        option.initFrom(table)
        option.rect, option.textElideMode = QRect(0, 0, width, 20), table.textElideMode()
        delegate.initStyleOption(option, index)
        seen.add(option.text)
        begun = option.text.removesuffix("…")
        assert said.startswith(begun)
        assert not re.match(r"[$.,]?\d", said[len(begun) :]) or not re.search(r"[$\d]$", begun), (
            option.text
        )
    assert said in seen
    assert len(seen) > 20
