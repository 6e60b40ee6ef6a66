"""Values for held requests: the rule for holding, the public description, and the gate's own record."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from inspector.core.dialects.cuts import BufferCut
from inspector.core.tokens.prediction import Prediction
from inspector.core.usage import Usage
from inspector.proxy.clients import Patience
from inspector.proxy.holds.call import ThreadKey
from inspector.proxy.holds.memory import GateRequest
from inspector.proxy.record.records import HoldReason


@dataclass(frozen=True, slots=True)
class Rule:
    """When requests are held. Side calls (titles, probes, counts) never are."""

    kind: Literal["off", "watermark", "each"] = "off"
    ratio: float = 0.6
    """Share of the window at which a conversation is held.

    It is held once each time it reaches the watermark, again half-way from there to the full window, and with each
    request at the full window.
    """
    window: int | None = None
    """The window in tokens; None uses the window known for the model's name or inferred from the conversation."""
    always: bool = False
    """Hold every request above the watermark, for a user whose rule handles each one automatically."""

    def document(self) -> dict[str, Any]:
        """Return the rule as it is recorded: the window, and when requests are held (no entry if never)."""
        document = asdict(self)
        window = document.pop("window")
        return ({} if window is None else {"window": window}) | (
            {} if self.kind == "off" else {"hold": document}
        )

    @property
    def marks(self) -> tuple[float, ...]:
        """Return the shares of the window at which a conversation is held, once each."""
        return (self.ratio, (self.ratio + 1) / 2) if self.ratio < 1 else (self.ratio,)

    @property
    def full(self) -> float:
        """The share of the window from which every request is held."""
        return max(1.0, self.ratio)


@dataclass(frozen=True, slots=True)
class HoldInfo:
    """The description of a held request, as an immutable value."""

    id: int
    exchange: int
    """Number of the exchange in the recording; after a retry it differs from `id`."""
    time: str
    """Time of the request in the form of the recording."""
    why: HoldReason
    client: str
    session: str
    tag: str
    model: str
    size: Prediction | None
    """Prediction of the tokens that the provider will report; None if nothing is known."""
    window: int | None
    messages: int
    until: float
    """When the request will be forwarded unchanged, in seconds since 1970, because its client would give up."""
    patience: Patience
    is_gone: bool = False
    """True if the client has closed the connection; it may try again."""
    retries: int = 0
    is_begun: bool = False
    """True if the client has already received a status and headers."""
    cannot: str = ""
    """Why the request cannot be changed, only forwarded or dropped; empty if it can be changed."""
    thread: ThreadKey = ()
    """Key of the conversation to which the gate assigns the request."""
    usage: Usage | None = None
    """Usage of the previous answer, if the request continues it."""

    @property
    def tokens(self) -> int | None:
        """Return the predicted tokens; None if nothing is known."""
        return None if self.size is None else self.size.tokens

    @property
    def band(self) -> tuple[int, int] | None:
        """Return (low, high) of the prediction; None if it is exact to about two percent."""
        size = self.size
        return None if size is None or size.high - size.low <= size.tokens / 50 else size.band


@dataclass(frozen=True, slots=True)
class HoldRelease:
    """Forward a held request; with `items`, which `cut` produced, instead of the original ones."""

    items: Sequence[Any] | None = None
    cut: BufferCut | None = None


@dataclass(frozen=True, slots=True)
class HoldDrop:
    """Answer a held request with an error; the provider never receives it."""


HoldDecision: TypeAlias = HoldRelease | HoldDrop


HoldListener: TypeAlias = Callable[[tuple[HoldInfo, ...]], None]


def _future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, eq=False)
class HeldRequest:
    """A held request together with what the gate needs to answer it. Used only by the gate."""

    shown: HoldInfo
    request: GateRequest
    decided: "asyncio.Future[HoldDecision]" = field(default_factory=_future)
    left: "asyncio.Future[None]" = field(default_factory=_future)
    """Done when another connection of the client has taken over."""
