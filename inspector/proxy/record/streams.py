"""Has a recorded stream told its end? Codex, llm and others close as soon as it has: that is a success, not a cut.

Looked at once, when the stream is over, from its end: O(its last events), not O(its length).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.core.jsontext import NotJson, loads

_TERMINAL = frozenset(
    ("message_stop", "response.completed", "response.failed", "response.incomplete", "response.done", "error")
)
_LOOKED_AT = 4
"""Events from the end: usage, a ping and `[DONE]` may follow the one that tells the end."""


def is_stream(content_type: str, data: bytes) -> bool:
    """Are these server-sent events? By their type; by their look where no type was given."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "text/event-stream" or (not kind and data.startswith((b"event:", b"data:", b": ")))


def is_over(text: str) -> bool:
    """Does the event stream hold its terminal event, whole?"""
    return any(map(_is_terminal, _last_events(text)))


def is_terminal(message: Any) -> bool:
    """Is this (parsed) event the last of an answer, in any of the dialects?"""
    if not isinstance(message, Mapping):
        return False
    if message.get("type") in _TERMINAL:
        return True
    return _has_finished(message, "choices", "finish_reason") or _has_finished(message, "candidates", "finishReason")


def _has_finished(message: Mapping[str, Any], which: str, why: str) -> bool:
    found = message.get(which)
    return isinstance(found, list) and any(isinstance(one, Mapping) and one.get(why) for one in found)


def _is_terminal(data: str) -> bool:
    if data == "[DONE]":
        return True
    try:
        return is_terminal(loads(data.encode()))
    except NotJson:
        return False


def _last_events(text: str) -> Iterator[str]:
    """The data of the last whole events, the last one first. A stream may end without the empty line behind it."""
    text = text.replace("\r\n", "\n") if "\r" in text[-400:] else text
    end = len(text)
    for _ in range(_LOOKED_AT):
        while end and text[end - 1] == "\n":
            end -= 1
        if not end:
            return
        start = text.rfind("\n\n", 0, end) + 2 if "\n\n" in text[:end] else 0
        lines = text[start:end].split("\n")
        data = [line[5:].removeprefix(" ") for line in lines if line.startswith("data:")]
        if data:
            yield "\n".join(data)
        end = start
