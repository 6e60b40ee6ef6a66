"""The stepper's intents: run a tier, meet its needs, undo, redo, branch, choose.

At most one tier is on its way. Needs are met by the person (`answer_by` = hand) or by an answerer that may take long
and runs through `work`. Nothing is applied before the tier has ended; giving up leaves no trace.
"""

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

from inspector.core.answering import Answerer, offline
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.needs import Answer, Failure, Need
from inspector.core.policies.catalogue import policy
from inspector.core.policies.policy import Policy
from inspector.workbench.foresight import Foresight
from inspector.workbench.standing import moment_of, settings_of, start_of
from inspector.workbench.state import Asking, Choices, State
from inspector.workbench.stepper import Running, begin, repair_step
from inspector.workbench.steps import ORIGIN, Steps

HAND = "hand"


class Bench(Protocol):
    """What stepping needs of the Workbench."""

    @property
    def state(self) -> State: ...
    def show(self, state: State) -> None: ...
    def failed(self, sentence: str) -> None: ...
    def work(self, job: Callable[[], Any], done: Callable[[Any], None]) -> None: ...


def only_offline(who: str, state: State) -> Answerer:
    """Who answers where no window or command line says otherwise. Raises InspectorError."""
    if who == "offline":
        return offline
    raise InspectorError(f"Nobody answers as {who!r} here.")


