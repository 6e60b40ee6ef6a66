"""Anthropic Messages through the `anthropic` SDK."""

from collections.abc import Mapping
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.anthropic import ANTHROPIC, read_messages
from inspector.core.message import Message
from inspector.core.needs import Answer, ContextWindowExceeded
from inspector.providers.adapter import ProviderAdapter, ProviderRequest, fresh_id
from inspector.providers.failures import broken
from inspector.providers.requests import for_anthropic


class AnthropicAdapter(ProviderAdapter):
    """Messages, with one cache marker."""

    dialect = ANTHROPIC
    maker = "Anthropic"
    shape = staticmethod(for_anthropic)

    def create(self, **options: Any) -> Any:
        return self.client().messages.create(**options)

    def body(self, call: ProviderRequest) -> dict[str, Any]:
        """The request, with one cache marker on the last block of the last message that can carry one."""
        found = super().body(call)
        mark(found["messages"])
        return found

    def read_answer(self, response: Mapping[str, Any], buffer: Buffer) -> Answer:
        """Raises ContextWindowExceeded where the model ran out of window."""
        if not isinstance(response.get("content"), list):
            raise broken("the server's answer is no message")
        finish = str(response.get("stop_reason") or "")
        if finish == "model_context_window_exceeded":
            raise ContextWindowExceeded("the model stopped: model_context_window_exceeded")
        found = read_messages("assistant", response["content"], id=fresh_id(response.get("id"), buffer))
        said = tuple(Message(one.id, "assistant", one.parts) for one in found if one.parts)
        return self.answer(response, said, finish)


def mark(messages: list[dict[str, Any]]) -> None:
    """Put the one marker there; recorded ones are taken off (four are the most a request may have)."""
    for message in messages:
        if isinstance(message["content"], list):
            message["content"] = [
                {key: value for key, value in block.items() if key != "cache_control"} for block in message["content"]
            ]
    for message in reversed(messages):
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        for block in reversed(message["content"]):
            if block.get("type") in _MARKABLE and block.get("text") != "":
                block["cache_control"] = {"type": "ephemeral"}
                return


_MARKABLE = ("text", "image", "tool_use", "tool_result", "document")
