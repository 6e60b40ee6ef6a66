"""Rows of the buffer list: what names a message, and what of it is not repeated."""

import pytest

from inspector.core.calls import CallIndex
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.workbench.message_rows import row

PATH = "/home/dev/app/src/a.py"
EDIT = Message("e", "assistant", (ToolCall("1", "Edit", {"file_path": PATH}),))
READ = Message("r", "assistant", (ToolCall("2", "Read", {"file_path": PATH}),))
INDEX = CallIndex([EDIT, READ])


def result(call: str, text: str, is_error: bool = False) -> Message:
    return Message(f"of {call}", "tool", (ToolResult(call, text, is_error),))


def test_row_of_an_edit_leaves_out_the_sentence_that_repeats_its_file() -> None:
    text = f"The file {PATH} has been updated. Here's a snippet:\n    12→def start():\n    13→    pass"
    assert row(result("1", text), INDEX).line == "def start():"
    assert row(result("1", f"File created successfully at: {PATH}"), INDEX).line == ""


def test_row_of_a_failed_edit_keeps_its_error() -> None:
    error = f"{PATH} was not read yet."
    assert row(result("1", error, is_error=True), INDEX).line == error


def test_row_of_a_read_keeps_lines_that_name_the_file() -> None:
    assert row(result("2", f"     1→# {PATH}"), INDEX).line == f"# {PATH}"


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
    attached = row(Message("a", "user", (Text(text),), mark="attachment"), INDEX)
    assert (attached.tool, attached.subject, attached.line) == ("attached", "a.py", line)


def test_row_of_a_user_who_writes_like_a_client_is_not_an_attached_file() -> None:
    written = row(Message("u", "user", (Text(f"File {PATH}:\nimport os"),)), INDEX)
    assert (written.tool, written.subject, written.line) == ("", "", f"File {PATH}:")
