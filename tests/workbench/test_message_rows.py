"""Rows of the buffer list: what names a message, and what of it is not repeated."""

import pytest

from inspector.core.calls import CallIndex
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.workbench.message_rows import message_row

PATH = "/home/dev/app/src/a.py"
EDIT = Message("e", "assistant", (ToolCall("1", "Edit", {"file_path": PATH}),))
READ = Message("r", "assistant", (ToolCall("2", "Read", {"file_path": PATH}),))
INDEX = CallIndex([EDIT, READ])


def result(call: str, text: str, is_error: bool = False) -> Message:
    return Message(f"of {call}", "tool", (ToolResult(call, text, is_error),))


def test_row_of_an_edit_leaves_out_the_sentence_that_repeats_its_file() -> None:
    text = (
        f"The file {PATH} has been updated. Here's a snippet:\n    12→def start():\n    13→    pass"
    )
    assert message_row(result("1", text), INDEX).line == "def start():"
    assert message_row(result("1", f"File created successfully at: {PATH}"), INDEX).line == ""


def test_row_of_a_failed_edit_keeps_its_error() -> None:
    error = f"{PATH} was not read yet."
    assert message_row(result("1", error, is_error=True), INDEX).line == error


def test_row_of_a_read_keeps_lines_that_name_the_file() -> None:
    assert message_row(result("2", f"     1→# {PATH}"), INDEX).line == f"# {PATH}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"File {PATH}:\n     1→import os", "import os"),
        (f"File {PATH} was changed:\n+ x", "was changed"),
        (
            f"File {PATH} was read before the compaction; it is too large to be included.",
            "was read before the compaction",
        ),
    ],
)
def test_row_of_an_attached_file_is_named_by_its_file(text: str, line: str) -> None:
    attached = message_row(Message("a", "user", (Text(text),), mark="attachment"), INDEX)
    assert (attached.tool, attached.subject, attached.line) == ("attached", "a.py", line)


def test_row_of_a_user_who_writes_like_a_client_is_not_an_attached_file() -> None:
    written = message_row(Message("u", "user", (Text(f"File {PATH}:\nimport os"),)), INDEX)
    assert (written.tool, written.subject, written.line) == ("", "", f"File {PATH}:")


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (Message("u", "user", (Text("Go"),)), "user"),
        (Message("s", "user", (Text("What happened"),), summary=True), "summary"),
        (Message("f", "user", (Text(f"File {PATH}:\nimport os"),), mark="attachment"), "file"),
        (
            Message(
                "t",
                "user",
                (Text("<system-reminder>Todo list</system-reminder>"),),
                mark="attachment",
            ),
            "reminder",
        ),
        (Message("c", "user", (Text("<local-command-stdout>ok"),), mark="meta"), "client"),
        (Message("a", "assistant", (Text("Done"),)), "assistant"),
        (result("1", "ok"), "result"),
    ],
)
def test_role_of_a_row_says_who_wrote_the_message(message: Message, role: str) -> None:
    assert message_row(message, INDEX).role == role


@pytest.mark.parametrize(
    ("message", "size"),
    [
        (Message("a", "assistant", (Text("Both"), EDIT.parts[0], READ.parts[0])), "2 calls"),
        (EDIT, "1 call"),
        (result("1", "one\ntwo\nthree\n"), "3 lines"),
        (result("1", "ok"), "2 chars"),
        (Message("u", "user", (Text("x\n" * 700),)), "1,400 chars"),
        (Message("e", "assistant", ()), ""),
    ],
)
def test_size_of_a_row_counts_calls_lines_or_characters(message: Message, size: str) -> None:
    assert message_row(message, INDEX).size == size
