"""OpenAI Responses' stream put back together: events in, the whole response out."""

from typing import Any

from inspector.live.providers.failures import told_failure


class ResponsesGathering:
    """Feed every event; `response` is whole once `finished`."""

    def __init__(self) -> None:
        self.finished = False
        self._response: dict[str, Any] = {}
        self._items: dict[int, dict[str, Any]] = {}

    def feed(self, event: dict[str, Any]) -> str:
        """The text that this event brought, if any. Raises Failure where the response failed."""
        match event.get("type"):
            case "response.output_text.delta":
                return str(event.get("delta") or "")
            case "response.output_item.done":
                self._items[event.get("output_index", len(self._items))] = event.get("item") or {}
            case "response.completed" | "response.incomplete":
                self._response = event.get("response") or {}
                self.finished = True
            case "response.failed":
                raise failed(event.get("response") or {})
            case "error":
                raise told_failure(str(event.get("code") or ""), str(event.get("message") or ""))
        return ""

    def response(self) -> dict[str, Any]:
        """The response. Some servers leave its output empty and send the items only one by one."""
        items = [self._items[n] for n in sorted(self._items)]
        return {**self._response, "output": self._response.get("output") or items}


def failed(response: dict[str, Any]) -> Exception:
    """The failure that a response tells of."""
    error = response.get("error") or {}
    return told_failure(str(error.get("code") or ""), str(error.get("message") or "the response failed"))
