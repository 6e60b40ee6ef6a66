"""Turn records into lines of the recording: JSON objects with keys removed, bodies unpacked and repetition referenced.

An agent sends its whole history with every request. What a body shares with an earlier one is not written again, so a
session of N requests costs O(messages) on disk. Of earlier bodies only digests are kept: a few bytes per message.
"""

from base64 import b64encode
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import Any, NamedTuple, TypeAlias

from inspector.core.dialects.catalogue import is_terminal
from inspector.core.dialects.decoding import decoded
from inspector.core.jsontext import NotJson, dumps, has_more_values, loads
from inspector.proxy.record.records import (
    CapturedBody,
    FrameRecord,
    Pairs,
    PlainRecord,
    Record,
    RequestRecord,
    ResponseRecord,
    SentRecord,
    iso,
)
from inspector.proxy.record.redact import redacted_headers, redacted_path, redacted_url

_LOOKED_AT = 4
"""Number of events examined from the end: usage, a ping and `[DONE]` may follow the terminal event."""


def is_stream(content_type: str, data: bytes) -> bool:
    """Is the data a stream of server-sent events? Decided by its content type, or by its beginning if no type was
    given.
    """
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "text/event-stream" or (
        not kind and data.startswith((b"event:", b"data:", b": "))
    )


def is_over(text: str) -> bool:
    """Does the event stream hold its complete terminal event?"""
    return any(map(_is_terminal, _last_events(text)))


def _is_terminal(data: str) -> bool:
    if data == "[DONE]":
        return True
    try:
        return is_terminal(loads(data.encode()))
    except NotJson:
        return False


def _last_events(text: str) -> Iterator[str]:
    """Yield the data of the last complete events, last first. A stream may end without the empty line after an
    event.
    """
    text = text.replace("\r\n", "\n") if "\r" in text[-400:] else text
    end = len(text)
    for _ in range(_LOOKED_AT):
        while end and text[end - 1] == "\n":
            end -= 1
        if not end:
            return
        start = text.rfind("\n\n", 0, end) + 2 if "\n\n" in text[:end] else 0
        lines = text[start:end].split("\n")
        data = [line[5:].removeprefix(" ") for line in lines if line.startswith("data:")]
        if data:
            yield "\n".join(data)
        end = start


KEPT = 64
"""Number of threads whose latest body is kept for comparison with new ones."""
_CHANGED_AT_END = 4
"""Most elements at the end of a list that may differ in a body that extends it."""
_WORTH = 200
"""Number of bytes that a reference to an earlier body must save at least."""


@dataclass(frozen=True, slots=True)
class ValueShape:
    """Digests and sizes of one top-level value of a body: of each element of a list, or of any other value as a
    whole.
    """

    is_list: bool
    digests: tuple[bytes, ...]
    sizes: tuple[int, ...]


BodyShape: TypeAlias = Mapping[str, ValueShape]


@dataclass(frozen=True, slots=True)
class BodyDelta:
    """The part of a body that repeats the body of request `exchange`.

    `all`: keys with the same value. `first`: by key, how many leading items of its list are the same.
    `saved`: bytes that need not be written.
    """

    exchange: int
    all: tuple[str, ...]
    first: Mapping[str, int]
    saved: int

    def document(self) -> dict[str, Any]:
        return {"exchange": self.exchange, "all": list(self.all), "first": dict(self.first)}

    def rest(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: value[self.first[key] :] if key in self.first else value
            for key, value in body.items()
            if key not in self.all
        }


class RecordedBody(NamedTuple):
    """A body that later bodies may refer to once it is on disk."""

    exchange: int
    shape: BodyShape
    delta: BodyDelta | None
    """The reference to an earlier body, if the body was written as one."""


