"""Traces: spans of model calls as OpenTelemetry, Phoenix, Langfuse, LangSmith, OpenAI's Agents SDK and VS Code write
them. One reader; each has a mapping of its own onto spans."""

from functools import partial

from inspector.core.formats.format import Format
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

FORMATS = tuple(
    Format(name, title, sniff, partial(TraceReader, name, spans))
    for name, title, sniff, spans in (
        ("otel", "OpenTelemetry trace", sniff_otel, spans_of),
        ("openinference", "OpenInference trace (Phoenix)", sniff_openinference, spans_of),
        ("langfuse", "Langfuse trace", sniff_langfuse, langfuse_spans),
        ("langsmith", "LangSmith trace", sniff_langsmith, langsmith_spans),
        ("openai-agents", "OpenAI Agents SDK trace", sniff_agents, agents_spans),
        ("vscode-replay", "VS Code chat replay", sniff_replay, replay_spans),
    )
)
