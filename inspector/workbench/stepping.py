"""The stepper's intents: run a tier, answer its needs, undo, redo, branch, choose.

At most one tier runs at a time. Needs are answered by the user (`answer_by` = hand) or by an answerer, which may take
long and therefore runs through `work`. Nothing is applied before the tier has ended; giving up changes nothing.
"""

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

from inspector.core.answering import Answerer, Stoppable, offline
from inspector.core.errors import InspectorError
from inspector.core.needs import Answer, Failure, Need
from inspector.core.policies.catalogue import DEFAULT_POLICY, POLICIES
from inspector.core.policies.settings import SettingPairs
from inspector.core.replay.files import with_recorded_files
from inspector.extensions.policies import find_policy
from inspector.workbench.policy_input import (
    called_at,
    context_of,
    ground_of,
    policy_of,
    settings_of,
    start_of,
)
from inspector.workbench.reloading import ReloadedTrees, replay_trees
from inspector.workbench.state import Bench, Choices, PendingNeed, State, attempt
from inspector.workbench.stepper import DUE, REPAIR, TURN, TierRun, begin
from inspector.workbench.steps import Steps

HAND = "hand"
DROP_STEPS = "Drop all steps here"
"""Text of the command that drops the steps of the current place."""
Answerers: TypeAlias = Callable[[str, State], Answerer]
"""Returns the answerer with a given name for a state's current place. Raises InspectorError."""


def refuse_models(who: str, state: State) -> Answerer:
    """Return the offline answerer, the only one available by default. Raises InspectorError for any other name."""
    if who == "offline":
        return offline
    raise InspectorError(f"Model calls cannot be answered by {who!r} here.")


