"""Read journals. The result opens as a session and holds everything that is needed to resume a run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from inspector.core.buffer import NOT_IN_FILE, Buffer, Prompt, Stretch
from inspector.core.dialects.neutral import read_buffer, read_messages, write_message
from inspector.core.errors import InspectorError
from inspector.core.formats.reading import ProblemList, note_shared_ids
from inspector.core.identity import UniqueIds
from inspector.core.message import Message
from inspector.core.needs import Answer
from inspector.core.outcome import Event
from inspector.core.prefix import Prefix
from inspector.core.recording import read_reply
from inspector.core.session import (
    Compaction,
    CompactionKind,
    PolicyState,
    RecordedEvent,
    Request,
    Session,
    Thread,
)
from inspector.core.untyped import object_of, objects_of, text_of, texts_at, whole_of
from inspector.core.usage import ABSURD, MOST, is_absurd

NAME = "journal"
MAIN = "main"
_ENDS = {
    "done": "The run finished its task.",
    "stopped": "The run was stopped.",
    "max turns": "The run reached its limit of turns and was ended.",
}


def write_shape(before: Sequence[Message], after: Sequence[Message]) -> dict[str, Any]:
    """Return the buffer `after` as JSON: new messages in full, and index ranges for messages of `before`.

    O(messages), plus the comparison of messages that are not the same object.
    """
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
    """Return how many leading messages of `before` stay, and the messages after them.

    A file that lost a line may name messages that `before` lacks; these are skipped.

    Raises:
        InspectorError: The shape is malformed.
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
        rest += (
            before[run[0] : run[1]]
            if run is not None
            else read_messages([part], f"line-{line}-{n}")
        )
    return same, rest


def _run(part: Any) -> tuple[int, int] | None:
    if not isinstance(part, list):
        return None
    if len(part) != 2 or not all(type(place) is int and place >= 0 for place in part):
        raise InspectorError("an invalid run of messages")
    return part[0], part[1]


REFUSED = "context_window_exceeded"
"""The finish of a request that the model refused as too long."""


