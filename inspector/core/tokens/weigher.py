"""Weigh everything that the model reads, by one exact tokenizer.

A weight is in tokens of o200k. The model's own tokens are the weight times one factor, which depends on its family
(`families`) and is corrected by the session's reports (`prediction`). Content that no tokenizer can read gets a weight
that yields the provider's charge with that factor: encrypted thinking by the length of its signature, a picture by its
size in pixels. Messages are weighed many at a time (`weigh_all`), because single calls take three times as long.

A policy's own count does not use these weights (`harnesses`, `believing`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

from inspector.core.buffer import Prompt, read_definition
from inspector.core.heavy import checkpoint
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
from inspector.core.session import Thread
from inspector.core.tokens.counted import (
    MESSAGE_FRAMING,
    UNKNOWN,
    holds_thought,
    pixel_size,
)
from inspector.core.tokens.estimator import Estimator, Kind
from inspector.core.tokens.exact import count_text, count_texts
from inspector.core.tokens.families import Family, family_of
from inspector.core.tokens.harnesses import utf8_length

THOUGHT = 0.9
"""Charge of thinking whose text is sent, relative to other text with as many tokens (measured: 0.85 to 0.96)."""
_TOGETHER = 1024
"""Messages that are weighed at once."""
_BITS = 40
_MASK = (1 << _BITS) - 1
"""The weights of a message's parts are packed into one integer, 40 bits each."""


@dataclass(frozen=True, slots=True)
class Weigher(Estimator):
    """The estimator for one family of models."""

    family: Family
    name: str = "exact"
    """Also the key of the cached weights, which differ between families, because the weight of a picture does."""
    kind: Kind = "counted"
    is_rough: bool = False
    """True: the weight is a quarter of the bytes. Used for the first view of a file, until the tokenizer is loaded."""
    _parts_key: str = field(default="", repr=False)

    def text(self, text: str) -> int:
        return _rough(text) if self.is_rough else count_text(text)

    def weigh(self, message: Message) -> int:
        return self._put(message, self._sizes(self._texts(message)))

    def weigh_all(self, messages: Iterable[Message]) -> None:
        """Cache the weights of all messages that have none yet. O(text)."""
        name = self.name
        new = (message for message in messages if name not in message.counts)
        while some := list(islice(new, _TOGETHER)):
            checkpoint()
            texts = [self._texts(message) for message in some]
            sizes = iter(self._sizes([text for few in texts for text in few]))
            for message, few in zip(some, texts, strict=True):
                message.counts[name] = self._put(message, list(islice(sizes, len(few))))

    def part_weights(self, message: Message) -> Sequence[int]:
        """Return the weight of each part of a message; with its framing they sum to the weight of the message."""
        if len(message.parts) == 1:
            cached = message.counts.get(self.name)
            return ((self.weigh(message) if cached is None else cached) - MESSAGE_FRAMING,)
        if self._parts_key not in message.counts:
            message.counts[self.name] = self.weigh(message)
        packed = message.counts.get(self._parts_key, 0)
        return [packed >> n * _BITS & _MASK for n in range(len(message.parts))]

    def weigh_parts(self, parts: Iterable[Part]) -> list[int]:
        """Return the weight of each part, without the framing of a message."""
        alone = tuple(parts)
        return self._weights(
            alone, self._sizes([text for part in alone for text in _texts_of(part)])
        )

    def weigh_prompt(self, prompt: Prompt) -> int:
        definitions = (read_definition(tool.definition) for tool in prompt.tools or ())
        texts = [dumps(definition) for definition in definitions if definition is not None]
        sizes = self._sizes([prompt.system, *texts] if prompt.system else texts)
        return sum(sizes) + (MESSAGE_FRAMING if prompt.system else 0)

    def _texts(self, message: Message) -> list[str]:
        return [text for part in message.parts for text in _texts_of(part)]

    def _sizes(self, texts: Sequence[str]) -> list[int]:
        return list(map(_rough, texts)) if self.is_rough else count_texts(texts)

    def _put(self, message: Message, sizes: Sequence[int]) -> int:
        """Return the weight of a message whose texts have these sizes; cache the weights of its parts on it."""
        weights = self._weights(message.parts, sizes)
        if len(weights) > 1:
            packed = 0
            for part_weight in reversed(weights):
                packed = (packed << _BITS) + part_weight
            message.counts[self._parts_key] = packed
        return MESSAGE_FRAMING + sum(weights)

    def _weights(self, parts: Iterable[Part], sizes: Sequence[int]) -> list[int]:
        left = iter(sizes)
        return [min(_MASK, self._part(part, left)) for part in parts]

    def _part(self, part: Part, sizes: Iterator[int]) -> int:
        match part:
            case Text():
                return next(sizes)
            case Thinking(tokens=int(tokens)):
                return self._charged(tokens)
            case Thinking(text=text, signature=signature):
                if _is_sealed(text, signature):
                    return round(self.family.weigh_sealed(signature))
                return round(THOUGHT * next(sizes))
            case ToolCall():
                return self.family.call_framing + next(sizes) + next(sizes)
            case ToolResult():
                return self.family.result_framing + next(sizes)
            case Image():
                return self._charged(self._picture(part))
            case Opaque():
                if part.tokens is None:
                    return divide_up(part.size, 4)
                return self._charged(part.tokens)

    def _picture(self, image: Image) -> int:
        size = pixel_size(image)
        return UNKNOWN if size is None else self.family.images(*size)

    def _charged(self, tokens: int) -> int:
        """Return the weight of content for which the provider counts `tokens`."""
        return round(max(0, tokens) / self.family.factor)


def _is_sealed(text: str, signature: str) -> bool:
    return bool(signature) and (not text or holds_thought(signature))


def _texts_of(part: Part) -> tuple[str, ...]:
    """Return the texts of a part that the tokenizer counts, in the order in which `_part` takes their sizes."""
    match part:
        case Text(text):
            return (text,)
        case ToolResult(content=text):
            return (text,)
        case ToolCall(name=name, arguments=arguments):
            return name, arguments if isinstance(arguments, str) else dumps(arguments)
        case Thinking(text=text, signature=signature, tokens=None) if not _is_sealed(
            text, signature
        ):
            return (text,)
        case _:
            return ()


def _rough(text: str) -> int:
    return divide_up(utf8_length(text), 4)


@cache
def weigher(family: Family, is_rough: bool = False) -> Weigher:
    """Return the weigher for a family of models."""
    name = f"{'rough' if is_rough else 'exact'} {family.name}"
    return Weigher(family, name, is_rough=is_rough, _parts_key=f"{name} by part")


def weigher_of(thread: Thread, is_rough: bool = False) -> Weigher:
    """Return the weigher for the family of the first model that a thread names."""
    named = thread.model or next(
        (request.model for request in thread.requests if request.model), ""
    )
    return weigher(family_of(named), is_rough)
