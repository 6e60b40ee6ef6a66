"""Anthropic's stream put back together: events in, the whole message out as a call without streaming returns it.

Takes events as they come from anywhere: what is not of the expected shape is passed over.
"""

from collections.abc import Mapping
from typing import Any

from inspector.core.jsontext import NotJson, loads


class AnthropicGathering:
    """Feed every event; `message` is whole once `finished`."""

    def __init__(self) -> None:
        self.finished = False
        self.failure: Mapping[str, Any] | None = None
        """The error that the stream told of, where it did."""
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}

    def feed(self, event: Mapping[str, Any]) -> str:
        """The text that this event brought, if any."""
        n = event.get("index")
        match event.get("type"):
            case "message_start":
                self._message = dict(_object(event, "message"))
            case "content_block_start" if isinstance(n, int):
                self._blocks[n] = dict(_object(event, "content_block"))
            case "content_block_delta" if isinstance(n, int):
                return self._delta(n, _object(event, "delta"))
            case "message_delta":
                self._ended(event)
            case "message_stop":
                self.finished = True
            case "error":
                self.failure = _object(event, "error")
        return ""

    def _ended(self, event: Mapping[str, Any]) -> None:
        self._message |= _object(event, "delta")
        if "context_management" in event:
            self._message["context_management"] = event["context_management"]
        usage = {key: value for key, value in _object(event, "usage").items() if value is not None}
        self._message["usage"] = {**_object(self._message, "usage"), **usage}

    def _delta(self, n: int, delta: Mapping[str, Any]) -> str:
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                self._add(n, "text", text)
                return text
            case {"type": "input_json_delta", "partial_json": str(text)}:
                self._add(n, "input", text)
            case {"type": "thinking_delta", "thinking": str(text)}:
                self._add(n, "thinking", text)
            case {"type": "signature_delta", "signature": str(text)}:
                self._add(n, "signature", text)
            case {"type": "compaction_delta"}:
                block = self._blocks.setdefault(n, {})
                block |= {key: value for key, value in delta.items() if key != "type" and value is not None}
        return ""

    def _add(self, n: int, field: str, text: str) -> None:
        self._pieces.setdefault((n, field), []).append(text)

    def message(self) -> dict[str, Any]:
        """What has come so far."""
        for (n, field), pieces in self._pieces.items():
            block, text = self._blocks.setdefault(n, {"type": "text"}), "".join(pieces)
            begun = block.get(field)
            block[field] = _arguments(text) if field == "input" else (begun if isinstance(begun, str) else "") + text
        self._pieces.clear()
        return {**self._message, "content": [self._blocks[n] for n in sorted(self._blocks)]}


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, Mapping) else {}


def _arguments(text: str) -> Any:
    """The arguments of a call; as text where a model wrote what is no JSON (a call that was cut off)."""
    try:
        return loads(text.encode("utf-8", "replace")) if text.strip() else {}
    except NotJson:
        return text
