"""A Responses stream while it comes in: gathered as any other, and a failure that it tells of is raised."""

from collections.abc import Mapping
from typing import Any

from inspector.core.dialects.gather_responses import ResponsesGathering
from inspector.providers.failures import told_failure


class ResponsesAnswer(ResponsesGathering):
    """Feed every event; `response` is whole once `finished`."""

    def feed(self, event: Mapping[str, Any]) -> str:
        """The text that this event brought, if any. Raises Failure where the response failed."""
        text = super().feed(event)
        if self.failure is not None:
            raise failed({"error": self.failure})
        return text


def failed(response: Mapping[str, Any]) -> Exception:
    """The failure that a response tells of."""
    error = response.get("error") or {}
    return told_failure(str(error.get("code") or ""), str(error.get("message") or "the response failed"))
