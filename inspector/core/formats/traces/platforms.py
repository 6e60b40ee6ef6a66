"""Read LangSmith's runs, traces of the OpenAI Agents SDK, VS Code's chat replays and Langfuse's exports as spans."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from inspector.core.formats.format import Head
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.formats.traces.attributes import agent_of, describe, kind_of
from inspector.core.formats.traces.otel import plain_attributes
from inspector.core.formats.traces.payloads import langchain_counts
from inspector.core.formats.traces.span import (
    Span,
    SpanKind,
    camel_case,
    mapping,
    read_count,
    read_time,
    unpack_json,
)
from inspector.core.untyped import objects_of, text_of

# -- LangSmith

_RUNS: Mapping[str, SpanKind] = {"llm": "call", "tool": "tool"}


def sniff_langsmith(head: Head) -> float:
    """Return 0.98 if the first values are runs, which have a type and a place in a tree; else 0."""
    rows = list(islice(_runs(list(head.rows[:1])), 5))
    return 0.98 * (bool(rows) and all(_is_run(row) for row in rows))


def _is_run(row: Any) -> bool:
    return (
        isinstance(row, dict) and isinstance(row.get("run_type"), str) and not _TREE.isdisjoint(row)
    )


_TREE = {"dotted_order", "parent_run_id", "trace_id", "child_run_ids", "child_runs"}


def _runs(value: Any) -> Iterator[Any]:
    """Yield runs depth first, without recursion. A run may hold its child runs, which need not name their parent."""
    waiting = [(value, "")]
    while waiting:
        row, parent = waiting.pop()
        if isinstance(row, list):
            waiting += ((inner, parent) for inner in reversed(row))
        elif isinstance(row, dict):
            if isinstance(row.get("runs"), list) and "run_type" not in row:
                waiting.append((row["runs"], parent))
                continue
            yield (
                {**row, "parent_run_id": parent} if parent and not row.get("parent_run_id") else row
            )
            if isinstance(row.get("child_runs"), list):
                waiting.append((row["child_runs"], text_of(row.get("id"))))


def langsmith_spans(value: Any, line: int) -> Iterator[Span]:
    """Yield the runs as spans. Only `llm` runs are calls, because chains carry the sums of their children."""
    for row in _runs(value):
        if not _is_run(row) or not isinstance(row.get("id"), str):
            continue
        kind = _RUNS.get(row["run_type"], "")
        span = Span(
            row["id"],
            parent=text_of(row.get("parent_run_id")),
            kind=kind,
            name=text_of(row.get("name")),
        )
        if kind:
            _describe_run(span, row, line)
        yield span


def _describe_run(span: Span, row: Mapping[str, Any], line: int) -> None:
    span.place(line, _run_time(row.get("start_time")), _run_time(row.get("end_time")))
    extra = mapping(row.get("extra"))
    metadata = mapping(extra.get("metadata"))
    span.conversation = text_of(metadata.get("thread_id")) or text_of(metadata.get("session_id"))
    span.input, span.output = row.get("inputs"), row.get("outputs")
    if span.kind == "tool":
        outputs = mapping(span.output)
        message = mapping(outputs.get("output"))
        span.tool_call = text_of(message.get("tool_call_id"))
        span.output = message.get("content", outputs.get("output", span.output))
        return
    span.first, _ = read_time(_run_time(row.get("first_token_time")))
    settings = mapping(extra.get("invocation_params"))
    span.tools = settings.get("tools") or settings.get("functions")
    names = (metadata.get("ls_model_name"), settings.get("model"), settings.get("model_name"))
    span.model = next(filter(None, map(text_of, names)), "")
    span.report(*_run_counts(row, metadata))


def _run_time(value: Any) -> Any:
    """Return a time that `read_time` reads: LangChain's own tracers write milliseconds, which become nanoseconds."""
    return value * 1_000_000 if type(value) is int else value


def _run_counts(row: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Any]:
    """Return the counts of a run in the order of `usage_from_counts`: the run's own, else those of its message."""
    counts = mapping(mapping(row.get("outputs")).get("usage_metadata")) or mapping(
        metadata.get("usage_metadata")
    )
    if row.get("prompt_tokens") is None and counts:
        return langchain_counts(counts)
    details = mapping(row.get("prompt_token_details"))
    return [
        row.get("prompt_tokens"),
        row.get("completion_tokens"),
        details.get("cache_read"),
        details.get("cache_creation"),
        None,
        row.get("total_tokens"),
    ]


# -- OpenAI Agents SDK

_AGENTS_KINDS: Mapping[str, SpanKind] = {
    "agent": "agent", "response": "call", "generation": "call", "function": "tool", "mcp_tools": ""
}  # fmt: skip


def sniff_agents(head: Head) -> float:
    """Return 0.98 if one of the first 20 values holds a `trace.span` object; else 0."""
    return 0.98 * any(True for value in head.rows[:20] for _ in _agent_rows(value))


