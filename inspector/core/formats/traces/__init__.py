"""Read traces: spans of model calls from OpenTelemetry, Phoenix, Langfuse, LangSmith, OpenAI's Agents SDK and VS Code.

One reader builds the sessions. Each format has a function that converts its values to spans.
"""

from collections.abc import Callable
from functools import partial

from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.formats.traces import vscode_log
from inspector.core.formats.traces.otel import sniff_openinference, sniff_otel, spans_of
from inspector.core.formats.traces.platforms import (
    REPLAY_SIGNS,
    agents_spans,
    langfuse_spans,
    langsmith_spans,
    replay_spans,
    sniff_agents,
    sniff_langfuse,
    sniff_langsmith,
)
from inspector.core.formats.traces.reader import SpansOf, TraceReader


def _format(
    name: str, title: str, sniff: Callable[[Head], float], spans: SpansOf, *contents: str
) -> Format:
    return Format(
        name,
        title,
        sniff,
        start=partial(TraceReader, name, spans),
        grows=name == "otel",
        contents=Contents(*contents),
    )


_IF_RECORDED = "if recorded"
FORMATS = (
    _format("otel", "OpenTelemetry trace", sniff_otel, spans_of,
            "yes", _IF_RECORDED, _IF_RECORDED, "OTLP JSON, the SDKs' JSON"),
    _format("openinference", "OpenInference trace (Phoenix)", sniff_openinference, spans_of, "yes", "yes", "yes"),
    _format("langfuse", "Langfuse trace", sniff_langfuse, langfuse_spans,
            "yes", _IF_RECORDED, "as the prompt", "JSON or CSV"),
    _format("langsmith", "LangSmith trace", sniff_langsmith, langsmith_spans,
            "yes", "yes", _IF_RECORDED),
    _format("openai-agents", "OpenAI Agents SDK trace", sniff_agents, agents_spans,
            "if the response was added", "as the tokens", "as the tokens"),
    _format("vscode-replay", "VS Code chat replay", REPLAY_SIGNS, replay_spans,
            "yes", "yes", "yes", "`*.chatreplay.json`"),
    Format(
        vscode_log.NAME,
        title="VS Code agent debug log",
        sniff=vscode_log.SIGNS,
        start=vscode_log.DebugLogReader,
        companions=vscode_log.companions,
        is_companion=vscode_log.is_companion,
        grows=True,
        of_folder=(vscode_log.MAIN, *vscode_log.PARTS),
        folders=(
            AgentFolder(vscode_log.FILES, ".config", "XDG_CONFIG_HOME"),
            AgentFolder(vscode_log.FILES, "Library/Application Support"),
        ),
        contents=Contents("yes", system="yes", tools="yes", more="`main.jsonl` with the files beside it"),
    ),
)  # fmt: skip
