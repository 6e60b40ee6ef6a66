"""Ids for the messages that a provider gives."""

from typing import Any

from inspector.core.buffer import Buffer


def fresh_id(wire_id: Any, buffer: Buffer) -> str:
    """The provider's own id, unless it has none or has used it before (some servers always send the same)."""
    taken = {message.id for message in buffer.messages}
    name = wire_id if isinstance(wire_id, str) and wire_id else "answer"
    found, n = name, len(buffer.messages)
    while found in taken:
        found, n = f"{name}.{n}", n + 1
    return found
