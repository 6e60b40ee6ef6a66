"""Answers that the proxy gives itself, in the form in which each client expects an error."""

from http import HTTPStatus
from typing import Any

from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.dialects.dialect import Dialect
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.jsontext import dumps
from inspector.core.untyped import value_in
from inspector.proxy.record.records import Pairs


def _dialect_of(path: str) -> Dialect:
    """Return the dialect of a path, even if it is not a model call; for an unknown path OpenAI's, which many others
    copy.
    """
    place = path.partition("?")[0]
    for dialect in DIALECTS.values():
        if any(mark in place for mark in dialect.path_marks):
            return dialect
    return CHAT


def error_document(path: str, status: int, sentence: str) -> dict[str, Any]:
    """Return the JSON body of an error."""
    return _dialect_of(path).error(status, sentence)


def error_body(path: str, status: int, sentence: str) -> bytes:
    """Return the error's body as JSON bytes."""
    return dumps(error_document(path, status, sentence)).encode()


def whole(
    status: int, body: bytes, headers: Pairs, *, persists: bool, has_body: bool = True
) -> bytes:
    """Return a complete HTTP/1.1 response made by the proxy."""
    sent_headers = [
        (name, value)
        for name, value in headers
        if name.lower() not in ("content-length", "connection")
    ]
    sent_headers += [
        ("content-length", str(len(body))),
        ("connection", "keep-alive" if persists else "close"),
    ]
    return start(status, sent_headers) + (body if has_body else b"")


def start(status: int, headers: list[tuple[str, str]] | Pairs) -> bytes:
    """Return status line and headers, with the empty line."""
    reason = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", errors="replace")


def late_error(path: str, status: int, body: bytes) -> bytes:
    """Return an error for a client whose answer was begun as a stream: an event that contains the error."""
    error = value_in(body)
    if not isinstance(error, dict):
        error = error_document(
            path, status, body.decode(errors="replace")[:1000] or f"The provider answered {status}."
        )
    name, data = _dialect_of(path).error_event(error)
    lead = f"event: {name}\n".encode() if name else b""
    return lead + b"data: " + dumps(data).encode() + b"\n\n"