class Stepping:
    """Held by the Workbench as `stepping`."""

    def __init__(self, bench: Bench, answerers: Callable[[str, State], Answerer] = only_offline) -> None:
        self._bench = bench
        self._answerers = answerers
        self._running: Running | None = None
        self.foresight = Foresight(bench)

    # -- running a tier ---------------------------------------------------------------------------------------------

    def step(self, tier: str = "") -> None:
        """Run a tier where we stand; without a name whatever is due."""
        state = self._bench.state
        if state.thread is None:
            return
        self.give_up()
        steps = start_of(state)
        by = policy(steps.policy)

        def started(running: Running | InspectorError) -> None:
            if isinstance(running, InspectorError):
                self._bench.failed(str(running))
                return
            self._running = running
            self._put(steps)
            self._go_on()

        self._bench.work(lambda: self._begin(by, tier, steps, state), started)

    def _begin(self, by: Policy[Any, Any], tier: str, steps: Steps, state: State) -> Running | InspectorError:
        try:
            return begin(by, tier, steps.buffer, settings_of(state), steps.state, moment_of(state, tier))
        except InspectorError as failure:
            return failure

    def _go_on(self) -> None:
        """After each answer: the next need, or the end."""
        running = self._running
        if running is None:
            return
        if running.step is not None:
            self._running = None
            self._put(start_of(self._bench.state).add(running.step), asking=None, pointed=None)
            return
        assert running.need is not None
        by_hand = self._bench.state.choices.answer_by == HAND
        asking = Asking(running.tier, running.need, len(running.asked) + 1, busy=not by_hand)
        self._bench.show(replace(self._bench.state, asking=asking))
        if not by_hand:
            self.send(running.need)

    # -- meeting its needs ------------------------------------------------------------------------------------------

    def send(self, need: Need, who: str = "") -> None:
        """Have somebody answer the need (as it is, or as the person edited it)."""
        state, running = self._bench.state, self._running
        if running is None or running.need is None or state.asking is None:
            return
        chosen = who or state.choices.answer_by
        name = "offline" if chosen == HAND else chosen
        running.need = need  # what was really sent is what the step remembers
        self._bench.show(replace(state, asking=replace(state.asking, need=need, busy=True)))

        def answered(reply: Answer | Failure | InspectorError) -> None:
            if self._running is not running:
                return  # given up meanwhile
            if isinstance(reply, InspectorError):
                asking = self._bench.state.asking
                self._bench.show(replace(self._bench.state, asking=replace(asking, busy=False) if asking else None))
                self._bench.failed(str(reply))
            else:
                self.answer(reply)

        self._bench.work(lambda: self._ask(name, state, need), answered)

    def _ask(self, who: str, state: State, need: Need) -> Answer | Failure | InspectorError:
        try:
            return self._answerers(who, state)(need)
        except (Failure, InspectorError) as failure:
            return failure

    def answer(self, reply: Answer | Failure) -> None:
        """Meet the need: an answer, or a failure that the person chose."""
        running = self._running
        if running is not None:
            running.answer(reply)
            self._go_on()

    def give_up(self) -> None:
        """Drop the tier that waits; nothing happened."""
        if self._running is not None:
            self._running.give_up()
            self._running = None
        if self._bench.state.asking is not None:
            self._bench.show(replace(self._bench.state, asking=None))

    # -- walking the tree -------------------------------------------------------------------------------------------

    def undo(self) -> None:
        """One step up."""
        self._walk(Steps.undo)

    def redo(self) -> None:
        """One step down, to the newest branch."""
        self._walk(Steps.redo)

    def go(self, at: int) -> None:
        """Stand at a step, or with ORIGIN at the recorded buffer."""
        self._walk(lambda steps: steps.go(at))

    def rename(self, at: int, name: str) -> None:
        """Another name for a step."""
        self._walk(lambda steps: steps.rename(at, name))

    def compare(self, at: int | None) -> None:
        """Compare where we stand with a step (ORIGIN = the recorded buffer); None = with the start of the step."""
        steps = self._bench.state.steps
        if steps is not None:
            self._put(steps.compare(at))

    def forget(self) -> None:
        """Drop all steps that start here."""
        state = self._bench.state
        self.give_up()
        trees = {key: value for key, value in state.trees.items() if key != (state.thread_id, state.at)}
        self._bench.show(replace(self._bench.state, trees=MappingProxyType(trees)))

    def _walk(self, change: Callable[[Steps], Steps]) -> None:
        steps = self._bench.state.steps
        if steps is not None:
            self.give_up()
            self._put(change(steps))

    def put(self, steps: Steps) -> None:
        """Show steps that were made elsewhere (loaded, replayed)."""
        self.give_up()
        self._put(steps)

    def _put(self, steps: Steps, **more: Any) -> None:
        state = self._bench.state
        trees = MappingProxyType({**state.trees, (steps.thread_id, steps.request): steps})
        self._bench.show(replace(state, trees=trees, **more))

    # -- looking ahead ----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Work out the State's `outlook`: what every tier would do where we stand."""
        self.foresight.look()

    def show_preview(self, tier: str | None) -> None:
        """Look at a tier's preview (the State's `preview`); empty = at none, None = at the one that would fire."""
        self.foresight.point(tier)

    # -- choosing ---------------------------------------------------------------------------------------------------

    def choose(self, **choices: Any) -> None:
        """Change some of the Choices. Another policy starts with its own settings and without steps here."""
        state = self._bench.state
        if "policy" in choices and choices["policy"] != state.choices.policy:
            choices.setdefault("settings", ())
            self.forget()
        self._bench.show(replace(self._bench.state, choices=replace(state.choices, **choices)))

    def set(self, name: str, value: str | None) -> None:
        """One setting by its name; None = the policy's own value. An impossible value is told, and not taken."""
        state = self._bench.state
        kept = tuple(pair for pair in state.choices.settings if pair[0] != name)
        choices: Choices = replace(state.choices, settings=kept if value is None else (*kept, (name, value)))
        try:
            settings_of(replace(state, choices=choices))
        except InspectorError as failure:
            self._bench.failed(str(failure))
            return
        self._bench.show(replace(state, choices=choices))

    def repair(self) -> None:
        """Ours, not the harness's: a step that mends what makes every provider refuse the buffer where we stand."""
        state = self._bench.state
        if state.thread is None:
            return
        self.give_up()

        try:
            settings = settings_of(state)
        except InspectorError as failure:
            self._bench.failed(str(failure))
            return

        def mended() -> Steps:
            steps = start_of(state)
            return steps.add(repair_step(steps, settings, moment_of(state)))

        def put(steps: Steps) -> None:
            now = self._bench.state
            if now.thread is state.thread and now.at == state.at and now.steps is state.steps:
                self._put(steps, pointed=None)

        self._bench.work(mended, put)

    def reset_breaker(self) -> None:
        """Ours, not the harness's: close the circuit breaker where we stand, without a step."""
        steps = self._bench.state.steps
        if steps is None:
            return
        by = policy(steps.policy)
        data = by.dump(steps.state)
        data.pop("breaker", None)
        closed = by.load(settings_of(self._bench.state), data)
        if steps.step is None:
            self._put(replace(steps, running=closed))
            return
        taken = list(steps.taken)
        outcomes = steps.step.outcomes
        taken[steps.at] = replace(steps.step, outcomes=(*outcomes[:-1], replace(outcomes[-1], running=closed)))
        self._put(replace(steps, taken=tuple(taken)))


def buffer_at(state: State, at: int = ORIGIN) -> Buffer:
    """The buffer of a step where we stand, or the recorded one."""
    steps = state.steps
    return state.recorded() if steps is None or at == ORIGIN else steps.taken[at].buffer
