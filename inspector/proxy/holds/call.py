"""What a request at the gate asks for: whose it is, in which dialect, what the model would read, how large that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from inspector.core.buffer import Buffer, Prompt
from inspector.core.dialects.catalogue import DIALECTS, endpoint
from inspector.core.dialects.rewrite import PREVIOUS, items_of, read_wire_items
from inspector.core.formats.proxy.keys import ClientKey, key_of
from inspector.core.formats.proxy.side import read_signs, side_kind
from inspector.core.identity import fingerprint
from inspector.core.jsontext import dumps
from inspector.proxy.gate import PendingRequest

ThreadKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A model call as the gate reads it from a request."""

    dialect: str
    model: str
    """Named by the body, else by the path."""
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    key: ClientKey
    thread: ThreadKey
    """Whose conversation: by the client's own key, else by the words that it begins with."""
    own: Sequence[Any]
    """The items of the body itself."""
    items: Sequence[Any] | None
    """The whole conversation as the client has it; None where it continues from a response that is not known here."""
    held: Sequence[Any] | None
    """What the provider has of it already; empty where the body holds all."""
    prompt: Prompt
    side: str
    """Why it is no step of the conversation; empty where it is one."""
    digest: str
    """The same for the same words: a request made again."""
    streams: bool
    """Does the client want an event stream?"""

    @property
    def goes_on(self) -> bool:
        """Does it name a response that it continues from?"""
        return bool(self.body.get(PREVIOUS))


@dataclass(frozen=True, slots=True)
class ResponseChain:
    """What a response leads to: as the client has it, and as the provider has it (a cut stands between them)."""

    client: Sequence[Any]
    provider: Sequence[Any]


def is_call(method: str, path: str) -> bool:
    """Is a model asked, or the provider asked to compact?"""
    return method.upper() in ("POST", "GET") and endpoint(method, path).purpose in (
        "call",
        "compact",
    )


def read(pending: PendingRequest, chains: Mapping[str, ResponseChain]) -> ModelCall | None:
    """Read a request as a model call; None if it is none.

    Args:
        chains: what earlier responses continue, by the response's id.
    """
    where = endpoint("POST", pending.path)
    body = pending.body
    if where.dialect is None or where.dialect.name not in DIALECTS or not isinstance(body, Mapping):
        return None
    dialect = where.dialect.name
    own = items_of(dialect, body)
    chain = chains.get(str(body.get(PREVIOUS))) if body.get(PREVIOUS) else ResponseChain((), ())
    items, held = (None, None) if chain is None else ([*chain.client, *own], chain.provider)
    headers = _read_headers(pending)
    prompt = where.dialect.prompt(body)
    key = key_of(headers, body, pending.tag, (prompt.system or "")[:4000])
    thread = _thread(key, dialect, own if items is None else items)
    model = body.get("model")
    model_name = model if isinstance(model, str) else where.model
    side = "compaction"
    if where.purpose != "compact":
        messages = read_wire_items(dialect, own)
        side = side_kind(read_signs(body, headers, prompt, messages, messages[::-1], len(messages)))
    content = dumps([model, body.get(PREVIOUS), own])
    digest = blake2b(content.encode("utf-8", "replace")).hexdigest()
    is_stream = body.get("stream") is True or ":streamGenerateContent" in pending.path
    return ModelCall(
        dialect,
        model_name,
        body,
        headers,
        key,
        thread,
        own,
        items,
        held,
        prompt,
        side,
        digest,
        is_stream,
    )


def _read_headers(pending: PendingRequest) -> dict[str, str]:
    headers = {name.lower(): value for name, value in reversed(pending.headers)}
    if (
        pending.head.transport == "websocket"
    ):  # those of the handshake, so they describe the first turn only
        headers.pop("x-codex-turn-metadata", None)
    return headers


def _thread(key: ClientKey, dialect: str, items: Sequence[Any]) -> ThreadKey:
    wire = DIALECTS[dialect]
    head = wire.head(items)
    first = fingerprint(wire.read(items[head], "", 0, "")) if len(items) > head else ""
    if key.strong and (key.thread or not key.sub):
        return key.client, key.session, key.thread
    return key.client, key.session, dialect, first


def buffer_of(call: ModelCall, items: Sequence[Any]) -> Buffer:
    """What the model would read."""
    return Buffer(read_wire_items(call.dialect, items), call.prompt)
