"""The estimators of harnesses: Roku counts bytes, Pulse and Pi UTF-16 units, learn-claude-code code points.

Each counts what its harness counts, in the format in which that harness stores a message. Roku also counts the system
prompt (spec 1.2). Pulse and Pi do not count it, and learn-claude-code has a fixed reserve for it.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from inspector.core.buffer import Prompt
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.rounding import divide_up
from inspector.core.tokens.estimator import Estimator

TextClass: TypeAlias = Literal["empty", "structured", "cjk", "text"]

SAMPLE = 256
"""Number of bytes at the start of a text that decide whether it is CJK."""
FRAMING = 4
"""Tokens per message on top of its content."""

_DIVISOR: dict[TextClass, int] = {"empty": 1, "structured": 2, "cjk": 3, "text": 4}
_STRUCTURED = re.compile(r'[ \t\r\n]*+(?:\{|\[[ \t\r\n]*+["\[\]{0-9]|<[ \t\r\n]*+[/!?A-Za-z])')
_HIGH = bytes(range(128, 256))
_PIECE = 1 << 16
"""Characters encoded at a time: the bytes then stay in the processor's cache."""


def utf8_length(text: str) -> int:
    """Return the bytes of a text in UTF-8. A lone surrogate counts as the three bytes of its replacement."""
    if text.isascii():
        return len(text)
    if len(text) <= _PIECE:
        return len(text.encode("utf-8", "surrogatepass"))
    pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
    return sum(len(piece.encode("utf-8", "surrogatepass")) for piece in pieces)


def classify(text: str) -> TextClass:
    """Return the class of a text by the first rule that matches. Reads the first 256 bytes and leading white space."""
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
    """Return the tokens of a text: its UTF-8 bytes divided by the divisor of its class, rounded up."""
    return divide_up(utf8_length(text), _DIVISOR[classify(text)])


@dataclass(frozen=True, slots=True)
class Roku(Estimator):
    """Roku's raw estimate (spec 1.2): system prompt + messages + 4 tokens per message. Tool schemas are not counted."""

    name: str = "roku"

    def text(self, text: str) -> int:
        return estimate(text)

    def weigh(self, message: Message) -> int:
        total = FRAMING + estimate(message.text)
        for part in message.parts:
            # The id does not count.
            if isinstance(part, ToolCall):
                arguments = utf8_length(dumps(part.arguments))
                total += estimate(part.name) + divide_up(arguments, _DIVISOR["structured"])
            elif isinstance(part, ToolResult):
                total += estimate(part.content)
        return total

    def weigh_prompt(self, prompt: Prompt) -> int:
        return estimate(prompt.system or "") + prompt.unseen


PI_IMAGE = 4800
"""Characters that Pi counts for an image."""


