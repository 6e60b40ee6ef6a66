"""Anthropic Messages, as the simulated provider reads and writes it."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.anthropic import read_messages, read_prompt
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.core.validity import ANTHROPIC
from inspector.simulated.call import Call, Said, Spent
from inspector.simulated.dialect import Event, Refused, limit, needed, pieces
from inspector.simulated.refusals import Refusal, anthropic_body
from inspector.simulated.talk import unseal

MARKERS = 4
"""The most `cache_control` markers of a request."""
_FINISH = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens"}


class AnthropicDialect:
    """`/v1/messages`."""

    name = ANTHROPIC

    def read(self, body: Mapping[str, Any]) -> Call:
        """The request. Raises Refused."""
        needed(body, "model", "messages")
        wire = body["messages"]
        if not isinstance(wire, list) or not all(isinstance(one, dict) for one in wire):
            raise Refused(Refusal(400, "messages: Input should be a valid list"))
        per_wire = [read_messages(str(one.get("role")), one.get("content"), id=str(n)) for n, one in enumerate(wire)]
        messages = tuple(unseal(message) for found in per_wire for message in found)
        marked = _marked(body)
        if marked > MARKERS:
            told = f"A maximum of {MARKERS} blocks with cache_control may be provided. Found {marked}."
            raise Refused(Refusal(400, told))
        return Call(
            Buffer(messages, read_prompt(body)),
            str(body["model"]),
            limit(body.get("max_tokens")),
            body.get("stream") is True,
            body,
            _cached_upto(wire, per_wire),
        )

    def answer(self, call: Call, said: Said, spent: Spent) -> dict[str, Any]:
        """The whole answer, as JSON."""
        content: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text else []
        for one in said.calls:
            id_ = one.id.replace("call_", "toolu_")
            content.append({"type": "tool_use", "id": id_, "name": one.name, "input": one.arguments})
        return {
            "id": f"msg_{call.digest}",
            "type": "message",
            "role": "assistant",
            "model": call.model,
            "content": content,
            "stop_reason": _FINISH[said.finish],
            "stop_sequence": None,
            "usage": {
                "input_tokens": spent.prompt - spent.read - spent.written,
                "cache_creation_input_tokens": spent.written,
                "cache_read_input_tokens": spent.read,
                "cache_creation": {"ephemeral_5m_input_tokens": spent.written, "ephemeral_1h_input_tokens": 0},
                "output_tokens": spent.output,
                "service_tier": "standard",
            },
        }

    def events(self, answer: dict[str, Any]) -> Iterator[Event]:
        """The same answer as a stream."""
        begun = {**answer, "content": [], "stop_reason": None, "usage": {**answer["usage"], "output_tokens": 1}}
        yield "message_start", {"type": "message_start", "message": begun}
        yield "ping", {"type": "ping"}
        for n, block in enumerate(answer["content"]):
            yield from _block(n, block)
        delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        usage = {key: value for key, value in answer["usage"].items() if key.endswith("_tokens")}
        yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage}
        yield "message_stop", {"type": "message_stop"}

    def failed(self, refusal: Refusal) -> Iterator[Event]:
        """An overflow is a reason to stop, anything else an error event."""
        if "too long" in refusal.message:
            delta = {"stop_reason": "model_context_window_exceeded", "stop_sequence": None}
            yield "message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}}
            yield "message_stop", {"type": "message_stop"}
        else:
            yield "error", anthropic_body(refusal)

    def alive(self) -> Event:
        """An event that says nothing but that the server is there."""
        return "ping", {"type": "ping"}

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        """The body of an error."""
        return anthropic_body(refusal)


def _block(n: int, block: dict[str, Any]) -> Iterator[Event]:
    if block["type"] == "text":
        started: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    else:
        started = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(dumps(block["input"]))]
    yield "content_block_start", {"type": "content_block_start", "index": n, "content_block": started}
    for delta in deltas:
        yield "content_block_delta", {"type": "content_block_delta", "index": n, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", "index": n}


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []


def _marked(body: Mapping[str, Any]) -> int:
    blocks = [*_blocks(body.get("system")), *_blocks(body.get("tools"))]
    for message in body["messages"]:
        blocks += _blocks(message.get("content"))
    return sum(1 for block in blocks if block.get("cache_control"))


def _cached_upto(wire: list[Any], per_wire: list[tuple[Message, ...]]) -> int:
    """How many neutral messages the last marker covers."""
    last = max(
        (n for n, one in enumerate(wire) if any(b.get("cache_control") for b in _blocks(one.get("content")))),
        default=-1,
    )
    return sum(len(found) for found in per_wire[: last + 1])
