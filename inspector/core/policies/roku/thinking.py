"""Reasoning is taken out of the removed messages before anybody summarises them (spec 1.7)."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.core.message import Message, Part, Text, Thinking

_OPEN, _CLOSE = "<thinking>", "</thinking>"


def strip_thinking(messages: Sequence[Message]) -> tuple[tuple[Message, ...], int]:
    """The messages without `<thinking>…</thinking>` at their very start and thinking parts; how many were changed.

    An unclosed tag, or one after white space, stays as it is.
    """
    stripped = tuple(map(_stripped, messages))
    return stripped, sum(new is not old for new, old in zip(stripped, messages, strict=True))


def _stripped(message: Message) -> Message:
    if message.role != "assistant":
        return message
    parts: list[Part] = []
    leading = True
    for part in message.parts:
        if isinstance(part, Thinking):
            continue
        if leading and isinstance(part, Text):
            text = _without_tag(part.text)
            part = part if text is part.text else Text(text)
        leading = False
        parts.append(part)
    same = len(parts) == len(message.parts) and all(a is b for a, b in zip(parts, message.parts, strict=True))
    return message if same else replace(message, parts=tuple(parts))


def _without_tag(text: str) -> str:
    if not text.startswith(_OPEN):
        return text
    end = text.find(_CLOSE, len(_OPEN))
    return text if end < 0 else text[end + len(_CLOSE) :].lstrip()
