"""The buffer of one model call, stored so that thousands of buffers share their messages.

A thread's messages are in stretches. Within a stretch messages are only appended, so the buffer of a request is a view:
(stretch, length). A compaction, a rewind or an edit begins a new stretch, which may continue a view of an older one.
Memory is therefore O(messages), never O(requests x messages). Messages that a micro-compaction cleared are stored
beside the originals, so that 3,000 micro-compactions cost no more than what they cleared.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from inspector.core.message import Json, Message
from inspector.core.quick import quick


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool offered to the model; `definition` is the wire object as it was sent."""

    name: str
    definition: Json


def read_definition(definition: Json) -> Json:
    """Return the part of a tool's definition that the model reads; None if the whole definition is withheld.

    A tool marked `defer_loading` is sent, but is no part of the prompt until a search by the model finds it. In a
    namespace, such tools are left out.
    """
    if not isinstance(definition, Mapping):
        return definition
    if definition.get("defer_loading") is True:
        return None
    inner = definition.get("tools")
    if definition.get("type") != "namespace" or not isinstance(inner, list):
        return definition
    return {**definition, "tools": [tool for tool in inner if read_definition(tool) is not None]}


@quick
@dataclass(frozen=True, slots=True)
class Prompt:
    """The system prompt and tools that are sent with every buffer. None: not recorded; empty: there were none."""

    system: str | None = None
    tools: tuple[Tool, ...] | None = None
    unseen: int = field(default=0, compare=False)
    """Tokens of the prompt that are not in the file, in the unit of a harness's estimator that counts its prompt. 0
    except in buffers that are given to such a harness (`policies.place.buffer_at`)."""


NOT_IN_FILE = Prompt()


Rewritten: TypeAlias = Mapping[int, tuple[Message, Message]]
"""(message before, message after) of each rewritten message, by its index in the buffer."""

_AS_THEY_WERE: Rewritten = MappingProxyType({})


class Stretch:
    """Messages that are only appended to, optionally on top of a view of an older stretch.

    Single messages of the older stretch may be replaced in this one. The replacements are stored separately, so that
    clearing a few old results costs no more than these results.
    """

    __slots__ = ("_more", "_rewritten", "_sums", "_under", "base", "depth")

    def __init__(
        self,
        base: "View | None" = None,
        own: Sequence[Message] = (),
        rewritten: Rewritten = _AS_THEY_WERE,
    ) -> None:
        self._under = base
        self._rewritten = rewritten
        self.base = View(base.stretch, min(rewritten)) if base is not None and rewritten else base
        """The view shared unchanged with the older stretch: all of it, or up to the first rewritten message."""
        self.depth: int = base.stretch.depth + 1 if base is not None else 0
        """Number of older stretches that this stretch builds on."""
        self._more: list[Message] = list(own)
        self._sums: dict[str, list[int]] = {}

    @property
    def own(self) -> Sequence[Message]:
        """Return the messages after `base`."""
        return self._more if self.base is self._under else self.view().tail(len(self.base or ()))

    def _below(self) -> int:
        return self._under.length if self._under else 0

    def __len__(self) -> int:
        return self._below() + len(self._more)

    def append(self, *messages: Message) -> None:
        """Add messages at the end. Only the reader that made the stretch may call this."""
        self._more += messages

    def view(self, length: int | None = None) -> "View":
        """Return a view of the first `length` messages; None: of all messages so far."""
        return View(self, len(self) if length is None else length)

    def weight(self, name: str, weigh: Callable[[Message], int], length: int) -> int:
        """Return the sum of `weigh` over the first `length` messages, cached under `name`. Amortised O(1) each."""
        if self._under is None:
            return self._sum(name, weigh, length, 0)
        steps: list[tuple[Stretch, int]] = []
        stretch: Stretch = self
        while True:
            steps.append((stretch, length))
            length = min(length, stretch._below())
            if stretch._under is None or (
                name in stretch._sums and length == stretch._under.length
            ):
                break
            stretch = stretch._under.stretch
        total = 0
        for stretch, length in reversed(steps):
            if length < stretch._below():
                total += stretch._difference(weigh, length)
            else:
                total = stretch._sum(name, weigh, length - stretch._below(), total)
        return total

    def _difference(self, weigh: Callable[[Message], int], length: int) -> int:
        """Return by how much the rewriting of messages among the first `length` changed their weight."""
        return sum(
            weigh(new) - weigh(old) for at, (old, new) in self._rewritten.items() if at < length
        )

    def _sum(self, name: str, weigh: Callable[[Message], int], count: int, below: int) -> int:
        sums = self._sums.get(name)
        if sums is None:
            changed = self._difference(weigh, self._below()) if self._rewritten else 0
            sums = self._sums[name] = [below + changed]
        start = len(sums)
        if count >= start:
            total = sums[-1]
            more = []
            for message in self._more[start - 1 : count]:
                total += weigh(message)
                more.append(total)
            if len(sums) == start:  # another thread may have stored the same sums already
                sums.extend(more)
        return sums[count]


