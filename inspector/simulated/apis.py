"""Three dialects of the simulated provider: Anthropic Messages, OpenAI Chat, Gemini.

Requests are read with each dialect's own functions; this module adds what only a server writes: answers, streams,
errors.
"""

from collections.abc import Iterator, Mapping, Sequence
from time import time
from typing import Any, TypeAlias

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects.anthropic import ANTHROPIC
from inspector.core.dialects.dialect import Dialect
from inspector.core.dialects.gemini import GEMINI
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.dialects.rewrite import read_wire_items
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.core.untyped import object_of
from inspector.simulated.arguments import lower_types
from inspector.simulated.call import SimulatedAnswer, SimulatedCall, TokensSpent, within
from inspector.simulated.faults import (
    ApiError,
    Fault,
    RequestRefused,
    anthropic_body,
    invalid,
    needed,
    openai_body,
    output_overflow,
    overflow,
    status_refusal,
)
from inspector.simulated.state import SimulatedServerState
from inspector.simulated.talk import speak, unseal

StreamEvent: TypeAlias = tuple[str, Any]
"""Name of a stream's event (empty if the dialect has no names), and its data."""


class SimulatedApi:
    """One provider's API: reads bodies and writes answers, complete or as the events of a stream."""

    dialect: Dialect
    needs: tuple[str, ...] = ("model", "messages")
    """Fields without which a request is refused."""
    answers_need: tuple[str, ...] = ()
    """Further fields that only a call for an answer must have."""

    def read(self, body: Mapping[str, Any]) -> SimulatedCall:
        needed(body, *self.needs)
        messages = tuple(map(unseal, read_wire_items(self.dialect.name, self.items(body))))
        buffer = Buffer(messages, self.prompt(body))
        model = str(body.get("model") or "")
        cache_key = str(body.get("prompt_cache_key") or "")
        is_stream = body.get("stream") is True
        return SimulatedCall(
            buffer,
            model,
            max_tokens=_limit(body),
            stream=is_stream,
            body=body,
            cached_upto=self.cached_upto(body, messages),
            session=cache_key,
        )

    def items(self, body: Mapping[str, Any]) -> list[Any]:
        return self.dialect.items(body)

    def prompt(self, body: Mapping[str, Any]) -> Prompt:
        return self.dialect.prompt(body)

    def cached_upto(self, body: Mapping[str, Any], messages: Sequence[Message]) -> int:
        """Return how many messages from the beginning may be cached."""
        return len(messages)

    def check(self, call: SimulatedCall, state: SimulatedServerState, fault: Fault) -> None:
        """Raise RequestRefused for a prompt whose calls and results do not pair up, or that does not fit into the
        window.
        """
        if (refusal := invalid(self.dialect.name, call)) is not None:
            raise RequestRefused(refusal)
        tokens = state.prompt_tokens(call)
        if fault.kind == "overflow-output" and self.dialect is ANTHROPIC:
            requested = call.max_tokens or 0
            raise RequestRefused(
                output_overflow(max(tokens, state.window - requested + 1), requested, state.window)
            )
        if tokens > state.window or fault.kind in ("overflow", "overflow-output"):
            raise RequestRefused(
                overflow(self.dialect.name, max(tokens, state.window + 1), state.window)
            )

    def reply(
        self, call: SimulatedCall, state: SimulatedServerState, fault: Fault, key: str
    ) -> dict[str, Any]:
        """Return the model's complete answer."""
        spoken = (
            SimulatedAnswer() if fault.kind == "empty" else within(speak(call), call.max_tokens)
        )
        return self.answer(call, spoken, state.spend(self.dialect.name, call, spoken, key))

    def late_refusal(self, state: SimulatedServerState, fault: Fault) -> ApiError:
        """Return the error that occurs within a stream."""
        if fault.kind == "overflow-late":
            return overflow(self.dialect.name, state.window + 1, state.window)
        return status_refusal(529)

    def answer(
        self, call: SimulatedCall, spoken: SimulatedAnswer, spent: TokensSpent
    ) -> dict[str, Any]:
        """Return the complete answer as JSON."""
        raise NotImplementedError

    def events(self, answer: dict[str, Any]) -> Iterator[StreamEvent]:
        """Yield the same answer as the events of a stream."""
        raise NotImplementedError

    def failed(self, refusal: ApiError) -> Iterator[StreamEvent]:
        """Yield the last events of a stream that fails."""
        yield "", self.refused(refusal)

    def alive(self) -> StreamEvent:
        """Return an event without content that only shows that the server is alive."""
        raise NotImplementedError

    def refused(self, refusal: ApiError) -> dict[str, Any]:
        return openai_body(refusal)


def _limit(body: Mapping[str, Any]) -> int | None:
    """Return the most tokens of the answer, from any of the fields that state it; None if none does."""
    limits = (body.get(key) for key in ("max_completion_tokens", "max_tokens", "max_output_tokens"))
    values = (*limits, object_of(body, "generationConfig").get("maxOutputTokens"))
    return next((value for value in values if type(value) is int and value > 0), None)


