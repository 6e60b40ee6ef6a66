"""Store every message and prompt of a file once, so that many request bodies share them.

The id of a message is a hash of what the model reads in it, plus its number among equal messages of the buffer. The
same message has the same id in every body of a file, and in every file. Equal messages are one object. A body that
continues another one costs only its own messages, because the counts of equal messages are kept for each stretch.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from inspector.core.buffer import EMPTY_VIEW, Prompt, Stretch, View
from inspector.core.dialects.dialect import Units
from inspector.core.identity import content_hashes, hash_of
from inspector.core.message import Message, Text

SUMMARY_LEADS = (
    "This session is being continued from a previous conversation",
    "The conversation history before this point was compacted into the following summary",
    "Another language model started to solve this problem and produced a summary",
    "[COMPACTED_CONTEXT]",
    "[Conversation summary]\n",
    "[Mid-tier context collapse ",
    "[Session memory summary]\n",
)
"""Beginnings of the summaries that known clients put into the buffer; the last three are Roku's."""

_SUMMARIES = 64
"""Maximum number of summary beginnings that are searched for in later buffers."""
_STRETCHES = 1_000
"""Maximum number of stretches whose counts are kept. Continuing any other stretch counts its messages again."""
_SOURCES = 16
"""Maximum number of prompts that are kept with their source."""


class Pool:
    """Stores every message and prompt of a file once."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, int], tuple[Message, ...]] = {}
        self._prompts: dict[str, Prompt] = {}
        self._sources: deque[tuple[object, Prompt]] = deque(maxlen=_SOURCES)
        """The latest prompts, each with the source that it was read from, newest first."""
        self._counts: OrderedDict[int, tuple[Stretch, int, dict[str, int]]] = OrderedDict()
        """By `id()` of a stretch: the stretch, how many of its first messages were counted, and how often each content
        occurs among them.
        """
        self.summaries: deque[str] = deque(maxlen=_SUMMARIES)
        """Beginnings of known summaries (the answers to summary calls), the newest last."""

    def after(self, base: View, units: Units) -> View:
        """Return `base` followed by the messages of `units`."""
        counts = self._count_contents(base)
        messages: list[Message] = []
        for unit in units:
            messages += self._share_unit(unit, counts)
        view = extended(base, messages) if messages else base
        self._counts[id(view.stretch)] = (view.stretch, view.length, counts)
        if len(self._counts) > _STRETCHES:
            self._counts.popitem(last=False)
        return view

    def _count_contents(self, view: View) -> dict[str, int]:
        """Count how often each content occurs in a view. Usually O(1)."""
        stretch, length = view.stretch, view.length
        if not length:
            return {}
        below = stretch.base.length if stretch.base else 0
        _, counted, counts = self._counts.pop(id(stretch), (None, -1, {}))
        if counted == length:
            return counts
        if min(counted, length) < below:
            return _add_contents({}, view.messages(), by=1)
        between = stretch.own[min(counted, length) - below : max(counted, length) - below]
        return _add_contents(counts, between, 1 if counted < length else -1)

    def _share_unit(self, unit: Sequence[Message], counts: dict[str, int]) -> tuple[Message, ...]:
        """Return the messages of a wire item. Equal contents with equal numbers are the same objects."""
        name, exact = content_hashes(unit)
        number = counts[name] = counts.get(name, 0) + 1
        key = (exact, number)
        messages = self._messages.get(key)
        if messages is None:
            messages = _named(unit, f"{name}.{number}" if number > 1 else name)
            if self.summaries:
                messages = tuple(map(self._mark_summary, messages))
            self._messages[key] = messages
        return messages

    def _mark_summary(self, message: Message) -> Message:
        if message.summary or message.role == "tool":
            return message
        text = message.text
        return (
            replace(message, summary=True)
            if any(lead in text for lead in self.summaries)
            else message
        )

    def prompt(self, source: object, read: Callable[[], Prompt]) -> Prompt:
        """Return the prompt that `read` returns for `source`. Equal prompts are one object.

        `read` is not called for a recently used source, because most requests repeat the previous prompt.
        """
        for at, (former, prompt) in enumerate(self._sources):
            if former == source:
                if at:
                    self._sources.rotate(-at)
                return prompt
        new = read()
        key = hash_of(
            (new.system, [tool.definition for tool in new.tools or ()], new.tools is None), size=8
        )
        prompt = self._prompts.setdefault(key, new)
        self._sources.appendleft((source, prompt))
        return prompt


def _add_contents(counts: dict[str, int], messages: Iterable[Message], by: int) -> dict[str, int]:
    for message in messages:
        if "-" not in message.id:
            name = message.id.partition(".")[0]
            counts[name] = counts.get(name, 0) + by
    return counts


def _named(unit: Sequence[Message], name: str) -> tuple[Message, ...]:
    together = name if len(unit) > 1 else ""
    named: list[Message] = []
    for n, m in enumerate(unit):
        own_id = f"{name}-{n}" if n else name
        is_summary = m.summary or _begins_as_summary(m)
        named.append(Message(own_id, m.role, m.parts, together, is_summary, m.mark, m.line, m.time))
    return tuple(named)


def _begins_as_summary(message: Message) -> bool:
    return any(
        type(part) is Text and part.text.lstrip().startswith(SUMMARY_LEADS)
        for part in message.parts
    )


def trimmed(view: View) -> View:
    """Return the same messages as a view of the lowest stretch that holds them all."""
    stretch = view.stretch
    while stretch.base is not None and view.length <= stretch.base.length:
        stretch = stretch.base.stretch
    return View(stretch, view.length) if stretch is not view.stretch else view


def extended(view: View, more: Sequence[Message]) -> View:
    """Return `view` followed by `more`, on the stretch of `view` as far as that continues with the same messages."""
    if not view.length:
        return View(Stretch(base=None, own=more), len(more)) if more else EMPTY_VIEW
    view = trimmed(view)
    stretch, length = view.stretch, view.length
    if length < len(stretch):
        start = length - (stretch.base.length if stretch.base else 0)
        same = _count_same(stretch.own[start : start + len(more)], more)
        view = View(stretch, length + same)
        more = more[same:]
        if more and view.length < len(stretch):
            stretch = Stretch(view)
    if not more:
        return view
    stretch.append(*more)
    return View(stretch, view.length + len(more))


def _count_same(messages: Sequence[Message], others: Sequence[Message]) -> int:
    """Count the messages at the beginning that are the same objects."""
    same = 0
    for message, other in zip(messages, others, strict=False):
        if message is not other:
            break
        same += 1
    return same
