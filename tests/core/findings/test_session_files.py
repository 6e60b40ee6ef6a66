"""The files of a session: versions, and what of them a buffer holds."""

from inspector.core.buffer import Stretch
from inspector.core.findings.session_files import SessionFile, session_files
from inspector.core.message import Mark, Message, Text, ToolCall, ToolResult
from inspector.core.session import Request, Thread

PATH = "/app/a.py"


def called(
    number: int, name: str, path: str = PATH, is_error: bool = False
) -> tuple[Message, Message]:
    call = ToolCall(f"c{number}", name, {"file_path": path})
    result = ToolResult(f"c{number}", f"text {number}", is_error)
    return Message(f"a{number}", "assistant", (call,)), Message(f"r{number}", "tool", (result,))


def attached(number: int, text: str, mark: Mark = "attachment") -> Message:
    return Message(f"t{number}", "user", (Text(text),), mark=mark)


def thread_of(*turns: tuple[Message, ...]) -> Thread:
    """Each turn is what came since the request before."""
    messages: tuple[Message, ...] = ()
    requests = []
    for index, turn in enumerate(turns):
        messages += turn
        requests.append(Request(index, Stretch(own=messages).view()))
    return Thread(
        "main", messages=messages, requests=tuple(requests), end=Stretch(own=messages).view()
    )


def only_file(thread: Thread) -> SessionFile:
    (file,) = session_files(thread)
    return file


def held(*messages: Message) -> frozenset[int]:
    return frozenset(map(id, messages))


def test_version_of_a_file_begins_with_each_successful_write() -> None:
    turns = [
        called(0, "Read"),
        called(1, "Edit"),
        called(2, "Edit", is_error=True),
        called(3, "Write"),
        called(4, "Read"),
    ]
    file = only_file(thread_of(*turns))
    assert [(use.kind, use.version, use.first) for use in file.uses] == [
        ("read", 1, 0),
        ("written", 2, 1),
        ("written", 3, 3),
        ("read", 3, 4),
    ]
    assert [use.first for use in file.versions] == [0, 1, 3]
    assert file.until(1).version == 2


def test_file_is_stale_if_the_buffer_holds_only_an_older_version() -> None:
    read, edit, again = called(0, "Read"), called(1, "Edit"), called(2, "Read")
    file = only_file(thread_of(read, edit, again))
    assert file.state_in(held(*read)) == "stale"
    assert file.state_in(held(*read, *edit)) == "in context"
    assert file.state_in(held(*again)) == "in context"
    assert file.state_in(held(read[0])) == "not in context", (
        "a call without its result shows nothing"
    )
    assert file.until(0).state_in(held(*read)) == "in context", "nothing was written by then"


def test_attached_files_count_and_a_change_that_a_client_tells_begins_a_version() -> None:
    first, change = (
        attached(0, f"File {PATH}:\nimport os"),
        attached(1, f"File {PATH} was changed:\n+ x"),
    )
    file = only_file(thread_of((first,), (change,)))
    assert [(use.kind, use.version) for use in file.uses] == [("attached", 1), ("attached", 2)]
    assert not session_files(thread_of((attached(2, f"File {PATH}:\nx", mark=""),))), (
        "the user wrote that"
    )


def test_patch_names_its_files_and_a_search_names_none() -> None:
    patch = ToolCall(
        "p",
        "apply_patch",
        "*** Begin Patch\n*** Update File: b.py\n*** Add File: c.py\n*** End Patch",
    )
    patched = Message("a", "assistant", (patch,)), Message("r", "tool", (ToolResult("p", "ok"),))
    grep = ToolCall("g", "Grep", {"pattern": "x", "path": "/app"})
    searched = Message("s", "assistant", (grep,)), Message("q", "tool", (ToolResult("g", "a.py"),))
    assert [file.path for file in session_files(thread_of(patched, searched))] == ["b.py", "c.py"]


def test_message_whose_content_was_cleared_holds_no_file() -> None:
    read = called(0, "Read")
    cleared = Message("r0", "tool", (ToolResult("c0", "[cleared]"),), mark="placeholder")
    messages = (read[0], cleared)
    thread = Thread(
        "main",
        messages=(*read, cleared),
        requests=(Request(0, Stretch(own=read).view()), Request(1, Stretch(own=messages).view())),
        end=Stretch(own=messages).view(),
    )
    file = only_file(thread)
    assert file.state_in(held(*messages)) == "not in context"
    assert file.state_in(held(*read)) == "in context"
