"""Faults on demand: what the server does wrong, and with which request.

A request brings its fault along (header, query, ending of the model's name), or takes the next one of the queue.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from inspector.core.errors import InspectorError
from inspector.core.untyped import digits_of

HEADER, QUERY, SUFFIX = "x-simulate-fault", "fault", "!"
"""`x-simulate-fault: 429`, `?fault=429`, `"model": "some-model!429"`."""

STATUSES = (400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504, 529)
KINDS: Mapping[str, str] = {
    "ok": "no fault: lets one request through",
    "stall": "nothing comes, not even headers; `stall:2` goes on after 2 seconds",
    "hang": "the stream begins and falls silent; `hang:5` after 5 events",
    "drip": "the stream never ends: a sign of life every 0.1 seconds",
    "cut": "the connection breaks; `cut:5` after 5 events",
    "end": "the stream ends in good order, but before the answer does; `end:5` after 5 events",
    "error-event": "an error in mid-stream; `error-event:5` after 5 events",
    "empty": "an answer without content",
    "overflow": "the prompt is too long, as an error",
    "overflow-late": "the prompt is too long, reported in a stream that began well",
    "overflow-output": "prompt and max_tokens together are too long (Anthropic's second wording)",
    "no-key": "the key is refused, and repeated in the error",
    "garbage": "200, and then no JSON",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """`kind` is a name of KINDS or a status; `number` what stood after the colon (seconds or events)."""

    kind: str
    number: float | None = None

    @property
    def status(self) -> int | None:
        """The HTTP status, for a fault that is one. `429:7` says retry-after 7."""
        return digits_of(self.kind)

    def events(self, usual: int) -> int:
        """After how many events of a stream it strikes."""
        return usual if self.number is None else int(self.number)


NONE = Fault("ok")


def read_faults(text: str) -> list[Fault]:
    """`KIND[:NUMBER][*TIMES]`, for example `429:7*2`, or several with commas. Raises InspectorError."""
    return [fault for one in text.split(",") if one.strip() for fault in _read(one.strip())]


def _read(text: str) -> list[Fault]:
    body, _, times = text.partition("*")
    kind, _, number = body.partition(":")
    known = kind in KINDS or digits_of(kind) in STATUSES
    try:
        value = float(number) if number else None
        repeat = int(times) if times else 1
    except ValueError:
        known, value, repeat = False, None, 0
    if not known or not 0 <= repeat <= 10_000 or (value is not None and not 0 <= value < 1e6):
        names = ", ".join((*KINDS, *map(str, STATUSES)))
        raise InspectorError(f"There is no fault {text!r}. KIND[:NUMBER][*TIMES], with KIND one of {names}.")
    return [Fault(kind, value)] * repeat


class FaultQueue:
    """Faults of the next requests, one each, in order. May be filled from any thread."""

    def __init__(self) -> None:
        self._faults: deque[Fault] = deque()
        self._lock = Lock()

    def push(self, text: str) -> None:
        """Put faults after those that wait. Raises InspectorError."""
        found = read_faults(text)
        with self._lock:
            self._faults.extend(found)

    def next(self) -> Fault:
        """The fault of this request; NONE where nobody wants one."""
        with self._lock:
            return self._faults.popleft() if self._faults else NONE

    def clear(self) -> None:
        """From here on all is well."""
        with self._lock:
            self._faults.clear()


def split_model(model: str) -> tuple[str, str]:
    """The model's name and the fault that was written after it."""
    name, _, fault = model.partition(SUFFIX)
    return name, fault
