"""Call providers through their SDKs: one adapter per dialect. All of it runs in the provider's event loop.

Many other servers also understand OpenAI Chat Completions. With Responses, OpenAI can also compact.

The HTTP client under an SDK keeps the SDK's own limits, but uses no proxy from the environment for this machine.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects.anthropic import ANTHROPIC, read_wire_messages
from inspector.core.dialects.dialect import Dialect
from inspector.core.dialects.openai_chat import CHAT, read_chat_message
from inspector.core.dialects.openai_responses import RESPONSES, read_items
from inspector.core.dialects.tool_shapes import for_anthropic, for_chat, for_responses
from inspector.core.heavy import load_module
from inspector.core.jsontext import NotJson, loads
from inspector.core.message import Message, Part, ToolCall
from inspector.core.needs import Answer, ContextWindowExceeded, ProviderFailure, RemoteCompact
from inspector.core.untyped import object_of
from inspector.providers.failures import broken, reported_failure
from inspector.providers.requests import FrozenTools, sendable, without_cache_mark
from inspector.safety.keys import ApiKey
from inspector.safety.loopback import is_loopback

OnText: TypeAlias = Callable[[str], None]
"""Receives each piece of text as it arrives, on the provider's own thread."""

CONNECT_S = 15.0
DRAIN_S = 0.25
DEFAULT_OUTPUT = 8_192
"""Maximum number of output tokens that are requested if a provider requires a limit and the need has none."""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One model call. `tools` are the frozen tools of `buffer`; `timeout_s` limits the whole call."""

    buffer: Buffer
    max_tokens: int | None
    tools: FrozenTools
    stream: bool = True
    timeout_s: float | None = None


class ProviderAdapter:
    """Calls a model through one SDK, which is imported at the first call.

    `base_url` None uses the environment's setting or the provider's own URL. Calls with the same `session`
    (prompt_cache_key) share OpenAI's cache.
    """

    dialect: Dialect
    maker: str
    """The SDK's name, as its classes spell it."""
    errors: tuple[type[Exception], ...] = ()
    """Exceptions of the SDK; known once the SDK is imported."""
    ends_early = False
    """True if an answer can be complete before its stream ends."""

    def __init__(
        self, model: str, key: ApiKey, base_url: str | None = None, session: str = ""
    ) -> None:
        self.model = model
        self._key = key
        self._base_url = base_url
        self._session = session
        self._client: Any = None

    @staticmethod
    def shape(tool: Tool) -> Any:
        """Return a tool's definition in this provider's form; None if the tool cannot be offered to it."""
        raise NotImplementedError

    def client(self) -> Any:
        if self._client is None:
            sdk = load_module(self.maker.lower())
            import httpx2

            self.errors = (getattr(sdk, f"{self.maker}Error"), httpx2.HTTPError)
            self._client = getattr(sdk, f"Async{self.maker}")(
                api_key=self._key.reveal()
                or "none",  # OpenAI's SDK requires a key, even if the server does not
                base_url=self._base_url,
                max_retries=0,
                http_client=_http_client(self._base_url, f"{self.maker.upper()}_BASE_URL"),
            )
        return self._client

    def create(self, **options: Any) -> Any:
        raise NotImplementedError

    def body(self, call: ProviderRequest) -> dict[str, Any]:
        """Return the request's body, with the frozen tools."""
        body = self.dialect.write_body(call.buffer, self.model, call.max_tokens or DEFAULT_OUTPUT)
        body.pop("tools", None)
        tools = call.tools.definitions()
        return {**body, "tools": tools} if tools else body

    def read_answer(self, response: Mapping[str, Any], buffer: Buffer) -> Answer:
        """Convert a complete response into an answer. Raises Failure."""
        raise NotImplementedError

    def answer(
        self, response: Mapping[str, Any], messages: tuple[Message, ...], finish: str
    ) -> Answer:
        """Return an answer that holds these messages."""
        text = "\n".join(message.text for message in messages if message.text)
        return Answer(text, messages, self.dialect.usage(response.get("usage")), finish)

    async def send(self, call: ProviderRequest, on_text: OnText | None) -> Answer:
        """Make one model call. Raises Failure, or one of `errors`."""
        self.client()
        options = {**self.body(call), "timeout": timeout(call.timeout_s)}
        if call.stream:
            return self.read_answer(await self.assembled(options, on_text), call.buffer)
        answer = await self.create(**options)
        if not hasattr(answer, "to_dict"):  # the answer was not JSON
            raise broken("the server's answer could not be read")
        return self.read_answer(answer.to_dict(warnings=False), call.buffer)

    async def assembled(self, options: dict[str, Any], on_text: OnText | None) -> dict[str, Any]:
        assembler = self.dialect.assembler()
        async with await self.create(**options, stream=True) as stream:
            events = aiter(stream)
            async for event in events:
                text = assembler.feed(event.to_dict(warnings=False))
                if assembler.failure is not None:
                    raise reported_failure(assembler.failure)
                if text and on_text is not None:
                    on_text(text)
                if self.ends_early and assembler.finished:
                    await drain(events, self.errors)
                    break
        if not assembler.finished:
            raise broken()
        return assembler.body()

    async def compact(self, need: RemoteCompact) -> Answer:
        """Have the provider compact the messages. Raises Failure, or one of `errors`."""
        raise ProviderFailure("this provider cannot compact remotely", kind="missing")

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


