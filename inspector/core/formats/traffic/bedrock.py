"""Convert Amazon Bedrock's bodies, streams and agent traces to the form of Anthropic's API.

`invoke` takes and returns a model's native bodies (Anthropic's with `anthropic_version`); its stream wraps the model's
events as base64 text. Converse has other field names. An agent's answer holds whole model calls if traces were
requested. Streams are binary: each message has a length, headers, a payload and two checksums (CRC-32).
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html
"""

import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.formats.traffic.plain import bytes_of, plain_body
from inspector.core.jsontext import dumps
from inspector.core.untyped import fields_of, object_of, objects_of, text_of

CONVERSE = re.compile(r"/model/([^/?]+)/converse(-stream)?(?:\?|$)")
AGENT = re.compile(r"/agents/[^?]*/sessions/[^?]*/text(?:\?|$)")


# -- Converse: bodies


def converse_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a Converse request to Anthropic's form."""
    specs = [
        object_of(tool, "toolSpec")
        for tool in objects_of(object_of(body, "toolConfig").get("tools"))
    ]
    tools = [
        {
            "name": spec.get("name"),
            "description": spec.get("description", ""),
            "input_schema": object_of(spec, "inputSchema").get("json", {}),
        }
        for spec in specs
        if "name" in spec
    ]
    messages = [
        {"role": message.get("role"), "content": _blocks(message.get("content"))}
        for message in objects_of(body.get("messages"))
    ]
    request: dict[str, Any] = {"system": _blocks(body.get("system")), "messages": messages}
    return request | ({"tools": tools} if tools else {})


def converse_response(body: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a Converse response to Anthropic's form."""
    message = object_of(object_of(body, "output"), "message")
    answer = {"type": "message", "role": "assistant", "content": _blocks(message.get("content"))}
    return answer | {
        "stop_reason": body.get("stopReason"),
        "usage": converse_usage(body.get("usage")),
    }


def converse_usage(usage: Any) -> dict[str, Any] | None:
    """Return Converse's token counts under Anthropic's names; None if there are none. Input excludes cached tokens."""
    counts = fields_of(usage)
    return {
        name: counts[key] for key, name in _COUNTS.items() if type(counts.get(key)) is int
    } or None


_COUNTS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
}


def _blocks(value: Any) -> list[Any]:
    return [
        block for value_block in objects_of(value) if (block := _block(value_block)) is not None
    ]


def _block(block: Mapping[str, Any]) -> Any:
    match block:
        case {"text": str(text)}:
            return {"type": "text", "text": text}
        case {"toolUse": {"toolUseId": id_, "name": name, **rest}}:
            return {"type": "tool_use", "id": id_, "name": name, "input": rest.get("input", {})}
        case {"toolResult": {"toolUseId": id_, **rest}}:
            result = {
                "type": "tool_result",
                "tool_use_id": id_,
                "content": _result(rest.get("content")),
            }
            return result | ({"is_error": True} if rest.get("status") == "error" else {})
        case {"reasoningContent": {"reasoningText": {"text": str(text), **rest}}}:
            return {
                "type": "thinking",
                "thinking": text,
                "signature": text_of(rest.get("signature")),
            }
        case {"reasoningContent": {"redactedContent": str(data)}}:
            return {"type": "redacted_thinking", "data": data}
        case {"image": {"source": {"bytes": str(data)}, **rest}}:
            source = {
                "type": "base64",
                "media_type": f"image/{text_of(rest.get('format'))}",
                "data": data,
            }
            return {"type": "image", "source": source}
        case {"cachePoint": _}:
            return None
    return {"type": next(iter(block), ""), **block}


def _result(value: Any) -> list[Any]:
    return [
        {"type": "text", "text": dumps(block["json"])} if "json" in block else _block(block)
        for block in objects_of(value)
    ]


# -- binary streams

