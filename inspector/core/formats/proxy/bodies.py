"""Read recorded request bodies. A record holds only what differs from an earlier body, which its `like` names.

`Bodies.read` returns the prompt of a body, its other fields and a view of its messages. Reading a body that continues
an earlier one costs O(what it adds): `Bodies` knows how many wire messages form each message, so it takes the shared
messages from the earlier view.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, NOT_IN_FILE, Prompt, Stretch, View, shared
from inspector.core.dialects.anthropic import is_summary
from inspector.core.dialects.dialect import Dialect
from inspector.core.dialects.gemini import GEMINI
from inspector.core.dialects.openai_responses import (
    RESPONSES,
    is_compaction,
    join,
    read_item,
    read_item_parts,
    responses,
)
from inspector.core.formats.proxy.pool import Pool, extended
from inspector.core.identity import SameObject
from inspector.core.jsontext import dumps
from inspector.core.message import Message, ToolResult
from inspector.core.quick import quick
from inspector.core.untyped import list_of, object_of, objects_of

CLEARED = "[cleared by the provider]"
"""Text shown for a tool result that the provider cleared. The response does not say what the model read instead."""
_PROMPTS = (
    "system",
    "instructions",
    "systemInstruction",
    "system_instruction",
    "tools",
    "functions",
)
"""Body fields that hold the system prompt or the tools."""


@quick
@dataclass(frozen=True, slots=True)
class Body:
    """A request body with its messages as a view."""

    dialect: Dialect | None
    fields: Mapping[str, Any]
    """The top-level fields except the messages."""
    prompt: Prompt = NOT_IN_FILE
    view: View = EMPTY_VIEW
    start: int = 0
    """Number of messages at the beginning of the view that are not in the body: `previous_response_id` refers to them.
    """
    lead: Sequence[Any] = ()
    """Wire messages at the beginning of the body that are part of the prompt (Chat Completions)."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a recorded body shares with an earlier body."""

    exchange: int
    """Number of the exchange that has the earlier body."""
    all: frozenset[str]
    """Names of the fields that are equal in both bodies."""
    first: Mapping[str, int]
    """How many items at the beginning of a list are equal in both bodies, by name of the list's field."""

    def fields(self, other: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        """Return all fields of the body: those that it shares as objects of `other`, and the recorded ones (`own`)."""
        fields = {key: value for key, value in other.items() if key in self.all}
        fields.update(own)
        for key, count in self.first.items():
            if isinstance(before := other.get(key), list):
                fields[key] = before[:count] + list_of(own.get(key))
        return fields


def read_like(value: Any) -> Likeness | None:
    """Read the `like` of a record; None if `value` does not have its form."""
    match value:
        case {"exchange": int(number)}:
            names = frozenset(key for key in list_of(value.get("all")) if isinstance(key, str))
            counts = object_of(value, "first").items()
            return Likeness(
                number, names, {key: n for key, n in counts if isinstance(n, int) and n > 0}
            )
    return None


class Bodies:
    """Reads request bodies, each from its record and the earlier body that its `like` names."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._wire: dict[str, Sequence[Any]] = {}
        """Wire items that form a message, by message id (in the Responses API, several items are one message)."""
        self._emptied: dict[SameObject, Message] = {}
        """The message shown instead of each tool result that the provider cleared."""

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
        """Read a recorded body. Costs O(what it does not share with `other`).

        Args:
            dialect: The dialect of the body; None if unknown: then only the fields are read.
            body: The body as it was recorded.
            other: The earlier body that the record's `like` names.
            like: What the body shares with `other`.
            start: The messages to which the body's `previous_response_id` refers.
            line: Line number of the record in the file.
            time: Time of the record.
        """
        if dialect is None:
            return Body(dialect=None, fields=_fields(body, other, like, key=""))
        body = _without_wrapper(dialect, body)
        fields = _fields(body, other, like, dialect.key)
        own = list(_wire_messages(dialect, body))
        lead: Sequence[Any] = []
        base = start
        if other is not None and like is not None and other.dialect is dialect:
            lead, base, before = self._share(dialect, other, like, start, own)
            own = before + own
        if base.length == start.length:
            count = dialect.head(own)
            lead = [*lead, *own[:count]]
            own = own[count:]
        source = dialect, [fields.get(key) for key in _PROMPTS], lead
        with_lead = {**fields, dialect.key: lead} if lead else fields
        prompt = self._pool.prompt(source, lambda: dialect.prompt(with_lead))
        return Body(
            dialect,
            fields,
            prompt,
            view=self.add(dialect, base, own, line, time),
            start=start.length,
            lead=lead,
        )

    def cleared(self, body: Body, edits: Sequence[Mapping[str, Any]]) -> Body | None:
        """Return the body as the model read it after the provider cleared tool results; None if it cleared none.

        `edits` says how many tool uses the provider cleared. The provider clears the oldest results first, except those
        of tools that the client excluded.
        """
        counts = [edit.get("cleared_tool_uses") for edit in edits]
        total = sum(count for count in counts if type(count) is int)
        if total <= 0:
            return None
        rewritten: dict[int, tuple[Message, Message]] = {}
        for at, message in islice(_clearable_results(body), total):
            rewritten[at] = (message, self._without_content(message))
        if not rewritten:
            return None
        return replace(body, view=Stretch(body.view, rewritten=rewritten).view())

    def _without_content(self, message: Message) -> Message:
        """Return a tool result with `CLEARED` as its content. Each result has one such object, which buffers share."""
        key = SameObject(message)
        emptied = self._emptied.get(key)
        if emptied is None:
            result = message.result
            assert result is not None
            parts = (ToolResult(result.call_id, CLEARED, result.is_error),)
            emptied = self._emptied[key] = replace(message, parts=parts, mark="placeholder")
        return emptied

    def add(self, dialect: Dialect, base: View, wire: Sequence[Any], line: int, time: str) -> View:
        """Return `base` followed by the messages of `wire`."""
        if not wire:
            return base
        if dialect is not RESPONSES:
            return self._pool.after(base, dialect.units(wire, line, time, base))
        answers = list(responses(read_item(item, id="", line=line, time=time) for item in wire))
        view = self._pool.after(base, [(join(items),) for items in answers])
        at = 0
        for message, items in zip(view.tail(base.length), answers, strict=True):
            self._wire[message.id] = wire[at : at + len(items)]
            at += len(items)
        return view

    def _share(
        self, dialect: Dialect, other: Body, like: Likeness, start: View, own: Sequence[Any]
    ) -> tuple[Sequence[Any], View, list[Any]]:
        """Return what a body shares with `other`, the earlier body that its `like` names.

        Returns:
            The shared prompt messages, the shared messages as a view, and the wire items after this view that are
            shared or must be read together with the body's own items.
        """
        count = like.first.get(dialect.key, 0)
        if dialect.key in like.all:
            count = (
                len(other.lead)
                + self._items(other.view, other.view.length)
                - self._items(other.view, other.start)
            )
        lead = other.lead[:count]
        count -= len(lead)
        if count <= 0:
            return lead, start, []
        end, rest = self._cut(other, count)
        before = View(other.view.stretch, end)
        # The two bodies continue different responses.
        if other.start != start.length or shared(other.view, start) < start.length:
            items = [
                item for message in before.tail(other.start) for item in self._items_of(message)
            ]
            return lead, start, items + rest
        if dialect is RESPONSES and not rest and own and end > start.length:
            last = before.tail(end - 1)[0]
            if _is_more_of_answer(last, own[0]):
                return lead, View(before.stretch, end - 1), list(self._items_of(last))
        return lead, before, rest

    def _cut(self, body: Body, count: int) -> tuple[int, list[Any]]:
        """Find the index in a body's view at which its first `count` wire items end.

        Returns:
            The number of messages before this index, and those of the `count` items that are only a part of the next
            message.
        """
        below = self._items(body.view, body.start)
        low, high = body.start, body.view.length
        while low < high:
            middle = (low + high + 1) // 2
            if self._items(body.view, middle) - below <= count:
                low = middle
            else:
                high = middle - 1
        rest = count - (self._items(body.view, low) - below)
        if rest <= 0 or low >= body.view.length:
            return low, []
        return low, list(self._items_of(body.view.tail(low)[0])[:rest])

    def _items(self, view: View, length: int) -> int:
        """Count the wire items of the first `length` messages."""
        return view.stretch.weight("wire messages", self._weigh, length)

    def _weigh(self, message: Message) -> int:
        if "-" in message.id:  # from the same wire item as the message before
            return 0
        return len(self._wire.get(message.id, (None,)))

    def _items_of(self, message: Message) -> Sequence[Any]:
        return self._wire.get(message.id, ())


def _without_wrapper(dialect: Dialect, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a body that the client wrapped in another object, merged with the fields of that object."""
    inner = dialect.unwrapped(body)
    if inner is body:
        return body
    outer = {key: value for key, value in body.items() if key != dialect.wrapper}
    return {**outer, **inner}


def _clearable_results(body: Body) -> Iterator[tuple[int, Message]]:
    """Yield index and message of each tool result that the provider may clear, the oldest first."""
    edits = objects_of(object_of(body.fields, "context_management").get("edits"))
    excluded = {name for edit in edits for name in list_of(edit.get("exclude_tools"))}
    spared = {call.id for message in body.view for call in message.calls if call.name in excluded}
    for at, message in enumerate(body.view):
        result = message.result
        if result is not None and result.call_id not in spared:
            yield at, message


def _is_more_of_answer(last: Message, item: Any) -> bool:
    """Is an item a further part of the answer that the last message holds?"""
    if last.role != "assistant" or last.summary:
        return False
    role, parts = read_item_parts(item)
    return role == "assistant" and not is_compaction(parts)


def read_by_model(body: Body) -> Body | None:
    """Return the body as the model reads it if the provider compacted its history inside a call.

    The model reads only the messages from the provider's last summary onwards. None if it reads all messages.
    """
    at = last_summary(body.view)
    return replace(body, view=slice_view(body.view, at, body.view.length)) if at else None


def last_summary(view: View, start: int = 0) -> int | None:
    """Return the index of the last summary that a provider made inside a call, `start` or later; None if there is none.

    Costs O(1) if the view has no such summary.
    """
    if not view.stretch.weight("provider's summaries", _count_summaries, view.length):
        return None
    places = (n for n, message in enumerate(view.tail(start), start) if _count_summaries(message))
    return max(places, default=None)


def _count_summaries(message: Message) -> int:
    return message.summary and is_summary(message.parts)


def slice_view(view: View, start: int, end: int) -> View:
    """Return the messages from `start` to before `end` as a buffer that shares no stretch with `view`."""
    return extended(EMPTY_VIEW, list(view.tail(start)[: end - start]))


def _fields(
    body: Mapping[str, Any], other: Body | None, like: Likeness | None, key: str
) -> Mapping[str, Any]:
    """Return the fields of a body without its messages. Fields shared with `other` are the same objects."""
    own = {name: value for name, value in body.items() if name != key}
    return own if other is None or like is None else like.fields(other.fields, own)


def _wire_messages(dialect: Dialect, body: Mapping[str, Any]) -> Sequence[Any]:
    """Return the wire messages of a recorded body.

    Except in Responses and Gemini bodies, an item that is not an object becomes a user message: the count stays right.
    """
    items = dialect.items({dialect.key: body.get(dialect.key)})
    if dialect is RESPONSES or dialect is GEMINI:
        return items
    return [
        item if isinstance(item, Mapping) else {"role": "user", "content": dumps(item)}
        for item in items
    ]
