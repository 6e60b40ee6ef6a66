"""What a provider's dialect is: all that differs in how requests and responses are written, as one value.

The payload formats, the proxy's recordings, the rewriting at its gate, real and simulated providers all read it here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Message, ToolCall
from inspector.core.untyped import list_of, object_of
from inspector.core.usage import Usage

Units: TypeAlias = Iterable[Sequence[Message]]
"""Messages by the wire item that they came in."""

Purpose: TypeAlias = Literal["call", "count", "compact", "other"]
"""call: an answer of the model; count: tokens of a body; compact: the provider is to compact; other: anything else."""

Refusal: TypeAlias = Literal[
    "result-without-call",
    "call-without-result",
    "duplicate-answer",
    "duplicate-call",
    "order",
    "first-role",
    "empty-message",
    "blank-message",
    "empty-text",
]
"""Why a provider may refuse a buffer; blank-message: a message of nothing but white space."""


class StreamAssembler:
    """A stream put back together. Feed every event; events come from anywhere: one of another shape is passed over."""

    def __init__(self) -> None:
        self.finished = False
        """Did the stream come to its own end?"""
        self.failure: Mapping[str, Any] | None = None
        """The error that the stream reported, where it did."""

    def feed(self, event: Mapping[str, Any]) -> str:
        """The text that this event brought, if any."""
        raise NotImplementedError

    def body(self) -> dict[str, Any]:
        """What has come so far, as a call without streaming returns it."""
        raise NotImplementedError


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def _never(value: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class PayloadSigns:
    """What tells the payloads of one API in a file from those of the others."""

    is_unmistakable: bool = False
    """Do its bodies and items look like those of no other API? Then nothing else here is needed."""
    keys: frozenset[str] = frozenset()
    """Fields of a request body that only this API has."""
    limit: str = ""
    """The field that limits the answer: together with the model it makes a whole body, whatever its messages are."""
    blocks: frozenset[str] = frozenset()
    """Types of items, and of the blocks of their content, that only this API has."""
    is_own_message: Callable[[Mapping[str, Any]], bool] = _never
    """Is it a message as only this API writes it?"""
    is_own_tool: Callable[[Mapping[str, Any]], bool] = _never
    """Is it the definition of a tool as only this API writes it?"""
    is_own_model: Callable[[str], bool] = _never
    """Is a model of this name usually called through this API?"""


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """One provider's way to write a conversation. A wire *item* is one element of the list in a request body."""

    name: str
    title: str
    """Of the API, for people."""
    provider: str
    """The provider's name on the command line."""
    host: str
    """The URL that its requests go to."""
    key: str
    """Under which a request body holds its items."""
    read: Callable[[Any, str, int, str], Sequence[Message]]
    """(item, id, line, time) -> the messages it holds."""
    write: Callable[[Sequence[Message], Mapping[str, ToolCall]], Sequence[Any]]
    """(messages, the calls of the whole buffer by id) -> items. Calls without an id on the wire got one of us."""
    prompt: Callable[[Mapping[str, Any]], Prompt]
    """System prompt and tools of a request body."""
    answer: Callable[[Mapping[str, Any]], Sequence[Any]]
    """The items of a response body: what the next request will repeat."""
    write_body: Callable[[Buffer, str, int], dict[str, Any]]
    """(buffer, model, most tokens of the answer) -> a request body that is complete in itself."""
    usage: Callable[[Any], Usage | None]
    finish: Callable[[Mapping[str, Any]], str]
    is_response: Callable[[Mapping[str, Any]], bool]
    is_message: Callable[[Any], bool]
    """Is it one item, standing alone?"""
    assembler: type[StreamAssembler]
    is_event: Callable[[Mapping[str, Any]], bool]
    """Is it an event of an answer's stream?"""
    signs: PayloadSigns
    error: Callable[[int, str], dict[str, Any]]
    """(status, sentence) -> the JSON body of an error, as its clients read it."""
    paths: Mapping[str, Purpose] = field(default_factory=dict)
    """What requests ask for, by the end of their path."""
    read_path: Callable[[str], tuple[Purpose, str] | None] = lambda path: None
    """What a path asks for and the model that it names, if `paths` cannot say it."""
    path_marks: tuple[str, ...] = ()
    """Parts of paths, of calls and others, that show whose they are."""
    final_events: frozenset[str] = frozenset()
    """Types of the events after which nothing of the answer follows."""
    has_finish: Callable[[Mapping[str, Any]], bool] = _never
    """Does an event without a type say why the answer ended? Only its usage may follow."""
    has_whole_events: bool = False
    """Do events look like whole responses, so that one alone is no stream?"""
    error_event: Callable[[Mapping[str, Any]], tuple[str, Mapping[str, Any]]] = lambda error: (
        "",
        error,
    )
    """(body of an error) -> name (may be empty) and data of the event that reports it in a stream."""
    refuses: frozenset[Refusal] = frozenset()
    """Why it refuses buffers."""
    content: str = "content"
    """Under which an item holds its blocks."""
    counts: str = "usage"
    """Under which a response holds its usage."""
    wrapper: str = ""
    """Under which some clients send the body inside another one."""
    head: Callable[[Sequence[Any]], int] = lambda items: 0
    """How many items at the beginning are the system prompt."""
    bare: Callable[[Any], Any] = lambda text: {"role": "user", "content": text}
    """The item for a string that came in place of the list."""
    shares: Callable[[Message, Message], bool] = lambda before, message: False
    """Do these neighbours share an item?"""
    join: Callable[[Units], Units] = lambda units: units
    """What was read item by item, as the messages of a conversation."""
    pair: Callable[[Units, Iterable[Message]], Units] = lambda units, before: units
    """(messages, those in front of them) -> the same, with names for calls and results that have none."""

    def units(
        self, items: Iterable[Any], line: int = 0, time: str = "", before: Iterable[Message] = ()
    ) -> Units:
        """The messages of these items, without ids of their own."""
        read = (unit for item in items if (unit := self.read(item, "", line, time)))
        return self.pair(self.join(read), before)

    def items(self, body: Mapping[str, Any]) -> list[Any]:
        """All items of a body, in order."""
        value = self.unwrapped(body).get(self.key)
        if isinstance(value, str | Mapping):
            return [self.bare(value)]
        return list(list_of(value))

    def conversation(self, body: Mapping[str, Any]) -> list[Any]:
        """The items of a body that are not its system prompt."""
        items = self.items(body)
        return items[self.head(items) :]

    def unwrapped(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The part of the body that holds the items."""
        inner = body.get(self.wrapper) if self.wrapper and self.key not in body else None
        return inner if isinstance(inner, Mapping) else body


def calls_by_id(messages: Iterable[Message]) -> Mapping[str, ToolCall]:
    """All calls of a buffer by id."""
    return {call.id: call for message in messages for call in message.calls}


_SCHEMAS = (
    ("output_config", "format", "schema"),
    ("output_format", "schema"),
    ("text", "format", "schema"),
    ("response_format", "json_schema", "schema"),
    ("generationConfig", "responseJsonSchema"),
    ("generationConfig", "responseSchema"),
)
"""Where each dialect says which JSON schema the answer must keep to."""
_SCHEMA_FIELDS = frozenset(path[0] for path in _SCHEMAS)


def answer_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The JSON schema that the answer must keep to; None where any text will do."""
    if _SCHEMA_FIELDS.isdisjoint(body):
        return None
    for *path, last in _SCHEMAS:
        place = body
        for name in path:
            place = object_of(place, name)
        if isinstance(schema := place.get(last), Mapping):
            return schema
        if place.get("type") == "json_schema":
            return {}
    return None
