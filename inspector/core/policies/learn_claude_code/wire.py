"""Count the tokens of learn-claude-code's list: messages in Anthropic's form, as JSON text written by Python.

Messages that are sent together are one wire message. The characters that each message adds to its wire message are
cached, so that counting a list again is cheap.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from inspector.core.buffer import Prompt
from inspector.core.dialects.anthropic import wire_groups, write_messages
from inspector.core.message import Message, Text
from inspector.core.tokens.estimator import Kind
from inspector.core.tokens.estimators import weight
from inspector.core.tokens.harnesses import python_json

Wire: TypeAlias = tuple[Message, ...]
"""The neutral messages of one wire message, at least one."""

_LIST = len("[]")
_SEPARATOR = len(", ")
_TEXT_BLOCK = len(json.dumps({"type": "text", "text": ""})) - len('""')


def text_tokens(text: str) -> int:
    """Return the tokens of a text: its code points divided by 4, rounded down."""
    return len(text) // 4


def flatten_wires(wires: Iterable[Wire]) -> tuple[Message, ...]:
    """Return the messages of all wire messages as one sequence."""
    return tuple(message for wire in wires for message in wire)


def wire_role(message: Message) -> str:
    """Return the role in Anthropic's form, in which tool results have the role of the user."""
    return "user" if message.role == "tool" else message.role


def carries_result(wire: Wire) -> bool:
    """Does the wire message contain a tool result?"""
    return any(message.result is not None for message in wire)


def is_plain_user(wire: Wire) -> bool:
    """Is the wire message a user message without a tool result?"""
    return wire[0].role in ("user", "tool") and not carries_result(wire)


@dataclass(frozen=True, slots=True)
class _Alone:
    """Counts the characters of a message's JSON text as a separate wire message.

    It is an Estimator only so that its weights are cached.
    """

    name: str = "learn-claude-code wire"
    kind: Kind = "estimated"

    def text(self, text: str) -> int:
        return len(text)

    def weigh(self, message: Message) -> int:
        return len(python_json(write_messages((message,))[0]))

    def weigh_prompt(self, prompt: Prompt) -> int:
        return 0

    def tokens(self, weight: int) -> int:
        return weight


_ALONE = _Alone()


def wire_tokens(wire: Wire) -> int:
    """Return the tokens of one wire message, from the length of its JSON text, rounded down once."""
    first = wire[0]
    if len(wire) == 1:
        return weight(_ALONE, first) // 4
    filled = [message for message in wire if message.parts] or [first]
    if len(filled) == 1:
        content = weight(_ALONE, filled[0]) - _envelope(filled[0])
        return (_envelope(first) + content) // 4
    blocks = sum(map(_blocks, filled))
    separators = _SEPARATOR * (len(filled) - 1)
    return (_envelope(first) + _LIST + blocks + separators) // 4


def count_wire_tokens(wires: Sequence[Wire]) -> int:
    """Return the tokens of a list, without system prompt and tools: the sum over its wire messages."""
    return sum(map(wire_tokens, wires))


def count_list_tokens(messages: Iterable[Message]) -> int:
    """Return the tokens of messages in Anthropic's form. O(messages)."""
    return count_wire_tokens(wire_groups(messages))


def _blocks(message: Message) -> int:
    """Return the characters of a message's blocks in a list. A single text on its own is a string, not a block."""
    content = weight(_ALONE, message) - _envelope(message)
    match message.parts:
        case (Text(),):
            return content + _TEXT_BLOCK
        case _:
            return content - _LIST


def _envelope(message: Message) -> int:
    return len(f'{{"role": "{wire_role(message)}", "content": }}')