class BodyDeltas:
    """Remembers the shapes of recorded bodies."""

    def __init__(self) -> None:
        self._shapes: OrderedDict[int, BodyShape] = OrderedDict()

    def find(self, shape: BodyShape) -> BodyDelta | None:
        """Return the reference that saves most bytes, preferring the latest body; None if none saves enough."""
        best: BodyDelta | None = None
        for exchange in reversed(self._shapes):
            delta = _compare_shapes(exchange, self._shapes[exchange], shape)
            least_saved = best.saved if best else _WORTH
            if delta.saved > least_saved:
                best = delta
        return best

    def remember(self, body: RecordedBody) -> None:
        """Remember a body that was recorded. The earlier body that it extends is forgotten."""
        delta = body.delta
        if delta is not None:
            earlier = self._shapes.get(delta.exchange)
            if earlier is not None and _is_extended_by(earlier, delta):
                del self._shapes[delta.exchange]
        self._shapes[body.exchange] = body.shape
        if len(self._shapes) > KEPT:
            self._shapes.popitem(last=False)


def shape_of(body: Mapping[str, Any]) -> BodyShape:
    """Return the shape of a body's value. O(size)."""
    return {key: _value_shape(value) for key, value in body.items()}


def _value_shape(value: Any) -> ValueShape:
    is_list = isinstance(value, list) and bool(value)
    written = [dumps(item).encode() for item in (value if is_list else (value,))]
    digests = (blake2b(data, digest_size=16).digest() for data in written)
    return ValueShape(is_list, tuple(digests), tuple(map(len, written)))


def _compare_shapes(exchange: int, earlier: BodyShape, shape: BodyShape) -> BodyDelta:
    """Find what a body has in common with the earlier body of an exchange."""
    same: list[str] = []
    first: dict[str, int] = {}
    saved = 0
    for key, value in shape.items():
        former = earlier.get(key)
        if former is None or former.is_list != value.is_list:
            continue
        count = _count_common(value.digests, former.digests)
        if count == len(value.digests) == len(former.digests):
            same.append(key)
        elif count and value.is_list:
            first[key] = count
        saved += sum(value.sizes[:count])
    return BodyDelta(exchange, all=tuple(same), first=first, saved=saved)


def _count_common(digests: Sequence[bytes], others: Sequence[bytes]) -> int:
    """Return how many leading digests are the same."""
    for count, (digest, other) in enumerate(zip(digests, others, strict=False)):
        if digest != other:
            return count
    return min(len(digests), len(others))


def _is_extended_by(earlier: BodyShape, delta: BodyDelta) -> bool:
    """Does the later body extend the earlier one (or all but the last few elements of its lists)?"""
    for key, value in earlier.items():
        changed_count = len(value.digests) - delta.first.get(key, 0)
        if value.is_list and key not in delta.all and changed_count > _CHANGED_AT_END:
            return False
    return True


class LineEncoder:
    """Encodes records as documents. Remembers what was recorded, so that nothing is written twice."""

    def __init__(self) -> None:
        self._deltas = BodyDeltas()
        self._pending: RecordedBody | None = None

    def forget(self) -> None:
        """Forget all lines, because the recording starts again with an empty file."""
        self._deltas = BodyDeltas()
        self._pending = None

    def written(self) -> None:
        """Note that the last line is on disk, so that later lines may refer to it."""
        if self._pending is not None:
            self._deltas.remember(self._pending)
            self._pending = None

    def line(self, record: Record) -> dict[str, Any]:
        self._pending = None
        match record:
            case RequestRecord(head, body):
                upstream = redacted_url(head.upstream)
                known = {"tag": head.tag, "upstream": upstream}
                optional = {name: value for name, value in known.items() if value}
                about = {
                    "transport": head.transport,
                    "connection": head.connection,
                    "method": head.method,
                    "path": redacted_path(head.path),
                    **optional,
                    "headers": redacted_headers(head.headers),
                }
                fields = self._delta(_body_fields(body, head.headers), head.exchange)
                return _head("request", head.time, head.exchange) | about | fields
            case SentRecord():
                return _head("sent", record.time, record.exchange) | self._delta(
                    _body_fields(record.body, ()), None
                )
            case ResponseRecord():
                return response_document(record)
            case FrameRecord():
                under_way = {} if record.exchange is None else {"exchange": record.exchange}
                about = {
                    "type": "frame",
                    "time": iso(record.time),
                    "connection": record.connection,
                    **under_way,
                }
                left_out = {"left_out": record.body.left_out} if record.body.left_out else {}
                return (
                    about
                    | {"from": record.side}
                    | (left_out or _parsed(record.body.join(), "", ""))
                )
            case PlainRecord(document):
                return dict(document)

    def _delta(self, fields: dict[str, Any], exchange: int | None) -> dict[str, Any]:
        """Return a body's fields without what an earlier body holds. With `exchange`, later bodies may refer to this
        one.
        """
        body = fields.get("body")
        if not isinstance(body, Mapping):
            return fields
        shape = shape_of(body)
        delta = self._deltas.find(shape)
        if exchange is not None:
            self._pending = RecordedBody(exchange, shape, delta)
        if delta is None:
            return fields
        return fields | {"body": delta.rest(body), "like": delta.document()}


