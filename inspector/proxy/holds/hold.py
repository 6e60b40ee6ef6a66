"""Held requests: when they are held, as others see them, as the gate keeps them."""

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
    """Of the window, for a watermark: once each time a conversation gets there, and again half-way from there to the
    full window; from there on each request.
    """
    window: int | None = None
    """Tokens of the window; None = as it is known by the model's name, or by what the conversation gives away."""
    always: bool = False
    """Every request over the watermark: for somebody who acts on each without being asked."""

    def document(self) -> dict[str, Any]:
        """As a recording knows it: the window that it counts by, and when requests are held (nothing for never)."""
        document = asdict(self)
        window = document.pop("window")
        return ({} if window is None else {"window": window}) | (
            {} if self.kind == "off" else {"hold": document}
        )

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


HoldListener: TypeAlias = Callable[[tuple[HoldInfo, ...]], None]


def _future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, eq=False)
class HeldRequest:
    """The same with what is needed to let it go. Belongs to the gate."""

    shown: HoldInfo
    request: GateRequest
    decided: "asyncio.Future[HoldDecision]" = field(default_factory=_future)
    left: "asyncio.Future[None]" = field(default_factory=_future)
    """Done when another connection has taken over."""
