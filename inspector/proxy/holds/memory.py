"""What the gate remembers: sizes of requests, states of conversations, calls under way, chains of responses.

A body holds everything that the model reads, system prompt and tools included, so a tokenizer counts all of it. The
provider's tokenizer differs by a factor (`core.tokens.prediction`), learned from the growth of requests. The next size
is the last reported number plus the factor times the change of the count, which is negative after a cut. How much a
removed row counted for is known from the report that it came with.

Answers are read in a thread; a request waits until earlier answers have been read.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from threading import Lock
from typing import Any, Literal, TypeAlias, TypeVar

from inspector.core.buffer import EMPTY_VIEW, Buffer, Prompt
from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.dialects.cuts import BufferCut
from inspector.core.dialects.rewrite import read_wire_items
from inspector.core.formats.proxy.exchange import Reply, read_response
from inspector.core.formats.proxy.keys import name_client
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.counted import TokenizerRefused
from inspector.core.tokens.estimators import estimator, weight
from inspector.core.tokens.prediction import Addition, Learner, Prediction, prior
from inspector.core.tokens.windows import Window, find_window
from inspector.core.usage import Usage
from inspector.proxy.gate import PendingRequest
from inspector.proxy.holds.call import ModelCall, ResponseChain, ThreadKey
from inspector.proxy.record.lines import response_document
from inspector.proxy.record.records import ResponseRecord

_COUNTER = estimator("tiktoken")
_KEPT = 50_000
"""Messages whose count is remembered."""
_KNOWN = 3
"""Growths from which on they tell more than the whole of a body."""
_LEAST = 16
"""Tokens of growth below which a report says nothing of what has come."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A buffer counted by the tokenizer. `marks` are hashes of the prompt and of each message."""

    tokens: int
    marks: tuple[bytes, ...]
    sizes: tuple[int, ...]

    def extends(self, other: "TokenCount") -> bool:
        """Does it begin with all of the other?"""
        return self.marks[: len(other.marks)] == other.marks

    def goes_on_with(self, other: "TokenCount", answer: "TokenCount") -> bool:
        """Does the answer follow where the other ends, which it extends?"""
        marks, at = answer.marks[1:], len(other.marks)
        return bool(marks) and self.marks[at : at + len(marks)] == marks


NOTHING = TokenCount(0, (), ())


