"""Policies side by side: each driven over the whole chosen thread, compared with what happened.

A `PolicyRun` says what to drive, a `Comparison` what came of several. `recorded` is in every one: it is the base line.
Offline unless the caller brings an answerer; nothing here is written anywhere.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from inspector.core.answering import Answerer, offline
from inspector.core.errors import Cancelled, InspectorError
from inspector.core.identity import SameObject
from inspector.core.policies.catalogue import TITLES, policy
from inspector.core.policies.settings import SettingPairs
from inspector.core.replay.driver import Ground
from inspector.core.replay.pins import pins_kept
from inspector.core.replay.report import RECORDED, TITLE, ReplayReport, recorded, report
from inspector.core.session import SideCall, Thread
from inspector.workbench.policy_input import given
from inspector.workbench.state import State

BASE, PLAIN = RECORDED, "none"
NAMES: Mapping[str, str] = {BASE: TITLE, **TITLES}
"""Of everything that can stand side by side, by name."""
DEFAULT = (BASE, "roku", "pulse", "pi", "learn-claude-code", PLAIN)


@dataclass(frozen=True, slots=True)
class PolicyRun:
    """A policy to be driven over a thread. Equal runs have equal reports."""

    thread: SameObject
    policy: str
    window: int | None = None
    settings: SettingPairs = ()
    remote: bool = False
    pins: tuple[str, ...] = ()
    """Texts that should stay, beside the constraints that are found."""


@dataclass(frozen=True, slots=True)
class ImpossibleRun:
    """A run that cannot begin: its settings contradict each other. `why` is a sentence."""

    why: str


Result: TypeAlias = ReplayReport | ImpossibleRun
Results: TypeAlias = Mapping[PolicyRun, Result]


@dataclass(frozen=True, slots=True)
class ComparisonProgress:
    """How far a comparison is: the policy, its requests, and how many runs came before."""

    policy: str
    done: int
    requests: int
    before: int
    runs: int

    @property
    def share(self) -> float:
        """Of all runs, 0 to 1."""
        return (self.before + self.done / max(1, self.requests)) / max(1, self.runs)


def runs(state: State, chosen: Iterable[str], window: int | None) -> tuple[PolicyRun, ...]:
    """One run a chosen policy, in the catalogue's order, what happened always first; empty while there is no request.

    What the user set holds for the policy that it was set for; `window` (tokens) is that of the session's model, and
    holds for all where the user says so.
    """
    thread, choices, names = state.thread, state.choices, {*chosen, BASE}
    if thread is None or not thread.requests:
        return ()
    same = SameObject(thread)
    return tuple(
        PolicyRun(
            same,
            name,
            window,
            (
                *(given(state, policy(name)) if name in TITLES else ()),
                *(choices.settings if name == choices.policy else ()),
            ),
            choices.remote,
            state.pins,
        )
        for name in NAMES
        if name in names
    )


def compare(
    thread: Thread,
    wanted: Sequence[PolicyRun],
    arrived: Callable[[PolicyRun, Result], None],
    underway: Callable[[ComparisonProgress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    answer: Answerer = offline,
    calls: Sequence[SideCall] = (),
) -> None:
    """Drive them one after the other; each result is handed on when it is there. Raises Cancelled.

    All start from the same recording. `calls`: those beside the conversation. O(requests x buffer) a run.
    """
    ground = Ground(thread, wanted[0].window, wanted[0].pins) if wanted else None
    for number, run in enumerate(wanted):
        if cancelled():
            raise Cancelled("The comparison was stopped.")
        if ground is None or ground.window != run.window:
            ground = Ground(thread, run.window, run.pins)
        told = _counter(underway, run.policy, number, len(wanted))
        if run.policy == BASE:
            arrived(run, recorded(ground, calls=calls, progress=told, cancelled=cancelled))
        else:
            arrived(run, _result(ground, run, answer, told, cancelled))


def _counter(
    underway: Callable[[ComparisonProgress], None], name: str, before: int, runs: int
) -> Callable[[int, int], None]:
    def tell(done: int, requests: int) -> None:
        if done % max(1, requests // 50) == 0:  # more often nobody could see
            underway(ComparisonProgress(name, done, requests, before, runs))

    return tell


def _result(
    ground: Ground,
    run: PolicyRun,
    answer: Answerer,
    progress: Callable[[int, int], None],
    cancelled: Callable[[], bool],
) -> Result:
    by = policy(run.policy)
    try:
        settings = by.settings(run.settings, run.window)
    except InspectorError as failure:
        return ImpossibleRun(str(failure))
    return report(ground, by, settings, answer, remote=run.remote, progress=progress, cancelled=cancelled)


# -- figures -----------------------------------------------------------------------------------------------------------

Unit: TypeAlias = Literal["count", "tokens", "money"]
Number: TypeAlias = int | Decimal


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a report."""

    name: str
    unit: Unit
    what: str
    """One sentence."""
    of: Callable[[ReplayReport], Number | None]
    """None where it is not known."""


FIGURES: tuple[Figure, ...] = (
    Figure("compactions", "count", "Steps that changed the buffer.", lambda one: len(one.compactions)),
    Figure("peak", "tokens", "The largest buffer that was sent.", lambda one: one.peak),
    Figure("sent", "tokens", "Tokens of all buffers that were sent.", lambda one: one.spent.prompt),
    Figure("cache read", "tokens", "Of these, read from the provider's cache.", lambda one: one.spent.cache_read),
    Figure("cache written", "tokens", "Of these, written to it anew.", lambda one: one.spent.cache_write),
    Figure(
        "summariser",
        "tokens",
        "Sent to and written by the model that summarises.",
        lambda one: one.spent.summariser_input + one.spent.summariser_output,
    ),
    Figure("cost", "money", "All calls, by the price catalogue.", lambda one: one.spent.cost_usd),
    Figure("overflows", "count", "Requests larger than the window at first.", lambda one: one.overflows),
    Figure("facts lost", "count", "Facts that stood nowhere any more.", lambda one: one.losses.lost),
    Figure("regret", "count", "Lost facts that were needed later.", lambda one: one.losses.needed_later),
    Figure("pins kept", "count", "Constraints and pins that were never gone.", lambda one: pins_kept(one.pins)[0]),
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The reports that are there, in the order of the runs, and the base line among them."""

    reports: tuple[ReplayReport, ...] = ()
    base: ReplayReport | None = None
    impossible: tuple[tuple[str, str], ...] = ()
    """(policy, why)."""
    missing: tuple[PolicyRun, ...] = ()
    """Runs without a result yet."""

    def report(self, name: str) -> ReplayReport | None:
        """Of the policy of that name, where there is one."""
        return next((one for one in self.reports if one.policy == name), None)

    def difference(self, figure: Figure, one: ReplayReport) -> Number | None:
        """From what happened; None where either is not known."""
        mine, plainly = figure.of(one), figure.of(self.base) if self.base is not None else None
        return None if mine is None or plainly is None else mine - plainly


def comparison(wanted: Sequence[PolicyRun], results: Results) -> Comparison:
    """Of these runs, as far as there are results."""
    found = [(run, results[run]) for run in wanted if run in results]
    reports = tuple(one for _, one in found if isinstance(one, ReplayReport))
    return Comparison(
        reports,
        next((one for one in reports if one.policy == BASE), None),
        tuple((run.policy, one.why) for run, one in found if isinstance(one, ImpossibleRun)),
        tuple(run for run in wanted if run not in results),
    )
