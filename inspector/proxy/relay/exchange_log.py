"""One exchange on its way: what passed, when, and its records. Records keep their order whatever ends first."""

import time
from dataclasses import dataclass, field

from inspector.proxy.gate import Asking, Gate, How, Pairs, Why
from inspector.proxy.record.captured_body import Tape
from inspector.proxy.record.recorder import Recorder
from inspector.proxy.record.records import Ended, HeldSeen, ReleasedSeen, RequestSeen, ResponseSeen, SentSeen


@dataclass(slots=True)
class Passage:
    """Made when the head of a request is read; `finish` ends it, once."""

    asking: Asking
    recorder: Recorder
    gate: Gate
    began: float = field(default_factory=time.time)
    up: Tape = field(init=False)
    down: Tape = field(init=False)
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
        self.up, self.down = self.recorder.tape(), self.recorder.tape()

    def request_read(self) -> None:
        """The request is whole, or no more of it will come: it is recorded. Again: nothing."""
        if not self._is_told:
            self._is_told = True
            one = self.asking
            self.recorder.put(
                RequestSeen(
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
            self.recorder.put(SentSeen(time.time(), self.asking.exchange, self.recorder.tape(body)))

    def held(self, why: Why, tokens: int | None) -> None:
        """It waits."""
        self.is_held = True
        self.recorder.put(HeldSeen(time.time(), self.asking.exchange, why, tokens))

    def released(self, how: How) -> None:
        """It waits no longer."""
        self.is_held = False
        self.recorder.put(ReleasedSeen(time.time(), self.asking.exchange, how))

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
            ResponseSeen(
                time.time(), self.asking.exchange, self.status, self.headers, first, elapsed, self.down, ended, error,
                own,
            )
        )  # fmt: skip
        self.gate.answered(self.asking, self.status, ended)

    def request_read_late(self) -> None:
        """Where the answer was there before the request was whole: what came of it is recorded now."""
        if not self._is_told:
            handed = self._handed
            self.request_read()
            self._handed = handed
