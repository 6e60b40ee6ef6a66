"""What the attributes of a span mean, in the words of each convention.

`gen_ai.*` of OpenTelemetry (present and former), OpenInference (`llm.*`, flattened or nested), OpenLLMetry
(`gen_ai.prompt.0.role`, `llm.usage.*`), the Vercel AI SDK (`ai.*`), Google's ADK (`gcp.vertex.agent.*`). An attribute
may hold JSON as a string.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.core.formats.traces.span import Span, SpanKind, first_text, mapping, moment, parsed
from inspector.core.untyped import list_of, objects_of, text_of

_CALLS = ("chat", "text_completion", "generate_content", "completion", "llm", "generation", "response")
_AGENTS = ("invoke_agent", "agent", "invoke_workflow")
_TOOLS = ("execute_tool", "tool")
_VERCEL = ("ai.generatetext", "ai.streamtext", "ai.generateobject", "ai.streamobject")
_KINDS = (
    "gen_ai.operation.name",
    "openinference.span.kind",
    "traceloop.span.kind",
    "langfuse.observation.type",
    "langsmith.span.kind",
    "llm.request.type",
)


def kind_of(attributes: Mapping[str, Any]) -> SpanKind:
    """What the span is about."""
    for key in _KINDS:
        word = text_of(attributes.get(key)).lower()
        if word in _CALLS:
            return "call"
        if word in _AGENTS:
            return "agent"
        if word in _TOOLS:
            return "tool"
    operation = text_of(attributes.get("ai.operationId")).lower()
    if operation.startswith(_VERCEL):
        return "call"
    if operation == "ai.toolcall" or "gen_ai.tool.name" in attributes:
        return "tool"
    reported = any(key in attributes for key in ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"))
    if reported and "agent_name" not in attributes and not any(text_of(attributes.get(key)) for key in _KINDS):
        return "call"
    return "agent" if agent_of(attributes) else ""


def agent_of(attributes: Mapping[str, Any]) -> str:
    """The agent's name, as far as the attributes say one."""
    return _first(attributes, "gen_ai.agent.name", "agent_name", "agent.name", "traceloop.entity.name")


def describe(span: Span, attributes: Mapping[str, Any], events: Sequence[Any] = ()) -> Span:
    """Put what the attributes (and events) say into the span."""
    told = by_name(attributes)
    span.kind = span.kind or kind_of(told)
    span.agent = agent_of(told) or (span.name if span.kind == "agent" else "")
    span.conversation = _first(told, "gen_ai.conversation.id", "session.id", "ai.telemetry.metadata.sessionId",
                               "gcp.vertex.agent.session_id")  # fmt: skip
    span.tool_call = _first(told, "gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id")
    if not span.kind:
        return span
    asked, made, more = _told_by_events(events) if events and span.kind == "call" else ([], [], {})
    if not asked and not made and "events" in told:  # pydantic-ai until mid-2025
        asked, made, _ = _told_by_events(list_of(parsed(told["events"])))
    if more:
        told = {**by_name(more), **told}
    span.system = _value(told, "gen_ai.system_instructions", "gen_ai.system.instructions")
    span.tools = _value(told, "gen_ai.tool.definitions", "llm.tools", "llm.request.functions", "ai.prompt.tools")
    if span.tools is None:
        span.tools = _offered(told)
    if span.kind == "tool":
        span.input = _value(told, "gen_ai.tool.call.arguments", "ai.toolCall.args", "tool.parameters",
                            "gcp.vertex.agent.tool_call_args", "input.value")  # fmt: skip
        span.output = _value(told, "gen_ai.tool.call.result", "ai.toolCall.result", "gcp.vertex.agent.tool_response",
                             "output.value")  # fmt: skip
        span.name = _first(told, "gen_ai.tool.name", "tool.name", "ai.toolCall.name") or span.name
    elif span.kind == "call":
        _describe_call(span, told, asked, made)
    return span


def _describe_call(span: Span, told: Mapping[str, Any], asked: list[Any], made: list[Any]) -> None:
    span.input = _value(told, "gen_ai.input.messages", "llm.input_messages") or asked or _value(told, *_INPUTS)
    span.output = _value(told, "gen_ai.output.messages", "llm.output_messages") or made or _value(told, *_OUTPUTS)
    if span.output is None and any(key in told for key in ("ai.response.text", "ai.response.toolCalls")):
        calls = list_of(parsed(told.get("ai.response.toolCalls")))
        span.output = [{"role": "assistant", "content": told.get("ai.response.text"), "tool_calls": calls}]
    span.model = _first(
        told, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.response.model",
        "llm.response.model", "llm.request.model", "ai.model.id",
    )  # fmt: skip
    span.response = _first(told, "gen_ai.response.id", "llm.response.id", "ai.response.id")
    span.finish = first_text(
        _value(told, "gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "ai.response.finishReason",
               "llm.response.finish_reason", "llm.finish_reason")
    )  # fmt: skip
    span.first = _begun(span, told)
    span.report(*[_value(told, *names) for names in _COUNTS])


def _begun(span: Span, told: Mapping[str, Any]) -> int:
    """When the answer began, as it is told: by the seconds or milliseconds until then, or by the clock."""
    for key, unit in _WAITED.items():
        waited = told.get(key)
        if isinstance(waited, int | float) and 0 < waited * unit < _DAY:
            return span.start + int(waited * unit)
    return moment(parsed(told.get("langfuse.observation.completion_start_time")))[0]


