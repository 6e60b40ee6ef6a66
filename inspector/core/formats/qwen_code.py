"""Read Qwen Code sessions: lines with parent ids and contents in the form of Gemini's API, and checkpoints.

A checkpoint (`chat_compression`) holds the whole history that is sent from then on. Adjacent lines with the same id are
parts of one message. Older versions wrote documents like those of Gemini CLI.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Self

from inspector.core.buffer import View
from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.formats.gemini_cli.content import read_answer, read_gemini_user, read_tokens
from inspector.core.formats.growing import GrowingThread
from inspector.core.formats.reading import (
    ProblemList,
    RecordPosition,
    note_shared_ids,
    with_reasoning,
)
from inspector.core.formats.signs import FileSign, FileSigns, fits_pattern
from inspector.core.identity import SameMessages
from inspector.core.message import Message, Part, Text, Thinking
from inspector.core.prefix import Prefix
from inspector.core.session import BEGINS_LATE, Compaction, Session
from inspector.core.untyped import count_of, text_at, text_of
from inspector.core.usage import Usage

_NAME = "qwen-code"
_LINE = {"uuid": "<text>", "parentUuid": "<any>"}
_AGENT = {**_LINE, "agentId": "<text>", "isSidechain": True}
_SIGNS = FileSigns(
    FileSign({**_LINE, "message": {"role": "user|model", "parts": []}}, "any"),
    FileSign({**_LINE, "type": "system", "subtype": "<text>", "systemPayload": "<any>"}, "any"),
)
_FROM_CLIENT = ("notification", "cron")
"""Subtypes of messages that the client wrote in the user's name."""
_NOT_SENT = ("realtime_message", "code_mode_tool_result")
"""Subtypes of messages that are not part of the history."""


def companions(path: PurePath) -> Sequence[str]:
    """Return a glob for the chats of sub-agents, which are in a folder named after the session."""
    return (f"../subagents/{path.stem}/agent-*.jsonl",)


def is_companion(head: Head, session: Session) -> bool:
    """Is the file the chat of a sub-agent, by its first line?"""
    return any(fits_pattern(value, _AGENT) for value in head.values[:1])


@dataclass(slots=True)
class _OpenLine:
    """The last line, which more lines with the same id may follow."""

    value: Mapping[str, Any]
    line: int
    parts: list[Any]

    def add(self, value: Mapping[str, Any]) -> None:
        """Add a line with the same id. Its fields replace those of earlier lines."""
        self.value = {**self.value, **value}
        self.parts += _parts_of(value)


