"""Request bodies as they are recorded: each told as far as it differs from an earlier one (`like`).

What is read of a body is its prompt, its other fields and a view of its messages. A body that goes on from another
costs what it adds: how many wire messages each message came from is known, so what they share is cut out of the view.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, NOT_IN_FILE, Prompt, View, shared
from inspector.core.dialects.openai_chat import leading
from inspector.core.dialects.openai_responses import is_compaction, read_parts
from inspector.core.formats.payload.dialect import Dialect
from inspector.core.formats.payload.messages import Pool
from inspector.core.formats.proxy.endpoints import DIALECTS
from inspector.core.formats.proxy.views import Counts, extended
from inspector.core.jsontext import dumps
from inspector.core.message import Message

_CHAT, _RESPONSES, _GEMINI = DIALECTS["openai-chat"], DIALECTS["openai-responses"], DIALECTS["gemini"]
_PROMPTS = ("system", "instructions", "systemInstruction", "system_instruction", "tools", "functions")
"""Fields that are the prompt."""


@dataclass(frozen=True, slots=True)
class Body:
    """A request body, read."""

    dialect: Dialect | None
    fields: Mapping[str, Any]
    """The top-level fields, but for the messages."""
    prompt: Prompt = NOT_IN_FILE
    view: View = EMPTY_VIEW
    start: int = 0
    """Messages of the view that do not stand in the body: what its `previous_response_id` stands for."""
    lead: Sequence[Any] = ()
    """Wire messages at the head that are the prompt (Chat)."""


@dataclass(frozen=True, slots=True)
class Like:
    """The body that another is like, and how far."""

    body: Body
    all: frozenset[str]
    first: Mapping[str, int]


def read_like(value: Any) -> tuple[int, frozenset[str], Mapping[str, int]] | None:
    """Exchange, whole fields and beginnings of a recorded `like`; None where it is not one."""
    match value:
        case {"exchange": int(number)}:
            every, first = value.get("all"), value.get("first")
            names = frozenset(key for key in every if isinstance(key, str)) if isinstance(every, list) else frozenset()
            counts = first if isinstance(first, Mapping) else {}
            return number, names, {key: n for key, n in counts.items() if isinstance(n, int) and n > 0}
    return None


class Bodies:
    """Reads bodies on top of those that they are like."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._counts = Counts()
        self._wire: dict[str, Sequence[Any]] = {}
        """The items that a message was made of, by its id (Responses: several items are one message)."""

    def read(
        self, dialect: Dialect | None, body: Mapping[str, Any], like: Like | None, start: View, line: int, time: str
    ) -> Body:
        """The body; `start` is what it goes on from (`previous_response_id`). O(what it does not share)."""
        if dialect is None:
            return Body(None, _fields(body, like, ""))
        if dialect is _GEMINI and dialect.key not in body and isinstance(inner := body.get("request"), Mapping):
            body = {**{key: value for key, value in body.items() if key != "request"}, **inner}  # Code Assist
        fields, own = _fields(body, like, dialect.key), list(_messages(dialect, body))
        lead: Sequence[Any] = ()
        base = start
        if like is not None and like.body.dialect is dialect:
            lead, base, before = self._shared(dialect, like, start, own)
            own = before + own
        if dialect is _CHAT and base.length == start.length:
            more = leading(own)
            lead, own = [*lead, *more], own[len(more) :]
        view = self.add(dialect, base, own, line, time)
        return Body(dialect, fields, self._prompt(dialect, fields, lead, like), view, start.length, lead)

    def add(self, dialect: Dialect, base: View, wire: Sequence[Any], line: int, time: str) -> View:
        """The messages of `wire` behind those of `base`."""
        if not wire:
            return base
        counts = self._counts.take(base)
        said: list[Message] = []
        for items in _runs(dialect, wire):
            found = self._pool.messages(dialect.pair(dialect.read(items, line, time), base), counts)
            if dialect is _RESPONSES and found:
                self._wire[found[0].id] = items
            said += found
        view = extended(base, said)
        self._counts.give(view, counts)
        return view

    def _shared(
        self, dialect: Dialect, like: Like, start: View, own: Sequence[Any]
    ) -> tuple[Sequence[Any], View, list[Any]]:
        """What the body shares with the one it is like: prompt messages, view, items that stand before its own."""
        other = like.body
        count = like.first.get(dialect.key, 0)
        if dialect.key in like.all:
            count = len(other.lead) + self._items(other.view, other.view.length) - self._items(other.view, other.start)
        lead = other.lead[:count]
        count -= len(lead)
        if count <= 0:
            return lead, start, []
        end, rest = self._cut(other, count)
        if other.start != start.length or shared(other.view, start) < start.length:  # they go on from different ends
            told = [item for one in View(other.view.stretch, end).tail(other.start) for item in self._items_of(one)]
            return lead, start, told + rest
        before = View(other.view.stretch, end)
        if dialect is _RESPONSES and not rest and own and end > start.length and _said(own[0]):
            last = before.tail(end - 1)[0]
            if last.role == "assistant" and not last.summary:  # the items behind it belong to the same message
                return lead, View(before.stretch, end - 1), list(self._items_of(last))
        return lead, before, rest

    def _cut(self, body: Body, count: int) -> tuple[int, list[Any]]:
        """How long the view of the first `count` items is, and the items behind it that are half a message."""
        below = self._items(body.view, body.start)
        low, high = body.start, body.view.length
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._items(body.view, middle) - below <= count else (low, middle - 1)
        rest = count - (self._items(body.view, low) - below)
        if rest <= 0 or low >= body.view.length:
            return low, []
        return low, list(self._items_of(body.view.tail(low)[0])[:rest])

    def _items(self, view: View, length: int) -> int:
        """Wire messages behind the first `length` messages."""
        return view.stretch.weight("wire messages", self._weigh, length)

    def _weigh(self, message: Message) -> int:
        if "-" in message.id:  # travelled with the one before it
            return 0
        return len(self._wire.get(message.id, (None,)))

    def _items_of(self, message: Message) -> Sequence[Any]:
        return self._wire.get(message.id, ())

    def _prompt(self, dialect: Dialect, fields: Mapping[str, Any], lead: Sequence[Any], like: Like | None) -> Prompt:
        if like is not None and like.body.dialect is dialect and len(lead) == len(like.body.lead):
            known = like.body
            same = all(fields.get(key) is known.fields.get(key) for key in _PROMPTS)
            if same and all(one is other for one, other in zip(lead, known.lead, strict=True)):
                return known.prompt
        return self._pool.prompt(dialect.prompt({**fields, dialect.key: lead} if lead else fields))


