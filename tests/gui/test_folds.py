"""JSON folded and unfolded: by the mouse and by keys, to the letter, and found wherever it hides."""

import json
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from inspector.gui.desk import Desk
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.reader import TextReader
from tests.gui.hands import press, write

ROWS = ",".join(f'{{"id": {n}, "exact": 1.{n:030}e5, "中": "\\u00e9\\n😀"}}' for n in range(40))
TEXT = f'{{"first": 1, "rows": [{ROWS}], "short": [{{"a": 1}}], "last": 12345678901234567890123}}'


@pytest.fixture
def reader(desk: Desk, qtbot: QtBot) -> TextReader:
    made = TextReader(desk.theme, "Text", desk.bridge)
    qtbot.addWidget(made)
    made.resize(700, 500)
    made.show()
    return made


def laid(reader: TextReader, qtbot: QtBot, *texts: str) -> TextReader:
    reader.text.show_sections([Section("json", text, "code") for text in texts])
    qtbot.waitUntil(lambda: reader.text.is_complete)
    return reader


def lines(reader: TextReader) -> list[str]:
    """Those that are shown."""
    block, found = reader.text.document().firstBlock(), []
    while block.isValid():
        if block.isVisible():
            found.append(block.text().strip())
        block = block.next()
    return found


def signs(reader: TextReader) -> dict[str, QPoint]:
    """What they say, and their middles."""
    return {words: where.center().toPoint() for _, where, words in reader.text._signs()}


FOLDED = ["json", "{", '"first": 1,', '"rows": [', '"short": [', "{", '"a": 1', "}", "],"]


def test_what_is_long_is_one_line_with_its_count(reader: TextReader, qtbot: QtBot) -> None:
    laid(reader, qtbot, TEXT)
    assert lines(reader) == [*FOLDED, '"last": 12345678901234567890123', "}"]
    assert reader.text.verticalScrollBar().maximum() == 0
    assert "⋯ 40 entries ]" in signs(reader)
    whole = reader.text.original(0, reader.text.document().characterCount() - 1).partition("\n")[2]
    assert "".join(whole.split()) == "".join(TEXT.split())


def test_a_click_on_the_sign_unfolds_and_folds(reader: TextReader, qtbot: QtBot) -> None:
    laid(reader, qtbot, TEXT)
    view = reader.text.viewport()
    place = signs(reader)["⋯ 40 entries ]"]
    QTest.mouseMove(view, place)
    assert view.cursor().shape() == Qt.CursorShape.PointingHandCursor
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=place)
    assert f'"exact": 1.{7:030}e5,' in lines(reader)
    assert reader.text.verticalScrollBar().maximum() > 0
    ends = [
        where.center().toPoint() for fold, where, _ in reader.text._signs() if fold.entries == 40
    ]
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=ends[0])
    assert lines(reader)[: len(FOLDED)] == FOLDED


def test_enter_folds_what_the_cursor_stands_in(reader: TextReader, qtbot: QtBot) -> None:
    laid(reader, qtbot, TEXT)
    for _ in range(3):
        press(reader.text, Qt.Key.Key_Down)
    press(reader.text, Qt.Key.Key_Return)
    assert '"id": 39,' in lines(reader)
    cursor = reader.text.textCursor()
    cursor.setPosition(reader.text.document().toPlainText().index('"id": 3,'))
    reader.text.setTextCursor(cursor)
    press(reader.text, Qt.Key.Key_Return)
    assert '"id": 3,' not in lines(reader)
    assert '"id": 4,' in lines(reader)
    reader.text.fold_all(False)
    assert lines(reader) == [
        one.strip() for one in reader.text.document().toPlainText().split("\n")
    ]
    reader.text.fold_all(True)
    assert lines(reader)[: len(FOLDED)] == FOLDED


def test_what_is_found_is_unfolded(reader: TextReader, qtbot: QtBot) -> None:
    laid(reader, qtbot, TEXT)
    reader.find_bar.open()
    write(reader.find_bar.field, '"id": 33')
    qtbot.waitUntil(lambda: reader.find_bar.count.text() == "1 of 1")
    assert '"id": 33,' in lines(reader)
    assert reader.text.textCursor().selectedText() == '"id": 33'


def test_several_texts_and_those_that_are_laid_in_late(reader: TextReader, qtbot: QtBot) -> None:
    data: dict[str, Any] = {
        "rows": [{"id": n, "of": {"a": 1, "b": 2, "c": ["x" * 50] * 30}} for n in range(150)],
        "z": 1,
    }
    many = json.dumps(data)
    assert len(many) > 200_000
    laid(reader, qtbot, many, TEXT, "[1, 2", many)
    once = ["json", "{", '"rows": [', '"z": 1', "}"]
    assert lines(reader) == [
        *once,
        "",
        *FOLDED,
        '"last": 12345678901234567890123',
        "}",
        "",
        "json",
        "[1, 2",
        "",
        *once,
    ]
    reader.text.fold_all(False)
    assert lines(reader) == [
        one.strip() for one in reader.text.document().toPlainText().split("\n")
    ]


def test_what_is_not_laid_in_whole_can_be_unfolded(reader: TextReader, qtbot: QtBot) -> None:
    many = json.dumps({"rows": [{"id": n, "text": "x" * 200} for n in range(7_000)]})
    reader.text.show_sections([Section("json", many, "code")])
    qtbot.waitUntil(lambda: reader.text.has_rest)
    assert "⋯" in signs(reader)
    QTest.mouseClick(reader.text.viewport(), Qt.MouseButton.LeftButton, pos=signs(reader)["⋯"])
    assert '"id": 9,' in lines(reader)
    reader.text.show_all()
    qtbot.waitUntil(lambda: reader.text.is_complete)
    assert '"id": 6999,' in lines(reader)