@quick
@dataclass(frozen=True, slots=True)
class View:
    """The first `length` messages of a stretch: the buffer of a request, not yet built as a tuple."""

    stretch: Stretch
    length: int

    def messages(self) -> tuple[Message, ...]:
        """Return all messages, in order. O(length)."""
        return self.tail(0)

    def tail(self, start: int) -> tuple[Message, ...]:
        """Return the messages from `start` on. O(these messages, rewritten messages in the stretches below)."""
        under = self.stretch._under
        if under is None:
            return tuple(self.stretch._more[start : self.length])
        if start >= under.length:
            own_start = start - under.length
            own_end = max(0, self.length - under.length)
            return tuple(self.stretch._more[own_start:own_end])
        return self._tail_of_many(start)

    def _tail_of_many(self, start: int) -> tuple[Message, ...]:
        """Return the messages from `start` on if they are in several stretches.

        Walk down to the oldest stretch, then apply the rewritten messages on the way up.
        """
        runs: list[Sequence[Message]] = []
        rewritten: list[tuple[Rewritten, int]] = []
        stretch, end = self.stretch, self.length
        while end > start:
            below = stretch._below()
            if end > below:
                runs.append(stretch._more[max(0, start - below) : end - below])
                end = below
            if stretch._under is None:
                break
            if stretch._rewritten and end > start:
                rewritten.append((stretch._rewritten, end))
            stretch = stretch._under.stretch
        messages = [message for run in reversed(runs) for message in run]
        for changes, end in reversed(rewritten):
            for at, (_, message) in changes.items():
                if start <= at < end:
                    messages[at - start] = message
        return tuple(messages)

    def backwards(self) -> Iterator[Message]:
        """Yield the messages from the last to the first, without building a tuple of all."""
        rewritten: dict[int, Message] = {}
        stretch, length = self.stretch, self.length
        while True:
            below = stretch._below()
            for at in range(length - 1, below - 1, -1):
                yield rewritten[at] if at in rewritten else stretch._more[at - below]
            if stretch._under is None:
                return
            length = min(length, below)
            for at, (_, message) in stretch._rewritten.items():
                if at < length:
                    rewritten.setdefault(at, message)
            stretch = stretch._under.stretch

    def rewritten_since(self, former: "View") -> Rewritten | None:
        """Return the messages of `former` that were rewritten since; None if this view does not continue `former`.

        O(stretches between them, rewritten messages).
        """
        rewritten: dict[int, tuple[Message, Message]] = {}
        stretch = self.stretch
        length = self.length
        depth = former.stretch.depth
        while stretch.depth > depth and length >= former.length:
            under = stretch._under
            if under is None:
                break
            for at, (old, new) in stretch._rewritten.items():
                if at >= former.length:
                    continue
                if at in rewritten:  # rewritten again in a later stretch
                    _, new = rewritten[at]
                rewritten[at] = old, new
            stretch = under.stretch
            length = min(length, under.length)
        return rewritten if stretch is former.stretch and length >= former.length else None

    def weight(self, name: str, weigh: Callable[[Message], int]) -> int:
        """Return the sum of `weigh` over the messages, cached under `name`."""
        return self.stretch.weight(name, weigh, self.length)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages())

    def __len__(self) -> int:
        return self.length


EMPTY_VIEW = View(Stretch(), length=0)


@dataclass(frozen=True, slots=True)
class Buffer:
    """The messages of one model call, with system prompt and tools. Immutable: every change makes a new buffer."""

    messages: tuple[Message, ...]
    prompt: Prompt = NOT_IN_FILE

    def with_messages(self, messages: Sequence[Message]) -> "Buffer":
        """Return a buffer with the same prompt and other messages."""
        return Buffer(tuple(messages), self.prompt)


def shared(view: View, other: View) -> int:
    """Return how many of the first messages of two views are the same objects.

    O(1) if one view continues the other.
    """
    same = _count_common(view, other)
    if same in (view.length, other.length):
        return same
    for message, other_message in zip(view.tail(same), other.tail(same), strict=False):
        if message is not other_message:
            break
        same += 1
    return same


def head(view: View, count: int) -> tuple[Message, ...]:
    """Return the first `count` messages, without building a tuple of all."""
    if view.stretch._under is None:
        return tuple(view.stretch._more[: min(count, view.length)])
    return View(view.stretch, min(count, view.length)).messages()


def _count_common(view: View, other: View) -> int:
    """Return the length of the common beginning of two views, by the nearest stretch that both are built on.

    Walks down the stretches of both views, always from the deeper one to the stretch that it is built on.
    """
    deeper, deeper_length = view.stretch, view.length
    other_stretch, other_length = other.stretch, other.length
    while deeper is not other_stretch:
        if deeper.depth < other_stretch.depth:
            deeper, other_stretch = other_stretch, deeper
            deeper_length, other_length = other_length, deeper_length
        base = deeper.base
        if base is None:
            return 0
        deeper = base.stretch
        deeper_length = min(deeper_length, base.length)
    return min(deeper_length, other_length)


def is_prefix(shorter: View, longer: View) -> bool:
    """Does `longer` begin with the very messages of `shorter`? Compares only stretches: O(stretches between them)."""
    stretch, length = longer.stretch, longer.length
    while stretch is not shorter.stretch:
        if stretch.base is None or length < shorter.length:  # the stretches below are even shorter
            return False
        length = min(length, stretch.base.length)
        stretch = stretch.base.stretch
    return shorter.length <= length
