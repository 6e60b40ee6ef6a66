"""Instructions that stand among the messages: to a policy they are part of the system prompt, which no tier touches.

Codex lays its rules into `developer` items, Claude Code into a `system` item behind the prompt; what a client writes in
the user's name before there is an answer (AGENTS.md, the environment, reminders) is told once and never again. A policy
is given the buffer without them; what it leaves gets them back where they stood.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from inspector.core.buffer import Buffer
from inspector.core.dialects.fingerprint import is_reminder
from inspector.core.formats.codex.calls import mark_of
from inspector.core.message import Message, Text


def has_turn(buffer: Buffer) -> bool:
    """Has the model answered yet? Before that there is nothing but instructions and the task."""
    return any(message.role == "assistant" for message in buffer.messages)


def without_pinned(buffer: Buffer) -> Buffer:
    """What a policy may touch, under a system prompt that holds the rest."""
    pinned = _pinned(buffer.messages)
    if not pinned:
        return buffer
    said = [buffer.prompt.system or "", *(one.text for one in buffer.messages if one.id in pinned)]
    prompt = replace(buffer.prompt, system="\n\n".join(text for text in said if text))
    return Buffer(tuple(one for one in buffer.messages if one.id not in pinned), prompt)


def with_pinned(before: Buffer, after: Buffer) -> Buffer:
    """What a policy made of `without_pinned(before)`, as it is sent: each instruction behind the message that it stood
    behind. Where all before it is gone it follows what was put in their place, so that nothing else comes to begin the
    conversation."""
    pinned = _pinned(before.messages)
    old, stay = {message.id for message in before.messages}, {message.id for message in after.messages}
    front: list[Message] = []
    behind: dict[str, list[Message]] = {}
    place, is_first = "", True
    for message in before.messages:
        if message.id in pinned:
            (front if is_first else behind.setdefault(place, [])).append(message)
            continue
        is_first = False
        place = message.id if message.id in stay else place
    made = tuple(takewhile(lambda message: message.id not in old, after.messages))
    rest = after.messages[len(made) :]
    woven = [*front, *made, *behind.get("", ()), *_woven(rest, behind)]
    return Buffer(tuple(woven), before.prompt)


def _woven(messages: Sequence[Message], behind: Mapping[str, Sequence[Message]]) -> Sequence[Message]:
    return [one for message in messages for one in (message, *behind.get(message.id, ()))]


def _pinned(messages: Sequence[Message]) -> set[str]:
    """By id."""
    opening = {one.id for one in takewhile(lambda message: message.role != "assistant", messages) if _is_told(one)}
    return {one.id for one in messages if one.role == "system"} | opening


def _is_told(message: Message) -> bool:
    """Did the client write all of it in the user's name?"""
    if message.role != "user" or not message.parts:
        return False
    if not all(isinstance(part, Text) for part in message.parts):
        return False
    return mark_of(None, "user", message.parts) == "meta" or all(map(is_reminder, message.parts))