def timeout(seconds: float | None) -> Any:
    """Return the SDK's timeout; the limit of the whole call is enforced elsewhere."""
    import httpx2

    return httpx2.Timeout(seconds, connect=CONNECT_S)


def _http_client(base_url: str | None, variable: str) -> Any:
    """Return an asynchronous httpx2 client for `base_url`, or for the URL in the environment `variable` if it is
    None.
    """
    import httpx2

    host = urlsplit(base_url or os.environ.get(variable, "")).hostname or ""
    is_local = is_loopback(host) or host == "localhost" or host.endswith(".localhost")
    return httpx2.AsyncClient(trust_env=not is_local, follow_redirects=not is_local)


async def drain(events: AsyncIterator[Any], errors: tuple[type[Exception], ...]) -> None:
    """Read on to the end of a stream whose answer is complete, for a short time at most.

    If a stream were left unfinished, the garbage collector would close it, on whatever thread it happens to run.
    """
    with suppress(TimeoutError, *errors):
        async with asyncio.timeout(DRAIN_S):
            async for _ in events:
                pass


def fresh_message_id(wire_id: Any, buffer: Buffer) -> str:
    """Return the provider's own id, or a new one if it is missing or used already (some servers always send the
    same).
    """
    used_ids = {message.id for message in buffer.messages}
    name = wire_id if isinstance(wire_id, str) and wire_id else "answer"
    fresh = name
    number = len(buffer.messages)
    while fresh in used_ids:
        fresh = f"{name}.{number}"
        number += 1
    return fresh


class AnthropicAdapter(ProviderAdapter):
    """Anthropic Messages, with one cache marker."""

    dialect = ANTHROPIC
    maker = "Anthropic"

    @staticmethod
    def shape(tool: Tool) -> Any:
        return without_cache_mark(for_anthropic(tool))

    def create(self, **options: Any) -> Any:
        return self.client().messages.create(**options)

    def body(self, call: ProviderRequest) -> dict[str, Any]:
        """Return the request, with one cache marker on the last block of the last message that can carry one."""
        body = super().body(call)
        put_cache_marker(body["messages"])
        return body

    def read_answer(self, response: Mapping[str, Any], buffer: Buffer) -> Answer:
        """Read the answer. Raises ContextWindowExceeded if the model ran out of window."""
        if not isinstance(response.get("content"), list):
            raise broken("the server's answer is no message")
        finish = str(response.get("stop_reason") or "")
        if finish == "model_context_window_exceeded":
            raise ContextWindowExceeded("the model stopped: model_context_window_exceeded")
        read = read_wire_messages(
            "assistant", response["content"], id=fresh_message_id(response.get("id"), buffer)
        )
        messages = tuple(
            Message(message.id, "assistant", message.parts) for message in read if message.parts
        )
        return self.answer(response, messages, finish)


def _without_marker(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}


def put_cache_marker(messages: list[dict[str, Any]]) -> None:
    """Put a single cache marker on the last suitable block, and remove recorded ones: a request may have four at
    most.
    """
    for message in messages:
        if isinstance(message["content"], list):
            message["content"] = [_without_marker(block) for block in message["content"]]
    for message in reversed(messages):
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        for block in reversed(message["content"]):
            if block.get("type") in _MARKABLE and block.get("text") != "":
                block["cache_control"] = {"type": "ephemeral"}
                return


