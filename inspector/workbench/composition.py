"""What fills a buffer: its tokens by category, at any request, from prefix sums."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias, get_args

from inspector.core.buffer import Prompt, Stretch, View
from inspector.core.message import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.session import Thread
from inspector.core.tokens.estimator import Estimator
from inspector.core.tokens.estimators import prompt_tokens, weight
from inspector.core.tokens.pressure import Pressure
from inspector.core.tokens.sizing import Sizer, rounded

Category: TypeAlias = Literal[
    "system", "tools", "user", "assistant", "thinking", "tool calls", "tool results", "summaries", "images", "opaque"
]
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""In the order in which they are stacked, lowest first."""


def part_category(message: Message, part: Part) -> Category:
    """Where a part is counted. All of a summary is summary, whatever its parts."""
    if message.summary:
        return "summaries"
    match part:
        case Thinking():
            return "thinking"
        case ToolCall():
            return "tool calls"
        case ToolResult():
            return "tool results"
        case Image():
            return "images"
        case Opaque():
            return "opaque"
        case Text():
            match message.role:
                case "system":
                    return "system"
                case "assistant":
                    return "assistant"
                case "user" | "tool":
                    return "user"


def message_category(message: Message) -> Category:
    """The category of most of a message: of its first part that is not thinking, else of its first."""
    if not message.parts:
        return "assistant" if message.role == "assistant" else "user"
    first = next((part for part in message.parts if not isinstance(part, Thinking)), message.parts[0])
    return part_category(message, first)


def split(estimator: Estimator, message: Message) -> Mapping[Category, int]:
    """Weight of a message by category; the sum is the weight of the message.

    Each category but the message's own is weighed as a message of its parts alone; its own gets the rest, framing
    included. Where that rest would be negative (rounding), the others give way.
    """
    total = weight(estimator, message)
    main = message_category(message)
    groups: dict[Category, list[Part]] = {}
    for part in message.parts:
        groups.setdefault(part_category(message, part), []).append(part)
    if len(groups) < 2:
        return {main: total}
    frame = weight(estimator, replace(message, parts=()))
    found: dict[Category, int] = {}
    for category, parts in groups.items():
        if category != main:
            alone = weight(estimator, replace(message, parts=tuple(parts))) - frame
            found[category] = max(0, min(alone, total - sum(found.values())))
    found[main] = total - sum(found.values())
    return found


def weigh_categories(thread: Thread, estimator: Estimator) -> None:
    """Fill the caches, so that `composition` of any request of the thread is quick. O(messages)."""
    key, packed = _key(estimator), partial(_packed, estimator)
    for request in thread.requests:
        request.view.weight(key, packed)
    thread.end.weight(key, packed)


def composition(estimator: Estimator, view: View, prompt: Prompt | None = None) -> dict[Category, int]:
    """Tokens by category (those with none left out). O(categories) once the view's messages were weighed."""
    packed = view.weight(_key(estimator), partial(_packed, estimator))
    weights = [(category, packed >> n * _BITS & _MASK) for n, category in enumerate(CATEGORIES)]
    found = {category: estimator.tokens(weight) for category, weight in weights}
    if prompt is not None:
        system, tools = prompt_tokens(estimator, prompt)
        found["system"] += system
        found["tools"] += tools
    return {category: tokens for category, tokens in found.items() if tokens}


_BITS = 48
_MASK = (1 << _BITS) - 1
"""The weights of all categories lie in one integer, 48 bits each: one running sum serves them all."""


def _key(estimator: Estimator) -> str:
    return f"{estimator.name} by category"


def _packed(estimator: Estimator, message: Message) -> int:
    key = _key(estimator)
    if key not in message.counts:
        weights = split(estimator, message)
        message.counts[key] = sum(weights.get(category, 0) << n * _BITS for n, category in enumerate(CATEGORIES))
    return message.counts[key]


def sized(
    size: Sizer, pressure: Pressure, view: View | Iterable[Message], prompt: Prompt
) -> tuple[tuple[Category, int], ...]:
    """What is seen of a buffer with that pressure, by category, lowest first: in proportion to what the estimator
    counts, and together with the unseen part exactly what the pressure says."""
    counted = composition(size.estimator, view if isinstance(view, View) else Stretch(own=tuple(view)).view(), prompt)
    if pressure.tokens is None or not counted:
        return ()
    seen, whole = pressure.tokens - size.scale.unseen, sum(counted.values())
    tokens = rounded([seen * one / whole for one in counted.values()], seen)
    return tuple((category, found) for category, found in zip(counted, tokens, strict=True) if found)
