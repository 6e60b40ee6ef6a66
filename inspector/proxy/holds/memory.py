"""What the gate remembers: sizes of requests, states of conversations, open calls, chains of responses.

A body holds everything that the model reads, system prompt and tools included, so a tokenizer counts all of it. The
provider's tokenizer differs by a factor (`core.tokens.prediction`), which is learned from the growth of requests. The
next size is predicted as the last reported number plus the factor times the change of the count; after a cut that
change is negative. What a removed row contributed is known from the report of the request that added it.

Answers are read in a thread; a request waits until earlier answers have been read.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

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
"""Maximum number of messages whose counts are remembered."""
_KNOWN = 3
"""Number of growing reports after which growth predicts better than the size of the whole body."""
_LEAST = 16
"""Smallest growth in tokens from which the factor of new rows can be learned."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A buffer counted by the tokenizer. `marks` are hashes of the prompt and of each message."""

    tokens: int
    marks: tuple[bytes, ...]
    sizes: tuple[int, ...]

    def extends(self, other: "TokenCount") -> bool:
        """Does this buffer begin with the whole of the other?"""
        return self.marks[: len(other.marks)] == other.marks

    def is_continued_by(self, other: "TokenCount", answer: "TokenCount") -> bool:
        """Does `answer` follow directly after `other`, which this buffer extends?"""
        marks = answer.marks[1:]
        count = len(other.marks)
        return bool(marks) and self.marks[count : count + len(marks)] == marks


NOTHING = TokenCount(tokens=0, marks=(), sizes=())


