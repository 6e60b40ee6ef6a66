"""A wire message, piece by piece: which record says each of them.

The words of the wire are taken as they are; the record gives the name, the line, the time, and what kind of message it
is. What the client put there by itself (reminders, several of them in one text) is named after the first of its
attachments, or after the wire message's hash where no record holds it.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from inspector.core.dialects.anthropic import read_messages, read_parts
from inspector.core.message import Message, Part, Role, Text, Thinking, ToolResult
from inspector.core.untyped import text_at

_TAGS = re.compile(r"\s*</?system-reminder>\s*")
_NEXT = 64
"""How many records are looked at for a text that the client put into other words: they come in their order."""


class Pieces:
    """What the records say that came since an earlier request, as far as no wire message has taken it."""

    def __init__(self, came: Sequence[Message], sent: Collection[str]) -> None:
        """`sent`: ids of messages that stood in an earlier request."""
        self._sent = sent
        self._left = dict(enumerate(came))
        self._said: dict[str, list[int]] = {}
        """Places by what they say: the id of a call or of a result's call, else a text."""
        self._named = {message.id for message in came}
        for n, message in self._left.items():
            for key in _keys(message):
                self._said.setdefault(key, []).append(n)

    def of(self, hash_: str, wire: Mapping[str, Any]) -> Sequence[Message]:
        """The messages of a wire message that the file holds."""
        role, content = text_at(wire, "role"), wire.get("content")
        if role not in ("assistant", "system"):
            return travelling(list(self._user(hash_, read_parts(content))))
        message = read_messages(role, content, id=hash_)[0]
        return travelling([self._answer(message) if role == "assistant" else self._reminders(message)])

    def rest(self, roles: Sequence[Role | None]) -> list[Sequence[Message]]:
        """What records say word for word, and no blob does, for each wire message whose role is not known; in order."""
        left = [one for one in self._left.values() if one.mark != "attachment" and one.id not in self._sent]
        groups, wanted = _groups(left), roles.count(None)
        if len(groups) != wanted and len(whole := _groups(left, together=True)) == wanted:
            groups = whole
        found: list[Sequence[Message]] = []
        before: Role | None = None
        spare = len(groups) - wanted
        for role in roles:
            if role is None:
                while groups and spare > 0 and before == "assistant" == groups[0][0].role:
                    groups, spare = groups[1:], spare - 1
                found.append(travelling(groups.pop(0) if groups else []))
                role = found[-1][0].role if found[-1] else None
            before = role
        return found

    # ---- by role -----------------------------------------------------------------------------------------------------

    def _answer(self, message: Message) -> Message:
        for key in _keys(message):
            for n in self._said.get(key, ()):
                if (known := self._left.get(n)) is not None and known.role == "assistant":
                    return _as_sent(self._left.pop(n), message.parts)
        return self._unknown(message.id, "assistant", message.parts)

    def _reminders(self, message: Message) -> Message:
        """Several attachments in one text."""
        said = _bare(message.text)
        attached = ((n, one) for n, one in self._left.items() if one.mark == "attachment")
        within = [n for n, one in islice(attached, _NEXT) if (words := _bare(one.text)) and words in said]
        if not within:
            return self._unknown(message.id, "system", message.parts)
        first, *_ = [self._left.pop(n) for n in within]
        return replace(_as_sent(first, message.parts), role="system")

    def _user(self, hash_: str, runs: list[tuple[Part, ...]]) -> Iterator[Message]:
        at = 0
        while at < len(runs):
            parts, length = runs[at], 1
            known = self._place(parts[0])
            if known is None:
                yield self._within(parts[0]) or self._unknown(
                    hash_, "tool" if isinstance(parts[0], ToolResult) else "user", parts
                )
            else:
                whole = tuple(part for run in runs[at : at + len(known.parts)] for part in run)
                if known.result is None and whole == known.parts:
                    parts, length = whole, len(whole)
                yield _as_sent(known, parts)
            at += length

    def _place(self, part: Part) -> Message | None:
        """The record that says this."""
        key = part.call_id if isinstance(part, ToolResult) else _bare(part.text) if isinstance(part, Text) else ""
        for n in self._said.get(key, ()):
            if (known := self._left.get(n)) is not None and known.role != "assistant":
                return self._left.pop(n)
        return None

    def _within(self, part: Part) -> Message | None:
        """An attachment that says this among other things, or a record in other words around it."""
        said = _bare(part.text) if isinstance(part, Text) else ""
        for n, one in islice(((n, one) for n, one in self._left.items() if one.role == "user"), _NEXT) if said else ():
            words = _bare(one.text)
            if one.mark == "attachment" and said in words:
                return replace(one, id=self._name(one.id), parts=(part,))
            if words and words in said:
                return _as_sent(self._left.pop(n), (part,))
        return None

    def _unknown(self, hash_: str, role: Role, parts: Sequence[Part]) -> Message:
        return Message(self._name(hash_[:16]), role, tuple(parts), mark="attachment" if role != "assistant" else "")

    def _name(self, name: str) -> str:
        """A name that no other message has."""
        found, n = name, 1
        while found in self._named or found in self._sent:
            found, n = f"{name}.{n}", n + 1
        self._named.add(found)
        return found


def travelling(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages of one wire message."""
    name = messages[0].id if len(messages) > 1 else ""
    return [message if message.together == name else replace(message, together=name) for message in messages]


def _keys(message: Message) -> Iterator[str]:
    if message.result is not None:
        yield message.result.call_id
    elif message.calls:
        yield from (call.id for call in message.calls)
    else:
        yield _bare(message.text)


def _bare(said: str) -> str:
    return _TAGS.sub("", said).strip()


def _as_sent(known: Message, parts: Sequence[Part]) -> Message:
    """The record's message with the words of the wire, which tell no tokens of its thinking."""
    plain = (replace(part, tokens=None) if isinstance(part, Thinking) else part for part in known.parts)
    return known if tuple(plain) == tuple(parts) else replace(known, parts=tuple(parts))


def _groups(messages: Sequence[Message], *, together: bool = False) -> list[list[Message]]:
    """Wire messages: neighbouring results share one; `together`: so does all that the client may have joined."""
    groups: list[list[Message]] = []
    for message in messages:
        before = groups[-1][-1] if groups else None
        joined = before is not None and bool(before.together) and before.together == message.together
        if before is not None and (joined if together else before.role == message.role == "tool"):
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups
