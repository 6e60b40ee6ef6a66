"""Gemini: `generateContent` bodies, responses, bare lists of contents, alone or in a row."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.core.dialects.gemini import paired, read_content, read_prompt, read_usage
from inspector.core.formats.format import Head
from inspector.core.formats.payload.dialect import Dialect, exchange
from inspector.core.formats.payload.reader import payload_format
from inspector.core.formats.payload.stream import stream_of
from inspector.core.message import Message


def _read(wire: Sequence[Any], line: int, time: str) -> Iterator[Sequence[Message]]:
    for content in wire:
        yield read_content(content, id="", line=line, time=time)


def _body(body: Mapping[str, Any]) -> Sequence[Any]:
    contents = body.get("contents")
    if isinstance(contents, str | Mapping):
        return (contents,)
    return contents if isinstance(contents, list) else ()


def _candidate(response: Mapping[str, Any]) -> Mapping[str, Any]:
    candidates = response.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return first if isinstance(first, Mapping) else {}


def _answer(response: Mapping[str, Any]) -> Sequence[Any]:
    content = _candidate(response).get("content")
    return (content,) if isinstance(content, Mapping) and content.get("parts") else ()


def _finish(response: Mapping[str, Any]) -> str:
    reason = _candidate(response).get("finishReason")
    return reason if isinstance(reason, str) else ""


def _side(body: Mapping[str, Any]) -> str:
    config = body.get("generationConfig")
    shaped = isinstance(config, Mapping) and not {"responseSchema", "responseJsonSchema"}.isdisjoint(config)
    return "answer to a schema" if shaped and not body.get("tools") else ""


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("parts"), list) and value.get("role") in (*_ROLES, None)


_ROLES = ("user", "model", "function")


DIALECT = Dialect(
    name="gemini",
    key="contents",
    read=_read,
    body=_body,
    prompt=read_prompt,
    answer=_answer,
    usage=read_usage,
    finish=_finish,
    side=_side,
    is_response=lambda value: isinstance(value.get("candidates"), list),
    is_message=_is_message,
    counts="usageMetadata",
    pair=paired,
)


def _sniff(head: Head) -> float:
    """Nobody else says contents and parts."""
    rows = [head.document] if head.document is not None else list(head.values)
    if isinstance(head.document, list) and stream_of(head.document) == DIALECT.name:
        return 0.85
    if isinstance(head.document, list) and not all(map(_is_message, head.document[:8])):
        rows = head.document[:60]
    known = sum(_known(row) for row in rows)
    return 0.85 if known and 2 * known > len(rows) else 0.0


def _known(row: Any) -> bool:
    if _is_message(row):
        return isinstance(row.get("role"), str)
    if isinstance(row, list):
        return bool(row) and all(_is_message(one) and isinstance(one.get("role"), str) for one in row[:8])
    one = exchange(DIALECT, row, 0)
    return one is not None and (one.request is None or all(map(_is_message, _body(one.request)[:8])))


FORMAT = payload_format(DIALECT, "Gemini API payload", _sniff)
