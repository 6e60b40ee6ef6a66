"""Read a call's input and output as tracers log them: a list of messages, a request body, a response, a text, a repr.

The system prompt, the tools and the usage beside the messages are read, too.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.formats.traces.attributes import Flat
from inspector.core.formats.traces.span import mapping, unpack_json, usage_from_counts
from inspector.core.formats.traces.wire import role_of, unwrap_message
from inspector.core.quick import quick
from inspector.core.untyped import text_of
from inspector.core.usage import Usage


@quick
@dataclass(frozen=True, slots=True)
class Logged:
    """The logged input or output of a call."""

    items: tuple[Any, ...] = ()
    """Messages as they were written."""
    system: Any = None
    tools: Any = None
    usage: Usage | None = None
    finish: str = ""
    model: str = ""
    is_list: bool = False
    """Was the value a list that holds these items only?"""
    is_text: bool = False
    """Was the value plain text? Plain text does not show tool calls."""


_NOTHING = Logged()
_MESSAGES = (
    "messages",
    "input_messages",
    "input",
    "contents",
    "prompt",
    "prompts",
    "history",
    "chat_ctx",
    "items",
)
_SYSTEMS = ("system", "instructions", "systemInstruction", "system_instruction", "system_prompt")


def read_input(value: Any) -> Logged:
    """Read the logged input of a call."""
    source = unpack_json(value)
    if isinstance(source, list):
        return _read_message_list(source)
    plain = pythonic(source)
    if isinstance(plain, list):
        return replace(_read_message_list(plain), is_list=False)
    if isinstance(plain, str):
        return _read_conversation(plain)
    if not isinstance(plain, dict):
        return _NOTHING
    if role_of(unwrap_message(plain)):
        return Logged((plain,))
    for key in _MESSAGES:
        if plain.get(key):
            inner = read_input(plain[key])
            bodies = (plain, mapping(plain.get("config")) or mapping(plain.get("kwargs")))
            system = next(
                (body[name] for body in bodies for name in _SYSTEMS if body.get(name)), None
            )
            tools = next((body["tools"] for body in bodies if body.get("tools") is not None), None)
            return Logged(inner.items, system, tools, is_text=inner.is_text)
    return _NOTHING


def _read_message_list(source: list[Any]) -> Logged:
    is_batch = len(source) == 1 and isinstance(source[0], list)  # LangChain: a batch of one
    values = source[0] if is_batch else source
    rows = [value.nested() if type(value) is Flat else pythonic(value) for value in values]
    messages = [row for row in rows if _is_message(row)]
    tools = [definition for message in messages if (definition := _tool_definition(message))]
    if tools:
        messages = [message for message in messages if not _tool_definition(message)]
    return Logged(
        tuple(messages), tools=tools or None, is_list=not is_batch and len(messages) == len(values)
    )


def _is_message(row: Any) -> bool:
    """Is a row a text, or an object with parts, a type or a role?"""
    if not isinstance(row, dict):
        return isinstance(row, str)
    return (
        "parts" in row
        or isinstance(row.get("type"), str)
        or role_of(unwrap_message(row)) is not None
    )


def _tool_definition(row: Any) -> Mapping[str, Any]:
    """Return a tool's definition that was logged as a message (Langfuse's LangChain handler); empty for a message."""
    if not isinstance(row, dict) or row.get("role") != "tool":
        return {}
    content = row.get("content")
    return (
        content if isinstance(content, dict) and isinstance(content.get("function"), dict) else {}
    )


_SPEAKER = re.compile(r"(?:^|\n)(system|developer|user|assistant|tool): ")


def _read_conversation(text: str) -> Logged:
    """Read a text as a message of the user, or as a conversation if it names the speakers (`user: ...`)."""
    if not text:
        return _NOTHING
    pieces = _SPEAKER.split(text)
    if len(pieces) < 3 or pieces[0].strip():
        return Logged(({"role": "user", "content": text},), is_text=True)
    rows = zip(pieces[1::2], pieces[2::2], strict=True)
    return Logged(tuple({"role": role, "content": words} for role, words in rows), is_text=True)


def read_output(output: Any) -> Logged:
    """Read the logged output of a call, with the usage and the prompt that a whole response holds."""
    value = pythonic(unpack_json(output))
    if isinstance(value, str):
        return (
            Logged(({"role": "assistant", "content": value},), is_text=True) if value else _NOTHING
        )
    if isinstance(value, list):
        return _read_answers(value)
    if not isinstance(value, dict):
        return _NOTHING
    if len(value) == 2 and "content" in value and role_of(value):  # by far the most common form
        return Logged((value,))
    if (response := _read_response(value)) is not None:
        return response
    if isinstance(value.get("generations"), list):
        return _read_generations(value)
    for key in ("messages", "message", "output", "content"):
        if isinstance(inner := value.get(key), list | dict) and not role_of(unwrap_message(value)):
            return read_output(inner)
    return _read_answers([value])


def _read_response(value: dict[str, Any]) -> Logged | None:
    """Read the response of a provider's API; None if `value` is not one."""
    for dialect in DIALECTS.values():
        if dialect.is_response(value):
            usage = dialect.usage(value.get(dialect.counts))
            items = tuple(dialect.answer(value))
            system = value.get("instructions")
            tools = value.get("tools")
            return Logged(
                items,
                system,
                tools,
                usage,
                dialect.finish(value),
                model=text_of(value.get("model")),
            )
    return None


