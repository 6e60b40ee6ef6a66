"""Find the earlier run that a run continues: the one whose last buffer, with its answer, is the run's beginning."""

from collections.abc import Collection
from itertools import islice
from typing import NamedTuple

from inspector.core.buffer import View, shared
from inspector.core.formats.traces.span import Span
from inspector.core.formats.traces.tree import AgentRun

_LOOK_BACK = 400
"""Maximum number of messages, from the last one back, that are searched for the last message of an earlier run."""
_MOST_ENDS = 64
"""Maximum number of buffers kept that end with the same message: the latest ones."""


class BufferEnd(NamedTuple):
    """A buffer with the answer to it, and the scope of its conversation."""

    scope: str
    view: View


class RunScopes:
    """Finds the scope of each run: a key that is equal for runs whose calls may belong to one thread."""

    def __init__(self) -> None:
        self._of_run: dict[str, str] = {}
        self._ends: dict[tuple[str, str], list[BufferEnd]] = {}
        """Buffers that no run has continued yet, by owner and last message."""

    def scope_of(self, call: Span, run: AgentRun, view: View, owner: str) -> str:
        """Return the scope of a call.

        The runs of one agent in one conversation have one scope. A run that continues an earlier run has its scope.
        The scope of any other run is the run's id.
        """
        if not view.length:
            return run.id
        if run.agent is not None and call.conversation:
            return f"{call.conversation} {owner}"
        if run.id not in self._of_run:
            self._of_run[run.id] = self._continued_scope(owner, view) or run.id
        return self._of_run[run.id]

    def add_end(self, owner: str, scope: str, view: View) -> None:
        """Record a buffer with its answer, which another run may continue."""
        ends = self._ends_like(owner, view)
        ends.append(BufferEnd(scope, view))
        if len(ends) > _MOST_ENDS:
            del ends[0]

    def remove_end(self, owner: str, view: View) -> None:
        """Forget a buffer that its own run continued."""
        ends = self._ends_like(owner, view)
        ends[:] = [end for end in ends if end.view is not view]

    def _ends_like(self, owner: str, view: View) -> list[BufferEnd]:
        last_id = view.tail(view.length - 1)[0].id if view.length else ""
        return self._ends.setdefault((owner, last_id), [])

    def _continued_scope(self, owner: str, view: View) -> str:
        """Return the scope whose buffer `view` continues; empty if there is none, or more than one.

        The continued buffer is forgotten, because no other run may continue it.
        """
        for message in islice(view.backwards(), _LOOK_BACK):
            ends = self._ends.get((owner, message.id), [])
            continued = [end for end in ends if shared(end.view, view) == end.view.length]
            if continued:
                for end in continued:
                    ends.remove(end)
                return _single({end.scope for end in continued})
        return ""


def _single(scopes: Collection[str]) -> str:
    return next(iter(scopes)) if len(scopes) == 1 else ""
