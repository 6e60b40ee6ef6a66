"""Request bodies as they are recorded: each written as far as it differs from an earlier one (`like`).

What is read of a body is its prompt, its other fields and a view of its messages. A body that continues another
costs what it adds: how many wire messages each message came from is known, so what they share is cut out of the view.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, NOT_IN_FILE, Prompt, Stretch, View, shared
from inspector.core.dialects.anthropic import is_summary
from inspector.core.dialects.dialect import Dialect
from inspector.core.dialects.gemini import GEMINI
from inspector.core.dialects.openai_responses import RESPONSES, is_compaction, join, read_item, read_parts, responses
from inspector.core.formats.proxy.pool import Pool, extended
from inspector.core.identity import SameObject
from inspector.core.jsontext import dumps
from inspector.core.message import Message, ToolResult
from inspector.core.quick import quick
from inspector.core.untyped import list_of, object_of, objects_of

CLEARED = "[cleared by the provider]"
"""What stands for a tool result that the provider cleared: its own words are not in the answer."""
_PROMPTS = ("system", "instructions", "systemInstruction", "system_instruction", "tools", "functions")
"""Fields that are the prompt."""


@quick
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
class Likeness:
    """How far a body is like another."""

    exchange: int
    """Whose body the other is."""
    all: frozenset[str]
    """Fields that are wholly the same."""
    first: Mapping[str, int]
    """So many first items of these lists are the same."""

    def fields(self, known: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of the body: those of the other, `known`, where they are the same objects, and its own."""
        found = {key: value for key, value in known.items() if key in self.all} | dict(own)
        for key, count in self.first.items():
            if isinstance(before := known.get(key), list):
                found[key] = before[:count] + list_of(own.get(key))
        return found


def read_like(value: Any) -> Likeness | None:
    """A recorded `like`; None where it is not one."""
    match value:
        case {"exchange": int(number)}:
            names = frozenset(key for key in list_of(value.get("all")) if isinstance(key, str))
            counts = object_of(value, "first").items()
            return Likeness(number, names, {key: n for key, n in counts if isinstance(n, int) and n > 0})
    return None


