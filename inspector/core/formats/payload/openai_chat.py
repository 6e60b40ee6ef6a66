"""OpenAI Chat Completions: request bodies, responses, bare message lists, alone or in a row."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.core.dialects.openai_chat import leading, read_message, read_prompt, read_usage
from inspector.core.formats.payload.dialect import Dialect
from inspector.core.formats.payload.reader import payload_format
from inspector.core.message import Message


def _read(wire: Sequence[Any], line: int, time: str) -> Iterator[Sequence[Message]]:
    call = ""
    for n, message in enumerate(wire):
        if isinstance(message, Mapping) and message.get("function_call"):
            call = f"function-call-{n}"  # a legacy call has no id: its answer is the function message behind it
        if found := read_message(message, id="", line=line, time=time, call_id=call):
            yield found


def _body(body: Mapping[str, Any]) -> Sequence[Any]:
    messages = body.get("messages")
    return messages[len(leading(messages)) :] if isinstance(messages, list) else ()


def _choice(response: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, Mapping) else {}


def _answer(response: Mapping[str, Any]) -> Sequence[Any]:
    message = _choice(response).get("message")
    return (message,) if isinstance(message, Mapping) else ()


def _finish(response: Mapping[str, Any]) -> str:
    reason = _choice(response).get("finish_reason")
    return reason if isinstance(reason, str) else ""


def _side(body: Mapping[str, Any]) -> str:
    shape = body.get("response_format")
    shaped = isinstance(shape, Mapping) and shape.get("type") == "json_schema"
    return "title or other answer to a schema" if shaped and not body.get("tools") else ""


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("role"), str)
        and ("content" in value or "tool_calls" in value)
    )


DIALECT = Dialect(
    name="openai-chat",
    key="messages",
    read=_read,
    body=_body,
    prompt=read_prompt,
    answer=_answer,
    usage=read_usage,
    finish=_finish,
    side=_side,
    is_response=lambda value: isinstance(value.get("choices"), list),
    is_message=_is_message,
)

FORMAT = payload_format(DIALECT, "OpenAI Chat Completions payload")
