"""The records of a recording put together, an exchange each, with whole bodies: a recording holds of each body only
what is new in it (`like`). And these as an HTTP archive (HAR 1.2), which browsers and network tools open.

Keys are not in a recording, so they are not in the archive either. A body that was JSON is written anew: its white
space may be another than on the wire, `bodySize` is that of the wire. http://www.softwareishard.com/blog/har-12-spec/
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import responses
from itertools import chain
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from inspector.core.dialects.catalogue import endpoint
from inspector.core.dialects.dialect import Dialect
from inspector.core.formats.proxy.bodies import read_like
from inspector.core.formats.proxy.exchange import milliseconds_between, read_reply
from inspector.core.jsontext import dumps
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


# -- as an HTTP archive

_UNKNOWN = -1
"""What HAR says for a size or a time that is not known."""
_VERSION = "HTTP/1.1"
"""What the client spoke."""


def har_text(exchanges: Iterable[WholeExchange], version: str) -> Iterator[str]:
    """The archive in pieces, an exchange each, in the order in which they ended. `version`: of this program."""
    creator = dumps({"name": "Context Inspector", "version": version})
    yield f'{{"log": {{"version": "1.2", "creator": {creator}, "entries": ['
    comma = "\n"
    for one in exchanges:
        yield comma + dumps(har_entry(one))
        comma = ",\n"
    yield "\n]}}\n"


def har_entry(one: WholeExchange) -> dict[str, Any]:
    """One exchange as an entry; what HAR has no word for begins with an underscore."""
    response = one.response or {}
    told = (response.get(name) for name in ("first_byte_ms", "elapsed_ms"))
    first, whole = (float(one) if isinstance(one, int | float) and one > 0 else 0.0 for one in told)
    held = milliseconds_between(text_of(one.held.get("time")), text_of(one.released.get("time")))
    wait = min(first or whole, whole)
    timings = {"blocked": _UNKNOWN if held is None else held, "send": 0, "wait": wait, "receive": whole - wait}
    more = {"_exchange": one.number, "_held": one.held.get("why"), "_done": one.released.get("how")}
    more |= {"_ended": response.get("ended"), "_forwarded": _posted(one.sent) if one.sent is not None else None}
    return {
        "startedDateTime": text_of(one.request.get("time")),
        "time": sum(value for value in timings.values() if value > 0),
        "request": _request(one),
        "response": _response(response),
        "cache": {},
        "timings": timings,
    } | {name: value for name, value in more.items() if value is not None}


def _request(one: WholeExchange) -> dict[str, Any]:
    record, path = one.request, text_of(one.request.get("path"))
    posted = _posted(record)
    method = "GET" if record.get("transport") == "websocket" else text_of(record.get("method"))
    query = parse_qsl(urlsplit(path).query, keep_blank_values=True)
    return {
        "method": method,
        "url": one.upstream.rstrip("/") + path,
        "httpVersion": _VERSION,
        "cookies": [],
        "headers": _pairs(_told(record)),
        "queryString": _pairs(query),
        "headersSize": _UNKNOWN,
        "bodySize": _size(record),
    } | ({"postData": posted} if posted is not None else {})


def _posted(record: Mapping[str, Any]) -> dict[str, Any] | None:
    text = _text(record)
    return {"mimeType": _type(record), "params": [], "text": text} if text else None


def _response(record: Mapping[str, Any]) -> dict[str, Any]:
    status = record.get("status")
    code = status if type(status) is int else 0
    text, packed = _text(record), record.get("base64")
    content: dict[str, Any] = {"size": len(text.encode("utf-8", "replace")), "mimeType": _type(record)}
    if isinstance(packed, str):
        content |= {"size": len(packed) * 3 // 4 - packed[-2:].count("="), "text": packed, "encoding": "base64"}
    elif text:
        content["text"] = text
    found = {"_error": record["error"]} if record.get("error") else {}
    return {
        "status": code,
        "statusText": responses.get(code, ""),
        "httpVersion": _VERSION,
        "cookies": [],
        "headers": _pairs(_told(record)),
        "content": content,
        "redirectURL": next((value for name, value in _told(record) if name.lower() == "location"), ""),
        "headersSize": _UNKNOWN,
        "bodySize": _size(record),
    } | found


def _text(record: Mapping[str, Any]) -> str:
    """The body, in whatever shape it was recorded."""
    for name in ("stream", "text"):
        if isinstance(told := record.get(name), str):
            return told
    if "body" in record:
        return dumps(record["body"])
    return dumps(record["frames"]) if "frames" in record else ""


def _told(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = record.get("headers")
    pairs = found if isinstance(found, list) else []
    return [(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2]


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _type(record: Mapping[str, Any]) -> str:
    usual = "application/json" if "body" in record else ""
    return next((value for name, value in _told(record) if name.lower() == "content-type"), usual)


def _size(record: Mapping[str, Any]) -> int:
    size = record.get("size")
    return size if type(size) is int and size >= 0 else _UNKNOWN
