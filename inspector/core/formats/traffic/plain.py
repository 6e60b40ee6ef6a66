"""Read the parts of an HTTP message in a capture: its path, its headers as pairs, its decoded body."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.dialects.catalogue import event_of
from inspector.core.dialects.decoding import decoded
from inspector.core.untyped import list_of, text_of, value_in

_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_STREAMS = ("data:", "event:", ": ", "id:")


def url_path(url: Any) -> str:
    """Return the path of a URL with its query; a text that is only a path as it is."""
    text = text_of(url)
    host = _HOST.match(text)
    return (text[host.end() :] or "/") if host else text


def header_pairs(value: Any) -> list[list[str]]:
    """Return headers as [name, value] pairs.

    Captures write them as an object (with a text or a list for each name), as pairs, or as `{name, value}` objects.
    """
    pairs: list[list[str]] = []
    if isinstance(value, Mapping):
        for name, field in value.items():
            texts = field if isinstance(field, list) else [field]
            pairs += ([str(name), text] for text in texts if isinstance(text, str))
    for row in list_of(value):
        match row:
            case {"name": str(name), "value": str(text)} | [str(name), str(text)]:
                pairs.append([name, text])
    return pairs


def header(pairs: Sequence[Sequence[str]], name: str) -> str:
    """Return the value of the first header with this name (lower case); empty if there is none."""
    return next((text for header_name, text in pairs if header_name.lower() == name), "")


def plain_body(data: Any, headers: Sequence[Sequence[str]] = ()) -> Any:
    """Return a body without its chunks and its content encoding: parsed if it is JSON, else as text.

    Values that are neither text nor bytes are returned as they are.
    """
    if isinstance(data, str | bytes) and "chunked" in header(headers, "transfer-encoding"):
        data = _without_chunks(data)
    if isinstance(data, bytes):
        data = decoded(data, header(headers, "content-encoding")).data.decode("utf-8", "replace")
    if isinstance(data, str) and data.lstrip()[:1] in ("{", "["):
        return value_in(data, data)
    return data


_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[^\r\n]*)?\r\n")


def _without_chunks(data: str | bytes) -> str | bytes:
    """Return a body with its chunks joined; a body without chunks as it is, because most captures joined them."""
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    chunks = list[bytes]()
    at = 0
    while head := _CHUNK.match(raw, at):
        end = head.end() + int(head[1], 16)
        chunks.append(raw[head.end() : end])
        at = end + 2
        if raw[end:at] not in (b"\r\n", b""):
            return data
    if not chunks:
        return data
    whole = b"".join(chunks)
    return whole.decode("utf-8", "replace") if isinstance(data, str) else whole


def bytes_of(text: Any) -> bytes:
    """Decode a base64 text; empty if it cannot be decoded."""
    try:
        return b64decode(text, validate=False) if isinstance(text, str) else b""
    except (Error, ValueError):
        return b""


def content_of(value: Any) -> dict[str, Any]:
    """Return the field of a response record for this body: JSON, a list of events, an event stream, or other text."""
    match value:
        case Mapping():
            return {"body": value}
        case list():
            return {"frames": [event for event in map(event_of, value) if event is not None]}
        case str() if value.lstrip().startswith(_STREAMS):
            return {"stream": value.lstrip()}
        case str():
            return {"text": value[:4000]}
    return {}
