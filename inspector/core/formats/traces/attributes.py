"""What the attributes of a span mean, in the words of each convention.

`gen_ai.*` of OpenTelemetry (present and former), OpenInference (`llm.*`, flattened or nested), OpenLLMetry
(`gen_ai.prompt.0.role`, `llm.usage.*`), the Vercel AI SDK (`ai.*`), Google's ADK (`gcp.vertex.agent.*`). An attribute
may hold JSON as a string.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from inspector.core.formats.traces.span import Span, SpanKind, first_string, mapping, read_time, unpack_json
from inspector.core.untyped import list_of, objects_of, text_of

_CALLS = ("chat", "text_completion", "generate_content", "completion", "llm", "generation", "response")
_WORDS: Mapping[str, SpanKind] = {
    **dict.fromkeys(_CALLS, "call"),
    **dict.fromkeys(("invoke_agent", "agent", "invoke_workflow"), "agent"),
    **dict.fromkeys(("execute_tool", "tool"), "tool"),
}
_VERCEL = ("ai.generatetext", "ai.streamtext", "ai.generateobject", "ai.streamobject")
_KINDS = ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "langfuse.observation.type",
          "langsmith.span.kind", "llm.request.type")  # fmt: skip
_TEXTS: Mapping[str, Sequence[str]] = {
    "agent": ("gen_ai.agent.name", "agent_name", "agent.name", "traceloop.entity.name"),
    "conversation": ("gen_ai.conversation.id", "session.id", "ai.telemetry.metadata.sessionId",
                     "gcp.vertex.agent.session_id"),
    "tool_call": ("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id"),
    "tool": ("gen_ai.tool.name", "tool.name", "ai.toolCall.name"),
    "model": ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.response.model",
              "llm.response.model", "llm.request.model", "ai.model.id"),
    "response": ("gen_ai.response.id", "llm.response.id", "ai.response.id"),
}  # fmt: skip
_COUNTS: Mapping[str, Sequence[str]] = {
    "prompt": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt",
               "llm.usage.prompt_tokens", "ai.usage.inputTokens", "ai.usage.promptTokens"),
    "completion": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
                   "llm.usage.completion_tokens", "ai.usage.outputTokens", "ai.usage.completionTokens"),
    "cache read": ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
                   "gen_ai.usage.details.cache_read_input_tokens", "gen_ai.usage.details.cached_tokens",
                   "gen_ai.usage.cached_tokens",
                   "llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens"),
    "cache written": ("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens",
                      "gen_ai.usage.details.cache_creation_input_tokens", "gen_ai.usage.details.cache_write_tokens",
                      "llm.token_count.prompt_details.cache_write"),
    "reasoning": ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.details.reasoning_tokens",
                  "gen_ai.usage.reasoning_tokens",
                  "llm.token_count.completion_details.reasoning", "ai.usage.reasoningTokens"),
    "total": ("gen_ai.usage.total_tokens", "llm.usage.total_tokens", "llm.token_count.total", "ai.usage.totalTokens"),
}  # fmt: skip
_VALUES: Mapping[str, Sequence[str]] = {
    **_COUNTS,
    "system": ("gen_ai.system_instructions", "gen_ai.system.instructions"),
    "tools": ("gen_ai.tool.definitions", "llm.tools", "llm.request.functions", "ai.prompt.tools"),
    "asked": ("gen_ai.input.messages", "llm.input_messages"),
    "answered": ("gen_ai.output.messages", "llm.output_messages"),
    "input": ("gen_ai.tool.call.arguments", "ai.toolCall.args", "tool.parameters", "gcp.vertex.agent.tool_call_args",
              "gen_ai.prompt", "ai.prompt.messages", "ai.prompt", "langfuse.observation.input",
              "traceloop.entity.input", "gcp.vertex.agent.llm_request", "llm.prompts", "input.value"),
    "output": ("gen_ai.tool.call.result", "ai.toolCall.result", "gcp.vertex.agent.tool_response",
               "gen_ai.completion", "langfuse.observation.output", "traceloop.entity.output",
               "gcp.vertex.agent.llm_response", "output.value"),
    "said": ("ai.response.text",),
    "called": ("ai.response.toolCalls",),
    "finish": ("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "ai.response.finishReason",
               "llm.response.finish_reason", "llm.finish_reason"),
    "seconds": ("gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token"),
    "milliseconds": ("ai.response.msToFirstChunk", "ai.stream.msToFirstChunk"),
    "begun": ("langfuse.observation.completion_start_time",),
    "events": ("events",),
    "parameters": ("model_request_parameters",),
    "settings": ("llm.invocation_parameters", "gen_ai.request.configuration"),
}  # fmt: skip
"""Under which names each is told, the best first."""
_FLAT = ("llm.input_messages.", "llm.output_messages.", "llm.tools.", "llm.request.functions.", "gen_ai.prompt.",
         "gen_ai.completion.")  # fmt: skip
"""Lists that some flatten with dots."""


class Place(NamedTuple):
    """Where that belongs which an attribute of some name tells."""

    what: str
    rank: int
    """How many names tell it better."""
    is_text: bool
    number: int = -1
    """Of the item in a list that was flattened."""


_PLACES: Mapping[str, Place] = {
    name: Place(what, rank, names is _TEXTS.get(what))
    for what, names in (*_TEXTS.items(), *_VALUES.items())
    for rank, name in enumerate(names)
}


@lru_cache(maxsize=1 << 14)
def _place_of(name: str) -> tuple[Place | None, str]:
    """The place of an attribute, and which field of the item there. Most names come again with every span."""
    if name in _PLACES:
        return _PLACES[name], ""
    flat = next((one for one in _FLAT if name.startswith(one)), "")
    number, _, field = name[len(flat) :].partition(".")
    if not flat or not field or not _is_number(number):
        return None, ""
    return _item(flat, int(number[:18])), field


@lru_cache(maxsize=1 << 12)
def _item(flat: str, number: int) -> Place:
    what, rank, *_ = _PLACES[flat[:-1]]
    return Place(what, rank, False, number)


def told_by(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What the attributes tell, each by the best of its names."""
    found: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    lists: dict[str, dict[int, Flat]] = {}
    before, item = None, Flat()
    for name, value in attributes.items():
        place, field = _place_of(name)
        if place is None or value is None:
            continue
        if place is before:  # the fields of an item stand together
            item[field] = value
            continue
        what, rank, is_text, number = place
        if rank > ranks.get(what, rank) or (is_text and not (value and isinstance(value, str))):
            continue
        if number < 0:
            found[what], ranks[what] = value, rank
            continue
        if (items := lists.get(what)) is None:
            ranks[what], items = rank, lists.setdefault(what, {})
            found.pop(what, None)
        if number not in items:
            items[number] = Flat()
        before, item = place, items[number]
        item[field] = value
    for what, items in lists.items():
        found.setdefault(what, [item for _, item in sorted(items.items())])
    return found


