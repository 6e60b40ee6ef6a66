"""Steps: outcomes that the user applied, as a tree of values. Undo moves up, redo down, a branch is a second child.

The tree is immutable: every action makes a new one that shares the old steps. It starts from the recorded buffer. If
the recording itself compacted that buffer or lost messages of it, the tree starts from the buffer before that change,
and its first step is the recorded change. Every other step holds the answers to its needs, so that it can be replayed
exactly. `inspector.workbench.step_rows` lists the tree.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from inspector.core.answering import AnsweredNeed
from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.outcome import Event, Fate, FateName, Outcome, fates
from inspector.core.policies.verdict import PolicyInput
from inspector.core.usage import Usage
from inspector.workbench.edits import Edit

if TYPE_CHECKING:
    from inspector.core.findings.recorded_step import RecordedSizes, RecordedStep
    from inspector.core.replay.economics import Economics

Origin: TypeAlias = tuple[str, int | None, str]
"""The place and the policy of steps: thread id, request index (None: after the last record), policy."""
ORIGIN = -1
"""Index of the buffer that the tree starts from, above all steps."""
RECORDED = 0
"""Index of the recorded change, in a tree that has one."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A recorded model call in the middle of a turn: its answer, with the results of its tools."""

    messages: tuple[Message, ...] = ()
    usage: Usage | None = None
    finish: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A tier, or all due tiers, that was run. `parent` is the index of the step that it started from."""

    name: str
    tier: str
    """The tier that the user chose; empty if all due tiers were run."""
    parent: int
    settings: Any
    moment: PolicyInput
    outcomes: tuple[Outcome[Any], ...]
    asked: tuple[AnsweredNeed, ...] = ()
    called: RecordedCall | None = None
    """The recorded call in the middle of a whole turn (`stepper.TURN`); otherwise None."""
    edit: Edit | None = None
    """The manual change (`edits.EDIT`); otherwise None."""
    recorded: "RecordedStep | None" = None
    """The recorded change, for a step that the recording itself took; otherwise None."""

    @property
    def buffer(self) -> Buffer:
        """Return the buffer after the step."""
        return self.outcomes[-1].buffer

    @property
    def running(self) -> Any:
        """Return the policy's running state after the step."""
        return self.outcomes[-1].running

    @property
    def fired(self) -> tuple[str, ...]:
        """Return the names of the tiers that did something."""
        return tuple(outcome.tier for outcome in self.outcomes if outcome.events or outcome.changed)

    @property
    def events(self) -> tuple[Event, ...]:
        """Return the events of all outcomes, in order."""
        return tuple(event for outcome in self.outcomes for event in outcome.events)

    @property
    def succeeded(self) -> bool:
        """Did every tier that ran succeed?"""
        return all(outcome.succeeded for outcome in self.outcomes)

    @property
    def did_nothing(self) -> bool:
        """Did no tier change, ask, report or fail anything?"""
        return not self.fired and not self.asked and not self.error

    @property
    def error(self) -> str:
        """Return the first error of its tiers; empty if all succeeded."""
        return next((outcome.error for outcome in self.outcomes if outcome.error), "")


