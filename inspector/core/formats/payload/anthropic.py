"""Anthropic Messages: request bodies, responses, bare message lists, alone or in a row."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.core.dialects.anthropic import read_messages, read_prompt
from inspector.core.dialects.anthropic_usage import read_usage
from inspector.core.formats.payload.dialect import Dialect
from inspector.core.formats.payload.reader import payload_format
from inspector.core.message import Message


def _read(wire: Sequence[Any], line: int, time: str) -> Iterator[Sequence[Message]]:
    for message in wire:
        if isinstance(message, Mapping):
            role = message.get("role")
            content = message.get("content")
            yield read_messages(role if isinstance(role, str) else "", content, id="", line=line, time=time)


def _body(body: Mapping[str, Any]) -> Sequence[Any]:
    messages = body.get("messages")
    return messages if isinstance(messages, list) else ()


def _finish(response: Mapping[str, Any]) -> str:
    reason = response.get("stop_reason")
    return reason if isinstance(reason, str) else ""


def _side(body: Mapping[str, Any]) -> str:
    """Claude Code's calls beside the conversation, and its call for a summary."""
    messages = _body(body)
    last = _last_text(messages)
    if _has_schema(body) and not body.get("tools"):
        return "title or other answer to a schema"
    if body.get("max_tokens") == 1 and len(messages) == 1:
        return "quota probe"
    if last.startswith("CRITICAL: Respond with TEXT ONLY") and "summary of the conversation" in last:
        return "call for a summary"
    return ""


def _has_schema(body: Mapping[str, Any]) -> bool:
    """Must the answer keep to a JSON schema? In `output_config.format`, or `output_format` of old."""
    config = body.get("output_config")
    shapes = (body.get("output_format"), config.get("format") if isinstance(config, Mapping) else None)
    return any(isinstance(shape, Mapping) and shape.get("type") == "json_schema" for shape in shapes)


def _last_text(messages: Sequence[Any]) -> str:
    content = messages[-1].get("content") if messages and isinstance(messages[-1], Mapping) else ""
    if isinstance(content, list) and content and isinstance(content[-1], Mapping):
        content = content[-1].get("text")
    return content if isinstance(content, str) else ""


def _is_response(value: Mapping[str, Any]) -> bool:
    return (
        value.get("role") == "assistant"
        and "content" in value
        and (value.get("type") == "message" or "stop_reason" in value)
    )


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("role") in ("user", "assistant", "system")
        and "content" in value
        and not _is_response(value)
    )


DIALECT = Dialect(
    name="anthropic",
    key="messages",
    read=_read,
    body=_body,
    prompt=read_prompt,
    answer=lambda response: (response,) if "content" in response else (),
    usage=read_usage,
    finish=_finish,
    side=_side,
    is_response=_is_response,
    is_message=_is_message,
)

FORMAT = payload_format(DIALECT, "Anthropic Messages payload")
