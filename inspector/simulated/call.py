"""A request and an answer of the simulated provider, independent of the dialect."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.jsontext import dumps
from inspector.core.message import ToolCall
from inspector.core.tokens.counted import CALL_FRAMING, Tiktoken, TokenizerRefused

COUNTED = Tiktoken()


@dataclass(frozen=True, slots=True)
class SimulatedCall:
    """A request for one answer. `body` is the original wire request."""

    buffer: Buffer
    model: str
    max_tokens: int | None
    stream: bool
    body: Mapping[str, Any]
    cached_upto: int = 0
    """Number of messages from the beginning that may be read from and written to the prompt cache; 0 for none."""
    session: str = ""
    """The key by which the provider separates caches: prompt_cache_key or the like."""

    @property
    def digest(self) -> str:
        """Return 24 hex digits that identify the conversation; equal for equal messages."""
        content = [(message.role, message.parts) for message in self.buffer.messages]
        return sha256(repr(content).encode("utf-8", "replace")).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class SimulatedAnswer:
    """An answer. `finish`: `stop`, `calls` or `length`."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"

    @property
    def tokens(self) -> int:
        calls = sum(
            CALL_FRAMING + tokens_of(call.name + dumps(call.arguments)) for call in self.calls
        )
        return (tokens_of(self.text) if self.text else 0) + calls


@dataclass(frozen=True, slots=True)
class TokensSpent:
    """Tokens of one call: `prompt` is the whole prompt; `read` and `written` are its parts read from and written to
    cache.
    """

    prompt: int
    output: int
    read: int = 0
    written: int = 0


def tokens_of(text: str) -> int:
    """Return the tokens of a text (o200k_base); a quarter of its characters if the tokenizer refuses the text."""
    try:
        return COUNTED.text(text)
    except TokenizerRefused:
        return len(text) // 4


def within(spoken: SimulatedAnswer, max_tokens: int | None) -> SimulatedAnswer:
    """Return the answer cut at `max_tokens`, like a model's. If it is cut, its calls are left out."""
    if max_tokens is None or spoken.tokens <= max_tokens:
        return spoken
    text = spoken.text
    low = 0
    high = len(spoken.text)
    while low < high:  # find the longest beginning that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens_of(text[:middle]) <= max_tokens else (low, middle - 1)
    return replace(spoken, text=text[:low], calls=(), finish="length")
