"""One thread of a journal as it grows: its buffer, its requests, its compactions, and what resuming it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.core.buffer import Buffer, Prompt, Stretch, View
from inspector.core.dialects.neutral import read_messages, write_message
from inspector.core.errors import InspectorError
from inspector.core.message import Message
from inspector.core.needs import Answer
from inspector.core.outcome import Event
from inspector.core.prefix import Prefix
from inspector.core.recording import read_reply
from inspector.core.session import Compaction, CompactionKind, RecordedEvent, Request, Thread
from inspector.core.untyped import object_of, objects_of
from inspector.core.usage import MOST


def write_shape(before: Sequence[Message], after: Sequence[Message]) -> dict[str, Any]:
    """`after` as JSON. O(messages), and the comparison of those that are not the same object."""
    place = {message.id: n for n, message in enumerate(before)}
    parts: list[Any] = []
    for message in after:
        at = place.get(message.id)
        if at is None or not (before[at] is message or before[at] == message):
            parts.append(write_message(message))
        elif parts and isinstance(parts[-1], list) and parts[-1][1] == at:
            parts[-1][1] = at + 1
        else:
            parts.append([at, at + 1])
    return {"of": len(before), "parts": parts}


def read_shape(shape: Any, before: Sequence[Message], line: int) -> tuple[int, list[Message]]:
    """(how many messages from the first on are as before, those after them). Raises InspectorError.

    A file that lost a line may name messages that are not there: what is there of them is taken.
    """
    parts = shape.get("parts") if isinstance(shape, Mapping) else None
    if not isinstance(parts, list):
        raise InspectorError("a buffer without its parts")
    same = 0
    if parts and (run := _run(parts[0])) is not None and run[0] == 0:
        same = min(run[1], len(before))
        parts = parts[1:]
    rest: list[Message] = []
    for n, part in enumerate(parts):
        run = _run(part)
        rest += before[run[0] : run[1]] if run is not None else read_messages([part], f"line-{line}-{n}")
    return same, rest


def _run(part: Any) -> tuple[int, int] | None:
    if not isinstance(part, list):
        return None
    if len(part) != 2 or not all(type(one) is int and one >= 0 for one in part):
        raise InspectorError("a run of messages that is none")
    return part[0], part[1]


REFUSED = "context_window_exceeded"
"""The finish of a request that the model refused as too long."""


class ThreadBuilder:
    """Everything is known when its record comes, so all lists only grow."""

    def __init__(self, id: str, prompt: Prompt, window: int | None) -> None:  # noqa: A002
        self.id, self.prompt, self.window = id, prompt, window
        self.title = self.parent = self.parent_call = self.model = ""
        self._stretch = Stretch()
        self._messages: list[Message] = []
        self._known = set[str]()
        self._requests: list[Request] = []
        self._open: Request | None = None
        """The request that has no answer yet."""
        self._compactions: list[Compaction] = []
        self._events: list[RecordedEvent] = []
        self.running: dict[str, Any] = {}
        """The policy's running state as its last record left it."""
        self.turn = 0
        """Turns that are over."""
        self.begun: dict[str, int] = {}
        """Ids of tool calls that have begun and have no result yet, with their lines."""

    @property
    def buffer(self) -> Buffer:
        """What the thread holds now."""
        return Buffer(self._stretch.view().messages(), self.prompt)

    def take(self, value: Any, line: int, time: str) -> None:
        """A message at the end of the buffer. Raises InspectorError."""
        for message in read_messages([value], f"line-{line}"):
            told = replace(message, line=line, time=message.time or time)
            self._stretch.append(self._told(told))
            if told.result is not None:
                self.begun.pop(told.result.call_id, None)

    def ask(self, value: Mapping[str, Any], line: int, time: str) -> None:
        """A model call begins."""
        self.model = str(value.get("model") or self.model)
        self._settle()
        at = len(self._requests)
        self._open = Request(at, self._view(), self.prompt, None, self.model, time, "", line, self.window)

    def answer(self, value: Any, line: int, time: str) -> None:
        """It was answered. Raises InspectorError."""
        reply = read_reply(value)
        if not isinstance(reply, Answer):
            raise InspectorError("an answer that is a failure")
        if self._open is not None:
            self._requests.append(replace(self._open, usage=reply.usage, finish=reply.finish))
            self._open = None
        for n, message in enumerate(reply.messages):
            told = replace(message, id=message.id or f"line-{line}-{n}", line=line, time=message.time or time)
            self._stretch.append(self._told(told))

    def fail(self, value: Any) -> None:
        """It failed: a request where the model has seen it, none where it came to nothing."""
        error = value.get("error") if isinstance(value, Mapping) else None
        if self._open is not None and error == REFUSED:
            self._requests.append(replace(self._open, finish=REFUSED))
        self._open = None

    def change(self, value: Mapping[str, Any], line: int, time: str, trigger: str) -> None:
        """Another buffer: a tier's, or one made by hand. Raises InspectorError.

        Without a trigger it is none of a compaction: the loop itself has put something right.
        """
        self._settle()
        before = self._stretch.view().messages()
        same, rest = read_shape(value.get("buffer"), before, line)
        known = {id(message) for message in before}
        new = [replace(one, line=line, time=one.time or time) if id(one) not in known else one for one in rest]
        for message in new:
            self._told(message)
        self._stretch = Stretch(self._stretch.view(same), new)
        for message in new:
            if message.result is not None:
                self.begun.pop(message.result.call_id, None)
        if trigger:
            told = [message for message in new if id(message) not in known]
            kept = same + len(new) - len(told)
            self._compactions.append(self._compaction(value, told, kept, trigger, line, time))

    def _compaction(
        self, value: Mapping[str, Any], new: Sequence[Message], kept: int, trigger: str, line: int, time: str
    ) -> Compaction:
        told = object_of(value, "fates")
        changed = {key: fate for key, fate in told.items() if isinstance(fate, str)}
        summary = next((message for message in new if message.summary), None)
        kind: CompactionKind = "edit"
        if summary is not None or "summarised" in changed.values():
            kind = "summary"
        elif changed and set(changed.values()) <= {"cleared", "cut"}:
            kind = "micro"
        cleared = tuple(key for key, fate in changed.items() if fate not in ("summarised", "kept"))
        before, after = value.get("tokens_before"), value.get("tokens_after")
        return Compaction(
            len(self._requests),
            trigger,
            kind,
            before if type(before) is int and 0 <= before <= MOST else None,
            after if type(after) is int and 0 <= after <= MOST else None,
            summary,
            kept,
            cleared,
            line,
            time,
        )

    def hear(self, value: Mapping[str, Any], line: int, tier: str) -> None:
        """The events of a tier that fired, whether or not it changed the buffer."""
        self._settle()
        for one in objects_of(value.get("events")):
            if isinstance(name := one.get("name"), str):
                fields = {key: inner for key, inner in one.items() if key != "name"}
                self._events.append(RecordedEvent(len(self._requests), tier, Event(name, fields), line))

    def run(self, value: Mapping[str, Any]) -> None:
        """The running state: what changed of it since the last record."""
        for key, inner in object_of(value, "running").items():
            self.running[key] = inner
        for key, more in object_of(value, "more").items():
            held = self.running.get(key)
            self.running[key] = [*held, *more] if isinstance(held, list) and isinstance(more, list) else more
        turn = value.get("turn")
        self.turn = turn if type(turn) is int else self.turn

    def _settle(self) -> None:
        """A request without any word about its end: whoever wrote it was killed, and has gone on since."""
        if self._open is not None:
            self._requests.append(self._open)
            self._open = None

    def _view(self) -> View:
        return self._stretch.view()

    def _told(self, message: Message) -> Message:
        if message.id not in self._known:
            self._known.add(message.id)
            self._messages.append(message)
        return message

    def thread(self) -> Thread:
        """The thread so far."""
        waiting = (self._open,) if self._open is not None else ()
        return Thread(
            self.id,
            self.title,
            self.model,
            Prefix(self._requests, then=waiting),
            Prefix(self._messages),
            self._stretch.view(),
            self.prompt,
            Prefix(self._compactions),
            self.parent,
            self.parent_call,
            Prefix(self._events),
            self.window,
        )
