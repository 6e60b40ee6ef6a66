"""Read Crush sessions: rows of Crush's database, as `transcripts.stores` reads them.

A row is `{"table": "crush.sessions" | "crush.messages", "row": {...}}` with its parts parsed. A `crush.database` row
comes first. The last message is written again until it is complete.

An answer is one call, unless it holds nothing but an error. After a compaction Crush sends the summary in the user's
name, then the messages after it. The model reads the `content` of a tool result; its `metadata` is only shown to the
user.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from inspector.core.formats.format import AgentFolder, Contents, Format
from inspector.core.formats.reading import iso_time, opaque_part
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.formats.stored import SessionRows, StoredReader, ThreadLayer
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
from inspector.core.session import Compaction
from inspector.core.untyped import count_of, object_of, objects_of, text_at, value_in
from inspector.core.usage import Usage
from inspector.core.words import dollars

NAME = "crush"
_TABLES = ("crush.database", "crush.sessions", "crush.messages")
_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "system": "system",
}
_IN_MS = 10**11
_ONE_POINT = (
    "Crush keeps the tokens of the last call only: its prompt and its answer as one sum, which is shown "
    "as the prompt. "
    "The file does not record how much of the prompt was read from a cache."
)


Stored: TypeAlias = tuple[Mapping[str, Any], list[Message], bool]
"""A row, its messages, and whether it is the summary of all earlier messages."""


class CrushSession(SessionRows):
    """The rows of one session. New rows are appended; a changed row keeps its position."""

    def __init__(self, name: str) -> None:
        super().__init__(name, CrushLayer)
        self._rows: dict[str, Stored] = {}

    def describe(self, about: Mapping[str, Any]) -> None:
        """Set the session's row. If it names another summary, read all messages again."""
        former, self.about = self._summary(), about
        if former != self._summary():
            self._rows = {name: self._read(row) for name, (row, *_) in self._rows.items()}

    def _summary(self) -> str:
        return text_at(self.about, "summary_message_id")

    def _read(self, row: Mapping[str, Any]) -> Stored:
        is_summary = row.get("is_summary_message") == 1 or text_at(row, "id") == self._summary()
        return row, _messages(row), is_summary and row.get("role") == "assistant"

    def take(self, row: Mapping[str, Any]) -> None:
        """Add a stored message, or replace it if its id is known."""
        self._rows[text_at(row, "id")] = self._read(row)

    def _units(self) -> Sequence[Stored]:
        return list(self._rows.values())

    def started(self, name: str) -> str:
        """Return the id of the tool call that started the session `name`, which Crush names after the call."""
        call = name.rpartition("$$")[2]
        for row, *_ in self._rows.values():
            for part in _parts(row):
                if part.get("type") == "tool_call" and text_at(object_of(part, "data"), "id") in (
                    call,
                    name,
                ):
                    return text_at(object_of(part, "data"), "id")
        return ""


class CrushLayer(ThreadLayer):
    """Appends rows to a thread."""

    def __init__(self) -> None:
        super().__init__()
        self._is_summarised = False
        """True if the last call wrote a summary."""

    def take(self, unit: Stored) -> None:
        row, messages, is_summary = unit
        time = _time(row)
        reason = _finish(row)
        if is_summary and messages:
            self._is_summarised = True
            summary = replace(messages[0], role="user", summary=True, mark="meta")
            self.thread.aside("compaction", None, "", time=time, compaction=self.thread.compactions)
            self.thread.begin_again(
                (), Compaction(before_request=0, trigger="", summary=summary, time=time)
            )
            self.thread.note(messages[1:])
            return
        if row.get("role") == "assistant" and (messages or reason != "error"):
            self._is_summarised = False
            self.thread.call(None, text_at(row, "model"), time, reason)
        self.thread.say(messages)

    def end(self, about: Mapping[str, Any]) -> None:
        """Set the usage of the last call. The row holds only the sum of prompt and answer; 0 means unknown."""
        total = sum(count_of(about.get(name)) for name in ("prompt_tokens", "completion_tokens"))
        if self.thread.calls and not self._is_summarised:
            self.thread.report(Usage(total, output_is_final=False) if total > 1 else None)


