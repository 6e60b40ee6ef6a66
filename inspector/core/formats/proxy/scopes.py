"""The threads whose requests may be confused with each other, and an index of the messages in their buffers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from inspector.core.buffer import View
from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.message import Message

MOST_THREADS = 64
"""Threads that are compared with a request, at most: the latest ones."""


class MessageHolders:
    """The threads that hold a message, by the id of the message."""

    def __init__(self) -> None:
        self._threads: dict[str, Conversation | tuple[Conversation, ...]] = {}
        """A single thread is not wrapped in a tuple: most messages are in one thread only."""

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._threads

    def __bool__(self) -> bool:
        return bool(self._threads)

    def find(self, message_id: str) -> tuple[Conversation, ...]:
        """Return the threads that hold the message, the one that was added last at the end."""
        threads = self._threads.get(message_id, ())
        return threads if isinstance(threads, tuple) else (threads,)

    def add(self, message_id: str, thread: Conversation) -> None:
        """Note that a thread holds the message, and forget the earliest of too many threads."""
        others = tuple(other for other in self.find(message_id) if other is not thread)
        self._threads[message_id] = (*others[1 - MOST_THREADS :], thread) if others else thread


@dataclass(slots=True, eq=False)
class ThreadScope:
    """Threads among which the buffers decide to which of them a request belongs."""

    threads: list[Conversation] = field(default_factory=list)
    ends: MessageHolders = field(default_factory=MessageHolders)
    """By the last message of each buffer."""
    answers: MessageHolders = field(default_factory=MessageHolders)
    """By each answer of the model and each tool result."""
    _by_activity: dict[int, Conversation] = field(default_factory=dict)
    """By the number of the thread; the one with the last request at the end."""

    def touch(self, thread: Conversation) -> None:
        """Note that a request of the thread came."""
        self._by_activity.pop(thread.number, None)
        self._by_activity[thread.number] = thread

    def latest_threads(self) -> Sequence[Conversation]:
        """Return the threads with the latest requests, in the order in which they began."""
        if len(self.threads) <= MOST_THREADS:
            return self.threads
        return sorted(
            islice(reversed(self._by_activity.values()), MOST_THREADS),
            key=lambda thread: thread.number,
        )

    def index_end(self, thread: Conversation, view: View) -> None:
        """Index the last message of a buffer of the thread."""
        if view.length:
            (last,) = view.tail(view.length - 1)
            self.ends.add(last.id, thread)

    def index_answers(self, thread: Conversation, view: View, start: int = 0) -> Iterator[Message]:
        """Index and yield the answers and results of a buffer of the thread from message `start` on.

        Without `start`, the messages before the first one that is indexed already are left alone.
        """
        for message in view.tail(start) if start else view.backwards():
            if message.role != "assistant" and message.role != "tool":
                continue
            if not start and thread in self.answers.find(message.id):
                break
            self.answers.add(message.id, thread)
            yield message


NO_THREADS = ThreadScope()
