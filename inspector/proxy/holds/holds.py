"""The gate of a proxy that intervenes: which requests are held; they are looked at, changed, dropped; cuts are made
again.

Everything that passes is changed only where a person (or a rule they chose) changed it: all else goes on byte for byte.
The gate lives on the proxy's loop; the intents (`release`, `drop`, `hold_next`, `set_rule`) come from any thread.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.cuts import cut_of, recut
from inspector.core.dialects.recipe import Ref, carry_out
from inspector.core.dialects.rewrite import CannotRewrite, items_of, plan, with_items, with_whole
from inspector.core.jsontext import dumps
from inspector.core.tokens.prediction import Prediction
from inspector.core.usage import Usage
from inspector.proxy.clients import EVERY_S, Patience, patience, ping_of
from inspector.proxy.gate import Decision, Forward, PendingRequest, Refuse
from inspector.proxy.holds.call import ModelCall, buffer_of, is_call, read
from inspector.proxy.holds.hold import (
    HeldRequest,
    HoldDecision,
    HoldDrop,
    HoldInfo,
    HoldListener,
    HoldRegistry,
    HoldRelease,
    Retries,
    Rule,
)
from inspector.proxy.holds.memory import ConversationState, Memory
from inspector.proxy.holds.predicting import TokenCount
from inspector.proxy.record.records import HoldReason, RequestHead, ResponseRecord, iso
from inspector.proxy.relay.refusals import error_body, late_error


@dataclass(slots=True)
class Judge:
    """The rule, and the next one by hand. `models`: the user's own table of windows; `note`: where sentences go."""

    rule: Rule
    models: Mapping[str, int]
    note: Callable[[str], None]
    is_next: bool = False
    _unknown: set[str] = field(default_factory=set)

    def why(
        self, call: ModelCall, state: ConversationState, size: Prediction | None, *, is_known: bool
    ) -> HoldReason | None:
        """Is it to be held, and why? `is_known`: the same words were let go before, so this is a retry."""
        if call.side:
            return None
        at_mark = self.at_mark(call, state, size)
        if self.is_next:
            self.is_next = False
            return "by hand"
        if is_known:
            return None
        if self.rule.kind == "each":
            return "each"
        return "watermark" if self.rule.kind == "watermark" and at_mark else None

    def at_mark(self, call: ModelCall, state: ConversationState, size: Prediction | None) -> bool:
        """Is a request of that size to be held for it? Takes down how far the conversation got.

        Where the window cannot be known that is told, once a model.
        """
        rule, window = self.rule, self.window(call, state)
        if window is None:
            if rule.kind == "watermark" and call.model not in self._unknown:
                self._unknown.add(call.model)
                self.note(f"Nobody knows the window of {call.model}: at a watermark it is not held. Say the window.")
            return False
        if size is None:
            return False
        reached = state.reached(size.tokens, [mark * window for mark in rule.marks])
        return reached or size.tokens >= (rule.ratio if rule.always else rule.full) * window

    def window(self, call: ModelCall, state: ConversationState) -> int | None:
        return state.window(call.model, call.headers, self.rule.window, self.models).tokens

    def recut(self, call: ModelCall, state: ConversationState) -> tuple[Sequence[Any] | None, bool]:
        """What would be forwarded as it stands, and whether a cut was made for it."""
        if call.items is None or not state.cuts:
            return call.items, False
        done = recut(state.cuts, call.items)
        if done.left > state.lost and not call.side:
            which = "the cut" if len(state.cuts) == 1 else f"{done.left} of {len(state.cuts)} cuts"
            self.note(
                f"{call.key.client or 'The client'} sends another conversation than the one that was cut (it "
                f"compacted by itself, or went back): {which} cannot be made again."
            )
        if not call.side:
            state.lost = done.left
        return (done.items, True) if done.made else (call.items, False)


STREAM = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))


