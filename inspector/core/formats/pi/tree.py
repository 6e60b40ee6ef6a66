"""pi's session tree: every record knows its parent and the buffer after it.

The buffer after a record is a view, so records on one branch share one stretch; a branch begins a new stretch on a
view of the old one. Walking is by loops over parents: a chain may have the length of the file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inspector.core.buffer import Stretch, View
from inspector.core.formats.pi.messages import PiSystemPrompt
from inspector.core.message import Message, ToolResult
from inspector.core.session import Record


@dataclass(slots=True)
class EntryNode:
    """One record and the buffer after it."""

    parent: "EntryNode | None"
    view: View
    system: PiSystemPrompt
    depth: int = 0
    message: Message | None = None
    """What this record adds to the buffer."""
    edits: Mapping[str, Message | None] | None = None
    """Replacements of messages by id; None takes the message out."""
    pending: bool = False
    """The record brings edits that `view` does not show yet."""
    owed: frozenset[str] = frozenset()
    """Tool calls of the last answer that have no answer yet."""
    loose: tuple[Record, ...] = ()
    """The records since the last message that was sent."""


ROOT = EntryNode(None, Stretch().view(), PiSystemPrompt(), depth=-1)
"""Stands before the first record."""


def appended(view: View, message: Message) -> View:
    """The view with one more message: on the same stretch where nothing else was put there."""
    stretch = view.stretch if len(view.stretch) == view.length else Stretch(view)
    stretch.append(message)
    return stretch.view()


def settle(node: EntryNode) -> View:
    """The buffer after the record, with the edits that ended there. A run of edits is applied in one go."""
    if not node.pending:
        return node.view
    edits: dict[str, Message | None] = {}
    at: EntryNode | None = node
    while at is not None and at.pending:
        for name, stands in (at.edits or {}).items():
            edits.setdefault(name, stands)
        at = at.parent
    node.view, node.pending = _edited(at.view if at else ROOT.view, edits), False
    return node.view


def _edited(view: View, edits: Mapping[str, Message | None]) -> View:
    """Keeps the view up to the first message that is edited and copies the rest. O(buffer)."""
    messages = view.messages()
    first = next((n for n, message in enumerate(messages) if message.id in edits), None)
    if first is None:
        return view
    changed = (edits.get(message.id, message) for message in messages[first:])
    return Stretch(
        View(view.stretch, first), [message for message in changed if message is not None]
    ).view()


def kept(node: EntryNode, first: EntryNode) -> list[Message]:
    """The messages from `first` to `node`, in order, edits applied; none where `first` is not an ancestor. O(kept)."""
    backwards: list[Message] = []
    edits: dict[str, Message | None] = {}
    at: EntryNode | None = node
    while at is not None and at.depth >= first.depth:
        for name, stands in (at.edits or {}).items():
            edits.setdefault(name, stands)
        if at.message is not None:
            message = edits.get(at.message.id, at.message)
            if message is not None:
                backwards.append(message)
        if at is first:
            return backwards[::-1]
        at = at.parent
    return []


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
    mended_messages: list[Message] = []
    at = 0
    while at < len(messages):
        end = at + 1
        while end < len(messages) and messages[end].role == "tool":
            end += 1
        whole = messages[at:end]
        mended_messages += (
            _mended(whole[0], whole[1:]) if end < len(messages) and whole[0].calls else whole
        )
        at = end
    return mended_messages


def _mended(answer: Message, results: Sequence[Message]) -> list[Message]:
    answered = {message.result.call_id for message in results if message.result is not None}
    missing = [call for call in answer.calls if call.id not in answered]
    if not missing:
        return [answer, *results]
    made_up = [
        Message(
            f"{answer.id}~{n}",
            "tool",
            (ToolResult(call.id, NO_RESULT, True),),
            mark="meta",
            time=answer.time,
        )
        for n, call in enumerate(missing)
    ]
    return [answer, *results, *made_up]
