"""The shadow of an opaque compaction: what a readable summary of the same messages would have kept.

A provider may compact into something only it can read. Nobody can say what that kept. The shadow is the offline
summariser's text over the messages that it stands for: a comparison, never what the model sees.
"""

from inspector.core.buffer import Buffer
from inspector.core.message import Message, Opaque
from inspector.core.needs import Summarize
from inspector.core.offline import summarise
from inspector.workbench.state.state import State

NAME = "shadow summary · extracted offline from the same messages, the model does not see it"


def shadow(state: State, message: Message) -> str:
    """The shadow of `message`; empty where it is no opaque compaction, or what it stands for is not known."""
    if not any(isinstance(part, Opaque) and "compaction" in part.kind for part in message.parts):
        return ""
    replaced = _by_step(state, message) or _recorded(state, message)
    return summarise(Summarize("", "", source=replaced)) if replaced else ""


def _by_step(state: State, message: Message) -> tuple[Message, ...]:
    """What the step that inserted it summarised."""
    steps = state.steps
    for at in reversed(steps.path() if steps else ()):
        assert steps is not None
        fates = steps.fates(at)
        if any(fate.id == message.id and fate.name == "inserted" for fate in fates):
            return tuple(fate.before for fate in fates if fate.name == "summarised" and fate.before is not None)
    return ()


def _recorded(state: State, message: Message) -> tuple[Message, ...]:
    """What stood in the buffer right before a recorded compaction, and not behind it."""
    thread = state.thread
    for compaction in thread.compactions if thread else ():
        if thread is None or compaction.summary is None or compaction.summary.id != message.id:
            continue
        at = compaction.before_request
        before = Buffer(thread.requests[at - 1].view.messages()) if at else Buffer(())
        view = thread.requests[at].view if at < len(thread.requests) else thread.end
        kept = {one.id for one in view.messages()}
        return tuple(one for one in before.messages if one.id not in kept)
    return ()
