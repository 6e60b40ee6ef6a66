"""A message over HTTP as a capture has it: its path, its headers as pairs, its body out of what it is packed in."""

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


def path_of(url: Any) -> str:
    """The path of an address, with its query; a path stays what it is."""
    text = text_of(url)
    found = _HOST.match(text)
    return (text[found.end() :] or "/") if found else text


def header_pairs(value: Any) -> list[list[str]]:
    """Headers as a recording has them, of an object (a text or a list each), of pairs, of `{name, value}`."""
    pairs: list[list[str]] = []
    if isinstance(value, Mapping):
        for name, told in value.items():
            pairs += (
                [str(name), text] for text in (told if isinstance(told, list) else [told]) if isinstance(text, str)
            )
    for one in list_of(value):
        match one:
            case {"name": str(name), "value": str(text)} | [str(name), str(text)]:
                pairs.append([name, text])
    return pairs


def header(pairs: Sequence[Sequence[str]], wanted: str) -> str:
    """The first header of that name (lower case); empty where there is none."""
    return next((text for name, text in pairs if name.lower() == wanted), "")


def plain_body(data: Any, headers: Sequence[Sequence[str]] = ()) -> Any:
    """A body out of its chunks and its content encoding and, where it is JSON, parsed; else its text. Other values as
    they are."""
    if isinstance(data, str | bytes) and "chunked" in header(headers, "transfer-encoding"):
        data = _without_chunks(data)
    if isinstance(data, bytes):
        data = decoded(data, header(headers, "content-encoding")).data.decode("utf-8", "replace")
    if isinstance(data, str) and data.lstrip()[:1] in ("{", "["):
        return value_in(data, data)
    return data


_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[^\r\n]*)?\r\n")


def _without_chunks(data: str | bytes) -> str | bytes:
    """A body as it went over the line, put together; most captures did that already."""
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    found, at = list[bytes](), 0
    while head := _CHUNK.match(raw, at):
        end = head.end() + int(head[1], 16)
        found.append(raw[head.end() : end])
        at = end + 2
        if raw[end:at] not in (b"\r\n", b""):
            return data
    whole = b"".join(found)
    return data if not found else whole.decode("utf-8", "replace") if isinstance(data, str) else whole


def bytes_of(text: Any) -> bytes:
    """What a text in base64 stands for; empty where it is none."""
    try:
        return b64decode(text, validate=False) if isinstance(text, str) else b""
    except (Error, ValueError):
        return b""


def content_of(value: Any) -> dict[str, Any]:
    """The fields of a recorded response that hold this body: JSON, events, an event stream, any other text."""
    match value:
        case Mapping():
            return {"body": value}
        case list():
            return {"frames": [event for one in value if (event := event_of(one)) is not None]}
        case str() if value.lstrip().startswith(_STREAMS):
            return {"stream": value.lstrip()}
        case str():
            return {"text": value[:4000]}
    return {}