# -- fields that were flattened with dots

_DEEPEST = 12
"""Words of a name."""


class Flat(dict[str, Any]):
    """An object by the names with the dots (`message.tool_calls.0.id`), taken apart when it is looked at: a call tells
    the whole conversation so far, and what is the same as in the call before is compared as it was written."""

    def nested(self) -> dict[str, Any]:
        """Objects in objects, and lists where all the names are numbers."""
        found: dict[str, Any] = {}
        is_listed = False
        for name, value in self.items():
            path, last, is_numbered = _parted(name)
            here = found
            for word in path:
                inner = here.get(word)
                if type(inner) is not dict:
                    inner = here[word] = {}
                here = inner
            here[last] = value
            is_listed = is_listed or is_numbered
        return _unpacked(_listed(found) if is_listed else found)


@lru_cache(maxsize=1 << 12)
def _parted(name: str) -> tuple[Sequence[str], str, bool]:
    """The words before the last, the last, and whether any is a number. Most names come again."""
    *path, last = words = name.split(".", _DEEPEST)
    return path, last, any(map(_is_number, words))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _listed(tree: dict[str, Any]) -> Any:
    for key, inner in tree.items():
        if type(inner) is dict:
            tree[key] = _listed(inner)
    if all(map(_is_number, tree)):
        return [one for _, one in sorted(tree.items(), key=lambda pair: int(pair[0][:18]))]  # 10 comes after 9
    return tree


def _unpacked(message: dict[str, Any]) -> dict[str, Any]:
    """OpenLLMetry writes content that is a list of blocks as its JSON."""
    content = message.get("content")
    blocks = unpack_json(content) if isinstance(content, str) and content.startswith("[") else None
    if isinstance(blocks, list) and blocks and all(isinstance(one, dict) and "type" in one for one in blocks):
        return {**message, "content": blocks}
    return message


# -- spans


def _dotted(told: Mapping[str, Any], before: str = "", depth: int = 6) -> Iterator[tuple[str, Any]]:
    for key, value in told.items():
        name = before + key
        yield name, value
        if type(value) is dict and depth > 1 and f"{name}.".startswith(_OUTER):
            yield from _dotted(value, f"{name}.", depth - 1)


