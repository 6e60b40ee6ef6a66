"""The gate of a proxy that intervenes: it holds requests, changes or drops them, and repeats cuts on later requests.

Only what the user or the user's rule changed is changed; everything else is forwarded byte for byte. The gate runs on
the proxy's loop; the intents (`release`, `drop`, `hold_next`, `set_rule`) may be called from any thread.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.cuts import cut_of, recut
from inspector.core.dialects.recipe import Ref, carry_out
from inspector.core.dialects.rewrite import CannotRewrite, plan_recipes, with_items, with_whole
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.tokens.prediction import Prediction
from inspector.core.untyped import digits_of
from inspector.proxy.clients import EVERY_S, find_patience, ping_of
from inspector.proxy.gate import Decision, Forward, Gate, PendingRequest, Refuse
from inspector.proxy.holds.call import ModelCall, buffer_of, is_call, read
from inspector.proxy.holds.hold import (
    HeldRequest,
    HoldDecision,
    HoldDrop,
    HoldInfo,
    HoldListener,
    HoldRelease,
    Rule,
)
from inspector.proxy.holds.memory import ConversationState, GateRequest, Memory
from inspector.proxy.record.records import HoldReason, RequestHead, ResponseRecord, iso
from inspector.proxy.relay.refusals import error_body, late_error

STREAM = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))
DROPPED = "Dropped at the Context Inspector proxy by the person who watches it. Nothing was sent to the provider."
GRACE_S = 120.0
"""Seconds for which a held request whose client has closed waits for the client to try again."""


_NOT_SEEN = "It continues a response that did not pass through this proxy."
"""Reason why a request cannot be changed."""


class Holds(Gate):
    """A gate for `ProxyServer` that holds requests. `models`: the user's own table of windows."""

    def __init__(self, rule: Rule | None = None, models: Mapping[str, int] | None = None) -> None:
        self.note: Callable[[str], None] = lambda what: None
        """Takes sentences for the recording: the recorder's `note`."""
        self.rule = rule or Rule()
        self.is_next = False
        """True if the next request is held regardless of the rule."""
        self._models = models or {}
        self._unknown = set[str]()
        """Models whose unknown window has been reported."""
        self._memory = Memory()
        self._in_use = self.rule.kind != "off"
        self._held: dict[int, HeldRequest] = {}
        """Held requests by id. Changed only on the proxy's loop; other threads take a copy."""
        self._listeners: list[HoldListener] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- intents, from any thread --------------------------------------------------------------------------------------

    def list(self) -> tuple[HoldInfo, ...]:
        """Return all requests that wait for a decision, oldest first.

        A request that was decided after its client closed is kept for a retry, but not listed.
        """
        held = tuple(self._held.values())
        return tuple(
            hold.shown for hold in held if not (hold.shown.is_gone and hold.decided.done())
        )

    def buffer(self, id: int) -> Buffer:  # noqa: A002
        """Return what the model would read of a held request. Raises InspectorError if it is no longer held."""
        return self._find(id).request.buffer

    def predicted(self, id: int, buffer: Buffer) -> int:  # noqa: A002
        """Return the tokens that the provider would report for a held request with `buffer` in it.

        Raises InspectorError if it is no longer held.
        """
        request = self._find(id).request
        counted = self._memory.counts(replace(buffer, prompt=request.buffer.prompt))
        prediction = self._memory.predicted(request.call, request.state, counted)
        return counted.tokens if prediction is None else prediction.tokens

    def subscribe(self, listener: HoldListener) -> Callable[[], None]:
        """Call `listener` at every change, mostly on the proxy's thread. Return a function that unsubscribes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def set_rule(self, rule: Rule) -> None:
        """Use another rule from now on. Requests that are already held stay held."""
        self.rule = rule
        self._in_use = self._in_use or rule.kind != "off"
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._measure_windows)
        self._notify_listeners()

    def _measure_windows(self) -> None:
        """Look up the windows again, and show them on the held requests."""
        for held in self._held.values():
            window = self._window(held.request.call, held.request.state)
            held.shown = replace(held.shown, window=window)
        self._notify_listeners()

    def hold_next(self, is_on: bool = True) -> None:
        """Hold the next request, regardless of the rule."""
        self.is_next = is_on
        self._in_use = self._in_use or is_on
        self._notify_listeners()

    def release(
        self,
        id: int,  # noqa: A002
        buffer: Buffer | None = None,
        original: Buffer | None = None,
    ) -> None:
        """Forward a held request unchanged, or with `buffer` in it.

        Args:
            id: Id of the hold.
            buffer: The new buffer; None forwards the request unchanged.
            original: The buffer that `buffer` was made from; None means the result of `buffer(id)`.

        Raises:
            InspectorError: The request is no longer held, or cannot be sent like that.
        """
        held = self._find(id)
        self._decide(
            held, HoldRelease() if buffer is None else _changed_release(held, original, buffer)
        )

    def forward_all(self) -> None:
        """Forward all held requests unchanged, and hold no further ones."""
        self.rule = Rule()
        self.is_next = False
        for held in tuple(self._held.values()):
            self._decide(held, HoldRelease())

    def drop(self, id: int) -> None:  # noqa: A002
        """Answer a held request with an error. Raises InspectorError if it is no longer held."""
        self._decide(self._find(id), HoldDrop())

    def _find(self, id: int) -> HeldRequest:  # noqa: A002
        held = self._held.get(id)
        if held is None:
            raise InspectorError("That request is no longer held.")
        return held

    def _notify_listeners(self) -> None:
        infos = self.list()
        for listener in tuple(self._listeners):
            listener(infos)

    def _decide(self, held: HeldRequest, choice: HoldDecision) -> None:
        def settle() -> None:
            if not held.decided.done():
                held.decided.set_result(choice)
                self._notify_listeners()

        if self._loop is not None:
            self._loop.call_soon_threadsafe(settle)

    # -- the gate, on the proxy's loop ---------------------------------------------------------------------------------

    def wants(self, head: RequestHead) -> bool:
        """Must the body of this request be read? True for model calls once a rule for holding has been switched on.

        Turns on a WebSocket are always read, because a held turn needs the conversation that it continues. Also
        remembers the event loop.
        """
        self._loop = self._loop or asyncio.get_running_loop()
        read = head.transport == "websocket" or (self._in_use and head.method == "POST")
        return read and is_call("POST", head.path)

    def answered(self, head: RequestHead, answer: ResponseRecord) -> None:
        self._memory.answered(answer)

    async def admit(self, pending: PendingRequest) -> Decision:
        """Repeat the cuts of the request's conversation, and hold the request if the rule says so."""
        arrived = asyncio.get_running_loop().time()
        request = await self._read(pending)
        if request is None:
            return Forward()
        call = request.call
        state = request.state
        if (held := self._same_turn(call)) is not None:
            self._take_over(held, request)
            return await self._hold(held, arrived)
        decided = state.decided(call.digest, time.monotonic())
        if decided == "dropped":
            return _drop_response(pending)
        size = self._memory.predicted(call, state, request.counted)
        why = self._why(call, state, size, is_known=decided is not None)
        if why is None:
            return self._forward(request, "cut again" if request.is_recut else "")
        return await self._hold(
            HeldRequest(self._describe_hold(request, why, size), request), arrived
        )

    async def _read(self, pending: PendingRequest) -> GateRequest | None:
        await self._memory.settled()
        call = read(pending, self._memory.chains)
        if call is None:
            return None
        call = self._memory.assign_thread(call, pending.head.connection)
        state = self._memory.state(call.thread)
        items, is_recut = self._repeat_cuts(call, state)
        buffer = await asyncio.to_thread(buffer_of, call, call.own if items is None else items)
        counted = await asyncio.to_thread(self._memory.counts, buffer)
        return GateRequest(pending, call, state, items, is_recut, buffer, counted)

    def _repeat_cuts(
        self, call: ModelCall, state: ConversationState
    ) -> tuple[Sequence[Any] | None, bool]:
        """Return the items with earlier cuts repeated, and whether a cut was made."""
        if call.items is None or not state.cuts:
            return call.items, False
        done = recut(state.cuts, call.items)
        if done.left > state.lost and not call.side:
            which = "the cut" if len(state.cuts) == 1 else f"{done.left} of {len(state.cuts)} cuts"
            self.note(
                f"{call.key.client or 'The client'} no longer sends the conversation that was cut (it "
                f"compacted on its own, or went back): {which} cannot be repeated."
            )
        if not call.side:
            state.lost = done.left
        return (done.items, True) if done.made else (call.items, False)

    def _why(
        self, call: ModelCall, state: ConversationState, size: Prediction | None, *, is_known: bool
    ) -> HoldReason | None:
        """Return why a call is to be held; None if it is not. `is_known`: it is a retry of a request that was
        forwarded.
        """
        if call.side:
            return None
        at_mark = self._at_mark(call, state, size)
        if self.is_next:
            self.is_next = False
            return "by hand"
        if is_known:
            return None
        if self.rule.kind == "each":
            return "each"
        return "watermark" if self.rule.kind == "watermark" and at_mark else None

    def _at_mark(self, call: ModelCall, state: ConversationState, size: Prediction | None) -> bool:
        """Must a request of this size be held for its watermark? Also notes how far the conversation got.

        An unknown window is reported once for each model.
        """
        rule = self.rule
        window = self._window(call, state)
        if window is None:
            if rule.kind == "watermark" and call.model not in self._unknown:
                self._unknown.add(call.model)
                self.note(
                    f"The window of {call.model} is unknown, so its requests are not held at a watermark. "
                    "Set the window to hold them."
                )
            return False
        if size is None:
            return False
        reached = state.reached(size.tokens, [mark * window for mark in rule.marks])
        return reached or size.tokens >= (rule.ratio if rule.always else rule.full) * window

    def _window(self, call: ModelCall, state: ConversationState) -> int | None:
        return state.window(call.model, call.headers, self.rule.window, self._models).tokens

    def _describe_hold(
        self, request: GateRequest, why: HoldReason, size: Prediction | None
    ) -> HoldInfo:
        """Return the description of a request that begins to wait."""
        pending = request.pending
        call = request.call
        state = request.state
        client = call.key.client if call.key.strong else pending.client or call.key.client
        limits = find_patience(
            client,
            call.dialect,
            call.headers,
            streams=call.streams,
            transport=pending.head.transport,
        )
        continues = state.learned.begins_with_last(request.counted)
        info = HoldInfo(
            id=pending.exchange,
            exchange=pending.exchange,
            time=iso(pending.head.time),
            why=why,
            client=client,
            session=call.key.session,
            tag=pending.tag,
            model=call.model,
            size=size,
            window=self._window(call, state),
            messages=len(request.buffer.messages),
            until=time.time() + limits.limit_s,
            patience=limits,
        )
        usage = state.usage if continues else None
        cannot = "" if request.items is not None else _NOT_SEEN
        return replace(info, thread=call.thread, usage=usage, cannot=cannot)

    def _same_turn(self, call: ModelCall) -> HeldRequest | None:
        """Return the held request of which this call is a retry with the same messages; None if there is none.

        It counts as a retry if the client has closed, names its session, or says that it is retrying. Otherwise, two
        agents may have been given the same task.
        """
        is_again = call.key.strong or bool(
            digits_of(call.headers.get("x-stainless-retry-count", ""))
        )
        for request in self._held.values():
            held = request.request.call
            if (held.thread, held.digest) == (call.thread, call.digest) and (
                is_again or request.shown.is_gone
            ):
                return request
        return None

    def _take_over(self, held: HeldRequest, request: GateRequest) -> None:
        """Replace the old connection of a held request by the client's new one. Decisions are kept."""
        held.left.set_result(None)
        held.left = asyncio.get_running_loop().create_future()
        held.request = request
        until = time.time() + held.shown.patience.limit_s
        retries = held.shown.retries + 1
        held.shown = replace(
            held.shown, is_gone=False, is_begun=False, retries=retries, until=until
        )
        held.shown = replace(
            held.shown, exchange=request.pending.exchange, time=iso(request.pending.head.time)
        )

    async def _hold(self, held: HeldRequest, arrived: float) -> Decision:
        request = held.request
        left = held.left
        pending = request.pending
        if request.is_recut and (body := _body_with(request.call, request.items)) is not None:
            pending.log.sent(body)
        pending.log.held(held.shown.why, held.shown.size)
        self._held[held.shown.id] = held
        self._notify_listeners()
        try:
            choice = await self._choice(held, pending, left, arrived)
        except asyncio.CancelledError:
            if held.left is left:
                self._mark_gone(held)
            raise
        if choice is None:
            return _drop_response(pending)
        self._take(held)
        return await self._carry_out(request, choice)

    async def _choice(
        self,
        held: HeldRequest,
        pending: PendingRequest,
        left: "asyncio.Future[None]",
        arrived: float,
    ) -> HoldDecision | None:
        """Return the decision about a held request; forward it unchanged when the client's patience ends.

        None if another connection has taken over. Cancelled when the client closes. `arrived` is the loop's time at
        which the request arrived.
        """
        loop = asyncio.get_running_loop()
        bears = held.shown.patience
        while not (held.decided.done() or left.done()):
            now = loop.time() - arrived
            rest = bears.limit_s - now
            if rest <= 0:
                self.note(
                    f"Exchange {pending.exchange} was forwarded unchanged: its client would have given up."
                )
                return HoldRelease()
            if bears.begin_s is None:
                pause = rest
            elif now < bears.begin_s:
                pause = bears.begin_s - now
            else:
                pause = EVERY_S
                await pending.early(status=200, headers=STREAM)
                if not held.shown.is_begun:
                    held.shown = replace(held.shown, is_begun=True)
                    self._notify_listeners()
                await pending.send(ping_of(bears.ping))
            await asyncio.wait(
                (held.decided, left), timeout=min(pause, rest), return_when=asyncio.FIRST_COMPLETED
            )
        return None if left.done() else held.decided.result()

    def _mark_gone(self, held: HeldRequest) -> None:
        """Mark a held request whose client has closed. It is kept for a while, because the client may try again."""
        held.shown = replace(held.shown, is_gone=True)
        self._notify_listeners()

        def forget() -> None:
            if held.shown.is_gone:
                self._take(held)

        asyncio.get_running_loop().call_later(GRACE_S, forget)

    def _take(self, held: HeldRequest) -> None:
        self._held.pop(held.shown.id, None)
        self._notify_listeners()

    async def _carry_out(self, request: GateRequest, choice: HoldDecision) -> Decision:
        call = request.call
        state = request.state
        now = time.monotonic()
        if isinstance(choice, HoldDrop):
            state.decide(call.digest, "dropped", now)
            request.pending.log.released("dropped")
            return _drop_response(request.pending)
        if choice.items is None:
            state.decide(call.digest, "as it was", now)
            return self._forward(request, "cut again" if request.is_recut else "as it was")
        state.decide(call.digest, "changed", now)
        if choice.cut is not None:
            del state.cuts[len(state.cuts) - state.lost :]  # cuts that no longer fit are dropped
            state.cuts.append(choice.cut)
            state.lost = 0
        counted = await asyncio.to_thread(
            lambda: self._memory.counts(buffer_of(call, choice.items or ()))
        )
        promised = self._memory.predicted(call, state, counted)
        self._at_mark(call, state, promised)
        return self._forward(
            replace(request, items=choice.items, counted=counted), "changed", promised
        )

    def _forward(
        self, request: GateRequest, how: Any, promised: Prediction | None = None
    ) -> Decision:
        self._memory.forwarded(request)
        try:
            body = _body_with(request.call, request.items)
        except CannotRewrite as why:
            self.note(f"Exchange {request.pending.exchange}: {why}")
            body = None
            if how:
                how = "as it was"
        if how:
            request.pending.log.released(how, promised if how == "changed" else None)
        return Forward(body)


