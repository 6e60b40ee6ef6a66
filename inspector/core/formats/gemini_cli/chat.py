"""Read one chat of Gemini CLI: messages, which may be repeated with the same id, patches and rewinds.

The last message of the model is open: later records with the same id add its tool calls, their results and its usage.
It is appended to the buffer when the next message is read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from inspector.core.buffer import View
from inspector.core.formats.gemini_cli.content import (
    answered,
    call_records,
    read_answer,
    read_gemini_user,
    read_results,
    read_tokens,
)
from inspector.core.formats.growing import GrowingThread
from inspector.core.formats.reading import ProblemList, RecordPosition
from inspector.core.identity import SameMessages, UniqueIds
from inspector.core.message import Message, Part, Role, Text, Thinking
from inspector.core.session import Compaction, CompactionKind
from inspector.core.untyped import objects_of, text_at

_SNAPSHOT = "<state_snapshot>"


@dataclass(frozen=True, slots=True)
class ReplacedMessages:
    """The history that replaces another, and how the two differ."""

    messages: list[Message]
    """The new history. Unchanged messages are the same objects as in the old history."""
    same: int
    """Number of messages at the beginning that both histories share."""
    kept: int
    """Number of messages of the old history that are unchanged in the new history."""
    summary: Message | None = None
    changed: tuple[str, ...] = ()
    """Ids of messages whose content changed."""
    lost: tuple[str, ...] = ()
    """Ids of removed messages before the last message that stays."""

    @property
    def kind(self) -> CompactionKind:
        """Kind of the compaction: `summary`, `edit` if messages were removed, else `micro`."""
        if self.summary:
            return "summary"
        return "edit" if self.lost else "micro"


def replace_messages(old: Sequence[Message], new: Sequence[Message]) -> ReplacedMessages:
    """Match the messages of a new history with those of the old history. O(messages of both)."""
    same = _count_same(old, new)
    new_ids = {message.id for message in new}
    rest = old[same:]
    by_content = SameMessages(
        (message for message in rest if message.id not in new_ids), thoughts=False
    )
    by_id = {message.id: message for message in rest if message.id in new_ids}
    summary_at = _find_summary(new, same, by_id)
    messages = list(old[:same])
    changed: list[str] = []
    summary: Message | None = None
    for at, message in enumerate(new[same:], same):
        former = by_id.get(message.id) or by_content.take(message)
        if at == summary_at and (former is None or former.summary):
            summary = replace(message, summary=True)
            messages.append(summary)
        elif former is None:
            messages.append(message)
        elif former.id != message.id or _content(former) == _content(message):
            messages.append(former)
        else:
            messages.append(
                replace(message, mark="placeholder") if message.role == "tool" else message
            )
            changed.append(message.id)
    objects = {id(message) for message in messages}
    kept_count = sum(id(message) in objects for message in old)
    lost = () if summary is not None else _find_lost(old, {message.id for message in messages})
    return ReplacedMessages(
        messages,
        same,
        kept_count,
        summary=summary if old else None,
        changed=tuple(changed),
        lost=lost,
    )


def _count_same(old: Sequence[Message], new: Sequence[Message]) -> int:
    """Count the messages at the beginning that have the same id and content in both histories."""
    same = 0
    for before, after in zip(old, new, strict=False):
        if before.id != after.id or _content(before) != _content(after):
            break
        same += 1
    return same


def _content(message: Message) -> tuple[Role, list[Part]]:
    """Return role and parts of a message without its thoughts, which a listed history may leave out."""
    return message.role, [part for part in message.parts if type(part) is not Thinking]


def _find_summary(new: Sequence[Message], same: int, by_id: dict[str, Message]) -> int:
    """Return the index of the summary, which only messages of the client precede; -1 if there is none."""
    at = 0
    while at < len(new) and new[at].mark == "meta":
        at += 1
    if at < same or at >= len(new):
        return -1
    message = new[at]
    following = new[at + 1 : at + 2]
    is_plain = message.role == "user" and all(isinstance(part, Text) for part in message.parts)
    if not is_plain or message.id in by_id:
        return -1
    is_acknowledged = any(
        _is_acknowledgement(answer) and answer.id not in by_id for answer in following
    )
    return at if _SNAPSHOT in message.text or is_acknowledged else -1


def _is_acknowledgement(message: Message) -> bool:
    """Is this an answer without tool calls, as the client inserts after a summary to confirm it?"""
    return message.role == "assistant" and not message.calls


def _find_lost(old: Sequence[Message], ids: set[str]) -> tuple[str, ...]:
    """Return the ids of messages removed before the last message that stays. Later messages were rewound, not lost."""
    last = max((n for n, message in enumerate(old) if message.id in ids), default=-1)
    return tuple(message.id for message in old[:last] if message.id not in ids)


_SHOWN = ("info", "warning", "error")
"""Types of messages that the client only shows to the user."""
_REWRITES = 20_000_000
"""Most messages copied because of repeated earlier messages, so that a damaged file cannot take for ever."""
_NOBODY: frozenset[str] = frozenset()


@dataclass(slots=True)
class _OpenCall:
    """The last message of the model, and the buffer that it answers."""

    value: Mapping[str, Any]
    where: RecordPosition
    view: View
    begins: bool
    """Is the previous message from the user's side? If not, the tool calls may belong to the previous answer."""