def _read_generations(value: dict[str, Any]) -> Logged:
    """Read the first of LangChain's generations."""
    first = value.get("generations")
    while isinstance(first, list):
        first = first[0] if first else None
    generation = mapping(first)
    message = generation.get("message") or {"role": "assistant", "content": generation.get("text")}
    answer = _read_answers([message])
    finish = answer.finish or _generation_finish(generation)
    return replace(answer, usage=_generation_usage(value, generation), finish=finish)


def _generation_finish(generation: Mapping[str, Any]) -> str:
    """Return the finish reason that LangChain records for a generation or its message; empty if it records none."""
    metadata = mapping(unwrap_message(mapping(generation.get("message"))).get("response_metadata"))
    for fields in (mapping(generation.get("generation_info")), metadata):
        for key in _FINISHES:
            if finish := text_of(fields.get(key)):
                return finish
    return ""


_FINISHES = ("finish_reason", "stop_reason")


def _generation_usage(value: Mapping[str, Any], generation: Mapping[str, Any]) -> Usage | None:
    """Return the usage that LangChain records for the message, else the provider's usage; None if there is none."""
    counts = mapping(unwrap_message(mapping(generation.get("message"))).get("usage_metadata"))
    if usage := usage_from_counts(*langchain_counts(counts)):
        return usage
    output = mapping(value.get("llm_output"))
    reported = mapping(output.get("token_usage")) or mapping(output.get("usage"))
    for dialect in DIALECTS.values():
        usage = dialect.usage(reported)
        if usage is not None and usage.prompt:
            return usage
    return None


def langchain_counts(counts: Mapping[str, Any]) -> list[Any]:
    """Return LangChain's `usage_metadata` in the order of `usage_from_counts`."""
    inputs = mapping(counts.get("input_token_details"))
    outputs = mapping(counts.get("output_token_details"))
    return [
        counts.get("input_tokens"),
        counts.get("output_tokens"),
        inputs.get("cache_read"),
        inputs.get("cache_creation"),
        outputs.get("reasoning"),
        counts.get("total_tokens"),
    ]


def _read_answers(rows: list[Any]) -> Logged:
    finish = ""
    answers: list[Mapping[str, Any]] = []
    calls: list[Mapping[str, Any]] = []
    for row in map(unwrap_message, rows):
        if not isinstance(row, dict):
            continue
        if "toolCallId" in row:
            calls.append(row)
        finish = finish or text_of(row.get("finish_reason"))
        if _is_message(row) or "content" in row or "tool_calls" in row:
            has_role = role_of(row) or isinstance(row.get("type"), str)
            answers.append(row if has_role else {**row, "role": "assistant"})
    if calls and len(calls) == len(rows):  # Vercel: bare calls
        return Logged(({"role": "assistant", "tool_calls": calls},))
    return Logged(tuple(answers), finish=finish)


# -- Python's repr

_REPR = re.compile(r"[A-Za-z_][\w.]*\(")
_FIELDS = re.compile(r"([a-z_]\w*)=")
_LONGEST = 1 << 20


def pythonic(value: Any) -> Any:
    """Parse the repr of a Python object (`Response(id='...')`, `role='user' content='...'`); return other values as
    they are.
    """
    if not isinstance(value, str) or len(value) > _LONGEST:
        return value
    if _REPR.match(value) and value.rstrip().endswith(")"):
        return _parse_repr(value) or value
    if value.startswith(("role='", 'role="')):
        return _parse_pairs(value) or value
    return value


def _parse_repr(value: str) -> Any:
    try:
        return _read_node(ast.parse(value.strip(), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _read_node(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str | int | float) else None
    if isinstance(node, ast.Call):
        return {keyword.arg: _read_node(keyword.value) for keyword in node.keywords if keyword.arg}
    if isinstance(node, ast.List | ast.Tuple):
        return [_read_node(element) for element in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {
            str(key.value): _read_node(value)
            for key, value in pairs
            if isinstance(key, ast.Constant)
        }
    return None


def _parse_pairs(value: str) -> Mapping[str, Any]:
    """Read `role='user' content='...' tool_calls=[...]`. A value that cannot be parsed becomes None."""
    fields: dict[str, Any] = {}
    at = 0
    while match := _FIELDS.match(value, at):
        end = _end_of_value(value, match.end())
        inner = value[match.end() : end]
        fields[match[1]] = _parse_repr(inner) if inner[:1] in "'\"[{" else None
        at = end + 1
        if len(fields) > _MOST_FIELDS:
            break
    return fields


_MOST_FIELDS = 60


_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


def _end_of_value(value: str, at: int) -> int:
    """Return the index at which a value ends: the first blank outside of strings and brackets. O(its length)."""
    depth = 0
    while at < len(value):
        letter = value[at]
        if letter in "'\"":
            match = _STRING.match(value, at)
            at = match.end() if match else len(value)
            continue
        if letter == " " and depth <= 0:
            break
        depth += (letter in "([{") - (letter in ")]}")
        at += 1
    return at
