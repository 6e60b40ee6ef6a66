"""Read OpenTelemetry's spans: OTLP JSON, the Python SDK's `to_json`, the JavaScript SDK's ReadableSpan, and the JSON of
collectors (Jaeger, Zipkin).

Phoenix exports the Python SDK's form with a `span_kind`. Log records in the same file are read if they describe a model
call; metrics are ignored.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.core.formats.format import Head
from inspector.core.formats.traces.attributes import describe
from inspector.core.formats.traces.span import (
    Span,
    SpanEvent,
    camel_case,
    mapping,
    read_count,
    read_time,
)
from inspector.core.untyped import digits_of, list_of, object_of, objects_of, text_of


def sniff_otel(head: Head) -> float:
    """Return 0.97 if one of the first 20 values holds a span (only a span has a trace id and a span id); else 0."""
    return 0.97 * any(_is_otel(_named(value)) for value in head.rows[:20])


def sniff_openinference(head: Head) -> float:
    """Return 0.98 if one of the first values holds a span with OpenInference's `span_kind`; else 0."""
    first = map(_named, head.rows[:20])
    rows = [row for value in first for row in (value if isinstance(value, list) else [value])[:20]]
    return 0.98 * any(_is_sdk(row) and isinstance(row.get("span_kind"), str) for row in rows)


def _is_otel(value: Any) -> bool:
    if isinstance(value, list):
        return any(_is_otel(row) for row in value[:5])
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("resourceSpans"), list) or _is_sdk(value) or _is_otlp(value):
        return True
    if _is_otel(value.get("trace")) or _is_otel(value.get("data")):
        return True
    if any(map(_is_batch, objects_of(value.get("batches")))):
        return True
    return any(map(_is_span, list_of(value.get("spans"))[:5]))


def _is_batch(value: Mapping[str, Any]) -> bool:
    return "scopeSpans" in value or "instrumentationLibrarySpans" in value


def _is_span(value: Any) -> bool:
    return _is_sdk(value) or _is_otlp(_named(value))


def _is_sdk(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "attributes" in value
        and bool(_context(value))
        and not _is_log(value)
    )


def _is_otlp(value: Any) -> bool:
    has_ids = (
        isinstance(value, dict)
        and isinstance(value.get("spanId"), str)
        and isinstance(value.get("traceId"), str)
    )
    return has_ids and not _is_log(value)


def _is_log(value: Mapping[str, Any]) -> bool:
    """Is it a log record? Log records may have the ids of a span, too, but have no name."""
    return "name" not in value and any(
        key in value for key in ("body", "_body", "eventName", "event_name", "hrTime")
    )


def _named(value: Any) -> Any:
    """Return the value with OTLP JSON's names. Some tools write protobuf's names, or a column for each field."""
    if isinstance(value, list):
        return list(map(_named, value))
    if not isinstance(value, dict):
        return value
    if (span := otlp_of(value)) is not None:
        return span
    if "resource_spans" in value or "resource_logs" in value or "start_time_unix_nano" in value:
        return _renamed(value)
    if "context.span_id" in value:  # Phoenix's table
        columns = {
            key.removeprefix("attributes."): _nested(column) for key, column in value.items()
        }
        context = {
            "span_id": columns["context.span_id"],
            "trace_id": columns.get("context.trace_id"),
        }
        return {**columns, "context": context, "attributes": columns}
    return value


def _renamed(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_renamed, value))
    if not isinstance(value, dict):
        return value
    return {camel_case(key): _renamed(field) for key, field in value.items()}


def _nested(value: Any) -> Any:
    """Return a value with the dotted names of its objects turned into nested objects."""
    if isinstance(value, list):
        return list(map(_nested, value))
    if not isinstance(value, dict):
        return value
    root: dict[str, Any] = {}
    for key, field in value.items():
        *path, last = key.split(".")
        node = root
        for word in path:
            node = node.setdefault(word, {}) if isinstance(node.get(word, {}), dict) else {}
        node[last] = _nested(field)
    return root


def _context(value: Mapping[str, Any]) -> Mapping[str, Any]:
    context = value.get("context") or value.get("_spanContext") or value.get("spanContext")
    if isinstance(context, dict) and ("span_id" in context or "spanId" in context):
        return context
    return {}


_INSIDE = ("logRecords", "scopeLogs", "resourceLogs", "spans", "instrumentationLibrarySpans", "scopeSpans",
           "resourceSpans", "data", "batches", "trace")  # fmt: skip
"""Fields that may hold spans. They go on a stack, so the last one is read first."""


