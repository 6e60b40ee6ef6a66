"""Code in a message: its language, its words, and that nothing of it costs the window its time."""

import threading
from collections.abc import Callable

import pytest
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.message import Json, Message, Part, Text, ToolCall, ToolResult
from inspector.core.session import Session, Thread
from inspector.gui.desk import Desk
from inspector.gui.look.colours import CONTRAST, DARK, LIGHT, Colours
from inspector.gui.look.visible import visible
from inspector.gui.panels.message.parts import argument_language, result_language
from inspector.gui.panels.message.view import MessageView
from inspector.gui.widgets.code import MOST_CODE, CodeStretch, language_of, split_fences
from inspector.gui.widgets.text_looks import build_looks

PYTHON = (
    'import os\n\n\ndef run(path: str) -> int:\n    """Two\n    lines."""\n    return 12  # why\n'
)


def words(text: str, language: str) -> list[tuple[str, str]]:
    code = CodeStretch(text, language)
    code.find(lambda: False)
    return [(text[one.start : one.end], one.kind) for one in code.spans or ()]


def test_the_words_of_code_are_found() -> None:
    found = words(PYTHON, "python")
    assert ("import", "word") in found
    assert ("run", "key") in found
    assert ("12", "number") in found
    assert ("# why", "comment") in found
    assert ('    lines."""', "string") in found
    assert words(PYTHON, "") == words(PYTHON, "no such language") == []


def test_line_numbers_that_a_tool_wrote_are_no_code() -> None:
    numbered = "".join(f"{n:6}→{line}\n" for n, line in enumerate(PYTHON.splitlines(), 1))
    found = words(f"{numbered}\n<system-reminder>import or return</system-reminder>\n", "python")
    assert [one for one in found if one[0].strip()] == [
        one for one in words(PYTHON, "python") if one[0].strip()
    ]


@pytest.mark.parametrize(
    "text", ['"' * 500_000, "a" * 500_000, PYTHON * 10_000, "/*" * 900_000, "{\n" * 400_000]
)
@pytest.mark.parametrize("language", ["python", "javascript", "c", "markdown"])
def test_no_more_is_looked_at_than_the_bound(text: str, language: str) -> None:
    asked = 0

    def stopped() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2_000

    code = CodeStretch(text, language)
    code.find(stopped)
    assert all(one.end <= MOST_CODE for one in code.spans or ())


def test_a_language_is_named_by_a_file_or_a_fence() -> None:
    assert [
        language_of(name)
        for name in ("/a/b.PY", "C:\\x\\y.tsx", "Dockerfile", "js", "a.unknown", "")
    ] == [
        "python",
        "typescript",
        "docker",
        "javascript",
        "",
        "",
    ]
    text = "see\n```python title=x\nimport a\n```\nand\n````\n```\n````\n~~~ {.js}\nlet b"
    found = list(split_fences(text))
    assert "".join(one for one, _ in found) == text
    assert [one for one in found if one[1] is not None] == [
        ("import a\n", "python"),
        ("```\n", ""),
        ("let b", "javascript"),
    ]


@pytest.mark.parametrize(
    ("arguments", "content", "language"),
    [
        ({"file_path": "/a.py"}, "x = 1", "python"),
        ({"path": "/a.rs", "offset": 10}, "let x", "rust"),
        ({"path": "src/java"}, "Main.java", ""),
        ({"file_path": "/a.py", "old_string": "a", "new_string": "b"}, "The file is in order.", ""),
        (
            {"file_path": "/a.py", "old_string": "a", "new_string": "b"},
            "Updated.\n1\tb\n2\tc\n3\td",
            "python",
        ),
        ({"cmd": "sed -n '1,40p' src/a.go"}, "Chunk ID: 1\nOutput:\npackage a", "go"),
        ({"command": ["bash", "-lc", "cd x && cat a.ts"]}, "let a", "typescript"),
        ({"command": "cat a.py | wc"}, "1 2 3", ""),
        ({"command": "rm a.py"}, "", ""),
        ({"command": "echo 'a.py"}, "", ""),
    ],
)
def test_a_result_has_the_language_of_what_was_read(
    arguments: Json, content: str, language: str
) -> None:
    found, before = result_language(ToolCall("c", "x", arguments), ToolResult("c", content))
    assert found == language
    assert content[:before].endswith("Output:\n") == ("Output:" in content)
    assert result_language(
        ToolCall("c", "x", arguments), ToolResult("c", content, is_error=True)
    ) == ("", 0)