def _head(kind: str, time: float, exchange: int) -> dict[str, Any]:
    return {"type": kind, "exchange": exchange, "time": iso(time)}


def response_document(record: ResponseRecord) -> dict[str, Any]:
    """Return an answer in the form of the recording."""
    about = _head("response", record.time, record.exchange) | {
        "status": record.status,
        "headers": redacted_headers(record.headers),
        "first_byte_ms": round(record.first_byte_ms, 3),
        "elapsed_ms": round(record.elapsed_ms, 3),
    }
    body = record.body
    ended = record.ended
    error = record.error
    if record.has_frames:
        fields: dict[str, Any] = {"size": body.size}
        if body.left_out:
            fields["left_out"] = body.left_out
        else:
            fields["frames"] = [_frame(piece) for piece in body.pieces()]
    else:
        fields = _body_fields(body, record.headers)
        if ended in ("client closed", "upstream closed") and is_over(fields.get("stream", "")):
            ended = "complete"
            error = ""
    own = {"own": True} if record.own and not record.has_frames else {}
    document = about | own | fields | {"ended": ended}
    if error:
        document["error"] = error
    return document


def _frame(data: bytes) -> Any:
    value = _parsed(data, "application/json", "")
    return value["body"] if "body" in value else value.get("text", value)


def _body_fields(body: CapturedBody, headers: Pairs) -> dict[str, Any]:
    """Return size, digest and content of a body."""
    by_name = {name.lower(): value for name, value in reversed(headers)}
    encoding = by_name.get("content-encoding", "")
    document: dict[str, Any] = {"size": body.size}
    if body.left_out:
        return document | {"left_out": body.left_out}
    data = body.join()
    document["sha256"] = sha256(data).hexdigest()
    if encoding and encoding.lower() != "identity":
        document["encoding"] = encoding
    return document | _parsed(data, by_name.get("content-type", ""), encoding)


MOST_VALUES = 250_000
"""Maximum number of values of a body that is recorded as JSON; a body with more is recorded as text."""
LARGEST_PACKED = 4_000_000
"""Maximum number of bytes of a body that is recorded although it cannot be unpacked."""
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r"))
"""Characters that take six bytes each in JSON."""


def _parsed(data: bytes, content_type: str, encoding: str) -> dict[str, Any]:
    """Return the content as `body`, `stream`, `text`, `base64` or `left_out`; no field if the body is empty."""
    body = decoded(data, encoding)
    if body.undecoded and len(data) > LARGEST_PACKED:
        return {"left_out": body.undecoded}
    if body.undecoded:
        return {"base64": b64encode(body.data).decode(), "undecoded": body.undecoded}
    plain = body.data
    if not plain:
        return {}
    if _is_binary(plain):
        return {"base64": b64encode(plain).decode()}
    if is_stream(content_type, plain):
        return {"stream": plain.decode("utf-8", errors="replace")}
    is_json = plain[:1] in b"{[" or "json" in content_type.lower()
    if is_json and not has_more_values(plain, MOST_VALUES):
        try:
            return {"body": loads(plain)}
        except NotJson:
            pass
    try:
        return {"text": plain.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(plain).decode()}


def _is_binary(data: bytes) -> bool:
    """Are more than a tenth of the bytes control characters?"""
    return 10 * (len(data) - len(data.translate(None, _CONTROLS))) > len(data)