def _fields(body: Mapping[str, Any], like: Like | None, key: str) -> Mapping[str, Any]:
    """The fields but for the messages: those that are the same elsewhere are the same objects."""
    own = {name: value for name, value in body.items() if name != key}
    if like is None:
        return own
    known = like.body.fields
    found = {name: known[name] for name in like.all if name != key and name in known}
    for name, count in like.first.items():
        before, rest = known.get(name), own.get(name)
        if name != key and isinstance(before, list):
            own[name] = before[:count] + (rest if isinstance(rest, list) else [])
    return found | own


def _messages(dialect: Dialect, body: Mapping[str, Any]) -> Sequence[Any]:
    """The wire messages of a body as it is recorded; what is none stays one, so that they can be counted."""
    if dialect is _CHAT:
        told = body.get(dialect.key)
        found: Sequence[Any] = told if isinstance(told, list) else ()
    else:
        found = dialect.body({dialect.key: body.get(dialect.key)})
    if dialect is _RESPONSES or dialect is _GEMINI:
        return found
    return [one if isinstance(one, Mapping) else {"role": "user", "content": dumps(one)} for one in found]


def _runs(dialect: Dialect, wire: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The items by message: in Responses what the model said at once is one message."""
    if dialect is not _RESPONSES:
        yield wire
        return
    run: list[Any] = []
    for item in wire:
        if _said(item):
            run.append(item)
            continue
        if run:
            yield run
        run = []
        yield [item]
    if run:
        yield run


def _said(item: Any) -> bool:
    role, parts = read_parts(item)
    return role == "assistant" and not is_compaction(parts)