class _QwenThread(GrowingThread):
    """The growing chat of one agent."""

    def __init__(self, problems: ProblemList, file: str = "", parent: str = "") -> None:
        super().__init__("main" if not parent else file, parent=parent)
        self.file = file
        self.shared_ids = 0
        """Number of lines that share the id of an earlier message."""
        self.problems = problems
        self._open: _OpenLine | None = None
        self._leaf = ""
        self._views: dict[str, View] = {}
        """The buffer after each line, by the id of the line."""

    def copy(self) -> Self:
        other = super().copy()
        other._views = dict(self._views)
        return other

    def so_far(self) -> Self:
        """Return a copy of the chat that includes the open line. O(buffer)."""
        other = self.copy()
        other.problems = ProblemList()
        other._settle()
        return other

    @property
    def is_empty(self) -> bool:
        """True if no line was read yet."""
        return self._open is None and not self._leaf

    def take(self, line: int, value: Mapping[str, Any]) -> None:
        """Take a line. O(record), or O(buffer) for a checkpoint."""
        self.problems.note_absurd(value.get("usageMetadata"), line, value, self.file)
        name = text_at(value, "uuid")
        if self._open is not None and name and name == text_at(self._open.value, "uuid"):
            self._open.add(value)
            return
        self._settle()
        self._open = _OpenLine(value, line, list(_parts_of(value)))

    def _settle(self) -> None:
        """Read the open line into the buffer, because it is complete."""
        if self._open is None:
            return
        opened, self._open = self._open, None
        value = opened.value
        where = RecordPosition(
            text_at(value, "uuid") or f"L{opened.line}", opened.line, text_at(value, "timestamp")
        )
        self._stand_on_parent(value.get("parentUuid"), where.line)
        self.shared_ids += where.id in self._views
        self._read(value, opened.parts, where)
        self._leaf, self._views[where.id] = where.id, self.view()

    def _stand_on_parent(self, parent: Any, line: int) -> None:
        if parent is None:
            self.cut(0)
        elif not self._leaf:
            self.begins_late = True
        elif text_of(parent) not in self._views:
            what = f"the parent {text_of(parent)[:40]!r} is not in the file: the line before is taken as its parent"
            self.problems.note(line, what, "", self.file)
        elif parent != self._leaf:
            self.return_to(self._views[parent])

    def _read(self, value: Mapping[str, Any], parts: Sequence[Any], where: RecordPosition) -> None:
        kind = text_at(value, "type")
        subtype = text_at(value, "subtype")
        if kind == "system":
            self._read_event(subtype, value.get("systemPayload"), where)
        elif kind == "assistant":
            self._read_answer(value, parts, where)
        elif kind not in ("user", "tool_result"):
            self.problems.note(where.line, f"unknown record type {kind[:40]!r}", value, self.file)
        elif subtype not in _NOT_SENT:
            messages = read_gemini_user({"content": parts}, where)
            if subtype in _FROM_CLIENT:
                messages = [replace(message, mark="meta") for message in messages]
            self.say(messages)

    def _read_answer(
        self, value: Mapping[str, Any], parts: Sequence[Any], where: RecordPosition
    ) -> None:
        usage = read_tokens({"tokens": _tokens_of(value.get("usageMetadata"))})
        self.window = count_of(value.get("contextWindowSize")) or self.window
        if usage is not None or parts:
            self.call(usage, text_at(value, "model") or self.model, where.time, line=where.line)
        self.say(_answer_of(parts, where, usage))

    def _read_event(self, subtype: str, payload: Any, where: RecordPosition) -> None:
        if not isinstance(payload, dict):
            return
        if subtype == "chat_compression":
            self._compress(payload, where)
        elif subtype == "agent_bootstrap":
            self.say(_history(payload.get("history"), where))
        elif subtype == "custom_title":
            self.title = text_at(payload, "customTitle") or self.title
        elif (
            subtype == "slash_command"
            and payload.get("phase") == "result"
            and payload.get("sentToModel") is not True
        ):
            self._take_back(text_at(payload, "rawCommand"))

    def _take_back(self, command: str) -> None:
        """Remove the last message from the buffer if it is this command, which was meant for the client."""
        view = self.view()
        last = view.tail(max(view.length - 1, 0))
        if last and last[0].role == "user" and command and last[0].text == command:
            self.cut(view.length - 1)

    def _compress(self, payload: Mapping[str, Any], where: RecordPosition) -> None:
        """Replace the history by the listed history. Messages since the last answer stay, as they were not sent yet."""
        before = self.view().messages()
        earlier = SameMessages(before, thoughts=False)
        after: list[Message] = []
        summary: Message | None = None
        for message in _history(payload.get("compressedHistory"), where):
            same = earlier.take(message)
            if same is not None:
                after.append(same)
            elif summary is None and _is_plain(message):
                [summary] = self.note([replace(message, summary=True)])
                after.append(summary)
            else:
                after += self.note([message])
        listed = {id(message) for message in after}
        copied = sum(id(message) in listed for message in before)
        after += [message for message in _unsent(before) if id(message) not in listed]
        info = payload.get("info")
        info = info if isinstance(info, dict) else {}
        compaction = Compaction(
            before_request=0,
            trigger=text_at(info, "triggerReason"),
            tokens_before=count_of(info.get("originalTokenCount")) or None,
            tokens_after=count_of(info.get("newTokenCount")) or None,
            summary=summary,
            kept=copied,
            line=where.line,
            time=where.time,
        )
        self.become(after, 0, compaction)


def _parts_of(value: Mapping[str, Any]) -> Sequence[Any]:
    message = value.get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    return parts if isinstance(parts, list) else ()


def _history(contents: Any, where: RecordPosition) -> Iterator[Message]:
    """Yield the messages of a list of contents that one line holds."""
    for at, content in enumerate(contents if isinstance(contents, list) else ()):
        if isinstance(content, dict):
            place = where._replace(id=f"{where.id}.{at}")
            parts = _parts_of({"message": content})
            if content.get("role") == "model":
                yield from _answer_of(parts, place, usage=None)
            else:
                yield from read_gemini_user({"content": parts}, place)