class TokenCounter:
    """Counts buffers, from any thread. What was counted once is known by what it says."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()

    def __call__(self, buffer: Buffer) -> TokenCount:
        prompt = buffer.prompt
        marks = [
            _mark((prompt.system, prompt.tools)),
            *(_mark((message.role, message.parts)) for message in buffer.messages),
        ]
        with self._lock:
            weights = {mark: self._known[mark] for mark in marks if mark in self._known}
        pairs = zip(marks[1:], buffer.messages, strict=True)
        new = {mark: weight(_COUNTER, message) for mark, message in pairs if mark not in weights}
        if marks[0] not in weights:
            new[marks[0]] = _prompt(prompt)
        with self._lock:
            self._known |= new
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        weights |= new
        sizes = tuple(_COUNTER.tokens(weights[mark]) for mark in marks)
        return TokenCount(sum(sizes), tuple(marks), sizes)


def _prompt(prompt: Prompt) -> int:
    try:
        return _COUNTER.weigh_prompt(prompt)
    except TokenizerRefused:
        return (len(prompt.system or "") + len(repr(prompt.tools))) // 4


def _mark(value: Any) -> bytes:
    return blake2b(repr(value).encode("utf-8", "replace"), digest_size=16).digest()


class SizeLearner:
    """Learns from the reports of one conversation's provider. Changed on the proxy's loop only."""

    def __init__(self) -> None:
        self._last: TokenCount | None = None
        """The last request that was answered."""
        self._answer = NOTHING
        """The count of its answer."""
        self._reported = 0
        self._model = ""
        self._learner = Learner(_COUNTER.name)
        self._grown = 0
        """How many reports were larger than the previous one."""
        self._factors: dict[bytes, float] = {}
        """Factors of the rows of the last request, by the report that each came with."""

    def take(self, counted: TokenCount, usage: Usage, model: str, answer: TokenCount) -> None:
        """Learn from a request that was answered and whose size was reported."""
        if model != self._model:  # another tokenizer
            self._learner, self._last, self._grown = Learner(_COUNTER.name), None, 0
            self._factors = {}
        added = self._added(counted)
        self._grown += (
            added.extends and self._last is not None and counted.tokens > self._last.tokens
        )
        self._weigh(counted, usage.prompt)
        output = usage.output if usage.output_is_final else 0
        prediction = self._learner.predict(added)
        self._learner.report(
            added, prediction, usage.prompt, output, model, fresh=not added.extends
        )
        if counted.tokens:
            self._learner.expect(usage.prompt / counted.tokens)
        self._last, self._answer, self._reported, self._model = counted, answer, usage.prompt, model

    def _weigh(self, counted: TokenCount, reported: int) -> None:
        """Give the rows that are new since the last report the factor by which the report has grown.

        The first report says nothing about single rows: it includes what no body holds, such as a provider's own words
        around tools.
        """
        last = self._last
        grown = 0 if last is None or not counted.extends(last) else counted.tokens - last.tokens
        factor = (reported - self._reported) / grown if grown >= _LEAST else 0.0
        if (
            last is not None and 0.3 < factor / self.slope() < 3
        ):  # else something came or went that is not in the body
            self._factors |= dict.fromkeys(counted.marks[len(last.marks) :], factor)
        self._factors = {
            mark: self._factors[mark] for mark in counted.marks if mark in self._factors
        }

    def _weighed(self, counted: TokenCount) -> float:
        """Return the provider's tokens by the factors of the rows, or by the slope for new rows."""
        slope, factors = self.slope(), self._factors
        return sum(
            size * factors.get(mark, slope)
            for mark, size in zip(counted.marks, counted.sizes, strict=True)
        )

    def goes_on_in(self, counted: TokenCount) -> bool:
        """Does that request begin with the last one that was answered?"""
        return self._last is not None and counted.extends(self._last)

    def slope(self) -> float:
        """Return the provider's tokens per counted token, by growth, else by the whole last request."""
        if self._last is None or not self._last.tokens or self._grown:
            return self._learner.slope()
        return self._reported / self._last.tokens

    def predict(self, counted: TokenCount, model: str, factor: float | None = None) -> Prediction:
        """Return what the provider will report.

        Before the first report it is the count, with a band by the model family.

        Args:
            factor: the provider's tokens per counted token in other conversations with the model; None if unknown.
        """
        last = self._last if self._model == model else None
        if last is None:
            tokens = round((factor or 1.0) * counted.tokens)
            family = tokens if factor else round(prior(_COUNTER.name, model) * counted.tokens)
            return Prediction(tokens, min(tokens, family), max(tokens, family))
        added = self._added(counted)
        prediction = (
            self._learner.predict(added) if added.extends and self._grown >= _KNOWN else None
        )
        if prediction is not None:
            return prediction
        change = self._weighed(counted) - self._weighed(last)
        tokens, room = (
            max(0, round(self._reported + change)),
            round(abs(change) * self._learner.spread()),
        )
        return Prediction(tokens, max(0, tokens - room), tokens + room)

    def _added(self, counted: TokenCount) -> Addition:
        if self._last is None or not counted.extends(self._last):
            return Addition(counted.tokens, False)
        is_told = counted.goes_on_with(self._last, self._answer)
        return Addition(counted.tokens, True, self._answer.tokens if is_told else 0)


