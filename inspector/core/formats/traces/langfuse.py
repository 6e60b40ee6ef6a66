"""Langfuse exports: `{trace, observations}`; what OpenTelemetry sent stands in each observation's metadata."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from inspector.core.formats.format import Head
from inspector.core.formats.traces.attributes import agent_of, describe, kind_of
from inspector.core.formats.traces.otel import plain_attributes
from inspector.core.formats.traces.span import Span, SpanKind, camel_case, mapping, moment, parsed
from inspector.core.untyped import text_of

_KINDS: Mapping[str, SpanKind] = {"GENERATION": "call", "AGENT": "agent", "TOOL": "tool"}
_TYPES = ("GENERATION", "SPAN", "EVENT", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "EVALUATOR", "GUARDRAIL")


def sniff_langfuse(head: Head) -> float:
    """Sure of a trace with its observations; of observations alone, too."""
    value = head.document if head.document is not None else next(iter(head.values), None)
    rows = list(islice(_rows(value), 5))
    return 0.98 * (bool(rows) and all(_is_observation(row) for row, _ in rows))


def _rows(value: Any) -> Iterator[tuple[Any, str]]:
    """Every observation with its session: a trace without one is a session of its own."""
    waiting = [(value, "")]
    while waiting:
        value, session = waiting.pop()
        if isinstance(value, list):
            waiting += [(one, session) for one in reversed(value)]
            continue
        if isinstance(value, dict):
            trace = mapping(value.get("trace")) or value
            if isinstance(told := value.get("observations", trace.get("observations")), list):
                waiting.append((told, text_of(trace.get("sessionId")) or text_of(trace.get("id"))))
                continue
            if isinstance(value.get("data"), list) and "type" not in value:  # a page of its API
                waiting.append((value["data"], session))
                continue
            if "start_time" in value and "trace_id" in value:  # as its database names them
                value = {camel_case(key): one for key, one in value.items()}
            session = session or text_of(value.get("sessionId"))
        yield value, session


def _is_observation(row: Any) -> bool:
    return isinstance(row, dict) and row.get("type") in _TYPES and "startTime" in row and "id" in row


def langfuse_spans(value: Any, line: int) -> Iterator[Span]:
    """The observations of an export, as spans."""
    for row, session in _rows(value):
        if _is_observation(row) and isinstance(row["id"], str):
            yield _span(row, session, line)


def _span(row: Mapping[str, Any], session: str, line: int) -> Span:
    start, time = moment(row.get("startTime"))
    trace = text_of(row.get("traceId"))
    parent = text_of(row.get("parentObservationId"))
    span = Span(trace + row["id"], trace + parent if parent else "", _KINDS.get(text_of(row.get("type")), ""))
    span.name, span.start, span.time, span.line = text_of(row.get("name")), start, time, line
    span.end = moment(row.get("endTime"))[0]
    metadata = mapping(row.get("metadata"))
    attributes = plain_attributes(parsed(metadata.get("attributes")))
    if not span.kind and attributes and (kind := kind_of(attributes)) in ("agent", "tool"):
        span.kind = kind
    if span.kind:
        describe(span, attributes)
    span.agent = (attributes and agent_of(attributes)) or (span.name if span.kind == "agent" else "")
    span.conversation = session or span.conversation
    if span.kind == "call":
        _describe_call(span, row, metadata)
    elif span.kind == "tool":
        span.input, span.output = row.get("input"), row.get("output")
    return span


_COLUMNS = {"input": "promptTokens", "output": "completionTokens", "total": "totalTokens"}
"""Counts under names of their own."""
_COUNTS = (
    ("input", "prompt_tokens", "input_tokens"),
    ("output", "completion_tokens", "output_tokens"),
    ("prompt_details.cache_read", "input_cache_read", "cache_read_input_tokens", "input_cached_tokens"),
    ("input_cache_creation", "cache_creation_input_tokens", "prompt_details.cache_write"),
    ("completion_details.reasoning", "output_reasoning", "output_reasoning_tokens"),
    ("total", "total_tokens"),
)
"""In the order of `usage_of`, each under which names."""


def _describe_call(span: Span, row: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """The observation's own fields, unless the attributes hold more: OpenInference's whole list of messages."""
    flat = isinstance(span.input, list) and isinstance(asked := parsed(row.get("input")), list)
    if row.get("input") is not None and not (flat and len(span.input) > len(asked)):
        span.input = row["input"]
    span.output = row["output"] if row.get("output") is not None else span.output
    span.model = text_of(row.get("model")) or text_of(row.get("providedModelName")) or span.model
    span.first = moment(row.get("completionStartTime"))[0] or span.first
    if span.tools is None:
        span.tools = metadata.get("tools") or parsed(row.get("toolDefinitions")) or None
    told = mapping(row.get("usageDetails")) or mapping(row.get("usage"))
    if not told:
        told = {name: row.get(f"{name}Usage") or row.get(key) for name, key in _COLUMNS.items()}
    counts: list[Any] = []
    for keys in _COUNTS:
        for key in keys:
            if (counted := told.get(key)) is not None:
                break
        else:
            counted = None
        counts.append(counted)
    if counts[0] is not None:
        span.report(*counts)
    if span.input is None and span.usage is None:
        span.kind = ""  # an event of a call that stands beside it