def _body_with(call: ModelCall, items: Sequence[Any] | None) -> bytes | None:
    """Return a body that makes the model read `items`; None if the original body already does. Raises CannotRewrite."""
    received_items = [*(call.held or ()), *call.own]
    if items is None or list(items) == received_items:
        return None
    if call.goes_on:
        body = with_whole(call.body, call.held, items)
    else:
        body = with_items(call.dialect, call.body, items)
    return dumps(body).encode()


def _drop_response(pending: PendingRequest) -> Refuse:
    """Return the answer to a dropped request: an error that says so, of a kind that clients do not retry."""
    status = 400
    body = error_body(pending.path, status, DROPPED)
    if pending.begun:
        body = late_error(pending.path, status, body)
    return Refuse(status, body, (("content-type", "application/json"), ("x-should-retry", "false")))


def _changed_release(held: HeldRequest, original: Buffer | None, buffer: Buffer) -> HoldRelease:
    """Return the decision to forward a held request with another buffer. Raises CannotRewrite."""
    call = held.request.call
    items = held.request.items
    if items is None:
        raise CannotRewrite(held.shown.cannot)
    if not buffer.messages:
        raise CannotRewrite("An empty buffer cannot be sent: every provider refuses it.")
    recipes = plan_recipes(
        call.dialect,
        items,
        original=(original or held.request.buffer).messages,
        new=buffer.messages,
    )
    unchanged = tuple(Ref((index,)) for index in range(len(items)))
    if recipes == unchanged:
        return HoldRelease()
    cuts = [carry_out(recipe, items) for recipe in recipes]
    _body_with(call, cuts)  # raises if the result cannot be sent
    return HoldRelease(cuts, cut_of(call.dialect, items, recipes))
