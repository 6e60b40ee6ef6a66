"""Find the thread for which a side call was made: the call holds the first words of the thread's user."""

from collections import deque
from collections.abc import Sequence

from inspector.core.formats.proxy.conversation import Conversation, line_of
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.proxy.scopes import MOST_THREADS

_MOST_LINES = 400
"""Maximum number of lines in each message of a side call that are compared with the first words of threads."""
_LAST_MESSAGES = 3
"""Number of messages at the end of a side call that are searched for the first words of its thread."""


class FirstWords:
    """An index of all threads by the first words of their users."""

    def __init__(self, threads: Sequence[Conversation]) -> None:
        """Create an index of `threads`, a list that may grow. Each search first indexes the new threads."""
        self._threads = threads
        self._by_words: dict[str, deque[Conversation]] = {}
        self._indexed = 0

    def find_titled(self, exchange: Exchange) -> Conversation | None:
        """Find the thread whose first words a title call quotes; None if there is none.

        A client may make the title call in another session. It makes the call when the thread begins. So the threads
        that began at about that time are searched first, then all threads whose first words are a line of the call.
        """
        if exchange.kind != "title":
            return None
        at = exchange.known_threads
        near = self._threads[max(0, at - MOST_THREADS) : at + MOST_THREADS]
        thread = find_spoken_of(exchange, of_same_client(exchange, near))
        return thread or find_spoken_of(
            exchange, of_same_client(exchange, self._find_quoted(exchange))
        )

    def _find_quoted(self, exchange: Exchange) -> Sequence[Conversation]:
        """Return the latest threads whose first words are a line of the call, or the end of a line after a colon."""
        for thread in self._threads[self._indexed :]:
            self._by_words.setdefault(thread.first_words, deque(maxlen=MOST_THREADS)).append(thread)
        self._indexed = len(self._threads)
        quotes = set[str]()
        for text in _last_texts(exchange):
            for line in text.splitlines()[:_MOST_LINES]:
                quotes |= {line_of(line), line_of(line.partition(": ")[2])}
        quotes.discard("")
        threads = [thread for words in quotes for thread in self._by_words.get(words, ())]
        return sorted(threads, key=lambda thread: thread.number)


def of_same_client(exchange: Exchange, threads: Sequence[Conversation]) -> list[Conversation]:
    """Return the threads, with at least one step, of the client that made the call."""
    return [
        thread for thread in threads if thread.key.client == exchange.key.client and thread.steps
    ]


def find_spoken_of(exchange: Exchange, threads: Sequence[Conversation]) -> Conversation | None:
    """Find the latest thread whose first words are in the call. Threads on the same connection are preferred."""
    text = "\n".join(_last_texts(exchange))
    quoted = [thread for thread in threads if thread.first_words and thread.first_words in text]
    connected = [thread for thread in quoted if exchange.connection in thread.connections]
    latest_first = reversed(connected or quoted)
    return next(latest_first, None)


def _last_texts(exchange: Exchange) -> list[str]:
    view = exchange.body.view
    return [message.text for message in view.tail(max(0, view.length - _LAST_MESSAGES))]