class Chat(GrowingThread):
    """The conversation of one agent."""

    def __init__(self, file: str, problems: ProblemList) -> None:
        super().__init__()
        self.file, self.header = file, dict[str, Any]()
        self.spawned: dict[str, str] = {}
        """Id of the tool call that started a sub-agent, by id of the agent."""
        self._problems = problems
        self._starts: dict[str, int] = {}
        """Index in the buffer of each record's first message, by record id, in order."""
        self._open: _OpenCall | None = None
        self._answers = True
        self._called: set[str] = set()
        self._names: dict[tuple[str, str, str], str] = {}
        """Message id of each record, by its own id, type and time. A repeated record has the same three values."""
        self._claimed = UniqueIds()
        self._copied = 0

    def copy(self) -> Self:
        other = super().copy()
        other.spawned, other._starts, other._called = (
            dict(self.spawned),
            dict(self._starts),
            set(self._called),
        )
        return other

    def note(self, messages: Iterable[Message]) -> Sequence[Message]:
        """Add messages to the list of all messages, except those already in it. Return all given messages."""
        listed = list(messages)
        super().note(message for message in listed if message.id not in self._ids)
        return listed

    def is_empty(self) -> bool:
        """True if no record of this chat was read yet."""
        return not self._starts and self._open is None and not self._messages

    def so_far(self) -> Self:
        """Return a copy of the chat that includes the open message. O(buffer)."""
        other = self.copy()
        other._settle(_NOBODY)
        other.title = text_at(self.header, "summary")
        return other

    def take(self, line: int, value: Mapping[str, Any], n: int = 0) -> None:
        """Take a message. O(record), or O(buffer) if it changes a message before the last."""
        kind = value.get("type")
        if kind in _SHOWN:
            return
        where = self._locate(value, line, n)
        self._problems.note_absurd(value.get("tokens"), line, value, self.file)
        if kind not in ("user", "gemini"):
            self._problems.note(line, f"unknown message type {str(kind)[:40]!r}", value, self.file)
        elif self._open is not None and self._open.where.id == where.id:
            self._open.value = value
        elif where.id in self._starts:
            self._settle(_NOBODY)
            self._rewrite(value, where)
        elif kind == "user":
            self._settle(answered(value))
            self._put(where.id, read_gemini_user(value, where))
            self._answers = True
        else:
            self._settle(_NOBODY)
            self._open = _OpenCall(value, where, self.view(), begins=self._answers)

    @property
    def shared_ids(self) -> int:
        """Number of messages that share the id of an earlier message."""
        return sum(name != own for (own, _, _), name in self._names.items())

    def _locate(self, value: Mapping[str, Any], line: int, n: int) -> RecordPosition:
        """Return the position of a message. Records that share an id but not type and time are different messages."""
        where = _position(value, line, n)
        key = where.id, text_at(value, "type"), where.time
        if key not in self._names:
            self._names[key] = self._claimed.claim(where.id)
        return where._replace(id=self._names[key])

    def _settle(self, answered_calls: frozenset[str] | None) -> None:
        """Append the open message, because it is complete.

        Args:
            answered_calls: Ids of the tool calls whose results the next message holds; None to append no results.
        """
        if self._open is None:
            return
        opened, self._open = self._open, None
        value, where = opened.value, opened.where
        model = text_at(value, "model")
        usage = read_tokens(value)
        has_words = bool(value.get("content") or value.get("thoughts"))
        # Tool calls alone belong to the previous answer.
        is_call = bool(model) and (has_words or opened.begins)
        if usage is not None or is_call:
            self.call(usage, model or self.model, where.time, line=where.line, sent=opened.view)
            self._called.add(where.id)
        self._note_value(value)
        self._put(where.id, _read_model_record(value, where, answered_calls))
        self._answers = False

    def _note_value(self, value: Mapping[str, Any]) -> None:
        self.model = text_at(value, "model") or self.model
        for call in call_records(value):
            agent_id = call.get("agentId")
            call_id = call.get("id")
            if isinstance(agent_id, str) and isinstance(call_id, str):
                self.spawned[agent_id] = call_id

    def _put(self, name: str, messages: Sequence[Message]) -> None:
        self._starts[name] = len(self.view())
        self.say(messages)

    def _rewrite(self, value: Mapping[str, Any], where: RecordPosition) -> None:
        """Replace an earlier message by its repetition, which may complete or correct it."""
        view = self.view()
        names = list(self._starts)
        at = names.index(where.id)
        start = self._starts[where.id]
        end = self._starts[names[at + 1]] if at + 1 < len(names) else view.length
        self._copied += view.length - start
        if self._copied > _REWRITES:
            self._problems.note(
                where.line, "a message rewritten too often: left as it was", "", self.file
            )
            return
        tail = view.tail(start)
        before = tail[: end - start]
        after = tail[end - start :]
        if value.get("type") == "user":
            messages = read_gemini_user(value, where)
        else:
            calls = frozenset(
                message.result.call_id for message in after if message.result is not None
            )
            messages = _read_model_record(value, where, calls)
            self._note_value(value)
        if [message.parts for message in messages] == [message.parts for message in before]:
            return
        self.cut(start)
        self.say(messages)
        self.repeat(after)
        for name in names[at + 1 :]:
            self._starts[name] += len(messages) - len(before)

    def rewind(self, name: str) -> None:
        """Go back to just before the message called `name`, or to the beginning if that message is unknown."""
        self._settle(None)
        names = list(self._starts)
        at = names.index(name) if name in self._starts else 0
        self.cut(self._starts[names[at]] if names else 0)
        for removed in names[at:]:
            del self._starts[removed]
        self._answers = True

    def replace(self, line: int, listed: Sequence[Any]) -> None:
        """Replace the whole history by the listed records. O(messages of both)."""
        self._settle(None)
        values = [value for value in objects_of(listed) if value.get("type") in ("user", "gemini")]
        starts, new = _read_history(line, values)
        change = replace_messages(self.view().messages(), new)
        self.note(change.messages)
        self.become(change.messages, change.same)
        self._starts = starts
        self._add_unrecorded(values, starts, line)
        if change.summary or change.changed or change.lost:
            cleared = () if change.summary else (*change.changed, *change.lost)
            time = change.summary.time if change.summary else ""
            compaction = Compaction(
                before_request=0,
                trigger="",
                kind=change.kind,
                summary=change.summary,
                kept=change.kept,
                cleared=cleared,
                line=line,
                time=time,
            )
            self.compacted(compaction)
        self._answers = not values or values[-1].get("type") == "user"

    def _add_unrecorded(
        self, values: Sequence[Mapping[str, Any]], starts: Mapping[str, int], line: int
    ) -> None:
        """Add calls that only the listed history records, because the file does not hold their own records."""
        for value, start in zip(values, starts.values(), strict=True):
            name = value.get("id")
            usage = read_tokens(value)
            if (
                value.get("type") == "gemini"
                and usage
                and isinstance(name, str)
                and name not in self._called
            ):
                self._called.add(name)
                self._note_value(value)
                time = str(value.get("timestamp") or "")
                self.call(usage, self.model, time, line=line, sent=self.view(start))


