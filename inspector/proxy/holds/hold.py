"""A held request: as others see it, and as the gate keeps it."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.cuts import Cut
from inspector.core.usage import Usage
from inspector.proxy.clients import Patience
from inspector.proxy.gate import Asked, Why
from inspector.proxy.holds.reading import Reading, ThreadKey
from inspector.proxy.holds.threads import Standing


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

    def standing(self) -> dict[str, Any]:
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
class Hold:
    """A request that waits, as a value."""

    id: int
    exchange: int
    """Its number in the recording; a retry has another one than `id`."""
    time: str
    """When it came, as the recording has it; empty while it is not written down."""
    why: Why
    client: str
    session: str
    tag: str
    model: str
    tokens: int | None
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
    band: tuple[int, int] | None = None
    """Between these `tokens` most likely will be, once its provider says."""
    usage: Usage | None = None
    """What the answer before it cost, where it goes on from that one."""

    @property
    def is_sure(self) -> bool:
        """Is its size known to a hundredth?"""
        return self.tokens is None or self.band is None or self.band[1] - self.band[0] <= self.tokens / 50


@dataclass(frozen=True, slots=True)
class Go:
    """Let it go; with `items` in place of what stands, made by `cut`."""

    items: Sequence[Any] | None = None
    cut: Cut | None = None


@dataclass(frozen=True, slots=True)
class Out:
    """Answer it with an error: the provider never sees it."""


Choice: TypeAlias = Go | Out


@dataclass(slots=True, eq=False)
class Held:
    """The same with what is needed to let it go. Belongs to the gate."""

    shown: Hold
    reading: Reading
    items: Sequence[Any] | None
    """What would be forwarded as it stands: the client's items with earlier cuts made."""
    buffer: Buffer
    asked: Asked
    standing: Standing
    decided: "asyncio.Future[Choice]"
    left: "asyncio.Event" = field(default_factory=asyncio.Event)
    """Set when another connection has taken over."""
