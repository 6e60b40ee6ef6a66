"""Anthropic's stream put back together: events in, the whole message out as a call without streaming returns it."""

from typing import Any

from inspector.core.jsontext import NotJson, loads


class AnthropicGathering:
    """Feed every event; `message` is whole once `finished`."""

    def __init__(self) -> None:
        self.finished = False
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}

    def feed(self, event: dict[str, Any]) -> str:
        """The text that this event brought, if any."""
        match event.get("type"):
            case "message_start":
                self._message = dict(event.get("message") or {})
            case "content_block_start":
                self._blocks[event["index"]] = dict(event.get("content_block") or {})
            case "content_block_delta":
                return self._delta(event["index"], event.get("delta") or {})
            case "message_delta":
                self._message |= event.get("delta") or {}
                usage = {key: value for key, value in (event.get("usage") or {}).items() if value is not None}
                self._message["usage"] = {**(self._message.get("usage") or {}), **usage}
            case "message_stop":
                self.finished = True
        return ""

    def _delta(self, n: int, delta: dict[str, Any]) -> str:
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
            block[field] = _arguments(text) if field == "input" else (block.get(field) or "") + text
        self._pieces.clear()
        return {**self._message, "content": [self._blocks[n] for n in sorted(self._blocks)]}


def _arguments(text: str) -> Any:
    """The arguments of a call; as text where a model wrote what is no JSON (a call that was cut off)."""
    try:
        return loads(text.encode("utf-8", "replace")) if text.strip() else {}
    except NotJson:
        return text