_PRELUDE, _CRC = 12, 4
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Size of a header's value in bytes, by its type. Values of types 6 (bytes) and 7 (text) begin with their size."""


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """One message of a stream. `headers` holds its text headers, such as `:event-type`."""

    headers: Mapping[str, str]
    payload: bytes


@dataclass(frozen=True, slots=True)
class DamagedMessage:
    """A damaged message, which begins at byte `at` of the stream. If its length is wrong, nothing is read after it."""

    at: int
    why: str


def stream_messages(data: bytes) -> Iterator[StreamMessage | DamagedMessage]:
    """Yield the messages of a stream in order. Never raises."""
    at = 0
    while at < len(data):
        if len(data) - at < _PRELUDE + _CRC:
            yield DamagedMessage(at, "it ends in the middle of a message")
            return
        size, headers, crc = struct.unpack_from(">III", data, at)
        if zlib.crc32(data[at : at + 8]) != crc:
            yield DamagedMessage(at, "the checksum of a length is wrong")
            return
        if size > len(data) - at or size < _PRELUDE + _CRC + headers:
            yield DamagedMessage(at, "it ends in the middle of a message")
            return
        yield _message(data[at : at + size], headers, at)
        at += size


def _message(data: bytes, headers: int, at: int) -> StreamMessage | DamagedMessage:
    (crc,) = struct.unpack_from(">I", data, len(data) - _CRC)
    if zlib.crc32(data[:-_CRC]) != crc:
        return DamagedMessage(at, "the checksum of a message is wrong")
    text_headers = _headers(data[_PRELUDE : _PRELUDE + headers])
    return StreamMessage(text_headers, data[_PRELUDE + headers : -_CRC])


def _headers(data: bytes) -> dict[str, str]:
    """Return the text headers, up to the first header that cannot be read."""
    text_headers: dict[str, str] = {}
    at = 0
    while at < len(data):
        name_end = at + 1 + data[at]
        if name_end >= len(data):
            break
        name = data[at + 1 : name_end].decode("utf-8", "replace")
        kind = data[name_end]
        at = name_end + 1
        size = _SIZES.get(kind)
        if size is None:
            if kind not in (6, 7) or at + 2 > len(data):
                break
            size = int.from_bytes(data[at : at + 2], "big")
            at = at + 2
        if kind == 7:
            text_headers[name] = data[at : at + size].decode("utf-8", "replace")
        at += size
    return text_headers


# -- events of streams


def stream_events(messages: Iterable[StreamMessage]) -> list[Mapping[str, Any]]:
    """Return the events of a Converse or `invoke` stream in Anthropic's form."""
    return [event for message in messages for event in _events(message)]


def _events(message: StreamMessage) -> Iterator[Mapping[str, Any]]:
    event = fields_of(plain_body(message.payload))
    kind = message.headers.get(":event-type", "")
    if message.headers.get(":message-type") in ("exception", "error"):
        name = (
            message.headers.get(":exception-type") or message.headers.get(":error-code") or "error"
        )
        text = text_of(event.get("message")) or message.headers.get(":error-message", "")
        yield {"type": "error", "error": {"type": name, "message": text or name}}
    elif kind == "chunk":
        yield fields_of(plain_body(bytes_of(event.get("bytes"))))
    else:
        yield from _converse_events(kind, event, event.get("contentBlockIndex"))


