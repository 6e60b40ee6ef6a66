"""Read an exporter's data as OTLP's JSON: the body is unpacked and its values are counted before it is parsed.

JSON and protobuf are accepted, compressed or not. Of logs, only records about a model call are kept (some libraries log
messages there).
"""

from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from inspector.core.dialects.decoding import NOT_KNOWN, TOO_LARGE, decoded
from inspector.core.jsontext import NotJson, has_more_values, loads
from inspector.core.untyped import text_at

JSON, PROTOBUF = "application/json", "application/x-protobuf"
LARGEST = 64 << 20
"""Maximum number of bytes of one export, unpacked."""
MOST_VALUES = 500_000
"""Maximum number of values of one export: 2,000 spans with 50 attributes each are 400,000."""
SIGNALS = {
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
}
"""The names of the nested lists of each signal, from the outside in."""
_IDS = ("traceId", "spanId", "parentSpanId")


class BadExport(Exception):
    """The export is refused. `str(error)` says why, `status` is the HTTP status of the answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def unpack_export(body: bytes, encoding: str) -> bytes:
    """Return the body without its Content-Encoding. Raises BadExport."""
    unpacked = decoded(body, encoding)
    if not unpacked.undecoded:
        return unpacked.data
    if unpacked.undecoded.startswith(TOO_LARGE):
        raise BadExport(status=413, why=f"{unpacked.undecoded}; send fewer spans at a time")
    raise BadExport(415 if unpacked.undecoded.endswith(NOT_KNOWN) else 400, unpacked.undecoded)


def read_export(data: bytes, content_type: str, signal: str) -> dict[str, Any]:
    """Return the export as a document that holds only the signal's outermost list. Raises BadExport."""
    document = _read_json(data, signal) if content_type == JSON else _read_protobuf(data, signal)
    if signal == "logs":
        _keep_calls(document)
    return document


def items(document: dict[str, Any], signal: str) -> Iterator[dict[str, Any]]:
    """Yield the spans, or the records of a log."""
    outer, inner, last = SIGNALS[signal]
    for resource in _objects(document.get(outer)):
        for scope in _objects(resource.get(inner)):
            yield from _objects(scope.get(last))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (
        (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
    )


def _read_json(data: bytes, signal: str) -> dict[str, Any]:
    outer, *_ = SIGNALS[signal]
    if has_more_values(data, MOST_VALUES):
        raise _too_many()
    try:
        value = loads(data)
    except NotJson as why:
        raise BadExport(status=400, why=f"not JSON: {why}") from None
    if not isinstance(value, dict) or not isinstance(
        value.get(outer, [] if signal == "logs" else None), list
    ):
        raise BadExport(status=400, why=f"no {outer}")
    return {outer: value.get(outer, [])}


def _too_many() -> BadExport:
    return BadExport(
        status=413, why=f"more than {MOST_VALUES:,} values; send fewer spans at a time"
    )


def _read_protobuf(data: bytes, signal: str) -> dict[str, Any]:
    """Parse protobuf into OTLP's JSON, which writes ids in hex where protobuf's JSON uses base64."""
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    kind: Any = ExportLogsServiceRequest if signal == "logs" else ExportTraceServiceRequest
    try:
        if _has_more_messages(data, kind.DESCRIPTOR, MOST_VALUES):
            raise _too_many()
        document = MessageToDict(kind.FromString(data))
    except (DecodeError, ValueError, RecursionError) as why:
        raise BadExport(status=400, why=f"no {signal} in protobuf: {why}") from None
    for item in items(document, signal):
        for holder in (item, *item.get("links", ())):
            for name in _IDS:
                if name in holder:
                    holder[name] = b64decode(holder[name]).hex()
    return {SIGNALS[signal][0]: document.get(SIGNALS[signal][0], [])}


def _has_more_messages(data: bytes, descriptor: Any, most: int) -> bool:
    """Would parsing make more than `most` messages and fields? Raises ValueError if the data is not protobuf."""
    count = 0
    waiting = [(0, len(data), descriptor)]
    while waiting:
        position, end, kind = waiting.pop()
        inner = {
            field.number: field.message_type
            for field in kind.fields
            if field.message_type is not None
        }
        while position < end:
            count += 1
            if count > most:
                return True
            tag, position = _varint(data, position)
            start, position = _field(data, position, tag & 7)
            if position > end:
                raise ValueError("a field is longer than the message around it")
            message = inner.get(tag >> 3)
            if message is not None and tag & 7 == _SIZED and position > start:
                waiting.append((start, position, message))
    return False


_SIZED = 2
"""Wire type of a field with a length prefix: a text or a message."""


def _field(data: bytes, position: int, wire_type: int) -> tuple[int, int]:
    """Return (start, end) of a field's content."""
    match wire_type:
        case 0:  # a varint
            _, end = _varint(data, position)
            return position, end
        case 1:  # 64 bits
            return position, position + 8
        case 2:  # a length, then that many bytes
            size, position = _varint(data, position)
            return position, position + size
        case 5:  # 32 bits
            return position, position + 4
    raise ValueError("a field of an unknown kind")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a number of seven bits per byte, lowest bits first. Return it and the position after it."""
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("a number does not end")


def _keep_calls(document: dict[str, Any]) -> None:
    """Remove from a log all records that do not describe a model call."""
    outer, inner, last = SIGNALS["logs"]
    for resource in _objects(document[outer]):
        for scope in _objects(resource.get(inner)):
            scope[last] = [record for record in _objects(scope.get(last)) if _is_of_call(record)]


def _is_of_call(record: dict[str, Any]) -> bool:
    if not record.get("spanId"):
        return False
    attributes = _objects(record.get("attributes"))
    named = (field.get("value") for field in attributes if field.get("key") == "event.name")
    names = (record.get("eventName"), *(text_at(value, "stringValue") for value in named))
    return any(isinstance(name, str) and name.startswith("gen_ai.") for name in names)