def _answer_of(parts: Sequence[Any], where: RecordPosition, usage: Usage | None) -> list[Message]:
    """Return the answer of the model; empty without parts. Unlike Gemini CLI, Qwen Code sends thoughts again."""
    message = read_answer({"content": list(parts)}, where)
    weighed: list[Part] = [
        replace(part, tokens=None) if type(part) is Thinking else part for part in message.parts
    ]
    if usage is not None and usage.reasoning:
        weighed = list(with_reasoning(weighed, usage.reasoning))
    return [replace(message, parts=tuple(weighed))] if weighed else []


def _is_plain(message: Message) -> bool:
    return (
        message.role == "user"
        and not message.mark
        and all(isinstance(part, Text) for part in message.parts)
    )


def _unsent(buffer: Sequence[Message]) -> Sequence[Message]:
    """Return the messages after the last answer."""
    at = len(buffer)
    while at and buffer[at - 1].role != "assistant":
        at -= 1
    return buffer[at:]


def _tokens_of(reported: Any) -> dict[str, Any]:
    """Return Gemini's token counts under the names of Gemini CLI.

    Some providers include the thoughts in the answer's tokens; these are subtracted.
    """
    if not isinstance(reported, dict):
        return {}
    output = count_of(reported.get("candidatesTokenCount"))
    thoughts = count_of(reported.get("thoughtsTokenCount"))
    prompt = reported.get("promptTokenCount")
    if thoughts <= output and reported.get("totalTokenCount") == count_of(prompt) + output:
        output -= thoughts
    return {
        "input": prompt,
        "output": output,
        "cached": reported.get("cachedContentTokenCount"),
        "thoughts": thoughts,
        "tool": reported.get("toolUsePromptTokenCount"),
    }


class QwenReader:
    """A `Reader` of a chat and the chats of its sub-agents, one thread per chat."""

    def __init__(self) -> None:
        self._problems = ProblemList()
        self._main = _QwenThread(self._problems)
        self._agents: dict[tuple[str, str], _QwenThread] = {}
        """Chats of sub-agents by file and agent id."""
        self._id = self._version = ""
        self._own_agent = ""
        """Id of the sub-agent whose chat the main file is; empty for the chat of a user."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one line. Malformed lines become problems and never raise."""
        if not isinstance(value, dict) or "type" not in value:
            self._problems.note(line, "not a record of a session", value, file)
            return
        agent = text_at(value, "agentId") if value.get("isSidechain") is True else ""
        if not file and self._main.is_empty:
            self._own_agent = agent
            self._id = text_at(value, "sessionId")
        self._version = text_at(value, "version") or self._version
        self._thread(file, agent, text_at(value, "agentName")).take(line, value)

    def _thread(self, file: str, agent: str, title: str) -> _QwenThread:
        if not file and agent == self._own_agent:
            return self._main
        thread = self._agents.get((file, agent))
        if thread is None:
            thread = self._agents[file, agent] = _QwenThread(self._problems, file, "main")
            thread.id = agent or file
        thread.title = title or thread.title
        return thread

    def session(self) -> Session:
        """Return the session so far. O(messages of all buffers)."""
        threads = [thread.so_far() for thread in (self._main, *self._agents.values())]
        unsettled = [problem for thread in threads for problem in thread.problems]
        notes = note_shared_ids(sum(thread.shared_ids for thread in threads))
        if any(thread.begins_late for thread in threads):
            notes.insert(0, BEGINS_LATE)
        if self._own_agent:
            notes.append("This is the chat of a sub-agent.")
        return Session(
            format=_NAME,
            threads=tuple(thread.thread() for thread in threads),
            problems=Prefix(self._problems, then=unsettled),
            client=f"Qwen Code {self._version}".rstrip(),
            id=self._id,
            notes=tuple(notes),
        )


FORMAT = Format(
    _NAME,
    title="Qwen Code session",
    sniff=_SIGNS,
    start=QwenReader,
    companions=companions,
    is_companion=is_companion,
    grows=True,
    folders=(AgentFolder("projects/*/chats/*.jsonl", ".qwen", "QWEN_HOME"),),
    contents=Contents(tokens="yes", more="lines (older versions: as Gemini CLI)"),
)
