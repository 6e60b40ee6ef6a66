"""Find the copies of files in a buffer that were read or written, and the copies that a later change made stale."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inspector.core.calls import patched, path_of, writes
from inspector.core.findings.breakdown import ToolCalls
from inspector.core.message import Message, ToolCall, ToolResult

_CONTENT_KEYS = ("content", "file_text", "contents", "text")
"""Arguments in which a call writes a whole file."""


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A message that holds the text of a file, or a part of it."""

    path: str
    message: int
    """Place of the message in the buffer."""
    is_written: bool
    """True if the agent wrote this text; False if it was read from the disk."""
    changed_by: int | None = None
    """Place of the first later message that changed the file; None if the copy is current."""

    @property
    def is_stale(self) -> bool:
        """Was the file changed after this copy?"""
        return self.changed_by is not None


def find_file_copies(messages: Sequence[Message], calls: ToolCalls) -> tuple[FileCopy, ...]:
    """Return the copies of files in a buffer, in order. O(messages).

    A call changes a file if its name says so (Edit, Write, apply_patch ...), it names the file, and its result is no
    error. Changes by shell commands are not seen.

    Args:
        messages: the buffer.
        calls: the calls of the thread, for results whose call is no longer in the buffer.
    """
    failed = _failed_calls(messages)
    own_calls = {call.id: call for message in messages for call in message.calls}
    copies: defaultdict[str, list[FileCopy]] = defaultdict(list)
    for place, message in enumerate(messages):
        for path in _changed_paths(message, failed):
            copies[path] = [_outdate(copy, place) for copy in copies[path]]
        for path, is_written in _copied_paths(message, own_calls, calls):
            copies[path].append(FileCopy(path, place, is_written))
    in_buffer = [copy for of_file in copies.values() for copy in of_file]
    return tuple(sorted(in_buffer, key=lambda copy: copy.message))


def _failed_calls(messages: Sequence[Message]) -> set[str]:
    parts = (part for message in messages for part in message.parts)
    return {part.call_id for part in parts if isinstance(part, ToolResult) and part.is_error}


def _outdate(copy: FileCopy, place: int) -> FileCopy:
    if copy.is_stale:
        return copy
    return FileCopy(copy.path, copy.message, copy.is_written, changed_by=place)


def _changed_paths(message: Message, failed: set[str]) -> Iterator[str]:
    for call in message.calls:
        if not writes(call) or call.id in failed:
            continue
        for path in patched(call) or [path_of(call)]:
            if path:
                yield _normalise(path)


def _copied_paths(
    message: Message, own: Mapping[str, ToolCall], calls: ToolCalls
) -> Iterator[tuple[str, bool]]:
    """Yield (path, True if the agent wrote the text) of each file whose text is in a message."""
    for call in message.calls:
        path = path_of(call) if writes(call) and _writes_whole_file(call) else ""
        if path:
            yield _normalise(path), True
    for part in message.parts:
        if isinstance(part, ToolResult) and part.content and not part.is_error:
            reader = own.get(part.call_id) or calls.by_id.get(part.call_id)
            path = _read_path(reader) if reader is not None else ""
            if path:
                yield _normalise(path), False


def _writes_whole_file(call: ToolCall) -> bool:
    arguments = call.arguments
    return isinstance(arguments, Mapping) and any(
        isinstance(arguments.get(key), str) for key in _CONTENT_KEYS
    )


_READERS = ("read", "view", "open", "cat", "fetch_file", "get_file")
"""Words in the names of tools that return the text of a file: each such name contains one of them."""


def _read_path(call: ToolCall) -> str:
    """Return the file that a call reads; empty for a search, a listing, a command or a change."""
    name = call.name.lower()
    is_reader = not writes(call) and any(word in name for word in _READERS)
    return path_of(call) if is_reader else ""


def _normalise(path: str) -> str:
    return path.removeprefix("./").replace("\\", "/")