K = TypeVar("K")
V = TypeVar("V")
HoldOutcome: TypeAlias = Literal["as it was", "changed", "dropped"]
_THREADS, _CHAINS, _DECIDED = 500, 64, 64
DROPPED_S = 60.0
"""Seconds in which a dropped request that is made again is dropped again."""
REARMED = 0.95
"""A mark is reported again once the conversation was below this share of it: not for wavering about it."""


@dataclass(slots=True)
class ConversationState:
    """One conversation. Changed on the proxy's loop only."""

    cuts: list[BufferCut] = field(default_factory=list)
    lost: int = 0
    """Cuts that do not fit any more, as was reported."""
    learned: SizeLearner = field(default_factory=SizeLearner)
    usage: Usage | None = None
    """What the last answer cost."""
    largest: int = 0
    told: float = 0
    """The highest mark, in tokens, that was reported and not left since."""
    _decided: OrderedDict[str, tuple[HoldOutcome, float]] = field(default_factory=OrderedDict)
    """What was decided lately about which words, and when, in seconds of one clock."""

    def decide(self, digest: str, outcome: HoldOutcome, now: float) -> None:
        keep(self._decided, digest, (outcome, now), _DECIDED)

    def decided(self, digest: str, now: float) -> HoldOutcome | None:
        """What was decided about the same words; None where they are new, or were dropped a while ago."""
        outcome, then = self._decided.get(digest, (None, 0.0))
        return None if outcome == "dropped" and now - then > DROPPED_S else outcome

    def reached(self, tokens: int, marks: Sequence[float]) -> bool:
        """Has the conversation got to a mark that was not reported? Each is reported once, until it was well below."""
        highest = max((mark for mark in marks if tokens >= mark), default=0.0)
        is_new = highest > self.told
        still = max((mark for mark in marks if tokens >= REARMED * mark), default=0.0)
        self.told = max(highest, min(self.told, still))
        return is_new

    def window(
        self, model: str, headers: Mapping[str, str], user: int | None, models: Mapping[str, int]
    ) -> Window:
        """The model's window: the user's word, the client's, what the conversation gives away, the tables'."""
        if user is None and "context-1m" in headers.get("anthropic-beta", ""):
            return Window(1_000_000, "inferred")
        request = Request(0, EMPTY_VIEW, usage=Usage(input=self.largest), model=model)
        thread = Thread("main", model=model, requests=(request,), client=name_client(headers))
        return find_window(Session("proxy", (thread,)), thread, user=user, models=models)


@dataclass(frozen=True, slots=True)
class GateRequest:
    """A call of a model at the gate, read and counted."""

    pending: PendingRequest
    call: ModelCall
    state: ConversationState
    items: Sequence[Any] | None
    """What would be forwarded as it stands: the client's items with earlier cuts made."""
    is_recut: bool
    buffer: Buffer
    counted: TokenCount


def keep(cache: "OrderedDict[K, V]", key: K, value: V, most: int) -> None:
    """Put an entry into the cache as its newest, and drop the oldest if there are more than `most`."""
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > most:
        cache.popitem(last=False)


