"""What the gate remembers: every conversation's state, what is under way, where responses lead to.

Answers are read in a thread: a request waits until those before it were.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

from inspector.core.buffer import EMPTY_VIEW, Buffer
from inspector.core.cuts import BufferCut
from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.dialects.rewrite import read_items
from inspector.core.formats.proxy.keys import client_of
from inspector.core.formats.proxy.replies import Reply, read_reply
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.prediction import Prediction
from inspector.core.tokens.windows import Window, find_window
from inspector.core.usage import Usage
from inspector.proxy.gate import PendingRequest
from inspector.proxy.holds.call import ModelCall, ResponseChain, ThreadKey
from inspector.proxy.holds.predicting import SizeLearner, TokenCount, TokenCounter
from inspector.proxy.record.lines import response_document
from inspector.proxy.record.records import ResponseRecord

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
    """The highest mark, in tokens, that was reported and still stands."""
    _decided: OrderedDict[str, tuple[HoldOutcome, float]] = field(default_factory=OrderedDict)
    """What was decided lately about which words, and when, in seconds of one clock."""

    def decide(self, digest: str, outcome: HoldOutcome, now: float) -> None:
        """Remember what was decided about these words."""
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

    def window(self, model: str, headers: Mapping[str, str], user: int | None, models: Mapping[str, int]) -> Window:
        """The model's window: the user's word, the client's, what the conversation gives away, the tables'."""
        if user is None and "context-1m" in headers.get("anthropic-beta", ""):
            return Window(1_000_000, "inferred")
        request = Request(0, EMPTY_VIEW, usage=Usage(input=self.largest), model=model)
        thread = Thread("main", model=model, requests=(request,), client=client_of(headers))
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
    """Was a cut made again for it?"""
    buffer: Buffer
    counted: TokenCount


@dataclass(frozen=True, slots=True)
class _UnnamedAgent:
    """What came with its last request."""

    system: str
    connection: int


def keep(known: "OrderedDict[K, V]", key: K, value: V, most: int) -> None:
    """As the latest of them; the oldest of very many is forgotten."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > most:
        known.popitem(last=False)


class Memory:
    """Used on the proxy's loop."""

    def __init__(self) -> None:
        self.counts = TokenCounter()
        self.chains: OrderedDict[str, ResponseChain] = OrderedDict()
        self._states: OrderedDict[ThreadKey, ConversationState] = OrderedDict()
        self._slopes: OrderedDict[str, float] = OrderedDict()
        """Tokens of a model's provider for one of ours, as its last answer had it."""
        self._agents: OrderedDict[ThreadKey, list[_UnnamedAgent]] = OrderedDict()
        """Those that share a weak key."""
        self._under_way: dict[int, GateRequest] = {}
        self._answers: set[asyncio.Task[None]] = set()
        """Those that are being read, ..."""
        self._in_order = asyncio.Lock()
        """... in the order in which they came."""

    def told_apart(self, call: ModelCall, connection: int) -> ModelCall:
        """Where the client names no session, agents that begin with the same words are told apart by what goes with
        them: another system prompt on another connection is another agent's.
        """
        if call.key.strong:
            return call
        agents = self._agents.get(call.thread) or []
        keep(self._agents, call.thread, agents, _THREADS)
        system = call.prompt.system or ""
        number = next((n for n, one in enumerate(agents) if one.system == system), None)
        if number is None:
            number = next((n for n, one in enumerate(agents) if one.connection == connection), None)
        if number is None:
            number = 0 if call.side else len(agents)
        if not call.side:  # a title has a prompt of its own
            agents[number : number + 1] = [_UnnamedAgent(system, connection)]
        return replace(call, thread=(*call.thread, str(number))) if number else call

    def state(self, thread: ThreadKey) -> ConversationState:
        """The conversation's. The oldest of very many is forgotten."""
        found = self._states.get(thread) or ConversationState()
        keep(self._states, thread, found, _THREADS)
        return found

    def predicted(self, call: ModelCall, state: ConversationState, counted: TokenCount) -> Prediction | None:
        """What its provider will report for a buffer of that conversation. Where it continues from what nobody saw,
        what was counted comes on top of what was reported last; None where nothing was.
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
        """What a call cost, and what it leads to."""

        def read() -> tuple[Reply, TokenCount]:
            reply = read_reply(DIALECTS[under.call.dialect], response_document(answer))
            return reply, self.counts(Buffer(read_items(under.call.dialect, reply.wire)))

        async with self._in_order:
            reply, said = await asyncio.to_thread(read)
        call = under.call
        if reply.failure:
            return
        if reply.usage is not None and reply.usage.prompt and under.counted.tokens and call.items is not None:
            self._learn(under, reply.usage, said)
        elif reply.usage is not None and not call.side:
            self.state(call.thread).usage = reply.usage
        is_stored = call.goes_on or call.body.get("type") == "response.create" or call.body.get("store") is not False
        if reply.id and call.dialect == "openai-responses" and is_stored and call.items is not None:
            wanted = under.items if under.items is not None else call.items
            chain = ResponseChain([*call.items, *reply.wire], [*wanted, *reply.wire])
            keep(self.chains, reply.id, chain, _CHAINS)

    def _learn(self, under: GateRequest, usage: Usage, answer: TokenCount) -> None:
        """Also a side call tells how its model's provider counts."""
        call = under.call
        if call.side:
            self._slopes.setdefault(call.model, usage.prompt / under.counted.tokens)
            return
        state = self.state(call.thread)
        state.usage, state.largest = usage, max(state.largest, usage.prompt)
        state.learned.take(under.counted, usage, call.model, answer)
        keep(self._slopes, call.model, state.learned.slope(), _THREADS)