class TokenCounter:
    """Counts the tokens of buffers, from any thread. Counts are cached by the content of prompt and messages."""

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
    """Learns from the provider's reports on one conversation. Changed only on the proxy's loop."""

    def __init__(self) -> None:
        self._last: TokenCount | None = None
        """The count of the last request that was answered."""
        self._answer = NOTHING
        """The count of the answer to that request."""
        self._reported = 0
        self._model = ""
        self._learner = Learner(_COUNTER.name)
        self._grown = 0
        """Number of requests that were larger than the previous one and extended it."""
        self._factors: dict[bytes, float] = {}
        """Provider tokens per counted token of each row in the last request, from the report of the request that added
        it.
        """

    def take(self, counted: TokenCount, usage: Usage, model: str, answer: TokenCount) -> None:
        """Learn from a request whose answer reported its size."""
        if model != self._model:  # another model has another tokenizer
            self._learner = Learner(_COUNTER.name)
            self._last = None
            self._grown = 0
            self._factors = {}
        added = self._added(counted)
        if added.extends and self._last is not None and counted.tokens > self._last.tokens:
            self._grown += 1
        self._weigh(counted, usage.prompt)
        output = usage.output if usage.output_is_final else 0
        prediction = self._learner.predict(added)
        self._learner.report(
            added, prediction, usage.prompt, output, model, fresh=not added.extends
        )
        if counted.tokens:
            self._learner.expect(usage.prompt / counted.tokens)
        self._last = counted
        self._answer = answer
        self._reported = usage.prompt
        self._model = model

    def _weigh(self, counted: TokenCount, reported: int) -> None:
        """Set the factor of the rows that are new since the last report: growth of the report per counted token.

        The first report says nothing about single rows: it includes tokens that no body holds, such as the provider's
        own text around tools.
        """
        last = self._last
        growth = 0
        if last is not None and counted.extends(last):
            growth = counted.tokens - last.tokens
        factor = (reported - self._reported) / growth if growth >= _LEAST else 0.0
        # Otherwise something outside the body has changed.
        if last is not None and 0.3 < factor / self.slope() < 3:
            new_marks = counted.marks[len(last.marks) :]
            self._factors |= dict.fromkeys(new_marks, factor)
        self._factors = {
            mark: self._factors[mark] for mark in counted.marks if mark in self._factors
        }

    def _predict_tokens(self, counted: TokenCount) -> float:
        """Return the predicted provider tokens of a buffer: each row by its factor, a new row by the slope."""
        slope = self.slope()
        factors = self._factors
        return sum(
            size * factors.get(mark, slope)
            for mark, size in zip(counted.marks, counted.sizes, strict=True)
        )

    def begins_with_last(self, counted: TokenCount) -> bool:
        """Does a request begin with the last request that was answered?"""
        return self._last is not None and counted.extends(self._last)

    def slope(self) -> float:
        """Return the provider's tokens per counted token, learned from growth, or else from the whole last request."""
        if self._last is None or not self._last.tokens or self._grown:
            return self._learner.slope()
        return self._reported / self._last.tokens

    def predict(self, counted: TokenCount, model: str, factor: float | None = None) -> Prediction:
        """Return a prediction of the tokens that the provider will report.

        Before the first report it is the count, with a band that depends on the model family.

        Args:
            counted: The count of the request.
            model: The model that is called.
            factor: Provider tokens per counted token in other conversations with the model; None if unknown.
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
        change = self._predict_tokens(counted) - self._predict_tokens(last)
        tokens = max(0, round(self._reported + change))
        room = round(abs(change) * self._learner.spread())
        return Prediction(tokens, max(0, tokens - room), tokens + room)

    def _added(self, counted: TokenCount) -> Addition:
        if self._last is None or not counted.extends(self._last):
            return Addition(counted.tokens, extends=False)
        has_answer = counted.is_continued_by(self._last, self._answer)
        answer_tokens = self._answer.tokens if has_answer else 0
        return Addition(counted.tokens, extends=True, answer=answer_tokens)


K = TypeVar("K")
V = TypeVar("V")
HoldOutcome: TypeAlias = Literal["as it was", "changed", "dropped"]
_THREADS, _CHAINS, _DECIDED = 500, 64, 64
DROPPED_S = 60.0
"""Seconds for which retries of a dropped request are dropped too."""
REARMED = 0.95
"""A mark is reported again only after the conversation was below this share of it, so that small changes around the
mark do not count.
"""


@dataclass(slots=True)
class ConversationState:
    """The state of one conversation. Changed only on the proxy's loop."""

    cuts: list[BufferCut] = field(default_factory=list)
    lost: int = 0
    """Number of cuts that no longer fit and were reported."""
    learned: SizeLearner = field(default_factory=SizeLearner)
    usage: Usage | None = None
    """Usage of the last answer."""
    largest: int = 0
    told: float = 0
    """The highest mark, in tokens, that was reported and has not been left since."""
    _decided: OrderedDict[str, tuple[HoldOutcome, float]] = field(default_factory=OrderedDict)
    """Recent decisions and their times, by digest of the request; times are in seconds of a monotonic clock."""

    def decide(self, digest: str, outcome: HoldOutcome, now: float) -> None:
        keep(self._decided, digest, (outcome, now), _DECIDED)

    def decided(self, digest: str, now: float) -> HoldOutcome | None:
        """Return the decision about an equal request; None if there was none, or it was dropped longer than DROPPED_S
        ago.
        """
        outcome, then = self._decided.get(digest, (None, 0.0))
        return None if outcome == "dropped" and now - then > DROPPED_S else outcome

    def reached(self, tokens: int, marks: Sequence[float]) -> bool:
        """Has the conversation reached a mark that was not reported yet? Each mark counts once until the size is well
        below.
        """
        highest = max((mark for mark in marks if tokens >= mark), default=0.0)
        is_new = highest > self.told
        still = max((mark for mark in marks if tokens >= REARMED * mark), default=0.0)
        self.told = max(highest, min(self.told, still))
        return is_new

    def window(
        self, model: str, headers: Mapping[str, str], user: int | None, models: Mapping[str, int]
    ) -> Window:
        """Return the model's window: set by the user, stated by the client, inferred from the conversation, or from a
        table.
        """
        if user is None and "context-1m" in headers.get("anthropic-beta", ""):
            return Window(tokens=1_000_000, source="inferred")
        request = Request(index=0, view=EMPTY_VIEW, usage=Usage(input=self.largest), model=model)
        thread = Thread("main", model=model, requests=(request,), client=name_client(headers))
        return find_window(Session("proxy", (thread,)), thread, user=user, models=models)


@dataclass(frozen=True, slots=True)
class GateRequest:
    """A model call at the gate, read and counted."""

    pending: PendingRequest
    call: ModelCall
    state: ConversationState
    items: Sequence[Any] | None
    """The items that would be forwarded: the client's items with earlier cuts repeated."""
    is_recut: bool
    buffer: Buffer
    counted: TokenCount


def keep(cache: "OrderedDict[K, V]", key: K, value: V, most: int) -> None:
    """Put an entry into the cache as its newest, and drop the oldest if there are more than `most`."""
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > most:
        cache.popitem(last=False)


class SeenAgent(NamedTuple):
    """What identifies an agent: it is read from the agent's last request."""

    system: str
    connection: int


def _find_agent(agents: Sequence[SeenAgent], agent: SeenAgent) -> int | None:
    """Return the index of the agent with the same system prompt, or else of the one on the same connection."""
    for index, other in enumerate(agents):
        if other.system == agent.system:
            return index
    for index, other in enumerate(agents):
        if other.connection == agent.connection:
            return index
    return None