_MARKABLE = ("text", "image", "tool_use", "tool_result", "document")


class ChatAdapter(ProviderAdapter):
    """OpenAI Chat Completions. `session` is sent only to OpenAI itself, because other servers may reject unknown
    fields.
    """

    dialect = CHAT
    maker = "OpenAI"
    shape = staticmethod(for_chat)

    def create(self, **options: Any) -> Any:
        if "stream" in options:
            options["stream_options"] = {"include_usage": True}
        return self.client().chat.completions.create(**options)

    def body(self, call: ProviderRequest) -> dict[str, Any]:
        """Return the request's body. Servers other than OpenAI's get the older `max_tokens`, and no cache key."""
        body = super().body(call)
        is_openai = not self._base_url
        limit = body.pop("max_completion_tokens")
        if call.max_tokens is not None:
            body["max_completion_tokens" if is_openai else "max_tokens"] = limit
        if is_openai and self._session:
            body["prompt_cache_key"] = self._session
        return body

    def read_answer(self, response: Mapping[str, Any], buffer: Buffer) -> Answer:
        choices = response.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            raise broken("the server's answer is no completion")
        read = read_chat_message(
            choices[0].get("message") or {}, fresh_message_id(response.get("id"), buffer)
        )
        messages = tuple(_name_calls(message) for message in read if message.parts)
        return self.answer(response, messages, str(choices[0].get("finish_reason") or ""))


def _name_calls(message: Message) -> Message:
    """Give each call an id: some servers send none."""
    parts: list[Part] = []
    for index, part in enumerate(message.parts):
        unnamed = isinstance(part, ToolCall) and not part.id
        parts.append(replace(part, id=f"call_{message.id}_{index}") if unnamed else part)  # type: ignore[arg-type]
    return Message(message.id, "assistant", tuple(parts))


class ResponsesAdapter(ProviderAdapter):
    """OpenAI Responses, without storing anything at the provider."""

    dialect = RESPONSES
    maker = "OpenAI"
    shape = staticmethod(for_responses)
    ends_early = True

    def create(self, **options: Any) -> Any:
        return self.client().responses.create(**options)

    async def compact(self, need: RemoteCompact) -> Answer:
        """Return the messages of the provider's compaction, opaque items included; empty if it returned none."""
        buffer = Buffer(sendable(need.messages, (), anthropic=False), Prompt(need.instructions, ()))
        body = {
            key: value
            for key, value in self._keyed(RESPONSES.write_body(buffer, self.model, 0)).items()
            if key in _SHARED
        }
        raw = await self.client().responses.with_raw_response.compact(
            **body, timeout=timeout(need.timeout_s)
        )
        try:
            response = loads(raw.content)
        except NotJson as why:
            raise broken(f"the answer is not JSON: {why}") from None
        if not isinstance(response, Mapping) or not isinstance(response.get("output"), list):
            raise broken("the server's answer is no compaction")
        messages = read_items(response["output"], prefix=f"{response.get('id') or 'compaction'}-")
        return self.answer(response, messages, "compaction")

    def body(self, call: ProviderRequest) -> dict[str, Any]:
        body = super().body(call)
        if call.max_tokens is None:  # the server chooses
            del body["max_output_tokens"]
        return self._keyed(body)

    def _keyed(self, body: dict[str, Any]) -> dict[str, Any]:
        return body | ({"prompt_cache_key": self._session} if self._session else {})

    def read_answer(self, response: Mapping[str, Any], buffer: Buffer) -> Answer:
        if not isinstance(response.get("output"), list):
            raise broken("the server's answer is no response")
        if response.get("status") == "failed":
            raise reported_failure(object_of(response, "error"))
        name = fresh_message_id(response.get("id"), buffer)
        items = [item for item in read_items(response["output"], prefix=f"{name}-") if item.parts]
        messages = tuple(
            Message(item.id if index else name, item.role, item.parts, summary=item.summary)
            for index, item in enumerate(items)
        )
        return self.answer(response, messages, _finish(response))


_SHARED = ("model", "input", "instructions", "prompt_cache_key")


def _finish(response: Mapping[str, Any]) -> str:
    reason = object_of(response, "incomplete_details").get("reason")
    if reason == "max_output_tokens":
        return "max_tokens"
    return str(reason or response.get("status") or "")
