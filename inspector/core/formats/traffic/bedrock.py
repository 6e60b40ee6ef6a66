"""Amazon Bedrock on the wire, as Anthropic's API says it: Converse, streams of either, the traces of its agents.

`invoke` takes and gives a model's own bodies (Anthropic's with `anthropic_version`); its stream wraps their events, as
text in base64. Converse has words of its own. An agent's answer holds whole calls of models, where it was asked for
traces. Streams are Amazon's binary ones: length, headers, payload, two checksums (CRC-32) a message.
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
    """The request, in Anthropic's words."""
    specs = [object_of(tool, "toolSpec") for tool in objects_of(object_of(body, "toolConfig").get("tools"))]
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
        {"role": one.get("role"), "content": _blocks(one.get("content"))} for one in objects_of(body.get("messages"))
    ]
    told: dict[str, Any] = {"system": _blocks(body.get("system")), "messages": messages}
    return told | ({"tools": tools} if tools else {})


def converse_response(body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer, in Anthropic's words."""
    message = object_of(object_of(body, "output"), "message")
    told = {"type": "message", "role": "assistant", "content": _blocks(message.get("content"))}
    return told | {"stop_reason": body.get("stopReason"), "usage": usage_of(body.get("usage"))}


def usage_of(usage: Any) -> dict[str, Any] | None:
    """Its counts; None where there are none. As in Anthropic's, what came from the cache is not in the input."""
    told = fields_of(usage)
    return {name: told[key] for key, name in _COUNTS.items() if type(told.get(key)) is int} or None


_COUNTS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
}


def _blocks(value: Any) -> list[Any]:
    return [block for one in objects_of(value) if (block := _block(one)) is not None]


def _block(block: Mapping[str, Any]) -> Any:
    match block:
        case {"text": str(text)}:
            return {"type": "text", "text": text}
        case {"toolUse": {"toolUseId": id_, "name": name, **rest}}:
            return {"type": "tool_use", "id": id_, "name": name, "input": rest.get("input", {})}
        case {"toolResult": {"toolUseId": id_, **rest}}:
            result = {"type": "tool_result", "tool_use_id": id_, "content": _result(rest.get("content"))}
            return result | ({"is_error": True} if rest.get("status") == "error" else {})
        case {"reasoningContent": {"reasoningText": {"text": str(text), **rest}}}:
            return {"type": "thinking", "thinking": text, "signature": text_of(rest.get("signature"))}
        case {"reasoningContent": {"redactedContent": str(data)}}:
            return {"type": "redacted_thinking", "data": data}
        case {"image": {"source": {"bytes": str(data)}, **rest}}:
            source = {"type": "base64", "media_type": f"image/{text_of(rest.get('format'))}", "data": data}
            return {"type": "image", "source": source}
        case {"cachePoint": _}:
            return None
    return {"type": next(iter(block), ""), **block}


def _result(value: Any) -> list[Any]:
    return [{"type": "text", "text": dumps(one["json"])} if "json" in one else _block(one) for one in objects_of(value)]


# -- binary streams

_PRELUDE, _CRC = 12, 4
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type; 6 (bytes) and 7 (text) say their length."""


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """One message. `headers`: those that are text, `:event-type` among them."""

    headers: Mapping[str, str]
    payload: bytes


@dataclass(frozen=True, slots=True)
class DamagedMessage:
    """`at`: bytes from the beginning of the stream. Nothing is read after it where its length cannot be believed."""

    at: int
    why: str


def stream_messages(data: bytes) -> Iterator[StreamMessage | DamagedMessage]:
    """The messages in order. Never raises."""
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
    told = _headers(data[_PRELUDE : _PRELUDE + headers])
    return StreamMessage(told, data[_PRELUDE + headers : -_CRC])


def _headers(data: bytes) -> dict[str, str]:
    """As far as they can be read."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        name_end = at + 1 + data[at]
        if name_end >= len(data):
            break
        name, kind, at = data[at + 1 : name_end].decode("utf-8", "replace"), data[name_end], name_end + 1
        size = _SIZES.get(kind)
        if size is None:
            if kind not in (6, 7) or at + 2 > len(data):
                break
            size, at = int.from_bytes(data[at : at + 2], "big"), at + 2
        if kind == 7:
            found[name] = data[at : at + size].decode("utf-8", "replace")
        at += size
    return found


# -- events of streams


def stream_events(messages: Iterable[StreamMessage]) -> list[Mapping[str, Any]]:
    """The events of either stream, in Anthropic's words."""
    return [event for one in messages for event in _events(one)]


