"""Which messages a tier removes: always `buffer[1:split]`, never the anchor message 0 (spec 1.6, 1.7)."""

from collections.abc import Sequence
from hashlib import sha1

from inspector.core.message import Message, Text
from inspector.core.policies.roku.settings import Settings


def half_split(messages: Sequence[Message], settings: Settings) -> int:
    """End of the older half of all after message 0, moved back so that no kept result loses its call; 1 = nothing."""
    n = len(messages)
    return 1 if n < 3 else _walk_back(messages, 1 + -(-(n - 1) // 2), settings)


def tail_split(messages: Sequence[Message], settings: Settings) -> int:
    """As half_split, but all except the newest max(5, retain_tail_steps) messages go."""
    keep = max(5, settings.retain_tail_steps)
    n = len(messages)
    return 1 if n <= keep + 1 else _walk_back(messages, n - keep, settings)


def l3_split(messages: Sequence[Message], settings: Settings) -> int:
    """The split by the `l3_segment` setting."""
    return half_split(messages, settings) if settings.l3_segment == "half" else tail_split(messages, settings)


def _walk_back(messages: Sequence[Message], split: int, settings: Settings) -> int:
    while split > 1 and split < len(messages) and messages[split].role == "tool":
        split -= 1
    if settings.safe:
        split = _keep_pairs(messages, split)
    return max(1, split)


def _keep_pairs(messages: Sequence[Message], split: int) -> int:
    """Moved back until no kept result lacks its call (a user message between two results defeats the plain walk)."""
    called_at: dict[str, int] = {}
    for at, message in enumerate(messages):
        for call in message.calls:
            called_at.setdefault(call.id, at)
    at = len(messages)
    while split > 1 and at > split:
        at -= 1
        result = messages[at].result
        if result is not None:
            split = min(split, called_at.get(result.call_id, split))
    return split


def insertion(kind: str, text: str, removed: Sequence[Message]) -> Message:
    """A user message that stands in for the removed ones. Its id depends on what it replaces only."""
    key = sha1("\n".join(message.id for message in removed).encode("utf-8", "replace"), usedforsecurity=False)
    return Message(f"{kind}-{key.hexdigest()[:16]}", "user", (Text(text),), summary=True)


def replace_segment(
    messages: Sequence[Message], split: int, inserted: Sequence[Message], settings: Settings
) -> tuple[Message, ...]:
    """Message 0, what is inserted, what is kept. With `pin_last_user` the newest user message stays, too."""
    pinned: tuple[Message, ...] = ()
    if settings.pin_last_user:
        newest = next((m for m in reversed(messages) if m.role == "user" and not m.summary), None)
        pinned = tuple(m for m in messages[1:split] if m is newest)
    return (messages[0], *inserted, *pinned, *messages[split:])
