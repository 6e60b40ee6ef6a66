"""Recognise the same object, and the same message when ids are missing or unreliable.

`SameObject` is a dictionary key that compares by object identity. `content_hashes` names messages of request bodies,
which have no ids. `fingerprint` recognises a wire item although clients move their cache marks, change ids, or remove
thinking and reminders. `SameMessages` finds messages that were copied after a compaction.
"""

import re
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from inspector.core.jsontext import dumped, dumps
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

_REMINDER = re.compile(r"\s*<system-reminder>.*</system-reminder>\s*", re.DOTALL)
_PASSING = frozenset(
    ("cache_control", "id", "status", "metadata", "internal_chat_message_metadata_passthrough")
)


class SameObject:
    """A hashable wrapper of an object that has no hash, or a costly one. Two wrappers of the same object are equal.

    The wrapper keeps a reference, so that no other object can get the same `id()`.
    """

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


class UniqueIds:
    """The ids that were claimed so far. Each id is given out only once."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._uses: dict[str, int] = dict.fromkeys(ids, 1)

    def __contains__(self, name: str) -> bool:
        return name in self._uses

    def copy(self) -> "UniqueIds":
        """Return an independent copy."""
        other = UniqueIds()
        other._uses = dict(self._uses)
        return other

    def claim(self, name: str) -> str:
        """Return `name`, or `name` with a number if it was claimed before."""
        while (uses := self._uses.get(name, 0)) > 0:
            self._uses[name] = uses + 1
            name = f"{name}.{uses + 1}"
        self._uses[name] = 1
        return name


def hash_of(value: object, size: int) -> str:
    """Return the first `size` bytes of a hash of a JSON value, in hex."""
    return blake2b(dumped(value), digest_size=size).hexdigest()


def _readable(part: Part) -> list[Any]:
    """Return the content of a part that a model reads, as a JSON value."""
    match part:
        case Text(text):
            return ["text", text]
        case Thinking(text):
            return ["thinking", text]
        case ToolCall(id_, name, arguments):
            return ["call", id_, name, arguments]
        case ToolResult(call_id, content, is_error):
            return ["result", call_id, content, is_error]
        case Image(media_type, data, url):
            return ["image", media_type, data, url]
        case Opaque(kind, value):
            return ["opaque", kind, value]


def content_hashes(unit: Iterable[Message]) -> tuple[str, str]:
    """Return two hashes of some messages: without the signatures of thinking, and with them.

    A signature may be missing in one request and present in a later one.
    """
    readable: list[object] = []
    sealed: list[str] = []
    for message in unit:
        readable.append(message.role)
        for part in message.parts:
            if type(part) is Thinking:
                sealed.append(part.signature if part.text else part.signature or "thinking")
                if not part.text:  # clients send a signature without text only sometimes
                    continue
            readable.append(["text", part.text] if type(part) is Text else _readable(part))
    name = hash_of(readable, size=8)
    return name, name + hash_of(sealed, size=8) if sealed and any(sealed) else name


def fingerprint(messages: Sequence[Message], *, whole: bool = False) -> str:
    """Return a hash of the content of one wire item, given the messages that it was read into.

    `whole`: include thinking and reminders.
    """
    content: list[Any] = []
    for message in messages:
        content.append(message.role)
        content += [_lasting(part) for part in message.parts if whole or not _is_passing(part)]
    return hash_of(content, size=16)


def is_reminder(part: Part) -> bool:
    """Is a part only a client's reminder, or blank text?"""
    return isinstance(part, Text) and (
        not part.text.strip() or _REMINDER.fullmatch(part.text) is not None
    )


def _is_passing(part: Part) -> bool:
    is_sealed = isinstance(part, Opaque) and part.kind == "redacted_thinking"
    return is_sealed or isinstance(part, Thinking) or is_reminder(part)


def _lasting(part: Part) -> list[Any]:
    if isinstance(part, Opaque) and isinstance(value := part.value, Mapping):
        # A reference to an item that the provider stores has only an id.
        only_named = len(value) <= 2
        fields = {
            name: field
            for name, field in value.items()
            if name not in _PASSING or (name == "id" and only_named)
        }
        return ["opaque", part.kind, fields]
    return _readable(part)


class SameMessages:
    """Finds messages of a buffer by their content, each at most once. `thoughts`: compare thinking, too."""

    def __init__(self, messages: Iterable[Message], *, thoughts: bool = True) -> None:
        self._found: dict[Hashable, deque[Message]] = defaultdict(deque)
        self._thoughts = thoughts
        for message in messages:
            self._found[self._key(message)].append(message)

    def take(self, message: Message) -> Message | None:
        """Return the oldest message with the same content that was not taken yet; None if there is none."""
        same = self._found.get(self._key(message))
        return same.popleft() if same else None

    def _key(self, message: Message) -> Hashable:
        parts = (part for part in message.parts if self._thoughts or not isinstance(part, Thinking))
        return message.role, tuple(_copied(part) for part in parts)


def _copied(part: Part) -> Hashable:
    """Return the content of a part that a copy keeps. Arguments are left out, because their formatting may differ."""
    match part:
        case Text(text):
            return text
        case Thinking(text, signature):
            return "thinking", text, signature
        case ToolCall(call_id, name):
            return "call", call_id, name
        case ToolResult(call_id, content):
            return "result", call_id, content
        case Image(_, data, url):
            return "image", data, url
        case Opaque(kind, value):
            return "opaque", kind, dumps(value)
