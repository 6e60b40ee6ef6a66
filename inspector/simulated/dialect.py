"""What the three dialects have in common: a body is read, an answer is written, at once or as events of a stream."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from inspector.core.jsontext import dumps
from inspector.simulated.call import Call, Said, Spent
from inspector.simulated.refusals import Refusal

Event: TypeAlias = tuple[str, Any]
"""Name of an event of the stream (empty where the dialect has none) and its data."""


class Refused(Exception):
    """The request is answered with an error."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Dialect(Protocol):
    """One provider's way to write requests and answers."""

    name: str
    """As `core.validity` names it."""

    def read(self, body: Mapping[str, Any]) -> Call:
        """The request. Raises Refused."""
        ...

    def answer(self, call: Call, said: Said, spent: Spent) -> dict[str, Any]:
        """The whole answer, as JSON."""
        ...

    def events(self, answer: dict[str, Any]) -> Iterator[Event]:
        """The same answer as a stream."""
        ...

    def failed(self, refusal: Refusal) -> Iterator[Event]:
        """The last events of a stream that goes wrong."""
        ...

    def alive(self) -> Event:
        """An event that says nothing but that the server is there."""
        ...

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        """The body of an error."""
        ...


def sse(event: Event) -> bytes:
    """An event as it stands on the wire."""
    name, data = event
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else dumps(data)}\n\n".encode("utf-8", "replace")


def needed(body: Mapping[str, Any], *names: str) -> None:
    """Raises Refused where one of these is missing."""
    for name in names:
        if body.get(name) is None:
            raise Refused(Refusal(400, f"{name}: Field required", param=name))


def pieces(text: str, size: int = 24) -> Iterator[str]:
    """A text in the bits that a stream brings it in."""
    for start in range(0, len(text), size):
        yield text[start : start + size]


def limit(value: Any) -> int | None:
    """A number of tokens, where there is one."""
    return value if type(value) is int and value > 0 else None
