"""What the gauge and the timeline say."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Prompt, Stretch, Tool
from inspector.core.calls import CallIndex
from inspector.core.findings.composition import CATEGORIES, composition, segments, split
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.estimators import ESTIMATORS, buffer_tokens, count, estimator
from inspector.core.usage import Usage
from inspector.workbench.message_rows import (
    FIRST_LINE,
    KINDS,
    message_row,
    next_of_kind,
    of_kind,
    with_text,
)
from inspector.workbench.pressure.gauge import GaugeReading, reading, reserve
from inspector.workbench.pressure.scale import watermarks
from inspector.workbench.pressure.timeline import series
from inspector.workbench.state import State
from inspector.workbench.workbench import Workbench
from tests.gui.made import session

ROKU = estimator("roku")

parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, st.text(max_size=40)),
    st.builds(Thinking, st.text(max_size=40)),
    st.builds(
        ToolCall,
        st.just("c"),
        st.text(max_size=8),
        st.dictionaries(st.text(max_size=4), st.text(max_size=9)),
    ),
    st.builds(ToolResult, st.just("c"), st.text(max_size=40)),
    st.builds(Image, st.just("image/png"), st.just("aGk=")),
    st.builds(Opaque, st.just("compaction"), st.just("xyz"), st.just(3)),
)
roles: st.SearchStrategy[Role] = st.sampled_from(["system", "user", "assistant", "tool"])
messages = st.builds(
    Message,
    st.uuids().map(str),
    roles,
    st.lists(parts, max_size=4).map(tuple),
    summary=st.booleans(),
)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if not name.startswith("tiktoken")])
@given(message=messages)
def test_the_parts_of_a_message_add_up(name: str, message: Message) -> None:
    measure = estimator(name)
    weights = split(measure, message, segments(message))
    assert all(weight >= 0 for weight in weights.values())
    assert measure.tokens(sum(weights.values())) == count(measure, message)


@given(st.lists(messages, max_size=12))
def test_the_categories_of_a_buffer_add_up(made: list[Message]) -> None:
    view = Stretch(own=made).view()
    assert sum(composition(ROKU, view).values()) == buffer_tokens(ROKU, view)
    assert list(composition(ROKU, view)) == [
        name for name in CATEGORIES if name in composition(ROKU, view)
    ]


def test_prompt_and_tools_have_categories() -> None:
    prompt = Prompt("You are helpful. " * 10, (Tool("Bash", {"name": "Bash"}),))
    found = composition(estimator("roku"), Stretch().view(), prompt)
    assert found["system"] == estimator("roku").weigh_prompt(prompt)


def reading_at(at: int | None, window: int | None = None) -> GaugeReading:
    bench = Workbench()
    bench.open(session())
    bench.set_window(window)
    bench.move(at)
    found = reading(bench.state)
    assert found is not None
    return found


def test_a_reported_request() -> None:
    now = reading_at(10)
    assert now.pressure.kind == "reported"
    assert now.ratio == pytest.approx(110_500 / 200_000)
    assert now.unseen + sum(tokens for _, tokens in now.parts) == 110_500
    assert now.unseen > 5_000
    assert [line.tokens for line in now.lines] == [120_000, 150_000]


def test_after_the_last_record() -> None:
    now = reading_at(None)
    assert now.pressure.kind == "predicted"
    assert now.unseen + sum(tokens for _, tokens in now.parts) == now.pressure.tokens


def test_nothing_open() -> None:
    assert reading(Workbench().state) is None
    assert series(Workbench().state) is None


def test_where_the_file_holds_more_than_was_counted_nothing_is_unseen() -> None:
    stretch = Stretch(own=[Message("m", "user", (Text('{"a": 1}' * 250),))])
    request = Request(
        0, stretch.view(), prompt=Prompt("", ()), usage=Usage(input=1_000), model="claude-opus-4-5"
    )
    bench = Workbench()
    bench.open(Session("x", (Thread("main", requests=(request,), end=stretch.view()),)))
    now = reading(bench.state)
    assert now is not None
    assert now.unseen == 0
    assert sum(tokens for _, tokens in now.parts) == 1_000
    assert dict(now.parts)["difference"] < -100


@pytest.mark.parametrize(
    ("window", "lines"), [(200_000, [120_000, 150_000]), (333, [199, 249]), (1_000, [600, 750])]
)
def test_watermarks_round_down(window: int, lines: list[int]) -> None:
    bench = Workbench()
    bench.open(session())
    bench.set_window(window)
    assert [line.tokens for line in watermarks(bench.state)] == lines


def test_no_window_no_lines() -> None:
    assert watermarks(State()) == ()
    assert reserve(None) == 0
    assert reserve(1_000) == 250


def test_series_of_a_thread() -> None:
    bench = Workbench()
    bench.open(session())
    curves = series(bench.state)
    assert curves is not None
    assert curves.reported[:3] == (10_000 + 500, 20_500, 30_500)
    assert curves.other == (None,) * 12
    assert [(mark.at, mark.label, mark.large) for mark in curves.marks] == [
        (11, "auto compaction 120,000 → 10,000", True)
    ]


def test_rows_take_the_first_line_with_something_on_it() -> None:
    long = Message("m", "user", (Text("\n  \n  " + "x" * 900 + "\nnext"),))
    assert message_row(long).line == "x" * FIRST_LINE
    call = Message(
        "c",
        "assistant",
        (ToolCall("1", "Read", {"path": "a\nb", "n": 3}), ToolCall("2", "Bash", "ls")),
    )
    assert (message_row(call).subject, message_row(call).line, message_row(call).tool) == (
        "a b, ls",
        "n: 3",
        "Read +1",
    )
    result = Message("r", "tool", (ToolResult("2", "", True), Image("image/png")))
    made = message_row(result, CallIndex([call]))
    assert (made.tool, made.subject, made.line) == ("Bash", "ls", "image/png")
    assert made.badges == ("error", "image")
    assert message_row(Message("e", "assistant", ())).line == ""


@given(messages)
def test_a_row_of_anything_is_one_line(message: Message) -> None:
    made = message_row(message, CallIndex([message]))
    assert len(made.line.splitlines()) <= 1
    assert len(made.subject.splitlines()) <= 1


def test_kinds_and_texts() -> None:
    made = session().main.messages
    assert of_kind(made, KINDS[0]) is None
    assert {kind: len(of_kind(made, kind) or ()) for kind in KINDS[1:]} == {
        "User": 1, "Assistant": 12, "Results": 12, "System": 0, "Errors": 2, "Edits": 0, "Files and reminders": 0,
        "Summaries": 1, "Images": 0, "Cleared": 0,
    }  # fmt: skip
    assert with_text(made, "TESTS/3.PY", None, lambda: False) == [7]


def test_next_of_kind_walks_both_ways_and_ends() -> None:
    edit = Message(
        "e", "assistant", (ToolCall("1", "Edit", {"file_path": "/a.py", "old_string": "x"}),)
    )
    read = Message("r", "assistant", (ToolCall("2", "Read", {"file_path": "/a.py"}),))
    messages = [read, edit, read, edit]
    assert next_of_kind(messages, "Edits", -1, 1) == 1
    assert next_of_kind(messages, "Edits", 1, 1) == 3
    assert next_of_kind(messages, "Edits", 3, 1) is None
    assert next_of_kind(messages, "Edits", 3, -1) == 1
    assert next_of_kind(messages, "Edits", 0, -1) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Chunk ID: e97ad9\nWall time: 0.1 s\nProcess exited with code 0\nOutput:\n\na.py: 3 hits\n", "a.py: 3 hits"),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the files", "Success. Updated the files"),
        ("     1→\"\"\"Rows of a statement.\"\"\"\n     2→import os", "\"\"\"Rows of a statement.\"\"\""),
        ("1\t\n2\tclass Row:", "class Row:"),
        ("......s..F... [ 41%]\n=========\n2 failed in 0.3s", "2 failed in 0.3s"),
        ("{\n  \"name\": 1\n}", "\"name\": 1"),
        ("<output>\n账本 通过\n</output>", "账本 通过"),
        ("Chunk ID: 1\nProcess exited with code 0", "Process exited with code 0"),
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\n", "(no output)"),
        ("  1|---\n  2|title: Home", "title: Home"),
        ("1 | })\n2 | def row(self):", "def row(self):"),
        ("....", "...."),
        ("77", "77"),
        ("", "(no output)"),
        ("WORKTREE \t      STATE", "WORKTREE STATE"),
    ],
)  # fmt: skip
def test_a_result_shows_its_first_telling_line(text: str, line: str) -> None:
    assert message_row(Message("r", "tool", (ToolResult("c", text),))).line == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<context>\n\n  The date is 1 May.\n</context>", "<context> The date is 1 May."),
        ("<context>", "<context>"),
        ("<p>Hello</p>\nWorld", "<p>Hello</p>"),
    ],
)
def test_behind_a_tag_stands_what_it_is_about(text: str, line: str) -> None:
    assert message_row(Message("m", "user", (Text(text),))).line == line


@pytest.mark.parametrize(
    ("arguments", "subject", "line"),
    [
        (
            {"description": "List", "command": "ls -l\npwd", "timeout": 5},
            "ls -l pwd",
            "description: List  timeout: 5",
        ),
        ({"command": ["bash", "-lc", "git status"], "workdir": "/w"}, "git status", "workdir: /w"),
        ({"cmd": ["rg", "-n", "row"]}, "rg -n row", ""),
        ({"description": "Look around", "prompt": "Find it"}, "Look around", "prompt: Find it"),
        ({"query": "decimal rounding"}, "decimal rounding", ""),
        ({"plan": [{"step": "a"}]}, "", 'plan: [{"step":"a"}]'),
        ({"command": ""}, "", "command: "),
    ],
)
def test_row_of_a_call_when_it_names_its_subject_says_that_first(
    arguments: dict[str, Any], subject: str, line: str
) -> None:
    made = message_row(Message("c", "assistant", (ToolCall("1", "shell", arguments),)))
    assert (made.subject, made.line) == (subject, line)


def test_row_of_a_result_when_its_call_is_known_names_file_and_command() -> None:
    calls = [
        Message(
            "a", "assistant", (ToolCall("1", "Read", {"file_path": "/home/dev/app/src/money.py"}),)
        ),
        Message(
            "b", "assistant", (ToolCall("2", "Read", {"file_path": "/home/dev/app/docs/a.md"}),)
        ),
        Message(
            "c",
            "assistant",
            (Text("Now the tests."), ToolCall("3", "Bash", {"command": "pytest -q"})),
        ),
        Message("d", "assistant", (ToolCall("4", "Read", {"file_path": "/tmp/out.txt"}),)),
        Message(
            "e", "assistant", (ToolCall("5", "Read", {"file_path": "/home/dev/app/src/tax.py"}),)
        ),
    ]
    index = CallIndex(calls)
    results = [
        Message(f"r{n}", "tool", (ToolResult(str(n), "<returncode>0</returncode>"),))
        for n in range(1, 6)
    ]
    assert [message_row(result, index).subject for result in results] == [
        "src/money.py",
        "docs/a.md",
        "pytest -q",
        "/tmp/out.txt",
        "src/tax.py",
    ]
    assert (message_row(calls[2], index).subject, message_row(calls[2], index).line) == (
        "pytest -q",
        "Now the tests.",
    )
    assert message_row(Message("u", "user", (Text("Hello"),)), index).subject == ""