def _position(value: Mapping[str, Any], line: int, n: int) -> RecordPosition:
    return RecordPosition(
        text_at(value, "id") or f"L{line}.{n}", line, str(value.get("timestamp") or "")
    )


def _read_model_record(
    value: Mapping[str, Any], where: RecordPosition, answered_calls: frozenset[str] | None
) -> list[Message]:
    """Return the answer of a record and the results of its calls, without those in `answered_calls`.

    None for `answered_calls` leaves out all results.
    """
    answer = read_answer(value, where)
    results = [] if answered_calls is None else read_results(value, where, answered_calls)
    return [answer, *results] if answer.parts else results


def _read_history(
    line: int, values: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, int], list[Message]]:
    """Return the index of each record's first message, by record id, and all messages of a listed history.

    A tool result that a user record holds is not taken from the record of its call as well. The results of the last
    record are not read yet.
    """
    answered_calls = frozenset[str]().union(
        *(answered(value) for value in values if value.get("type") == "user")
    )
    starts: dict[str, int] = {}
    messages: list[Message] = []
    for n, value in enumerate(values):
        where = _position(value, line, n)
        if where.id in starts:
            where = where._replace(id=f"{where.id}@{n}")
        starts[where.id] = len(messages)
        if value.get("type") == "user":
            messages += read_gemini_user(value, where)
        else:
            is_last = n + 1 == len(values)
            messages += _read_model_record(value, where, None if is_last else answered_calls)
    return starts, messages