def _agent_rows(value: Any) -> Iterator[Mapping[str, Any]]:
    for row in objects_of(value if isinstance(value, list) else [value]):
        if _is_agent_span(row):
            yield row
        for key in ("traces", "spans", "data"):
            for inner in objects_of(row.get(key)):
                if _is_agent_span(inner):
                    yield inner
                else:
                    yield from filter(_is_agent_span, objects_of(inner.get("spans")))


def _is_agent_span(row: Mapping[str, Any]) -> bool:
    return row.get("object") == "trace.span"


def agents_spans(value: Any, line: int) -> Iterator[Span]:
    """Yield the SDK's spans. Input and response are in a span's data, or beside the data if an exporter added them."""
    for row in _agent_rows(value):
        if not isinstance(row.get("id"), str):
            continue
        data = mapping(row.get("span_data"))
        kind = _AGENTS_KINDS.get(text_of(data.get("type")), "")
        span = Span(
            row["id"],
            parent=text_of(row.get("parent_id")),
            kind=kind,
            name=text_of(data.get("name")),
        )
        span.place(line, row.get("started_at"), row.get("ended_at"))
        span.finished = row.get("ended_at") is not None
        span.agent = span.name if kind == "agent" else ""
        span.input = data.get("input", row.get("span_data_input"))
        answer = next(
            (data[key] for key in ("response", "output") if data.get(key) is not None), None
        )
        span.output = (
            answer if answer is not None else row.get("span_data_response", row.get("response"))
        )
        span.response = text_of(data.get("response_id"))
        span.model = text_of(data.get("model"))
        usage = mapping(data.get("usage"))
        span.report(usage.get("input_tokens"), usage.get("output_tokens"))
        yield span


# -- VS Code chat replay


REPLAY_SIGNS = FileSigns(
    FileSign({"prompts": [], "exportedAt": "<any>"}, sure=0.98),
    FileSign({"logs": [], "prompt": "<any>"}, sure=0.98),
)


def replay_spans(value: Any, line: int) -> Iterator[Span]:
    """Yield the requests of all prompts as spans.

    The log has only the text of an answer. If tools ran after the answer, the text is not used, because the next
    request holds the whole answer.
    """
    prompts = value.get("prompts") if isinstance(value, dict) else None
    rows = prompts if isinstance(prompts, list) else [value]
    logs = [
        log
        for row in rows
        for log in objects_of(mapping(row).get("logs"))
        if log.get("kind") != "element"
    ]
    for at, log in enumerate(logs):
        if log.get("kind") == "request":
            span = _replayed_request(log, at, line)
            next_kind = logs[at + 1].get("kind") if at + 1 < len(logs) else ""
            text = _replayed_answer(log)
            if text and next_kind != "toolCall":
                span.output = [{"role": "assistant", "content": text}]
            yield span


