"""Rebuild the exchanges of a recording with whole bodies, and write them as an HTTP archive (HAR).

A recording holds of each body only what differs from an earlier one (`like`). Browsers and network tools open HAR 1.2:
http://www.softwareishard.com/blog/har-12-spec/

A recording holds no API keys, so the archive holds none either. A JSON body is formatted again, so its white space may
differ from the bytes that were sent; `bodySize` is the number of bytes that were sent.
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
from inspector.core.formats.proxy.exchange import milliseconds_between, read_response
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.core.untyped import list_of, object_of, text_of


@dataclass(slots=True, eq=False)
class WholeExchange:
    """Everything that was recorded of an exchange. `request["body"]` and `sent["body"]` are whole."""

    number: int
    line: int
    """Line number of the request's record."""
    upstream: str
    request: Mapping[str, Any]
    sent: Mapping[str, Any] | None = None
    held: Mapping[str, Any] = field(default_factory=dict)
    released: Mapping[str, Any] = field(default_factory=dict)
    response: Mapping[str, Any] | None = None
    """None until the response is read."""

    def messages(self, forwarded: bool = True) -> tuple[Message, ...]:
        """Return the messages of the request that the proxy forwarded or, if not `forwarded`, that the client sent."""
        record = self.sent if forwarded and self.sent is not None else self.request
        body = record.get("body")
        if self._dialect is None or not isinstance(body, Mapping):
            return ()
        return tuple(chain.from_iterable(self._dialect.units(self._dialect.conversation(body))))

    def answer(self) -> tuple[Message, ...]:
        """Return the answer of the model; empty if there is none."""
        if self._dialect is None or self.response is None:
            return ()
        return tuple(
            chain.from_iterable(
                self._dialect.units(read_response(self._dialect, self.response).wire)
            )
        )

    @property
    def _dialect(self) -> Dialect | None:
        return endpoint(
            text_of(self.request.get("method")), text_of(self.request.get("path"))
        ).dialect


