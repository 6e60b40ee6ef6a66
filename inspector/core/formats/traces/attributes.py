"""Read the attributes of a span, by the names that each convention gives them.

The conventions are `gen_ai.*` of OpenTelemetry (present and former), OpenInference (`llm.*`, flattened or nested),
OpenLLMetry (`gen_ai.prompt.0.role`, `llm.usage.*`), the Vercel AI SDK (`ai.*`) and Google's ADK (`gcp.vertex.agent.*`).
An attribute may hold JSON as a string.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from inspector.core.formats.traces.span import (
    Span,
    SpanKind,
    first_string,
    mapping,
    read_time,
    unpack_json,
)
from inspector.core.untyped import list_of, objects_of, text_of

_CALLS = (
    "chat",
    "text_completion",
    "generate_content",
    "completion",
    "llm",
    "generation",
    "response",
)
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
    "input messages": ("gen_ai.input.messages", "llm.input_messages"),
    "output messages": ("gen_ai.output.messages", "llm.output_messages"),
    "input": ("gen_ai.tool.call.arguments", "ai.toolCall.args", "tool.parameters", "gcp.vertex.agent.tool_call_args",
              "gen_ai.prompt", "ai.prompt.messages", "ai.prompt", "langfuse.observation.input",
              "traceloop.entity.input", "gcp.vertex.agent.llm_request", "llm.prompts", "input.value"),
    "output": ("gen_ai.tool.call.result", "ai.toolCall.result", "gcp.vertex.agent.tool_response",
               "gen_ai.completion", "langfuse.observation.output", "traceloop.entity.output",
               "gcp.vertex.agent.llm_response", "output.value"),
    "output text": ("ai.response.text",),
    "output calls": ("ai.response.toolCalls",),
    "finish": ("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "ai.response.finishReason",
               "llm.response.finish_reason", "llm.finish_reason"),
    "seconds": ("gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token"),
    "milliseconds": ("ai.response.msToFirstChunk", "ai.stream.msToFirstChunk"),
    "first byte": ("langfuse.observation.completion_start_time",),
    "events": ("events",),
    "parameters": ("model_request_parameters",),
    "settings": ("llm.invocation_parameters", "gen_ai.request.configuration"),
}  # fmt: skip
"""The attribute names of each field, the preferred name first."""
_FLAT = ("llm.input_messages.", "llm.output_messages.", "llm.tools.", "llm.request.functions.", "gen_ai.prompt.",
         "gen_ai.completion.")  # fmt: skip
"""Names of lists that some tracers flatten: one attribute with a dotted name for each field of each item."""


class AttributePlace(NamedTuple):
    """The field that an attribute holds, found by the attribute's name."""

    what: str
    rank: int
    """Number of names of this field that are preferred to this one."""
    is_text: bool
    number: int = -1
    """Index of the item in a flattened list; -1 for any other attribute."""


_PLACES: Mapping[str, AttributePlace] = {
    name: AttributePlace(what, rank, names is _TEXTS.get(what))
    for what, names in (*_TEXTS.items(), *_VALUES.items())
    for rank, name in enumerate(names)
}


@lru_cache(maxsize=1 << 14)
def _place_of(name: str) -> tuple[AttributePlace | None, str]:
    """Return the place of an attribute, and the field in its list item. Cached, because spans repeat the same names."""
    if name in _PLACES:
        return _PLACES[name], ""
    flat = next((lead for lead in _FLAT if name.startswith(lead)), "")
    number, _, field = name[len(flat) :].partition(".")
    if not flat or not field or not _is_number(number):
        return None, ""
    return _item(flat, int(number[:18])), field


@lru_cache(maxsize=1 << 12)
def _item(flat: str, number: int) -> AttributePlace:
    what, rank, *_ = _PLACES[flat[:-1]]
    return AttributePlace(what, rank, is_text=False, number=number)


