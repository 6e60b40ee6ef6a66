"""Wrap a function that shortens a list of wire messages as a policy, so that a framework's compaction can be stepped
and replayed.

The function runs in a separate thread, because it calls a summariser directly, while a policy yields a need and waits
for the answer (`core.needs`). Messages that the function returns unchanged keep their ids and their thinking, so that a
diff shows only the changes.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from hashlib import sha1
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.dialects.dialect import Dialect, calls_by_id
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.message import (
    Image,
    Json,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    part_text,
)
from inspector.core.needs import Answer, Conversation, Failure, ProviderFailure, Summarize
from inspector.core.outcome import FateName
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import (
    SimplePolicy,
    SimpleSettings,
    SimpleState,
    failed,
    settled,
)
from inspector.core.policies.turn import AllDone, Done
from inspector.core.policies.verdict import TierName, Verdict, Verdicts

TIER = "compact"
Items: TypeAlias = list[dict[str, Any]]
"""The messages of a request body, as its API writes them."""
Ask: TypeAlias = Callable[[str], str]
"""A function that returns a summary of a text, or raises a `Failure`."""
Compaction: TypeAlias = Callable[[Items, Ask], Items]
FunctionContext: TypeAlias = PolicyContext[SimpleSettings, SimpleState]
_WHY = "The function decides each time."


class FunctionPolicy(SimplePolicy[SimpleSettings]):
    """Calls the function before each request. If the function returns the list unchanged, nothing was due."""

    settings_type = SimpleSettings
    tiers: Sequence[TierName] = (
        TierName(TIER, "Compact", "Calls the function.", calls_model=True),
    )

    def __init__(self, compact: Compaction, shape: str, name: str) -> None:
        self.name = name.lower()
        self.title = name
        self._compact = compact
        self._dialect = DIALECTS[shape]

    def due(self, context: FunctionContext) -> Verdicts:
        return (Verdict(TIER, due=bool(context.messages), why=_WHY, tokens=self.tokens(context)),)

    def tier(self, name: str, context: FunctionContext) -> Done[SimpleState]:
        if name.lower() != TIER:
            raise self.unknown(name)
        wire = _Wire(self._dialect, context.messages)
        try:
            items = yield from _run_in_thread(self._compact, wire.items)
        except Failure as failure:
            return failed(TIER, context, f"provider_failure: {failure}")
        messages = wire.read(items)
        fates = _find_fates(context.messages, messages)
        return settled(TIER, context, context.buffer.with_messages(messages), (), fates)

    def before_call(self, context: FunctionContext) -> AllDone[SimpleState]:
        outcome = yield from self.tier(TIER, context)
        if outcome.succeeded and outcome.buffer.messages == context.messages:
            return ()
        return (outcome,)


def _find_fates(before: Sequence[Message], after: Sequence[Message]) -> dict[str, FateName]:
    later = {message.id: message for message in after}
    earlier = {message.id for message in before}
    gone: FateName = "summarised" if later.keys() - earlier else "dropped"
    fates: dict[str, FateName] = {}
    for message in before:
        if message.id not in later:
            fates[message.id] = gone
        elif later[message.id] != message:
            fates[message.id] = "replaced"
    return fates


# -- the thread --------------------------------------------------------------------------------------------------------


def _run_in_thread(compact: Compaction, items: Items) -> Conversation[Items]:
    """Run the function in a thread, and yield a need for each summary that it asks for.

    Raises what the function raises.
    """
    needs: SimpleQueue[Summarize | Items | BaseException] = SimpleQueue()
    replies: SimpleQueue[Answer | Failure] = SimpleQueue()

    def ask(text: str) -> str:
        needs.put(Summarize("Summarize the conversation.", text))
        reply = replies.get()
        if isinstance(reply, Failure):
            raise reply
        return reply.text

    def run() -> None:
        try:
            needs.put(list(compact(deepcopy(items), ask)))
        except BaseException as error:  # noqa: BLE001 - raised again where the policy runs
            needs.put(error)

    Thread(target=run, name="compaction function", daemon=True).start()
    while isinstance(heard := needs.get(), Summarize):
        try:
            replies.put((yield heard))
        except Failure as failure:
            replies.put(failure)
        except GeneratorExit:
            replies.put(ProviderFailure("The step was given up."))
            raise
    if isinstance(heard, BaseException):
        raise heard
    return heard


# -- wire items and messages -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SharedItems:
    """Messages that share wire items."""

    messages: tuple[Message, ...]
    items: tuple[Any, ...]
    keys: tuple[str, ...]
    """The readable content of each item that has any."""


class _Wire:
    """Converts messages to wire items, and wire items back to messages."""

    def __init__(self, dialect: Dialect, messages: Sequence[Message]) -> None:
        self._dialect = dialect
        self._messages = messages
        calls = calls_by_id(messages)
        groups = []
        for shared in _share(dialect, messages):
            items = tuple(dialect.write(shared, calls))
            groups.append(_SharedItems(shared, items, tuple(filter(None, map(self._key, items)))))
        self._groups = _join_silent(groups)

    @property
    def items(self) -> Items:
        """Return the items of all messages, in order."""
        return [item for group in self._groups for item in group.items]

    def read(self, items: Items) -> tuple[Message, ...]:
        """Return the messages of `items`: the original ones if all their items are unchanged, and new ones for other
        items."""
        keys = [self._key(item) for item in items]
        places = self._match(list(filter(None, keys)))
        counts = Counter(places)
        whole = {
            index for index, group in enumerate(self._groups) if counts[index] == len(group.keys)
        }
        read: list[Message] = []
        fresh: Items = []
        last = -1
        visible = (item for item, key in zip(items, keys, strict=True) if key)
        for item, place in zip(visible, places, strict=True):
            if place not in whole:
                fresh.append(item)
                continue
            read += self._read_fresh(fresh, read)
            fresh = []
            if place != last:
                read += self._groups[place].messages
                last = place
        return (*read, *self._read_fresh(fresh, read))

    def _match(self, keys: Sequence[str]) -> list[int]:
        """Return the index of the group of each key, in ascending order; -1 for a key that no group has."""
        places_by_key: dict[str, deque[int]] = defaultdict(deque)
        for index, group in enumerate(self._groups):
            for key in group.keys:
                places_by_key[key].append(index)
        places = []
        last = 0
        for key in keys:
            queue = places_by_key.get(key, deque())
            while queue and queue[0] < last:
                queue.popleft()
            place = queue.popleft() if queue else -1
            places.append(place)
            last = max(last, place)
        return places

    def _key(self, item: Any) -> str:
        """Return the readable content of an item as a key; empty if there is none.

        Thinking and formatting are left out, because frameworks change the formatting and often drop thinking.
        """
        read: list[Any] = []
        for message in self._dialect.read(item, "", 0, ""):
            descriptions = map(_describe_part, message.parts)
            parts = [description for description in descriptions if description]
            if parts:
                read.append((message.role, *parts))
        return dumps(read) if read else ""

    def _read_fresh(self, items: Items, before: Sequence[Message]) -> Iterator[Message]:
        """Yield the messages of new items. A changed message with a known call keeps its id."""
        ids = dict(_ids_by_call(self._messages))
        used_ids = {message.id for message in before}
        units = self._dialect.units(items, before=before) if items else ()
        for message in (message for unit in units for message in unit):
            id_ = next(
                (
                    ids[key]
                    for key in _call_keys(message)
                    if ids.get(key, "") not in {"", *used_ids}
                ),
                "",
            )
            is_summary = not id_ and not message.calls and message.result is None
            used_ids.add(id_)
            yield replace(message, id=id_ or _new_id(message), summary=is_summary)


def _describe_part(part: Part) -> tuple[str, ...]:
    match part:
        case Text("") | Thinking():
            return ()
        case ToolCall(id_, name, arguments):
            return ("ToolCall", id_, name, dumps(_parse_arguments(arguments)))
        case ToolResult(call_id=id_):
            return ("ToolResult", id_, part.content)
        case Image(data=data, url=url):
            return ("Image", data, url)
        case Opaque(value=value):
            return ("Opaque", dumps(value))
        case _:
            return (type(part).__name__, part_text(part))


def _parse_arguments(arguments: Json) -> Json:
    """Return the value of arguments that are JSON text, so that differences in formatting do not matter."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value: Json = loads(arguments.encode("utf-8", "replace"))
    except NotJson:
        return arguments
    return value


