"""The dialects by name; which of them a path speaks; recorded streams put together into the response that they report.

Server-sent events are parsed on the joined text: where the network cut it into pieces means nothing. What came before a
cut is kept, with the usage as far as it was reported.
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
    """What a path asks for, and in whose dialect."""

    purpose: Purpose
    dialect: Dialect | None = None
    model: str = ""
    """Named by the path, as Gemini does."""


@lru_cache(maxsize=256)
def endpoint(method: str, path: str) -> Endpoint:
    """Return what a request asks for, by the end of its path: the beginning is up to the host.

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
    """The parsed data of the events of an event stream, in order. Comments, `[DONE]` and what is no JSON are left out.

    The last event counts without the empty line after it, if it is whole: a recording may have been cut there.
    """
    data: list[str] = []
    text = stream.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    for line in (*text.split("\n"), ""):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            if (value := value_in("\n".join(data))) is not None:
                yield value
            data = []


def event_of(row: Any) -> Mapping[str, Any] | None:
    """The event in a row of a list: what stands under `data` beside its name, as a value or as text, else the row.

    None for what is none.
    """
    if not isinstance(row, Mapping):
        return object_in(row) or None
    inner = row.get("data")
    event = object_in(inner) if isinstance(inner, str) else inner
    return (
        event
        if event and isinstance(event, Mapping) and ("event" in row or "type" not in row)
        else row
    )


def assemble(dialect: Dialect, stream: Iterable[Any]) -> StreamAssembler:
    """All these events (or WebSocket frames), put together."""
    assembler = dialect.assembler()
    for event in stream:
        if isinstance(event, Mapping):
            assembler.feed(event)
    return assembler


def is_terminal(message: Any) -> bool:
    """Is this (parsed) event the last of an answer, in any of the dialects?"""
    if not isinstance(message, Mapping):
        return False
    kind = text_of(message.get("type"))
    return kind == "error" or any(
        kind in each.final_events or each.has_finish(message) for each in DIALECTS.values()
    )