class ThreadBuilder:
    """Builds one thread from its records. All lists only grow, because each record is complete."""

    def __init__(self, id: str, prompt: Prompt, window: int | None) -> None:  # noqa: A002
        self.id, self.prompt, self.window = id, prompt, window
        self.title = self.parent = self.parent_call = self.model = ""
        self._stretch = Stretch()
        self._messages: list[Message] = []
        self._known = UniqueIds()
        self._standing = set[str]()
        """Ids of the messages in the buffer."""
        self._requests: list[Request] = []
        self._states: list[PolicyState] = []
        """The policy's running state before each request."""
        self.policy = ""
        self._open: Request | None = None
        """The request without an answer; None if every request has one."""
        self._open_state = PolicyState("", {})
        self._compactions: list[Compaction] = []
        self._events: list[RecordedEvent] = []
        self.running: dict[str, Any] = {}
        """The policy's running state after the last `running` record."""
        self.shared_ids = 0
        """Number of messages that had the id of another message in the buffer."""
        self.turn = 0
        """Number of finished turns."""
        self.begun: dict[str, int] = {}
        """Line of each tool call that has begun and has no result yet, by call id."""

    @property
    def buffer(self) -> Buffer:
        """The current messages and prompt of the thread."""
        return Buffer(self._stretch.view().messages(), self.prompt)

    def take(self, value: Any, line: int, time: str) -> None:
        """Append a message to the buffer. Raises InspectorError if it cannot be read."""
        for message in read_messages([value], f"line-{line}"):
            self._append(replace(message, line=line, time=message.time or time))

    def ask(self, value: Mapping[str, Any], line: int, time: str) -> None:
        """Begin a request to the model."""
        self.model = str(value.get("model") or self.model)
        self._settle()
        at = len(self._requests)
        self._open_state = replace(self._state(), believed=whole_of(value.get("calibrated")))
        self._open = Request(
            at,
            self._stretch.view(),
            self.prompt,
            model=self.model,
            time=time,
            line=line,
            window=self.window,
        )

    def answer(self, value: Any, line: int, time: str) -> None:
        """Take the answer of the open request. Raises InspectorError if it cannot be read."""
        reply = read_reply(value)
        if not isinstance(reply, Answer):
            raise InspectorError("an answer that is a failure")
        if self._open is not None:
            self._close(replace(self._open, usage=reply.usage, finish=reply.finish))
        for n, message in enumerate(reply.messages):
            self._append(
                replace(
                    message,
                    id=message.id or f"line-{line}-{n}",
                    line=line,
                    time=message.time or time,
                )
            )

    def fail(self, value: Any) -> None:
        """Take the failure of the open request. The request counts only if the model refused it as too long."""
        error = value.get("error") if isinstance(value, Mapping) else None
        if self._open is not None and error == REFUSED:
            self._close(replace(self._open, finish=REFUSED))
        self._open = None

    def change(self, value: Mapping[str, Any], line: int, time: str, trigger: str) -> None:
        """Take a changed buffer, which a tier or the user made. Raises InspectorError if it cannot be read.

        An empty `trigger` means that the agent's loop corrected the buffer, which is not a compaction.
        """
        self._settle()
        before = self._stretch.view().messages()
        same, rest = read_shape(value.get("buffer"), before, line)
        known_ids = {id(message) for message in before}
        dated = [
            replace(message, line=line, time=message.time or time)
            if id(message) not in known_ids
            else message
            for message in rest
        ]
        self._standing = {message.id for message in before[:same]}
        new = [self._know(message) for message in dated]
        self._stretch = Stretch(self._stretch.view(same), new)
        if trigger:
            new_messages = [message for message in new if id(message) not in known_ids]
            kept_count = same + len(new) - len(new_messages)
            self._compactions.append(
                self._compaction(value, new_messages, kept_count, trigger, line, time)
            )

    def _compaction(
        self,
        value: Mapping[str, Any],
        new: Sequence[Message],
        kept_count: int,
        trigger: str,
        line: int,
        time: str,
    ) -> Compaction:
        changed = {
            key: fate for key, fate in object_of(value, "fates").items() if isinstance(fate, str)
        }
        summary = next((message for message in new if message.summary), None)
        kind: CompactionKind = "edit"
        if summary is not None or "summarised" in changed.values():
            kind = "summary"
        elif changed and set(changed.values()) <= {"cleared", "cut"}:
            kind = "micro"
        cleared = tuple(key for key, fate in changed.items() if fate not in ("summarised", "kept"))
        before, after = (whole_of(value.get(key)) for key in ("tokens_before", "tokens_after"))
        compaction = Compaction(
            len(self._requests),
            trigger,
            kind,
            tokens_after=after,
            summary=summary,
            kept=kept_count,
            cleared=cleared,
            line=line,
            time=time,
        )
        return (
            compaction
            if before is None
            else replace(compaction, predicted=(before, before, before))
        )

    def hear(self, value: Mapping[str, Any], line: int, tier: str) -> None:
        """Take the events of a tier that fired, whether or not it changed the buffer."""
        self._settle()
        for event in objects_of(value.get("events")):
            if isinstance(name := event.get("name"), str):
                fields = {key: inner for key, inner in event.items() if key != "name"}
                self._events.append(
                    RecordedEvent(len(self._requests), tier, Event(name, fields), line)
                )

    def run(self, value: Mapping[str, Any]) -> None:
        """Take the changes of the policy's running state since the last record."""
        self.running |= object_of(value, "running")
        for key, more in object_of(value, "more").items():
            held = self.running.get(key)
            self.running[key] = (
                [*held, *more] if isinstance(held, list) and isinstance(more, list) else more
            )
        turn = value.get("turn")
        self.turn = turn if type(turn) is int else self.turn

    def _settle(self) -> None:
        """Close an open request whose end is not recorded, because the run was killed and resumed."""
        if self._open is not None:
            self._close(self._open)

    def _close(self, request: Request) -> None:
        """Add the open request to the list of requests."""
        self._requests.append(request)
        self._states.append(self._open_state)
        self._open = None

    def _state(self) -> PolicyState:
        return PolicyState(self.policy, MappingProxyType(dict(self.running)))

    def _append(self, message: Message) -> None:
        self._stretch.append(self._know(message))

    def _know(self, message: Message) -> Message:
        """Register a message that enters the buffer. Return it with an id that is unique in the buffer.

        A tool result removes its call from `begun`.
        """
        if message.id in self._standing:
            message = replace(message, id=self._known.claim(message.id))
            self.shared_ids += 1
            self._messages.append(message)
        elif message.id not in self._known:
            self._known.claim(message.id)
            self._messages.append(message)
        self._standing.add(message.id)
        if message.result is not None:
            self.begun.pop(message.result.call_id, None)
        return message

    def thread(self) -> Thread:
        """Return the thread so far."""
        waiting = (self._open,) if self._open is not None else ()
        states = (self._open_state,) if self._open is not None else ()
        requests = Prefix(self._requests, then=waiting)
        messages = Prefix(self._messages)
        compactions = Prefix(self._compactions)
        events = Prefix(self._events)
        all_states = Prefix(self._states, then=(*states, self._state()))
        return Thread(
            self.id,
            self.title,
            self.model,
            requests,
            messages,
            end=self._stretch.view(),
            prompt=self.prompt,
            compactions=compactions,
            parent=self.parent,
            parent_call=self.parent_call,
            events=events,
            window=self.window,
            states=all_states,
        )