def _converse_events(kind: str, event: Mapping[str, Any], n: Any) -> Iterator[Mapping[str, Any]]:
    match kind, event:
        case "messageStart", _:
            yield {
                "type": "message_start",
                "message": {"type": "message", "role": "assistant", "content": []},
            }
        case "contentBlockStart", {"start": {"toolUse": {"toolUseId": id_, "name": name}}}:
            block = {"type": "tool_use", "id": id_, "name": name, "input": {}}
            yield {"type": "content_block_start", "index": n, "content_block": block}
        case "contentBlockDelta", {"delta": {"text": str(text)}}:
            yield _delta(n, "text_delta", "text", text)
        case "contentBlockDelta", {"delta": {"toolUse": {"input": str(text)}}}:
            yield _delta(n, "input_json_delta", "partial_json", text)
        case "contentBlockDelta", {
            "delta": {"reasoningContent": Mapping() as told}
        }:  # no start event precedes it
            yield {
                "type": "content_block_start",
                "index": n,
                "content_block": {"type": "thinking", "thinking": ""},
            }
            yield _delta(n, "thinking_delta", "thinking", text_of(told.get("text")))
            yield _delta(n, "signature_delta", "signature", text_of(told.get("signature")))
        case "messageStop", {"stopReason": why}:
            yield {"type": "message_delta", "delta": {"stop_reason": why}, "usage": {}}
            yield {"type": "message_stop"}
        case "metadata", {"usage": usage}:
            yield {"type": "message_delta", "delta": {}, "usage": converse_usage(usage) or {}}


def _delta(n: Any, kind: str, key: str, text: str) -> Mapping[str, Any]:
    return {"type": "content_block_delta", "index": n, "delta": {"type": kind, key: text}}


# -- agents


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A model call inside an agent's answer. `response` is None if the traces do not hold it."""

    model: str
    request: Mapping[str, Any]
    response: Mapping[str, Any] | None
    aside: str = ""
    """Purpose of a side call (`pre-processing`, `routing-classifier`, ...); empty for a step of the agent."""
    time: str = ""


def agent_calls(messages: Iterable[StreamMessage]) -> list[AgentCall]:
    """Return the model calls in the traces of an agent's answer, in order. A call and its answer share a `traceId`.

    If all calls are side calls, they are returned as steps of the agent.
    """
    calls: dict[str, AgentCall] = {}
    for message in messages:
        event = plain_body(message.payload)
        for part in object_of(event, "trace").values():
            request, output = (
                object_of(part, key) for key in ("modelInvocationInput", "modelInvocationOutput")
            )
            trace_id = text_of((request or output).get("traceId"))
            if request:
                calls[trace_id or str(len(calls))] = _read_request(request)
            elif output and trace_id in calls:
                start = text_of(object_of(output, "metadata").get("startTime"))
                calls[trace_id] = replace(
                    calls[trace_id], response=_read_answer(output), time=start
                )
    if any(not call.aside for call in calls.values()):
        return list(calls.values())
    return [replace(call, aside="") for call in calls.values()]


def _read_request(request: Mapping[str, Any]) -> AgentCall:
    kind = text_of(request.get("type")).lower().replace("_", "-")
    aside = kind if kind != "orchestration" else ""
    return AgentCall(
        text_of(request.get("foundationModel")),
        request=_prompt(request.get("text")),
        response=None,
        aside=aside,
    )


def _prompt(text: Any) -> dict[str, Any]:
    """Return the system prompt and the messages that the model was sent; no messages if the trace has none.

    Args:
        text: A request body or a plain prompt, as text.
    """
    body = plain_body(text)
    if isinstance(body, Mapping):
        return {"system": body.get("system", ""), "messages": body.get("messages", [])}
    return {"messages": [{"role": "user", "content": body}] if body else []}


def _read_answer(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of a model, without the null fields that a block has for every other kind of block."""
    raw = plain_body(object_of(output, "rawResponse").get("content"))
    answer: dict[str, Any] = {"type": "message", "role": "assistant", "content": raw}
    if isinstance(raw, Mapping) and "output" in raw:
        answer |= converse_response(raw)
    elif isinstance(raw, Mapping):
        content = list(map(_without_nulls, objects_of(raw.get("content"))))
        answer |= {"content": content, "stop_reason": raw.get("stop_reason")}
    usage = converse_usage(object_of(output, "metadata").get("usage"))
    return answer | ({"usage": usage} if usage else {})


def _without_nulls(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if value is not None}
