"""Dialects by name, the dialect of a URL path, and the assembly of recorded streams into responses.

Server-sent events are parsed from the joined text, so that network chunks do not matter. Of a stream that was cut off,
everything before the cut is kept, including the usage reported so far.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from inspector.core.dialects.anthropic import ANTHROPIC
from inspector.core.dialects.dialect import Dialect, Purpose, StreamAssembler
from inspector.core.dialects.gemini import GEMINI
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.dialects.openai_responses import RESPONSES
from inspector.core.untyped import object_in, text_of, value_in

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {dialect.name: dialect for dialect in (ANTHROPIC, CHAT, RESPONSES, GEMINI)}
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The purpose of requests to a path, and their dialect."""

    purpose: Purpose
    dialect: Dialect | None = None
    model: str = ""
    """The model that the path names, as in Gemini's API; empty if the path names no model."""


@lru_cache(maxsize=256)
def endpoint(method: str, path: str) -> Endpoint:
    """Return the purpose and dialect of a request by the end of its path; the beginning depends on the host.

    A WebSocket frame counts as a POST.
    """
    plain = path.partition("?")[0].rstrip("/")
    if method.upper() not in ("POST", "WEBSOCKET", "GET", ""):
        return Endpoint("other")
    for dialect in DIALECTS.values():
        if meaning := dialect.read_path(plain):
            purpose, model = meaning
            return Endpoint(purpose, dialect, model)
        for end, purpose in dialect.paths.items():
            if plain.endswith(end):
                return Endpoint(purpose, dialect)
    return Endpoint("other")


def events(stream: str) -> Iterator[Any]:
    """Yield the parsed data of the events of an event stream, in order, without comments, `[DONE]` and invalid JSON.

    A complete last event counts even without an empty line after it, because a recording may end there.
    """
    data: list[str] = []
    text = stream.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    for line in (*text.split("\n"), ""):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            value = value_in("\n".join(data))
            if value is not None:
                yield value
            data = []


def event_of(row: Any) -> Mapping[str, Any] | None:
    """Return the event in a row of a list; None if the row has none.

    The event is the `data` of the row, as an object or as JSON text, if the row also has `event` or lacks `type`; else
    the row itself.
    """
    if not isinstance(row, Mapping):
        return object_in(row) or None
    inner = row.get("data")
    event = object_in(inner) if isinstance(inner, str) else inner
    if event and isinstance(event, Mapping) and ("event" in row or "type" not in row):
        return event
    return row


def assemble(dialect: Dialect, stream: Iterable[Any]) -> StreamAssembler:
    """Assemble events or WebSocket frames into a response."""
    assembler = dialect.assembler()
    for event in stream:
        if isinstance(event, Mapping):
            assembler.feed(event)
    return assembler


def is_terminal(message: Any) -> bool:
    """Is this parsed event the last event of an answer in any dialect?"""
    if not isinstance(message, Mapping):
        return False
    kind = text_of(message.get("type"))
    return kind == "error" or any(
        kind in each.final_events or each.has_finish(message) for each in DIALECTS.values()
    )