class Stepping:
    """Carries out the stepper's intents. Held by the Workbench as `stepping`."""

    def __init__(self, bench: Bench, answerers: Answerers = refuse_models) -> None:
        self._bench = bench
        self._answerers = answerers
        self._running: TierRun | None = None
        self._from: Steps | None = None
        self._answerer: object = None
        self._ticket = self._call = 0

    # -- running a tier ---------------------------------------------------------------------------------------------

    def step(self, tier: str = DUE) -> None:
        """Run a tier at the current place. Without a name, run all due tiers; TURN runs the whole turn up to the next
        call.
        """
        state = self._bench.state
        if state.thread is None:
            return
        self.give_up()
        ticket = self._ticket

        def started(running: tuple[Steps, TierRun] | InspectorError) -> None:
            if ticket != self._ticket:
                return  # another tier was started, or this one was cancelled
            if isinstance(running, InspectorError):
                self._bench.failed(str(running))
                return
            self._from, self._running = running
            self._go_on()

        self._bench.work(lambda: attempt(lambda: _begin_tier(tier, state)), started)

    def step_turn(self) -> None:
        """Run the whole turn: what is due before the call, the recorded call, and what is due after it."""
        self.step(TURN)

    def _go_on(self) -> None:
        """Continue after an answer: ask the next need, or finish."""
        running = self._running
        start = self._from
        if running is None:
            return
        if running.need is None:
            self._drop()
            # The step of an external need is taken elsewhere.
            if running.step is None or start is None:
                self._bench.show(replace(self._bench.state, asking=None))
                return
            if running.tier == DUE and running.step.did_nothing:
                self._bench.show(replace(self._bench.state, asking=None))
                self._bench.failed(_nothing_due(start))
                return
            tree = self._bench.state.trees.get(start.start, start)
            self.keep(tree.go(start.at).add(running.step), asking=None, pointed=None)
            return
        by_hand = start is None or self._bench.state.choices.answer_by == HAND
        asking = PendingNeed(running.tier, running.need, len(running.asked) + 1, busy=not by_hand)
        self._bench.show(replace(self._bench.state, asking=asking))
        if not by_hand:
            self.send(running.need)

    def take_external(self, running: TierRun) -> None:
        """Have the user answer a need of a live run. It makes no step here."""
        self.give_up()
        self._running = running
        self._go_on()

    def _drop(self) -> None:
        """Forget the running tier, and ignore results that still arrive for it."""
        self._running = self._from = None
        self._ticket += 1
        self._hang_up()

    def _hang_up(self) -> None:
        """Ignore the result of the running call, and cancel the call if possible."""
        answerer = self._answerer
        self._answerer = None
        self._call += 1
        if isinstance(answerer, Stoppable):
            answerer.cancel()

    # -- answering needs ----------------------------------------------------------------------------------------------

    def send(self, need: Need, who: str = "") -> None:
        """Pass the need, which the user may have edited, to the answerer `who` (default: the chosen one)."""
        state = self._bench.state
        running = self._running
        if running is None or running.need is None or state.asking is None:
            return
        chosen = who or state.choices.answer_by
        name = "offline" if chosen == HAND else chosen
        self._call += 1
        call = self._call
        running.need = need  # the step records the need that was really sent
        self._bench.show(
            replace(state, asking=replace(state.asking, need=need, busy=True, who=name))
        )

        def answered(reply: Answer | Failure | InspectorError) -> None:
            if call != self._call:
                return  # cancelled or stopped in the meantime
            self._answerer = None
            if isinstance(reply, InspectorError):
                asking = self._bench.state.asking
                self._bench.show(
                    replace(
                        self._bench.state, asking=replace(asking, busy=False) if asking else None
                    )
                )
                self._bench.failed(str(reply))
            else:
                self.answer(reply)

        self._bench.work(
            lambda: self._ask(name, state, need, call), answered, self.stop, waits=True
        )

    def _ask(
        self, who: str, state: State, need: Need, call: int
    ) -> Answer | Failure | InspectorError:
        try:
            answerer = self._answerers(who, state)
            if call == self._call:
                self._answerer = answerer
            return with_recorded_files(answerer, *ground_of(state))(need)
        except (Failure, InspectorError) as failure:
            return failure

    def answer(self, reply: Answer | Failure) -> None:
        """Answer the need, with an answer or with a failure that the user chose."""
        running = self._running
        if running is not None:
            running.answer(reply)
            self._go_on()

    def stop(self) -> None:
        """Stop the running call. The need stays open, and the user can answer it or send it again."""
        asking = self._bench.state.asking
        if asking is not None and asking.busy:
            self._hang_up()
            self._bench.show(replace(self._bench.state, asking=replace(asking, busy=False)))

    def give_up(self) -> None:
        """Cancel the waiting tier and its running call. The buffer is unchanged."""
        if self._running is not None:
            self._running.give_up()
        self._drop()
        if self._bench.state.asking is not None:
            self._bench.show(replace(self._bench.state, asking=None))

    # -- moving in the tree -------------------------------------------------------------------------------------------

    def undo(self) -> None:
        """Move to the parent of the current step."""
        self._stand(Steps.undo)

    def redo(self) -> None:
        """Move to the newest step below the current one."""
        self._stand(Steps.redo)

    def go(self, at: int) -> None:
        """Move to a step, or with ORIGIN to the buffer that the tree starts from."""
        self._stand(lambda steps: steps.go(at))

    def rename(self, at: int, name: str) -> None:
        """Rename a step."""
        steps = self._bench.state.steps
        if steps is not None:
            self.keep(steps.rename(at, name))

    def compare(self, at: int | None) -> None:
        """Compare the current step with another (ORIGIN: the buffer that the tree starts from); None: with its
        parent.
        """
        steps = self._bench.state.steps
        if steps is not None:
            self.keep(steps.compare(at), pointed=None)

    def forget(self) -> None:
        """Drop all steps that start at the current place."""
        state = self._bench.state
        self.give_up()
        start = (state.thread_id, state.at, state.choices.policy)
        trees = {key: value for key, value in state.trees.items() if key != start}
        self._bench.show(replace(self._bench.state, trees=MappingProxyType(trees)))

    def _stand(self, move: Callable[[Steps], Steps]) -> None:
        """Move to another step, and show that step instead of a tier's preview."""
        steps = self._bench.state.steps
        if steps is not None:
            self.give_up()
            self.keep(move(steps), pointed=None)

    def put(self, steps: Steps) -> None:
        """Show steps that were made elsewhere (loaded or replayed)."""
        self.adopt(steps.policy)
        self.give_up()
        self.keep(steps)

    def keep(self, steps: Steps, **more: Any) -> None:
        """Store a tree of steps, and show it together with the other changed fields `more`."""
        state = self._bench.state
        trees = MappingProxyType({**state.trees, steps.start: steps})
        self._bench.show(replace(state, trees=trees, **more))

    # -- choosing ---------------------------------------------------------------------------------------------------

    def choose(self, **choices: Any) -> None:
        """Change some of the Choices. Another policy has its own settings and steps.

        A chosen policy stays chosen for later sessions.
        """
        chosen = replace(self._bench.state.choices, **choices)
        if "policy" in choices:
            chosen = replace(chosen, usual=None)
        if chosen.policy != self._bench.state.choices.policy and "settings" not in choices:
            chosen = _carry_scale(self._bench.state.choices, chosen)
        self._choose(chosen)

    def adopt(
        self, policy: str, settings: SettingPairs | None = None, remote: bool = False
    ) -> None:
        """Use a policy that belongs to the open session: that of its run, or of steps that were loaded.

        If `settings` is None, the current settings are kept if this is the chosen policy; another policy uses its
        defaults.
        """
        now = self._bench.state.choices
        if settings is None:
            settings = now.settings if policy == now.policy else ()
            remote = now.remote
        if (policy, settings, remote) != (now.policy, now.settings, now.remote):
            self._choose(now.adopt(policy, settings, remote))

    def reload_policy(self) -> None:
        """Use the new code of the chosen policy's file, and run its steps again."""
        self.give_up()
        state = self._bench.state

        def replayed(reloaded: ReloadedTrees | InspectorError) -> None:
            now = self._bench.state
            if isinstance(reloaded, InspectorError):
                self._bench.failed(str(reloaded))
                return
            choices = replace(now.choices, policy_loads=now.choices.policy_loads + 1)
            trees = (
                MappingProxyType(dict(reloaded.trees)) if now.trees is state.trees else now.trees
            )
            if reloaded.failures:
                self._bench.show(replace(now, choices=choices, trees=trees))
                self._bench.failed(reloaded.words)
            else:
                self._bench.show(replace(now, choices=choices, trees=trees, note=reloaded.words))

        self._bench.work(lambda: attempt(lambda: replay_trees(state)), replayed)

    def _choose(self, chosen: Choices) -> None:
        if chosen.policy != self._bench.state.choices.policy:
            self.give_up()
        self._bench.show(replace(self._bench.state, choices=chosen))

    def set(self, name: str, value: str | None) -> None:
        """Change one setting by name; None restores the policy's own value. An impossible value is reported and not
        set.
        """
        try:
            choices = self.checked(name, value)
        except InspectorError as failure:
            self._bench.failed(str(failure))
            return
        self._bench.show(replace(self._bench.state, choices=choices))

    def set_scale(self, name: str, value: str | None) -> None:
        """Change a setting of the scale; None restores its own value. An impossible value is reported and not set."""
        choices = self._bench.state.choices
        if choices.policy == DEFAULT_POLICY:
            self.set(name, value)
            return
        pairs = tuple((other, text) for other, text in choices.scale if other != name)
        if value is not None:
            pairs = (*pairs, (name, value))
        try:
            POLICIES[DEFAULT_POLICY].settings(pairs)
        except InspectorError as failure:
            self._bench.failed(str(failure))
            return
        self._bench.show(replace(self._bench.state, choices=replace(choices, scale=pairs)))

    def checked(self, name: str, value: str | None) -> Choices:
        """Return the Choices with a setting changed; a value that equals the policy's own is not stored.

        Raises InspectorError.
        """
        state = self._bench.state
        pairs = state.choices.settings
        others = tuple((other, text) for other, text in pairs if other != name)
        own: Choices = replace(state.choices, settings=others)
        if value is None:
            return own
        choices: Choices = replace(own, settings=(*others, (name, value)))
        same = settings_of(replace(state, choices=choices)) == settings_of(
            replace(state, choices=own)
        )
        return own if same else choices

    def repair(self) -> None:
        """Repair what makes every provider refuse the current buffer. This step is the workbench's, not the
        harness's.
        """
        self.step(REPAIR)

    def reset_breaker(self) -> None:
        """Close the policy's circuit breaker at the current place, without a step. The harness itself has no such
        action.
        """
        steps = self._bench.state.steps
        if steps is None:
            return
        policy = find_policy(steps.policy)
        data = policy.dump(steps.state)
        data.pop("breaker", None)
        closed = policy.load(settings_of(self._bench.state), data)
        self.keep(steps.with_running(closed))


def _nothing_due(start: Steps) -> str:
    place = "after the last request" if start.request is None else f"at request {start.request:,}"
    title = find_policy(start.policy).title
    return f"No tier of {title} is due {place}, so no step was taken. “Force” runs a tier anyway."


def _begin_tier(tier: str, state: State) -> tuple[Steps, TierRun]:
    """Run a tier from the current place of `state` to its first need. Return the steps that it starts from, and the
    run.
    """
    steps = start_of(state)
    called = called_at(state) if tier == TURN else None
    return steps, begin(policy_of(state), tier, context_of(state, tier, steps), called)


def _carry_scale(before: Choices, chosen: Choices) -> Choices:
    """Return the choices for another policy, without the former policy's settings. The product's own lines stay where
    the user moved them.
    """
    if chosen.policy == DEFAULT_POLICY:
        return replace(chosen, settings=before.scale, scale=())
    if before.policy != DEFAULT_POLICY:
        return replace(chosen, settings=())
    policy = POLICIES[DEFAULT_POLICY]
    movable = {line.setting for line in policy.watermarks(policy.settings())}
    scale = tuple((name, text) for name, text in before.settings if name in movable)
    return replace(chosen, settings=(), scale=scale)
