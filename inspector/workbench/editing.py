"""The intents of a person who changes the buffer by hand. Each is a step like a tier's: undone, branched, replayed."""

from collections.abc import Callable, Sequence
from typing import Protocol

from inspector.core.message import Message
from inspector.workbench.edits import Drop, Edit, Insert, Partners, Rewrite, apply, fresh_id, partners
from inspector.workbench.state import State


class Bench(Protocol):
    """What editing needs of the Workbench."""

    @property
    def state(self) -> State: ...
    def select(self, message_id: str) -> None: ...
    def failed(self, sentence: str) -> None: ...


class Editing:
    """Held by the Workbench as `editing`. A tier that waits is not dropped by an edit: it has to end first."""

    def __init__(self, bench: Bench, step: Callable[[str, Edit], None]) -> None:
        self._bench, self._step = bench, step

    def message(self) -> Message | None:
        """The selected message, as it stands in the buffer we look at."""
        state = self._bench.state
        if state.thread is None or not state.selected:
            return None
        return next((one for one in state.buffer().messages if one.id == state.selected), None)

    def rewrite(self, message_id: str, part: int, text: str) -> None:
        """Another text for one part. Raises InspectorError, and changes nothing, where the text cannot be that."""
        edit = Rewrite(message_id, part, text)
        if apply(edit, self._bench.state.buffer(), None).changed:  # an edit that changes nothing is no step
            self._take(edit)

    def partners(self, message_ids: Sequence[str]) -> Partners:
        """What would have to go along with these, so that calls and results still pair up."""
        return partners(self._bench.state.buffer(), message_ids)

    def drop(self, message_ids: Sequence[str], with_partners: bool = True) -> None:
        """Take messages out; the one that stood behind them is selected."""
        if self._free():
            edit = Drop(tuple(message_ids), with_partners)
            left = _next(self._bench.state.buffer().messages, edit, self.partners(message_ids))
            self._take(edit)
            self._bench.select(left)

    def insert(self, text: str) -> None:
        """A user message at the end, which is then selected."""
        state = self._bench.state
        if state.thread is not None and self._free():
            taken = len(state.steps.taken) if state.steps else 0
            edit = Insert(fresh_id(state.buffer(), taken + 1), text)
            self._take(edit)
            self._bench.select(edit.message)

    def _take(self, edit: Edit) -> None:
        if self._free():
            self._step("", edit)

    def _free(self) -> bool:
        """Is no tier waiting for an answer?"""
        if self._bench.state.asking is None:
            return True
        self._bench.failed("A tier waits for an answer: answer it or give it up before the buffer is edited.")
        return False


def _next(messages: Sequence[Message], edit: Drop, along: Partners) -> str:
    """Id of the message behind the first that goes; of the one before where none is left behind it."""
    gone = {*edit.messages, *(along.messages if edit.partners else ())}
    first = next((n for n, one in enumerate(messages) if one.id in gone), 0)
    behind = (one.id for one in messages[first:] if one.id not in gone)
    before = (one.id for one in reversed(messages[:first]) if one.id not in gone)
    return next(behind, next(before, ""))
