"""One chat of Gemini CLI as its file has it: messages, repeated with the same id, patches, rewinds.

The last message of the model is open: its calls and their answers, and what was reported, come in records of the same
id. It is laid into the buffer when the next message comes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from inspector.core.buffer import View
from inspector.core.formats.gemini_cli.content import (
    answered,
    calls_of,
    read_answer,
    read_results,
    read_usage,
    read_user,
)
from inspector.core.formats.growing import GrowingThread
from inspector.core.formats.reading import ProblemList, RecordPosition
from inspector.core.identity import SameMessages, UniqueIds
from inspector.core.message import Message, Part, Role, Text, Thinking
from inspector.core.session import Compaction
from inspector.core.untyped import objects_of, text_at

_SNAPSHOT = "<state_snapshot>"


@dataclass(frozen=True, slots=True)
class ReplacedMessages:
    """What became of a history."""

    messages: list[Message]
    """The new one; what was there before is the same object."""
    same: int
    """So many of the old ones still stand at the beginning."""
    kept: int
    """So many of the old ones stand in it word for word."""
    summary: Message | None = None
    changed: tuple[str, ...] = ()
    """Ids of messages that say something else than before."""
    lost: tuple[str, ...] = ()
    """Ids of those that are gone from before something that stays."""


def compare(old: Sequence[Message], new: Sequence[Message]) -> ReplacedMessages:
    """O(both)."""
    same = _beginning(old, new)
    names, rest = {message.id for message in new}, old[same:]
    known = SameMessages((message for message in rest if message.id not in names), thoughts=False)
    named = {message.id: message for message in rest if message.id in names}
    summarises = _summarises(new, same, named)
    found, changed, summary = list(old[:same]), [], None
    for at, message in enumerate(new[same:], same):
        former = named.get(message.id) or known.take(message)
        if at == summarises and (former is None or former.summary):
            summary = message = replace(message, summary=True)
        elif former is not None and (former.id != message.id or _said(former) == _said(message)):
            message = former
        elif former is not None:
            message = replace(message, mark="placeholder") if message.role == "tool" else message
            changed.append(message.id)
        found.append(message)
    stays = {id(message) for message in found}
    kept = sum(id(message) in stays for message in old)
    lost = () if summary is not None else _lost(old, {message.id for message in found})
    return ReplacedMessages(found, same, kept, summary if old else None, tuple(changed), lost)


def _beginning(old: Sequence[Message], new: Sequence[Message]) -> int:
    same = 0
    for before, after in zip(old, new, strict=False):
        if before.id != after.id or _said(before) != _said(after):
            break
        same += 1
    return same


def _said(message: Message) -> tuple[Role, list[Part]]:
    """What a message says, but for the thoughts: a list may leave them out."""
    return message.role, [part for part in message.parts if type(part) is not Thinking]


def _summarises(new: Sequence[Message], same: int, named: dict[str, Message]) -> int:
    """Where the summary stands, if there is one: after nothing but what the client says at the beginning."""
    at = 0
    while at < len(new) and new[at].mark == "meta":
        at += 1
    if at < same or at >= len(new) or new[at].role != "user" or new[at].id in named:
        return -1
    if not all(isinstance(part, Text) for part in new[at].parts):
        return -1
    thanked = at + 1 < len(new) and new[at + 1].role == "assistant" and not new[at + 1].calls
    return at if _SNAPSHOT in new[at].text or (thanked and new[at + 1].id not in named) else -1


def _lost(old: Sequence[Message], names: set[str]) -> tuple[str, ...]:
    """What is missing before the last message that stays; after it a turn was taken back, which is no loss."""
    last = max((n for n, message in enumerate(old) if message.id in names), default=-1)
    return tuple(message.id for message in old[:last] if message.id not in names)


_SHOWN = ("info", "warning", "error")
"""What the client says to the user only."""
_REWRITES = 20_000_000
"""Messages that may be copied because an earlier one was repeated: a damaged file must not take for ever."""
_NOBODY: frozenset[str] = frozenset()


@dataclass(slots=True)
class _OpenCall:
    """The last message of the model, and what it was an answer to."""

    value: Mapping[str, Any]
    where: RecordPosition
    view: View
    begins: bool
    """Did the user's side speak last? Else its calls may belong to the message before."""