def spans_of(value: Any, line: int) -> Iterator[Span | SpanEvent]:
    """Yield the spans in one value of a file, and the events of spans that its log records hold."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += reversed(value)
            continue
        value = _named(value)
        if _is_otlp(value):
            yield _otlp(value, line)
        elif _is_sdk(value):
            yield _sdk(value, line)
        elif isinstance(value, dict):
            if _is_log(value) and (event := _logged(value)):
                yield event
            waiting += [value[key] for key in _INSIDE if isinstance(value.get(key), list | dict)]


def _logged(value: Mapping[str, Any]) -> SpanEvent | None:
    """Read a log record as an event of a span; None if it names no span or does not describe a model call."""
    context = {**value, **_context(value)}
    trace, span = (
        _hex(context.get(f"{name}Id") or context.get(f"{name}_id")) for name in ("trace", "span")
    )
    attributes = plain_attributes(value.get("attributes"))
    body = value.get("body", value.get("_body"))
    if isinstance(body, dict) and len(body) == 1 and (plain := _plain(body)) is not None:
        body = plain
    names = (value.get("eventName"), value.get("event_name"), attributes.get("event.name"))
    name = next(filter(None, map(text_of, names)), "")
    if not span or not name.startswith("gen_ai."):
        return None
    return SpanEvent(trace + span, {"name": name, "attributes": attributes, "body": body})


def _otlp(value: Mapping[str, Any], line: int) -> Span:
    start, time = read_time(value.get("startTimeUnixNano"))
    parent = text_of(value.get("parentSpanId"))
    trace = text_of(value["traceId"])
    own = trace + value["spanId"] if value["spanId"] else ""
    span = Span(
        own, parent=trace + parent if parent else "", name=text_of(value.get("name")), start=start
    )
    span.time, span.line, span.end = time, line, read_count(value.get("endTimeUnixNano")) or 0
    span.finished = value.get("endTimeUnixNano") not in (None, "", "0", 0)
    events = objects_of(value.get("events"))
    plain_events = [
        {**event, "attributes": plain_attributes(event.get("attributes"))} for event in events
    ]
    return describe(span, plain_attributes(value.get("attributes")), plain_events)


def _sdk(value: Mapping[str, Any], line: int) -> Span:
    context = _context(value)
    trace = _hex(context.get("trace_id") or context.get("traceId"))
    above = mapping(value.get("parentSpanContext")).get("spanId")
    parent = _hex(value.get("parent_id") or value.get("parentSpanId") or above)
    own = _hex(context.get("span_id") or context.get("spanId"))
    span = Span(
        trace + own if own else "",
        parent=trace + parent if parent else "",
        name=text_of(value.get("name")),
    )
    start = value.get("start_time", value.get("startTime"))
    end = value.get("end_time") or value.get("endTime")
    span.place(line, start, end)
    span.finished = any(value.get(key) for key in ("end_time", "endTime"))
    attributes = plain_attributes(value.get("attributes"))
    if isinstance(kind := value.get("span_kind"), str):
        attributes = {"openinference.span.kind": kind, **attributes}
    return describe(span, attributes, list_of(value.get("events")))


def _hex(value: Any) -> str:
    return text_of(value).removeprefix("0x")


def plain_attributes(attributes: Any) -> Mapping[str, Any]:
    """Return attributes as an object. OTLP writes them as a list of keys with typed values."""
    if isinstance(attributes, dict):
        return attributes
    plain: dict[str, Any] = {}
    for pair in list_of(attributes):
        if type(pair) is dict and isinstance(key := pair.get("key"), str):
            value = pair.get("value")
            plain[key] = (
                value["stringValue"]
                if type(value) is dict and "stringValue" in value
                else _plain(value)
            )
    return plain


def _plain(value: Any) -> Any:
    match value:
        case (
            {"stringValue": inner}
            | {"boolValue": inner}
            | {"doubleValue": inner}
            | {"bytesValue": inner}
        ):
            return inner
        case {"intValue": inner}:
            number = digits_of(inner) if isinstance(inner, str) else None
            return inner if number is None else number
        case {"arrayValue": {"values": list(inner)}}:
            return list(map(_plain, inner))
        case {"kvlistValue": {"values": list(inner)}}:
            return plain_attributes(inner)
        case {"arrayValue": _}:
            return []
        case _:
            return None


# -- spans from collectors

_MICROSECOND = 1_000


def otlp_of(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Convert a span in Jaeger's or Zipkin's JSON to OTLP's form; None for any other value."""
    if "spanID" in value and "operationName" in value:
        parents = [
            row.get("spanID")
            for row in objects_of(value.get("references"))
            if row.get("refType") == "CHILD_OF"
        ]
        logs = [_pairs(log.get("fields")) for log in objects_of(value.get("logs"))]
        events = [
            {"name": fields.get("event") or fields.get("name"), "attributes": fields}
            for fields in logs
        ]
        ids = (
            value.get("operationName"),
            value.get("traceID"),
            value.get("spanID"),
            next(iter(parents), ""),
        )
        return _collected(
            ids,
            start=value.get("startTime"),
            duration=value.get("duration"),
            attributes=_pairs(value.get("tags")),
            events=events,
        )
    if (
        "traceId" in value
        and "id" in value
        and isinstance(value.get("tags"), dict)
        and "timestamp" in value
    ):
        ids = value.get("name"), value.get("traceId"), value.get("id"), value.get("parentId")
        return _collected(
            ids,
            start=value.get("timestamp"),
            duration=value.get("duration"),
            attributes=object_of(value, "tags"),
            events=[],
        )
    return None


def _collected(
    ids: tuple[Any, Any, Any, Any],
    start: Any,
    duration: Any,
    attributes: Mapping[str, Any],
    events: list[Any],
) -> Mapping[str, Any]:
    """Return a collector's span in OTLP's form.

    Args:
        ids: Name, id of the trace, id of the span, id of the parent span.
        start: Microseconds since 1970.
        duration: Microseconds.
        attributes: The span's attributes.
        events: The span's events.
    """
    name, trace, own, parent = map(text_of, ids)
    start_us = read_count(start) or 0
    return {
        "name": name,
        "traceId": trace,
        "spanId": own,
        "parentSpanId": parent,
        "startTimeUnixNano": start_us * _MICROSECOND,
        "endTimeUnixNano": (start_us + (read_count(duration) or 0)) * _MICROSECOND,
        "attributes": attributes,
        "events": events,
    }


def _pairs(tags: Any) -> dict[str, Any]:
    return {text_of(tag.get("key")): tag.get("value") for tag in objects_of(tags)}
