"""What the proxy answers itself, in the shape in which each client looks for an error."""

from http import HTTPStatus
from typing import Any

from inspector.core.jsontext import dumps
from inspector.core.untyped import value_in
from inspector.proxy.record.records import Pairs


def dialect_of(path: str) -> str:
    """`anthropic`, `gemini` or `openai`, by the path of the request."""
    place = path.partition("?")[0]
    if "/messages" in place or place.endswith("/complete"):
        return "anthropic"
    if ":generateContent" in place or ":streamGenerateContent" in place or "/v1beta" in place:
        return "gemini"
    return "openai"


def error_document(path: str, status: int, sentence: str) -> dict[str, Any]:
    """The JSON body of an error."""
    match dialect_of(path):
        case "anthropic":
            kind = "api_error" if status >= 500 else "invalid_request_error"
            return {"type": "error", "error": {"type": kind, "message": sentence}}
        case "gemini":
            kind = "UNAVAILABLE" if status >= 500 else "FAILED_PRECONDITION"
            return {"error": {"code": status, "message": sentence, "status": kind}}
        case _:
            kind = "server_error" if status >= 500 else "invalid_request_error"
            return {"error": {"message": sentence, "type": kind, "param": None, "code": "proxy_error"}}


def error_body(path: str, status: int, sentence: str) -> bytes:
    """Return the error's body as JSON bytes."""
    return dumps(error_document(path, status, sentence)).encode()


def whole(status: int, body: bytes, headers: Pairs, *, persists: bool, has_body: bool = True) -> bytes:
    """An HTTP/1.1 response of ours."""
    sent_headers = [(name, value) for name, value in headers if name.lower() not in ("content-length", "connection")]
    sent_headers += [("content-length", str(len(body))), ("connection", "keep-alive" if persists else "close")]
    return start(status, sent_headers) + (body if has_body else b"")


def start(status: int, headers: list[tuple[str, str]] | Pairs) -> bytes:
    """Status line and headers, with the empty line."""
    reason = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", errors="replace")


def late_error(path: str, status: int, body: bytes) -> bytes:
    """An error for a client whose answer was begun as a stream: an event in its dialect, with the error inside."""
    value = value_in(body)
    if not isinstance(value, dict):
        value = error_document(path, status, body.decode(errors="replace")[:1000] or f"The provider answered {status}.")
    if dialect_of(path) == "anthropic":
        return b"event: error\ndata: " + dumps(value).encode() + b"\n\n"
    if "/responses" in path.partition("?")[0]:
        error = value.get("error")
        failed = {"type": "response.failed", "response": {"object": "response", "status": "failed", "error": error}}
        return b"event: response.failed\ndata: " + dumps(failed).encode() + b"\n\n"
    return b"data: " + dumps(value).encode() + b"\n\n"
