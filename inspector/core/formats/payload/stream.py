"""Events of a stream in the place of a body: in a list, or one a line. Put together they are the response."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.dialects.streams import Gathered, gather

_ANTHROPIC = ("message_", "content_block_")
_ASKING = ("response.create", "response.cancel")
"""What a client says over a WebSocket: no event of an answer."""
_BESIDE = ("ping", "error")
"""Types of events that stand in the streams of several providers."""
_FINAL = ("message_stop", "response.completed", "response.incomplete", "response.failed")


def event_of(row: Any) -> Mapping[str, Any] | None:
    """The event in a row, also where it stands under `data` beside its name. None for what is none."""
    if not isinstance(row, Mapping):
        return None
    inner = row.get("data")
    return inner if isinstance(inner, Mapping) and ("event" in row or "type" not in row) else row


def dialect_of(row: Any) -> str:
    """Whose event it is, by shapes that no body has; empty where it is none. Gemini's look like whole responses."""
    event = event_of(row) or {}
    kind = event.get("type")
    if isinstance(kind, str):
        if kind.startswith("response.") and kind not in _ASKING:
            return "openai-responses"
        return "anthropic" if kind.startswith(_ANTHROPIC) else ""
    return "openai-chat" if event.get("object") == "chat.completion.chunk" else ""


def stream_of(rows: Sequence[Any]) -> str:
    """Whose stream these rows are from their beginning on; empty where they are something else."""
    said = [row for row in rows[:8] if not is_beside(row)]
    names = {dialect_of(row) or _chunk(row) for row in said}
    if len(names) != 1:
        return ""
    (name,) = names
    return name if name != "gemini" or _is_one_answer(rows) else ""


def _chunk(row: Any) -> str:
    return "gemini" if isinstance((event_of(row) or {}).get("candidates"), list) else ""


def _is_one_answer(rows: Sequence[Any]) -> bool:
    """Only the last of several chunks says why it ended."""
    return len(rows) > 1 and not any(_ended(row) for row in rows[:-1])


def _ended(row: Any) -> bool:
    candidates = (event_of(row) or {}).get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return isinstance(first, Mapping) and isinstance(first.get("finishReason"), str)


def is_beside(row: Any) -> bool:
    """Is it an event that says nothing of the response, or of its failure only?"""
    return (event_of(row) or {}).get("type") in _BESIDE


def is_final(row: Any) -> bool:
    """Does the stream end with this event? Of chat chunks nobody can tell: usage may follow."""
    return (event_of(row) or {}).get("type") in _FINAL


def follows(rows: Sequence[Any], row: Any) -> bool:
    """Does the event belong to the same response as those before it? Chat chunks bear its id."""
    before, event = event_of(rows[-1]) or {}, event_of(row) or {}
    if is_final(rows[-1]):
        return False
    return "object" not in event or before.get("id") == event.get("id")


def put_together(name: str, rows: Sequence[Any]) -> Gathered:
    """The response of these events."""
    return gather(name, filter(None, map(event_of, rows)))
