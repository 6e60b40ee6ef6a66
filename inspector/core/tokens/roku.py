"""Roku's estimator: bytes divided by 2, 3 or 4, by what the first bytes look like (spec 1.2).

Fast because it hardly touches the text: the length of ASCII text is its byte count, and only the first 256 bytes
decide the class.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.buffer import Prompt
from inspector.core.jsontext import dumps
from inspector.core.message import Message, ToolCall, ToolResult
from inspector.core.tokens.estimator import Estimator, Kind

TextClass: TypeAlias = Literal["empty", "structured", "cjk", "text"]

SAMPLE = 256
"""Bytes at the start that decide whether a text is CJK."""
FRAMING = 4
"""Tokens per message on top of its content."""

_DIVISOR: dict[TextClass, int] = {"empty": 1, "structured": 2, "cjk": 3, "text": 4}
_STRUCTURED = re.compile(r'[ \t\r\n]*+(?:\{|\[[ \t\r\n]*+["\[\]{0-9]|<[ \t\r\n]*+[/!?A-Za-z])')
_HIGH = bytes(range(128, 256))
_PIECE = 1 << 16
"""Characters encoded at a time: the bytes then stay in the processor's cache."""


def utf8_length(text: str) -> int:
    """Bytes of the text in UTF-8. A lone surrogate counts as the three bytes of its replacement."""
    if text.isascii():
        return len(text)
    if len(text) <= _PIECE:
        return len(text.encode("utf-8", "surrogatepass"))
    pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
    return sum(len(piece.encode("utf-8", "surrogatepass")) for piece in pieces)


def classify(text: str) -> TextClass:
    """The class of a text; the first rule that matches wins. Looks at the first 256 bytes and leading white space."""
    if not text:
        return "empty"
    if _STRUCTURED.match(text):
        return "structured"
    if text.isascii():
        return "text"
    sample = text[:SAMPLE].encode("utf-8", "surrogatepass")[:SAMPLE]
    high = len(sample) - len(sample.translate(None, _HIGH))
    return "cjk" if 2 * high >= len(sample) else "text"


def estimate(text: str) -> int:
    """Tokens of a text: UTF-8 bytes by the divisor of its class, rounded up."""
    return -(-utf8_length(text) // _DIVISOR[classify(text)])


def estimate_call(call: ToolCall) -> int:
    """Tokens of a tool call: its name as text, its arguments always as structured text. The id costs nothing."""
    return estimate(call.name) + -(-utf8_length(dumps(call.arguments)) // 2)


def estimate_message(message: Message) -> int:
    """Tokens of a message without framing: its text, its result's text, its calls. Nothing else counts."""
    total = estimate(message.text)
    for part in message.parts:
        match part:
            case ToolCall():
                total += estimate_call(part)
            case ToolResult():
                total += estimate(part.content)
            case _:
                pass
    return total


@dataclass(frozen=True, slots=True)
class Roku(Estimator):
    """`raw` of spec 1.2: system prompt + messages + 4 a message. Tool schemas are not counted."""

    name: str = "roku"
    kind: Kind = "estimated"

    def text(self, text: str) -> int:
        return estimate(text)

    def weigh(self, message: Message) -> int:
        return estimate_message(message) + FRAMING

    def weigh_prompt(self, prompt: Prompt) -> int:
        return estimate(prompt.system or "") + prompt.unseen
