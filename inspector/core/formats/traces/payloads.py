"""Input and output of a call as tracers log them: a list of messages, a request body, a response, a text, a repr.

What stands around the messages (system prompt, tools, usage) comes along where it is in there.
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
    """What was logged of one side of a call."""

    items: tuple[Any, ...] = ()
    """Messages as they were written."""
    system: Any = None
    tools: Any = None
    usage: Usage | None = None
    finish: str = ""
    model: str = ""
    is_list: bool = False
    """It was a list, and all that stood in it are the items."""
    is_text: bool = False
    """It was no structure, but words: tool calls do not stand in there as such."""


_NOTHING = Logged()
_MESSAGES = ("messages", "input_messages", "input", "contents", "prompt", "prompts", "history", "chat_ctx", "items")
_SYSTEMS = ("system", "instructions", "systemInstruction", "system_instruction", "system_prompt")


def read_input(told: Any) -> Logged:
    """What was sent."""
    found = unpack_json(told)
    if isinstance(found, list):
        value = found[0] if len(found) == 1 and isinstance(found[0], list) else found  # LangChain: a batch of one
        rows = [one for each in value if _is_said(one := each.nested() if type(each) is Flat else pythonic(each))]
        offered = [definition for one in rows if (definition := _offered(one))]
        items = tuple([one for one in rows if not _offered(one)] if offered else rows)
        return Logged(items, tools=offered or None, is_list=value is found and len(items) == len(value))
    value = pythonic(found)
    if isinstance(value, list):
        return replace(read_input(value), is_list=False)
    if isinstance(value, str):
        return _words(value)
    if not isinstance(value, dict):
        return _NOTHING
    if role_of(unwrap_message(value)):
        return Logged((value,))
    for key in _MESSAGES:
        if value.get(key):
            inner = read_input(value[key])
            settings = mapping(value.get("config")) or mapping(value.get("kwargs"))
            system = next((both[name] for both in (value, settings) for name in _SYSTEMS if both.get(name)), None)
            tools = next((both["tools"] for both in (value, settings) if both.get("tools") is not None), None)
            return Logged(inner.items, system, tools, is_text=inner.is_text)
    return _NOTHING


def _is_said(one: Any) -> bool:
    """Anything but an object that neither says who speaks nor is an item of its own."""
    if not isinstance(one, dict):
        return isinstance(one, str)
    return "parts" in one or isinstance(one.get("type"), str) or role_of(unwrap_message(one)) is not None


def _offered(one: Any) -> Mapping[str, Any]:
    """The definition of a tool, where one stands among the messages (Langfuse's LangChain handler)."""
    if not isinstance(one, dict) or one.get("role") != "tool":
        return {}
    content = one.get("content")
    return content if isinstance(content, dict) and isinstance(content.get("function"), dict) else {}


_SPEAKER = re.compile(r"(?:^|\n)(system|developer|user|assistant|tool): ")


def _words(said: str) -> Logged:
    """A text, or a conversation written as one (`user: ...`)."""
    if not said:
        return _NOTHING
    pieces = _SPEAKER.split(said)
    if len(pieces) < 3 or pieces[0].strip():
        return Logged(({"role": "user", "content": said},), is_text=True)
    rows = zip(pieces[1::2], pieces[2::2], strict=True)
    return Logged(tuple({"role": role, "content": words} for role, words in rows), is_text=True)


def read_output(told: Any) -> Logged:
    """What came back: with the usage and the prompt that a whole response holds."""
    value = pythonic(unpack_json(told))
    if isinstance(value, str):
        return Logged(({"role": "assistant", "content": value},), is_text=True) if value else _NOTHING
    if isinstance(value, list):
        return _listed(value)
    if not isinstance(value, dict):
        return _NOTHING
    if len(value) == 2 and "content" in value and role_of(value):  # most, by far
        return Logged((value,))
    for dialect in DIALECTS.values():
        if dialect.is_response(value):
            usage = dialect.usage(value.get(dialect.counts))
            items = tuple(dialect.answer(value))
            system, tools = value.get("instructions"), value.get("tools")
            return Logged(items, system, tools, usage, dialect.finish(value), text_of(value.get("model")))
    if isinstance(generations := value.get("generations"), list):  # LangChain
        while isinstance(generations, list):
            generations = generations[0] if generations else None
        said = mapping(generations)
        found = _listed([said.get("message") or {"role": "assistant", "content": said.get("text")}])
        return replace(found, usage=_chain_usage(value, said), finish=found.finish or _chain_finish(said))
    for key in ("messages", "message", "output", "content"):
        if isinstance(inner := value.get(key), list | dict) and not role_of(unwrap_message(value)):
            return read_output(inner)
    return _listed([value])


def _chain_finish(said: Mapping[str, Any]) -> str:
    """Why the answer ended, as LangChain tells it of a generation or of the message in it."""
    message = mapping(unwrap_message(mapping(said.get("message"))).get("response_metadata"))
    told = (each.get(key) for each in (mapping(said.get("generation_info")), message) for key in _FINISHES)
    return next((why for one in told if (why := text_of(one))), "")


_FINISHES = ("finish_reason", "stop_reason")


def _chain_usage(value: Mapping[str, Any], said: Mapping[str, Any]) -> Usage | None:
    """What LangChain says of a call's tokens: in the message; else in the provider's own words."""
    told = mapping(unwrap_message(mapping(said.get("message"))).get("usage_metadata"))
    read, made = mapping(told.get("input_token_details")), mapping(told.get("output_token_details"))
    counts = (told.get("input_tokens"), told.get("output_tokens"), read.get("cache_read"), read.get("cache_creation"))
    if found := usage_from_counts(*counts, made.get("reasoning"), told.get("total_tokens")):
        return found
    about = mapping(value.get("llm_output"))
    told = mapping(about.get("token_usage")) or mapping(about.get("usage"))
    return next((usage for one in DIALECTS.values() if (usage := one.usage(told)) is not None and usage.prompt), None)


def _listed(value: list[Any]) -> Logged:
    finish, said, called = "", list[Mapping[str, Any]](), list[Mapping[str, Any]]()
    for one in map(unwrap_message, value):
        if not isinstance(one, dict):
            continue
        if "toolCallId" in one:
            called.append(one)
        finish = finish or text_of(one.get("finish_reason"))
        if _is_said(one) or "content" in one or "tool_calls" in one:
            said.append(one if role_of(one) or isinstance(one.get("type"), str) else {**one, "role": "assistant"})
    if called and len(called) == len(value):  # Vercel: bare calls
        return Logged(({"role": "assistant", "tool_calls": called},))
    return Logged(tuple(said), finish=finish)


# -- Python's repr

_REPR = re.compile(r"[A-Za-z_][\w.]*\(")
_FIELDS = re.compile(r"([a-z_]\w*)=")
_LONGEST = 1 << 20


def pythonic(value: Any) -> Any:
    """What the repr of a Python object says (`Response(id='...')`, `role='user' content='...'`), else the value."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return value
    if _REPR.match(value) and value.rstrip().endswith(")"):
        return _tree(value) or value
    if value.startswith(("role='", 'role="')):
        return _pairs(value) or value
    return value


def _tree(value: str) -> Any:
    try:
        return _read(ast.parse(value.strip(), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _read(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str | int | float) else None
    if isinstance(node, ast.Call):
        return {one.arg: _read(one.value) for one in node.keywords if one.arg}
    if isinstance(node, ast.List | ast.Tuple):
        return [_read(one) for one in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(key.value): _read(one) for key, one in pairs if isinstance(key, ast.Constant)}
    return None


def _pairs(value: str) -> Mapping[str, Any]:
    """`role='user' content='...' tool_calls=[...]`: each value as far as it is one."""
    found: dict[str, Any] = {}
    at = 0
    while match := _FIELDS.match(value, at):
        end = _end_of_value(value, match.end())
        inner = value[match.end() : end]
        found[match[1]] = _tree(inner) if inner[:1] in "'\"[{" else None
        at = end + 1
        if len(found) > 60:
            break
    return found


_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


def _end_of_value(value: str, at: int) -> int:
    """Where a value ends: at the first blank outside of strings and brackets. O(its length)."""
    depth = 0
    while at < len(value):
        if (letter := value[at]) in "'\"":
            match = _STRING.match(value, at)
            at = match.end() if match else len(value)
            continue
        if letter == " " and depth <= 0:
            break
        depth += (letter in "([{") - (letter in ")]}")
        at += 1
    return at
