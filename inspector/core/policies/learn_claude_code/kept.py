"""What auto and manual keep word for word: the newest messages, and in safe mode whole pairs (spec 4.5)."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.core.message import Message
from inspector.core.policies.learn_claude_code.settings import Settings
from inspector.core.policies.learn_claude_code.wire import Wire, carries_result, flat, is_plain_user, wires


@dataclass(frozen=True, slots=True)
class Kept:
    """`acknowledged`: the summary is followed by the assistant's acknowledgement."""

    messages: tuple[Message, ...]
    acknowledged: bool = True


def kept(messages: Sequence[Message], settings: Settings) -> Kept:
    """Upstream: the last wire messages, whatever they are.

    Safe mode begins at the nearest plain user message where a result would be kept without its call; where there is
    none it drops such results. It leaves the acknowledgement out in front of an assistant message.
    """
    whole = wires(messages)
    start = max(0, len(whole) - settings.recent_messages)
    if not settings.safe:
        return Kept((*_pinned(whole, start, settings), *flat(whole[start:])))
    window = whole[start:]
    if _orphans(flat(window)):
        earlier = _whole_start(whole, start)
        if earlier is None:
            lost = _orphans(flat(window))
            window = wires(message for message in flat(window) if message.id not in lost)
        else:
            start, window = earlier, whole[earlier:]
    messages = (*_pinned(whole, start, settings), *flat(window))
    return Kept(messages, not messages or messages[0].role != "assistant")


def _whole_start(whole: list[Wire], start: int) -> int | None:
    """The nearest plain user message at or before `start` from which on no result lacks its call. O(messages)."""
    waiting: set[str] = set()
    for at in range(len(whole) - 1, -1, -1):
        for message in reversed(whole[at]):
            waiting.difference_update(call.id for call in message.calls)
            if message.result is not None:
                waiting.add(message.result.call_id)
        if at <= start and not waiting and is_plain_user(whole[at]):
            return at
    return None


def _orphans(messages: Sequence[Message]) -> set[str]:
    """Ids of messages with a result whose call does not come before."""
    calls: set[str] = set()
    found: set[str] = set()
    for message in messages:
        calls.update(call.id for call in message.calls)
        if message.result is not None and message.result.call_id not in calls:
            found.add(message.id)
    return found


def _pinned(whole: list[Wire], start: int, settings: Settings) -> tuple[Message, ...]:
    """With `pin_last_user`: the newest user message, where it would go."""
    if not settings.pin_last_user:
        return ()
    said = (at for at in range(len(whole) - 1, -1, -1) if _said_by_user(whole[at]))
    newest = next(said, len(whole))
    return whole[newest] if newest < start else ()


def _said_by_user(wire: Wire) -> bool:
    first = wire[0]
    return first.role == "user" and not first.summary and not first.mark and not carries_result(wire)
