"""What one exchange reports to the recorder: its request, the decision about it, and its answer."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from inspector.core.tokens.prediction import Prediction
from inspector.proxy.record.recorder import Recorder
from inspector.proxy.record.records import (
    CapturedBody,
    Ended,
    HoldReason,
    Pairs,
    PlainRecord,
    ReleaseKind,
    RequestHead,
    RequestRecord,
    ResponseRecord,
    SentRecord,
)


@dataclass(slots=True, eq=False)
class ExchangeLog:
    """Collects the record of one exchange. Created when a request's head is read; `finish` ends it and calls
    `answered_by`.
    """

    head: RequestHead
    recorder: Recorder
    answered_by: Callable[[RequestHead, ResponseRecord], None]
    has_frames: bool = False
    up: CapturedBody = field(init=False)
    down: CapturedBody = field(init=False)
    status: int = 0
    headers: Pairs = ()
    client_gone: bool = False
    is_held: bool = False
    is_over: bool = False
    _handed: float = field(default_factory=time.monotonic)
    _first: float = 0.0
    _is_recorded: bool = False
    _sent: bytes | None = None

    def __post_init__(self) -> None:
        self.up, self.down = self.recorder.capture(), self.recorder.capture()

    def request_read(self) -> None:
        """Record the request, which is complete or will get no further bytes. Idempotent."""
        self._record_request()
        self._handed = time.monotonic()

    def _record_request(self) -> None:
        if not self._is_recorded:
            self._is_recorded = True
            self.recorder.put(RequestRecord(self.head, self.up))

    def note_sent(self) -> None:
        """Note that the request goes to the provider now: response times are measured from here."""
        self._handed = time.monotonic()

    def sent(self, body: bytes) -> None:
        """Record a body that is forwarded instead of the original. Repeating the same body records nothing."""
        if body != self._sent:
            self._sent = body
            self.recorder.put(
                SentRecord(time.time(), self.head.exchange, self.recorder.capture(body))
            )

    def held(self, why: HoldReason, size: Prediction | None = None) -> None:
        self.is_held = True
        self.recorder.put(
            PlainRecord.now("held", exchange=self.head.exchange, why=why, **_size_fields(size))
        )

    def released(self, how: ReleaseKind, size: Prediction | None = None) -> None:
        """Record that the request is no longer held. `size` is the prediction for what is forwarded, if it was
        changed.
        """
        self.is_held = False
        self.recorder.put(
            PlainRecord.now("released", exchange=self.head.exchange, how=how, **_size_fields(size))
        )

    def answered(self, status: int, headers: Pairs) -> None:
        """Note the status and headers of the answer."""
        self.status = status
        self.headers = headers
        self.began_to_answer()

    def began_to_answer(self) -> None:
        """Record the time of the first byte of the answer. Idempotent."""
        self._first = self._first or time.monotonic()

    def finish(self, ended: Ended, error: str = "", own: bool = False) -> None:
        """Record the end of the exchange. Only the first call counts."""
        if self.is_over:
            return
        self.is_over = True
        self._record_request()  # the answer may arrive before the request is complete
        if self.is_held:
            self.released("client gone")
        first = 1000 * max(0.0, self._first - self._handed) if self._first else 0.0
        elapsed = 1000 * max(0.0, time.monotonic() - self._handed)
        record = ResponseRecord(
            time.time(),
            self.head.exchange,
            self.status,
            self.headers,
            first,
            elapsed,
            body=self.down,
            ended=ended,
            error=error,
            own=own,
            has_frames=self.has_frames,
        )
        self.answered_by(self.head, record)  # before recording, because the recorder frees the body
        self.recorder.put(record)


def _size_fields(size: Prediction | None) -> dict[str, Any]:
    return {} if size is None else {"tokens": size.tokens, "band": size.band}
