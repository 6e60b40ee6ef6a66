"""pi's session tree: every record has a node with its parent and the buffer after the record.

The buffer after a record is a view, so the records of one branch share one stretch. A new branch begins a new stretch
on a view of the old stretch. Functions loop over parents and do not recurse, because a branch may hold every record of
the file.
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
    """The message that this record adds to the buffer; None if it adds none."""
    edits: Mapping[str, Message | None] | None = None
    """Replacements of messages by message id; a None in place of a message removes the message."""
    pending: bool = False
    """True while `view` does not include the latest edits; see `settle`."""
    owed: frozenset[str] = frozenset()
    """Ids of tool calls of the last answer that have no result yet."""
    loose: tuple[Record, ...] = ()
    """The records since the last message that was sent."""


ROOT = EntryNode(parent=None, view=Stretch().view(), system=PiSystemPrompt(), depth=-1)
"""The empty node before the first record."""


def appended(view: View, message: Message) -> View:
    """Return the view with one more message, on the same stretch if the view is at its end."""
    stretch = view.stretch if len(view.stretch) == view.length else Stretch(view)
    stretch.append(message)
    return stretch.view()


def settle(node: EntryNode) -> View:
    """Return the buffer after the record, with pending edits applied. Consecutive edits are applied together."""
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
    """Return the view with its edits: shared up to the first edited message, copied from there on. O(buffer)."""
    messages = view.messages()
    first = next((n for n, message in enumerate(messages) if message.id in edits), None)
    if first is None:
        return view
    changed = (edits.get(message.id, message) for message in messages[first:])
    return Stretch(
        View(view.stretch, first), [message for message in changed if message is not None]
    ).view()


def kept(node: EntryNode, first: EntryNode) -> list[Message]:
    """Return the messages from `first` to `node`, in order, with edits applied. O(nodes between them).

    Returns:
        An empty list if `first` is not an ancestor of `node`.
    """
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
"""Version of the session format from which on pi adds results for tool calls without a result."""


def mended_view(view: View) -> View:
    """Return the buffer with results added for unanswered tool calls of the last answer. O(messages since then)."""
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
    """Return the messages with results added for unanswered tool calls.

    The last answer is left unchanged, because results of its tool calls may still follow.
    """
    mended_messages: list[Message] = []
    at = 0
    while at < len(messages):
        end = at + 1
        while end < len(messages) and messages[end].role == "tool":
            end += 1
        answer = messages[at]
        results = messages[at + 1 : end]
        if answer.calls and end < len(messages):
            mended_messages += _mended(answer, results)
        else:
            mended_messages += messages[at:end]
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
            (ToolResult(call.id, NO_RESULT, is_error=True),),
            mark="meta",
            time=answer.time,
        )
        for n, call in enumerate(missing)
    ]
    return [answer, *results, *made_up]
