"""The selected message: all of it is shown, none of it interpreted, and what is copied is the original."""

import base64
import json
import os
import struct
import zlib
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QLabel, QTextBrowser, QTextEdit
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.session import Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.desk import Desk
from inspector.gui.panels.message.view import MessageView
from inspector.gui.widgets.images import Picture
from inspector.workbench.state import FoundText
from tests.gui.hands import click, press, write
from tests.gui.messages_shown import Show, displayed, picture, show

__all__ = ["show"]


def fill(view: MessageView, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: view.text.is_complete or view.text.has_rest)


def test_every_part_stands_under_its_heading(show: Show, qtbot: QtBot) -> None:
    view = show(
        Text("hello\nworld"),
        Thinking("let me see", "sig"),
        ToolCall(
            "call_1",
            "Bash",
            {"command": "ls -l", "script": "one\n\ttwo\n", "edits": [{"new": "a\nb"}]},
        ),
        ToolResult("call_1", "total 0", is_error=True),
        Opaque("compaction", "gAAAA", 5_000),
    )
    fill(view, qtbot)
    text = displayed(view)
    for line in (
        "text · 11 characters",
        "thinking · 10 characters · signature of 3 characters, not shown",
        "tool call · Bash · call_1",
        '  "command": "ls -l",',
        '  "script": "↓ 9 characters",',
        '      "new": "↓ 3 characters"',
        "script",
        "\ttwo",
        "edits[0] new",
        "tool result · error · 7 characters · call_1",
        "opaque · compaction · 5,000 bytes, readable by the provider only",
    ):
        assert line in text.split("\n")


@pytest.mark.parametrize(
    "names", [("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText")]
)
def test_what_an_edit_changes_is_a_diff(show: Show, qtbot: QtBot, names: tuple[str, str]) -> None:
    texts = dict(zip(names, ("one\ntwo\nfour", "one\nthree\nfour"), strict=True))
    view = show(ToolCall("call_1", "Edit", {"file_path": "a.py", "edits": [texts]}))
    fill(view, qtbot)
    rows = displayed(view).split("\n")
    assert rows[-5:] == [f"edits[0] {names[0]} → {names[1]}", " one", "-two", "+three", " four"]
    assert '  "file_path": "a.py",' in rows
    assert "two" not in "".join(rows[:-5])


def test_the_header_says_who_where_when_and_how_many(show: Show) -> None:
    view = show(Text("x" * 400))
    shown = "\n".join(
        label.accessibleName() or label.text() for label in view.header.findChildren(QLabel)
    )
    assert "user" in shown
    assert "line 7 · 2026-01-03 10:11:12" in shown
    assert any("m1" in label.toolTip() for label in view.header.findChildren(QLabel))
    assert "54 tokens of the prompt · estimated 104 by Roku" in shown


def test_a_message_weighs_what_the_gauge_says(desk: Desk, qtbot: QtBot) -> None:
    """Once something was reported: in the provider's tokens, with what the estimator counts beside it."""
    messages = tuple(Message(f"m{n}", "user", (Text("x" * 4_000),)) for n in range(12))
    stretch = Stretch(own=messages)
    requests = tuple(
        Request(n, stretch.view(n + 1), usage=Usage(5_000 + 2_000 * n)) for n in range(12)
    )
    desk.workbench.open(
        Session("test", (Thread("main", requests=requests, messages=messages, end=stretch.view()),))
    )
    view = MessageView(desk)
    qtbot.addWidget(view)
    view.show()
    desk.workbench.select("m3")
    view.show_state(desk.workbench.state)
    shown = "\n".join(
        label.accessibleName() or label.text() for label in view.header.findChildren(QLabel)
    )
    assert "2,001 tokens of the prompt · estimated 1,004 by Roku" in shown


def test_counting_with_a_tokenizer_is_asked_for(show: Show, qtbot: QtBot) -> None:
    view = show(Text("one two three"))
    click(view.header.counter)
    qtbot.waitUntil(lambda: " by Roku · tiktoken " in view.header._tokens.whole)
    assert not view.header.counter.isVisible()


