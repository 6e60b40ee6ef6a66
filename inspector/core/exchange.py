"""The exchanges between a client and its provider, as a proxy recorded them: status, sizes, times."""

from dataclasses import dataclass

from inspector.core.quick import quick
from inspector.core.usage import Usage


@quick
@dataclass(frozen=True, slots=True)
class ExchangeSummary:
    """One request and its response, in figures. Sizes are bytes on the wire; None: not known (yet).

    `exchange_places` finds the thread and request, or the side call, of an exchange by its `line`.
    """

    number: int
    """Number of the exchange in the run of the proxy that recorded it."""
    line: int
    """Line of its request in the recording."""
    time: str
    """When the proxy received the request."""
    method: str
    path: str
    client: str = ""
    model: str = ""
    up: int | None = None
    """Size of the request as the client sent it."""
    sent: int | None = None
    """Size of the forwarded request, if the proxy forwarded something else."""
    down: int | None = None
    """Size of the answer."""
    status: int | None = None
    """HTTP status; 0 if there was no answer, None while the exchange is in progress."""
    first_byte_ms: float | None = None
    """Time from forwarding the request to the first byte of the answer."""
    elapsed_ms: float | None = None
    """Time from forwarding the request to the last byte of the answer."""
    held_ms: float | None = None
    """How long the request was held; None if it was not held, or still is."""
    held: str = ""
    """Why the request was held; empty if it was not."""
    done: str = ""
    """What the proxy did: `as it was`, `changed`, `cut again`, `dropped`, `client gone`."""
    ended: str = ""
    """How the answer ended; empty while it is in progress."""
    error: str = ""
    usage: Usage | None = None

    @property
    def is_waiting(self) -> bool:
        """Is the request held at the proxy now?"""
        return bool(self.held) and not self.done and not self.ended

    @property
    def has_failed(self) -> bool:
        """Did the provider or the connection fail, or was the request dropped manually?"""
        return (self.status or 0) >= 400 or self.ended not in ("", "complete")

    @property
    def cached(self) -> float | None:
        """Return the share of the prompt that the provider read from its cache; None if it reported no usage."""
        prompt = self.usage.prompt if self.usage is not None else 0
        return self.usage.cache_read / prompt if self.usage is not None and prompt else None


@dataclass(frozen=True, slots=True)
class ExchangePlace:
    """The request of a thread, or the side call, that an exchange carried."""

    thread: str = ""
    """Id of the thread that made the exchange, or that the side call was made for; empty if not recorded."""
    request: int | None = None
    """Index of the request in the thread; None for a side call."""
    kind: str = ""
    """Kind of a side call: title, token count, ...; empty for a request."""
    is_sub: bool = False
    """True if the thread is a sub-agent's."""


NOWHERE = ExchangePlace()