def _events(one: StreamMessage) -> Iterator[Mapping[str, Any]]:
    event = fields_of(plain_body(one.payload))
    kind = one.headers.get(":event-type", "")
    if one.headers.get(":message-type") in ("exception", "error"):
        name = one.headers.get(":exception-type") or one.headers.get(":error-code") or "error"
        text = text_of(event.get("message")) or one.headers.get(":error-message", "")
        yield {"type": "error", "error": {"type": name, "message": text or name}}
    elif kind == "chunk":
        yield fields_of(plain_body(bytes_of(event.get("bytes"))))
    else:
        yield from _converse_events(kind, event, event.get("contentBlockIndex"))


def _converse_events(kind: str, event: Mapping[str, Any], n: Any) -> Iterator[Mapping[str, Any]]:
    match kind, event:
        case "messageStart", _:
            yield {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}}
        case "contentBlockStart", {"start": {"toolUse": {"toolUseId": id_, "name": name}}}:
            block = {"type": "tool_use", "id": id_, "name": name, "input": {}}
            yield {"type": "content_block_start", "index": n, "content_block": block}
        case "contentBlockDelta", {"delta": {"text": str(text)}}:
            yield _delta(n, "text_delta", "text", text)
        case "contentBlockDelta", {"delta": {"toolUse": {"input": str(text)}}}:
            yield _delta(n, "input_json_delta", "partial_json", text)
        case "contentBlockDelta", {"delta": {"reasoningContent": Mapping() as told}}:  # nothing begins it
            yield {"type": "content_block_start", "index": n, "content_block": {"type": "thinking", "thinking": ""}}
            yield _delta(n, "thinking_delta", "thinking", text_of(told.get("text")))
            yield _delta(n, "signature_delta", "signature", text_of(told.get("signature")))
        case "messageStop", {"stopReason": why}:
            yield {"type": "message_delta", "delta": {"stop_reason": why}, "usage": {}}
            yield {"type": "message_stop"}
        case "metadata", {"usage": usage}:
            yield {"type": "message_delta", "delta": {}, "usage": usage_of(usage) or {}}


def _delta(n: Any, kind: str, key: str, text: str) -> Mapping[str, Any]:
    return {"type": "content_block_delta", "index": n, "delta": {"type": kind, key: text}}


# -- agents


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A call of a model inside the answer of an agent. `response` None: it is not there."""

    model: str
    request: Mapping[str, Any]
    response: Mapping[str, Any] | None
    aside: str = ""
    """What it was made for, where that is not the agent's own work: `pre-processing`, `routing-classifier`, ..."""
    time: str = ""


def agent_calls(messages: Iterable[StreamMessage]) -> list[AgentCall]:
    """The calls that the traces of an answer tell, in order; calls and answers belong together by their `traceId`.

    Where the agent did no work of its own, the calls beside it are all that there is: then they are its steps.
    """
    found: dict[str, AgentCall] = {}
    for one in messages:
        event = plain_body(one.payload)
        for part in object_of(event, "trace").values():
            asked, said = (object_of(part, key) for key in ("modelInvocationInput", "modelInvocationOutput"))
            if asked:
                name = text_of(asked.get("traceId")) or str(len(found))
                kind = text_of(asked.get("type")).lower().replace("_", "-")
                aside = kind if kind != "orchestration" else ""
                found[name] = AgentCall(text_of(asked.get("foundationModel")), _prompt(asked.get("text")), None, aside)
            elif said and (call := found.get(text_of(said.get("traceId")))) is not None:
                begun = text_of(object_of(said, "metadata").get("startTime"))
                found[text_of(said.get("traceId"))] = replace(call, response=_said(said), time=begun)
    calls = list(found.values())
    return calls if any(not one.aside for one in calls) else [replace(one, aside="") for one in calls]


def _prompt(text: Any) -> dict[str, Any]:
    """What the model was sent: a body as a text, or a plain prompt; empty where the trace does not hold it."""
    told = plain_body(text)
    if isinstance(told, Mapping):
        return {"system": told.get("system", ""), "messages": told.get("messages", [])}
    return {"messages": [{"role": "user", "content": told}] if told else []}


def _said(output: Mapping[str, Any]) -> dict[str, Any]:
    """The answer; fields without a value stand there for every kind of block."""
    raw = plain_body(object_of(output, "rawResponse").get("content"))
    told: dict[str, Any] = {"type": "message", "role": "assistant", "content": raw}
    if isinstance(raw, Mapping):
        content = [
            {key: value for key, value in one.items() if value is not None} for one in objects_of(raw.get("content"))
        ]
        told |= (
            converse_response(raw) if "output" in raw else {"content": content, "stop_reason": raw.get("stop_reason")}
        )
    usage = usage_of(object_of(output, "metadata").get("usage"))
    return told | ({"usage": usage} if usage else {})
