"""Find the files of a session: the messages that show, attach or change each file, and the version in each message.

A version begins with a successful write by the agent, or with a client's message that the file was changed. Changes by
other programs are not recorded, so they begin no version.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.calls import ATTACHED_FILE, FILE_KEYS, first_text, patched, writes
from inspector.core.findings.search import message_stays
from inspector.core.message import Message, Text, ToolCall
from inspector.core.session import Thread

UseKind: TypeAlias = Literal["read", "written", "attached"]
FileState: TypeAlias = Literal["in context", "stale", "not in context"]
_SEARCHERS = ("grep", "glob", "search", "list", "find")
CHANGED = "was changed"
"""Words in a client's message about a file that was changed."""


@dataclass(frozen=True, slots=True)
class FileUse:
    """A message that shows, attaches or changes a file."""

    message: Message
    kind: UseKind
    version: int
    """The version that the message leads to, from 1."""
    first: int
    """The first request with the message; the number of requests for the buffer after the last record."""


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A file with all messages about it, oldest first."""

    path: str
    uses: tuple[FileUse, ...]

    def until(self, at: int) -> "SessionFile":
        """Return the file with only the uses up to request `at`."""
        return SessionFile(self.path, tuple(use for use in self.uses if use.first <= at))

    @property
    def version(self) -> int:
        """Return the newest version; 0 before the first message about the file."""
        return max((use.version for use in self.uses), default=0)

    @property
    def versions(self) -> tuple[FileUse, ...]:
        """Return the use with which each version began."""
        first: dict[int, FileUse] = {}
        for use in self.uses:
            first.setdefault(use.version, use)
        return tuple(first.values())

    def uses_in(self, buffer: Container[int]) -> tuple[FileUse, ...]:
        """Return the uses whose message is in the buffer. `buffer`: the `id()` of its message objects."""
        return tuple(use for use in self.uses if id(use.message) in buffer)

    def state_in(self, buffer: Container[int]) -> FileState:
        """Say whether the buffer holds the newest version, only an older one (stale), or nothing of the file."""
        held = max((use.version for use in self.uses_in(buffer)), default=0)
        if not held:
            return "not in context"
        return "in context" if held == self.version else "stale"


def session_files(thread: Thread) -> tuple[SessionFile, ...]:
    """Find the files of a thread, in the order in which they first appear. O(messages + changes)."""
    calls: dict[str, ToolCall] = {}
    files: dict[str, list[FileUse]] = {}
    for message, stay in message_stays(thread).values():
        calls.update((call.id, call) for call in message.calls)
        if message.mark == "placeholder":
            continue  # its content was cleared
        for path, kind, begins in _named_in(message, calls):
            uses = files.setdefault(path, [])
            newest = uses[-1].version if uses else 0
            version = newest + 1 if begins or not newest else newest
            uses.append(FileUse(message, kind, version, stay.first))
    return tuple(SessionFile(path, tuple(uses)) for path, uses in files.items())


def _named_in(message: Message, calls: dict[str, ToolCall]) -> Iterator[tuple[str, UseKind, bool]]:
    """Yield (path, kind of use, True if a version begins) for each file that a message uses."""
    if message.mark == "attachment":
        yield from _attached_in(message)
        return
    result = message.result
    call = calls.get(result.call_id) if result is not None and not result.is_error else None
    if call is None:
        return
    if writes(call):
        for path in _written_by(call):
            yield path, "written", True
    elif not _searches(call) and (path := first_text(call.arguments, FILE_KEYS)):
        yield path, "read", False


def _searches(call: ToolCall) -> bool:
    """Does the call search a folder, so that its path is not a file?"""
    name = call.name.lower()
    return name == "ls" or any(word in name for word in _SEARCHERS)


def _written_by(call: ToolCall) -> Iterable[str]:
    path = first_text(call.arguments, FILE_KEYS)
    return dict.fromkeys([path] if path else patched(call))


def _attached_in(message: Message) -> Iterator[tuple[str, UseKind, bool]]:
    for part in message.parts:
        head = part.text.lstrip().partition("\n")[0].rstrip() if isinstance(part, Text) else ""
        if attached := ATTACHED_FILE.fullmatch(head):
            yield attached["path"], "attached", (attached["state"] or "").strip() == CHANGED