class JournalReader:
    """A `Reader` of journals. Unknown records are skipped, because later versions may write more kinds."""

    def __init__(self) -> None:
        self.header: Mapping[str, Any] = {}
        self.threads: dict[str, ThreadBuilder] = {}
        self.allowed: dict[str, None] = {}
        """What the user permitted permanently: the `covers` texts of the permission records."""
        self.remote: bool | None = None
        """True if the provider can compact remotely, False if not, None if not recorded."""
        self.compacted = 0
        """Number of requests to the provider to compact since the run began or was resumed."""
        self._prompt = NOT_IN_FILE
        self._window: int | None = None
        self._problems = ProblemList()
        self._notes: list[str] = []
        self._end = ""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one record. O(record), or O(buffer) for a changed buffer."""
        kind = value.get("type") if isinstance(value, Mapping) else None
        if not isinstance(kind, str):
            self._problems.note(line, "not a record of a journal", value, file)
            return
        try:
            self._take(kind, value, line, text_of(value.get("time")))
        except InspectorError as why:
            self._problems.note(
                line, f"a {kind[:40]} record that cannot be read: {why}", value, file
            )

    def _take(self, kind: str, value: Mapping[str, Any], line: int, time: str) -> None:
        match kind:
            case "journal":
                self._take_header(value)
            case "thread":
                self._take_thread(value)
            case "message":
                self._of(value).take(value.get("message"), line, time)
            case "request":
                self._of(value).ask(value, line, time)
            case "answer":
                self._of(value).answer(self._counted(value.get("answer"), line), line, time)
            case "failed":
                self._of(value).fail(value.get("failure"))
            case "tier":
                tier = text_of(value.get("tier"))
                self._of(value).change(value, line, time, tier or "tier")
                self._of(value).hear(value, line, tier)
            case "edit":
                author = text_of(value.get("by"))
                self._of(value).change(value, line, time, "" if author == "turn" else author)
            case "running":
                self._of(value).run(value)
            case _:
                self._take_small(kind, value, line)

    def _counted(self, answer: Any, line: int) -> Any:
        """Return an answer, without its usage if the token counts are impossible."""
        if not isinstance(answer, Mapping) or not is_absurd(answer.get("usage")):
            return answer
        self._problems.note(line, ABSURD, answer["usage"])
        return {key: value for key, value in answer.items() if key != "usage"}

    def _take_small(self, kind: str, value: Mapping[str, Any], line: int) -> None:
        """Take a record that does not change a buffer."""
        match kind:
            case "tool":
                self._of(value).begun[text_of(value.get("call"))] = line
            case "permission" if value.get("answer") == "always":
                self.allowed[text_of(value.get("covers"))] = None
            case "remote" if isinstance(value.get("possible"), bool):
                self.remote = value["possible"]
            case "tried":
                self._of(value).hear(value, line, text_of(value.get("tier")))
            case "need" if value.get("need") == "remote_compact":
                self.compacted += 1
            case "resumed":
                self._end, self.compacted = "", 0
                self._take_plan(value.get("plan"))
                self._notes.append(f"It was resumed at {text_of(value.get('time'))}.")
            case "end":
                why = text_of(value.get("why"))
                self._end = (
                    _ENDS.get(why) or f"The run ended with an error: {text_of(value.get('error'))}"
                )

    def _take_plan(self, plan: Any) -> None:
        """Take a change of the model, or of the policy and its running state."""
        if not isinstance(plan, Mapping):
            return
        if plan.get("policy") != self.header.get("policy"):
            for thread in self.threads.values():
                thread.running, thread.policy = {}, text_of(plan.get("policy"))
        settings = {
            key: value
            for key, value in plan.items()
            if key not in ("task", "forked_from", "program")
        }
        self.header = {**self.header, **settings}
        self._take_window()
        for thread in self.threads.values():
            thread.window = self._window

    def _take_window(self) -> None:
        window = self.header.get("window")
        self._window = window if type(window) is int and 0 < window <= MOST else None

    def _take_header(self, value: Mapping[str, Any]) -> None:
        if self.header:
            raise InspectorError("a second beginning")
        self.header = value
        self._take_window()
        self._prompt = _prompt(value.get("prompt"))
        forked = value.get("forked_from")
        if isinstance(forked, Mapping):
            place = (
                f"request {forked['request']}"
                if isinstance(forked.get("request"), int)
                else "the end"
            )
            self._notes.append(
                f"Forked from {text_of(forked.get('path'))}, thread {text_of(forked.get('thread')) or MAIN}, {place}."
            )
            self._notes += texts_at(forked, "changes")

    def _take_thread(self, value: Mapping[str, Any]) -> None:
        thread = self._of({"thread": value.get("id")})
        thread.title, thread.parent = text_of(value.get("title")), text_of(value.get("parent"))
        thread.parent_call = text_of(value.get("parent_call"))
        if "prompt" in value:
            thread.prompt = _prompt(value["prompt"])

    def _of(self, value: Mapping[str, Any]) -> ThreadBuilder:
        """Return the thread of a record. A thread without a `thread` record begins with its first record."""
        name = text_of(value.get("thread")) or MAIN
        if name not in self.threads:
            self.threads[name] = ThreadBuilder(name, self._prompt, self._window)
            self.threads[name].model = text_of(self.header.get("model"))
            self.threads[name].policy = text_of(self.header.get("policy"))
        return self.threads[name]

    def session(self) -> Session:
        """Return the session so far."""
        ordered = sorted(self.threads.values(), key=lambda thread: thread.id != MAIN)
        notes = list[str]()
        if not self.header:
            notes.append("The file has no beginning: task, model and prompt are not known.")
        notes += note_shared_ids(sum(thread.shared_ids for thread in ordered))
        notes += self._notes
        if self._end:
            notes.append(self._end)
        threads = tuple(thread.thread() for thread in ordered)
        return Session(
            NAME,
            threads,
            Prefix(self._problems),
            client=text_of(self.header.get("program")) or "context-inspector",
            policy=text_of(self.header.get("policy")),
            id=text_of(self.header.get("id")),
            notes=tuple(notes),
        )


def _prompt(value: Any) -> Prompt:
    return (
        read_buffer({**value, "messages": []}).prompt if isinstance(value, Mapping) else NOT_IN_FILE
    )
