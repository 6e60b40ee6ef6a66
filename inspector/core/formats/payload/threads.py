"""Group many bodies, or any other records of whole calls, into threads, as in a recording of the proxy."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, Prompt, View
from inspector.core.dialects.catalogue import Endpoint
from inspector.core.dialects.dialect import Dialect
from inspector.core.dialects.openai_responses import RESPONSES
from inspector.core.formats.payload.exchange import BodyPair
from inspector.core.formats.proxy.bodies import Bodies, Body, Likeness
from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.formats.proxy.conversations import Conversations
from inspector.core.formats.proxy.exchange import Exchange, Reply, reply_of
from inspector.core.formats.proxy.keys import ClientKey
from inspector.core.formats.proxy.pool import Pool
from inspector.core.session import Thread


def named_threads(threads: Sequence[Conversation]) -> tuple[Thread, ...]:
    """Return the threads with ids and titles. The first one is the main thread and the parent of the others."""
    main, *others = threads
    return main.thread("main", "", "", ""), *(
        thread.thread(f"thread-{n}", thread.first_words, "main", "")
        for n, thread in enumerate(others, 2)
    )


class BodyThreads:
    """Groups request bodies into threads as in a recording, but without client keys."""

    def __init__(self, dialect: Dialect, pool: Pool, *, is_one: bool = False) -> None:
        """Create an empty group. `is_one`: put all bodies into one thread, whatever they hold."""
        self.missing: list[int] = []
        """Lines of the bodies that continue a response which is not in the file."""
        self._dialect = dialect
        self._pool = pool
        self._is_one = is_one
        self._before: tuple[list[Any], Body] | None = None
        """The items of the last body, and the body as it was read."""
        self._bodies = Bodies(pool)
        self._conversations = Conversations()
        self._ends: dict[str, View] = {}
        """The buffer after each response, by id of the response."""
        self._bare: Conversation | None = None
        """The thread of the responses without requests."""

    @property
    def all(self) -> list[Conversation]:
        """Return the threads so far."""
        return self._conversations.all

    def add(self, pair: BodyPair, *, step: bool = True) -> None:
        """Add an exchange. A side call (`step` false) joins no thread; a later request may continue its response."""
        if pair.previous and pair.previous not in self._ends:
            self.missing.append(pair.line)
        start = self._ends.get(pair.previous, EMPTY_VIEW)
        body = self._read(pair, start)
        body = replace(body, prompt=self._prompt(pair, body.prompt))
        reply = reply_of(self._dialect, pair.response) if pair.response is not None else Reply()
        where = Endpoint("call", self._dialect)
        exchange = Exchange(
            number=0,
            line=pair.line,
            time=pair.time,
            path="",
            endpoint=where,
            key=ClientKey(),
            asked=body,
            window=pair.window,
            reply=reply,
            end=body.view,
        )
        thread = self._place(exchange, pair) if step else None
        end = self._bodies.add(self._dialect, exchange.body.view, reply.wire, pair.line, pair.time)
        if thread is not None:
            self._conversations.add_answer(thread, exchange, end)
        if pair.response_id:
            self._ends[pair.response_id] = end

    def _read(self, pair: BodyPair, start: View) -> Body:
        """Read a body, except the items at its beginning that it shares with the last body."""
        request, key = pair.request or {}, self._dialect.key
        items, other, like = request.get(key), None, None
        if isinstance(items, list) and not start.length and self._before is not None:
            before, other = self._before
            same = _count_shared(items, before)
            if same and self._dialect is not RESPONSES:
                like = Likeness(exchange=0, all=frozenset(), first={key: same})
                request = {**request, key: items[same:]}
        body = self._bodies.read(
            self._dialect, request, other, like, start=start, line=pair.line, time=pair.time
        )
        if isinstance(items, list) and not start.length:
            self._before = items, body
        return body

    def _place(self, exchange: Exchange, pair: BodyPair) -> Conversation:
        if self._is_one and self.all:
            self.all[0].add(exchange)
            return self.all[0]
        if pair.request is not None or self._bare is None:
            thread = self._conversations.add_step(exchange)
            self._bare = thread if pair.request is None else self._bare
            return thread
        self._bare.add(exchange)
        return self._bare

    def _prompt(self, pair: BodyPair, prompt: Prompt) -> Prompt:
        """Return the prompt of an exchange, with None for a system prompt or tools that are unknown.

        A body that names a model is complete: it holds all that was sent. A bare list of messages holds no prompt.
        """
        if pair.request is not None and "model" in pair.request:
            return prompt
        if pair.request is None:
            prompt = self._dialect.prompt(pair.response or {})
        prompt = Prompt(prompt.system or None, prompt.tools or None)
        return self._pool.prompt(prompt, lambda: prompt)


def _count_shared(items: Sequence[Any], former: Sequence[Any]) -> int:
    """Return how many items at the beginning of both lists are equal."""
    shared = 0
    for item, before in zip(items, former, strict=False):
        if item != before:
            break
        shared += 1
    return shared
