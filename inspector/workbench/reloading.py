"""Run the steps of a user's policy again after its file has changed, with their recorded answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inspector.core.errors import InspectorError
from inspector.core.words import plural
from inspector.workbench.state import State
from inspector.workbench.steps import Origin, Steps
from inspector.workbench.steps_file import StepsSource, replay_steps, write_steps


@dataclass(frozen=True, slots=True)
class ReloadedTrees:
    """The trees of steps after a policy was loaded again."""

    trees: Mapping[Origin, Steps]
    """All trees of the session; trees of other policies are unchanged."""
    replayed: int = 0
    changed: int = 0
    """Number of replayed steps whose result differs from before."""
    failures: tuple[str, ...] = field(default=())
    """Why steps could not be run again. Those steps are dropped."""

    @property
    def words(self) -> str:
        """Say what happened, in a sentence."""
        if self.failures:
            return f"The policy's file has changed. Its steps were dropped: {self.failures[0]}"
        if not self.replayed:
            return "The policy's file has changed and was loaded again."
        steps = plural(self.replayed, "step")
        changed = f"{self.changed:,} of them changed" if self.changed else "none of them changed"
        return f"The policy's file has changed: {steps} replayed, {changed}."


def replay_trees(state: State) -> ReloadedTrees:
    """Run the steps of the chosen policy again. O(messages x steps)."""
    trees = dict(state.trees)
    replayed = changed = 0
    failures: list[str] = []
    for origin, steps in state.trees.items():
        if steps.policy != state.choices.policy:
            continue
        del trees[origin]
        if not steps.own:
            continue  # the tree is made again when it is shown
        first = steps.taken[0]
        try:
            document = write_steps(steps, StepsSource("", "", ""))
            replay = replay_steps(
                document, steps.origin, first if first.recorded is not None else None
            )
        except InspectorError as failure:
            failures.append(str(failure))
            continue
        trees[origin] = replay.steps
        replayed += steps.own
        changed += len(replay.elsewhere)
    return ReloadedTrees(trees, replayed, changed, failures=tuple(failures))