def pieces(text: str, size: int = 24) -> Iterator[str]:
    """Yield a text in the small pieces of a stream."""
    for start in range(0, len(text), size):
        yield text[start : start + size]


class AnthropicApi(SimulatedApi):
    """Anthropic Messages: `/v1/messages`."""

    dialect = ANTHROPIC
    answers_need = ("max_tokens",)

    def items(self, body: Mapping[str, Any]) -> list[Any]:
        wire = body["messages"]
        if not isinstance(wire, list) or not all(isinstance(message, dict) for message in wire):
            raise RequestRefused(
                ApiError(status=400, message="messages: Input should be a valid list")
            )
        blocks = [
            body.get("system"),
            body.get("tools"),
            *(message.get("content") for message in wire),
        ]
        marked = sum(map(_marked, blocks))
        if marked > MARKERS:
            words = (
                f"A maximum of {MARKERS} blocks with cache_control may be provided. Found {marked}."
            )
            raise RequestRefused(ApiError(status=400, message=words))
        return wire

    def cached_upto(self, body: Mapping[str, Any], messages: Sequence[Message]) -> int:
        """Return how many messages the last cache marker covers."""
        wire = body["messages"]
        last = max(
            (index for index, message in enumerate(wire) if _marked(message.get("content"))),
            default=-1,
        )
        return len(read_wire_items(self.dialect.name, wire[: last + 1]))

    def answer(
        self, call: SimulatedCall, spoken: SimulatedAnswer, spent: TokensSpent
    ) -> dict[str, Any]:
        content: list[dict[str, Any]] = (
            [{"type": "text", "text": spoken.text}] if spoken.text else []
        )
        for tool_call in spoken.calls:
            id_ = tool_call.id.replace("call_", "toolu_")
            content.append(
                {
                    "type": "tool_use",
                    "id": id_,
                    "name": tool_call.name,
                    "input": tool_call.arguments,
                }
            )
        return {
            "id": f"msg_{call.digest}",
            "type": "message",
            "role": "assistant",
            "model": call.model,
            "content": content,
            "stop_reason": {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens"}[
                spoken.finish
            ],
            "stop_sequence": None,
            "usage": {
                "input_tokens": spent.prompt - spent.read - spent.written,
                "cache_creation_input_tokens": spent.written,
                "cache_read_input_tokens": spent.read,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": spent.written,
                    "ephemeral_1h_input_tokens": 0,
                },
                "output_tokens": spent.output,
                "service_tier": "standard",
            },
        }

    def events(self, answer: dict[str, Any]) -> Iterator[StreamEvent]:
        begun = {
            **answer,
            "content": [],
            "stop_reason": None,
            "usage": {**answer["usage"], "output_tokens": 1},
        }
        yield _typed("message_start", message=begun)
        yield self.alive()
        for index, block in enumerate(answer["content"]):
            if block["type"] == "text":
                started: dict[str, Any] = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            else:
                started = {**block, "input": {}}
                bits = pieces(dumps(block["input"]))
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in bits]
            yield _typed("content_block_start", index=index, content_block=started)
            for delta in deltas:
                yield _typed("content_block_delta", index=index, delta=delta)
            yield _typed("content_block_stop", index=index)
        usage = {key: value for key, value in answer["usage"].items() if key.endswith("_tokens")}
        yield from self._end(answer["stop_reason"], usage)

    def _end(self, reason: str, usage: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield _typed(
            "message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage
        )
        yield _typed("message_stop")

    def failed(self, refusal: ApiError) -> Iterator[StreamEvent]:
        """Yield the end of a stream that fails: a stop reason for an overflow, otherwise an error event."""
        if "too long" in refusal.message:
            yield from self._end("model_context_window_exceeded", {"output_tokens": 1})
        else:
            yield "error", anthropic_body(refusal)

    def alive(self) -> StreamEvent:
        return _typed("ping")

    def refused(self, refusal: ApiError) -> dict[str, Any]:
        return anthropic_body(refusal)


MARKERS = 4
"""Largest number of `cache_control` markers in a request."""


def _typed(name: str, **data: Any) -> StreamEvent:
    return name, {"type": name, **data}


def _marked(blocks: Any) -> int:
    items = blocks if isinstance(blocks, list) else ()
    return sum(1 for block in items if isinstance(block, dict) and block.get("cache_control"))


class ChatApi(SimulatedApi):
    """OpenAI Chat Completions: `/v1/chat/completions`."""

    dialect = CHAT

    def items(self, body: Mapping[str, Any]) -> list[Any]:
        if not isinstance(body["messages"], list):
            words = "Invalid type for 'messages': expected an array."
            raise RequestRefused(ApiError(status=400, message=words, param="messages"))
        return body["messages"]

    def answer(
        self, call: SimulatedCall, spoken: SimulatedAnswer, spent: TokensSpent
    ) -> dict[str, Any]:
        """Return the complete answer. A stream includes its usage only if the request asked for it."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": spoken.text or None,
            "refusal": None,
        }
        if spoken.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": dumps(call.arguments)},
                }
                for call in spoken.calls
            ]
        includes_usage = (
            not call.stream or object_of(call.body, "stream_options").get("include_usage") is True
        )
        finish = {"stop": "stop", "calls": "tool_calls", "length": "length"}[spoken.finish]
        usage = {
            "prompt_tokens": spent.prompt,
            "completion_tokens": spent.output,
            "total_tokens": spent.prompt + spent.output,
            "prompt_tokens_details": {
                "cached_tokens": spent.read,
                "cache_write_tokens": spent.written,
            },
            "completion_tokens_details": {"reasoning_tokens": 0},
        }
        return {
            "id": f"chatcmpl-{call.digest}",
            "object": "chat.completion",
            "created": int(time()),
            "model": call.model,
            "choices": [
                {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
            ],
            "usage": usage if includes_usage else None,
        }

    def events(self, answer: dict[str, Any]) -> Iterator[StreamEvent]:
        head = {**_CHUNK, **{key: answer[key] for key in ("id", "created", "model")}}
        message = answer["choices"][0]["message"]
        yield _chunk(head, {"role": "assistant", "content": ""})
        for piece in pieces(message["content"] or ""):
            yield _chunk(head, {"content": piece})
        for index, call in enumerate(message.get("tool_calls", ())):
            function = {"name": call["function"]["name"], "arguments": ""}
            yield _chunk(head, {"tool_calls": [{**call, "index": index, "function": function}]})
            for piece in pieces(call["function"]["arguments"]):
                yield _chunk(
                    head, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                )
        yield _chunk(head, {}, answer["choices"][0]["finish_reason"])
        if answer["usage"]:
            yield "", {**head, "choices": [], "usage": answer["usage"]}
        yield "", "[DONE]"

    def alive(self) -> StreamEvent:
        return _chunk(
            {**_CHUNK, "id": "chatcmpl-alive", "created": int(time()), "model": ""}, {"content": ""}
        )


_CHUNK = {"object": "chat.completion.chunk"}


def _chunk(head: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> StreamEvent:
    return "", {
        **head,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}],
    }


class GeminiApi(SimulatedApi):
    """Gemini: `:generateContent` and `:streamGenerateContent`; `model` and `stream` are part of the path."""

    dialect = GEMINI
    needs = ()

    def items(self, body: Mapping[str, Any]) -> list[Any]:
        if not isinstance(body.get("contents"), list | Mapping):
            raise RequestRefused(
                ApiError(
                    status=400,
                    message="* GenerateContentRequest.contents: contents is not specified",
                )
            )
        return self.dialect.items(body)

    def prompt(self, body: Mapping[str, Any]) -> Prompt:
        prompt = self.dialect.prompt(body)
        return Prompt(
            prompt.system,
            tuple(Tool(tool.name, lower_types(tool.definition)) for tool in prompt.tools or ()),
        )

    def answer(
        self, call: SimulatedCall, spoken: SimulatedAnswer, spent: TokensSpent
    ) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [{"text": spoken.text}] if spoken.text else []
        parts += [
            {"functionCall": {"name": call.name, "args": call.arguments}} for call in spoken.calls
        ]
        finish = "MAX_TOKENS" if spoken.finish == "length" else "STOP"
        return {
            "candidates": [
                {"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}
            ],
            "usageMetadata": {
                "promptTokenCount": spent.prompt,
                "candidatesTokenCount": spent.output,
                "totalTokenCount": spent.prompt + spent.output,
                **({"cachedContentTokenCount": spent.read} if spent.read else {}),
            },
            "modelVersion": call.model,
            "responseId": call.digest,
        }

    def events(self, answer: dict[str, Any]) -> Iterator[StreamEvent]:
        """Yield text in pieces and calls whole, with the usage in every chunk."""
        head = {key: answer[key] for key in ("modelVersion", "responseId")}
        candidate = answer["candidates"][0]
        usage = {
            key: value
            for key, value in answer["usageMetadata"].items()
            if key != "candidatesTokenCount"
        }
        for part in candidate["content"]["parts"]:
            for chunk in (
                [{"text": piece} for piece in pieces(part["text"])] if "text" in part else [part]
            ):
                yield "", {**head, **_candidate(chunk), "usageMetadata": usage}
        last = _candidate({"text": ""}, finishReason=candidate["finishReason"])
        yield "", {**head, **last, "usageMetadata": answer["usageMetadata"]}

    def alive(self) -> StreamEvent:
        return "", _candidate({"text": ""})

    def refused(self, refusal: ApiError) -> dict[str, Any]:
        status = _STATUS.get(
            refusal.status, "INTERNAL" if refusal.status >= 500 else "INVALID_ARGUMENT"
        )
        return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}


_STATUS = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _candidate(part: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, **more, "index": 0}]}
