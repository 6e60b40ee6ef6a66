"""Records to lines of the recording: JSON objects, keys taken out, bodies unpacked, what was said before pointed at.

Runs in the recorder's thread, so it may take its time.
"""

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from inspector.core.jsontext import NotJson, loads
from inspector.proxy.decoding import decoded
from inspector.proxy.gate import Pairs
from inspector.proxy.record.body_delta import Like, Likeness, Shape, shape_of
from inspector.proxy.record.captured_body import Tape
from inspector.proxy.record.records import (
    FrameSeen,
    FramesSeen,
    HeldSeen,
    NoteSeen,
    Record,
    ReleasedSeen,
    RequestSeen,
    ResponseSeen,
    RuleSeen,
    SentSeen,
)
from inspector.proxy.record.redact import redacted_headers, redacted_path
from inspector.proxy.record.streams import is_over, is_stream


class Lines:
    """Knows what was written down, so that it need not be said twice."""

    def __init__(self) -> None:
        self._likeness = Likeness()
        self._pending: tuple[int, Shape, Like | None] | None = None

    def forget(self) -> None:
        """The recording begins anew: nothing stands in it."""
        self._likeness.forget()
        self._pending = None

    def written(self) -> None:
        """The last line is on disk: later ones may point at it."""
        if self._pending is not None:
            self._likeness.remember(*self._pending)
            self._pending = None

    def line(self, record: Record) -> dict[str, Any]:
        """The record as JSON, for one line."""
        self._pending = None
        match record:
            case RequestSeen():
                return self._request(record)
            case SentSeen():
                return _head("sent", record.time, record.exchange) | self._body(_taped(record.body, ()), None)
            case ResponseSeen():
                return _response(record)
            case FramesSeen():
                return _frames(record)
            case FrameSeen():
                told = {} if record.exchange is None else {"exchange": record.exchange}
                head = {"type": "frame", "time": _iso(record.time), "connection": record.connection, **told}
                left_out = {"left_out": record.body.left_out} if record.body.left_out else {}
                return head | {"from": record.side} | (left_out or _parsed(record.body.join(), "", ""))
            case HeldSeen():
                tokens = {} if record.tokens is None else {"tokens": record.tokens}
                return _head("held", record.time, record.exchange) | {"why": record.why} | tokens
            case ReleasedSeen():
                return _head("released", record.time, record.exchange) | {"how": record.how}
            case NoteSeen():
                return {"type": "note", "time": _iso(record.time), "what": record.what}
            case RuleSeen():
                return {"type": "rule", "time": _iso(record.time)} | dict(record.standing)

    def _request(self, record: RequestSeen) -> dict[str, Any]:
        said = _head("request", record.time, record.exchange) | {
            "transport": record.transport,
            "connection": record.connection,
            "method": record.method,
            "path": redacted_path(record.path),
        }
        if record.tag:
            said["tag"] = record.tag
        said["headers"] = redacted_headers(record.headers)
        return said | self._body(_taped(record.body, record.headers), record.exchange)

    def _body(self, told: dict[str, Any], exchange: int | None) -> dict[str, Any]:
        """The body's fields, what an earlier one holds taken out. `exchange`: later ones may point at it."""
        body = told.get("body")
        if not isinstance(body, Mapping):
            return told
        shape = shape_of(body)
        like = self._likeness.find(shape)
        if exchange is not None:
            self._pending = exchange, shape, like
        return told | ({"body": like.rest(body), "like": like.document()} if like else {})


def _head(kind: str, time: float, exchange: int) -> dict[str, Any]:
    return {"type": kind, "exchange": exchange, "time": _iso(time)}


def _iso(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _response(record: ResponseSeen) -> dict[str, Any]:
    told = _taped(record.body, record.headers)
    ended, error = record.ended, record.error
    if ended in ("client closed", "upstream closed") and is_over(told.get("stream", "")):
        ended, error = "complete", ""
    return (
        _answered(record)
        | ({"own": True} if record.own else {})
        | told
        | {"ended": ended}
        | ({"error": error} if error else {})
    )


def _answered(record: ResponseSeen | FramesSeen) -> dict[str, Any]:
    return _head("response", record.time, record.exchange) | {
        "status": record.status,
        "headers": redacted_headers(record.headers),
        "first_byte_ms": round(record.first_byte_ms, 3),
        "elapsed_ms": round(record.elapsed_ms, 3),
    }


def _frames(record: FramesSeen) -> dict[str, Any]:
    tape = record.body
    told = {"left_out": tape.left_out} if tape.left_out else {"frames": [_frame(one) for one in tape.pieces()]}
    error = {"error": record.error} if record.error else {}
    return _answered(record) | {"size": tape.size} | told | {"ended": record.ended} | error


def _frame(data: bytes) -> Any:
    told = _parsed(data, "application/json", "")
    return told["body"] if "body" in told else told.get("text", told)


def _taped(tape: Tape, headers: Pairs) -> dict[str, Any]:
    """Size, digest and content of a body."""
    found = {name.lower(): value for name, value in reversed(headers)}
    encoding = found.get("content-encoding", "")
    told: dict[str, Any] = {"size": tape.size}
    if tape.left_out:
        return told | {"left_out": tape.left_out}
    data = tape.join()
    told["sha256"] = sha256(data).hexdigest()
    if encoding and encoding.lower() != "identity":
        told["encoding"] = encoding
    return told | _parsed(data, found.get("content-type", ""), encoding)


def _parsed(data: bytes, content_type: str, encoding: str) -> dict[str, Any]:
    """`body`, `stream`, `text` or `base64`; nothing where there is nothing."""
    found = decoded(data, encoding)
    if found.undecoded:
        return {"base64": b64encode(found.data).decode(), "undecoded": found.undecoded}
    plain = found.data
    if not plain:
        return {}
    if is_stream(content_type, plain):
        return {"stream": plain.decode("utf-8", errors="replace")}
    if plain[:1] in b"{[" or "json" in content_type.lower():
        try:
            return {"body": loads(plain)}
        except NotJson:
            pass
    try:
        return {"text": plain.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(plain).decode()}
