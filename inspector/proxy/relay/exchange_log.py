"""One exchange on its way: what passed, when, and its records, which keep their order whatever ends first."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from inspector.proxy.gate import Gate, HoldReason, Pairs, ReleaseKind, RequestHead
from inspector.proxy.record.captured_body import CapturedBody
from inspector.proxy.record.recorder import Recorder
from inspector.proxy.record.records import Ended, HeldRecord, ReleasedRecord, RequestRecord, ResponseRecord, SentRecord
from inspector.proxy.relay.addresses import Upstream
from inspector.proxy.relay.http_syntax import BadFraming, BadMessage, Framing
from inspector.proxy.relay.link import TcpLink


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """`numbers` gives each exchange its own."""

    upstream: Upstream
    recorder: Recorder
    gate: Gate
    numbers: Iterator[int]


@dataclass(slots=True)
class ExchangeLog:
    """Made when the head of a request is read; `finish` ends it, once."""

    head: RequestHead
    recorder: Recorder
    gate: Gate
    began: float = field(default_factory=time.time)
    up: CapturedBody = field(init=False)
    down: CapturedBody = field(init=False)
    status: int = 0
    headers: Pairs = ()
    client_gone: bool = False
    is_held: bool = False
    _handed: float = field(default_factory=time.monotonic)
    _first: float = 0.0
    _is_told: bool = False
    _is_over: bool = False
    _sent: bytes | None = None

    def __post_init__(self) -> None:
        self.up, self.down = self.recorder.capture(), self.recorder.capture()

    def request_read(self) -> None:
        """The request is whole, or no more of it will come: it is recorded. Again: nothing."""
        if not self._is_told:
            self._is_told = True
            one = self.head
            self.recorder.put(
                RequestRecord(
                    self.began, one.exchange, one.transport, one.connection, one.method, one.path, one.tag, one.headers,
                    self.up,
                )
            )  # fmt: skip
        self._handed = time.monotonic()

    def handed_on(self) -> None:
        """It goes to the provider now: times are measured from here."""
        self._handed = time.monotonic()

    def sent(self, body: bytes) -> None:
        """Something else goes than what came. Said again, it is not recorded again."""
        if body != self._sent:
            self._sent = body
            self.recorder.put(SentRecord(time.time(), self.head.exchange, self.recorder.capture(body)))

    def held(self, why: HoldReason, tokens: int | None) -> None:
        """It waits."""
        self.is_held = True
        self.recorder.put(HeldRecord(time.time(), self.head.exchange, why, tokens))

    def released(self, how: ReleaseKind) -> None:
        """It waits no longer."""
        self.is_held = False
        self.recorder.put(ReleasedRecord(time.time(), self.head.exchange, how))

    def answered(self, status: int, headers: Pairs) -> None:
        """The head of the answer is here."""
        self.status, self.headers = status, headers
        self._first = time.monotonic()

    def finish(self, ended: Ended, error: str = "", own: bool = False) -> None:
        """It is over. Only the first call counts."""
        if self._is_over:
            return
        self._is_over = True
        self.request_read_late()
        if self.is_held:
            self.released("client gone")
        first = 1000 * max(0.0, self._first - self._handed) if self._first else 0.0
        elapsed = 1000 * max(0.0, time.monotonic() - self._handed)
        self.recorder.put(
            ResponseRecord(
                time.time(), self.head.exchange, self.status, self.headers, first, elapsed, self.down, ended, error,
                own,
            )
        )  # fmt: skip
        self.gate.answered(self.head, self.status, ended)

    def request_read_late(self) -> None:
        """Where the answer was there before the request was whole: what came of it is recorded now."""
        if not self._is_told:
            handed = self._handed
            self.request_read()
            self._handed = handed


class Upload:
    """`read()` until `is_done`, or until it says that the client has gone."""

    def __init__(self, link: TcpLink, framing: Framing, log: ExchangeLog) -> None:
        self._link, self._framing, self._log = link, framing, log
        self._carried: list[bytes] = []
        if framing.done:
            log.request_read()

    @property
    def is_done(self) -> bool:
        """Has all of it been read?"""
        return self._framing.done

    def has_unread(self) -> bool:
        """Is more of it here already?"""
        return not self._framing.done and self._link.has_unread()

    async def read(self) -> bytes:
        """The next bytes as they were sent, chunk marks and all; empty: the client has gone. Raises BadMessage."""
        data = await self._link.read()
        if not data:
            self._log.client_gone = True
            return b""
        try:
            count = self._framing.feed(data, self._take)
        except BadFraming as why:
            raise BadMessage(400, str(why)) from None
        if self._framing.done:
            self._log.request_read()
        if count == len(data):
            return data
        self._link.unread(data[count:])
        return data[:count]

    def _take(self, data: bytes) -> None:
        self._log.up.add(data)
        self._carried.append(data)

    def carried(self) -> bytes:
        """What the bytes read since the last call carry, without chunk marks."""
        data = self._carried[0] if len(self._carried) == 1 else b"".join(self._carried)
        self._carried.clear()
        return data

    def forget(self) -> None:
        """What was carried is not wanted."""
        self._carried.clear()
