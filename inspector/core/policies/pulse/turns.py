"""Where turns begin, and the two cuts made there: old and recent, or the newest turns alone (spec 2.4, 2.6).

A turn begins with a user message. A tool result never does, nor does a user message that travelled with results or
stands between a call and its result: so a call and its results are always in the same turn.
"""

from collections.abc import Sequence

from inspector.core.message import Message


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """Indices of the messages that begin a turn. O(messages)."""
    answered_at = {m.result.call_id: at for at, m in enumerate(messages) if m.result is not None}
    with_results = {m.together for m in messages if m.together and m.result is not None}
    starts, owed_until = [], -1
    for at, message in enumerate(messages):
        owed_until = max([owed_until, *(answered_at.get(call.id, -1) for call in message.calls)])
        if message.role == "user" and at > owed_until and message.together not in with_results:
            starts.append(at)
    return starts


def split_by_turns(messages: Sequence[Message], keep: int) -> tuple[Sequence[Message], Sequence[Message]]:
    """(old, recent): recent holds the newest `keep` turns; all of it where there are no more."""
    starts = turn_starts(messages)
    cut = starts[-keep] if len(starts) > keep else 0
    return messages[:cut], messages[cut:]


def take_last_turns(messages: Sequence[Message], keep: int) -> Sequence[Message]:
    """The newest `keep` turns, without what came before them."""
    return split_by_turns(messages, keep)[1]
