"""Steps: outcomes applied by hand, as a tree of values. Undo is moving up, redo down, a branch is a second child.

Nothing here changes: every action makes a new tree that shares the old steps. The buffer where the tree starts is the
recorded one; where the recording itself compacted it, or lost something, it is the buffer right before that, and the
first step is what was recorded. Every other step knows the answers it was given, so it can be replayed exactly.
`inspector.workbench.step_rows` lists the tree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from inspector.core.answering import AnsweredNeed
from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.outcome import Event, Fate, Outcome, fates
from inspector.core.policies.verdict import PolicyInput
from inspector.core.usage import Usage
from inspector.workbench.edits import Edit

if TYPE_CHECKING:
    from inspector.core.findings.recorded_step import RecordedSizes, RecordedStep
    from inspector.core.replay.economics import Economics

Origin: TypeAlias = tuple[str, int | None, str]
"""Where steps start, and whose they are: thread id, request index (None = after the last record), policy."""
ORIGIN = -1
"""Index of the buffer where the tree starts, above all steps."""
RECORDED = 0
"""Index of the recorded change, in a tree that has one."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A recorded model call in the middle of a turn: what came back, with its tools' results."""

    messages: tuple[Message, ...] = ()
    usage: Usage | None = None
    finish: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One tier (or what was due) that was run. `parent` is the index of the step it started from."""

    name: str
    tier: str
    """As it was asked for; empty = what was due."""
    parent: int
    settings: Any
    moment: PolicyInput
    outcomes: tuple[Outcome[Any], ...]
    asked: tuple[AnsweredNeed, ...] = ()
    called: RecordedCall | None = None
    """Of a whole turn (`stepper.TURN`): the call in its middle."""
    edit: Edit | None = None
    """Of a change by hand (`edits.EDIT`): which."""
    recorded: "RecordedStep | None" = None
    """Of what the recording did itself."""

    @property
    def buffer(self) -> Buffer:
        """Where it ended."""
        return self.outcomes[-1].buffer

    @property
    def running(self) -> Any:
        """The policy's running state afterwards."""
        return self.outcomes[-1].running

    @property
    def fired(self) -> tuple[str, ...]:
        """Tiers that did something."""
        return tuple(outcome.tier for outcome in self.outcomes if outcome.events or outcome.changed)

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, in order."""
        return tuple(event for one in self.outcomes for event in one.events)

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
        """Why not; empty for none."""
        return next((outcome.error for outcome in self.outcomes if outcome.error), "")


@dataclass(frozen=True, slots=True)
class Steps:
    """The tree, and where we stand in it."""

    thread_id: str
    request: int | None
    """The request whose buffer it starts from; None = the buffer after the last record."""
    policy: str
    origin: Buffer
    running: Any
    """The policy's running state at the origin."""
    taken: tuple[Step, ...] = ()
    at: int = ORIGIN
    against: int | None = None
    """The step (or ORIGIN) that the user compares with; None = the one that the step we stand at started from."""

    @property
    def start(self) -> Origin:
        """Where the tree starts, and whose it is."""
        return self.thread_id, self.request, self.policy

    @property
    def step(self) -> Step | None:
        """The step we stand at; None at the origin."""
        return None if self.at == ORIGIN else self.taken[self.at]

    @property
    def buffer(self) -> Buffer:
        """The buffer where we stand."""
        return self.origin if self.step is None else self.step.buffer

    @property
    def state(self) -> Any:
        """The policy's running state where we stand."""
        return self.running if self.step is None else self.step.running

    @property
    def recorded(self) -> "RecordedStep | None":
        """What the recording did to the buffer where the tree starts; None where that is the recorded one."""
        return self.taken[RECORDED].recorded if self.taken else None

    @property
    def own(self) -> int:
        """How many steps were taken, the recorded one left out."""
        return len(self.taken) - (self.recorded is not None)

    @property
    def own_path(self) -> tuple[int, ...]:
        """`path` without the recorded step."""
        return tuple(at for at in self.path() if self.taken[at].recorded is None)

    @property
    def stepped(self) -> bool:
        """Do we look at another buffer than the recorded one?"""
        return self.at != self.base(self.at) or self.is_before(self.at)

    def is_before(self, at: int) -> bool:
        """Does it stand at the buffer before the recorded change, or after steps that start from there?"""
        return self.recorded is not None and self.base(at) == ORIGIN

    def base(self, at: int) -> int:
        """Where the user's own steps to `at` start: at the recorded change, or where the tree starts."""
        return RECORDED if self.recorded is not None and RECORDED in self.path(at) else ORIGIN

    def ground_of(self, at: int) -> Buffer:
        """The buffer that the user's own steps to `at` start from."""
        return self.buffer_of(self.base(at))

    @property
    def sent(self) -> Buffer:
        """The buffer as it was recorded."""
        return self.buffer_of(ORIGIN if self.recorded is None else RECORDED)

    @property
    def compared(self) -> int:
        """Index of the step (or ORIGIN) on the left of the diff; where we stand is on its right."""
        if self.against is not None and self.against != self.at:
            return self.against
        return ORIGIN if self.step is None else self.step.parent

    def buffer_of(self, at: int) -> Buffer:
        """The buffer of a step, or with ORIGIN the recorded one."""
        return self.origin if at == ORIGIN else self.taken[at].buffer

    def add(self, step: Step) -> "Steps":
        """With one more step below where we stand; we then stand at it."""
        return replace(self, taken=(*self.taken, replace(step, parent=self.at)), at=len(self.taken))

    def go(self, at: int) -> "Steps":
        """Stand elsewhere. Raises IndexError."""
        if not ORIGIN <= at < len(self.taken):
            raise IndexError(at)
        return replace(self, at=at)

    def undo(self) -> "Steps":
        """One step up; at the origin nothing changes."""
        return self if self.step is None else self.go(self.step.parent)

    def redo(self) -> "Steps":
        """One step down, to the newest branch; where there is none nothing changes."""
        below = self.children(self.at)
        return self.go(below[-1]) if below else self

    def rename(self, at: int, name: str) -> "Steps":
        """The step under another name."""
        taken = list(self.taken)
        taken[at] = replace(taken[at], name=name)
        return replace(self, taken=tuple(taken))

    def compare(self, at: int | None) -> "Steps":
        """Compare where we stand with that step, or with None with the start of the step. Raises IndexError."""
        if at is not None and not ORIGIN <= at < len(self.taken):
            raise IndexError(at)
        return replace(self, against=at)

    def with_running(self, running: Any) -> "Steps":
        """With another running state where we stand."""
        step = self.step
        if step is None:
            return replace(self, running=running)
        outcomes = (*step.outcomes[:-1], replace(step.outcomes[-1], running=running))
        changed = replace(step, outcomes=outcomes)
        return replace(self, taken=(*self.taken[: self.at], changed, *self.taken[self.at + 1 :]))

    def children(self, at: int) -> tuple[int, ...]:
        """The steps that start from there, oldest first."""
        return tuple(n for n, step in enumerate(self.taken) if step.parent == at)

    def path(self, at: int | None = None) -> tuple[int, ...]:
        """Indices from the first step down to `at` (default: where we stand)."""
        return tuple(reversed(tuple(self._upwards(self.at if at is None else at))))

    def _upwards(self, at: int) -> Iterator[int]:
        while at != ORIGIN:
            yield at
            at = self.taken[at].parent

    def fates(self, at: int | None = None, since: int | None = None) -> tuple[Fate, ...]:
        """What became of every message on the way to `at`, from its parent or from `since`.

        `since` may be any step: on another branch, what became of a message follows from the steps to `at` alone.
        """
        at = self.at if at is None else at
        if since is None:
            since = ORIGIN if at == ORIGIN else self.taken[at].parent
        left, path = self.path(since), self.path(at)
        outcomes = [one for n in path if n not in left for one in self.taken[n].outcomes]
        undone = [one for n in left if n not in path for one in self.taken[n].outcomes]
        changed = {id: fate for one in outcomes for id, fate in one.changed.items()}  # noqa: A001
        renamed = {id: was for one in undone for was, id in one.renamed.items()}  # noqa: A001
        renamed |= {id: then for one in outcomes for id, then in one.renamed.items()}  # noqa: A001
        return fates(self.buffer_of(since), Outcome("", self.buffer_of(at), None, changed=changed, renamed=renamed))


def named(tier: str, outcomes: Sequence[Outcome[Any]]) -> str:
    """A first name for a step: the tiers that did something, else what was asked for."""
    fired = [outcome.tier for outcome in outcomes if outcome.events or outcome.changed]
    return " + ".join(fired) or tier or "nothing due"


@dataclass(frozen=True, slots=True, eq=False)
class RecordedBranch:
    """What the recording did to the buffer in front of the request we look at: the tree with it as its only step."""

    steps: Steps
    sizes: "RecordedSizes"
    economics: "Economics | None" = None
    """Whether it paid; None until that is worked out, and for what no compaction did."""
