"""The message that stands in for others: every policy inserts one, none needs to know how the others name theirs."""

from collections.abc import Sequence
from hashlib import sha1

from inspector.core.message import Message, Role, Text


def inserted(kind: str, role: Role, text: str, made_from: Sequence[Message]) -> Message:
    """A summary message. Its id depends on `kind` and the ids of `made_from` only: the same step makes the same id.

    `summary` is set on it: that mark travels with the message and never on the wire.
    """
    key = sha1("\n".join(message.id for message in made_from).encode("utf-8", "replace"), usedforsecurity=False)
    return Message(f"{kind}-{key.hexdigest()[:16]}", role, (Text(text),), summary=True)
