"""What passed between a client and its provider, exchange by exchange, as a proxy recorded it: status, sizes, times."""

from dataclasses import dataclass

from inspector.core.quick import quick
from inspector.core.usage import Usage


@quick
@dataclass(frozen=True, slots=True)
class ExchangeSummary:
    """One request and what came back, in figures. Sizes are bytes on the wire; None: not known (yet).

    Where it belongs, thread and request or side call, is known by its `line` (`exchange_places`).
    """

    number: int
    """Of the proxy's run that recorded it."""
    line: int
    """Of its request, in the recording."""
    time: str
    """When the request came."""
    method: str
    path: str
    client: str = ""
    model: str = ""
    up: int | None = None
    """Of the request as the client sent it."""
    sent: int | None = None
    """Of what was forwarded, where that was something else."""
    down: int | None = None
    status: int | None = None
    """Of HTTP; 0 where nothing came back, None while it is under way."""
    first_byte_ms: float | None = None
    """From handing the request on to the first byte of the answer."""
    elapsed_ms: float | None = None
    """From handing the request on to the last byte of the answer."""
    held_ms: float | None = None
    """None where it was not held, or still is."""
    held: str = ""
    """Why it was held."""
    done: str = ""
    """What the proxy did: `as it was`, `changed`, `cut again`, `dropped`, `client gone`."""
    ended: str = ""
    """How the answer ended; empty while it is under way."""
    error: str = ""
    usage: Usage | None = None

    @property
    def is_waiting(self) -> bool:
        """Is the request held at the proxy now?"""
        return bool(self.held) and not self.done and not self.ended

    @property
    def has_failed(self) -> bool:
        """An error of the provider or the connection, or dropped by hand."""
        return (self.status or 0) >= 400 or self.ended not in ("", "complete")

    @property
    def cached(self) -> float | None:
        """Share of the prompt that the provider read from its cache; None where it reported nothing."""
        prompt = self.usage.prompt if self.usage is not None else 0
        return self.usage.cache_read / prompt if self.usage is not None and prompt else None


@dataclass(frozen=True, slots=True)
class ExchangePlace:
    """Where an exchange belongs."""

    thread: str = ""
    """Id of its thread, or of the thread that it was made for; empty where nothing tells."""
    request: int | None = None
    """Its index in the thread; None for a side call."""
    kind: str = ""
    """Of a side call: title, token count, ...; empty for a request."""
    is_sub: bool = False
    """Its thread is a sub-agent's."""


NOWHERE = ExchangePlace()
