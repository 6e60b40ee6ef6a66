"""Messages and buffers of bare bodies, each once, so that many bodies share them.

The id of a message is a hash of what the model reads in it plus its number among equals in the buffer: the same
message has the same id in every body of a file, in every file. Equal messages are one object. A body that goes on where
another ended costs its own messages only: the counts by which equal messages get different ids are carried along the
stretch, not counted anew.
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
"""How the summaries of known clients begin, once they stand in the buffer; the last three are Roku's."""

_SUMMARIES = 64
"""Summaries that are waited for in the buffers after them."""
_STRETCHES = 1_000
"""Whose counts are kept; those of another are counted anew when it goes on."""
_TOLD = 16
"""Prompts that are known by what was told of them."""


class Pool:
    """Every message and prompt of a file, each once."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, int], tuple[Message, ...]] = {}
        self._prompts: dict[str, Prompt] = {}
        self._told: deque[tuple[object, Prompt]] = deque(maxlen=_TOLD)
        """What was told of the latest prompts, the last one first."""
        self._counts: OrderedDict[int, tuple[Stretch, int, dict[str, int]]] = OrderedDict()
        """By identity of a stretch: how often each content stands in so many messages of it."""
        self.summaries: deque[str] = deque(maxlen=_SUMMARIES)
        """Beginnings of texts that are known to be summaries (a call for one was answered so), newest last."""

    def after(self, base: View, units: Units) -> View:
        """`base` and these messages after it."""
        counts = self._counted(base)
        made: list[Message] = []
        for unit in units:
            made += self._unit(unit, counts)
        view = extended(base, made) if made else base
        self._counts[id(view.stretch)] = (view.stretch, view.length, counts)
        if len(self._counts) > _STRETCHES:
            self._counts.popitem(last=False)
        return view

    def _counted(self, view: View) -> dict[str, int]:
        """How often each content stands in a view. Usually O(1)."""
        stretch, length = view.stretch, view.length
        if not length:
            return {}
        below = stretch.base.length if stretch.base else 0
        _, known, counts = self._counts.pop(id(stretch), (None, -1, {}))
        if known == length:
            return counts
        if min(known, length) < below:
            return _recounted({}, view.messages(), 1)
        between = stretch.own[min(known, length) - below : max(known, length) - below]
        return _recounted(counts, between, 1 if known < length else -1)

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

    def prompt(self, told: object, read: Callable[[], Prompt]) -> Prompt:
        """What `read` makes of what was told of a prompt; equal ones are one object. Most are told as before."""
        for at, (before, prompt) in enumerate(self._told):
            if before == told:
                if at:
                    self._told.rotate(-at)
                return prompt
        made = read()
        key = hash_of((made.system, [tool.definition for tool in made.tools or ()], made.tools is None), 8)
        prompt = self._prompts.setdefault(key, made)
        self._told.appendleft((told, prompt))
        return prompt


def _recounted(counts: dict[str, int], messages: Iterable[Message], by: int) -> dict[str, int]:
    for message in messages:
        if "-" not in message.id:
            name = message.id.partition(".")[0]
            counts[name] = counts.get(name, 0) + by
    return counts


def _named(unit: Sequence[Message], name: str) -> tuple[Message, ...]:
    together = name if len(unit) > 1 else ""
    made: list[Message] = []
    for n, one in enumerate(unit):
        own, is_summary = f"{name}-{n}" if n else name, one.summary or _leads(one)
        made.append(Message(own, one.role, one.parts, together, is_summary, one.mark, one.line, one.time))
    return tuple(made)


def _leads(message: Message) -> bool:
    texts = [part.text for part in message.parts if type(part) is Text]
    return bool(texts) and any(text.lstrip().startswith(SUMMARY_LEADS) for text in texts)


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