def _replayed_request(log: Mapping[str, Any], at: int, line: int) -> Span:
    metadata = mapping(log.get("metadata"))
    span = Span(f"{log.get('id')}-{at}", kind="call", name=text_of(log.get("name")))
    span.place(line, metadata.get("startTime"), metadata.get("endTime"))
    span.first = span.start + 1_000_000 * (read_count(metadata.get("timeToFirstToken")) or 0)
    span.model, span.window = (
        text_of(metadata.get("model")),
        read_count(metadata.get("maxPromptTokens")),
    )
    messages = log.get("requestMessages")
    span.input = mapping(messages).get("messages", messages)
    tools = unpack_json(metadata.get("tools"))
    span.tools = tools if isinstance(tools, list) else None
    usage = mapping(metadata.get("usage"))
    cached = mapping(usage.get("prompt_tokens_details")).get("cached_tokens")
    span.report(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
    return span


def _replayed_answer(log: Mapping[str, Any]) -> Any:
    message = mapping(log.get("response")).get("message")
    if not isinstance(message, list):
        return message
    return "".join(piece for piece in message if isinstance(piece, str)) if message else None


# -- Langfuse

_OBSERVED: Mapping[str, SpanKind] = {"GENERATION": "call", "AGENT": "agent", "TOOL": "tool"}
_OBSERVATIONS = (
    *_OBSERVED,
    "SPAN",
    "EVENT",
    "CHAIN",
    "RETRIEVER",
    "EMBEDDING",
    "EVALUATOR",
    "GUARDRAIL",
)


def sniff_langfuse(head: Head) -> float:
    """Return 0.98 if the first values are observations, alone or in a trace; else 0."""
    rows = list(islice(_observed(list(head.rows[:1])), 5))
    return 0.98 * (bool(rows) and all(_is_observation(row) for row, _ in rows))


def _observed(value: Any) -> Iterator[tuple[Any, str]]:
    """Yield every observation with the id of its session, or of its trace if that has no session."""
    waiting = [(value, "")]
    while waiting:
        value, session = waiting.pop()
        if isinstance(value, list):
            waiting += [(row, session) for row in reversed(value)]
            continue
        if isinstance(value, dict):
            inner = _observations_in(value, session)
            if inner is not None:
                waiting.append(inner)
                continue
            if "start_time" in value and "trace_id" in value:  # names of Langfuse's database
                value = {camel_case(key): field for key, field in value.items()}
            session = session or text_of(value.get("sessionId"))
        yield value, session


def _observations_in(value: Mapping[str, Any], session: str) -> tuple[list[Any], str] | None:
    """Return the rows of a trace or of a page of the API, with their session; None for any other object."""
    trace = mapping(value.get("trace")) or value
    observations = value.get("observations", trace.get("observations"))
    if isinstance(observations, list):
        return observations, text_of(trace.get("sessionId")) or text_of(trace.get("id"))
    rows = value.get("data")
    return (rows, session) if isinstance(rows, list) and "type" not in value else None


def _is_observation(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and row.get("type") in _OBSERVATIONS
        and "startTime" in row
        and "id" in row
    )


def langfuse_spans(value: Any, line: int) -> Iterator[Span]:
    """Yield the observations of an export (`{trace, observations}`) as spans."""
    for row, session in _observed(value):
        if _is_observation(row) and isinstance(row["id"], str):
            yield _observation(row, session, line)


def _observation(row: Mapping[str, Any], session: str, line: int) -> Span:
    """Return an observation as a span. Its metadata holds the attributes that OpenTelemetry sent."""
    trace = text_of(row.get("traceId"))
    parent = text_of(row.get("parentObservationId"))
    span = Span(
        trace + row["id"],
        trace + parent if parent else "",
        _OBSERVED.get(text_of(row.get("type")), ""),
    )
    span.name = text_of(row.get("name"))
    span.place(line, row.get("startTime"), row.get("endTime"))
    metadata = mapping(row.get("metadata"))
    attributes = plain_attributes(unpack_json(metadata.get("attributes")))
    if not span.kind and attributes and (kind := kind_of(attributes)) in ("agent", "tool"):
        span.kind = kind
    if span.kind:
        describe(span, attributes)
    named_agent = agent_of(attributes) if attributes else ""
    span.agent = named_agent or (span.name if span.kind == "agent" else "")
    span.conversation = session or span.conversation
    if span.kind == "call":
        _describe_call(span, row, metadata)
    elif span.kind == "tool":
        span.input, span.output = row.get("input"), row.get("output")
    return span


_COLUMNS = {"input": "promptTokens", "output": "completionTokens", "total": "totalTokens"}
"""Columns that hold the counts of an observation without `usageDetails` and `usage`."""
_LANGFUSE_COUNTS = (
    ("input", "prompt_tokens", "input_tokens"),
    ("output", "completion_tokens", "output_tokens"),
    (
        "prompt_details.cache_read",
        "input_cache_read",
        "cache_read_input_tokens",
        "input_cached_tokens",
    ),
    ("input_cache_creation", "cache_creation_input_tokens", "prompt_details.cache_write"),
    ("completion_details.reasoning", "output_reasoning", "output_reasoning_tokens"),
    ("total", "total_tokens"),
)
"""The names of each count, in the order of `usage_from_counts`."""


def _describe_call(span: Span, row: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Set a call's fields from the observation, but keep OpenInference's messages if they are more than the input's."""
    if row.get("input") is not None and not _holds_more(span.input, row["input"]):
        span.input = row["input"]
    if row.get("output") is not None:
        span.output = row["output"]
    span.model = text_of(row.get("model")) or text_of(row.get("providedModelName")) or span.model
    span.first = read_time(row.get("completionStartTime"))[0] or span.first
    if span.tools is None:
        span.tools = metadata.get("tools") or unpack_json(row.get("toolDefinitions")) or None
    counts = _observed_counts(row)
    if counts[0] is not None:
        span.report(*counts)
    if span.input is None and span.usage is None:
        span.kind = ""  # an event beside a call, not a call


def _holds_more(messages: Any, own_input: Any) -> bool:
    own_messages = unpack_json(own_input)
    return (
        isinstance(messages, list)
        and isinstance(own_messages, list)
        and len(messages) > len(own_messages)
    )


def _observed_counts(row: Mapping[str, Any]) -> list[Any]:
    """Return the counts of an observation in the order of `usage_from_counts`."""
    counts = mapping(row.get("usageDetails")) or mapping(row.get("usage"))
    if not counts:
        counts = {name: row.get(f"{name}Usage") or row.get(key) for name, key in _COLUMNS.items()}
    return [_first_count(counts, keys) for keys in _LANGFUSE_COUNTS]


def _first_count(counts: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((counts[key] for key in keys if counts.get(key) is not None), None)
