"""Manual edits of the buffer. Each edit is a step like that of a tier: it can be undone, branched and replayed."""

from collections.abc import Callable, Sequence
from functools import partial

from inspector.core.errors import InspectorError
from inspector.core.message import Message
from inspector.workbench.edits import (
    EDIT,
    Edit,
    Insertion,
    Partners,
    Removal,
    Rewrite,
    apply,
    fresh_id,
    partners,
)
from inspector.workbench.policy_input import context_of, policy_of, start_of
from inspector.workbench.state import Bench, State, attempt
from inspector.workbench.stepper import begin
from inspector.workbench.steps import Origin, Steps

ANSWER_FIRST = "A tier waits for an answer. Answer or cancel the tier before you edit the buffer."


class Editing:
    """Carries out manual edits. Held by the Workbench as `editing`. While a tier waits for an answer, edits are
    refused.

    Before the first step, the buffer that the steps start from has to be computed, which may take a moment. Edits made
    in the meantime wait and are applied in order, even if the user has moved to another request by then.
    """

    def __init__(self, bench: Bench, keep: Callable[[Steps], None]) -> None:
        self._bench = bench
        self._keep = keep
        self._waiting: dict[Origin, list[Edit]] = {}

    def message(self) -> Message | None:
        """Return the selected message of the shown buffer; None if the buffer does not contain it."""
        state = self._bench.state
        if state.thread is None or not state.selected:
            return None
        return next(
            (message for message in state.buffer().messages if message.id == state.selected), None
        )

    def rewrite(self, message_id: str, part: int, text: str) -> None:
        """Replace the text of one part. Raises InspectorError, and changes nothing, if the part cannot have that
        text."""
        edit = Rewrite(message_id, part, text)
        if apply(
            edit, self._bench.state.buffer(), None
        ).changed:  # an edit that changes nothing is not a step
            self._take(edit)

    def partners(self, message_ids: Sequence[str]) -> Partners:
        """Return what has to be dropped with these messages so that calls and results still pair up."""
        return partners(self._bench.state.buffer(), message_ids)

    def drop(self, message_ids: Sequence[str], with_partners: bool = True) -> None:
        """Drop messages, and select the message that follows them."""
        if self._free():
            edit = Removal(tuple(message_ids), with_partners)
            left = _next(self._bench.state.buffer().messages, edit, self.partners(message_ids))
            self._take(edit)
            self._bench.select(left)

    def insert(self, text: str) -> None:
        """Insert a user message at the end and select it."""
        state = self._bench.state
        if state.thread is not None and self._free():
            waiting = self._waiting.get((state.thread_id, state.at, state.choices.policy), ())
            number = 1 + (len(state.steps.taken) if state.steps else len(waiting))
            edit = Insertion(fresh_id(state.buffer(), number), text)
            self._take(edit)
            self._bench.select(edit.message)

    def _take(self, edit: Edit) -> None:
        if not self._free():
            return
        state = self._bench.state
        if state.steps is not None:
            self._add(state, state.steps, [edit])
            return
        place = state.thread_id, state.at, state.choices.policy
        waiting = self._waiting.setdefault(place, [])
        waiting.append(edit)
        if len(waiting) == 1:
            self._bench.work(
                lambda: attempt(lambda: start_of(state)),
                lambda start: self._take_waiting_edits(place, state, start),
                partial(self._waiting.__delitem__, place),
            )

    def _take_waiting_edits(
        self, place: Origin, state: State, start: Steps | InspectorError
    ) -> None:
        edits = self._waiting.pop(place, [])
        if isinstance(start, InspectorError):
            self._bench.failed(str(start))
        else:
            self._add(state, self._bench.state.trees.get(start.start, start), edits)

    def _add(self, state: State, steps: Steps, edits: Sequence[Edit]) -> None:
        """Add one step per edit, and report an edit that fails."""
        policy = policy_of(state)
        context = context_of(state, steps=steps)
        try:
            for edit in edits:
                run = begin(policy, EDIT, context, edit=edit)
                assert run.step is not None
                steps = steps.add(run.step)
                context = context.after(*run.step.outcomes)
        except InspectorError as failure:
            self._bench.failed(str(failure))
        self._keep(steps)

    def _free(self) -> bool:
        """Return whether the buffer can be edited; report it if a tier is waiting for an answer."""
        if self._bench.state.asking is None:
            return True
        self._bench.failed(ANSWER_FIRST)
        return False


def _next(messages: Sequence[Message], edit: Removal, along: Partners) -> str:
    """Return the id of the message after the first dropped one; if none is left after it, of the message before it."""
    gone = {*edit.messages, *(along.messages if edit.partners else ())}
    first = next((index for index, message in enumerate(messages) if message.id in gone), 0)
    after = (message.id for message in messages[first:] if message.id not in gone)
    before = (message.id for message in reversed(messages[:first]) if message.id not in gone)
    return next(after, next(before, ""))
