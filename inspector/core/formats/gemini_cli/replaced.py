"""A history put in place of another (`$set.messages`): what stays, what changed, what was lost, and is it a compaction?

Gemini CLI writes no marker. It compacts by a list that begins with a summary as if the user had said it, and a short
word of thanks as if the model had, both without usage; what stays behind them gets new ids. So messages are known
again by id, else by what they say. A resumed session, an aborted turn and masked outputs replace the list as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inspector.core.formats.same import Known
from inspector.core.message import Message, Part, Role, Text, Thinking

_SNAPSHOT = "<state_snapshot>"


@dataclass(frozen=True, slots=True)
class Replaced:
    """What became of a history."""

    messages: list[Message]
    """The new one; what was there before is the same object."""
    same: int
    """So many of the old ones still stand at the beginning."""
    kept: int
    """So many of the old ones stand in it word for word."""
    summary: Message | None = None
    changed: tuple[str, ...] = ()
    """Ids of messages that say something else than before."""
    lost: tuple[str, ...] = ()
    """Ids of those that are gone from before something that stays."""


def compare(old: Sequence[Message], new: Sequence[Message]) -> Replaced:
    """O(both)."""
    same = _beginning(old, new)
    names, rest = {message.id for message in new}, old[same:]
    known = Known((message for message in rest if message.id not in names), thoughts=False)
    named = {message.id: message for message in rest if message.id in names}
    summarises = _summarises(new, same, named)
    found, changed, summary = list(old[:same]), [], None
    for at, message in enumerate(new[same:], same):
        former = named.get(message.id) or known.take(message)
        if at == summarises and (former is None or former.summary):
            summary = message = replace(message, summary=True)
        elif former is not None and (former.id != message.id or _said(former) == _said(message)):
            message = former
        elif former is not None:
            message = replace(message, mark="placeholder") if message.role == "tool" else message
            changed.append(message.id)
        found.append(message)
    stays = {id(message) for message in found}
    kept = sum(id(message) in stays for message in old)
    lost = () if summary is not None else _lost(old, {message.id for message in found})
    return Replaced(found, same, kept, summary if old else None, tuple(changed), lost)


def _beginning(old: Sequence[Message], new: Sequence[Message]) -> int:
    same = 0
    for before, after in zip(old, new, strict=False):
        if before.id != after.id or _said(before) != _said(after):
            break
        same += 1
    return same


def _said(message: Message) -> tuple[Role, list[Part]]:
    """What a message says, but for the thoughts: a list may leave them out."""
    return message.role, [part for part in message.parts if type(part) is not Thinking]


def _summarises(new: Sequence[Message], same: int, named: dict[str, Message]) -> int:
    """Where the summary stands, if there is one: behind nothing but what the client says at the beginning."""
    at = 0
    while at < len(new) and new[at].mark == "meta":
        at += 1
    if at < same or at >= len(new) or new[at].role != "user" or new[at].id in named:
        return -1
    if not all(isinstance(part, Text) for part in new[at].parts):
        return -1
    thanked = at + 1 < len(new) and new[at + 1].role == "assistant" and not new[at + 1].calls
    return at if _SNAPSHOT in new[at].text or (thanked and new[at + 1].id not in named) else -1


def _lost(old: Sequence[Message], names: set[str]) -> tuple[str, ...]:
    """What is missing before the last message that stays; behind it a turn was taken back, which is no loss."""
    last = max((n for n, message in enumerate(old) if message.id in names), default=-1)
    return tuple(message.id for message in old[:last] if message.id not in names)
