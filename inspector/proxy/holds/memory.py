"""What the gate remembers: every conversation's standing, what is under way, where responses lead to.

Answers are known from the recording, which is written a little later than they pass: a request waits until the answers
before it were heard of.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.rewrite import read_items
from inspector.core.formats.proxy.endpoints import DIALECTS
from inspector.core.formats.proxy.replies import Reply, read_reply
from inspector.core.tokens.prediction import Prediction
from inspector.core.usage import Usage
from inspector.proxy.holds.predicting import Counted, Counts
from inspector.proxy.holds.reading import Chain, Reading, ThreadKey
from inspector.proxy.holds.threads import Standing

_THREADS, _CHAINS = 500, 64
_HEARD_S = 1.0
"""Seconds that a request waits for the recorder; where that hangs, it goes on without."""


@dataclass(frozen=True, slots=True)
class _Under:
    """A request under way to the provider."""

    reading: Reading
    items: Sequence[Any] | None
    counted: Counted


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer, and its size."""

    reply: Reply
    answer: Counted


@dataclass(frozen=True, slots=True)
class _Agent:
    """What came with its last request."""

    system: str
    connection: int


class Memory:
    """Used on the proxy's loop, but for `read`."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.chains: OrderedDict[str, Chain] = OrderedDict()
        self.times: OrderedDict[int, str] = OrderedDict()
        """When requests came, as the recording has it, by exchange."""
        self._standings: OrderedDict[ThreadKey, Standing] = OrderedDict()
        self._slopes: OrderedDict[str, float] = OrderedDict()
        """Tokens of a model's provider for one of ours, as its last answer had it."""
        self._agents: OrderedDict[ThreadKey, list[_Agent]] = OrderedDict()
        """Those that share a weak key."""
        self._under_way: dict[int, _Under] = {}
        self._expected: set[int] = set()

    def told_apart(self, reading: Reading, connection: int) -> Reading:
        """Where the client names no session, agents that begin with the same words are told apart by what goes with
        them: another system prompt on another connection is another agent's.
        """
        if reading.key.strong:
            return reading
        agents = self._agents.pop(reading.thread, None) or []
        self._agents[reading.thread] = agents
        while len(self._agents) > _THREADS:
            self._agents.popitem(last=False)
        system = reading.prompt.system or ""
        number = next((n for n, one in enumerate(agents) if one.system == system), None)
        if number is None:
            number = next((n for n, one in enumerate(agents) if one.connection == connection), None)
        if number is None:
            number = 0 if reading.side else len(agents)
        if not reading.side:  # a title has a prompt of its own
            agents[number : number + 1] = [_Agent(system, connection)]
        return replace(reading, thread=(*reading.thread, str(number))) if number else reading

    def standing(self, thread: ThreadKey) -> Standing:
        """The conversation's. The oldest of very many is forgotten."""
        found = self._standings.pop(thread, None) or Standing()
        self._standings[thread] = found
        while len(self._standings) > _THREADS:
            self._standings.popitem(last=False)
        return found

    def predicted(self, reading: Reading, standing: Standing, counted: Counted) -> Prediction | None:
        """What its provider will report for a buffer of that conversation. Where it goes on from what nobody saw, what
        was counted comes on top of what was reported last; None where nothing was.
        """
        if reading.items is None:
            if (last := standing.usage) is None:
                return None
            tokens = last.prompt + last.output + counted.tokens
            return Prediction(tokens, last.prompt, tokens)
        return standing.learned.predict(counted, reading.model, self._slopes.get(reading.model))

    def forwarded(self, exchange: int, reading: Reading, items: Sequence[Any] | None, counted: Counted) -> None:
        """That one goes to the provider, who will read `items`."""
        self._under_way[exchange] = _Under(reading, items, counted)

    def came(self, exchange: int, time: str) -> None:
        """A request is written down."""
        self.times[exchange] = time
        while len(self.times) > _THREADS:
            self.times.popitem(last=False)

    def expect(self, exchange: int) -> None:
        """Its answer has passed, and will be heard of."""
        if exchange in self._under_way:
            self._expected.add(exchange)

    async def settled(self) -> None:
        """All answers that have passed were heard of."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _HEARD_S
        while self._expected and loop.time() < until:
            await asyncio.sleep(0.002)
        self._expected.clear()

    def read(self, line: Mapping[str, Any]) -> Heard | None:
        """The answer in a line of the recording. In any thread."""
        number = line.get("exchange")
        under = self._under_way.get(number) if isinstance(number, int) else None
        if under is None:
            return None
        reply = read_reply(DIALECTS[under.reading.dialect], line)
        return Heard(reply, self.counts(Buffer(read_items(under.reading.dialect, reply.wire))))

    def settle(self, exchange: Any, heard: Heard | None) -> None:
        """An answer was heard of."""
        self._expected.discard(exchange)
        under = self._under_way.pop(exchange, None)
        if under is None or heard is None or heard.reply.failure:
            return
        reading, reply = under.reading, heard.reply
        if reply.usage is not None and reply.usage.prompt and under.counted.tokens and reading.items is not None:
            self._learn(under, reply.usage, heard.answer)
        elif reply.usage is not None and not reading.side:
            self.standing(reading.thread).usage = reply.usage
        is_stored = (
            reading.goes_on or reading.body.get("type") == "response.create" or reading.body.get("store") is not False
        )
        if reply.id and reading.dialect == "openai-responses" and is_stored and reading.items is not None:
            wanted = under.items if under.items is not None else reading.items
            self.chains[reply.id] = Chain([*reading.items, *reply.wire], [*wanted, *reply.wire])
            while len(self.chains) > _CHAINS:
                self.chains.popitem(last=False)

    def _learn(self, under: _Under, usage: Usage, answer: Counted) -> None:
        """Also a side call tells how its model's provider counts."""
        reading = under.reading
        if reading.side:
            self._slopes.setdefault(reading.model, usage.prompt / under.counted.tokens)
            return
        standing = self.standing(reading.thread)
        standing.usage, standing.largest = usage, max(standing.largest, usage.prompt)
        standing.learned.take(under.counted, usage, reading.model, answer)
        self._slopes[reading.model] = standing.learned.slope()
        while len(self._slopes) > _THREADS:
            self._slopes.popitem(last=False)