class Memory:
    """Used on the proxy's loop."""

    def __init__(self) -> None:
        self.counts = TokenCounter()
        self.chains: OrderedDict[str, ResponseChain] = OrderedDict()
        self._states: OrderedDict[ThreadKey, ConversationState] = OrderedDict()
        self._slopes: OrderedDict[str, float] = OrderedDict()
        """Tokens of a model's provider for one of ours, as its last answer had it."""
        self._agents: OrderedDict[ThreadKey, list[tuple[str, int]]] = OrderedDict()
        """Of those that share a weak key the system prompt and the connection of the last request."""
        self._under_way: dict[int, GateRequest] = {}
        self._answers: set[asyncio.Task[None]] = set()
        """Those that are being read, ..."""
        self._in_order = asyncio.Lock()
        """... in the order in which they came."""

    def told_apart(self, call: ModelCall, connection: int) -> ModelCall:
        """Return the call with the thread of its agent, if the client names no session.

        Agents that begin with the same words differ by system prompt and connection.
        """
        if call.key.strong:
            return call
        agents = self._agents.get(call.thread) or []
        keep(self._agents, call.thread, agents, _THREADS)
        system = call.prompt.system or ""
        number = next((n for n, agent in enumerate(agents) if agent[0] == system), None)
        if number is None:
            number = next((n for n, agent in enumerate(agents) if agent[1] == connection), None)
        if number is None:
            number = 0 if call.side else len(agents)
        if not call.side:  # a title has a prompt of its own
            agents[number : number + 1] = [(system, connection)]
        return replace(call, thread=(*call.thread, str(number))) if number else call

    def state(self, thread: ThreadKey) -> ConversationState:
        """The conversation's. The oldest of very many is forgotten."""
        state = self._states.get(thread) or ConversationState()
        keep(self._states, thread, state, _THREADS)
        return state

    def predicted(
        self, call: ModelCall, state: ConversationState, counted: TokenCount
    ) -> Prediction | None:
        """Return what the provider will report for a buffer of that conversation.

        If the call continues what did not pass through the proxy, the count is added to the last report; None without
        one.
        """
        if call.items is None:
            if (last := state.usage) is None:
                return None
            tokens = last.prompt + last.output + counted.tokens
            return Prediction(tokens, last.prompt, tokens)
        return state.learned.predict(counted, call.model, self._slopes.get(call.model))

    def forwarded(self, request: GateRequest) -> None:
        """That one goes to the provider."""
        self._under_way[request.pending.exchange] = request

    def answered(self, answer: ResponseRecord) -> None:
        """An answer has passed: it is read in a thread, before the next request is admitted."""
        under = self._under_way.pop(answer.exchange, None)
        if under is not None:
            task = asyncio.create_task(self._take(under, replace(answer, body=answer.body.copy())))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)

    async def settled(self) -> None:
        """All answers that have passed are read."""
        while self._answers:
            await asyncio.wait(self._answers)

    async def _take(self, under: GateRequest, answer: ResponseRecord) -> None:
        """Learn from an answer, and remember the chain that it continues."""

        def read() -> tuple[Reply, TokenCount]:
            reply = read_response(DIALECTS[under.call.dialect], response_document(answer))
            return reply, self.counts(Buffer(read_wire_items(under.call.dialect, reply.wire)))

        async with self._in_order:
            reply, items = await asyncio.to_thread(read)
        if reply.failure:
            return
        if reply.usage is not None:
            self._take_usage(under, reply.usage, items)
        self._remember_chain(under, reply)

    def _take_usage(self, under: GateRequest, usage: Usage, answer: TokenCount) -> None:
        call = under.call
        if usage.prompt and under.counted.tokens and call.items is not None:
            self._learn(under, usage, answer)
        elif not call.side:
            self.state(call.thread).usage = usage

    def _remember_chain(self, under: GateRequest, reply: Reply) -> None:
        """Remember the items that a later call continues, if the provider stores the response."""
        call = under.call
        if not reply.id or call.dialect != "openai-responses" or call.items is None:
            return
        if (
            call.goes_on
            or call.body.get("type") == "response.create"
            or call.body.get("store") is not False
        ):
            expected = under.items if under.items is not None else call.items
            chain = ResponseChain([*call.items, *reply.wire], [*expected, *reply.wire])
            keep(self.chains, reply.id, chain, _CHAINS)

    def _learn(self, under: GateRequest, usage: Usage, answer: TokenCount) -> None:
        """Learn how the provider counts, from side calls too."""
        call = under.call
        if call.side:
            self._slopes.setdefault(call.model, usage.prompt / under.counted.tokens)
            return
        state = self.state(call.thread)
        state.usage, state.largest = usage, max(state.largest, usage.prompt)
        state.learned.take(under.counted, usage, call.model, answer)
        keep(self._slopes, call.model, state.learned.slope(), _THREADS)
