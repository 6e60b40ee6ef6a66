"""Find the largest growth of a thread's buffer from one request to the next, and the message that caused it."""

from dataclasses import dataclass

from inspector.core.buffer import is_prefix
from inspector.core.calls import subject_of
from inspector.core.message import Message, ToolCall
from inspector.core.session import Request, Thread


@dataclass(frozen=True, slots=True)
class Jump:
    """The growth of the buffer from the previous request to this one."""

    request: int
    tokens: int
    """Growth in tokens, by the provider's reports."""
    subject: str
    """The largest new message: the tool and its file or command for a result, else the role of the message."""


def find_largest_jump(thread: Thread) -> Jump | None:
    """Return the largest reported growth between two requests of which the second extends the first.

    None if the thread has no such pair. O(requests + new messages of that pair).
    """
    largest: tuple[int, Request, Request] | None = None
    for former, request in zip(thread.requests, thread.requests[1:], strict=False):
        if (
            former.usage is None
            or request.usage is None
            or not is_prefix(former.view, request.view)
        ):
            continue
        grown = request.usage.prompt - former.usage.prompt
        if largest is None or grown > largest[0]:
            largest = grown, former, request
    if largest is None or largest[0] <= 0:
        return None
    grown, former, request = largest
    return Jump(request.index, grown, _name_largest(request.view.tail(len(former.view)), thread))


def _name_largest(added: tuple[Message, ...], thread: Thread) -> str:
    if not added:
        return ""
    largest = max(added, key=_count_characters)
    result = largest.result
    if result is None:
        return f"{largest.role} message"
    calls: dict[str, ToolCall] = {call.id: call for message in added for call in message.calls}
    call = calls.get(result.call_id) or _find_call(thread, result.call_id)
    return f"{call.name} {subject_of(call)}".strip() if call is not None else "tool result"


def _find_call(thread: Thread, call_id: str) -> ToolCall | None:
    for message in reversed(thread.messages):
        for call in message.calls:
            if call.id == call_id:
                return call
    return None


def _count_characters(message: Message) -> int:
    result = message.result
    return len(message.text) + (len(result.content) if result is not None else 0)