class Bodies:
    """Reads bodies on top of those that they are like."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._wire: dict[str, Sequence[Any]] = {}
        """The items that a message was made of, by its id (Responses: several items are one message)."""
        self._emptied: dict[SameObject, Message] = {}
        """What stands for the tool results that the provider cleared."""

    def read(
        self,
        dialect: Dialect | None,
        body: Mapping[str, Any],
        other: Body | None = None,
        like: Likeness | None = None,
        *,
        start: View = EMPTY_VIEW,
        line: int = 0,
        time: str = "",
    ) -> Body:
        """The body. `like`: how far it is like the `other`; `start` is what it continues (`previous_response_id`).
        O(what it does not share)."""
        if dialect is None:
            return Body(None, _fields(body, other, like, ""))
        if (inner := dialect.unwrapped(body)) is not body:
            body = {**{key: value for key, value in body.items() if key != dialect.wrapper}, **inner}
        fields, own = _fields(body, other, like, dialect.key), list(_messages(dialect, body))
        lead: Sequence[Any] = []
        base = start
        if other is not None and like is not None and other.dialect is dialect:
            lead, base, before = self._shared(dialect, other, like, start, own)
            own = before + own
        if base.length == start.length:
            count = dialect.head(own)
            lead, own = [*lead, *own[:count]], own[count:]
        told = dialect, [fields.get(key) for key in _PROMPTS], lead
        prompt = self._pool.prompt(told, lambda: dialect.prompt({**fields, dialect.key: lead} if lead else fields))
        return Body(dialect, fields, prompt, self.add(dialect, base, own, line, time), start.length, lead)

    def cleared(self, body: Body, edits: Sequence[Mapping[str, Any]]) -> Body | None:
        """What the model read of a body of which the provider says how many tool uses it cleared: the oldest ones, but
        for those of tools that the client excluded. None where that is all of it."""
        count = sum(one for edit in edits if type(one := edit.get("cleared_tool_uses")) is int)
        if count <= 0:
            return None
        asked = objects_of(object_of(body.fields, "context_management").get("edits"))
        excluded = {name for edit in asked for name in list_of(edit.get("exclude_tools"))}
        spared = {call.id for message in body.view for call in message.calls if call.name in excluded}
        results = (
            (at, message)
            for at, message in enumerate(body.view)
            if (told := message.result) and told.call_id not in spared
        )
        new = {at: (message, self._without_content(message)) for at, message in islice(results, count)}
        return replace(body, view=Stretch(body.view, rewritten=new).view()) if new else None

    def _without_content(self, message: Message) -> Message:
        """The same object each time, so that buffers share it."""
        known = self._emptied.get(same := SameObject(message))
        if known is None:
            result = message.result
            assert result is not None
            parts = (ToolResult(result.call_id, CLEARED, result.is_error),)
            known = self._emptied[same] = replace(message, parts=parts, mark="placeholder")
        return known

    def add(self, dialect: Dialect, base: View, wire: Sequence[Any], line: int, time: str) -> View:
        """The messages of `wire` after those of `base`."""
        if not wire:
            return base
        if dialect is not RESPONSES:
            return self._pool.after(base, dialect.units(wire, line, time, base))
        said = list(responses(read_item(item, id="", line=line, time=time) for item in wire))
        view = self._pool.after(base, [(join(one),) for one in said])
        at = 0
        for message, one in zip(view.tail(base.length), said, strict=True):
            self._wire[message.id] = wire[at : at + len(one)]
            at += len(one)
        return view

    def _shared(
        self, dialect: Dialect, other: Body, like: Likeness, start: View, own: Sequence[Any]
    ) -> tuple[Sequence[Any], View, list[Any]]:
        """What the body shares with the one it is like: prompt messages, view, items that stand before its own."""
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
        if dialect is RESPONSES and not rest and own and end > start.length:
            last, (role, parts) = before.tail(end - 1)[0], read_parts(own[0])
            is_answer = role == "assistant" and not is_compaction(parts)
            if is_answer and last.role == "assistant" and not last.summary:  # both are one message
                return lead, View(before.stretch, end - 1), list(self._items_of(last))
        return lead, before, rest

    def _cut(self, body: Body, count: int) -> tuple[int, list[Any]]:
        """How long the view of the first `count` items is, and the items after it that are half a message."""
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
        """Wire messages up to the end of the first `length` messages."""
        return view.stretch.weight("wire messages", self._weigh, length)

    def _weigh(self, message: Message) -> int:
        if "-" in message.id:  # travelled with the one before it
            return 0
        return len(self._wire.get(message.id, (None,)))

    def _items_of(self, message: Message) -> Sequence[Any]:
        return self._wire.get(message.id, ())


def read_by_model(body: Body) -> Body | None:
    """What the model reads of a body in whose history the provider compacted inside a call: nothing before the last
    such summary. None where that is all of it."""
    at = last_summary(body.view)
    return replace(body, view=beginning(body.view, at, body.view.length)) if at else None


def last_summary(view: View, start: int = 0) -> int | None:
    """Where the last summary stands that a provider made inside a call, from `start` on. O(1) where there is none."""
    if not view.stretch.weight("provider's summaries", _summaries, view.length):
        return None
    places = (n for n, message in enumerate(view.tail(start), start) if message.summary and is_summary(message.parts))
    return max(places, default=None)


def _summaries(message: Message) -> int:
    return message.summary and is_summary(message.parts)


def beginning(view: View, start: int, end: int) -> View:
    """The messages from `start` to `end` as a buffer of their own."""
    return extended(EMPTY_VIEW, list(view.tail(start)[: end - start]))


def _fields(body: Mapping[str, Any], other: Body | None, like: Likeness | None, key: str) -> Mapping[str, Any]:
    """The fields but for the messages: those that are the same elsewhere are the same objects."""
    own = {name: value for name, value in body.items() if name != key}
    return own if other is None or like is None else like.fields(other.fields, own)


def _messages(dialect: Dialect, body: Mapping[str, Any]) -> Sequence[Any]:
    """The wire messages of a body as it is recorded; what is none stays one, so that they can be counted."""
    found = dialect.items({dialect.key: body.get(dialect.key)})
    if dialect is RESPONSES or dialect is GEMINI:
        return found
    return [
        one if type(one) is dict or isinstance(one, Mapping) else {"role": "user", "content": dumps(one)}
        for one in found
    ]
