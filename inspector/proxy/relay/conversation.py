"""What passes on a WebSocket, as exchanges: a `response.create` and the messages up to the one that ends its answer.

Whatever belongs to no exchange is recorded as a frame by itself.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from inspector.core.jsontext import NotJson, loads
from inspector.proxy.gate import Asking, Gate, Pairs
from inspector.proxy.record.captured_body import Tape
from inspector.proxy.record.recorder import Recorder
from inspector.proxy.record.records import Ended, FrameSeen, FramesSeen, Side
from inspector.proxy.record.streams import is_terminal
from inspector.proxy.relay.exchange_log import Passage

_ENDS = (b"response.completed", b"response.failed", b"response.incomplete", b"response.done", b'"error"')
"""One of these stands in every message that ends an answer."""


@dataclass(slots=True)
class Turn:
    """One exchange that is under way."""

    passage: Passage
    tape: Tape
    handed: float = field(default_factory=time.monotonic)
    first: float = 0.0


class Conversation:
    """`asking` is the handshake's; every exchange gets a number of its own."""

    def __init__(self, asking: Asking, headers: Pairs, recorder: Recorder, gate: Gate, number: Callable[[], int]):
        self._asking = replace(asking, transport="websocket")
        self._headers, self._recorder, self._gate, self._number = headers, recorder, gate, number
        self._turns: deque[Turn] = deque()

    @property
    def asking(self) -> Asking:
        """Of the next exchange, but for its number."""
        return self._asking

    def begins(self, data: bytes) -> bool:
        """Does this message of the client ask for an answer?"""
        return b"response.create" in data[:4096] + data[-4096:] and _kind(data) == "response.create"

    def asked(self, data: bytes) -> Turn:
        """The client asks: an exchange begins."""
        asking = replace(self._asking, exchange=self._number())
        passage = Passage(asking, self._recorder, self._gate)
        passage.up.add(data)
        passage.request_read()
        turn = Turn(passage, self._recorder.tape())
        self._turns.append(turn)
        return turn

    def said(self, data: bytes) -> None:
        """The client says something else."""
        self._put_frame("client", data)

    def answered(self, data: bytes) -> None:
        """The provider says something: to the exchange that waits longest."""
        if not self._turns:
            self._put_frame("upstream", data)
            return
        turn = self._turns[0]
        turn.first = turn.first or time.monotonic()
        turn.tape.add(data)
        if any(word in data for word in _ENDS) and _ends(data):
            self.end(turn, "complete")

    def end(self, turn: Turn, ended: Ended, error: str = "", status: int = 101) -> None:
        """The exchange is over."""
        if turn not in self._turns:
            return
        self._turns.remove(turn)
        now = time.monotonic()
        first = 1000 * (turn.first - turn.handed) if turn.first else 0.0
        exchange = turn.passage.asking.exchange
        elapsed = 1000 * (now - turn.handed)
        self._recorder.put(
            FramesSeen(time.time(), exchange, status, self._headers, first, elapsed, turn.tape, ended, error)
        )
        self._gate.answered(turn.passage.asking, status, ended)

    def close(self, ended: Ended) -> None:
        """The connection is over, and with it what was under way."""
        for turn in tuple(self._turns):
            self.end(turn, ended)

    def _put_frame(self, side: Side, data: bytes) -> None:
        tape = self._recorder.tape()
        tape.add(data)
        under_way = self._turns[0].passage.asking.exchange if self._turns else None
        self._recorder.put(FrameSeen(time.time(), self._asking.connection, under_way, side, tape))


def _kind(data: bytes) -> str:
    try:
        message = loads(data)
    except NotJson:
        return ""
    return str(message.get("type", "")) if isinstance(message, dict) else ""


def _ends(data: bytes) -> bool:
    try:
        return is_terminal(loads(data))
    except NotJson:
        return False
