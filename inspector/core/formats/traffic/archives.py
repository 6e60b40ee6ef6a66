"""Documents that hold exchanges over HTTP: archives, cassettes. Read are those that ask a model; others are counted.

HTTP archives are what a browser, a network tool or a recorder of tests saw, an entry an exchange.
http://www.softwareishard.com/blog/har-12-spec/

Cassettes of VCR and its relatives (VCR.py, VCR for Ruby, go-vcr) are what a test sent and got, an interaction each. The
calls of a test need not belong to one conversation; they are in order, and have no times. Bodies are texts, or stand
under `parsed_body` as values. Interactions of the kind `message` are those of a WebSocket, each way.
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
    """Sure of an archive in which a model is asked."""
    return 0.97 if any(map(_is_models, _entries(head.document))) else 0.0


def _entries(value: Any) -> list[Mapping[str, Any]]:
    """In the order of their time."""
    entries = objects_of(object_of(value, "log").get("entries"))
    return sorted(entries, key=lambda entry: text_of(entry.get("startedDateTime")))


def _is_models(entry: Mapping[str, Any]) -> bool:
    request = _read_entry(entry)
    is_empty = not request.body and not entry.get("_webSocketMessages")
    return not (request.method.upper() == "GET" and is_empty) and request.is_of_model


def _read_entry(entry: Mapping[str, Any]) -> CapturedRequest:
    request = object_of(entry, "request")
    body, time = (
        plain_body(_content(object_of(request, "postData"))),
        text_of(entry.get("startedDateTime")),
    )
    method, size = text_of(request.get("method")), request.get("bodySize")
    return CapturedRequest(method, request.get("url"), request.get("headers"), body, time, size)


def _content(content: Mapping[str, Any]) -> Any:
    """Return its text, also where it is in base64: whole, or a list of pieces (Polly.JS, of packed bodies)."""
    text = content.get("text")
    if content.get("encoding") != "base64":
        return text
    pieces = plain_body(text)
    return b"".join(map(bytes_of, pieces if isinstance(pieces, list) else [text]))


class HarReader(TrafficReader):
    """Reads the exchanges of an archive."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take the exchanges of an archive."""
        entries = _entries(value)
        if not entries:
            self._problems.note(line, "this is no HTTP archive", value)
        of_models = list(filter(_is_models, entries))
        for entry in of_models:
            self._entry(entry)
        if others := len(entries) - len(of_models):
            self.note(f"Of the archive's entries {others:,} ask no model; they were left out.")

    def _entry(self, entry: Mapping[str, Any]) -> None:
        request, response = _read_entry(entry), object_of(entry, "response")
        frames = objects_of(entry.get("_webSocketMessages"))
        if any(is_create(frame.get("data")) for frame in frames):
            pairs = FramePairs(self, "WEBSOCKET", request.url, request.headers)
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
    """Sure of a cassette in which a model is asked."""
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
    request, time = object_of(row, "request"), text_of(row.get("recorded_at"))
    with suppress(ValueError):
        time = parsedate_to_datetime(time).isoformat()  # as HTTP has it (VCR for Ruby)
    method, url = text_of(request.get("method")) or "POST", request.get("uri", request.get("url"))
    return CapturedRequest(method, url, request.get("headers"), _body(request), time)


def _body(message: Mapping[str, Any]) -> Any:
    if "parsed_body" in message:
        return message["parsed_body"]
    body = message.get("body")
    if not isinstance(body, Mapping):
        return body
    return bytes_of(body["base64_string"]) if "base64_string" in body else body.get("string")


class CassetteReader(TrafficReader):
    """Reads the exchanges of a cassette."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take the exchanges of a cassette."""
        rows = _interactions(value)
        if not rows:
            self._problems.note(line, "this is no cassette", value)
        live, others = (
            LiveConversation(self),
            0,
        )  # not kept: what holds itself is not freed with its session
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
                f"Of the cassette's interactions {others:,} ask no model; they were left out."
            )
