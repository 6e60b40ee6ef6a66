"""Policies side by side: each driven over the whole chosen thread, compared with what happened.

A `PolicyRun` says what to drive, a `Comparison` what came of several. `recorded` is in every one: it is the base line.
Summaries are made offline; nothing here is written anywhere.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, replace
from decimal import Decimal
from itertools import product
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from inspector.core.answering import offline
from inspector.core.errors import Cancelled, InspectorError
from inspector.core.identity import SameObject
from inspector.core.policies.catalogue import DEFAULT_POLICY, TITLES
from inspector.core.policies.settings import SettingPairs, form_fields
from inspector.core.replay.driver import Ground
from inspector.core.replay.pins import pins_kept
from inspector.core.replay.report import RECORDED, TITLE, ReplayReport, recorded, replay_report
from inspector.core.session import SideCall, Thread
from inspector.extensions.policies import find_policy
from inspector.workbench.policy_input import preset_of
from inspector.workbench.state import State

BASE, PLAIN = RECORDED, "none"
NAMES: Mapping[str, str] = {BASE: TITLE, **TITLES}
"""Of everything that can stand side by side, by name."""
DEFAULT = (BASE, DEFAULT_POLICY, "pulse", "pi", "learn-claude-code", PLAIN)
"""Compared unless somebody chooses others, with the policy of the harness that wrote the session (`harness_of`)."""
MOST_POINTS = 64
"""Of a sweep."""


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
    number: int = 0
    """Of a point of a sweep, from 1 on; 0: it is none."""
    point: SettingPairs = ()
    """The settings that a sweep varies."""

    @property
    def name(self) -> str:
        """What tells it from the others it is compared with."""
        point = ", ".join(f"{key}={value}" for key, value in self.point)
        return f"{self.number} {point}" if self.number else self.policy

    @property
    def title(self) -> str:
        """As people read it who see what is varied."""
        return " · ".join(value for _, value in self.point) or NAMES[self.policy]


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
                *(preset_of(state, find_policy(name)) if name in TITLES else ()),
                *(choices.settings if name == choices.policy else ()),
            ),
            choices.remote,
            state.pins,
        )
        for name in NAMES
        if name in names
    )


def sweep_runs(
    state: State, name: str, grid: Sequence[tuple[str, Sequence[str]]], window: int | None
) -> tuple[PolicyRun, ...]:
    """What happened, and a run for every combination of the values of the settings, the last the quickest. Raises
    InspectorError for too many."""
    keys = [key for key, _ in grid]
    combinations = product(*(values for _, values in grid))
    points = [tuple(zip(keys, values, strict=True)) for values in combinations]
    if len(points) > MOST_POINTS:
        raise InspectorError(f"{len(points):,} combinations are too many: a sweep takes {MOST_POINTS} at most.")
    base, *others = runs(state, (name,), window) or (None,)
    if base is None or not others:
        return ()
    return base, *(
        replace(others[0], settings=(*others[0].settings, *point), number=n, point=point)
        for n, point in enumerate(dict.fromkeys(points), 1)
    )


def sweepable(state: State, name: str, window: int | None) -> dict[str, tuple[str, ...]]:
    """The settings of a policy that a sweep can vary, each with values to begin with: all of a choice, of a number
    what it is and what lies around it."""
    by = find_policy(name)
    now = by.settings(preset_of(state, by), window)
    hints = get_type_hints(type(now))
    found = {one.name: _around(one, hints[one.name], getattr(now, one.name)) for one in form_fields(now)}
    return {name: values for name, values in found.items() if len(values) > 1}


def _around(one: Field[Any], hint: Any, value: Any) -> tuple[str, ...]:
    if get_origin(hint) is Literal:
        return tuple(map(str, get_args(hint)))
    if isinstance(value, bool):
        return "no", "yes"
    if not isinstance(value, int | float) or not value:
        return ()
    low, high = one.metadata.get("low"), one.metadata.get("high")
    values = [value * share for share in (0.5, 0.75, 1, 1.25)]
    inside = [v for v in values if (low is None or v >= low) and (high is None or v <= high)]
    return tuple(dict.fromkeys(f"{round(v)}" if isinstance(value, int) else f"{v:.3g}" for v in inside))


def compare(
    thread: Thread,
    wanted: Sequence[PolicyRun],
    arrived: Callable[[PolicyRun, Result], None],
    underway: Callable[[ComparisonProgress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    calls: Sequence[SideCall] = (),
) -> None:
    """Drive them one after the other; each result is handed on when it is there. Raises Cancelled.

    All start from the same recording. `calls`: those beside the conversation. O(requests x buffer) a run.
    """
    ground = Ground(thread, wanted[0].window, wanted[0].pins, calls=calls) if wanted else None
    for number, run in enumerate(wanted):
        if cancelled():
            raise Cancelled("The comparison was stopped.")
        if ground is None or ground.window != run.window:
            ground = Ground(thread, run.window, run.pins, calls=calls)
        told = _counter(underway, run.policy, number, len(wanted))
        if run.policy == BASE:
            arrived(run, recorded(ground, progress=told, cancelled=cancelled))
        else:
            arrived(run, _result(ground, run, told, cancelled))


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
    progress: Callable[[int, int], None],
    cancelled: Callable[[], bool],
) -> Result:
    by = find_policy(run.policy)
    try:
        settings = by.settings(run.settings, run.window)
    except InspectorError as failure:
        return ImpossibleRun(str(failure))
    return replay_report(ground, by, settings, offline, remote=run.remote, progress=progress, cancelled=cancelled)


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
    words: Callable[[ReplayReport], str] = lambda _: ""
    """As people read it, where the number alone would say more than anybody knows."""


FIGURES: tuple[Figure, ...] = (
    Figure("compactions", "count", "Steps that changed the buffer.", lambda one: len(one.compactions)),
    Figure(
        "fullest request",
        "tokens",
        "The largest prompt that was sent. The size before a compaction is that of a buffer that was not sent.",
        lambda one: one.peak,
    ),
    Figure("sent", "tokens", "Tokens of all buffers that were sent.", lambda one: one.spent.prompt),
    Figure(
        "cost",
        "money",
        "This thread's requests and the calls for its summaries, estimated where the file holds no usage. Cost has the "
        "whole session, with titles and other side calls.",
        lambda one: one.spent.cost_usd,
    ),
    Figure(
        "facts lost",
        "count",
        "Different facts over all compactions that stood nowhere any more, in no words. At most so many if a summary "
        "cannot be read.",
        lambda one: one.losses.lost,
        lambda one: "" if one.losses.is_readable else one.losses.lost_words,
    ),
    Figure(
        "needed again",
        "count",
        "Different facts that were needed when they were gone.",
        lambda one: one.losses.needed_later if one.losses.needs_are_known else None,
        lambda one: "" if one.losses.is_readable else one.losses.needed_words,
    ),
    Figure("pins kept", "count", "Constraints and pins that were never gone.", lambda one: pins_kept(one.pins)[0]),
    Figure("overflows", "count", "Requests larger than the window at first.", lambda one: one.overflows),
    Figure("cache read", "tokens", "Of the sent, read from the provider's cache.", lambda one: one.spent.cache_read),
    Figure("cache written", "tokens", "Of the sent, written to the cache anew.", lambda one: one.spent.cache_write),
    Figure(
        "summariser",
        "tokens",
        "Sent to and written by the model that summarises.",
        lambda one: one.spent.summariser_input + one.spent.summariser_output,
    ),
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The reports that are there, in the order of the runs, and the base line among them."""

    reports: tuple[ReplayReport, ...] = ()
    base: ReplayReport | None = None
    impossible: tuple[tuple[str, str], ...] = ()
    """(name of the run, why)."""
    missing: tuple[PolicyRun, ...] = ()
    """Runs without a result yet."""

    def report(self, name: str) -> ReplayReport | None:
        """Of the policy of that name, where there is one."""
        return next((one for one in self.reports if one.policy == name), None)

    def difference(self, figure: Figure, one: ReplayReport) -> Number | None:
        """From what happened; None where either is not known, or not exactly."""
        if self.base is None or figure.words(one) or figure.words(self.base):
            return None
        mine, plainly = figure.of(one), figure.of(self.base)
        return None if mine is None or plainly is None else mine - plainly


def comparison(wanted: Sequence[PolicyRun], results: Results) -> Comparison:
    """Of these runs, as far as there are results."""
    found = [(run, results[run]) for run in wanted if run in results]
    reports = tuple(
        replace(one, policy=run.name, title=run.title) if run.number else one
        for run, one in found
        if isinstance(one, ReplayReport)
    )
    return Comparison(
        reports,
        next((one for one in reports if one.policy == BASE), None),
        tuple((run.name, one.why) for run, one in found if isinstance(one, ImpossibleRun)),
        tuple(run for run in wanted if run not in results),
    )