class Memory:
    """Remembers all conversations of a proxy. Used only on the proxy's loop."""

    def __init__(self) -> None:
        self.counts = TokenCounter()
        self.chains: OrderedDict[str, ResponseChain] = OrderedDict()
        self._states: OrderedDict[ThreadKey, ConversationState] = OrderedDict()
        self._slopes: OrderedDict[str, float] = OrderedDict()
        """Provider tokens per counted token by model, from the model's last answer."""
        self._agents: OrderedDict[ThreadKey, list[SeenAgent]] = OrderedDict()
        """The agents that share a thread key."""
        self._under_way: dict[int, GateRequest] = {}
        self._answers: set[asyncio.Task[None]] = set()
        """Tasks that are reading answers."""
        self._in_order = asyncio.Lock()
        """Makes the answers be processed in the order in which they arrived."""

    def assign_thread(self, call: ModelCall, connection: int) -> ModelCall:
        """Return the call with the thread of its agent, if the client names no session.

        Agents that begin with the same words are distinguished by system prompt and connection.
        """
        if call.key.strong:
            return call
        agents = self._agents.get(call.thread) or []
        keep(self._agents, call.thread, agents, _THREADS)
        agent = SeenAgent(call.prompt.system or "", connection)
        number = _find_agent(agents, agent)
        if number is None:
            number = 0 if call.side else len(agents)
        if not call.side:  # a side call such as a title has another system prompt
            agents[number : number + 1] = [agent]
        return replace(call, thread=(*call.thread, str(number))) if number else call

    def state(self, thread: ThreadKey) -> ConversationState:
        """Return the state of a conversation, new if it is unknown. If there are very many, the oldest is forgotten."""
        state = self._states.get(thread) or ConversationState()
        keep(self._states, thread, state, _THREADS)
        return state

    def predicted(
        self, call: ModelCall, state: ConversationState, counted: TokenCount
    ) -> Prediction | None:
        """Return a prediction of the provider's report for a buffer of a conversation.

        If the call continues a response that did not pass through the proxy, the count is added to the last report;
        None if there is no report.
        """
        if call.items is None:
            last = state.usage
            if last is None:
                return None
            tokens = last.prompt + last.output + counted.tokens
            return Prediction(tokens, last.prompt, tokens)
        return state.learned.predict(counted, call.model, self._slopes.get(call.model))

    def forwarded(self, request: GateRequest) -> None:
        """Note that a request goes to the provider."""
        self._under_way[request.pending.exchange] = request

    def answered(self, answer: ResponseRecord) -> None:
        """Take an answer that has passed. It is read in a thread before the next request is admitted."""
        request = self._under_way.pop(answer.exchange, None)
        if request is not None:
            task = asyncio.create_task(
                self._take(request, replace(answer, body=answer.body.copy()))
            )
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)

    async def settled(self) -> None:
        """Wait until all answers that have passed are read."""
        while self._answers:
            await asyncio.wait(self._answers)

    async def _take(self, request: GateRequest, answer: ResponseRecord) -> None:
        """Learn from an answer, and remember the conversation that it continues."""

        def read() -> tuple[Reply, TokenCount]:
            reply = read_response(DIALECTS[request.call.dialect], response_document(answer))
            return reply, self.counts(Buffer(read_wire_items(request.call.dialect, reply.wire)))

        async with self._in_order:
            reply, items = await asyncio.to_thread(read)
        if reply.failure:
            return
        if reply.usage is not None:
            self._take_usage(request, reply.usage, items)
        self._remember_chain(request, reply)

    def _take_usage(self, request: GateRequest, usage: Usage, answer: TokenCount) -> None:
        call = request.call
        if usage.prompt and request.counted.tokens and call.items is not None:
            self._learn(request, usage, answer)
        elif not call.side:
            self.state(call.thread).usage = usage

    def _remember_chain(self, request: GateRequest, reply: Reply) -> None:
        """Remember the items that a later call may continue, if the provider stores the response."""
        call = request.call
        if not reply.id or call.dialect != "openai-responses" or call.items is None:
            return
        if (
            call.goes_on
            or call.body.get("type") == "response.create"
            or call.body.get("store") is not False
        ):
            expected = request.items if request.items is not None else call.items
            chain = ResponseChain([*call.items, *reply.wire], [*expected, *reply.wire])
            keep(self.chains, reply.id, chain, _CHAINS)

    def _learn(self, request: GateRequest, usage: Usage, answer: TokenCount) -> None:
        """Learn the ratio of the provider's tokens to counted tokens, also from side calls."""
        call = request.call
        if call.side:
            self._slopes.setdefault(call.model, usage.prompt / request.counted.tokens)
            return
        state = self.state(call.thread)
        state.usage = usage
        state.largest = max(state.largest, usage.prompt)
        state.learned.take(request.counted, usage, call.model, answer)
        keep(self._slopes, call.model, state.learned.slope(), _THREADS)