def test_those_that_travelled_together_are_a_click_away(show: Show, desk: Desk) -> None:
    other = Message("m2", "tool", (ToolResult("c", "R&D"),), together="u1")
    view = show(ToolResult("b", "first"), others=(other,), together="u1")
    menu = view.header.together.menu()
    assert [action.text() for action in menu.actions()] == ["tool · R&&D"]
    menu.actions()[0].trigger()
    assert desk.workbench.state.selected == "m2"


def test_a_low_panel_leaves_its_room_to_the_text(show: Show, desk: Desk, qtbot: QtBot) -> None:
    other = Message("m2", "user", (ToolResult("t", "the other result"),), together="t1")
    view = show(Text("hello"), others=(other,), together="t1")
    assert view.pin.isVisible()
    assert not view.header.more.isVisible()
    view.resize(600, 8 * view.fontMetrics().height())
    qtbot.waitUntil(view.header.more.isVisible)
    assert not any(
        one.isVisible()
        for one in (view.pin, view.edit, view.wrap, view.header.counter, view.header.together)
    )
    menu = view.header.more.menu()
    menu.aboutToShow.emit()
    assert [action.text() for action in menu.actions()] == [
        "wrap", "edit", "find", "pin", "count", "sent with 1 other message",
    ]  # fmt: skip
    before = view.wrap.isChecked()
    menu.actions()[0].trigger()
    assert view.wrap.isChecked() != before
    assert menu.actions()[-1].menu() is view.header.together.menu()
    view.header.together.menu().actions()[0].trigger()
    assert desk.workbench.state.selected == "m2"


def test_markup_is_shown_as_it_is_and_nothing_is_fetched(
    show: Show, qtbot: QtBot, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)  # whoever opens it waits for ever
    attack = f"![x]({fifo}) <img src='{fifo}'> <a href='file://{fifo}'>y</a> <b>bold</b>"
    view = show(Text(attack), ToolResult("c", attack), ToolCall("c", attack, {attack: attack}))
    fill(view, qtbot)
    assert not view.grab().isNull()
    assert displayed(view).count("<b>bold</b>") >= 4
    assert "￼" not in displayed(view)


def test_no_widget_could_interpret_rich_text(show: Show) -> None:
    view = show(Text("x"), Image("image/png", "broken"))
    assert view.findChildren(QTextEdit) == [view.markdown]
    assert not view.findChildren(QTextBrowser)
    assert not view.markdown.acceptDrops()
    assert view.markdown.isReadOnly()
    assert all(label.textFormat() == Qt.TextFormat.PlainText for label in view.findChildren(QLabel))
    assert not view.text.acceptDrops()
    assert view.text.isReadOnly()


def test_hidden_characters_are_seen_and_copied_as_they_were(show: Show, qtbot: QtBot) -> None:
    secret = "pay\u202e lla \u200b\x00\x1b[2J\u2028end 👨‍👩‍👧 中文"
    view = show(Text(secret))
    fill(view, qtbot)
    assert "pay⟨U+202E⟩ lla ⟨U+200B⟩⟨NUL⟩⟨ESC⟩[2J⟨U+2028⟩\nend 👨‍👩‍👧 中文" in displayed(view)
    click(view.copy)
    assert QGuiApplication.clipboard().text() == secret
    view.text.selectAll()
    view.text.copy()
    assert QGuiApplication.clipboard().text().endswith(secret)


def test_a_selection_copies_the_original_across_emoji_and_tokens(show: Show, qtbot: QtBot) -> None:
    view = show(Text("a😀b\u202ec😀d"))
    fill(view, qtbot)
    shown = displayed(view)
    start = len(shown[: shown.index("b⟨")].encode("utf-16-le")) // 2
    assert view.text.original(start, start + 3) == "b\u202e"  # half a token is the whole character
    assert view.text.original(start + 9, start + 12) == "c😀"


@pytest.mark.parametrize("look", ["text", "result"])
def test_large_texts_come_in_parts_and_whole_on_demand(show: Show, qtbot: QtBot, look: str) -> None:
    text = "".join(f"line {n} of a large text with some 中文 in it\n" for n in range(50_000))
    view = show(Text(text) if look == "text" else ToolResult("c", text))
    assert len(displayed(view)) < 200_000  # the first part is there at once
    fill(view, qtbot)
    assert view.text.has_rest
    assert view.rest.isVisible()
    click(view.rest)
    qtbot.waitUntil(lambda: view.text.is_complete)
    assert not view.rest.isVisible()
    assert view.text.original(0, view.text.document().characterCount() - 1).endswith(text)


