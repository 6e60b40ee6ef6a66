"""The buffer after a Codex compaction: `replacement_history` where it is recorded, else what Codex would have built."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.dialects.openai_responses import read_items
from inspector.core.formats.codex.items import mark_of, summary_kind
from inspector.core.formats.same import Known
from inspector.core.message import Message, Text


@dataclass(frozen=True, slots=True)
class Replaced:
    """The new buffer. Messages that stay word for word are the same objects, with the same ids, as before."""

    messages: tuple[Message, ...]
    summary: Message | None
    kept: int


def replaced(payload: Mapping[str, Any], before: Sequence[Message], prefix: str, line: int, time: str) -> Replaced:
    """The buffer that a `compacted` record leaves of `before`. O(both)."""
    history, said = payload.get("replacement_history"), payload.get("message")
    said = said if isinstance(said, str) else ""
    if not isinstance(history, list):
        return _rebuilt(said, before, prefix, line, time)
    read = _read(history, prefix, line, time)
    roles = {message.role for message in read}
    known = Known(message for message in before if message.role in roles)
    messages, kept, summary = [], 0, None
    for message in read:
        same = None if message.summary else known.take(message)
        if same is not None:
            message = same
            kept += 1
        elif message.summary or _holds(message, said):
            summary = message = replace(message, summary=True, mark="")
        messages.append(message)
    return Replaced(tuple(messages), summary, kept)


def _read(history: Sequence[Any], prefix: str, line: int, time: str) -> Sequence[Message]:
    """As `read_items`, with what Codex's own fields say of each item."""
    messages = []
    by_id = {f"{prefix}{n}": item for n, item in enumerate(history)}
    for message in read_items(history, prefix=prefix, line=line, time=time):
        item = by_id[message.id]
        mark, summary = mark_of(item, message.role, message.parts), message.summary or summary_kind(item)
        messages.append(replace(message, mark=mark, summary=summary) if mark or summary else message)
    return messages


def _holds(message: Message, said: str) -> bool:
    return bool(said) and message.role == "user" and said in message.text


def _rebuilt(said: str, before: Sequence[Message], prefix: str, line: int, time: str) -> Replaced:
    """Early versions record the summary alone: instructions and what the user typed stay, the rest goes.

    Codex then also cut the user's messages to 20,000 tokens in all, which the file does not show.
    """
    kept = [message for message in before if not message.summary and message.role in ("system", "user")]
    summary = Message(f"{prefix}0", "user", (Text(said),), summary=True, line=line, time=time)
    return Replaced((*kept, summary), summary, len(kept))
