"""pi's session tree: every record knows its parent and the buffer that stood after it.

The buffer after a record is a view, so records on one branch share one stretch; a branch begins a new stretch on a
view of the old one. Walking is by loops over parents: a chain may be as long as the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from inspector.core.buffer import Stretch, View
from inspector.core.formats.pi.messages import SystemPrompt
from inspector.core.message import Message
from inspector.core.session import Record


@dataclass(slots=True)
class Node:
    """One record and what stood after it."""

    parent: "Node | None"
    view: View
    system: SystemPrompt
    depth: int = 0
    message: Message | None = None
    """What this record adds to the buffer."""
    edit: tuple[str, Message | None] | None = None
    """(target id, what stands there from now on; None = nothing), for a context edit."""
    pending: bool = False
    """The record is an edit that `view` does not show yet."""
    owed: frozenset[str] = frozenset()
    """Tool calls of the last answer that have no answer yet."""
    loose: tuple[Record, ...] = ()
    """The records since the last message that was sent."""


ROOT = Node(None, Stretch().view(), SystemPrompt(), depth=-1)
"""Stands before the first record."""


def appended(view: View, message: Message) -> View:
    """The view with one more message: on the same stretch where nothing else was put there."""
    stretch = view.stretch if len(view.stretch) == view.length else Stretch(view)
    stretch.append(message)
    return stretch.view()


def settle(node: Node) -> View:
    """The buffer after the record, with the edits that ended there. A run of edits is applied in one go."""
    if not node.pending:
        return node.view
    edits: dict[str, Message | None] = {}
    at: Node | None = node
    while at is not None and at.pending:
        if at.edit is not None:
            edits.setdefault(*at.edit)
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
    return Stretch(View(view.stretch, first), [message for message in changed if message is not None]).view()


def kept(node: Node, first: Node) -> list[Message]:
    """The messages from `first` to `node`, in order, edits applied; none where `first` is not an ancestor. O(kept)."""
    found: list[Message] = []
    edits: dict[str, Message | None] = {}
    at: Node | None = node
    while at is not None and at.depth >= first.depth:
        if at.edit is not None:
            edits.setdefault(*at.edit)
        if at.message is not None:
            message = edits.get(at.message.id, at.message)
            if message is not None:
                found.append(message)
        if at is first:
            return found[::-1]
        at = at.parent
    return []