def read_fields(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the attributes hold. Of several attributes for a field, the preferred name counts."""
    fields: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    lists: dict[str, dict[int, Flat]] = {}
    last_place, item = None, Flat()
    for name, value in attributes.items():
        place, field = _place_of(name)
        if place is None or value is None:
            continue
        if place is last_place:  # the fields of an item follow each other
            item[field] = value
            continue
        what, rank, is_text, number = place
        if rank > ranks.get(what, rank) or (is_text and not _is_filled(value)):
            continue
        if number < 0:
            fields[what], ranks[what] = value, rank
            continue
        if what not in lists:
            lists[what], ranks[what] = {}, rank
            fields.pop(what, None)
        last_place = place
        item = lists[what].setdefault(number, Flat())
        item[field] = value
    for what, items in lists.items():
        fields.setdefault(what, [items[number] for number in sorted(items)])
    return fields


def _is_filled(value: Any) -> bool:
    return bool(value) and isinstance(value, str)


# -- fields that were flattened with dots

_DEEPEST = 12
"""Maximum number of dots at which a name is split."""


class Flat(dict[str, Any]):
    """A flattened object: its keys are dotted names (`message.tool_calls.0.id`).

    It is nested only when it is read. Each call logs the whole conversation so far, and items that equal those of the
    previous call are compared in the flattened form.
    """

    def nested(self) -> dict[str, Any]:
        """Return the nested object. An inner object whose keys are all numbers becomes a list."""
        root: dict[str, Any] = {}
        has_lists = False
        for name, value in self.items():
            path, last, is_numbered = _split_name(name)
            node = root
            for word in path:
                inner = node.get(word)
                if type(inner) is not dict:
                    inner = node[word] = {}
                node = inner
            node[last] = value
            has_lists = has_lists or is_numbered
        return _unpacked(_listed(root) if has_lists else root)


@lru_cache(maxsize=1 << 12)
def _split_name(name: str) -> tuple[Sequence[str], str, bool]:
    """Return the words of a name before the last, the last word, and whether any word is a number."""
    *path, last = words = name.split(".", _DEEPEST)
    return path, last, any(map(_is_number, words))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _listed(tree: dict[str, Any]) -> Any:
    for key, inner in tree.items():
        if type(inner) is dict:
            tree[key] = _listed(inner)
    if all(map(_is_number, tree)):
        # 10 comes after 9.
        return [tree[key] for key in sorted(tree, key=lambda key: int(key[:18]))]
    return tree


def _unpacked(message: dict[str, Any]) -> dict[str, Any]:
    """Parse content that is a list of blocks in JSON, as OpenLLMetry writes it."""
    content = message.get("content")
    blocks = unpack_json(content) if isinstance(content, str) and content.startswith("[") else None
    if (
        isinstance(blocks, list)
        and blocks
        and all(isinstance(block, dict) and "type" in block for block in blocks)
    ):
        return {**message, "content": blocks}
    return message


# -- spans


def _dotted(
    attributes: Mapping[str, Any], lead: str = "", depth: int = 6
) -> Iterator[tuple[str, Any]]:
    """Yield attributes by dotted name, including those of nested objects that may hold a known attribute."""
    for key, value in attributes.items():
        name = lead + key
        yield name, value
        if type(value) is dict and depth > 1 and f"{name}.".startswith(_OUTER):
            yield from _dotted(value, f"{name}.", depth - 1)


_OUTER = tuple({f"{name.partition('.')[0]}." for name in (*_PLACES, *_KINDS, "ai.operationId")})
"""First words, with the dot, of all attribute names that are read."""


def kind_of(attributes: Mapping[str, Any]) -> SpanKind:
    """Return the kind of the span: call, agent or tool; empty for any other."""
    words = [word for key in _KINDS if (word := text_of(attributes.get(key)))]
    for word in words:
        if kind := _WORDS.get(word.lower()):
            return kind
    operation = text_of(attributes.get("ai.operationId")).lower()
    if operation.startswith(_VERCEL):
        return "call"
    if operation == "ai.toolcall" or "gen_ai.tool.name" in attributes:
        return "tool"
    has_usage = (
        "gen_ai.usage.input_tokens" in attributes or "gen_ai.usage.prompt_tokens" in attributes
    )
    if has_usage and "agent_name" not in attributes and not words:
        return "call"
    return "agent" if agent_of(attributes) else ""


def agent_of(attributes: Mapping[str, Any]) -> str:
    """Return the agent's name; empty if the attributes hold none."""
    return next((name for key in _TEXTS["agent"] if (name := text_of(attributes.get(key)))), "")


def describe(span: Span, attributes: Mapping[str, Any], events: Sequence[Any] = ()) -> Span:
    """Set the fields of the span that the attributes and events hold, and return the span."""
    if not attributes and not events:
        if span.kind == "agent":
            span.agent = span.name
        return span
    if dict in map(type, attributes.values()):
        attributes = dict(_dotted(attributes))
    span.kind = span.kind or kind_of(attributes)
    if not span.kind:
        return span
    fields = read_fields(attributes)
    span.agent = fields.get("agent") or (span.name if span.kind == "agent" else "")
    span.conversation = fields.get("conversation", "")
    messages = _read_messages(span, fields, events)
    if messages.attributes:
        fields = {**read_fields(dict(_dotted(messages.attributes))), **fields}
    span.system, span.tools = fields.get("system"), _read_tools(fields)
    if span.kind == "tool":
        span.tool_call = fields.get("tool_call", "")
        span.input, span.output = fields.get("input"), fields.get("output")
        span.name = fields.get("tool") or span.name
    elif span.kind == "call":
        _describe_call(span, fields, messages)
    return span


class EventMessages(NamedTuple):
    """The content of a call's events: input messages, output messages, and the attributes of all other events."""

    asked: list[Any]
    answered: list[Any]
    attributes: Mapping[str, Any]


def _read_messages(span: Span, fields: Mapping[str, Any], events: Sequence[Any]) -> EventMessages:
    messages = EventMessages([], [], {})
    if events and span.kind == "call":
        messages = _read_events(events)
    # pydantic-ai until mid-2025.
    if not messages.asked and not messages.answered and "events" in fields:
        older = _read_events(list_of(unpack_json(fields["events"])))
        messages = messages._replace(asked=older.asked, answered=older.answered)
    return messages


def _read_tools(fields: Mapping[str, Any]) -> Any:
    tools = fields.get("tools")
    if tools is not None:
        return tools
    if parameters := mapping(fields.get("parameters")):  # pydantic-ai
        return [
            *list_of(parameters.get("function_tools")),
            *list_of(parameters.get("output_tools")),
        ]
    return mapping(fields["settings"]).get("tools") if "settings" in fields else None


def _describe_call(span: Span, fields: Mapping[str, Any], messages: EventMessages) -> None:
    span.input = fields.get("input messages") or messages.asked or fields.get("input")
    span.output = fields.get("output messages") or messages.answered or fields.get("output")
    if span.output is None and ("output text" in fields or "output calls" in fields):
        calls = list_of(unpack_json(fields.get("output calls")))
        span.output = [
            {"role": "assistant", "content": fields.get("output text"), "tool_calls": calls}
        ]
    span.model, span.response = fields.get("model", ""), fields.get("response", "")
    span.finish = first_string(fields.get("finish"))
    span.first = _read_first_byte(span, fields)
    span.report(*[fields.get(what) for what in _COUNTS])


def _read_first_byte(span: Span, fields: Mapping[str, Any]) -> int:
    """Return the time when the answer began, in nanoseconds since 1970; 0 if not recorded.

    Tracers record it as seconds or milliseconds after the start of the call, or as date and time.
    """
    for what, unit in _WAITED.items():
        waited = fields.get(what)
        if isinstance(waited, int | float) and 0 < waited * unit < _DAY:
            return span.start + int(waited * unit)
    return read_time(unpack_json(fields["first byte"]))[0] if "first byte" in fields else 0


_WAITED = {"seconds": 1_000_000_000, "milliseconds": 1_000_000}
"""Nanoseconds in one unit of each field."""
_DAY = 24 * 3600 * 1_000_000_000


def _read_events(events: Sequence[Any]) -> EventMessages:
    """Read the messages of `gen_ai.*` message events, and the attributes of all other events."""
    questions: list[Any] = []
    answered: list[Any] = []
    attributes: dict[str, Any] = {}
    for event in objects_of(events):
        own = {**mapping(event.get("body")), **mapping(event.get("attributes"))}
        # Azure puts a whole message in this field.
        fields = {**event, **own, **mapping(own.get("gen_ai.event.content"))}
        name = text_of(fields.get("event.name")) or text_of(event.get("name"))
        if name == "gen_ai.choice":
            answered.append(_read_choice(fields))
        elif name.startswith("gen_ai.") and name.endswith(".message"):
            content = {key: unpack_json(value) for key, value in fields.items()}
            questions.append({"role": name.split(".")[1], **content})
        else:
            attributes |= own
    return EventMessages(questions, answered, attributes)


def _read_choice(fields: Mapping[str, Any]) -> dict[str, Any]:
    message = unpack_json(fields.get("message", fields))
    finish = {"finish_reason": fields["finish_reason"]} if "finish_reason" in fields else {}
    content = message if isinstance(message, dict) else {"content": message}
    return {"role": "assistant", **finish, **content}
