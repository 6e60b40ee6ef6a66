"""Chat Completions through the `openai` SDK: OpenAI's, and any server that speaks like it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.gather_chat import ChatGathering
from inspector.core.dialects.openai_chat import read_message, read_usage, write_body
from inspector.core.message import Message, Part, ToolCall
from inspector.core.needs import Answer, ProviderFailure, RemoteCompact
from inspector.providers.clients import OpenAIClient
from inspector.providers.dialect import DEFAULT_OUTPUT, Call, Compaction, OnText, broken
from inspector.providers.named import fresh_id
from inspector.providers.shapes import for_chat
from inspector.safety.keys import Key


class ChatDialect(OpenAIClient):
    """`session` (prompt_cache_key) is for OpenAI itself: not every other server takes a field it does not know."""

    anthropic = False
    shape = staticmethod(for_chat)

    def __init__(self, model: str, key: Key, base_url: str | None = None, session: str = "") -> None:
        super().__init__(key, base_url)
        self.model = model
        self._session = session
        self._is_openai = base_url is None

    async def send(self, call: Call, on_text: OnText | None) -> Answer:
        """One model call."""
        client = self.opened()
        options = {**self._body(call), "timeout": self.timeout(call.timeout_s)}
        if not call.stream:
            found = await client.chat.completions.create(**options)
            if not hasattr(found, "to_dict"):  # no JSON came
                raise broken("the server's answer is no completion")
            return read_answer(found.to_dict(warnings=False), call.buffer)
        gathered = ChatGathering()
        options["stream_options"] = {"include_usage": True}
        async with await client.chat.completions.create(**options, stream=True) as chunks:
            async for chunk in chunks:
                text = gathered.feed(chunk.to_dict(warnings=False))
                if text and on_text is not None:
                    on_text(text)
        if not gathered.finished:
            raise broken()
        return read_answer(gathered.completion(), call.buffer)

    async def compact(self, need: RemoteCompact, how: Compaction) -> Answer:
        """Chat Completions has no such thing."""
        raise ProviderFailure("this provider cannot compact remotely", kind="missing")

    async def count(self, call: Call) -> int:
        """Nor this."""
        raise ProviderFailure("this provider does not count tokens", kind="missing")

    def _body(self, call: Call) -> dict[str, Any]:
        body = write_body(call.buffer, self.model, call.max_tokens or DEFAULT_OUTPUT)
        asked = body.pop("max_completion_tokens")
        if call.max_tokens is not None:
            body["max_completion_tokens" if self._is_openai else "max_tokens"] = asked
        body.pop("tools", None)
        if tools := call.tools.definitions():
            body["tools"] = tools
        return body | ({"prompt_cache_key": self._session} if self._session else {})


def read_answer(completion: Mapping[str, Any], buffer: Buffer) -> Answer:
    """A whole completion as an answer."""
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise broken("the server's answer is no completion")
    id_ = fresh_id(completion.get("id"), buffer)
    found = read_message(choices[0].get("message") or {}, id=id_)
    said = tuple(_named(one) for one in found if one.parts)
    text = "\n".join(one.text for one in said if one.text)
    finish = str(choices[0].get("finish_reason") or "")
    return Answer(text, said, read_usage(completion.get("usage")), finish)


def _named(message: Message) -> Message:
    """Each call with an id: some servers send none."""
    parts: list[Part] = []
    for n, part in enumerate(message.parts):
        unnamed = isinstance(part, ToolCall) and not part.id
        parts.append(replace(part, id=f"call_{message.id}_{n}") if unnamed else part)  # type: ignore[arg-type]
    return Message(message.id, "assistant", tuple(parts))
