"""Responses in which the provider itself ran tools, such as a web search.

Inside one call the model then works in several steps, and the prompt that is reported is that of the last step: it
holds what came up to the last such tool, and what the tools found, which is nowhere in the file. How much that was,
the counts say. The provider keeps it as long as each call goes on from the one before; it is gone when that chain
breaks and the client sends all of its own again.
"""

from collections.abc import Sequence
from dataclasses import replace

from inspector.core.message import Message, Opaque, Part, Thinking


def split(parts: Sequence[Part]) -> tuple[Sequence[Part], Sequence[Part]]:
    """What was in the last step's prompt, and what the last step said."""
    after = next((n for n in range(len(parts), 0, -1) if by_provider(parts[n - 1])), 0)
    return parts[:after], parts[after:]


def with_found(parts: Sequence[Part], tokens: int) -> tuple[Part, ...]:
    """With `tokens`, what the prompt had more than was known to be in it, on the tools that the provider ran."""
    tokens -= sum(part.tokens or 0 for part in parts if isinstance(part, Thinking))
    ran = sum(by_provider(part) for part in parts)
    each = max(0, tokens) // ran if ran else 0
    return tuple(
        replace(part, tokens=each) if isinstance(part, Opaque) and by_provider(part) else part for part in parts
    )


def found(message: Message) -> int:
    """Tokens of what the provider's tools found."""
    return sum(part.tokens or 0 for part in message.parts if isinstance(part, Opaque) and by_provider(part))


def without_found(message: Message) -> Message:
    """The same message as the client sends it again: the search, not what it found."""
    parts = (
        replace(part, tokens=None) if isinstance(part, Opaque) and by_provider(part) else part for part in message.parts
    )
    return replace(message, parts=tuple(parts)) if found(message) else message


def by_provider(part: Part) -> bool:
    """A tool that the provider ran: a search of the web or of files, an interpreter."""
    return type(part) is Opaque and part.kind.endswith("_call")
