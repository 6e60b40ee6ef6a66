"""OpenAI Responses: request bodies, responses, bare item lists, alone or in a row.

A body with `previous_response_id` holds only what came since: it goes on from the response of that name, where the
file has it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.core.dialects.openai_responses import read_items, read_prompt, read_usage
from inspector.core.formats.payload.dialect import Dialect
from inspector.core.formats.payload.reader import payload_format
from inspector.core.message import Message


def _read(wire: Sequence[Any], line: int, time: str) -> Iterator[Sequence[Message]]:
    for message in read_items(wire, prefix="", line=line, time=time):
        yield (message,)


def _body(body: Mapping[str, Any]) -> Sequence[Any]:
    items = body.get("input")
    if isinstance(items, str):
        return ({"type": "message", "role": "user", "content": items},)
    return items if isinstance(items, list) else ()


def _answer(response: Mapping[str, Any]) -> Sequence[Any]:
    output = response.get("output")
    return output if isinstance(output, list) else ()


def _finish(response: Mapping[str, Any]) -> str:
    status = response.get("status")
    return status if isinstance(status, str) else ""


def _side(body: Mapping[str, Any]) -> str:
    if body.get("generate") is False:
        return "prewarm"
    items = body.get("input")
    last = items[-1] if isinstance(items, list) and items else None
    if isinstance(last, Mapping) and last.get("type") == "compaction_trigger":
        return "compaction"
    text = body.get("text")
    shape = text.get("format") if isinstance(text, Mapping) else None
    shaped = isinstance(shape, Mapping) and shape.get("type") == "json_schema"
    return "title or other answer to a schema" if shaped and not body.get("tools") else ""


def _is_response(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("output"), list) and (
        str(value.get("object", "")).startswith("response") or "usage" in value
    )


_ITEMS = (
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
)


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, Mapping) and value.get("type") in _ITEMS and (value["type"] != "message" or "role" in value)
    )


DIALECT = Dialect(
    name="openai-responses",
    key="input",
    read=_read,
    body=_body,
    prompt=read_prompt,
    answer=_answer,
    usage=read_usage,
    finish=_finish,
    side=_side,
    is_response=_is_response,
    is_message=_is_message,
)

FORMAT = payload_format(DIALECT, "OpenAI Responses payload")
