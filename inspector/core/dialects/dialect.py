"""The `Dialect` type: everything that differs between the APIs in how requests and responses are written.

Payload formats, proxy recordings, request rewriting at the proxy, and real and simulated providers use it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Message, ToolCall
from inspector.core.untyped import list_of, object_of
from inspector.core.usage import Usage

Units: TypeAlias = Iterable[Sequence[Message]]
"""Messages grouped by the wire item that contains them."""

Purpose: TypeAlias = Literal["call", "count", "compact", "other"]
"""call: get an answer of the model; count: count the tokens of a body; compact: let the provider compact; other:
anything else."""

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
    """Assembles a stream into a response. Feed every event; events of an unknown shape are ignored."""

    def __init__(self) -> None:
        self.finished = False
        """True if the stream reported its end."""
        self.failure: Mapping[str, Any] | None = None
        """The error that the stream reported; None if it reported none."""

    def feed(self, event: Mapping[str, Any]) -> str:
        """Add an event, and return the visible text in it; empty if it has none."""
        raise NotImplementedError

    def body(self) -> dict[str, Any]:
        """Return the response so far, in the form that a request without streaming returns."""
        raise NotImplementedError


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def _never(value: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class PayloadSigns:
    """Signs by which the payloads of one API are recognised in a file."""

    is_unmistakable: bool = False
    """True if the API's bodies and items look like those of no other API. The other fields are then not needed."""
    keys: frozenset[str] = frozenset()
    """Fields of a request body that only this API has."""
    limit: str = ""
    """Field that limits the length of the answer. A body with this field and a model is recognised as complete."""
    blocks: frozenset[str] = frozenset()
    """Types of items, and of the blocks of their content, that only this API has."""
    is_own_message: Callable[[Mapping[str, Any]], bool] = _never
    """(message) -> whether only this API writes messages of this form."""
    is_own_tool: Callable[[Mapping[str, Any]], bool] = _never
    """(tool definition) -> whether only this API writes definitions of this form."""
    is_own_model: Callable[[str], bool] = _never
    """(model name) -> whether the model is usually called through this API."""


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """One provider's way to write a conversation. A wire *item* is one element of the list in a request body."""

    name: str
    title: str
    """Name of the API on screen."""
    provider: str
    """The provider's name on the command line."""
    host: str
    """Base URL of the API."""
    key: str
    """Key of the items in a request body."""
    read: Callable[[Any, str, int, str], Sequence[Message]]
    """(item, id, line, time) -> the messages in the item."""
    write: Callable[[Sequence[Message], Mapping[str, ToolCall]], Sequence[Any]]
    """(messages, the calls of the whole buffer by id) -> items. Ids that were generated when reading are left out."""
    prompt: Callable[[Mapping[str, Any]], Prompt]
    """(request body) -> its system prompt and tools."""
    answer: Callable[[Mapping[str, Any]], Sequence[Any]]
    """(response body) -> its items, which the next request will repeat."""
    write_body: Callable[[Buffer, str, int], dict[str, Any]]
    """(buffer, model, most tokens of the answer) -> a complete request body."""
    usage: Callable[[Any], Usage | None]
    finish: Callable[[Mapping[str, Any]], str]
    is_response: Callable[[Mapping[str, Any]], bool]
    is_message: Callable[[Any], bool]
    """(value) -> whether it is a single item, outside of any body."""
    assembler: type[StreamAssembler]
    is_event: Callable[[Mapping[str, Any]], bool]
    """(event) -> whether it belongs to the stream of an answer."""
    signs: PayloadSigns
    error: Callable[[int, str], dict[str, Any]]
    """(status, sentence) -> the JSON body of an error, in the form that clients expect."""
    paths: Mapping[str, Purpose] = field(default_factory=dict)
    """Purpose of requests by the end of their path."""
    read_path: Callable[[str], tuple[Purpose, str] | None] = lambda path: None
    """(path) -> its purpose and the model that it names; None if `paths` is enough."""
    path_marks: tuple[str, ...] = ()
    """Parts of paths that show that a request belongs to this API, whatever its purpose."""
    final_events: frozenset[str] = frozenset()
    """Types of the events that end an answer."""
    has_finish: Callable[[Mapping[str, Any]], bool] = _never
    """(event) -> whether an event without a type reports why the answer ended. Only usage may follow such an event."""
    has_whole_events: bool = False
    """True if events look like whole responses, so that a single event does not prove a stream."""
    error_event: Callable[[Mapping[str, Any]], tuple[str, Mapping[str, Any]]] = lambda error: (
        "",
        error,
    )
    """(body of an error) -> name (may be empty) and data of the stream event that reports the error."""
    refuses: frozenset[Refusal] = frozenset()
    """Reasons for which the provider refuses a buffer."""
    content: str = "content"
    """Key of the blocks in an item."""
    counts: str = "usage"
    """Key of the usage in a response."""
    wrapper: str = ""
    """Key under which some clients send the body inside another body; empty if there is none."""
    head: Callable[[Sequence[Any]], int] = lambda items: 0
    """(items) -> number of items at the beginning that are the system prompt."""
    bare: Callable[[Any], Any] = lambda text: {"role": "user", "content": text}
    """(string or object that was sent instead of the list) -> the item."""
    shares: Callable[[Message, Message], bool] = lambda before, message: False
    """(message, next message) -> whether both share an item."""
    join: Callable[[Units], Units] = lambda units: units
    """(messages read item by item) -> the messages of the conversation."""
    pair: Callable[[Units, Iterable[Message]], Units] = lambda units, before: units
    """(messages, the messages before them) -> the messages, with ids for calls and results without an id."""

    def units(
        self, items: Iterable[Any], line: int = 0, time: str = "", before: Iterable[Message] = ()
    ) -> Units:
        """Return the messages of these items, with empty message ids."""
        read = (unit for item in items if (unit := self.read(item, "", line, time)))
        return self.pair(self.join(read), before)

    def items(self, body: Mapping[str, Any]) -> list[Any]:
        """Return all items of a body, in order."""
        value = self.unwrapped(body).get(self.key)
        if isinstance(value, str | Mapping):
            return [self.bare(value)]
        return list(list_of(value))

    def conversation(self, body: Mapping[str, Any]) -> list[Any]:
        """Return the items of a body without its system prompt."""
        items = self.items(body)
        return items[self.head(items) :]

    def unwrapped(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the object that contains the items: the body, or the one in its wrapper."""
        inner = body.get(self.wrapper) if self.wrapper and self.key not in body else None
        return inner if isinstance(inner, Mapping) else body


def calls_by_id(messages: Iterable[Message]) -> Mapping[str, ToolCall]:
    """Return all calls of a buffer by id."""
    return {call.id: call for message in messages for call in message.calls}


_SCHEMAS = (
    ("output_config", "format", "schema"),
    ("output_format", "schema"),
    ("text", "format", "schema"),
    ("response_format", "json_schema", "schema"),
    ("generationConfig", "responseJsonSchema"),
    ("generationConfig", "responseSchema"),
)
"""Paths in a request body at which the APIs expect the JSON schema of the answer."""
_SCHEMA_FIELDS = frozenset(path[0] for path in _SCHEMAS)


def answer_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the JSON schema that the answer must follow; None if the answer is free text."""
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