def test_an_argument_has_the_language_of_its_file() -> None:
    assert argument_language("content", {"path": "a.css", "content": ""}) == "css"
    assert argument_language("command", {"command": "ls"}) == "bash"
    assert argument_language("code", {"language": "js", "code": ""}) == "javascript"
    assert argument_language("prompt", {"path": "a.css", "prompt": ""}) == ""


@pytest.mark.parametrize(
    "text", ["plain", "a\u202eb\u202ec", "x" * 25_000, "a\0\0b" + "y" * 25_000 + "\r\nz"]
)
def test_a_place_of_the_original_is_found_where_it_is_shown(text: str) -> None:
    shown = visible(text)
    for at in {0, 1, 2, 3, len(text) // 2, len(text) - 1}:
        place = shown.place(at)
        assert shown.back(place) <= at
        assert shown.text[place] == text[at] or shown.text[place] == "⟨"


@pytest.mark.parametrize("colours", [DARK, LIGHT, CONTRAST], ids=["dark", "light", "contrast"])
def test_every_colour_of_code_can_be_read(colours: Colours) -> None:
    least = 7 if colours is CONTRAST else 4.5
    for kind, look in build_looks(colours).kinds.items():
        assert contrast(look.foreground().color(), QColor(colours.window)) >= least, kind


def contrast(one: QColor, other: QColor) -> float:
    """WCAG 2: relative luminances, (lighter + 0.05) / (darker + 0.05)."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: QColor) -> float:
    parts = (colour.redF(), colour.greenF(), colour.blueF())
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


Read = Callable[..., MessageView]


@pytest.fixture
def read(desk: Desk, qtbot: QtBot) -> Read:
    """The last of these messages in a visible panel, once its code is coloured."""
    view = MessageView(desk)
    qtbot.addWidget(view)
    view.resize(700, 900)
    view.show()

    def shown(*several: tuple[Part, ...]) -> MessageView:
        messages = tuple(Message(f"m{n}", "user", parts) for n, parts in enumerate(several))
        desk.workbench.open(
            Session("test", (Thread("main", messages=messages, end=Stretch(own=messages).view()),))
        )
        desk.workbench.select(messages[-1].id)
        view.show_state(desk.workbench.state)
        qtbot.waitUntil(
            lambda: (view.text.is_complete or view.text.has_rest) and not desk.bridge.busy
        )
        return view

    return shown


def coloured(view: MessageView) -> list[str]:
    return [one.cursor.selectedText() for one in view.text.extraSelections()]


def test_a_file_that_was_read_is_coloured(read: Read) -> None:
    call = ToolCall("c", "Read", {"file_path": "/a.py"})
    found = coloured(read((call,), (ToolResult("c", PYTHON),)))
    assert {"import", "def", "run", "return", "12", "# why"} <= {*found}
    assert "os" not in found


def test_fences_of_prose_are_coloured_and_prose_is_not(read: Read) -> None:
    found = coloured(read((Text("😀 return it\n```py\nreturn 😀, 12\n```\nreturn 12"),)))
    assert found == ["return", "12"]


def test_words_when_they_are_found_in_several_calls_are_the_same() -> None:
    text = PYTHON * 40
    code = CodeStretch(text, "python")
    calls = 0
    while not code.is_complete:
        code.find(lambda: False, code.coloured_to + 300)
        calls += 1
    assert calls > 5
    assert [(text[one.start : one.end], one.kind) for one in code.spans or ()] == words(
        text, "python"
    )


def test_long_code_when_it_is_scrolled_is_coloured_where_it_is_in_sight(
    read: Read, qtbot: QtBot, desk: Desk
) -> None:
    view = read((Text(f"```python\n{PYTHON * 200}```"),))
    assert "return" in coloured(view)
    (code,) = {placed.piece.code for placed in view.text._layout.pieces if placed.piece.code}
    assert code.coloured_to < len(PYTHON) * 150
    bar = view.text.verticalScrollBar()
    bar.setValue(bar.maximum() - 20)
    qtbot.waitUntil(lambda: "return" in coloured(view) and not desk.bridge.busy)


def test_the_words_are_found_off_the_gui_thread(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = list[threading.Thread]()
    find = CodeStretch.find

    def noted(self: CodeStretch, stopped: Callable[[], bool], until: int) -> None:
        threads.append(threading.current_thread())
        find(self, stopped, until)

    monkeypatch.setattr(CodeStretch, "find", noted)
    read((Text(f"```python\n{PYTHON * 2_000}```"),))
    assert threads
    assert threading.main_thread() not in threads