def test_one_line_of_a_megabyte_is_broken_for_display_and_copied_whole(
    show: Show, qtbot: QtBot
) -> None:
    view = show(ToolResult("c", "x" * 990_000))
    fill(view, qtbot)
    assert max(map(len, displayed(view).split("\n"))) < 12_000
    click(view.copy)
    assert QGuiApplication.clipboard().text() == "x" * 990_000


def test_find_walks_through_the_hits(show: Show, qtbot: QtBot) -> None:
    view = show(Text("apple pear Apple\nAPPLE"))
    fill(view, qtbot)
    # As the window has one.
    QShortcut(QKeySequence.StandardKey.Find, view).activated.connect(view.hide)
    view.activateWindow()
    view.text.setFocus()
    press(view.text, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert view.find_bar.isVisible()
    write(view.find_bar.field, "apple")
    qtbot.waitUntil(lambda: view.find_bar.count.text() == "1 of 3")
    press(view.find_bar.field, Qt.Key.Key_Return)
    assert view.find_bar.count.text() == "2 of 3"
    assert view.text.textCursor().selectedText() == "Apple"
    press(view.find_bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert view.find_bar.count.text() == "1 of 3"
    press(view.find_bar.field, Qt.Key.Key_Escape)
    assert not view.find_bar.isVisible()


def test_json_and_diffs_are_coloured_prose_is_not(show: Show, qtbot: QtBot) -> None:
    def colours(*parts: Part) -> int:
        view = show(*parts)
        fill(view, qtbot)
        return len(view.text.extraSelections())

    assert colours(Text('{"a": 1}')) == 0
    assert colours(ToolResult("c", '{"a": [1, null], "b": "x"}')) == 5
    assert colours(ToolResult("c", "@@ -1 +1 @@\n-a\n+b\n c")) == 3
    assert colours(Text("a\x00b")) == 1


def test_wrap_is_remembered(show: Show, desk: Desk, qtbot: QtBot) -> None:
    view = show(Text("x"))
    assert view.wrap.isChecked()
    click(view.wrap)
    assert not MessageView(desk).wrap.isChecked()


def png(width: int, height: int) -> str:
    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" * 100_000)
    data = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("height", [240, 420, 800])
def test_message_when_it_has_an_image_shows_more_text_than_image(
    show: Show, qtbot: QtBot, height: int
) -> None:
    view = show(Text("before"))
    view.resize(600, height)
    show(Text("a line\n" * 40), Image("image/png", png(600, 900)))
    qtbot.waitUntil(lambda: bool(view.images.findChildren(Picture)))
    qtbot.wait(10)
    assert view.images.isVisible()
    assert view.reader.height() > view.images.height() >= 3 * view.fontMetrics().height()


def test_an_image_is_shown_from_its_bytes(show: Show, qtbot: QtBot) -> None:
    view = show(Text("look"), Image("image/png", picture()), Image("image/png", picture()))
    qtbot.waitUntil(lambda: len(view.images.findChildren(Picture)) == 2)
    assert "image 2 of 2 · image/png · see below" in displayed(view)
    assert view.images.isVisible()
    show(Text("no more"))
    assert not view.images.isVisible()


@pytest.mark.qt_log_ignore("libpng", "qt.gui.imageio", "Corrupt JPEG")
@pytest.mark.parametrize(
    ("image", "why"),
    [
        (Image("image/png", png(30_000, 30_000)), "30,000 × 30,000 pixels are too many"),
        (Image("image/png", png(20_000, 3)), "pixels are too many"),
        (Image("image/png", picture()[:60]), "image cannot be shown: "),
        (Image("image/png", "no base64!"), "its base64 is broken"),
        (
            Image("image/svg+xml", base64.b64encode(b"<svg xmlns='x'/>").decode()),
            "not a PNG, JPEG, GIF or WebP",
        ),
        (
            Image("image/png", "", "file:///etc/hostname"),
            "holds only its address: file:///etc/hostname",
        ),
        (Image("image/png"), "it holds no bytes"),
    ],
)
def test_what_cannot_be_shown_says_why(show: Show, qtbot: QtBot, image: Image, why: str) -> None:
    view = show(image)
    qtbot.waitUntil(lambda: any(why in label.text() for label in view.images.findChildren(QLabel)))
    assert not view.images.findChildren(Picture)


def test_deep_arguments_do_not_end_the_program(show: Show, qtbot: QtBot) -> None:
    deep: object = 1
    for _ in range(5_000):
        deep = [deep]
    view = show(ToolCall("c", "x", json.loads("[1]")), ToolCall("d", "y", deep))  # type: ignore[arg-type]
    fill(view, qtbot)
    assert "[[[[" in displayed(view)


def test_a_result_shows_its_call_and_a_call_its_result(desk: Desk, qtbot: QtBot) -> None:
    """With the way to the next use of the same tool, and the message in three forms."""
    ask = Message(
        "a1", "assistant", (Text("Let me look."), ToolCall("c1", "Bash", {"command": "ls -l"}))
    )
    answer = Message("r1", "tool", (ToolResult("c1", "total 0"),))
    read = Message("a2", "assistant", (ToolCall("c2", "Read", {"path": "a.py"}),))
    again = Message("a3", "assistant", (ToolCall("c3", "Bash", {"command": "pwd"}),))
    messages = (ask, answer, read, again)
    view = MessageView(desk)
    qtbot.addWidget(view)
    view.resize(600, 500)
    view.show()
    desk.workbench.subscribe(view.receive)
    desk.workbench.open(
        Session("test", (Thread("main", messages=messages, end=Stretch(own=messages).view()),))
    )
    desk.workbench.select("r1")
    fill(view, qtbot)
    text = displayed(view)
    assert (
        text.index("answers the call of Bash · message 0")
        < text.index('"command": "ls -l"')
        < text.index("total 0")
    )
    assert not view.on.isEnabled()
    desk.workbench.select("a1")
    fill(view, qtbot)
    text = displayed(view)
    assert (
        text.index('"command": "ls -l"')
        < text.index("result of this call · message 1")
        < text.index("total 0")
    )
    assert not view.back.isEnabled()
    click(view.on)
    assert desk.workbench.state.selected == "a3"
    assert "result of this call" not in displayed(view)
    click(view.back)
    assert desk.workbench.state.selected == "a1"
    board = QGuiApplication.clipboard()
    for action in view.forms.menu().actions():
        action.trigger()
        if action.text() == "Copy as JSON":
            assert json.loads(board.text())["parts"][1]["name"] == "Bash"
        elif action.text() == "Copy as Markdown":
            assert board.text().startswith("**assistant**\n\nLet me look.\n\n*Bash*\n\n```json\n")
        else:
            assert board.text().startswith("Let me look.\n\n")
        assert "total 0" not in board.text()


def test_what_the_search_found_is_marked_and_in_sight(desk: Desk, qtbot: QtBot) -> None:
    view = MessageView(desk)
    qtbot.addWidget(view)
    view.resize(600, 500)
    view.show()
    lines = "\n".join(f"line {n}" for n in range(400))
    said = f"{lines}\nthe needle, and another Needle\n{lines}"
    messages = (
        Message("u", "user", (Text(said),), together="t"),
        Message("a", "assistant", (Text("nothing here"),), together="t"),
    )
    desk.workbench.subscribe(view.receive)
    desk.workbench.open(
        Session("test", (Thread("main", messages=messages, end=Stretch(own=messages).view()),))
    )
    view.resize(600, 300)
    view.hide()  # behind the list of what was found
    desk.workbench.show_found(FoundText("needle", {}))
    desk.workbench.select("u")
    view.show()
    fill(view, qtbot)
    assert [view.text.toPlainText()[start:end] for start, end in view.text.hits] == [
        "needle",
        "Needle",
    ]
    assert view.find_bar.isVisible()
    QApplication.processEvents()  # the bar takes room from the text
    assert view.text.viewport().rect().contains(view.text.cursorRect().center())
    assert not view.find_bar.field.hasFocus()
    desk.workbench.select("a")
    fill(view, qtbot)
    assert not view.find_bar.isVisible()
    desk.workbench.select("u")
    fill(view, qtbot)
    desk.workbench.show_found(None)
    assert not view.find_bar.isVisible()
    assert not view.text.hits
