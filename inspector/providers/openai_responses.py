"""OpenAI Responses through the `openai` SDK, and both ways to have OpenAI compact."""

from collections.abc import Mapping
from typing import Any

from inspector.core.buffer import Buffer, Prompt
from inspector.core.dialects.openai_responses import read_items, read_usage, write_body
from inspector.core.jsontext import NotJson, loads
from inspector.core.message import Message
from inspector.core.needs import Answer, RemoteCompact
from inspector.providers.bodies import sendable
from inspector.providers.clients import OpenAIClient
from inspector.providers.dialect import DEFAULT_OUTPUT, Call, Compaction, OnText, broken, drain
from inspector.providers.gather_responses import ResponsesAnswer, failed
from inspector.providers.named import fresh_id
from inspector.providers.shapes import for_responses
from inspector.safety.keys import Key


class ResponsesDialect(OpenAIClient):
    """`session` = prompt_cache_key: all calls of a session share the provider's cache."""

    anthropic = False
    shape = staticmethod(for_responses)

    def __init__(self, model: str, key: Key, base_url: str | None = None, session: str = "") -> None:
        super().__init__(key, base_url)
        self.model = model
        self._session = session

    async def send(self, call: Call, on_text: OnText | None) -> Answer:
        """One model call."""
        client = self.opened()
        options = {**self._body(call), "timeout": self.timeout(call.timeout_s)}
        if not call.stream:
            found = await client.responses.create(**options)
            return read_answer(found.to_dict(warnings=False), call.buffer)
        return read_answer(await self._gathered(options, on_text), call.buffer)

    async def _gathered(self, options: dict[str, Any], on_text: OnText | None) -> dict[str, Any]:
        gathered = ResponsesAnswer()
        async with await self.opened().responses.create(**options, stream=True) as stream:
            events = aiter(stream)
            async for event in events:
                text = gathered.feed(event.to_dict(warnings=False))
                if text and on_text is not None:
                    on_text(text)
                if gathered.finished:
                    break
            await drain(events, self.errors)
        if not gathered.finished:
            raise broken()
        return gathered.response()

    async def compact(self, need: RemoteCompact, how: Compaction) -> Answer:
        """Its messages are what the provider returned, opaque ones included; none where it returned nothing."""
        buffer = Buffer(sendable(need.messages, (), anthropic=False), Prompt(need.instructions, ()))
        body = {key: value for key, value in self._keyed(write_body(buffer, self.model, 0)).items() if key in _SHARED}
        body["timeout"] = self.timeout(need.timeout_s)
        if how == "trigger":
            body |= {"input": [*body["input"], {"type": "compaction_trigger"}], "store": False}
            return read_compaction(await self._gathered(body, None))
        raw = await self.opened().responses.with_raw_response.compact(**body)
        try:
            found = loads(raw.content)
        except NotJson as why:
            raise broken(f"the answer is not JSON: {why}") from None
        return read_compaction(found)

    async def count(self, call: Call) -> int:
        """`/responses/input_tokens`: the provider's own count."""
        body = {key: value for key, value in self._body(call).items() if key in _COUNTED}
        found = await self.opened().responses.input_tokens.count(**body, timeout=self.timeout(call.timeout_s))
        return int(found.input_tokens)

    def _body(self, call: Call) -> dict[str, Any]:
        body = write_body(call.buffer, self.model, call.max_tokens or DEFAULT_OUTPUT)
        if call.max_tokens is None:  # the server decides
            del body["max_output_tokens"]
        body.pop("tools", None)
        if tools := call.tools.definitions():
            body["tools"] = tools
        return self._keyed(body)

    def _keyed(self, body: dict[str, Any]) -> dict[str, Any]:
        return body | ({"prompt_cache_key": self._session} if self._session else {})


_COUNTED = ("model", "input", "instructions", "tools")
_SHARED = ("model", "input", "instructions", "prompt_cache_key")


def read_answer(response: Mapping[str, Any], buffer: Buffer) -> Answer:
    """A whole response as an answer. Raises the Failure that it tells of."""
    if not isinstance(response.get("output"), list):
        raise broken("the server's answer is no response")
    if response.get("status") == "failed":
        raise failed(dict(response))
    id_ = fresh_id(response.get("id"), buffer)
    found = read_items(response["output"], prefix=f"{id_}-")
    said = tuple(
        Message(id_ if n == 0 else one.id, one.role, one.parts, summary=one.summary)
        for n, one in enumerate(one for one in found if one.parts)
    )
    text = "\n".join(one.text for one in said if one.text)
    return Answer(text, said, read_usage(response.get("usage")), _finish(response))


def _finish(response: Mapping[str, Any]) -> str:
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    if reason == "max_output_tokens":
        return "max_tokens"
    return str(reason or response.get("status") or "")


def read_compaction(response: Any) -> Answer:
    """What a compaction returned."""
    if not isinstance(response, Mapping) or not isinstance(response.get("output"), list):
        raise broken("the server's answer is no compaction")
    messages = read_items(response["output"], prefix=f"{response.get('id') or 'compaction'}-")
    text = "\n".join(one.text for one in messages if one.text)
    return Answer(text, messages, read_usage(response.get("usage")), "compaction")
