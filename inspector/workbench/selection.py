"""Which message is selected: the one that the user picked, otherwise the newest one of the recorded buffer."""

from itertools import chain

from inspector.workbench.state import State


def newest_message(state: State) -> str:
    """Return the id of the newest message of the recorded buffer; empty if there are no messages."""
    view = state.view
    stretch, length, base = view.stretch, view.length, view.stretch.base
    while base is not None and length <= base.length:
        stretch, base = base.stretch, base.stretch.base
    return stretch.own[length - 1 - (base.length if base else 0)].id if length else ""


def is_message_recorded(state: State) -> bool:
    """Does the transcript hold the selected message? Steps add messages that it does not hold. O(messages)."""
    thread = state.thread
    if thread is None:
        return False
    summaries = (
        compaction.summary for compaction in thread.compactions if compaction.summary is not None
    )
    return any(message.id == state.selected for message in chain(thread.messages, summaries))