_WAITED = {
    "gen_ai.response.time_to_first_chunk": 1_000_000_000,
    "gen_ai.server.time_to_first_token": 1_000_000_000,
    "ai.response.msToFirstChunk": 1_000_000,
    "ai.stream.msToFirstChunk": 1_000_000,
}
"""Nanoseconds in one, by name."""
_DAY = 24 * 3600 * 1_000_000_000

_INPUTS = ("gen_ai.prompt", "ai.prompt.messages", "ai.prompt", "langfuse.observation.input", "traceloop.entity.input",
           "gcp.vertex.agent.llm_request", "llm.prompts", "input.value")  # fmt: skip
_OUTPUTS = ("gen_ai.completion", "langfuse.observation.output", "traceloop.entity.output",
            "gcp.vertex.agent.llm_response", "output.value")  # fmt: skip
_COUNTS = (
    ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "llm.usage.prompt_tokens",
     "ai.usage.inputTokens", "ai.usage.promptTokens"),
    ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
     "llm.usage.completion_tokens", "ai.usage.outputTokens", "ai.usage.completionTokens"),
    ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
     "gen_ai.usage.details.cache_read_input_tokens", "gen_ai.usage.details.cached_tokens",
     "llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens"),
    ("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens",
     "gen_ai.usage.details.cache_creation_input_tokens", "gen_ai.usage.details.cache_write_tokens",
     "llm.token_count.prompt_details.cache_write"),
    ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.details.reasoning_tokens",
     "llm.token_count.completion_details.reasoning", "ai.usage.reasoningTokens"),
    ("gen_ai.usage.total_tokens", "llm.usage.total_tokens", "llm.token_count.total", "ai.usage.totalTokens"),
)  # fmt: skip
"""Prompt, output, cache read, cache written, reasoning, total: under which names each is reported."""


def _first(attributes: Mapping[str, Any], *keys: str) -> str:
    for key in keys:
        if (found := attributes.get(key)) and isinstance(found, str):
            return found
    return ""


def _value(attributes: Mapping[str, Any], *keys: str) -> Any:
    """The first of these that is there."""
    for key in keys:
        if (found := attributes.get(key)) is not None:
            return found
    return None


_FLAT = ("llm.input_messages.", "llm.output_messages.", "llm.tools.", "llm.request.functions.", "gen_ai.prompt.",
         "gen_ai.completion.")  # fmt: skip


_DEEPEST = 6
"""Words of a name."""


def by_name(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes by their dotted names, also where they were nested; with lists that were flattened with dots put
    together again."""
    if dict in map(type, attributes.values()):
        attributes = dict(_dotted(attributes))
    flat = [key for key in attributes if key.startswith(_FLAT)]
    if not flat:
        return attributes
    trees: dict[str, dict[str, Any]] = {}
    for key in flat:
        prefix = next(one for one in _FLAT if key.startswith(one))
        here, words = trees.setdefault(prefix[:-1], {}), key.removeprefix(prefix).split(".")
        for word in words[:-1]:
            inner = here.get(word)
            if not isinstance(inner, dict):
                inner = here[word] = {}
            here = inner
        here[words[-1]] = attributes[key]
    return {**attributes, **{name: list(map(_unpacked, list_of(_listed_again(tree)))) for name, tree in trees.items()}}


def _dotted(told: Mapping[str, Any], before: str = "", depth: int = _DEEPEST) -> Iterator[tuple[str, Any]]:
    for key, value in told.items():
        yield before + key, value
        if type(value) is dict and depth > 1:
            yield from _dotted(value, f"{before}{key}.", depth - 1)


def _unpacked(message: Any) -> Any:
    """OpenLLMetry writes content that is a list of blocks as its JSON."""
    blocks = parsed(message.get("content")) if isinstance(message, dict) else None
    if isinstance(blocks, list) and blocks and all(isinstance(one, dict) and "type" in one for one in blocks):
        return {**message, "content": blocks}
    return message


def _listed_again(value: Any) -> Any:
    """Objects whose keys are all numbers are lists: 10 comes after 9."""
    if not isinstance(value, dict):
        return value
    inner = {key: _listed_again(one) for key, one in value.items()}
    if all(key.isascii() and key.isdigit() for key in inner):
        return [one for _, one in sorted(inner.items(), key=lambda pair: int(pair[0][:18]))]
    return inner


def _offered(attributes: Mapping[str, Any]) -> Any:
    """Tools as pydantic-ai tells them, and as a request's parameters hold them."""
    if told := mapping(attributes.get("model_request_parameters")):
        return [*list_of(told.get("function_tools")), *list_of(told.get("output_tools"))]
    return mapping(attributes.get("llm.invocation_parameters")).get("tools")


def _told_by_events(events: Sequence[Any]) -> tuple[list[Any], list[Any], Mapping[str, Any]]:
    """Asked and answered as numbered events tell them, one a message; and the attributes of events that tell more."""
    asked: list[Any] = []
    made: list[Any] = []
    more: dict[str, Any] = {}
    for event in objects_of(events):
        own = {**mapping(event.get("body")), **mapping(event.get("attributes"))}
        told = {**event, **own, **mapping(own.get("gen_ai.event.content"))}  # Azure's puts a whole message in there
        name = text_of(told.get("event.name")) or text_of(event.get("name"))
        if name == "gen_ai.choice":
            said = parsed(told.get("message", told))
            made.append({"role": "assistant", **(said if isinstance(said, dict) else {"content": said})})
        elif name.startswith("gen_ai.") and name.endswith(".message"):
            asked.append({"role": name.split(".")[1], **{key: parsed(one) for key, one in told.items()}})
        else:
            more |= own
    return asked, made, more
