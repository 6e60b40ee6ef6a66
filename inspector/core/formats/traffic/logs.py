"""Read logs that hold each exchange as an object with its request and response: claude-tap's and similar logs.

claude-tap's lab keeps the packets of a session in one object. Its logs have one exchange on each line, with the events
of a stream or the frames of a WebSocket beside the bodies. A WebSocket is recorded as one exchange, whose frames hold
several requests. Keys of similar tools (`url`, `uri`, `status_code`, `body_raw`) are read, too, and so are the rows in
which nock, Amazon Bedrock and batch files keep a request, with or without its answer.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from inspector.core.formats.format import Head
from inspector.core.formats.reading import iso_time
from inspector.core.formats.traffic.bedrock import CONVERSE
from inspector.core.formats.traffic.frames import FramePairs, is_create
from inspector.core.formats.traffic.log import CapturedRequest, TrafficReader
from inspector.core.formats.traffic.plain import url_path
from inspector.core.jsontext import dumps
from inspector.core.untyped import fields_of, list_of, object_of, text_of

_ADDRESSES, _BODIES = ("path", "url", "uri"), ("body", "body_raw", "raw_body")
_STREAMS = ("ws_events", "sse_events", "events")
_SHORTENED = "〔已截断,原长 "
"""Mark that claude-tap's lab writes into a text that it shortened."""


def sniff(head: Head) -> float:
    """Return 0.96 if most of the first 60 rows are exchanges and one of these goes to a model; else 0."""
    rows: Sequence[Any] = head.document if isinstance(head.document, list) else head.values
    rows = list_of(fields_of(head.document).get("packets")) or rows
    first = rows[:60]
    exchanges = [row for row in map(_plain, first) if is_exchange(row)]
    is_most = len(exchanges) > len(first) / 2
    goes_to_model = is_most and any(_read_request(row).is_of_model for row in exchanges)
    return 0.96 if goes_to_model else 0.0


def _read_request(row: Mapping[str, Any], line: int = 0) -> CapturedRequest:
    request = row["request"]
    method = text_of(request.get("method") or row.get("method")) or "POST"
    stamps = (_time(source.get(key)) for source in (row, request) for key in _TIMES)
    time = next(filter(None, stamps), "")
    return CapturedRequest(
        method,
        url=_address(row),
        headers=request.get("headers"),
        body=_named(request, _BODIES),
        time=time,
        line=line,
    )


def _address(row: Mapping[str, Any]) -> Any:
    return _named(row["request"], _ADDRESSES) or _named(row, _ADDRESSES)


def _plain(row: Any) -> Any:
    """Convert a row of nock, of Amazon Bedrock or of a batch to an exchange; return any other row as it is."""
    if not isinstance(row, dict):
        return row
    if "scope" in row and "path" in row and "response" in row:
        return _plain_nock(row)
    if row.get("schemaType") == "ModelInvocationLog":
        return _plain_bedrock(row)
    if "custom_id" in row and ("params" in row or "url" in row):  # a line of a batch
        url = text_of(row.get("url")) or "https://api.anthropic.com/v1/messages"
        return _pair(row, url, row.get("body", row.get("params")), None)
    return row


def _plain_nock(row: Mapping[str, Any]) -> Mapping[str, Any]:
    raw = list_of(row.get("rawHeaders"))  # name, value, name, value, ...
    names = map(text_of, raw[::2])
    values = map(text_of, raw[1::2])
    headers = dict(zip(names, values, strict=False)) or row.get("rawHeaders")
    answer = {"status": row.get("status"), "body": row["response"], "headers": headers}
    url = text_of(row["scope"]) + text_of(row["path"])
    return _pair(row, url, row.get("body"), answer)


def _plain_bedrock(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert a line of Amazon Bedrock's own log to an exchange."""
    operation = "converse" if text_of(row.get("operation")).startswith("Converse") else "invoke"
    host = f"https://bedrock-runtime.{text_of(row.get('region'))}.amazonaws.com"
    error = text_of(row.get("errorCode"))
    body = object_of(row, "output").get("outputBodyJson")
    answer = {"status": 400 if error else 200, "body": body, "error": error}
    model = text_of(row.get("modelId")).rpartition("/")[2]  # the id may be a whole ARN
    url = f"{host}/model/{quote(model, safe='')}/{operation}"
    return _pair(row, url, object_of(row, "input").get("inputBodyJson"), answer)


def _pair(
    row: Mapping[str, Any], url: str, body: Any, answer: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    times = {key: row[key] for key in _TIMES if key in row}
    return {
        **times,
        "request": {"method": row.get("method"), "url": url, "body": body},
        "response": answer,
    }


def is_exchange(row: Any) -> bool:
    """Is the row an HTTP request with its address and its response?"""
    request = object_of(row, "request")
    if not request or "response" not in row:
        return False
    return ("method" in row or "method" in request or "headers" in request) and _address(
        row
    ) is not None


class ExchangeRows(TrafficReader):
    """A `Reader` of logs with one exchange in each row."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Read a document of packets, a list of exchanges, or the exchange of a line."""
        packets = value.get("packets") if isinstance(value, Mapping) else value
        rows, at = (packets, 0) if isinstance(packets, list) else ([value], line)
        for row in map(_plain, rows):
            if is_exchange(row):
                self._exchange(row, at)
            else:
                self._problems.note(line, "this is no exchange; it was left out", row)
        if shortened := dumps(value).count(_SHORTENED):
            self.note(
                f"The capture shortened texts, in {shortened:,} places: buffers weigh less than was sent."
            )

    def _exchange(self, row: Mapping[str, Any], line: int) -> None:
        request = _read_request(row, line)
        response = object_of(row, "response")
        figures = {
            "elapsed_ms": row.get("duration_ms"),
            "error": text_of(row.get("error") or response.get("error")),
        }
        frames = list_of(row["request"].get("ws_events"))
        events = _named(response, _STREAMS)
        if any(map(is_create, frames)):
            self._socket(request, frames, events=list_of(events), line=line)
            return
        body = _named(response, _BODIES)
        content = body if body not in (None, "", {}, []) else events
        status = _status(row, response)
        headers = response.get("headers")
        if CONVERSE.search(url_path(request.url)):
            self.tell(request, status, content, headers, line=line, **figures)
            return
        is_socket = request.method.upper() == "WEBSOCKET" or row.get("transport") == "websocket"
        more = {"transport": "websocket"} if is_socket else {}
        number = self.ask(
            request.method,
            request.url,
            request.headers,
            request.body,
            request.time,
            line=line,
            **more,
        )
        if response:
            self.answer(number, status, content, headers, line=line, **figures)

    def _socket(
        self, request: CapturedRequest, frames: Sequence[Any], events: Sequence[Any], line: int
    ) -> None:
        """Add the exchanges of a WebSocket: each request gets the events up to the end of its answer."""
        pairs = FramePairs(self, request.method, path=request.url, headers=request.headers)
        following = iter(events)
        for frame in filter(is_create, frames):
            pairs.up(frame, line, request.time)
            any(pairs.down(event, line) for event in following)
        pairs.end(line)


_TIMES = ("timestamp", "time", "created_at", "recorded_at")
_STATUSES = ("status", "status_code", "http_status", "statusCode")


def _time(value: Any) -> str:
    is_seconds = isinstance(value, int | float) and value < 1e11
    return value if isinstance(value, str) else iso_time(value, 1 if is_seconds else 1000)


def _named(fields: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _status(row: Mapping[str, Any], response: Mapping[str, Any]) -> int | None:
    values = (source.get(key) for source in (response, row) for key in _STATUSES)
    return next((value for value in values if type(value) is int), None)
