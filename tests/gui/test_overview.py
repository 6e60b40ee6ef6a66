"""The map beside a long text: what it shows, and the ways that it leads."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from inspector.gui.desk import Desk
from inspector.gui.widgets.overview import LandmarkKind
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.reader import TextReader
from tests.gui.hands import press, write

PROSE = "".join(f"line {n} of what was said\n" for n in range(400))
SECTIONS = (
    Section("text · 400 lines", PROSE + "ValueError: no such thing\n" + PROSE),
    Section("tool result · error · 3 lines", "a\nb\n", "code"),
    Section("rows", '{"rows": [' + ",".join(f'{{"id": {n}}}' for n in range(300)) + "]}", "code"),
    Section("last", "```python\n" + "raise ValueError('fatal: no')\n" * 50 + "```\n"),
)


@pytest.fixture
def reader(desk: Desk, qtbot: QtBot) -> TextReader:
    made = TextReader(desk.theme, "Text", desk.bridge)
    qtbot.addWidget(made)
    made.resize(600, 500)
    made.show()
    made.text.show_sections(SECTIONS)
    qtbot.waitUntil(
        lambda: (
            made.text.is_complete and made.overview.isVisible() and len(shown(made, "heading")) == 4
        )
    )
    return made


def shown(reader: TextReader, kind: LandmarkKind) -> list[str]:
    return [one.words for _, _, one in reader.overview.places if one.kind == kind]


def first_line(reader: TextReader) -> int:
    return reader.text.verticalScrollBar().value()


def test_it_shows_where_things_lie(reader: TextReader) -> None:
    assert shown(reader, "heading") == [one.heading for one in SECTIONS]
    assert shown(reader, "error") == ["ValueError: no such thing", SECTIONS[1].heading]
    assert shown(reader, "code") == ["JSON", "code"]
    assert reader.overview.accessibleDescription() == "4 headings, 2 stretches of code, 2 errors"
    tops = [top for top, _, _ in reader.overview.places]
    assert tops == sorted(tops)
    assert 0 <= tops[0] < tops[-1] < reader.overview.height()


def test_a_click_leads_there(reader: TextReader, qtbot: QtBot) -> None:
    top = next(top for top, _, one in reader.overview.places if one.words.startswith("ValueError"))
    QTest.mouseClick(reader.overview, Qt.MouseButton.LeftButton, pos=QPoint(12, round(top)))
    assert reader.text.textCursor().block().text() == "ValueError: no such thing"
    assert (
        first_line(reader) < 401 < first_line(reader) + reader.text.verticalScrollBar().pageStep()
    )
    between = (
        next(top for top, _, one in reader.overview.places if one.words.startswith("ValueError"))
        / 2
    )
    QTest.mouseClick(reader.overview, Qt.MouseButton.LeftButton, pos=QPoint(12, round(between)))
    assert 100 < first_line(reader) < 300


def test_keys_go_from_mark_to_mark(reader: TextReader) -> None:
    reader.overview.setFocus()
    press(reader.overview, Qt.Key.Key_Down)
    press(reader.overview, Qt.Key.Key_Down)
    assert reader.text.textCursor().block().text() == "ValueError: no such thing"
    assert reader.overview.accessibleDescription() == "error 2 of 8: ValueError: no such thing"
    press(reader.overview, Qt.Key.Key_End)
    assert reader.text.textCursor().block().text().startswith("raise ValueError")
    press(reader.overview, Qt.Key.Key_Up)
    assert reader.text.textCursor().block().text() == "last"
    press(reader.overview, Qt.Key.Key_Home)
    assert first_line(reader) == 0


def test_hits_are_on_the_map_also_in_folded_json(reader: TextReader, qtbot: QtBot) -> None:
    reader.find_bar.open()
    write(reader.find_bar.field, '"id": 2')
    qtbot.waitUntil(lambda: "hit" in {one.kind for _, _, one in reader.overview.places})
    assert len(reader.text.hits) == 111
    assert "111 hits" in reader.overview.accessibleDescription()
    press(reader.find_bar.field, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not shown(reader, "hit"))


def test_a_short_text_has_no_map(reader: TextReader, qtbot: QtBot) -> None:
    reader.text.show_sections((Section("short", "a\nb"),))
    qtbot.waitUntil(lambda: not reader.overview.isVisible())


def test_visible_part_when_dragged_scrolls_the_text(reader: TextReader) -> None:
    places = [(top, bottom) for top, bottom, _ in reader.overview.places]
    assert not any(top - 5 <= 15 <= bottom + 5 for top, bottom in places)
    QTest.mousePress(reader.overview, Qt.MouseButton.LeftButton, pos=QPoint(12, 15))
    QTest.mouseMove(reader.overview, QPoint(12, 15 + reader.overview.height() // 2))
    QTest.mouseRelease(reader.overview, Qt.MouseButton.LeftButton, pos=QPoint(12, 300))
    lines = reader.text.document().lineCount()
    assert first_line(reader) == pytest.approx(lines / 2, abs=0.03 * lines)
