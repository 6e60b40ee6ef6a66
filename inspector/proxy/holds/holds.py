"""The gate of a proxy that intervenes: requests are held, looked at, changed, dropped; cuts are made again.

Everything that passes is changed only where a person (or a rule they chose) changed it: all else goes on byte for byte.
The gate lives on the proxy's loop; the intents (`release`, `drop`, `hold_next`, `set_rule`) come from any thread.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.rewrite import CannotRewrite
from inspector.proxy.gate import Asked, Asking, Decision, Forward
from inspector.proxy.holds.forwarding import body_with, changed, dropped, new_hold, own_items
from inspector.proxy.holds.hold import Choice, Go, Held, Hold, Out, Rule
from inspector.proxy.holds.judging import Judge
from inspector.proxy.holds.memory import Memory
from inspector.proxy.holds.predicting import Counted
from inspector.proxy.holds.reading import Reading, buffer_of, is_call, read
from inspector.proxy.holds.registry import Board, Told
from inspector.proxy.holds.retries import Retries
from inspector.proxy.holds.waiting import wait_for

GRACE_S = 120.0
"""Seconds that a hold whose client has closed waits for the client to ask again."""


class Holds:
    """Give it to a `ProxyServer` as its gate. `models`: the user's own table of windows."""

    hears = True

    def __init__(self, rule: Rule | None = None, models: Mapping[str, int] | None = None) -> None:
        self.note: Callable[[str], None] = lambda what: None
        """Where sentences for the recording go: the recorder's `note`."""
        self._judge = Judge(rule or Rule(), models or {}, lambda what: self.note(what))
        self._memory = Memory()
        self._retries = Retries()
        self._in_use = self._judge.rule.kind != "off"
        self._board = Board()
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- intents, from any thread --------------------------------------------------------------------------------------

    @property
    def rule(self) -> Rule:
        """When requests are held."""
        return self._judge.rule

    @property
    def is_next(self) -> bool:
        """Will the next request be held, whatever the rule says?"""
        return self._judge.is_next

    def list(self) -> tuple[Hold, ...]:
        """All that wait, oldest first."""
        return self._board.list()

    def buffer(self, id: int) -> Buffer:  # noqa: A002
        """What the model would read of a held request. Raises InspectorError where it is held no longer."""
        return self._board.find(id).buffer

    def predicted(self, id: int, buffer: Buffer) -> int:  # noqa: A002
        """Tokens that its provider would report for the held request with `buffer` in it. Raises InspectorError where
        it is held no longer."""
        held = self._board.find(id)
        counted = self._memory.counts(replace(buffer, prompt=held.buffer.prompt))
        found = self._memory.predicted(held.reading, held.standing, counted)
        return counted.tokens if found is None else found.tokens

    def subscribe(self, told: Told) -> Callable[[], None]:
        """Be told of every change, mostly on the proxy's thread. Returns what ends it."""
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
        self._decide(held, Go() if buffer is None else changed(held, original or held.buffer, buffer))

    def drop(self, id: int) -> None:  # noqa: A002
        """Answer it with an error. Raises InspectorError where it is held no longer."""
        self._decide(self._board.find(id), Out())

    def _decide(self, held: Held, choice: Choice) -> None:
        def settle() -> None:
            if not held.decided.done():
                held.decided.set_result(choice)
                self._board.tell()

        if self._loop is not None:
            self._loop.call_soon_threadsafe(settle)

    # -- the gate, on the proxy's loop ---------------------------------------------------------------------------------

    def wants(self, asking: Asking) -> bool:
        """Calls of a model, once anything was to be held: before that all streams through as if nobody stood here.

        Turns on a WebSocket are always read: what they go on from must be known when one of them is held.
        """
        self._loop = self._loop or asyncio.get_running_loop()
        read = asking.transport == "websocket" or (self._in_use and asking.method == "POST")
        return read and is_call("POST", asking.path)

    def answered(self, asking: Asking, status: int, ended: str) -> None:
        """Its answer will be heard of."""
        self._memory.expect(asking.exchange)

    def heard(self, line: Mapping[str, Any]) -> None:
        """A line of the recording: what a call cost, and what it leads to. In the recorder's thread."""
        loop = self._loop
        kind = line.get("type")
        if loop is not None and not loop.is_closed() and kind in ("response", "request"):
            found = self._memory.read(line) if kind == "response" else None
            try:
                loop.call_soon_threadsafe(self._heard, line, found)
            except RuntimeError:  # the proxy has ended
                return

    def _heard(self, line: Mapping[str, Any], found: Any) -> None:
        number = line.get("exchange")
        if found is not None or line.get("type") == "response":
            self._memory.settle(number, found)
            return
        if isinstance(number, int):
            self._memory.came(number, str(line.get("time", "")))
        if (held := self._board.of_exchange(number)) is not None:
            self._board.show(held, time=str(line.get("time", "")))

    async def admit(self, asked: Asked) -> Decision:
        """Make the cuts of its conversation again; hold it where that is wanted."""
        arrived = asyncio.get_running_loop().time()
        await self._memory.settled()
        reading = read(asked, self._memory.chains)
        if reading is None:
            return Forward()
        reading = self._memory.told_apart(reading, asked.asking.connection)
        standing = self._memory.standing(reading.thread)
        items, again = self._judge.recut(reading, standing)
        buffer = await asyncio.to_thread(buffer_of, reading, items if items is not None else own_items(reading))
        counted = await asyncio.to_thread(self._memory.counts, buffer)
        known = self._board.same_turn(reading)
        if known is not None:
            return await self._hold(self._taken_over(known, asked, reading), arrived, counted, again)
        decided = self._retries.find(reading, time.monotonic())
        if decided == "dropped":
            return dropped(asked)
        size = self._memory.predicted(reading, standing, counted)
        why = self._judge.why(reading, standing, size, is_known=decided is not None)
        if why is None:
            return self._forward(asked, reading, items, counted, "cut again" if again else "")
        sizes = size, self._judge.window(reading, standing), len(buffer.messages)
        when = self._memory.times.get(asked.exchange, "")
        before = standing.usage if standing.learned.goes_on_in(counted) else None
        shown = new_hold(asked, reading, why, when, sizes, before, items is not None)
        decision = asyncio.get_running_loop().create_future()
        held = Held(shown, reading, items, buffer, asked, standing, decision)
        return await self._hold(held, arrived, counted, again)

    def _taken_over(self, held: Held, asked: Asked, reading: Reading) -> Held:
        """The client asks again: its new connection waits instead of the old one, what was done is kept."""
        held.left.set()
        held.left, held.asked, held.reading = asyncio.Event(), asked, reading
        bears = held.shown.patience
        self._board.show(
            held, exchange=asked.exchange, time=self._memory.times.get(asked.exchange, ""), is_gone=False,
            is_begun=False, retries=held.shown.retries + 1, until=time.time() + bears.limit_s,
        )  # fmt: skip
        return held

    async def _hold(self, held: Held, arrived: float, counted: Counted, again: bool) -> Decision:
        asked, left = held.asked, held.left
        if again and (body := body_with(held.reading, held.items)) is not None:
            asked.sends(body)
        asked.held(held.shown.why, held.shown.tokens)
        self._board.put(held)
        try:
            choice = await self._choice(held, asked, left, arrived)
        except asyncio.CancelledError:
            if held.left is left:
                self._gone(held)
            raise
        if choice is None:
            return dropped(asked)
        self._board.take(held)
        return await self._done(held, asked, choice, counted, again)

    async def _choice(self, held: Held, asked: Asked, left: asyncio.Event, arrived: float) -> Choice | None:
        """What was decided; as it stands where the client's patience ends. None: another connection has taken over."""
        over = asyncio.ensure_future(left.wait())
        waiting = asyncio.ensure_future(wait_for(held.decided, asked, held.shown.patience, arrived))
        try:
            await asyncio.wait({over, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if over.done():
                return None
            choice = waiting.result()
        finally:
            over.cancel()
            waiting.cancel()
        if choice is None:
            self.note(f"Exchange {asked.exchange} was let go as it stood: its client would have given up.")
        return choice or Go()

    def _gone(self, held: Held) -> None:
        """The client has closed. Kept for a while: it may ask again."""
        self._board.show(held, is_gone=True)

        def forget() -> None:
            if held.shown.is_gone:
                self._board.take(held)

        asyncio.get_running_loop().call_later(GRACE_S, forget)

    async def _done(self, held: Held, asked: Asked, choice: Choice, counted: Counted, again: bool) -> Decision:
        reading, now = held.reading, time.monotonic()
        if isinstance(choice, Out):
            self._retries.remember(reading, "dropped", now)
            asked.released("dropped")
            return dropped(asked)
        if choice.items is None:
            self._retries.remember(reading, "as it was", now)
            return self._forward(asked, reading, held.items, counted, "cut again" if again else "as it was")
        self._retries.remember(reading, "changed", now)
        standing = held.standing
        if choice.cut is not None:
            del standing.cuts[len(standing.cuts) - standing.lost :]  # what did not fit any more is behind us
            standing.cuts.append(choice.cut)
            standing.lost = 0
        counted = await asyncio.to_thread(lambda: self._memory.counts(buffer_of(reading, choice.items or ())))
        self._judge.at_mark(reading, standing, self._memory.predicted(reading, standing, counted))
        return self._forward(asked, reading, choice.items, counted, "changed")

    def _forward(
        self, asked: Asked, reading: Reading, items: Sequence[Any] | None, counted: Counted, how: Any
    ) -> Decision:
        self._memory.forwarded(asked.exchange, reading, items, counted)
        try:
            body = body_with(reading, items)
        except CannotRewrite as why:
            self.note(f"Exchange {asked.exchange}: {why}")
            body, how = None, how and "as it was"
        if how:
            asked.released(how)
        return Forward(body)