@dataclass(frozen=True, slots=True)
class Steps:
    """The tree of steps, and the current step in it."""

    thread_id: str
    request: int | None
    """Index of the request whose buffer the tree starts from; None: the buffer after the last record."""
    policy: str
    origin: Buffer
    running: Any
    """The policy's running state at the origin."""
    taken: tuple[Step, ...] = ()
    at: int = ORIGIN
    against: int | None = None
    """The step (or ORIGIN) that the user compares with; None: the parent of the current step."""

    @property
    def start(self) -> Origin:
        """Return the place and the policy of the tree."""
        return self.thread_id, self.request, self.policy

    @property
    def step(self) -> Step | None:
        """Return the current step; None at the origin."""
        return None if self.at == ORIGIN else self.taken[self.at]

    @property
    def buffer(self) -> Buffer:
        """Return the current buffer."""
        return self.origin if self.step is None else self.step.buffer

    @property
    def state(self) -> Any:
        """Return the policy's running state at the current step."""
        return self.running if self.step is None else self.step.running

    @property
    def recorded(self) -> "RecordedStep | None":
        """Return the recorded change that is the first step; None if the tree starts from the recorded buffer."""
        return self.taken[RECORDED].recorded if self.taken else None

    @property
    def own(self) -> int:
        """Return the number of the user's own steps, without the recorded change."""
        return len(self.taken) - (self.recorded is not None)

    @property
    def own_path(self) -> tuple[int, ...]:
        """Return `path` without the recorded change."""
        return tuple(step for step in self.path() if self.taken[step].recorded is None)

    @property
    def stepped(self) -> bool:
        """Does the current buffer differ from the recorded one?"""
        return self.at != self.base(self.at) or self.is_before(self.at)

    def is_before(self, at: int) -> bool:
        """Is `at` the buffer before the recorded change, or a step that starts from it?"""
        return self.recorded is not None and self.base(at) == ORIGIN

    def base(self, at: int) -> int:
        """Return the index that the user's own steps to `at` start from: RECORDED or ORIGIN."""
        return RECORDED if self.recorded is not None and RECORDED in self.path(at) else ORIGIN

    def ground_of(self, at: int) -> Buffer:
        """Return the buffer that the user's own steps to `at` start from."""
        return self.buffer_of(self.base(at))

    @property
    def sent(self) -> Buffer:
        """Return the recorded buffer."""
        return self.buffer_of(ORIGIN if self.recorded is None else RECORDED)

    @property
    def compared(self) -> int:
        """Return the index of the step (or ORIGIN) on the left of the diff; the current step is on its right."""
        if self.against is not None and self.against != self.at:
            return self.against
        return ORIGIN if self.step is None else self.step.parent

    def buffer_of(self, at: int) -> Buffer:
        """Return the buffer of a step; for ORIGIN, the buffer that the tree starts from."""
        return self.origin if at == ORIGIN else self.taken[at].buffer

    def add(self, step: Step) -> "Steps":
        """Return the tree with a new step below the current one. The new step becomes the current one."""
        return replace(self, taken=(*self.taken, replace(step, parent=self.at)), at=len(self.taken))

    def go(self, at: int) -> "Steps":
        """Return the tree with another current step. Raises IndexError."""
        if not ORIGIN <= at < len(self.taken):
            raise IndexError(at)
        return replace(self, at=at)

    def undo(self) -> "Steps":
        """Move to the parent of the current step; at the origin nothing changes."""
        return self if self.step is None else self.go(self.step.parent)

    def redo(self) -> "Steps":
        """Move to the newest step below the current one; if there is none, nothing changes."""
        below = self.children(self.at)
        return self.go(below[-1]) if below else self

    def rename(self, at: int, name: str) -> "Steps":
        """Return the tree with a step renamed."""
        taken = list(self.taken)
        taken[at] = replace(taken[at], name=name)
        return replace(self, taken=tuple(taken))

    def compare(self, at: int | None) -> "Steps":
        """Compare the current step with another; None: with its parent. Raises IndexError."""
        if at is not None and not ORIGIN <= at < len(self.taken):
            raise IndexError(at)
        return replace(self, against=at)

    def with_running(self, running: Any) -> "Steps":
        """Return the tree with another running state at the current step."""
        step = self.step
        if step is None:
            return replace(self, running=running)
        outcomes = (*step.outcomes[:-1], replace(step.outcomes[-1], running=running))
        changed = replace(step, outcomes=outcomes)
        return replace(self, taken=(*self.taken[: self.at], changed, *self.taken[self.at + 1 :]))

    def children(self, at: int) -> tuple[int, ...]:
        """Return the steps that start from `at`, oldest first."""
        return tuple(index for index, step in enumerate(self.taken) if step.parent == at)

    def path(self, at: int | None = None) -> tuple[int, ...]:
        """Return the indices from the first step down to `at` (default: the current step)."""
        return tuple(reversed(tuple(self._walk_to_origin(self.at if at is None else at))))

    def _walk_to_origin(self, step: int) -> Iterator[int]:
        while step != ORIGIN:
            yield step
            step = self.taken[step].parent

    def _outcomes(self, steps: Iterable[int]) -> Iterator[Outcome[Any]]:
        for step in steps:
            yield from self.taken[step].outcomes

    def fates(self, at: int | None = None, since: int | None = None) -> tuple[Fate, ...]:
        """Return the fate of every message between its parent (or `since`) and `at`.

        `since` may be any step. If it is on another branch, the fates are derived only from the steps that lead to
        `at`.
        """
        at = self.at if at is None else at
        if since is None:
            since = ORIGIN if at == ORIGIN else self.taken[at].parent
        left = self.path(since)
        path = self.path(at)
        changed: dict[str, FateName] = {}
        renamed: dict[str, str] = {}
        for outcome in self._outcomes(
            step for step in left if step not in path
        ):  # undone on the way
            renamed.update((after, before) for before, after in outcome.renamed.items())
        for outcome in self._outcomes(step for step in path if step not in left):
            changed.update(outcome.changed)
            renamed.update(outcome.renamed)
        return fates(
            self.buffer_of(since),
            Outcome("", self.buffer_of(at), running=None, changed=changed, renamed=renamed),
        )


def name_step(tier: str, outcomes: Sequence[Outcome[Any]]) -> str:
    """Return the default name of a step: the tiers that did something, or else the tier that the user chose."""
    fired = [outcome.tier for outcome in outcomes if outcome.events or outcome.changed]
    return " + ".join(fired) or tier or "nothing due"


@dataclass(frozen=True, slots=True, eq=False)
class RecordedBranch:
    """What the recording did to the buffer before the current request: the tree with that change as its only step."""

    steps: Steps
    sizes: "RecordedSizes"
    economics: "Economics | None" = None
    """Whether the change paid for itself. None until that is computed, and for a change that is not a compaction."""
