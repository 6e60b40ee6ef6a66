"""The buffer of one model call, and how thousands of them share their messages.

A thread's messages lie in stretches. Within a stretch messages are only appended, so the buffer of a request is a
view: (stretch, length). A compaction, a rewind or an edit begins a new stretch, which may stand on a view of an
older one. Memory is therefore O(messages), never O(requests x messages).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from inspector.core.message import Json, Message
from inspector.core.quick import quick


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool offered to the model; `definition` is the wire object as it was sent."""

    name: str
    definition: Json


@dataclass(frozen=True, slots=True)
class Prompt:
    """What goes along with every buffer. None = the transcript does not hold it (unlike empty)."""

    system: str | None = None
    tools: tuple[Tool, ...] | None = None


NOT_IN_FILE = Prompt()


class Stretch:
    """Messages that are only appended to, optionally on top of a view of an older stretch."""

    __slots__ = ("_sums", "base", "own")

    def __init__(self, base: "View | None" = None, own: Sequence[Message] = ()) -> None:
        self.base = base
        self.own: list[Message] = list(own)
        self._sums: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return (self.base.length if self.base else 0) + len(self.own)

    def append(self, message: Message) -> None:
        """Only the reader that made the stretch may call this."""
        self.own.append(message)

    def view(self, length: int | None = None) -> "View":
        """The first `length` messages, default all there are now."""
        return View(self, len(self) if length is None else length)

    def weight(self, name: str, weigh: Callable[[Message], int], length: int) -> int:
        """Sum of `weigh` over the first `length` messages: amortised O(1) per message, cached under `name`."""
        total, stretch = 0, self
        while stretch.base is not None and length < stretch.base.length:
            stretch = stretch.base.stretch
        chain: list[tuple[Stretch, int]] = []
        while True:
            below = stretch.base.length if stretch.base else 0
            chain.append((stretch, length - below))
            if stretch.base is None or name in stretch._sums:
                break
            length, stretch = below, stretch.base.stretch
            while stretch.base is not None and length < stretch.base.length:
                stretch = stretch.base.stretch
        for stretch, count in reversed(chain):
            total = stretch._sum(name, weigh, count, total)
        return total

    def _sum(self, name: str, weigh: Callable[[Message], int], count: int, below: int) -> int:
        sums = self._sums.get(name)
        if sums is None:
            sums = self._sums[name] = [below]
        start = len(sums)
        if count >= start:
            total, more = sums[-1], []
            for message in self.own[start - 1 : count]:
                total += weigh(message)
                more.append(total)
            if len(sums) == start:  # another thread may have been faster; the values are the same
                sums.extend(more)
        return sums[count]


@quick
@dataclass(frozen=True, slots=True)
class View:
    """The first `length` messages of a stretch: the buffer of a request, not yet laid out."""

    stretch: Stretch
    length: int

    def messages(self) -> tuple[Message, ...]:
        """All messages, in order. O(length)."""
        runs: list[Sequence[Message]] = []
        stretch, length = self.stretch, self.length
        while True:
            base = stretch.base
            below = base.length if base else 0
            if length > below:
                runs.append(stretch.own[: length - below])
                length = below
            if base is None:
                break
            stretch = base.stretch
        return tuple(message for run in reversed(runs) for message in run)

    def tail(self, start: int) -> tuple[Message, ...]:
        """The messages from `start` on. O(their number), where they lie in the stretch itself."""
        below = self.stretch.base.length if self.stretch.base else 0
        if start >= below:
            return tuple(self.stretch.own[start - below : self.length - below])
        return self.messages()[start:]

    def backwards(self) -> Iterator[Message]:
        """The messages from the last to the first, without laying them all out."""
        stretch, length = self.stretch, self.length
        while True:
            base = stretch.base
            below = base.length if base else 0
            for at in range(length - below - 1, -1, -1):
                yield stretch.own[at]
            if base is None:
                return
            stretch, length = base.stretch, min(length, below)

    def weight(self, name: str, weigh: Callable[[Message], int]) -> int:
        """Sum of `weigh` over the messages, cached under `name`."""
        return self.stretch.weight(name, weigh, self.length)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages())

    def __len__(self) -> int:
        return self.length


EMPTY_VIEW = View(Stretch(), 0)


@dataclass(frozen=True, slots=True)
class Buffer:
    """The messages of one model call, with the prompt that went along. Every change makes a new buffer."""

    messages: tuple[Message, ...]
    prompt: Prompt = NOT_IN_FILE

    def with_messages(self, messages: Sequence[Message]) -> "Buffer":
        """The same prompt over other messages."""
        return Buffer(tuple(messages), self.prompt)
