"""Read a request at the gate as a model call: its conversation, its dialect, and what the model would read."""

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
    """The model's name from the body, or else from the path."""
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    key: ClientKey
    thread: ThreadKey
    """Key of the conversation: from the client's own key, or else from the words that it begins with."""
    own: Sequence[Any]
    """The items of this request's own body."""
    items: Sequence[Any] | None
    """The whole conversation as the client has it; None if it continues an unknown response."""
    held: Sequence[Any] | None
    """The items that the provider already has; empty if the body holds all of them."""
    prompt: Prompt
    side: str
    """The kind of side call; empty if the call is a step of the conversation."""
    digest: str
    """A digest that is equal for requests with the same content, such as retries."""
    streams: bool
    """True if the client wants an event stream."""

    @property
    def goes_on(self) -> bool:
        """Does the call name a response that it continues from?"""
        return bool(self.body.get(PREVIOUS))


@dataclass(frozen=True, slots=True)
class ResponseChain:
    """The items that a response continues: as the client has them and as the provider has them, which differ after a
    cut.
    """

    client: Sequence[Any]
    provider: Sequence[Any]


def is_call(method: str, path: str) -> bool:
    """Does the request call a model, or ask the provider to compact?"""
    return method.upper() in ("POST", "GET") and endpoint(method, path).purpose in (
        "call",
        "compact",
    )


def read(pending: PendingRequest, chains: Mapping[str, ResponseChain]) -> ModelCall | None:
    """Read a request as a model call; None if it is not one.

    Args:
        pending: The request.
        chains: The conversations that earlier responses continue, by response id.
    """
    where = endpoint("POST", pending.path)
    body = pending.body
    if where.dialect is None or where.dialect.name not in DIALECTS or not isinstance(body, Mapping):
        return None
    dialect = where.dialect.name
    own = items_of(dialect, body)
    previous = body.get(PREVIOUS)
    chain = chains.get(str(previous)) if previous else ResponseChain((), ())
    items = None if chain is None else [*chain.client, *own]
    held = None if chain is None else chain.provider
    headers = _read_headers(pending)
    prompt = where.dialect.prompt(body)
    key = key_of(headers, body, pending.tag, system=(prompt.system or "")[:4000])
    thread = _thread(key, dialect, own if items is None else items)
    model = body.get("model")
    model_name = model if isinstance(model, str) else where.model
    side = "compaction"
    if where.purpose != "compact":
        messages = read_wire_items(dialect, own)
        signs = read_signs(
            body, headers, prompt, begun=messages, backwards=messages[::-1], messages=len(messages)
        )
        side = side_kind(signs)
    content = dumps([model, previous, own])
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
    # The handshake's headers describe only the first turn.
    if pending.head.transport == "websocket":
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
    """Return the buffer that the model would read."""
    return Buffer(read_wire_items(call.dialect, items), call.prompt)
