"""Anthropic Messages through the `anthropic` SDK."""

from collections.abc import Mapping
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.anthropic import read_messages, write_body
from inspector.core.dialects.anthropic_usage import read_usage
from inspector.core.dialects.gather_anthropic import AnthropicGathering
from inspector.core.heavy import load
from inspector.core.message import Message
from inspector.core.needs import Answer, ContextWindowExceeded, ProviderFailure, RemoteCompact
from inspector.providers.clients import http_client
from inspector.providers.dialect import CONNECT_S, DEFAULT_OUTPUT, Call, Compaction, OnText, broken
from inspector.providers.named import fresh_id
from inspector.providers.shapes import for_anthropic
from inspector.safety.keys import Key


class AnthropicDialect:
    """`base_url` None = Anthropic's own, or what ANTHROPIC_BASE_URL says."""

    anthropic = True
    shape = staticmethod(for_anthropic)
    errors: tuple[type[Exception], ...] = ()

    def __init__(self, model: str, key: Key, base_url: str | None = None) -> None:
        self.model = model
        self._key = key
        self._base_url = base_url
        self._client: Any = None

    def _opened(self) -> Any:
        if self._client is None:
            load("anthropic")
            import anthropic
            import httpx2

            self.errors = (anthropic.AnthropicError, httpx2.HTTPError)
            self._client = anthropic.AsyncAnthropic(
                api_key=self._key.reveal(),
                base_url=self._base_url,
                max_retries=0,
                http_client=http_client(self._base_url, "ANTHROPIC_BASE_URL"),
            )
        return self._client

    async def send(self, call: Call, on_text: OnText | None) -> Answer:
        """One model call."""
        client = self._opened()
        options = {**body(call, self.model), "timeout": _timeout(call)}
        if not call.stream:
            return read_answer((await client.messages.create(**options)).to_dict(warnings=False), call.buffer)
        gathered = AnthropicGathering()
        async with await client.messages.create(**options, stream=True) as events:
            async for event in events:
                text = gathered.feed(event.to_dict(warnings=False))
                if text and on_text is not None:
                    on_text(text)
        if not gathered.finished:
            raise broken()
        return read_answer(gathered.message(), call.buffer)

    async def compact(self, need: RemoteCompact, how: Compaction) -> Answer:
        """Anthropic has no such endpoint."""
        raise ProviderFailure("this provider cannot compact remotely", kind="missing")

    async def count(self, call: Call) -> int:
        """`count_tokens`: the provider's own count, without paying for an answer."""
        wanted = {key: value for key, value in body(call, self.model).items() if key != "max_tokens"}
        found = await self._opened().messages.count_tokens(**wanted, timeout=_timeout(call))
        return int(found.input_tokens)

    async def close(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.close()


def _timeout(call: Call) -> Any:
    import httpx2

    return httpx2.Timeout(call.timeout_s, connect=CONNECT_S)


def body(call: Call, model: str) -> dict[str, Any]:
    """The request, with one cache marker on the last block of the last message that can carry one."""
    found = write_body(call.buffer, model, call.max_tokens or DEFAULT_OUTPUT)
    found.pop("tools", None)
    if tools := call.tools.definitions():
        found["tools"] = tools
    mark(found["messages"])
    return found


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


def read_answer(message: Mapping[str, Any], buffer: Buffer) -> Answer:
    """A whole message as an answer. Raises ContextWindowExceeded where the model ran out of window."""
    if not isinstance(message.get("content"), list):
        raise broken("the server's answer is no message")
    finish = str(message.get("stop_reason") or "")
    if finish == "model_context_window_exceeded":
        raise ContextWindowExceeded("the model stopped: model_context_window_exceeded")
    found = read_messages("assistant", message["content"], id=fresh_id(message.get("id"), buffer))
    said = tuple(Message(one.id, "assistant", one.parts) for one in found if one.parts)
    text = "\n".join(one.text for one in said if one.text)
    return Answer(text, said, read_usage(message.get("usage")), finish)