def _parts(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return objects_of(row.get("parts"))


def _finish(row: Mapping[str, Any]) -> str:
    ends = [object_of(part, "data") for part in _parts(row) if part.get("type") == "finish"]
    return text_at(ends[-1], "reason") if ends else ""


def _time(row: Mapping[str, Any]) -> str:
    """Return the time of a row. Crush writes seconds; values of 10**11 or more are read as milliseconds."""
    created = row.get("created_at")
    return iso_time(created, 1000 if isinstance(created, int) and created >= _IN_MS else 1)


def _messages(row: Mapping[str, Any]) -> list[Message]:
    """Return the messages of a row: one for each tool result, and one for all other parts together."""
    name = text_at(row, "id")
    time = _time(row)
    parts = [part for part in map(_part, _parts(row)) if part is not None]
    results = [part for part in parts if isinstance(part, ToolResult)]
    others = tuple(part for part in parts if not isinstance(part, ToolResult))
    messages = [
        Message(
            f"{name}.{n}" if n else name,
            role="tool",
            parts=(result,),
            together=name if len(results) > 1 else "",
            time=time,
        )
        for n, result in enumerate(results)
    ]
    if others:
        role = _ROLES.get(text_at(row, "role"), "user")
        messages.append(
            Message(
                f"{name}.more" if results else name, "user" if results else role, others, time=time
            )
        )
    return messages


def _part(part: Mapping[str, Any]) -> Part | None:
    """Read a part by its type; None if the part is not sent to the model."""
    kind = part.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return reader(object_of(part, "data")) if reader else opaque_part(kind, dict(part))


def _read_text(data: Mapping[str, Any]) -> Part | None:
    text = text_at(data, "text")
    return Text(text) if text else None


def _read_thinking(data: Mapping[str, Any]) -> Part | None:
    text = text_at(data, "thinking")
    signature = text_at(data, "signature")
    return Thinking(text, signature) if text or signature else None


def _read_call(data: Mapping[str, Any]) -> Part:
    arguments = text_at(data, "input")
    return ToolCall(
        text_at(data, "id"),
        text_at(data, "name"),
        value_in(arguments, arguments) if arguments else {},
    )


def _read_result(data: Mapping[str, Any]) -> Part:
    return ToolResult(
        text_at(data, "tool_call_id"), text_at(data, "content"), data.get("is_error") is True
    )


def _read_binary(data: Mapping[str, Any]) -> Part:
    media = text_at(data, "MIMEType")
    content = text_at(data, "Data")
    if media.startswith("image/"):
        return Image(media, content, text_at(data, "Path"))
    return Opaque("binary", dict(data), len(content))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Part | None]] = {
    "text": _read_text,
    "reasoning": _read_thinking,
    "tool_call": _read_call,
    "tool_result": _read_result,
    "image_url": lambda data: Image("", url=text_at(data, "url")),
    "binary": _read_binary,
    "finish": lambda data: None,
}
"""Readers of the data of a part, by type."""


class CrushReader(StoredReader[CrushSession]):
    """A `Reader` of the rows of Crush's database."""

    def __init__(self) -> None:
        super().__init__(NAME, CrushSession)

    def _take(self, line: int, value: Any, file: str) -> None:
        table, row = (
            (value.get("table"), value.get("row")) if isinstance(value, dict) else (None, None)
        )
        if table not in _TABLES or not isinstance(row, dict):
            self._problems.note(line, "not a row of Crush's database", value, file)
        elif table == "crush.database":
            self._take_database(row)
        elif table == "crush.sessions":
            self._session(text_at(row, "id")).describe(row)
        elif isinstance(row.get("parts"), list):
            self._session(text_at(row, "session_id")).take(row)
        else:
            what = (
                f"the message {text_at(row, 'id')[:60]!r} holds no list of parts: it was left out"
            )
            self._problems.note(line, what, row.get("parts"))

    def _told_of(self, main: CrushSession) -> tuple[str, Sequence[str]]:
        cost, notes = main.about.get("cost"), [_ONE_POINT]
        if isinstance(cost, int | float) and cost > 0:
            notes.append(f"Crush reckoned {dollars(cost)} for the whole session.")
        return "Crush", notes


FORMAT = Format(
    NAME,
    title="Crush session",
    sniff=FileSigns(FileSign({"table": "|".join(_TABLES), "row": "<object>"})),
    start=CrushReader,
    grows=True,
    folders=(AgentFolder("crush/projects.json", ".local/share", "XDG_DATA_HOME"),),
    contents=Contents(tokens="of the last call, with its answer", more="its database"),
)
