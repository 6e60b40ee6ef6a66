"""Prose of a message: rendered as Markdown, where nothing loads and nothing is followed."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from inspector.core.message import (
    Message,
    Part,
    Text,
    ToolCall,
    ToolResult,
)
from inspector.gui.desk import Desk
from inspector.gui.panels.message.header import MARKDOWN, PLAIN
from inspector.gui.panels.message.parts import message_sections
from inspector.gui.panels.message.view import MessageView
from inspector.gui.widgets.markdown import _blocks, _fragments
from inspector.workbench.state import FoundText
from tests.gui.hands import click
from tests.gui.messages_shown import Show, displayed, show

__all__ = ["show"]


# -- Markdown ------------------------------------------------------------------------------------------------------


def choose_markdown(view: MessageView) -> None:
    click(view.header.forms.buttons[MARKDOWN])


def test_prose_is_rendered_as_markdown_and_the_switch_is_remembered(show: Show, desk: Desk) -> None:
    view = show(Text("# Goal\n\nMove **all** amounts in `money.py`.\n\n- one\n- two"))
    assert view.text.isVisible()
    choose_markdown(view)
    assert view.markdown.isVisible()
    assert not view.text.isVisible()
    assert view.markdown.toPlainText() == "Goal\nMove all amounts in money.py.\none\ntwo"
    assert desk.settings.text("message/form") == MARKDOWN
    click(view.header.forms.buttons[PLAIN])
    assert view.text.isVisible()
    assert displayed(view).startswith("text")


def test_markdown_of_an_attack_loads_and_follows_nothing(show: Show, tmp_path: Path) -> None:
    fifo, picture = tmp_path / "fifo", tmp_path / "red.png"
    os.mkfifo(fifo)  # whoever opens it waits for ever
    red = QImage(40, 40, QImage.Format.Format_RGB32)
    red.fill(Qt.GlobalColor.red)
    red.save(str(picture))
    view = show(
        Text(
            f"![x]({fifo}) ![y](file://{fifo}) ![z]({picture}) [link](file://{fifo} 'hint') <img src='{picture}'> "
            "<b>bold</b> pay\u202e lla"
        )
    )
    choose_markdown(view)
    shot = view.markdown.grab().toImage()
    colours = {
        shot.pixelColor(x, y).name()
        for x in range(0, shot.width(), 4)
        for y in range(0, shot.height(), 4)
    }
    assert "#ff0000" not in colours
    shown = view.markdown.toPlainText()
    assert "<b>bold</b>" in shown, "HTML is text"
    assert "pay⟨U+202E⟩ lla" in shown, "hidden characters are seen"
    formats = [
        fragment.charFormat()
        for block in _blocks(view.markdown.document())
        for fragment in _fragments(block)
    ]
    assert formats
    assert not any(one.isAnchor() or one.anchorHref() or one.toolTip() for one in formats)
    flags = view.markdown.textInteractionFlags()
    assert not flags & Qt.TextInteractionFlag.LinksAccessibleByMouse
    assert not flags & Qt.TextInteractionFlag.LinksAccessibleByKeyboard


@pytest.mark.parametrize(
    "parts",
    [
        (Text("see"), ToolCall("c", "Bash", {"command": "ls"})),
        (ToolResult("c", "# no heading"),),
        (Text("x" * 50_001),),
    ],
    ids=["call", "result", "long"],
)
def test_what_is_no_prose_is_plain_without_a_switch(show: Show, parts: tuple[Part, ...]) -> None:
    view = show(Text("**prose**"))
    choose_markdown(view)
    view = show(*parts)
    assert view.text.isVisible()
    assert not view.header.forms.isVisible()


def test_message_with_a_hit_of_a_search_is_plain_with_the_hit_marked(
    show: Show, desk: Desk
) -> None:
    view = show(Text("Move **all amounts** to decimals."))
    choose_markdown(view)
    view.show_state(replace(desk.workbench.state, hits=FoundText("amounts", {})))
    assert view.text.isVisible()
    view.show_state(replace(desk.workbench.state, hits=None))
    assert view.markdown.isVisible()


def test_find_in_a_message_shows_it_plain(show: Show) -> None:
    view = show(Text("Move **all amounts** to decimals."))
    choose_markdown(view)
    view.find_text()
    assert view.text.isVisible()
    assert view.find_bar.isVisible()


def test_attached_file_is_code_in_the_language_of_its_name() -> None:
    text = "File /app/money.py:\n     1→import os\n     2→def add(a, b):"
    attached = Message("a", "user", (Text(text),), mark="attachment")
    (section,) = message_sections(attached)
    assert (section.look, section.language) == ("code", "python")
    assert section.text[: section.before] == "File /app/money.py:\n"
    (reminder,) = message_sections(
        Message("r", "user", (Text("Todo list is empty."),), mark="attachment")
    )
    (typed,) = message_sections(Message("u", "user", (Text(text),)))
    assert reminder.look == typed.look == "prose"
