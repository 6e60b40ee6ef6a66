"""Convert Gemini CLI's messages of the user, the tools and the model to ours, and read their usage.

A message of the user may hold texts and several tool results; each result becomes a separate message. Thoughts are
headlines that are shown to the user and never sent again, so they count as 0 tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from inspector.core.formats.reading import RecordPosition
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
    Mark,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.untyped import count_of, text_of
from inspector.core.usage import Usage, is_absurd

_BY_CLIENT = ("<session_context>", "<hook_context>")


def read_gemini_user(value: Mapping[str, Any], where: RecordPosition) -> list[Message]:
    """Return the user's messages and tool results of a record, in order."""
    runs: list[list[Part]] = []
    for block in _listed(value.get("content")):
        parts = _read_block(block)
        is_result = bool(parts) and isinstance(parts[0], ToolResult)
        are_images = all(isinstance(part, Image) for part in parts)
        is_continued = bool(runs) and (are_images or not _is_answer(runs[-1]))
        if is_continued and not is_result:
            runs[-1] += parts
        else:
            runs.append(parts)
    return _messages([run for run in runs if run], where)


def _is_answer(run: Sequence[Part]) -> bool:
    return bool(run) and isinstance(run[0], ToolResult)


def _messages(runs: Sequence[Sequence[Part]], where: RecordPosition) -> list[Message]:
    messages: list[Message] = []
    together = where.id if len(runs) > 1 else ""
    for n, run in enumerate(runs):
        role: Role = "tool" if _is_answer(run) else "user"
        first = run[0]
        mark: Mark = "meta" if isinstance(first, Text) and first.text.startswith(_BY_CLIENT) else ""
        name = f"{where.id}.{n}" if n else where.id
        messages.append(
            Message(
                name,
                role,
                parts=tuple(run),
                together=together,
                mark=mark,
                line=where.line,
                time=where.time,
            )
        )
    return messages


def read_answer(value: Mapping[str, Any], where: RecordPosition) -> Message:
    """Return a message of the model: its thoughts, texts and calls. It may have no parts."""
    parts: list[Part] = [*_thoughts(value.get("thoughts"))]
    for block in _listed(value.get("content")):
        parts += _read_block(block)
    known_ids = {part.id for part in parts if isinstance(part, ToolCall)}
    for call in call_records(value):
        if text_of(call.get("id")) not in known_ids:
            parts.append(
                ToolCall(text_of(call.get("id")), text_of(call.get("name")), _arguments(call))
            )
    return Message(where.id, "assistant", tuple(parts), line=where.line, time=where.time)


def read_results(
    value: Mapping[str, Any], where: RecordPosition, answered_calls: frozenset[str]
) -> list[Message]:
    """Return the tool results that are recorded with the calls, except those of `answered_calls`."""
    blocks: list[Any] = []
    for call in call_records(value):
        if text_of(call.get("id")) not in answered_calls:
            blocks += _listed(call.get("result"))
    messages = read_gemini_user(
        {"content": blocks}, RecordPosition(f"{where.id}.r", where.line, where.time)
    )
    return [message for message in messages if message.role == "tool"]


def answered(value: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the tool calls whose results a message of the user's side holds."""
    parts = chain.from_iterable(_read_block(block) for block in _listed(value.get("content")))
    return frozenset(part.call_id for part in parts if isinstance(part, ToolResult))


def call_records(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the client's records of tool calls."""
    return [call for call in _listed(value.get("toolCalls")) if isinstance(call, dict)]


def _thoughts(thoughts: Any) -> Iterator[Thinking]:
    for thought in thoughts if isinstance(thoughts, list) else ():
        if isinstance(thought, dict):
            subject = text_of(thought.get("subject"))
            description = text_of(thought.get("description")).strip()
            if text := "\n".join(filter(None, (subject, description))):
                yield Thinking(text, "", tokens=0)


def _listed(content: Any) -> Sequence[Any]:
    if isinstance(content, list):
        return content
    return () if content is None or content == "" else (content,)


def _read_block(block: Any) -> list[Part]:
    if isinstance(block, str):
        return [Text(block)] if block else []
    if not isinstance(block, dict):
        return [_opaque("", block)]
    if isinstance(text := block.get("text"), str):
        return (
            [Thinking(text, "", tokens=0) if block.get("thought") is True else Text(text)]
            if text
            else []
        )
    if isinstance(call := block.get("functionCall"), dict):
        return [ToolCall(text_of(call.get("id")), text_of(call.get("name")), _arguments(call))]
    if isinstance(answer := block.get("functionResponse"), dict):
        return _result(answer)
    for kind in ("inlineData", "fileData"):
        if isinstance(data := block.get(kind), dict):
            return [_media(kind, data)]
    return [_opaque(next(iter(block), ""), block)]


def _result(answer: Mapping[str, Any]) -> list[Part]:
    response = answer.get("response")
    is_failed = isinstance(response, dict) and "error" in response and "output" not in response
    images = [part for block in _listed(answer.get("parts")) for part in _read_block(block)]
    call_id = text_of(answer.get("id")) or text_of(answer.get("name"))
    return [ToolResult(call_id, _response_text(response), is_failed), *images]


def _response_text(response: Any) -> str:
    """Return a response as text: its only field if that is a text, else the whole response as JSON."""
    if isinstance(response, dict) and len(response) == 1:
        (only,) = response.values()
        return only if isinstance(only, str) else dumps(response)
    if response is None:
        return ""
    return response if isinstance(response, str) else dumps(response)


def _media(kind: str, data: Mapping[str, Any]) -> Part:
    media = text_of(data.get("mimeType"))
    if media.startswith("image/"):
        return Image(media, text_of(data.get("data")), text_of(data.get("fileUri")))
    return _opaque(kind, dict(data))


def _opaque(kind: str, value: Any) -> Opaque:
    return Opaque(str(kind), value, len(dumps(value).encode("utf-8", errors="replace")))


def _arguments(call: Mapping[str, Any]) -> Any:
    arguments = call.get("args")
    return {} if arguments is None else arguments


def read_tokens(value: Mapping[str, Any]) -> Usage | None:
    """Return the usage of the call that made a message; None if it is absent or all zero.

    `input` includes the tokens read from the cache. `tool` counts further tokens that the provider's own tools read.
    """
    tokens = value.get("tokens")
    if not isinstance(tokens, dict) or is_absurd(tokens):
        return None
    names = ("input", "output", "cached", "thoughts", "tool")
    prompt, output, cached, thoughts, tool = (count_of(tokens.get(name)) for name in names)
    if not prompt + output + cached + thoughts + tool:
        return None
    cached = min(cached, prompt)
    return Usage(
        prompt - cached + tool,
        cache_read=cached,
        output=output + thoughts,
        reasoning=thoughts,
        context=prompt if tool else None,
    )
