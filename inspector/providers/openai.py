"""OpenAI through the `openai` SDK: Chat Completions (any server that speaks like it), and Responses with both ways to
have OpenAI compact.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inspector.core.buffer import Buffer, Prompt
from inspector.core.dialects.openai_chat import CHAT, read_message
from inspector.core.dialects.openai_responses import RESPONSES, read_items
from inspector.core.jsontext import NotJson, loads
from inspector.core.message import Message, Part, ToolCall
from inspector.core.needs import Answer, RemoteCompact
from inspector.core.untyped import object_of
from inspector.providers.adapter import (
    Compaction,
    ProviderAdapter,
    ProviderRequest,
    fresh_id,
    timeout,
)
from inspector.providers.failures import broken, reported_failure
from inspector.providers.requests import for_chat, for_responses, sendable


class ChatAdapter(ProviderAdapter):
    """`session` is for OpenAI itself: not every other server takes a field it does not know."""

    dialect = CHAT
    maker = "OpenAI"
    shape = staticmethod(for_chat)

    def create(self, **options: Any) -> Any:
        if "stream" in options:
            options["stream_options"] = {"include_usage": True}
        return self.client().chat.completions.create(**options)

    def body(self, call: ProviderRequest) -> dict[str, Any]:
        body = super().body(call)
        asked = body.pop("max_completion_tokens")
        if call.max_tokens is not None:
            body["max_tokens" if self._base_url else "max_completion_tokens"] = asked
        return body | ({"prompt_cache_key": self._session} if self._session and not self._base_url else {})

    def read_answer(self, response: Mapping[str, Any], buffer: Buffer) -> Answer:
        choices = response.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            raise broken("the server's answer is no completion")
        found = read_message(choices[0].get("message") or {}, fresh_id(response.get("id"), buffer))
        said = tuple(_named(one) for one in found if one.parts)
        return self.answer(response, said, str(choices[0].get("finish_reason") or ""))


def _named(message: Message) -> Message:
    """Each call with an id: some servers send none."""
    parts: list[Part] = []
    for n, part in enumerate(message.parts):
        unnamed = isinstance(part, ToolCall) and not part.id
        parts.append(replace(part, id=f"call_{message.id}_{n}") if unnamed else part)  # type: ignore[arg-type]
    return Message(message.id, "assistant", tuple(parts))


class ResponsesAdapter(ProviderAdapter):
    """Responses, nothing of them stored at the provider."""

    dialect = RESPONSES
    maker = "OpenAI"
    shape = staticmethod(for_responses)
    ends_early = True

    def create(self, **options: Any) -> Any:
        return self.client().responses.create(**options)

    async def compact(self, need: RemoteCompact, how: Compaction) -> Answer:
        """Its messages are what the provider returned, opaque ones included; none where it returned nothing."""
        buffer = Buffer(sendable(need.messages, (), anthropic=False), Prompt(need.instructions, ()))
        body = {
            key: value
            for key, value in self._keyed(RESPONSES.write_body(buffer, self.model, 0)).items()
            if key in _SHARED
        }
        client = self.client()
        body["timeout"] = timeout(need.timeout_s)
        if how == "trigger":
            body |= {"input": [*body["input"], {"type": "compaction_trigger"}], "store": False}
            return self._compaction(await self.assembled(body, None))
        raw = await client.responses.with_raw_response.compact(**body)
        try:
            found = loads(raw.content)
        except NotJson as why:
            raise broken(f"the answer is not JSON: {why}") from None
        return self._compaction(found)

    def _compaction(self, response: Any) -> Answer:
        if not isinstance(response, Mapping) or not isinstance(response.get("output"), list):
            raise broken("the server's answer is no compaction")
        messages = read_items(response["output"], prefix=f"{response.get('id') or 'compaction'}-")
        return self.answer(response, messages, "compaction")

    def body(self, call: ProviderRequest) -> dict[str, Any]:
        body = super().body(call)
        if call.max_tokens is None:  # the server decides
            del body["max_output_tokens"]
        return self._keyed(body)

    def _keyed(self, body: dict[str, Any]) -> dict[str, Any]:
        return body | ({"prompt_cache_key": self._session} if self._session else {})

    def read_answer(self, response: Mapping[str, Any], buffer: Buffer) -> Answer:
        if not isinstance(response.get("output"), list):
            raise broken("the server's answer is no response")
        if response.get("status") == "failed":
            raise reported_failure(object_of(response, "error"))
        name = fresh_id(response.get("id"), buffer)
        found = [one for one in read_items(response["output"], prefix=f"{name}-") if one.parts]
        said = tuple(
            Message(one.id if n else name, one.role, one.parts, summary=one.summary) for n, one in enumerate(found)
        )
        return self.answer(response, said, _finish(response))


_SHARED = ("model", "input", "instructions", "prompt_cache_key")


def _finish(response: Mapping[str, Any]) -> str:
    reason = object_of(response, "incomplete_details").get("reason")
    return "max_tokens" if reason == "max_output_tokens" else str(reason or response.get("status") or "")
