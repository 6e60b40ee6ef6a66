"""OpenAI Responses' stream put back together: events in, the whole response out, or what came of it.

Takes events as they come from anywhere: what is not of the expected shape is passed over.
"""

from collections.abc import Mapping
from typing import Any


class ResponsesGathering:
    """Feed every event; `response` is whole once `finished`."""

    def __init__(self) -> None:
        self.finished = False
        self.failure: Mapping[str, Any] | None = None
        """The error that the stream told of, where it did."""
        self._response: Mapping[str, Any] = {}
        self._items: dict[int, Mapping[str, Any]] = {}
        self._begun: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}

    def feed(self, event: Mapping[str, Any]) -> str:
        """The text that this event brought, if any."""
        kind, n = event.get("type"), event.get("output_index")
        place = n if isinstance(n, int) else len(self._items)
        match kind:
            case "response.created" | "response.in_progress":
                self._response = _object(event, "response")
            case "response.output_item.added":
                self._begun[place] = dict(_object(event, "item"))
            case "response.output_item.done":
                self._items[place] = _object(event, "item")
            case "response.completed" | "response.incomplete" | "response.done":
                self._response = _object(event, "response")
                self.finished = True
            case "response.failed":
                self._response = _object(event, "response")
                self.failure = _object(self._response, "error")
            case "error":
                self.failure = _object(event, "error") or event
            case str() if kind in _DELTAS and isinstance(delta := event.get("delta"), str):
                self._pieces.setdefault((place, _DELTAS[kind]), []).append(delta)
                return delta if kind == "response.output_text.delta" else ""
        return ""

    def response(self) -> dict[str, Any]:
        """The response. Some servers leave its output empty and send the items only one by one."""
        output = self._response.get("output")
        return {**self._response, "output": output if isinstance(output, list) and output else self._said()}

    def _said(self) -> list[Mapping[str, Any]]:
        """The items that were finished, and what came of the others."""
        pieces = {place for place, _ in self._pieces}
        places = sorted(self._items.keys() | (pieces if not self.finished else set()))
        return [self._items.get(place) or self._part(place) for place in places]

    def _part(self, place: int) -> Mapping[str, Any]:
        item = self._begun.get(place, {"type": "message", "role": "assistant"})
        told = {field: "".join(bits) for (at, field), bits in self._pieces.items() if at == place}
        if "text" in told:
            return item | {"content": [{"type": "output_text", "text": told["text"]}]}
        if "summary" in told:
            return item | {"summary": [{"type": "summary_text", "text": told["summary"]}]}
        return item | told


_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "summary",
    "response.reasoning_text.delta": "summary",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}
"""Where the text of a delta belongs in the item that it is a piece of."""


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, Mapping) else {}
