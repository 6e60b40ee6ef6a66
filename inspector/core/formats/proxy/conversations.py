"""Assign each request to its thread: by the client's own keys or, without keys, by what the buffers share.

`matching.py` compares the buffers, `sub_agents.py` finds the parents of sub-agents, and `side_owners.py` finds the
thread for which a title or another side call was made.
"""

from collections import deque

from inspector.core.buffer import View
from inspector.core.formats.proxy.conversation import Conversation, Scope
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.proxy.matching import find_compacted, find_continued, is_fresh
from inspector.core.formats.proxy.scopes import NO_THREADS, ThreadScope
from inspector.core.formats.proxy.side_owners import FirstWords, find_spoken_of, of_same_client
from inspector.core.formats.proxy.sub_agents import SubAgentTasks

_MOST_EARLY = 51
"""Maximum number of side calls kept until their thread begins."""


class Conversations:
    """Assigns the requests and side calls of a recording to threads."""

    def __init__(self) -> None:
        self.all: list[Conversation] = []
        self._everywhere = ThreadScope(self.all)
        self._scopes: dict[Scope, ThreadScope] = {}
        self._tasks = SubAgentTasks()
        self._first_words = FirstWords(self.all)
        self._early: deque[Exchange] = deque(maxlen=_MOST_EARLY)
        """The latest side calls whose thread has not begun yet: a title, a prewarm, a router."""

    # -- steps -----------------------------------------------------------------------------------------------------

    def add_step(self, exchange: Exchange, target: Conversation | None = None) -> Conversation:
        """Add a request to `target`; if None, to the thread that the request continues, or to a new thread."""
        thread = target or self._find_thread(exchange) or self._begin_thread(exchange)
        thread.add(exchange)
        exchange.thread = thread.number
        self._everywhere.touch(thread)
        self._scopes[thread.scope].touch(thread)
        self._index_buffer(thread, exchange.body.view)
        if self._early and len(thread.steps) == 1:
            self._claim_early_calls(thread)
        return thread

    def add_answer(self, thread: Conversation, exchange: Exchange, end: View) -> None:
        """Add the answer to a step of the thread. `end` is the buffer with the answer."""
        thread.add_answer(exchange, end)
        self._index_answers(thread, end, exchange.body.view.length)

    def update_step(self, thread: Conversation, exchange: Exchange) -> None:
        """Replace the buffer of a step of the thread after its body changed (see `Conversation.update`)."""
        thread.update(exchange)
        self._index_buffer(thread, exchange.body.view)

    def thread_of(self, exchange: Exchange) -> Conversation | None:
        """Return the thread of an exchange; None if it is unknown."""
        return None if exchange.thread is None else self.all[exchange.thread]

    def _index_buffer(self, thread: Conversation, view: View) -> None:
        self._scopes[thread.scope].index_end(thread, view)
        self._index_answers(thread, view)

    def _index_answers(self, thread: Conversation, view: View, start: int = 0) -> None:
        for message in self._scopes[thread.scope].index_answers(thread, view, start):
            self._tasks.note_calls(thread, message)

    # -- side calls ------------------------------------------------------------------------------------------------

    def add_side_call(self, exchange: Exchange, thread: Conversation | None) -> None:
        """Add a side call that was made for `thread`. If None, the call waits until its thread begins."""
        exchange.known_threads = len(self.all)
        if thread is not None:
            exchange.thread = thread.number
        elif exchange.endpoint.dialect is not None:
            self._early.append(exchange)

    def find_owner(self, exchange: Exchange) -> Conversation | None:
        """Find the thread for which a side call was made; None if it is unknown or has not begun."""
        scope = self._scope_of(exchange)
        if thread := find_continued(exchange, scope):
            return thread
        if exchange.key.strong:
            return scope.threads[0] if scope.threads else None
        is_compaction = exchange.kind == "compaction"
        threads = scope.latest_threads()
        if not threads and is_compaction:  # a client may leave its key out of just this call
            threads = of_same_client(exchange, self._everywhere.latest_threads())
        if thread := find_spoken_of(exchange, threads):
            return thread
        return threads[-1] if threads and is_compaction else None

    def find_titled(self, exchange: Exchange) -> Conversation | None:
        """Find the thread whose first words a title call quotes; None if there is none."""
        return self._first_words.find_titled(exchange)

    def _claim_early_calls(self, thread: Conversation) -> None:
        """Assign to a new thread the side calls that were made for it before it began.

        The calls of one kind are taken from one connection only: two clients may have been given the same task.
        """
        connections: dict[str, tuple[int, int]] = {}
        connected_first = sorted(
            self._early, key=lambda early: early.connection not in thread.connections
        )
        for early in connected_first:
            connection = connections.get(early.kind, early.connection)
            if connection == early.connection and self._was_made_for(early, thread):
                connections[early.kind] = early.connection
                early.thread = thread.number
        self._early = deque((early for early in self._early if early.thread is None), _MOST_EARLY)

    def _was_made_for(self, exchange: Exchange, thread: Conversation) -> bool:
        """Was a side call made for `thread`? Only the newest thread of the call's scope qualifies."""
        if self._scope_of(exchange).threads[-1:] != [thread]:
            return False
        return exchange.key.strong or find_spoken_of(exchange, [thread]) is not None

    # -- sub-agents ------------------------------------------------------------------------------------------------

    def find_parent(self, thread: Conversation) -> None:
        """Set the parent of a thread if it is unknown: the thread with the tool call that holds its task."""
        self._tasks.find_parent(thread)

    def forget_parents(self) -> None:
        """Forget the parents of all threads, so that they can be found again."""
        self._tasks.forget_parents(self.all)

    # -- which thread ----------------------------------------------------------------------------------------------

    def _scope_of(self, exchange: Exchange) -> ThreadScope:
        return self._scopes.get(_scope_key(exchange), NO_THREADS)

    def _find_thread(self, exchange: Exchange) -> Conversation | None:
        """Find the thread of a request; None if it begins one."""
        key, view, scope = exchange.key, exchange.body.view, self._scope_of(exchange)
        if not scope.threads:
            return None
        if key.strong and key.thread:
            return scope.threads[0]
        if not key.strong and is_fresh(view, scope):
            return None
        if thread := find_continued(exchange, scope):
            return thread
        if self._tasks.is_first_request(view):
            return None
        if key.strong and not key.sub:
            main = scope.threads[0]
            if exchange.body.prompt.tools or not main.has_tools:
                return main
        return find_compacted(exchange, scope.latest_threads())

    def _begin_thread(self, exchange: Exchange) -> Conversation:
        thread = Conversation(exchange.key, len(self.all), _scope_key(exchange))
        self.all.append(thread)
        self._scopes.setdefault(thread.scope, ThreadScope()).threads.append(thread)
        if exchange.key.sub:
            thread.parent = self._named_parent(exchange)
        return thread

    def _named_parent(self, exchange: Exchange) -> Conversation | None:
        """Return the thread that the keys of a sub-agent's request name as its parent."""
        key = exchange.key
        for thread_key in (key.parent, ""):
            if scope := self._scopes.get((key.session, "", thread_key)):
                return scope.threads[0]
        for thread in self.all:
            if (
                thread.key.sub
                and thread.key.thread == key.session
                and thread.key.session != key.session
            ):
                return thread
        return None


def _scope_key(exchange: Exchange) -> Scope:
    key, dialect = exchange.key, exchange.asked.dialect
    if key.strong:
        return key.session, "", key.thread or ("?" if key.sub else "")
    return "", key.session, dialect.name if dialect else ""
