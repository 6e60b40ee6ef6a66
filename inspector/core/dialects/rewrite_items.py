"""Rewriting where the body is a list of items: OpenAI Responses.

Reasoning, text and calls of one response are items of their own and one message of the buffer. So a changed message is
taken apart again: each part that stayed is the item (or the piece of an item) that it came in.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.dialects.catalogue import WIRES, calls_of
from inspector.core.dialects.openai_responses import join, read_item
from inspector.core.dialects.recipe import Made, Many, Patch, Recipe, Ref, changes
from inspector.core.message import Message, Part, ToolCall

NAME = "openai-responses"


@dataclass(frozen=True, slots=True)
class Span:
    """A message, and the items it was read from: `parts[n]` of them hold the parts of item `start + n`."""

    start: int
    message: Message
    parts: tuple[int, ...]

    @property
    def end(self) -> int:
        """The item behind the last one."""
        return self.start + len(self.parts)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Where a part came: item, number of the part in it, how many parts the item has."""

    item: int
    at: int
    of: int
    part: Part


def spans(items: Sequence[Any]) -> list[Span]:
    """The messages of an `input`, as `openai_responses.read_items` joins them."""
    found: list[Span] = []
    open_: list[Message] = []
    for n, item in enumerate(items):
        message = read_item(item, id=str(n))
        if message.role == "assistant" and not message.summary:
            open_.append(message)
            continue
        if open_:
            found.append(_span(n - len(open_), open_))
            open_ = []
        found.append(_span(n, [message]))
    if open_:
        found.append(_span(len(items) - len(open_), open_))
    return found


def _span(start: int, messages: list[Message]) -> Span:
    return Span(start, join(messages), tuple(len(message.parts) for message in messages))


def plan(items: Sequence[Any], new: Sequence[Message], sources: Sequence[int | None]) -> tuple[Recipe, ...]:
    """A recipe an item. `sources`: for each new message its number in the buffer that came.

    A message that was not changed equals the one that `spans` gives.
    """
    came, recipes = spans(items), list[Recipe]()
    calls = calls_of((*(span.message for span in came), *new))
    for message, source in zip(new, sources, strict=True):
        span = None if source is None else came[source]
        if span is None:
            recipes += [Made(one) for one in _write(message, calls)]
        elif message.role == span.message.role and message.parts == span.message.parts:
            recipes += [Ref((n,)) for n in range(span.start, span.end)]
        else:
            recipes += _changed(items, span, message, calls)
    return tuple(recipes)


def _write(message: Message, calls: Mapping[str, ToolCall]) -> Sequence[Any]:
    return WIRES[NAME].write((message,), calls)


def _changed(items: Sequence[Any], span: Span, message: Message, calls: Mapping[str, ToolCall]) -> Iterator[Recipe]:
    if len(span.parts) == 1:
        old, new = _write(span.message, calls), _write(message, calls)
        if len(old) == len(new) == 1:
            yield changes((span.start,), items[span.start], *_shaped(items[span.start], old[0], new[0]))
            return
    yield from _rebuilt(items, span, message, calls)


def _shaped(item: Any, old: Any, new: Any) -> tuple[Any, Any]:
    """Content that came as a string goes back as one, where it can; an item may come without its type."""
    if isinstance(item, Mapping) and isinstance(item.get("content"), str):
        return _as_text(old), _as_text(new)
    return old, new


def _as_text(written: Any) -> Any:
    match written:
        case {"content": [{"text": str(text), **rest}]} if rest.keys() <= {"type"}:
            return {**written, "content": text}
    return written


def _rebuilt(items: Sequence[Any], span: Span, message: Message, calls: Mapping[str, ToolCall]) -> Iterator[Recipe]:
    """Part by part: runs of parts that came in one item are that item again, or what is left of it."""
    run: list[_Leaf] = []
    for part, leaf in _matched(span, message.parts):
        if run and (leaf is None or leaf.item != run[0].item):
            yield _kept(items, run)
            run = []
        if leaf is None:
            yield from _new_part(items, span, message, part, calls)
        else:
            run.append(leaf)
    if run:
        yield _kept(items, run)


def _matched(span: Span, parts: Sequence[Part]) -> Iterator[tuple[Part, _Leaf | None]]:
    """Each part with the place where it came, in order; none for one that is new."""
    waiting: dict[str, list[_Leaf]] = {}
    for leaf in _leaves(span):
        waiting.setdefault(repr(leaf.part), []).append(leaf)
    for part in parts:
        places = waiting.get(repr(part))
        yield part, places.pop(0) if places else None


def _leaves(span: Span) -> Iterator[_Leaf]:
    parts = iter(span.message.parts)
    for n, count in enumerate(span.parts):
        for at in range(count):
            yield _Leaf(span.start + n, at, count, next(parts))


def _kept(items: Sequence[Any], run: Sequence[_Leaf]) -> Recipe:
    first = run[0]
    item = items[first.item]
    content = item.get("content") if isinstance(item, Mapping) else None
    if [leaf.at for leaf in run] == list(range(first.of)) or not isinstance(content, list):
        return Ref((first.item,))
    left = tuple(Ref((first.item, "content", leaf.at)) for leaf in run)
    return Patch(Ref((first.item,)), (("content", Many(left)),))


def _new_part(
    items: Sequence[Any], span: Span, message: Message, part: Part, calls: Mapping[str, ToolCall]
) -> Iterator[Recipe]:
    written = _write(Message("", message.role, (part,)), calls)
    came = next((leaf for leaf in _leaves(span) if _same_call(leaf.part, part)), None)
    if came is not None and len(written) == 1:
        old = _write(Message("", message.role, (came.part,)), calls)
        yield changes((came.item,), items[came.item], old[0], written[0])
        return
    for one in written:
        yield Made(one)


def _same_call(one: Part, other: Part) -> bool:
    return isinstance(one, ToolCall) and isinstance(other, ToolCall) and one.id == other.id != ""


def is_sendable(item: Any) -> bool:
    """Can the item be sent in a body of its own? Reasoning that only the provider keeps cannot."""
    if not isinstance(item, Mapping) or item.get("type") != "reasoning":
        return True
    return bool(item.get("encrypted_content"))
