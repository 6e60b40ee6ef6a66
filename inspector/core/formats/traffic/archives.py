"""Read HTTP archives and cassettes. Exchanges with a model are read; all other exchanges are only counted.

An HTTP archive holds what a browser, a network tool or a test recorder saw: one entry for each exchange.
http://www.softwareishard.com/blog/har-12-spec/

A cassette of VCR or a similar tool (VCR.py, VCR for Ruby, go-vcr) holds what a test sent and received: one interaction
for each exchange. The calls of a test need not belong to one conversation. They are in order, and most have no times.
Bodies are texts, or values in `parsed_body`. Interactions of the kind `message` are WebSocket messages, in both
directions.
"""

from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

from inspector.core.formats.format import Head
from inspector.core.formats.traffic.frames import FramePairs, is_create
from inspector.core.formats.traffic.live import LiveConversation, is_setup
from inspector.core.formats.traffic.log import CapturedRequest, TrafficReader
from inspector.core.formats.traffic.plain import bytes_of, plain_body
from inspector.core.untyped import fields_of, object_of, objects_of, text_of

# -- HTTP archives


def sniff_har(head: Head) -> float:
    """Return 0.97 for an archive with a request to a model; else 0."""
    return 0.97 if any(map(_is_models, _entries(head.document))) else 0.0


def _entries(value: Any) -> list[Mapping[str, Any]]:
    """Return the entries of an archive in the order of their start times."""
    entries = objects_of(object_of(value, "log").get("entries"))
    return sorted(entries, key=lambda entry: text_of(entry.get("startedDateTime")))


def _is_models(entry: Mapping[str, Any]) -> bool:
    request = _read_entry(entry)
    is_empty = not request.body and not entry.get("_webSocketMessages")
    return not (request.method.upper() == "GET" and is_empty) and request.is_of_model


def _read_entry(entry: Mapping[str, Any]) -> CapturedRequest:
    request = object_of(entry, "request")
    body = plain_body(_content(object_of(request, "postData")))
    time = text_of(entry.get("startedDateTime"))
    method = text_of(request.get("method"))
    size = request.get("bodySize")
    return CapturedRequest(
        method,
        url=request.get("url"),
        headers=request.get("headers"),
        body=body,
        time=time,
        size=size,
    )


def _content(content: Mapping[str, Any]) -> Any:
    """Return the text of a content or, if it is in base64, its bytes.

    Polly.JS writes a compressed body as a list of base64 pieces.
    """
    text = content.get("text")
    if content.get("encoding") != "base64":
        return text
    pieces = plain_body(text)
    return b"".join(map(bytes_of, pieces if isinstance(pieces, list) else [text]))


class HarReader(TrafficReader):
    """A `Reader` of HTTP archives."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Read the exchanges of an archive."""
        entries = _entries(value)
        if not entries:
            self._problems.note(line, "this is no HTTP archive", value)
        of_models = list(filter(_is_models, entries))
        for entry in of_models:
            self._entry(entry)
        if others := len(entries) - len(of_models):
            self.note(f"Entries of the archive that are not model calls were left out: {others:,}.")

    def _entry(self, entry: Mapping[str, Any]) -> None:
        request = _read_entry(entry)
        response = object_of(entry, "response")
        frames = objects_of(entry.get("_webSocketMessages"))
        if any(is_create(frame.get("data")) for frame in frames):
            pairs = FramePairs(self, path=request.url, headers=request.headers)
            for frame in frames:
                (pairs.up if frame.get("type") == "send" else pairs.down)(frame.get("data"), 0)
            pairs.end(0)
            return
        figures = {
            "elapsed_ms": entry.get("time"),
            "size": response.get("bodySize"),
            "error": response.get("_error"),
        }
        body = _content(object_of(response, "content"))
        self.tell(request, response.get("status") or None, body, response.get("headers"), **figures)


# -- cassettes


def sniff_cassette(head: Head) -> float:
    """Return 0.97 for a cassette with a request to a model; else 0."""
    rows = _interactions(head.document)
    return (
        0.97
        if any(_read_interaction(row).is_of_model or is_setup(row.get("data")) for row in rows)
        else 0.0
    )


def _interactions(value: Any) -> list[Mapping[str, Any]]:
    fields = fields_of(value)
    return objects_of(fields.get("interactions", fields.get("http_interactions")))


def _read_interaction(row: Mapping[str, Any]) -> CapturedRequest:
    request = object_of(row, "request")
    time = text_of(row.get("recorded_at"))
    with suppress(ValueError):
        time = parsedate_to_datetime(time).isoformat()  # HTTP's date format (VCR for Ruby)
    method = text_of(request.get("method")) or "POST"
    url = request.get("uri", request.get("url"))
    return CapturedRequest(
        method, url, headers=request.get("headers"), body=_body(request), time=time
    )


def _body(message: Mapping[str, Any]) -> Any:
    if "parsed_body" in message:
        return message["parsed_body"]
    body = message.get("body")
    if not isinstance(body, Mapping):
        return body
    return bytes_of(body["base64_string"]) if "base64_string" in body else body.get("string")


class CassetteReader(TrafficReader):
    """A `Reader` of cassettes."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Read the exchanges of a cassette."""
        rows = _interactions(value)
        if not rows:
            self._problems.note(line, "this is no cassette", value)
        # Not an attribute: a cycle of references would not be freed with its session.
        live, others = (LiveConversation(self), 0)
        for row in rows:
            if row.get("kind") == "message":
                (live.sent if row.get("direction") == "sent" else live.received)(row.get("data"))
            elif (request := _read_interaction(row)).is_of_model:
                response = object_of(row, "response")
                status = response.get("status")
                code = (
                    status.get("code")
                    if isinstance(status, Mapping)
                    else response.get("code", status)
                )
                self.tell(request, code, _body(response), response.get("headers"))
            else:
                others += 1
        if others:
            self.note(
                f"Interactions of the cassette that are not model calls were left out: {others:,}."
            )