def _share(dialect: Dialect, messages: Sequence[Message]) -> Iterable[tuple[Message, ...]]:
    """Split messages into groups that share wire items."""
    group: list[Message] = []
    for message in messages:
        if group and not dialect.shares(group[-1], message):
            yield tuple(group)
            group = []
        group.append(message)
    if group:
        yield tuple(group)


def _join_silent(groups: Iterable[_SharedItems]) -> list[_SharedItems]:
    """Join groups without readable content (such as only thinking) with the next group, or with the last."""
    joined: list[_SharedItems] = []
    silent = _SharedItems((), (), ())
    for group in groups:
        whole = _join_groups(silent, group)
        silent = _SharedItems((), (), ()) if group.keys else whole
        if group.keys:
            joined.append(whole)
    if joined:
        joined[-1] = _join_groups(joined[-1], silent)
    return joined


def _join_groups(first: _SharedItems, second: _SharedItems) -> _SharedItems:
    items = (*first.items, *second.items)
    keys = (*first.keys, *second.keys)
    return _SharedItems((*first.messages, *second.messages), items, keys)


def _call_keys(message: Message) -> list[tuple[str, str]]:
    keys = [("call", call.id) for call in message.calls]
    return [*keys, ("result", message.result.call_id)] if message.result else keys


def _ids_by_call(messages: Iterable[Message]) -> Iterator[tuple[tuple[str, str], str]]:
    for message in messages:
        for key in _call_keys(message):
            yield key, message.id


def _new_id(message: Message) -> str:
    """Return an id that depends only on the message's role and content, so that equal steps yield equal ids."""
    key = sha1(
        f"{message.role}\n{message.parts!r}".encode("utf-8", "replace"), usedforsecurity=False
    )
    return f"function-{key.hexdigest()[:16]}"