async def wait_for(
    decided: "asyncio.Future[HoldDecision]",
    pending: PendingRequest,
    patience: Patience,
    arrived: float,
    every_s: float = EVERY_S,
) -> HoldDecision | None:
    """What was decided; None where the client's patience ended first.

    `arrived`: the loop's time when the request came. Cancelled when the client closes.
    """
    loop = asyncio.get_running_loop()
    begin_s = patience.begin_s
    while True:
        now = loop.time() - arrived
        left = patience.limit_s - now
        if left <= 0:
            return None
        due = begin_s is not None and now >= begin_s
        pause = every_s if due else left if begin_s is None else begin_s - now
        if due:
            await pending.early(200, STREAM)
            await pending.send(ping_of(patience.ping))
        await asyncio.wait([decided], timeout=min(pause, left))
        if decided.done():
            return decided.result()


Sizes: TypeAlias = tuple[Prediction | None, int | None, int]
"""Of the request, of its window, its messages."""
DROPPED = "Dropped at the Context Inspector proxy by the person who watches it. Nothing was sent to the provider."


def own_items(call: ModelCall) -> list[Any]:
    """The items of the body itself."""
    return items_of(call.dialect, call.body)


def body_with(call: ModelCall, items: Sequence[Any] | None) -> bytes | None:
    """The body that makes the model read `items`; None where that is the body that came. Raises CannotRewrite."""
    if items is None or _same(items, call):
        return None
    if call.goes_on:
        body = with_whole(call.body, call.held, items)
    else:
        body = with_items(call.dialect, call.body, items)
    return dumps(body).encode()


def _same(items: Sequence[Any], call: ModelCall) -> bool:
    """Does the body that came say just that?"""
    came = [*(call.held or ()), *own_items(call)]
    return len(items) == len(came) and all(one is other or one == other for one, other in zip(items, came, strict=True))


def dropped(pending: PendingRequest) -> Refuse:
    """The answer to a dropped request: an error that says so, of a kind that is not tried again."""
    status = 400
    body = error_body(pending.path, status, DROPPED)
    if pending.begun:
        body = late_error(pending.path, status, body)
    headers = (("content-type", "application/json"), ("x-should-retry", "false"))
    return Refuse(status, body, headers)


def changed(held: HeldRequest, original: Buffer, buffer: Buffer) -> HoldRelease:
    """The held request with another buffer in it. Raises CannotRewrite."""
    if held.items is None:
        raise CannotRewrite(held.shown.cannot)
    if not buffer.messages:
        raise CannotRewrite("An empty buffer cannot be sent: every provider refuses it.")
    recipes = plan(held.call.dialect, held.items, original.messages, buffer.messages)
    if recipes == tuple(Ref((n,)) for n in range(len(held.items))):
        return HoldRelease()
    items = [carry_out(recipe, held.items) for recipe in recipes]
    body_with(held.call, items)  # raises where it cannot be sent
    return HoldRelease(items, cut_of(held.call.dialect, held.items, recipes))


def new_hold(
    pending: PendingRequest,
    call: ModelCall,
    why: HoldReason,
    sizes: Sizes,
    usage: Usage | None,
    can_change: bool,
) -> HoldInfo:
    """A request that begins to wait. `usage`: what the answer before it cost."""
    head, (size, window, messages) = pending.head, sizes
    client = call.key.client if call.key.strong else pending.client or call.key.client
    bears = patience(
        client, call.dialect, call.headers,
        streams=call.streams, transport=head.transport,
    )  # fmt: skip
    cannot = "" if can_change else "It goes on from a response that did not pass through here."
    return HoldInfo(
        pending.exchange, pending.exchange, iso(head.time), why, client, call.key.session, pending.tag, call.model,
        size, window, messages, time.time() + bears.limit_s, bears, cannot=cannot,
        thread=call.thread, usage=usage,
    )  # fmt: skip


GRACE_S = 120.0
"""Seconds that a hold whose client has closed waits for the client to ask again."""


