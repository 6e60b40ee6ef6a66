"""Messages and buffers of bare bodies, each once, so that many bodies share them.

The id of a message is a hash of what the model reads in it plus its number among equals in the buffer: the same
message has the same id in every body of a file, in every file. Equal messages are one object. A body that goes on where
another ended costs its own messages only: the counts by which equal messages get different ids are carried along the
stretch, not counted anew.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
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
"""How the summaries of known clients begin, once they stand in the buffer; the last three are Roku's."""


_SUMMARIES = 64
"""Summaries that are waited for in the buffers after them."""


class Pool:
    """Every message and prompt of a file, each once."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, int], tuple[Message, ...]] = {}
        self._prompts: dict[str, Prompt] = {}
        self.summaries: deque[str] = deque(maxlen=_SUMMARIES)
        """Beginnings of texts that are known to be summaries (a call for one was answered so), newest last."""

    def messages(self, units: Units, seen: dict[str, int]) -> list[Message]:
        """The messages of `units`, after those counted in `seen` (which is brought up to date)."""
        found: list[Message] = []
        for unit in units:
            found += self._unit(unit, seen)
        return found

    def _unit(self, unit: Sequence[Message], seen: dict[str, int]) -> tuple[Message, ...]:
        name, exact = content_hashes(unit)
        number = seen[name] = seen.get(name, 0) + 1
        key = (exact, number)
        if (known := self._messages.get(key)) is not None:
            return known
        named = _named(unit, f"{name}.{number}" if number > 1 else name)
        made = self._messages[key] = tuple(map(self._marked, named)) if self.summaries else named
        return made

    def _marked(self, message: Message) -> Message:
        if message.summary or message.role == "tool" or not any(known in message.text for known in self.summaries):
            return message
        return replace(message, summary=True)

    def prompt(self, prompt: Prompt) -> Prompt:
        """The same prompt as one object."""
        key = hash_of((prompt.system, [tool.definition for tool in prompt.tools or ()], prompt.tools is None), 8)
        return self._prompts.setdefault(key, prompt)


def counted(messages: Iterable[Message]) -> dict[str, int]:
    """How often each content stands in a buffer, as `Pool.messages` counts it."""
    return _recounted({}, messages, 1)


def _recounted(counts: dict[str, int], messages: Iterable[Message], by: int) -> dict[str, int]:
    for message in messages:
        if "-" not in message.id:
            name = message.id.partition(".")[0]
            counts[name] = counts.get(name, 0) + by
    return counts


def _named(unit: Sequence[Message], name: str) -> tuple[Message, ...]:
    if len(unit) == 1:
        (one,) = unit
        is_summary = one.summary or _leads(one)
        return (Message(name, one.role, one.parts, "", is_summary, one.mark, one.line, one.time),)
    made = [
        Message(
            f"{name}-{n}" if n else name, one.role, one.parts, name, one.summary or _leads(one), one.mark, one.line,
            one.time,
        )
        for n, one in enumerate(unit)
    ]  # fmt: skip
    return tuple(made)


def _leads(message: Message) -> bool:
    texts = [part.text for part in message.parts if type(part) is Text]
    return bool(texts) and any(text.lstrip().startswith(SUMMARY_LEADS) for text in texts)


_LINES = 1_000
"""Stretches whose counts are kept; another is counted anew when it goes on."""


class Counts:
    """How often each content stands in a view, for many views of few stretches."""

    def __init__(self) -> None:
        self._lines: OrderedDict[int, tuple[Stretch, int, dict[str, int]]] = OrderedDict()

    def take(self, view: View) -> dict[str, int]:
        """The counts of `view`: the caller may change them, and gives them back with `give`. Usually O(1)."""
        if not view.length:
            return {}
        stretch = view.stretch
        found = self._lines.pop(id(stretch), None)
        if found is None or found[0] is not stretch:
            return counted(view.messages())
        below = stretch.base.length if stretch.base else 0
        _, length, counts = found
        if length == view.length:
            return counts
        low, high = min(length, view.length) - below, max(length, view.length) - below
        if low < 0:
            return counted(view.messages())
        return _recounted(counts, stretch.own[low:high], 1 if view.length >= length else -1)

    def give(self, view: View, counts: dict[str, int]) -> None:
        """`counts` are those of `view`."""
        self._lines[id(view.stretch)] = (view.stretch, view.length, counts)
        while len(self._lines) > _LINES:
            self._lines.popitem(last=False)


def trimmed(view: View) -> View:
    """The same messages as a view of the deepest stretch that holds them all."""
    stretch = view.stretch
    while stretch.base is not None and view.length <= stretch.base.length:
        stretch = stretch.base.stretch
    return View(stretch, view.length) if stretch is not view.stretch else view


def extended(view: View, more: Sequence[Message]) -> View:
    """`view` and `more` after it: along what already stands there, where it is the same."""
    if not view.length:
        return View(Stretch(None, more), len(more)) if more else EMPTY_VIEW
    view = trimmed(view)
    stretch, length = view.stretch, view.length
    if length < len(stretch):
        start, same = length - (stretch.base.length if stretch.base else 0), 0
        after = stretch.own[start : start + len(more)]
        while same < len(after) and after[same] is more[same]:
            same += 1
        view, more = View(stretch, length + same), more[same:]
        if more and view.length < len(stretch):
            stretch = Stretch(view)
    if not more:
        return view
    stretch.append(*more)
    return View(stretch, view.length + len(more))