class Chat(GrowingThread):
    """What one agent said and was told."""

    def __init__(self, file: str, problems: ProblemList) -> None:
        super().__init__()
        self.file, self.header = file, dict[str, Any]()
        self.spawned: dict[str, str] = {}
        """The tool call that started a sub-agent, by the agent's id."""
        self._problems = problems
        self._starts: dict[str, int] = {}
        """Where each record begins in the buffer, by its id, in order."""
        self._open: _OpenCall | None = None
        self._answers = True
        self._called: set[str] = set()
        self._names: dict[tuple[str, str, str], str] = {}
        """The message id of each record, by its own id, type and time: a message that is told again keeps these."""
        self._claimed = UniqueIds()
        self._copied = 0

    def copy(self) -> Self:
        other = super().copy()
        other.spawned, other._starts, other._called = dict(self.spawned), dict(self._starts), set(self._called)
        return other

    def note(self, messages: Iterable[Message]) -> Sequence[Message]:
        """A message that is told again is noted once."""
        told = list(messages)
        super().note(message for message in told if message.id not in self._ids)
        return told

    def is_empty(self) -> bool:
        """Has nothing come?"""
        return not self._starts and self._open is None and not self._messages

    def so_far(self) -> Self:
        """With the open message as it stands, while this one stays. O(buffer)."""
        other = self.copy()
        other._settle(_NOBODY)
        other.title = text_at(self.header, "summary")
        return other

    def take(self, line: int, value: Mapping[str, Any], n: int = 0) -> None:
        """A message. O(record), but O(buffer) for one that stands before the last and says something else now."""
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
            self._tell_anew(value, where)
        elif kind == "user":
            self._settle(answered(value))
            self._put(where.id, read_user(value, where))
            self._answers = True
        else:
            self._settle(_NOBODY)
            self._open = _OpenCall(value, where, self.view(), self._answers)

    @property
    def shared_ids(self) -> int:
        """How many messages have the id of an earlier one."""
        return sum(name != own for (own, _, _), name in self._names.items())

    def _locate(self, value: Mapping[str, Any], line: int, n: int) -> RecordPosition:
        """Where a message stands. One of another type or time is another message, whatever its id."""
        where = _position(value, line, n)
        key = where.id, text_at(value, "type"), where.time
        if key not in self._names:
            self._names[key] = self._claimed.claim(where.id)
        return where._replace(id=self._names[key])

    def _settle(self, told: frozenset[str] | None) -> None:
        """The last message is complete. `told`: the calls that the next one answers; None = all that is to be told."""
        if self._open is None:
            return
        opened, self._open = self._open, None
        value, where = opened.value, opened.where
        model, usage = text_at(value, "model"), read_usage(value)
        said = bool(value.get("content") or value.get("thoughts"))
        if usage is not None or (
            model and (said or opened.begins)
        ):  # calls of tools alone belong to the message before
            self.call(usage, model or self.model, where.time, line=where.line, sent=opened.view)
            self._called.add(where.id)
        self._note_value(value)
        self._put(where.id, _drafts(value, where, told))
        self._answers = False

    def _note_value(self, value: Mapping[str, Any]) -> None:
        self.model = text_at(value, "model") or self.model
        self.spawned |= {
            text_at(call, "agentId"): text_at(call, "id")
            for call in calls_of(value)
            if isinstance(call.get("agentId"), str) and isinstance(call.get("id"), str)
        }

    def _put(self, name: str, messages: Sequence[Message]) -> None:
        self._starts[name] = len(self.view())
        self.say(messages)

    def _tell_anew(self, value: Mapping[str, Any], where: RecordPosition) -> None:
        """A message that does not stand last was completed or corrected."""
        view = self.view()
        names = list(self._starts)
        at = names.index(where.id)
        start = self._starts[where.id]
        end = self._starts[names[at + 1]] if at + 1 < len(names) else view.length
        self._copied += view.length - start
        if self._copied > _REWRITES:
            self._problems.note(where.line, "a message rewritten too often: left as it was", "", self.file)
            return
        tail = view.tail(start)
        before, after = tail[: end - start], tail[end - start :]
        if value.get("type") == "user":
            messages = read_user(value, where)
        else:
            told = frozenset(message.result.call_id for message in after if message.result is not None)
            messages = _drafts(value, where, told)
            self._note_value(value)
        if [message.parts for message in messages] == [message.parts for message in before]:
            return
        self.cut(start)
        self.say(messages)
        self.repeat(after)
        for name in names[at + 1 :]:
            self._starts[name] += len(messages) - len(before)

    def rewind(self, name: str) -> None:
        """Back to just before a message; to the beginning, where it is not known."""
        self._settle(None)
        names = list(self._starts)
        at = names.index(name) if name in self._starts else 0
        self.cut(self._starts[names[at]] if names else 0)
        for gone in names[at:]:
            del self._starts[gone]
        self._answers = True

    def replace(self, line: int, listed: Sequence[Any]) -> None:
        """The whole history is another one from now on. O(both)."""
        self._settle(None)
        values = [value for value in objects_of(listed) if value.get("type") in ("user", "gemini")]
        starts, new = _laid(line, values)
        change = compare(self.view().messages(), new)
        self.note(change.messages)
        self.become(change.messages, change.same)
        self._starts = starts
        self._add_untold(values, starts, line)
        if change.summary or change.changed or change.lost:
            self.compacted(
                Compaction(
                    before_request=0,
                    trigger="",
                    kind="summary" if change.summary else "edit" if change.lost else "micro",
                    summary=change.summary,
                    kept=change.kept,
                    cleared=() if change.summary else (*change.changed, *change.lost),
                    line=line,
                    time=change.summary.time if change.summary else "",
                )
            )
        self._answers = not values or values[-1].get("type") == "user"

    def _add_untold(self, values: Sequence[Mapping[str, Any]], starts: Mapping[str, int], line: int) -> None:
        """Calls that the file tells in the list only: what came before is not in it."""
        for value, start in zip(values, starts.values(), strict=True):
            name, usage = value.get("id"), read_usage(value)
            if value.get("type") == "gemini" and usage and isinstance(name, str) and name not in self._called:
                self._called.add(name)
                self._note_value(value)
                time = str(value.get("timestamp") or "")
                self.call(usage, self.model, time, line=line, sent=self.view(start))


def _position(value: Mapping[str, Any], line: int, n: int) -> RecordPosition:
    return RecordPosition(text_at(value, "id") or f"L{line}.{n}", line, str(value.get("timestamp") or ""))


def _drafts(value: Mapping[str, Any], where: RecordPosition, told: frozenset[str] | None) -> list[Message]:
    answer = read_answer(value, where)
    results = [] if told is None else read_results(value, where, told)
    return [answer, *results] if answer.parts else results


def _laid(line: int, values: Sequence[Mapping[str, Any]]) -> tuple[dict[str, int], list[Message]]:
    """The messages of a list, and where each record begins. Answers that another record holds are left to it."""
    told = frozenset[str]().union(*(answered(value) for value in values if value.get("type") == "user"))
    starts: dict[str, int] = {}
    found: list[Message] = []
    for n, value in enumerate(values):
        where = _position(value, line, n)
        if where.id in starts:
            where = where._replace(id=f"{where.id}@{n}")
        starts[where.id] = len(found)
        if value.get("type") == "user":
            found += read_user(value, where)
        else:
            found += _drafts(value, where, None if n + 1 == len(values) else told)
    return starts, found
