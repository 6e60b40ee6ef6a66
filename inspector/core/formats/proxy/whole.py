"""The records of a recording put together, an exchange each, with whole bodies: a recording holds of each body only
what is new in it (`like`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from inspector.core.dialects.catalogue import endpoint
from inspector.core.dialects.dialect import Dialect
from inspector.core.formats.proxy.bodies import read_like
from inspector.core.formats.proxy.replies import read_reply
from inspector.core.message import Message
from inspector.core.untyped import object_of, text_of


@dataclass(slots=True, eq=False)
class WholeExchange:
    """Everything that was recorded of it. `request["body"]` and `sent["body"]` are whole."""

    number: int
    line: int
    """Of the request."""
    upstream: str
    request: Mapping[str, Any]
    sent: Mapping[str, Any] | None = None
    held: Mapping[str, Any] = field(default_factory=dict)
    released: Mapping[str, Any] = field(default_factory=dict)
    response: Mapping[str, Any] | None = None
    """None while there is none."""

    def messages(self, forwarded: bool = True) -> tuple[Message, ...]:
        """What the request says: as it went on to the provider, or as the client sent it."""
        record = self.sent if forwarded and self.sent is not None else self.request
        body = record.get("body")
        if self._dialect is None or not isinstance(body, Mapping):
            return ()
        return tuple(chain.from_iterable(self._dialect.units(self._dialect.conversation(body))))

    def answer(self) -> tuple[Message, ...]:
        """What came back, where it is an answer of a model."""
        if self._dialect is None or self.response is None:
            return ()
        return tuple(chain.from_iterable(self._dialect.units(read_reply(self._dialect, self.response).wire)))

    @property
    def _dialect(self) -> Dialect | None:
        return endpoint(text_of(self.request.get("method")), text_of(self.request.get("path"))).dialect


class WholeExchanges:
    """Fed with the values of a recording in their order; gives each exchange as soon as its answer is there.

    O(what is new): bodies share their parts.
    """

    def __init__(self) -> None:
        self._upstream = ""
        self._bodies: dict[int, Mapping[str, Any]] = {}
        self._open: dict[int, WholeExchange] = {}

    def take(self, line: int, value: Any) -> Iterator[WholeExchange]:
        """One record; gives the exchange that is over with it."""
        if not isinstance(value, Mapping):
            return
        kind, number = value.get("type"), value.get("exchange")
        if kind == "proxy":
            yield from self.rest()  # another run of the proxy may count from 0 again
            self._upstream = text_of(value.get("upstream"))
        elif type(number) is not int:
            return
        elif kind == "request" and number not in self._open:
            whole = self._whole(value)
            self._bodies[number] = object_of(whole, "body")
            self._open[number] = WholeExchange(number, line, self._upstream, whole)
        elif (one := self._open.get(number)) is not None:
            if kind == "sent":
                one.sent = self._whole(value)
            elif kind == "held":
                one.held = value
            elif kind == "released":
                one.released = value
            elif kind == "response":
                one.response = value
                yield self._open.pop(number)

    def rest(self) -> Iterator[WholeExchange]:
        """Those that have no answer."""
        yield from self._open.values()
        self._open = {}

    def _whole(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        like = read_like(record.get("like"))
        if like is None or like.exchange not in self._bodies:
            return record
        return {**record, "body": like.fields(self._bodies[like.exchange], object_of(record, "body"))}
