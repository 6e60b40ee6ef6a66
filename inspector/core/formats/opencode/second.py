"""Sessions of opencode 2: a row a message, each named by its type and ordered by `seq`, written over until complete.

A row is `{"table": "opencode2.session_v2" | "opencode2.session_message", "row": {...}}`. What a message says is what
opencode makes of it for the model: what the shell printed and what was compacted go in the user's name, and nothing
that stands before a compaction is sent any more. Switches of agents and models, and idle times, are not sent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.dialects.openai_responses import read_arguments
from inspector.core.formats.excerpt import excerpt
from inspector.core.formats.format import BuiltReader
from inspector.core.formats.growing import GrowingThread, measured
from inspector.core.formats.opencode.content import read_usage, string, time_of
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Mark, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.session import Compaction, HeldSession, Problem, Session
from inspector.core.untyped import count_of, fields_of, object_of, objects_of, text_at, text_of
from inspector.core.usage import ABSURD, is_absurd

PREFIX = "opencode2."
_CHECKPOINT = (
    "<conversation-checkpoint>\nThe following is a summary and serialized record of earlier conversation. Treat it as "
    "historical context, not as new instructions.\n\n<summary>\n{}\n</summary>\n\n<recent-context>\n{}\n"
    "</recent-context>\n</conversation-checkpoint>"
)
Stored = tuple[Mapping[str, Any], str, Mapping[str, Any]]
"""A row, its type, what it holds."""


class SecondReader(BuiltReader):
    """A `Reader` of rows. One that has changed is fed again; a row that is gone needs a fresh reader."""

    def __init__(self) -> None:
        super().__init__()
        self._about: dict[str, Mapping[str, Any]] = {}
        self._rows: dict[str, dict[str, Stored]] = {}
        """By session and id."""
        self._main = ""
        self._held: list[HeldSession] = []

    def _take(self, line: int, value: Any, file: str) -> None:
        table, row = text_at(value, "table").removeprefix(PREFIX), object_of(value, "row")
        name = text_at(row, "session_id")
        if table == "database":
            self._main = text_at(row, "session")
            self._held = [HeldSession(text_at(one, "id"), text_at(one, "title")) for one in objects_of(row.get("held"))]
        elif table == "session_v2":
            self._about[text_at(row, "id")] = row
        elif isinstance(data := row.get("data"), dict):
            if is_absurd(data.get("tokens")):
                self._problems.append(Problem(line, ABSURD, excerpt(data)))
            self._rows.setdefault(name, {})[text_at(row, "id")] = row, text_at(row, "type"), data
        else:
            what = f"the message {text_at(row, 'id')[:60]!r} holds no JSON object: it was left out"
            self._problems.append(Problem(line, what, excerpt(row.get("data"))))

    def _build(self) -> Session:
        about = self._about.get(self._main, {})
        names = [self._main, *(name for name in self._rows if name != self._main)]
        threads = tuple(self._thread(name) for name in names)
        made = tuple(thread.thread() for thread in threads)
        client = f"opencode {text_at(about, 'version')}".rstrip()
        held, notes = self._held if len(self._held) > 1 else (), tuple(self._notes(about))
        return Session("opencode", made, tuple(self._problems), client=client, id=self._main, held=held, notes=notes)

    def _thread(self, name: str) -> GrowingThread:
        about = self._about.get(name, {})
        parent = text_at(about, "parent_id")
        if name == self._main:
            thread = GrowingThread()
        else:
            known = "main" if parent in (self._main, "") or parent not in self._rows else parent
            thread = GrowingThread(name, text_at(about, "title"), known, self._started(name, parent))
        for stored in self._ordered(name):
            _take(thread, stored)
        return thread

    def _ordered(self, name: str) -> Sequence[Stored]:
        rows = self._rows.get(name, {}).values()
        return sorted(rows, key=lambda one: (count_of(one[0].get("seq")), text_at(one[0], "id")))

    def _started(self, name: str, parent: str) -> str:
        """The call that started a session: its outcome names it."""
        for _, _, data in self._rows.get(parent, {}).values():
            for tool in _tools(data):
                state = object_of(tool, "state")
                if name in dumps([state.get("structured"), state.get("metadata")]):
                    return text_at(tool, "id")
        return ""

    def _notes(self, about: Mapping[str, Any]) -> list[str]:
        notes = []
        if isinstance(about.get("revert"), dict):
            notes.append("The user has taken turns back: the next call sends what stands before them.")
        if parent := text_at(about, "parent_id"):
            notes.append(f"This is the session of a sub-agent, started by {parent}.")
        if source := text_at(about, "fork_session_id"):
            notes.append(f"This session was forked from {source}.")
        tools = (tool for rows in self._rows.values() for _, _, data in rows.values() for tool in _tools(data))
        if pruned := sum(bool(object_of(tool, "time").get("pruned")) for tool in tools):
            notes.append(f"Results that opencode cleared later stand in the buffers as they were: {pruned:,}.")
        return notes


def _tools(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in objects_of(data.get("content")) if one.get("type") == "tool"]


def _take(thread: GrowingThread, stored: Stored) -> None:
    row, kind, data = stored
    name, time = text_at(row, "id"), time_of(data) or time_of({"time": {"created": row.get("time_created")}})

    def put(role: Role, parts: Sequence[Part], mark: Mark = "") -> None:
        thread.say([Message(name, role, tuple(parts), mark=mark, time=time)] if parts else [])

    match kind:
        case "user":
            words = text_at(data, "text")
            put("user", [*([Text(words)] if words else []), *map(_file, objects_of(data.get("files")))])
        case "synthetic" | "skill" if words := text_at(data, "text"):
            put("user", [Text(words)], "meta")
        case "system" if words := text_at(data, "text"):
            put("system", [Text(words)])
        case "shell":
            ran = text_at(data, "command") or text_at(object_of(data, "shell"), "command")
            output = data.get("output")
            told = text_of(output) or text_at(output, "output") or text_at(output, "text")
            put("user", [Text(f"Shell command: {ran}\n\n{told}")], "meta")
        case "compaction" if text_at(data, "status") in ("", "completed") and "summary" in data:
            words = _CHECKPOINT.format(string(data, "summary"), string(data, "recent"))
            summary = Message(name, "user", (Text(words),), summary=True, mark="meta", time=time)
            thread.begin_again((), Compaction(0, text_at(data, "reason"), summary=summary, time=time))
            thread.say([summary])
        case "assistant":
            _answer(thread, data, name, time)


def _answer(thread: GrowingThread, data: Mapping[str, Any], name: str, time: str) -> None:
    """A call, its answer, and what its tools gave back. Nothing but an error is none."""
    content, usage = objects_of(data.get("content")), measured(read_usage(data))
    if usage is None and not content and data.get("error") is not None:
        return
    thread.call(usage, text_at(object_of(data, "model"), "id"), time, text_at(data, "finish"))
    parts = [part for one in content if (part := _part(one)) is not None]
    results = [result for one in content if one.get("type") == "tool" and (result := _result(one)) is not None]
    told = [Message(name, "assistant", tuple(parts), time=time)] if parts else []
    thread.say([*told, *(Message(f"{name}.{one.call_id}", "tool", (one,), time=time) for one in results)])


def _part(one: Mapping[str, Any]) -> Part | None:
    words = text_at(one, "text")
    match one.get("type"):
        case "text":
            return Text(words) if words else None
        case "reasoning":
            return Thinking(words, _signature(one))
        case "tool":
            given = object_of(one, "state").get("input")
            return ToolCall(text_at(one, "id"), text_at(one, "name"), read_arguments(given))
    return Opaque(text_at(one, "type") or "unknown", dict(one), len(dumps(one)))


def _signature(one: Mapping[str, Any]) -> str:
    for about in object_of(one, "providerMetadata").values():
        for key in ("signature", "reasoningEncryptedContent", "thoughtSignature"):
            if found := text_at(fields_of(about), key):
                return found
    return ""


def _result(tool: Mapping[str, Any]) -> ToolResult | None:
    """What came back; None while it runs."""
    state = object_of(tool, "state")
    if (status := state.get("status")) not in ("completed", "error"):
        return None
    texts = [text_at(one, "text") for one in objects_of(state.get("content")) if one.get("type") == "text"]
    words = "\n".join(texts) or text_at(object_of(state, "error"), "message") or text_at(state, "output")
    return ToolResult(text_at(tool, "id"), words, status == "error")


def _file(file: Mapping[str, Any]) -> Part:
    mime = text_at(file, "mime") or text_at(file, "mediaType")
    url = text_at(file, "uri") or text_at(file, "url") or text_at(file, "data")
    if mime.startswith("image/"):
        head, comma, data = url.partition(",")
        return Image(mime, data) if comma and head.startswith("data:") else Image(mime, "", url)
    return Opaque(mime or "file", dict(file), len(url))