def u16(text: str) -> int:
    """Return the UTF-16 code units of a text: JavaScript's `length`."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _pulse_part(part: Part) -> dict[str, Any]:
    """Return a part in the format of the Vercel AI SDK, which Pulse turns into JSON to count."""
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking():
            return {"type": "reasoning", "text": part.text}
        case ToolCall():
            return {
                "type": "tool-call",
                "toolCallId": part.id,
                "toolName": part.name,
                "input": part.arguments,
            }
        case ToolResult():
            kind = "error-text" if part.is_error else "text"
            output = {"type": kind, "value": part.content}
            return {
                "type": "tool-result",
                "toolCallId": part.call_id,
                "toolName": "",
                "output": output,
            }
        case Image():
            return {"type": "image", "image": part.data or part.url, "mediaType": part.media_type}
        case Opaque():
            return {"type": part.kind, "value": part.value}


@dataclass(frozen=True, slots=True)
class Chars4(Estimator):
    """Pulse's estimate (spec 2.2): UTF-16 units of role and content / 4, rounded up once for the whole list.

    The weight is in UTF-16 units. The AI SDK always stores the model's answers as lists of parts; messages that Pulse
    adds are plain texts. A result repeats the name of its tool, which the message does not hold: `ToolNames` weighs it.
    """

    name: str = "chars4"

    def text(self, text: str) -> int:
        return self.tokens(u16(text))

    def weigh(self, message: Message) -> int:
        return u16(message.role) + u16(self._content(message))

    def _content(self, message: Message) -> str:
        match message.parts:
            case ():
                return ""
            case (Text(text),) if message.role != "assistant" or message.summary:
                return text
            case parts:
                return dumps([_pulse_part(part) for part in parts])

    def tokens(self, weight: int) -> int:
        return divide_up(weight, 4)


@dataclass(slots=True)
class ToolNames(Estimator):
    """Weighs what `Chars4` leaves out: the UTF-16 units of the tools' names in the results of a list.

    An Estimator only so that the weights are cached.
    """

    messages: Sequence[Message]
    name: str = "chars4 tool names"
    _units: dict[str, int] | None = None

    def text(self, text: str) -> int:
        return u16(dumps(text)) - len('""')

    def weigh(self, message: Message) -> int:
        result = message.result
        if result is None:
            return 0
        if self._units is None:  # usually not needed, because the weights are cached
            self._units = {
                call.id: self.text(call.name)
                for listed_message in self.messages
                for call in listed_message.calls
            }
        return self._units.get(result.call_id, 0)


@dataclass(frozen=True, slots=True)
class Pi(Estimator):
    """Pi's estimate (spec 3.4): UTF-16 units / 4, rounded up per message. An image counts only in a tool result."""

    name: str = "pi"
    images_of: tuple[str, ...] = ("tool",)
    """Roles of the messages whose images count. The newest Pi also counts images of the user."""

    def text(self, text: str) -> int:
        return divide_up(u16(text), 4)

    def weigh(self, message: Message) -> int:
        units = sum(self._units(part, message) for part in message.parts)
        return divide_up(units, 4)

    def _units(self, part: Part, message: Message) -> int:
        match part:
            case Text() | Thinking():
                return u16(part.text)
            case ToolCall():
                return u16(part.name) + u16(dumps(part.arguments))
            case ToolResult():
                return sum(map(u16, part.blocks or (part.content,)))
            case Image():
                return PI_IMAGE if message.role in self.images_of else 0
            case Opaque():
                return 0


def _anthropic_block(part: Part) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
        case ToolResult():
            content = [{"type": "text", "text": text} for text in part.blocks] or part.content
            block: dict[str, Any] = {
                "type": "tool_result",
                "tool_use_id": part.call_id,
                "content": content,
            }
            return block | ({"is_error": True} if part.is_error else {})
        case Image():
            source = {"type": "base64", "media_type": part.media_type, "data": part.data}
            return {
                "type": "image",
                "source": source if part.data else {"type": "url", "url": part.url},
            }
        case Opaque():
            return {"type": part.kind, "content": part.value}


@dataclass(frozen=True, slots=True)
class LearnClaudeCode(Estimator):
    """The estimate of learn-claude-code (spec 4.2): floor(characters / 4) of Python's JSON text of the message, with
    ASCII escapes.

    Each message is counted alone: results that were sent in one wire message count as separate messages.
    """

    name: str = "learn-claude-code"

    def text(self, text: str) -> int:
        return len(text) // 4

    def weigh(self, message: Message) -> int:
        return self.text(python_json(self._wire(message)))

    def _wire(self, message: Message) -> dict[str, Any]:
        role = "user" if message.role == "tool" else message.role
        match message.parts:
            case (Text(text),):
                return {"role": role, "content": text}
            case parts:
                return {"role": role, "content": [_anthropic_block(part) for part in parts]}


def python_json(value: object) -> str:
    """Return Python's own JSON text, with a space after each separator and ASCII escapes (spec 0.2). Any depth."""
    try:
        return json.dumps(value, default=str)
    except RecursionError:  # too deep for Python's encoder: convert the text of `dumps`
        return json.dumps(dumps(value))[1:-1].replace('\\"', '"')
