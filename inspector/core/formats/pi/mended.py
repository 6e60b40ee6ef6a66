"""Tool calls that nobody answered: the user broke in, or the call failed. pi mends them before it sends anything else.

Since v3 each gets an answer that says so, and an answer that failed is not sent again at all. Before v3 what a failed
answer said was sent, its calls were not (in a real session of v1 the counts of the next calls show that 18 of them,
some 6,000 tokens, were left out and the texts beside them were not). pi's own compaction reads the recorded messages,
as long as they stand in its file.
"""

from collections.abc import Sequence

from inspector.core.buffer import Stretch, View
from inspector.core.message import Message, ToolResult

NO_RESULT = "No result provided"
MENDED_SINCE = 3
"""Version of the session format."""


def mended_view(view: View) -> View:
    """The buffer with its last answer mended. O(messages since that answer)."""
    back, last = 0, None
    for message in view.backwards():
        back += 1
        if message.role != "tool":
            last = message
            break
    start = view.length - back
    if last is None or not last.calls:
        return view
    tail = view.tail(start)
    return Stretch(View(view.stretch, start), _mended(tail[0], tail[1:])).view()


def mended(messages: Sequence[Message]) -> list[Message]:
    """A list with every answer mended but the last: its calls may still be answered."""
    found: list[Message] = []
    at = 0
    while at < len(messages):
        end = at + 1
        while end < len(messages) and messages[end].role == "tool":
            end += 1
        whole = messages[at:end]
        found += _mended(whole[0], whole[1:]) if end < len(messages) and whole[0].calls else whole
        at = end
    return found


def _mended(answer: Message, results: Sequence[Message]) -> list[Message]:
    known = {message.result.call_id for message in results if message.result is not None}
    missing = [call for call in answer.calls if call.id not in known]
    if not missing:
        return [answer, *results]
    told = [
        Message(f"{answer.id}~{n}", "tool", (ToolResult(call.id, NO_RESULT, True),), mark="meta", time=answer.time)
        for n, call in enumerate(missing)
    ]
    return [answer, *results, *told]
