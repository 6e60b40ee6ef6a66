"""Where a paused run stands in the window: behind the last record of its thread, with steps that start from its own
buffer and running state, so that what the person makes of it can be handed back message for message."""

from dataclasses import replace
from time import monotonic
from types import MappingProxyType
from typing import Any, Protocol

from PySide6.QtCore import QTimer

from inspector.agent.status import RunStatus
from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.gui.navigation import go_to
from inspector.workbench.state import State
from inspector.workbench.steps import Steps
from inspector.workbench.workbench import Workbench

PATIENCE = 1.5
"""Seconds that the journal may take to show what the run holds; then we stand at its end all the same."""


class Known(Protocol):
    """What is needed of a run."""

    @property
    def policy(self) -> str: ...


class Paused:
    """The place of one pause at a time."""

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self._standing: RunStatus | None = None
        self._policy = ""
        self._placed = False
        self._since = 0.0

    def tell(self, now: RunStatus, about: Known, before: RunStatus | None) -> None:
        """How the run stands; a new pause is one with another buffer, or after it went on."""
        if now.state != "paused":
            self._standing = None
        elif before is None or before.state != "paused" or self._standing is None:
            self._standing, self._policy, self._placed, self._since = now, about.policy, False, monotonic()
            QTimer.singleShot(int(PATIENCE * 1000) + 50, self._late)

    def _late(self) -> None:
        self.settle(True)

    def settle(self, shown: bool) -> None:
        """Stand there as soon as the journal shows it. `shown`: the journal is what is open."""
        standing = self._standing
        if standing is None or self._placed or not shown:
            return
        if self._caught_up(standing) or monotonic() - self._since > PATIENCE:
            self._placed = True
            QTimer.singleShot(0, self._stand)  # the others may still be in the middle of being told

    def _caught_up(self, standing: RunStatus) -> bool:
        session = self._workbench.state.session
        threads = session.threads if session is not None else ()
        thread = next((one for one in threads if one.id == standing.thread), None)
        wanted = standing.buffer.messages
        if thread is None or len(thread.end) != len(wanted):
            return False
        return not wanted or next(thread.end.backwards()).id == wanted[-1].id

    def _stand(self) -> None:
        standing = self._standing
        if standing is None:
            return
        steps = Steps(standing.thread, None, self._policy, standing.buffer, standing.running)
        state = self._workbench.state
        trees = MappingProxyType({**state.trees, steps.start: steps})
        self._workbench.show(replace(state, trees=trees))
        go_to(self._workbench, standing.thread, None, "")

    # -- what the person made of it ------------------------------------------------------------------------------------

    @property
    def steps(self) -> Steps | None:
        """The steps that were taken on the paused buffer; None where we look at it as it is."""
        standing, state = self._standing, self._workbench.state
        if standing is None:
            return None
        steps = state.trees.get((standing.thread, None, state.choices.policy))
        return steps if steps is not None and steps.step is not None else None

    def changed(self) -> tuple[Buffer, Any] | None:
        """The buffer to go on with and the policy's running state (None = as it was); None where nothing was changed.

        Messages that are as they were are the run's own again.
        """
        standing, steps = self._standing, self.steps
        if standing is None or steps is None:
            return None
        own = {message.id: message for message in standing.buffer.messages}
        messages = tuple(_own(message, own.get(message.id)) for message in steps.buffer.messages)
        return Buffer(messages, standing.buffer.prompt), steps.state if steps.policy == self._policy else None

    def forget(self) -> None:
        """Drop the steps that were taken on the paused buffer."""
        standing, state = self._standing, self._workbench.state
        if standing is not None:
            trees = {key: one for key, one in state.trees.items() if key[:2] != (standing.thread, None)}
            self._workbench.show(replace(state, trees=MappingProxyType(trees)))

    def leave(self) -> None:
        """The run goes on: the playhead follows its newest request again, where it stood at the end."""
        at_end = _at_end(self._workbench.state, self._standing)
        self.forget()
        self._standing = None
        if at_end:
            self._workbench.last()


def _own(message: Message, own: Message | None) -> Message:
    """The run's own message, where a reader of the journal only told line and time anew."""
    if own is None or message is own:
        return message
    return own if replace(message, line=own.line, time=own.time) == own else message


def _at_end(state: State, standing: RunStatus | None) -> bool:
    return standing is not None and state.at is None and state.thread_id == standing.thread
