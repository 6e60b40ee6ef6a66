"""Cassettes of VCR and its relatives (VCR.py, VCR for Ruby, go-vcr): what a test sent and got, an interaction each.

The calls of a test need not belong to one conversation; they are in order, and have no times. Bodies are texts, or
stand under `parsed_body` as values. Interactions of the kind `message` are those of a WebSocket, each way.
"""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from inspector.core.formats.format import Head
from inspector.core.formats.traffic.live import LiveConversation, is_setup
from inspector.core.formats.traffic.log import CapturedRequest, TrafficReader, asks_model
from inspector.core.formats.traffic.plain import bytes_of
from inspector.core.untyped import fields_of, object_of, objects_of, text_of


def sniff(head: Head) -> float:
    """Sure of a cassette in which a model is asked."""
    rows = _interactions(head.document)
    return 0.97 if any(_is_models(one) or is_setup(one.get("data")) for one in rows) else 0.0


def _interactions(value: Any) -> list[Mapping[str, Any]]:
    told = fields_of(value)
    return objects_of(told.get("interactions", told.get("http_interactions")))


def _is_models(one: Mapping[str, Any]) -> bool:
    request = object_of(one, "request")
    return asks_model(text_of(request.get("method")) or "POST", request.get("uri", request.get("url")), _body(request))


def _body(told: Mapping[str, Any]) -> Any:
    if "parsed_body" in told:
        return told["parsed_body"]
    body = told.get("body")
    if not isinstance(body, Mapping):
        return body
    return bytes_of(body["base64_string"]) if "base64_string" in body else body.get("string")


class CassetteReader(TrafficReader):
    """Of a cassette."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take the cassette."""
        rows = _interactions(value)
        if not rows:
            self.skip(line, "this is no cassette", value)
        live, others = LiveConversation(self), 0  # not kept: what holds itself is not freed with its session
        for one in rows:
            if one.get("kind") == "message":
                (live.sent if one.get("direction") == "sent" else live.received)(one.get("data"))
            elif _is_models(one):
                self._interaction(one)
            else:
                others += 1
        if others:
            self.note(f"Of the cassette's interactions {others:,} ask no model; they were left out.")

    def _interaction(self, one: Mapping[str, Any]) -> None:
        request, response = object_of(one, "request"), object_of(one, "response")
        method, time = text_of(request.get("method")) or "POST", _time(one.get("recorded_at"))
        asked = CapturedRequest(
            method, request.get("uri", request.get("url")), request.get("headers"), _body(request), time
        )
        status = response.get("status")
        code = status.get("code") if isinstance(status, Mapping) else response.get("code", status)
        self.tell(asked, code, _body(response), response.get("headers"))


def _time(value: Any) -> str:
    """In ISO 8601, of a time as HTTP has it (VCR for Ruby); empty where there is none."""
    try:
        return parsedate_to_datetime(value).isoformat()
    except (ValueError, TypeError):
        return text_of(value)
