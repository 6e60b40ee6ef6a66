"""Group the threads whose requests may be confused with each other, and index the messages in their buffers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from inspector.core.buffer import View
from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.message import Message

MOST_THREADS = 64
"""Maximum number of threads that are compared with a request: the latest ones."""


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
        """Return the threads that hold the message, the latest addition last."""
        threads = self._threads.get(message_id, ())
        return threads if isinstance(threads, tuple) else (threads,)

    def add(self, message_id: str, thread: Conversation) -> None:
        """Record that a thread holds the message. Only the latest `MOST_THREADS` threads are kept."""
        others = tuple(other for other in self.find(message_id) if other is not thread)
        self._threads[message_id] = (*others[1 - MOST_THREADS :], thread) if others else thread


@dataclass(slots=True, eq=False)
class ThreadScope:
    """A group of threads. Comparing buffers decides to which thread of the group a request belongs."""

    threads: list[Conversation] = field(default_factory=list)
    ends: MessageHolders = field(default_factory=MessageHolders)
    """The threads with a buffer that ends with a message, by id of the message."""
    answers: MessageHolders = field(default_factory=MessageHolders)
    """The threads that hold an answer of the model or a tool result, by id of its message."""
    _by_activity: dict[int, Conversation] = field(default_factory=dict)
    """The threads by their number, in the order of their last requests."""

    def touch(self, thread: Conversation) -> None:
        """Record that a request of the thread arrived."""
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
        """Index and yield the answers and tool results in a buffer of the thread, from message `start` on.

        Without `start`, messages are read from the last one back, until one is already indexed.
        """
        for message in view.tail(start) if start else view.backwards():
            if message.role != "assistant" and message.role != "tool":
                continue
            if not start and thread in self.answers.find(message.id):
                break
            self.answers.add(message.id, thread)
            yield message


NO_THREADS = ThreadScope()
