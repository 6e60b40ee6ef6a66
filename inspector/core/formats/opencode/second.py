"""Read a session of opencode 2: one row per message, with a type and a `seq` number, overwritten until complete.

A message holds the text that opencode sends to the model. Shell output and summaries are sent in the user's name.
Messages before a compaction, switches of agents and models, and idle times are not sent.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from inspector.core.dialects.openai_responses import read_arguments
from inspector.core.formats.growing import GrowingThread, measured
from inspector.core.formats.opencode.content import (
    file_part,
    read_step_usage,
    signature_in,
    string,
    time_of,
)
from inspector.core.formats.reading import RecordPosition, opaque_part
from inspector.core.formats.stored import SessionRows, ThreadLayer
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.session import Compaction
from inspector.core.untyped import count_of, object_of, objects_of, text_at, text_of

_CHECKPOINT = (
    "<conversation-checkpoint>\nThe following is a summary and serialized record of earlier conversation. Treat it as "
    "historical context, not as new instructions.\n\n<summary>\n{}\n</summary>\n\n<recent-context>\n{}\n"
    "</recent-context>\n</conversation-checkpoint>"
)


Stored: TypeAlias = tuple[int, str, str, Mapping[str, Any]]
"""A row: its `seq` number, id, type and data."""


class SecondSession(SessionRows):
    """The stored messages of one session."""

    def __init__(self, name: str) -> None:
        super().__init__(name, SecondLayer)
        self._rows: dict[str, Stored] = {}

    def take_message(self, data: Mapping[str, Any], row: Mapping[str, Any]) -> None:
        """Add a stored message, or replace it if its id is known."""
        name = text_at(row, "id")
        self._rows[name] = count_of(row.get("seq")), name, text_at(row, "type"), data

    def take_part(self, part: Mapping[str, Any], message: str) -> None:
        """Ignore the part: in this layout a message holds its own parts."""

    def _units(self) -> Sequence[Stored]:
        return sorted(self._rows.values(), key=itemgetter(0, 1))

    def pruned_later(self) -> int:
        """Return the number of results that were cleared after they had been sent. The time is not recorded."""
        tools = (tool for *_, data in self._rows.values() for tool in _tools(data))
        return sum(bool(object_of(tool, "time").get("pruned")) for tool in tools)

    def started(self, name: str) -> str:
        """Return the id of the tool call whose result names the session `name`; empty if there is none."""
        for *_, data in self._rows.values():
            for tool in _tools(data):
                state = object_of(tool, "state")
                if name in dumps([state.get("structured"), state.get("metadata")]):
                    return text_at(tool, "id")
        return ""


class SecondLayer(ThreadLayer):
    """Appends rows to a thread."""

    def take(self, unit: Stored) -> None:
        _, name, kind, data = unit
        _take(self.thread, kind, data, RecordPosition(name, line=0, time=time_of(data)))


def _tools(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part for part in objects_of(data.get("content")) if part.get("type") == "tool"]


def _take(thread: GrowingThread, kind: str, data: Mapping[str, Any], where: RecordPosition) -> None:
    words = text_at(data, "text")
    match kind:
        case "user":
            parts = [*([Text(words)] if words else []), *map(_file, objects_of(data.get("files")))]
            thread.say([where.message("user", parts)] if parts else [])
        case "synthetic" | "skill" if words:
            thread.say([where.message("user", [Text(words)], "meta")])
        case "system" if words:
            thread.say([where.message("system", [Text(words)])])
        case "shell":
            thread.say([where.message("user", [Text(_shell_text(data))], "meta")])
        case "compaction" if text_at(data, "status") in ("", "completed") and "summary" in data:
            words = _CHECKPOINT.format(string(data, "summary"), string(data, "recent"))
            summary = where.message("user", [Text(words)], "meta", summary=True)
            thread.begin_again(
                (),
                Compaction(
                    before_request=0,
                    trigger=text_at(data, "reason"),
                    summary=summary,
                    time=where.time,
                ),
            )
        case "assistant":
            _answer(thread, data, where)


def _shell_text(data: Mapping[str, Any]) -> str:
    """Return the text that the model reads for a command that the user ran."""
    command = text_at(data, "command") or text_at(object_of(data, "shell"), "command")
    output = data.get("output")
    output_text = text_of(output) or text_at(output, "output") or text_at(output, "text")
    return f"Shell command: {command}\n\n{output_text}"


def _answer(thread: GrowingThread, data: Mapping[str, Any], where: RecordPosition) -> None:
    """Add a call with its answer and tool results. An answer that holds only an error is not a call."""
    content = objects_of(data.get("content"))
    usage = measured(read_step_usage(data))
    if usage is None and not content and data.get("error") is not None:
        return
    thread.call(usage, text_at(object_of(data, "model"), "id"), where.time, text_at(data, "finish"))
    parts = [part for block in content if (part := _part(block)) is not None]
    results = [
        result
        for block in content
        if block.get("type") == "tool" and (result := _result(block)) is not None
    ]
    thread.say([where.message("assistant", parts)] if parts else [])
    thread.say(
        Message(f"{where.id}.{result.call_id}", "tool", (result,), time=where.time)
        for result in results
    )


def _part(block: Mapping[str, Any]) -> Part | None:
    words = text_at(block, "text")
    match block.get("type"):
        case "text":
            return Text(words) if words else None
        case "reasoning":
            return Thinking(words, signature_in(object_of(block, "providerMetadata")))
        case "tool":
            arguments = object_of(block, "state").get("input")
            return ToolCall(text_at(block, "id"), text_at(block, "name"), read_arguments(arguments))
    return opaque_part(text_at(block, "type") or "unknown", dict(block))


def _result(tool: Mapping[str, Any]) -> ToolResult | None:
    """Return the result of a tool; None while the tool runs."""
    state = object_of(tool, "state")
    if (status := state.get("status")) not in ("completed", "error"):
        return None
    texts = [
        text_at(block, "text")
        for block in objects_of(state.get("content"))
        if block.get("type") == "text"
    ]
    words = (
        "\n".join(texts)
        or text_at(object_of(state, "error"), "message")
        or text_at(state, "output")
    )
    return ToolResult(text_at(tool, "id"), words, status == "error")


def _file(file: Mapping[str, Any]) -> Part:
    mime = text_at(file, "mime") or text_at(file, "mediaType")
    url = text_at(file, "uri") or text_at(file, "url") or text_at(file, "data")
    return file_part(mime, url, file)