class WholeExchanges:
    """Rebuilds exchanges from the records of a recording, in their order. Each is complete with its response.

    Costs O(what is new in each body), because bodies share their parts.
    """

    def __init__(self) -> None:
        self._upstream = ""
        self._bodies: dict[int, Mapping[str, Any]] = {}
        self._open: dict[int, WholeExchange] = {}

    def take(self, line: int, value: Any) -> Iterator[WholeExchange]:
        """Take a record, and yield the exchange that it completes."""
        if not isinstance(value, Mapping):
            return
        kind = value.get("type")
        number = value.get("exchange")
        if kind == "proxy":
            yield from self.rest()  # another run of the proxy may count from 0 again
            self._upstream = text_of(value.get("upstream"))
        elif type(number) is not int:
            return
        elif kind == "request" and number not in self._open:
            whole = self._whole(value)
            self._bodies[number] = object_of(whole, "body")
            upstream = text_of(whole.get("upstream")) or self._upstream
            self._open[number] = WholeExchange(number, line, upstream, request=whole)
        elif (exchange := self._open.get(number)) is not None:
            if kind == "sent":
                exchange.sent = self._whole(value)
            elif kind == "held":
                exchange.held = value
            elif kind == "released":
                exchange.released = value
            elif kind == "response":
                exchange.response = value
                yield self._open.pop(number)

    def rest(self) -> Iterator[WholeExchange]:
        """Yield the exchanges that have no response, and forget them."""
        yield from self._open.values()
        self._open = {}

    def _whole(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        like = read_like(record.get("like"))
        if like is None or like.exchange not in self._bodies:
            return record
        return {
            **record,
            "body": like.fields(self._bodies[like.exchange], object_of(record, "body")),
        }


# -- as an HTTP archive

_UNKNOWN = -1
"""HAR's value for an unknown size or time."""
_VERSION = "HTTP/1.1"
"""The HTTP version between the client and the proxy."""


def har_text(exchanges: Iterable[WholeExchange], version: str) -> Iterator[str]:
    """Yield the archive in pieces, one for each exchange, in the order of `exchanges`. `version` is this program's."""
    creator = dumps({"name": "Context Inspector", "version": version})
    yield f'{{"log": {{"version": "1.2", "creator": {creator}, "entries": ['
    comma = "\n"
    for exchange in exchanges:
        yield comma + dumps(har_entry(exchange))
        comma = ",\n"
    yield "\n]}}\n"


def har_entry(exchange: WholeExchange) -> dict[str, Any]:
    """Return an exchange as an entry; fields that HAR does not have begin with an underscore."""
    response = exchange.response or {}
    timings = _timings(exchange, response)
    entry = {
        "startedDateTime": text_of(exchange.request.get("time")),
        "time": sum(value for value in timings.values() if value > 0),
        "request": _request(exchange),
        "response": _response(response),
        "cache": {},
        "timings": timings,
    }
    own_fields = {
        "_exchange": exchange.number,
        "_held": exchange.held.get("why"),
        "_done": exchange.released.get("how"),
        "_ended": response.get("ended"),
        "_forwarded": _posted(exchange.sent) if exchange.sent is not None else None,
    }
    return entry | {name: value for name, value in own_fields.items() if value is not None}


def _timings(exchange: WholeExchange, response: Mapping[str, Any]) -> dict[str, float]:
    """Return the phases of an exchange in ms."""
    first_byte = _positive(response.get("first_byte_ms"))
    whole = _positive(response.get("elapsed_ms"))
    held = milliseconds_between(
        text_of(exchange.held.get("time")), text_of(exchange.released.get("time"))
    )
    wait = min(first_byte or whole, whole)
    return {
        "blocked": _UNKNOWN if held is None else held,
        "send": 0,
        "wait": wait,
        "receive": whole - wait,
    }


def _positive(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and value > 0 else 0.0


def _request(exchange: WholeExchange) -> dict[str, Any]:
    record = exchange.request
    path = text_of(record.get("path"))
    query = parse_qsl(urlsplit(path).query, keep_blank_values=True)
    is_websocket = record.get("transport") == "websocket"
    request: dict[str, Any] = {
        "method": "GET" if is_websocket else text_of(record.get("method")),
        "url": exchange.upstream.rstrip("/") + path,
        "httpVersion": _VERSION,
        "cookies": [],
        "headers": _named_values(_headers(record)),
        "queryString": _named_values(query),
        "headersSize": _UNKNOWN,
        "bodySize": _size(record),
    }
    posted = _posted(record)
    if posted is not None:
        request["postData"] = posted
    return request


def _posted(record: Mapping[str, Any]) -> dict[str, Any] | None:
    text = _text(record)
    return {"mimeType": _type(record), "params": [], "text": text} if text else None


def _response(record: Mapping[str, Any]) -> dict[str, Any]:
    status = record.get("status")
    headers = _headers(record)
    code = status if type(status) is int else 0
    location = next((value for name, value in headers if name.lower() == "location"), "")
    response = {
        "status": code,
        "statusText": responses.get(code, ""),
        "httpVersion": _VERSION,
        "cookies": [],
        "headers": _named_values(headers),
        "content": _content(record),
        "redirectURL": location,
        "headersSize": _UNKNOWN,
        "bodySize": _size(record),
    }
    if record.get("error"):
        response["_error"] = record["error"]
    return response


def _content(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a response: bytes as base64, anything else as text."""
    text = _text(record)
    packed = record.get("base64")
    content: dict[str, Any] = {
        "size": len(text.encode("utf-8", "replace")),
        "mimeType": _type(record),
    }
    if isinstance(packed, str):
        size = len(packed) * 3 // 4 - packed[-2:].count("=")
        content |= {"size": size, "text": packed, "encoding": "base64"}
    elif text:
        content["text"] = text
    return content


def _text(record: Mapping[str, Any]) -> str:
    """Return the body as text, in whatever form it was recorded."""
    for name in ("stream", "text"):
        if isinstance(text := record.get(name), str):
            return text
    for name in ("body", "frames"):
        if name in record:
            return dumps(record[name])
    return ""


def _headers(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    headers = list[tuple[str, str]]()
    for pair in list_of(record.get("headers")):
        if isinstance(pair, list | tuple) and len(pair) == 2:
            name, value = pair
            headers.append((str(name), str(value)))
    return headers


def _named_values(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _type(record: Mapping[str, Any]) -> str:
    default = "application/json" if "body" in record else ""
    return next(
        (value for name, value in _headers(record) if name.lower() == "content-type"), default
    )


def _size(record: Mapping[str, Any]) -> int:
    size = record.get("size")
    return size if type(size) is int and size >= 0 else _UNKNOWN