_OUTER = tuple({f"{name.partition('.')[0]}." for name in (*_PLACES, *_KINDS, "ai.operationId")})
"""How names begin that tell something."""


def kind_of(attributes: Mapping[str, Any]) -> SpanKind:
    """What the span is about."""
    named = False
    for key in _KINDS:
        if (word := attributes.get(key)) and isinstance(word, str):
            if kind := _WORDS.get(word.lower()):
                return kind
            named = True
    operation = text_of(attributes.get("ai.operationId")).lower()
    if operation.startswith(_VERCEL):
        return "call"
    if operation == "ai.toolcall" or "gen_ai.tool.name" in attributes:
        return "tool"
    reported = "gen_ai.usage.input_tokens" in attributes or "gen_ai.usage.prompt_tokens" in attributes
    if reported and "agent_name" not in attributes and not named:
        return "call"
    return "agent" if agent_of(attributes) else ""


def agent_of(attributes: Mapping[str, Any]) -> str:
    """The agent's name, as far as the attributes say one."""
    return next((name for key in _TEXTS["agent"] if (name := text_of(attributes.get(key)))), "")


def describe(span: Span, attributes: Mapping[str, Any], events: Sequence[Any] = ()) -> Span:
    """Put what the attributes (and events) say into the span."""
    if not attributes and not events:
        if span.kind == "agent":
            span.agent = span.name
        return span
    if dict in map(type, attributes.values()):
        attributes = dict(_dotted(attributes))
    span.kind = span.kind or kind_of(attributes)
    if not span.kind:
        return span
    told = told_by(attributes)
    span.agent = told.get("agent") or (span.name if span.kind == "agent" else "")
    span.conversation = told.get("conversation", "")
    asked, answered, more = _told_by_events(events) if events and span.kind == "call" else ([], [], {})
    if not asked and not answered and "events" in told:  # pydantic-ai until mid-2025
        asked, answered, _ = _told_by_events(list_of(unpack_json(told["events"])))
    if more:
        told = {**told_by(dict(_dotted(more))), **told}
    span.system, span.tools = told.get("system"), told.get("tools")
    if span.tools is None and (given := mapping(told.get("parameters"))):  # pydantic-ai
        span.tools = [*list_of(given.get("function_tools")), *list_of(given.get("output_tools"))]
    elif span.tools is None and "settings" in told:
        span.tools = mapping(told["settings"]).get("tools")
    if span.kind == "tool":
        span.tool_call = told.get("tool_call", "")
        span.input, span.output = told.get("input"), told.get("output")
        span.name = told.get("tool") or span.name
    elif span.kind == "call":
        _describe_call(span, told, asked, answered)
    return span


def _describe_call(span: Span, told: Mapping[str, Any], asked: list[Any], answered: list[Any]) -> None:
    span.input = told.get("asked") or asked or told.get("input")
    span.output = told.get("answered") or answered or told.get("output")
    if span.output is None and ("said" in told or "called" in told):
        calls = list_of(unpack_json(told.get("called")))
        span.output = [{"role": "assistant", "content": told.get("said"), "tool_calls": calls}]
    span.model, span.response = told.get("model", ""), told.get("response", "")
    span.finish = first_string(told.get("finish"))
    span.first = _begun(span, told)
    span.report(*[told.get(what) for what in _COUNTS])


def _begun(span: Span, told: Mapping[str, Any]) -> int:
    """When the answer began, as it is told: by the seconds or milliseconds until then, or by the clock."""
    for what, unit in _WAITED.items():
        waited = told.get(what)
        if isinstance(waited, int | float) and 0 < waited * unit < _DAY:
            return span.start + int(waited * unit)
    return read_time(unpack_json(told["begun"]))[0] if "begun" in told else 0


_WAITED = {"seconds": 1_000_000_000, "milliseconds": 1_000_000}
"""Nanoseconds in one."""
_DAY = 24 * 3600 * 1_000_000_000


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
            said = unpack_json(told.get("message", told))
            why = {"finish_reason": told["finish_reason"]} if "finish_reason" in told else {}
            made.append({"role": "assistant", **why, **(said if isinstance(said, dict) else {"content": said})})
        elif name.startswith("gen_ai.") and name.endswith(".message"):
            asked.append({"role": name.split(".")[1], **{key: unpack_json(one) for key, one in told.items()}})
        else:
            more |= own
    return asked, made, more
