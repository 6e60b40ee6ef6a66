"""OpenAI Chat Completions, as the simulated provider reads and writes it."""

from collections.abc import Iterator, Mapping
from time import time
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.openai_chat import leading, read_message, read_prompt
from inspector.core.jsontext import dumps
from inspector.core.validity import CHAT
from inspector.simulated.call import Call, Said, Spent
from inspector.simulated.dialect import Event, Refused, limit, needed, pieces
from inspector.simulated.refusals import Refusal, openai_body

_FINISH = {"stop": "stop", "calls": "tool_calls", "length": "length"}
_CHUNK = {"object": "chat.completion.chunk"}


class ChatDialect:
    """`/v1/chat/completions`."""

    name = CHAT

    def read(self, body: Mapping[str, Any]) -> Call:
        """The request. Raises Refused."""
        needed(body, "model", "messages")
        wire = body["messages"]
        if not isinstance(wire, list):
            raise Refused(Refusal(400, "Invalid type for 'messages': expected an array.", param="messages"))
        start = len(leading(wire))
        found = [read_message(one, id=str(n)) for n, one in enumerate(wire[start:], start)]
        messages = tuple(message for one in found for message in one)
        asked = body.get("max_completion_tokens") or body.get("max_tokens")
        return Call(
            Buffer(messages, read_prompt(body)),
            str(body["model"]),
            limit(asked),
            body.get("stream") is True,
            body,
            len(messages),
            str(body.get("prompt_cache_key") or ""),
        )

    def answer(self, call: Call, said: Said, spent: Spent) -> dict[str, Any]:
        """The whole answer, as JSON. A stream brings its usage only where the request asked for it."""
        message: dict[str, Any] = {"role": "assistant", "content": said.text or None, "refusal": None}
        if said.calls:
            message["tool_calls"] = [
                {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": dumps(one.arguments)}}
                for one in said.calls
            ]
        options = call.body.get("stream_options")
        wanted = not call.stream or (isinstance(options, Mapping) and options.get("include_usage") is True)
        choice = {"index": 0, "message": message, "finish_reason": _FINISH[said.finish], "logprobs": None}
        return {
            "id": f"chatcmpl-{call.digest}",
            "object": "chat.completion",
            "created": int(time()),
            "model": call.model,
            "choices": [choice],
            "usage": _usage(spent) if wanted else None,
        }

    def events(self, answer: dict[str, Any]) -> Iterator[Event]:
        """The same answer as a stream."""
        head = {**_CHUNK, **{key: answer[key] for key in ("id", "created", "model")}}
        message = answer["choices"][0]["message"]
        yield _chunk(head, {"role": "assistant", "content": ""})
        for piece in pieces(message["content"] or ""):
            yield _chunk(head, {"content": piece})
        for n, call in enumerate(message.get("tool_calls", ())):
            function = {"name": call["function"]["name"], "arguments": ""}
            yield _chunk(head, {"tool_calls": [{**call, "index": n, "function": function}]})
            for piece in pieces(call["function"]["arguments"]):
                yield _chunk(head, {"tool_calls": [{"index": n, "function": {"arguments": piece}}]})
        yield _chunk(head, {}, answer["choices"][0]["finish_reason"])
        if answer["usage"]:
            yield "", {**head, "choices": [], "usage": answer["usage"]}
        yield "", "[DONE]"

    def failed(self, refusal: Refusal) -> Iterator[Event]:
        """The last events of a stream that goes wrong."""
        yield "", openai_body(refusal)

    def alive(self) -> Event:
        """An event that says nothing but that the server is there."""
        return _chunk({**_CHUNK, "id": "chatcmpl-alive", "created": int(time()), "model": ""}, {"content": ""})

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        """The body of an error."""
        return openai_body(refusal)


def _chunk(head: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> Event:
    return "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]}


def _usage(spent: Spent) -> dict[str, Any]:
    return {
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.output,
        "total_tokens": spent.prompt + spent.output,
        "prompt_tokens_details": {"cached_tokens": spent.read, "cache_write_tokens": spent.written},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
