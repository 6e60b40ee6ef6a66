"""Traces: spans of model calls as OpenTelemetry, Phoenix, Langfuse, LangSmith, OpenAI's Agents SDK and VS Code write
them. One reader; each has a mapping of its own onto spans."""

from functools import partial

from inspector.core.formats.format import Contents, Format
from inspector.core.formats.traces.langfuse import langfuse_spans, sniff_langfuse
from inspector.core.formats.traces.otel import sniff_openinference, sniff_otel, spans_of
from inspector.core.formats.traces.platforms import (
    agents_spans,
    langsmith_spans,
    replay_spans,
    sniff_agents,
    sniff_langsmith,
    sniff_replay,
)
from inspector.core.formats.traces.reader import TraceReader

_TOLD = "where the span tells it"
FORMATS = tuple(
    Format(name, title, sniff, partial(TraceReader, name, spans), grows=name == "otel", contents=contents)
    for name, title, sniff, spans, contents in (
        (
            "otel",
            "OpenTelemetry trace",
            sniff_otel,
            spans_of,
            Contents("yes", _TOLD, _TOLD, "OTLP JSON, the SDKs' JSON"),
        ),
        (
            "openinference",
            "OpenInference trace (Phoenix)",
            sniff_openinference,
            spans_of,
            Contents("yes", "yes", "yes"),
        ),
        (
            "langfuse",
            "Langfuse trace",
            sniff_langfuse,
            langfuse_spans,
            Contents("yes", "where the observation or its metadata tells it", "as the prompt", "JSON or CSV"),
        ),
        (
            "langsmith",
            "LangSmith trace",
            sniff_langsmith,
            langsmith_spans,
            Contents("yes", "yes", "where the run tells them"),
        ),
        (
            "openai-agents",
            "OpenAI Agents SDK trace",
            sniff_agents,
            agents_spans,
            Contents("of the response, where it was added", "as the tokens", "as the tokens"),
        ),
        (
            "vscode-replay",
            "VS Code chat replay",
            sniff_replay,
            replay_spans,
            Contents("yes", "yes", "yes", "`*.chatreplay.json`"),
        ),
    )
)