class Holds:
    """Give it to a `ProxyServer` as its gate. `models`: the user's own table of windows."""

    def __init__(self, rule: Rule | None = None, models: Mapping[str, int] | None = None) -> None:
        self.note: Callable[[str], None] = lambda what: None
        """Where sentences for the recording go: the recorder's `note`."""
        self._judge = Judge(rule or Rule(), models or {}, lambda what: self.note(what))
        self._memory = Memory()
        self._retries = Retries()
        self._in_use = self._judge.rule.kind != "off"
        self._board = HoldRegistry()
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- intents, from any thread --------------------------------------------------------------------------------------

    @property
    def rule(self) -> Rule:
        return self._judge.rule

    @property
    def is_next(self) -> bool:
        """Will the next request be held, whatever the rule says?"""
        return self._judge.is_next

    def list(self) -> tuple[HoldInfo, ...]:
        return self._board.list()

    def buffer(self, id: int) -> Buffer:  # noqa: A002
        """What the model would read of a held request. Raises InspectorError where it is held no longer."""
        return self._board.find(id).buffer

    def predicted(self, id: int, buffer: Buffer) -> int:  # noqa: A002
        """Tokens that its provider would report for the held request with `buffer` in it. Raises InspectorError where
        it is held no longer."""
        held = self._board.find(id)
        counted = self._memory.counts(replace(buffer, prompt=held.buffer.prompt))
        found = self._memory.predicted(held.call, held.state, counted)
        return counted.tokens if found is None else found.tokens

    def subscribe(self, told: HoldListener) -> Callable[[], None]:
        """Be called at every change, mostly on the proxy's thread. Returns what ends it."""
        return self._board.subscribe(told)

    def set_rule(self, rule: Rule) -> None:
        """Hold by another rule from here on. What waits goes on waiting."""
        self._judge.rule = rule
        self._in_use = self._in_use or rule.kind != "off"
        self._board.tell()

    def hold_next(self, wanted: bool = True) -> None:
        """Hold the next request, whatever the rule says."""
        self._judge.is_next = wanted
        self._in_use = self._in_use or wanted
        self._board.tell()

    def release(self, id: int, buffer: Buffer | None = None, original: Buffer | None = None) -> None:  # noqa: A002
        """Let a request go: as it stands, or with `buffer` in it, which was made of `original` (default: of what
        `buffer(id)` gives). Raises InspectorError where it is held no longer, or cannot be sent like that.
        """
        held = self._board.find(id)
        self._decide(held, HoldRelease() if buffer is None else changed(held, original or held.buffer, buffer))

    def drop(self, id: int) -> None:  # noqa: A002
        """Answer it with an error. Raises InspectorError where it is held no longer."""
        self._decide(self._board.find(id), HoldDrop())

    def _decide(self, held: HeldRequest, choice: HoldDecision) -> None:
        def settle() -> None:
            if not held.decided.done():
                held.decided.set_result(choice)
                self._board.tell()

        if self._loop is not None:
            self._loop.call_soon_threadsafe(settle)

    # -- the gate, on the proxy's loop ---------------------------------------------------------------------------------

    def wants(self, head: RequestHead) -> bool:
        """Calls of a model, once anything was to be held: before that all streams through as if nobody stood here.

        Turns on a WebSocket are always read: what they go on from must be known when one of them is held.
        """
        self._loop = self._loop or asyncio.get_running_loop()
        read = head.transport == "websocket" or (self._in_use and head.method == "POST")
        return read and is_call("POST", head.path)

    def answered(self, head: RequestHead, answer: ResponseRecord) -> None:
        self._memory.answered(answer)

    async def admit(self, pending: PendingRequest) -> Decision:
        """Make the cuts of its conversation again; hold it where that is wanted."""
        arrived = asyncio.get_running_loop().time()
        await self._memory.settled()
        call = read(pending, self._memory.chains)
        if call is None:
            return Forward()
        call = self._memory.told_apart(call, pending.head.connection)
        state = self._memory.state(call.thread)
        items, again = self._judge.recut(call, state)
        buffer = await asyncio.to_thread(buffer_of, call, items if items is not None else own_items(call))
        counted = await asyncio.to_thread(self._memory.counts, buffer)
        known = self._board.same_turn(call)
        if known is not None:
            return await self._hold(self._taken_over(known, pending, call), arrived, counted, again)
        decided = self._retries.find(call, time.monotonic())
        if decided == "dropped":
            return dropped(pending)
        size = self._memory.predicted(call, state, counted)
        why = self._judge.why(call, state, size, is_known=decided is not None)
        if why is None:
            return self._forward(pending, call, items, counted, "cut again" if again else "")
        sizes = size, self._judge.window(call, state), len(buffer.messages)
        before = state.usage if state.learned.goes_on_in(counted) else None
        shown = new_hold(pending, call, why, sizes, before, items is not None)
        decision = asyncio.get_running_loop().create_future()
        held = HeldRequest(shown, call, items, buffer, pending, state, decision)
        return await self._hold(held, arrived, counted, again)

    def _taken_over(self, held: HeldRequest, pending: PendingRequest, call: ModelCall) -> HeldRequest:
        """The client asks again: its new connection waits instead of the old one, what was done is kept."""
        held.left.set()
        held.left, held.pending, held.call = asyncio.Event(), pending, call
        bears = held.shown.patience
        self._board.show(
            held, exchange=pending.exchange, time=iso(pending.head.time), is_gone=False,
            is_begun=False, retries=held.shown.retries + 1, until=time.time() + bears.limit_s,
        )  # fmt: skip
        return held

    async def _hold(self, held: HeldRequest, arrived: float, counted: TokenCount, again: bool) -> Decision:
        pending, left = held.pending, held.left
        if again and (body := body_with(held.call, held.items)) is not None:
            pending.sends(body)
        pending.held(held.shown.why, held.shown.size)
        self._board.put(held)
        try:
            choice = await self._choice(held, pending, left, arrived)
        except asyncio.CancelledError:
            if held.left is left:
                self._gone(held)
            raise
        if choice is None:
            return dropped(pending)
        self._board.take(held)
        return await self._done(held, pending, choice, counted, again)

    async def _choice(
        self, held: HeldRequest, pending: PendingRequest, left: asyncio.Event, arrived: float
    ) -> HoldDecision | None:
        """What was decided; as it stands where the client's patience ends. None: another connection has taken over."""
        over = asyncio.ensure_future(left.wait())
        waiting = asyncio.ensure_future(wait_for(held.decided, pending, held.shown.patience, arrived))
        try:
            await asyncio.wait({over, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if over.done():
                return None
            choice = waiting.result()
        finally:
            over.cancel()
            waiting.cancel()
        if choice is None:
            self.note(f"Exchange {pending.exchange} was let go as it stood: its client would have given up.")
        return choice or HoldRelease()

    def _gone(self, held: HeldRequest) -> None:
        """The client has closed. Kept for a while: it may ask again."""
        self._board.show(held, is_gone=True)

        def forget() -> None:
            if held.shown.is_gone:
                self._board.take(held)

        asyncio.get_running_loop().call_later(GRACE_S, forget)

    async def _done(
        self, held: HeldRequest, pending: PendingRequest, choice: HoldDecision, counted: TokenCount, again: bool
    ) -> Decision:
        call, now = held.call, time.monotonic()
        if isinstance(choice, HoldDrop):
            self._retries.remember(call, "dropped", now)
            pending.released("dropped")
            return dropped(pending)
        if choice.items is None:
            self._retries.remember(call, "as it was", now)
            return self._forward(pending, call, held.items, counted, "cut again" if again else "as it was")
        self._retries.remember(call, "changed", now)
        state = held.state
        if choice.cut is not None:
            del state.cuts[len(state.cuts) - state.lost :]  # what did not fit any more is over
            state.cuts.append(choice.cut)
            state.lost = 0
        counted = await asyncio.to_thread(lambda: self._memory.counts(buffer_of(call, choice.items or ())))
        self._judge.at_mark(call, state, self._memory.predicted(call, state, counted))
        return self._forward(pending, call, choice.items, counted, "changed")

    def _forward(
        self, pending: PendingRequest, call: ModelCall, items: Sequence[Any] | None, counted: TokenCount, how: Any
    ) -> Decision:
        self._memory.forwarded(pending.exchange, call, items, counted)
        try:
            body = body_with(call, items)
        except CannotRewrite as why:
            self.note(f"Exchange {pending.exchange}: {why}")
            body, how = None, how and "as it was"
        if how:
            pending.released(how)
        return Forward(body)
