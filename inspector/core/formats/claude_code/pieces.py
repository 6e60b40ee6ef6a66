"""Match each piece of a wire message with the record that holds the same text.

The message keeps the text of the wire message and takes id, line, time and mark from the record. A text with several
reminders that the client added takes its id from the first of their attachment records, or from the hash of the wire
message if no record holds the text.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from inspector.core.dialects.anthropic import read_blocks, read_wire_messages
from inspector.core.message import Message, Part, Role, Text, Thinking, ToolResult
from inspector.core.untyped import text_at

_TAGS = re.compile(r"\s*</?system-reminder>\s*")
_NEXT = 64
"""Number of records searched for a text that the client worded differently. Records are in the order of sending."""


class Pieces:
    """Recorded messages since an earlier request that are not matched with a wire message yet."""

    def __init__(self, recorded: Sequence[Message], sent: Collection[str]) -> None:
        """Index the recorded messages by what they say. `sent` holds the ids of messages of earlier requests."""
        self._sent = sent
        self._left = dict(enumerate(recorded))
        self._places: dict[str, list[int]] = {}
        """Indexes into `recorded` by key: the id of a tool call (of calls and results), or the text."""
        self._names = {message.id for message in recorded}
        for n, message in self._left.items():
            for key in _keys(message):
                self._places.setdefault(key, []).append(n)

    def of(self, hash_: str, wire: Mapping[str, Any]) -> Sequence[Message]:
        """Return the messages of a wire message whose blob the file holds."""
        role = text_at(wire, "role")
        content = wire.get("content")
        if role not in ("assistant", "system"):
            return travelling(list(self._read_user(hash_, read_blocks(content))))
        message = read_wire_messages(role, content, id=hash_)[0]
        return travelling(
            [self._read_answer(message) if role == "assistant" else self._read_reminders(message)]
        )

    def rest(self, roles: Sequence[Role | None]) -> list[Sequence[Message]]:
        """Return the messages of the wire messages without a blob, from the unmatched records.

        Args:
            roles: Role of each wire message of the request; None if it has no blob.

        Returns:
            A list of messages for each None in `roles`, in order.
        """
        left = [
            message
            for message in self._left.values()
            if message.mark != "attachment" and message.id not in self._sent
        ]
        groups = _groups(left)
        count = roles.count(None)
        if len(groups) != count and len(whole := _groups(left, together=True)) == count:
            groups = whole
        unknown: list[Sequence[Message]] = []
        before: Role | None = None
        spare = len(groups) - count
        for role in roles:
            if role is None:
                while groups and spare > 0 and before == "assistant" == groups[0][0].role:
                    groups = groups[1:]
                    spare = spare - 1
                unknown.append(travelling(groups.pop(0) if groups else []))
                role = unknown[-1][0].role if unknown[-1] else None
            before = role
        return unknown

    # ---- by role -----------------------------------------------------------------------------------------------------

    def _read_answer(self, message: Message) -> Message:
        for key in _keys(message):
            for n in self._places.get(key, ()):
                recorded = self._left.get(n)
                if recorded is not None and recorded.role == "assistant":
                    return _as_sent(self._left.pop(n), message.parts)
        return self._unknown(message.id, "assistant", message.parts)

    def _read_reminders(self, message: Message) -> Message:
        """Return a system message whose text holds one or more attachments, with the id of the first of them."""
        text = _bare(message.text)
        attachments = [
            (n, recorded) for n, recorded in self._left.items() if recorded.mark == "attachment"
        ]
        within = [
            n
            for n, recorded in attachments[:_NEXT]
            if (words := _bare(recorded.text)) and words in text
        ]
        if not within:
            return self._unknown(message.id, "system", message.parts)
        first, *_ = [self._left.pop(n) for n in within]
        return replace(_as_sent(first, message.parts), role="system")

    def _read_user(self, hash_: str, runs: list[tuple[Part, ...]]) -> Iterator[Message]:
        at = 0
        while at < len(runs):
            parts, length = runs[at], 1
            recorded = self._take_same(parts[0])
            if recorded is None:
                role: Role = "tool" if isinstance(parts[0], ToolResult) else "user"
                yield self._take_within(parts[0]) or self._unknown(hash_, role, parts)
            else:
                whole = tuple(chain.from_iterable(runs[at : at + len(recorded.parts)]))
                if recorded.result is None and whole == recorded.parts:
                    parts, length = whole, len(whole)
                yield _as_sent(recorded, parts)
            at += length

    def _take_same(self, part: Part) -> Message | None:
        """Remove and return the record with the same tool call id or text; None if there is none."""
        key = ""
        if isinstance(part, ToolResult):
            key = part.call_id
        elif isinstance(part, Text):
            key = _bare(part.text)
        for n in self._places.get(key, ()):
            recorded = self._left.get(n)
            if recorded is not None and recorded.role != "assistant":
                return self._left.pop(n)
        return None

    def _take_within(self, part: Part) -> Message | None:
        """Match an attachment whose text contains this part, or a user record whose text this part contains."""
        text = _bare(part.text) if isinstance(part, Text) else ""
        if not text:
            return None
        by_user = ((n, recorded) for n, recorded in self._left.items() if recorded.role == "user")
        for n, recorded in islice(by_user, _NEXT):
            words = _bare(recorded.text)
            if recorded.mark == "attachment" and text in words:
                return replace(recorded, id=self._claim_name(recorded.id), parts=(part,))
            if words and words in text:
                return _as_sent(self._left.pop(n), (part,))
        return None

    def _unknown(self, hash_: str, role: Role, parts: Sequence[Part]) -> Message:
        return Message(
            self._claim_name(hash_[:16]),
            role,
            tuple(parts),
            mark="attachment" if role != "assistant" else "",
        )

    def _claim_name(self, name: str) -> str:
        """Return `name`, with a number appended if another message has this id already."""
        free, n = name, 1
        while free in self._names or free in self._sent:
            free, n = f"{name}.{n}", n + 1
        self._names.add(free)
        return free


def travelling(messages: Sequence[Message]) -> Sequence[Message]:
    """Mark messages as parts of one wire message."""
    name = messages[0].id if len(messages) > 1 else ""
    return [
        message if message.together == name else replace(message, together=name)
        for message in messages
    ]


def _keys(message: Message) -> Iterator[str]:
    if message.result is not None:
        yield message.result.call_id
    elif message.calls:
        yield from (call.id for call in message.calls)
    else:
        yield _bare(message.text)


def _bare(text: str) -> str:
    return _TAGS.sub("", text).strip()


def _as_sent(recorded: Message, parts: Sequence[Part]) -> Message:
    """Return the recorded message with the parts of the wire message, unless they differ only in thinking tokens."""
    plain = (
        replace(part, tokens=None) if isinstance(part, Thinking) else part
        for part in recorded.parts
    )
    return recorded if tuple(plain) == tuple(parts) else replace(recorded, parts=tuple(parts))


def _groups(messages: Sequence[Message], *, together: bool = False) -> list[list[Message]]:
    """Group messages by wire message: adjacent tool results share a wire message.

    With `together`, adjacent messages with the same `together` id share a wire message instead.
    """
    groups: list[list[Message]] = []
    for message in messages:
        before = groups[-1][-1] if groups else None
        is_joined = (
            before is not None and bool(before.together) and before.together == message.together
        )
        if before is not None and (
            is_joined if together else before.role == message.role == "tool"
        ):
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups
