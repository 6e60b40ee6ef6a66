"""Held requests: as others see them, as the gate keeps them, all that wait; and turns that are asked for again.

The proxy's loop changes them, any thread reads them.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from threading import RLock
from typing import Any, Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.cuts import BufferCut
from inspector.core.errors import InspectorError
from inspector.core.tokens.prediction import Prediction
from inspector.core.untyped import digits_of
from inspector.core.usage import Usage
from inspector.proxy.clients import Patience
from inspector.proxy.gate import PendingRequest
from inspector.proxy.holds.call import ModelCall, ThreadKey
from inspector.proxy.holds.memory import ConversationState, keep
from inspector.proxy.record.records import HoldReason

HoldOutcome: TypeAlias = Literal["as it was", "changed", "dropped"]
_KEPT = 64
DROPPED_S = 60.0
"""Seconds in which a dropped request that is made again is dropped again."""


class Retries:
    """What was decided lately, by conversation and words. Times in seconds of one clock."""

    def __init__(self) -> None:
        self._decided: OrderedDict[tuple[ThreadKey, str], tuple[HoldOutcome, float]] = OrderedDict()

    def remember(self, call: ModelCall, decided: HoldOutcome, now: float) -> None:
        keep(self._decided, (call.thread, call.digest), (decided, now), _KEPT)

    def find(self, call: ModelCall, now: float) -> HoldOutcome | None:
        """What was decided about the same words; None where they are new."""
        found = self._decided.get((call.thread, call.digest))
        if found is None or (found[0] == "dropped" and now - found[1] > DROPPED_S):
            return None
        return found[0]


def is_retry(call: ModelCall, is_gone: bool, headers: Mapping[str, str]) -> bool:
    """May it take the place of a held one with the same words? `is_gone`: that one's client has closed.

    Where the client names its session, or says that it tries again, it is the same turn. Else two agents may well have
    been given the same task.
    """
    again = digits_of(headers.get("x-stainless-retry-count", ""))
    return is_gone or call.key.strong or bool(again)


@dataclass(frozen=True, slots=True)
class Rule:
    """When requests are held. Side calls (titles, probes, counts) never are."""

    kind: Literal["off", "watermark", "each"] = "off"
    ratio: float = 0.6
    """Of the window, for a watermark: once each time a conversation gets there, and again half-way from there to the
    full window; from there on each request.
    """
    window: int | None = None
    """Tokens of the window; None = as it is known by the model's name, or by what the conversation gives away."""
    always: bool = False
    """Every request over the watermark: for somebody who acts on each without being asked."""

    def document(self) -> dict[str, Any]:
        """As a recording knows it: the window that it counts by, and when requests are held (nothing for never)."""
        told = asdict(self)
        window = told.pop("window")
        return ({} if window is None else {"window": window}) | ({} if self.kind == "off" else {"hold": told})

    @property
    def marks(self) -> tuple[float, ...]:
        """Shares of the window at which a conversation is held, each once."""
        return (self.ratio, (self.ratio + 1) / 2) if self.ratio < 1 else (self.ratio,)

    @property
    def full(self) -> float:
        """The share of the window from which every request is held."""
        return max(1.0, self.ratio)


@dataclass(frozen=True, slots=True)
class HoldInfo:
    """A request that waits, as a value."""

    id: int
    exchange: int
    """Its number in the recording; a retry has another one than `id`."""
    time: str
    """When it came, as the recording has it."""
    why: HoldReason
    client: str
    session: str
    tag: str
    model: str
    size: Prediction | None
    """Tokens that its provider will report."""
    window: int | None
    messages: int
    until: float
    """When it goes as it stands, in seconds since 1970: what is left of its client's patience."""
    patience: Patience
    is_gone: bool = False
    """The client has closed; it may ask again."""
    retries: int = 0
    is_begun: bool = False
    """The client was given a status and headers already."""
    cannot: str = ""
    """Why it can only be let go as it is, or dropped; empty where it can be changed."""
    thread: ThreadKey = ()
    """Whose conversation it is, as the gate tells them apart."""
    usage: Usage | None = None
    """What the answer before it cost, where it continues from that one."""

    @property
    def tokens(self) -> int | None:
        """Most likely; None where nothing is known."""
        return None if self.size is None else self.size.tokens

    @property
    def band(self) -> tuple[int, int] | None:
        """Between which bounds; None where it is known to a hundredth."""
        size = self.size
        return None if size is None or size.high - size.low <= size.tokens / 50 else size.band


@dataclass(frozen=True, slots=True)
class HoldRelease:
    """Let it go; with `items` in place of what stands, made by `cut`."""

    items: Sequence[Any] | None = None
    cut: BufferCut | None = None


@dataclass(frozen=True, slots=True)
class HoldDrop:
    """Answer it with an error: the provider never sees it."""


HoldDecision: TypeAlias = HoldRelease | HoldDrop


@dataclass(slots=True, eq=False)
class HeldRequest:
    """The same with what is needed to let it go. Belongs to the gate."""

    shown: HoldInfo
    call: ModelCall
    items: Sequence[Any] | None
    """What would be forwarded as it stands: the client's items with earlier cuts made."""
    buffer: Buffer
    pending: PendingRequest
    state: ConversationState
    decided: "asyncio.Future[HoldDecision]"
    left: "asyncio.Event" = field(default_factory=asyncio.Event)
    """Set when another connection has taken over."""


HoldListener = Callable[[tuple[HoldInfo, ...]], None]


class HoldRegistry:
    """Held requests by id, and who wants to be told of them."""

    def __init__(self) -> None:
        self._held: dict[int, HeldRequest] = {}
        self._lock = RLock()
        self._told: list[HoldListener] = []

    def list(self) -> tuple[HoldInfo, ...]:
        """All that wait for a decision, oldest first: what was decided is kept for a client that may ask again."""
        with self._lock:
            return tuple(one.shown for one in self._held.values() if not (one.shown.is_gone and one.decided.done()))

    def find(self, id: int) -> HeldRequest:  # noqa: A002
        """Raises InspectorError where it is held no longer."""
        with self._lock:
            held = self._held.get(id)
        if held is None:
            raise InspectorError("That request is held no longer.")
        return held

    def subscribe(self, told: HoldListener) -> Callable[[], None]:
        """Be called at every change, by whoever made it. Returns what ends it."""
        with self._lock:
            self._told.append(told)
        return lambda: self._told.remove(told)

    def tell(self) -> None:
        shown = self.list()
        for told in tuple(self._told):
            told(shown)

    def put(self, held: HeldRequest) -> None:
        with self._lock:
            self._held[held.shown.id] = held
        self.tell()

    def take(self, held: HeldRequest) -> None:
        with self._lock:
            self._held.pop(held.shown.id, None)
        self.tell()

    def show(self, held: HeldRequest, **changes: Any) -> None:
        held.shown = replace(held.shown, **changes)
        self.tell()

    def same_turn(self, call: ModelCall) -> HeldRequest | None:
        """The held request of which this is a retry."""
        with self._lock:
            found = [
                one for one in self._held.values() if one.call.thread == call.thread and one.call.digest == call.digest
            ]
        return next((one for one in found if is_retry(call, one.shown.is_gone, call.headers)), None)
