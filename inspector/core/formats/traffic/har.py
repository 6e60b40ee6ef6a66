"""HTTP archives: what a browser, a network tool or a recorder of tests saw, an entry an exchange.

Read are the entries that ask a model; pages, pictures and the like are counted. http://www.softwareishard.com/blog/har-12-spec/
"""

from collections.abc import Mapping
from typing import Any

from inspector.core.formats.format import Head
from inspector.core.formats.traffic.frames import FramePairs, is_create
from inspector.core.formats.traffic.log import CapturedRequest, TrafficReader, asks_model
from inspector.core.formats.traffic.plain import bytes_of, plain_body
from inspector.core.untyped import object_of, objects_of, text_of


def sniff(head: Head) -> float:
    """Sure of an archive in which a model is asked."""
    return 0.97 if any(map(_is_models, entries_of(head.document))) else 0.0


def entries_of(value: Any) -> list[Mapping[str, Any]]:
    """The entries of an archive in the order of their time; none where it is none."""
    return sorted(
        objects_of(object_of(value, "log").get("entries")), key=lambda one: text_of(one.get("startedDateTime"))
    )


def _is_models(entry: Mapping[str, Any]) -> bool:
    request = object_of(entry, "request")
    method, body = text_of(request.get("method")), _posted(request)
    if method.upper() == "GET" and not body and not entry.get("_webSocketMessages"):
        return False
    return asks_model(method, request.get("url"), body)


def _posted(request: Mapping[str, Any]) -> Any:
    posted = object_of(request, "postData")
    return plain_body(_unpacked(posted.get("text")) if posted.get("encoding") == "base64" else posted.get("text"))


class HarReader(TrafficReader):
    """Of an archive."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take the archive."""
        entries = entries_of(value)
        if not entries:
            self.skip(line, "this is no HTTP archive", value)
        found = [entry for entry in entries if _is_models(entry)]
        for entry in found:
            self._entry(entry)
        if others := len(entries) - len(found):
            self.note(f"Of the archive's entries {others:,} ask no model; they were left out.")

    def _entry(self, entry: Mapping[str, Any]) -> None:
        request, response = object_of(entry, "request"), object_of(entry, "response")
        url, headers, time = request.get("url"), request.get("headers"), text_of(entry.get("startedDateTime"))
        frames = objects_of(entry.get("_webSocketMessages"))
        if any(is_create(one.get("data")) for one in frames):
            pairs = FramePairs(self, "WEBSOCKET", url, headers)
            for one in frames:
                (pairs.up if one.get("type") == "send" else pairs.down)(one.get("data"), 0)
            pairs.end(0)
            return
        content = object_of(response, "content")
        body = content.get("text")
        if content.get("encoding") == "base64":
            body = _unpacked(body)
        came = {"elapsed_ms": entry.get("time"), "size": response.get("bodySize"), "error": response.get("_error")}
        status = response.get("status") or None
        method, size = text_of(request.get("method")), request.get("bodySize")
        asked = CapturedRequest(method, url, headers, _posted(request), time, size)
        self.tell(asked, status, body, response.get("headers"), **came)


def _unpacked(text: Any) -> bytes:
    """What stands in base64: in one piece, or in a list of pieces as text (Polly.JS, of packed bodies)."""
    told = plain_body(text)
    return b"".join(map(bytes_of, told if isinstance(told, list) else [text]))
