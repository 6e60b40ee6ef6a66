"""Compare policies: each is run over the whole chosen thread and compared with the recorded session.

A `PolicyRun` says what to run; a `Comparison` holds the results of several runs. Every comparison includes `recorded`
as its baseline. Summaries are made offline, and nothing is written.
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
from inspector.core.replay.recorded_report import recorded
from inspector.core.replay.report import RECORDED, TITLE, ReplayReport, replay_report
from inspector.core.session import SideCall, Thread
from inspector.extensions.policies import find_policy
from inspector.workbench.policy_input import preset_of
from inspector.workbench.state import State

BASE, PLAIN = RECORDED, "none"
NAMES: Mapping[str, str] = {BASE: TITLE, **TITLES}
"""Titles of everything that can be compared, by name."""
DEFAULT = (BASE, DEFAULT_POLICY, "pulse", "pi", "learn-claude-code", PLAIN)
"""The policies that are compared by default; the policy of the client that wrote the session (`harness_of`) is
added.
"""
MOST_POINTS = 64
"""Largest number of points (combinations of settings) in a sweep."""


@dataclass(frozen=True, slots=True)
class PolicyRun:
    """A policy to run over a thread. Equal runs have equal reports."""

    thread: SameObject
    policy: str
    window: int | None = None
    settings: SettingPairs = ()
    remote: bool = False
    pins: tuple[str, ...] = ()
    """Texts that must be kept, in addition to the constraints that are detected."""
    number: int = 0
    """Number of a point of a sweep, from 1; 0 outside a sweep."""
    point: SettingPairs = ()
    """The settings that a sweep varies."""

    @property
    def name(self) -> str:
        """Return a name that is unique in a comparison."""
        point = ", ".join(f"{key}={value}" for key, value in self.point)
        return f"{self.number} {point}" if self.number else self.policy

    @property
    def title(self) -> str:
        """Return the title; for a point of a sweep, the values that vary."""
        return " · ".join(value for _, value in self.point) or NAMES[self.policy]


@dataclass(frozen=True, slots=True)
class ImpossibleRun:
    """A run that cannot begin: its settings contradict each other. `why` is a sentence."""

    why: str


Result: TypeAlias = ReplayReport | ImpossibleRun
Results: TypeAlias = Mapping[PolicyRun, Result]


@dataclass(frozen=True, slots=True)
class ComparisonProgress:
    """The progress of a comparison: the current policy, its requests, and the number of runs before it."""

    policy: str
    done: int
    requests: int
    before: int
    runs: int

    @property
    def share(self) -> float:
        """Return the share of all runs that is done, 0 to 1."""
        return (self.before + self.done / max(1, self.requests)) / max(1, self.runs)


def runs(state: State, chosen: Iterable[str], window: int | None) -> tuple[PolicyRun, ...]:
    """Return one run per chosen policy, in the catalogue's order, the recorded session first; empty without requests.

    The user's settings apply only to the policy that they were made for. `window` is the size in tokens for all runs:
    the
    model's, or the user's own.
    """
    thread = state.thread
    choices = state.choices
    names = {*chosen, BASE}
    if thread is None or not thread.requests:
        return ()
    same = SameObject(thread)
    return tuple(
        PolicyRun(
            same,
            policy=name,
            window=window,
            settings=_run_settings(state, name),
            remote=choices.remote,
            pins=state.pins,
        )
        for name in NAMES
        if name in names
    )


def _run_settings(state: State, name: str) -> SettingPairs:
    """Return the settings of a policy's run: those for the session's client, then the user's."""
    client_settings = preset_of(state, find_policy(name)) if name in TITLES else ()
    user_settings = state.choices.settings if name == state.choices.policy else ()
    return (*client_settings, *user_settings)


def sweep_runs(
    state: State, name: str, grid: Sequence[tuple[str, Sequence[str]]], window: int | None
) -> tuple[PolicyRun, ...]:
    """Return the recorded session, and a run for every combination of the values of the settings.

    The last setting varies first.

    Raises:
        InspectorError: There are too many combinations.
    """
    keys = [key for key, _ in grid]
    combinations = product(*(values for _, values in grid))
    points = [tuple(zip(keys, values, strict=True)) for values in combinations]
    if len(points) > MOST_POINTS:
        raise InspectorError(
            f"{len(points):,} combinations are too many: a sweep takes {MOST_POINTS} at most."
        )
    base, *others = runs(state, (name,), window) or (None,)
    if base is None or not others:
        return ()
    return base, *(
        replace(others[0], settings=(*others[0].settings, *point), number=number, point=point)
        for number, point in enumerate(dict.fromkeys(points), 1)
    )


def sweepable(state: State, name: str, window: int | None) -> dict[str, tuple[str, ...]]:
    """Return the settings of a policy that a sweep can vary, each with suggested values.

    For a choice these are all its values; for a number, the current value and some values around it.
    """
    policy = find_policy(name)
    now = policy.settings(preset_of(state, policy), window)
    hints = get_type_hints(type(now))
    suggestions = {
        form_field.name: _around(form_field, hints[form_field.name], getattr(now, form_field.name))
        for form_field in form_fields(now)
    }
    return {name: values for name, values in suggestions.items() if len(values) > 1}


def _around(field: Field[Any], hint: Any, value: Any) -> tuple[str, ...]:
    if get_origin(hint) is Literal:
        return tuple(map(str, get_args(hint)))
    if isinstance(value, bool):
        return "no", "yes"
    if not isinstance(value, int | float) or not value:
        return ()
    low = field.metadata.get("low")
    high = field.metadata.get("high")
    texts = []
    for share in (0.5, 0.75, 1, 1.25):
        number = value * share
        is_allowed = (low is None or number >= low) and (high is None or number <= high)
        if is_allowed:
            texts.append(f"{round(number)}" if isinstance(value, int) else f"{number:.3g}")
    return tuple(dict.fromkeys(texts))


def compare(
    thread: Thread,
    chosen_runs: Sequence[PolicyRun],
    arrived: Callable[[PolicyRun, Result], None],
    underway: Callable[[ComparisonProgress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    calls: Sequence[SideCall] = (),
) -> None:
    """Run the policies one after the other and pass each result to `arrived`. O(requests x buffer) per run.

    Args:
        thread: The recording that all runs start from.
        chosen_runs: The runs.
        arrived: Called with each run and its result.
        underway: Called with the progress.
        cancelled: Asked between requests.
        calls: The side calls recorded with the conversation.

    Raises:
        Cancelled: `cancelled` returned True.
    """
    if chosen_runs:
        ground = Ground(thread, chosen_runs[0].window, chosen_runs[0].pins, calls=calls)
    else:
        ground = None
    for number, run in enumerate(chosen_runs):
        if cancelled():
            raise Cancelled("The comparison was stopped.")
        if ground is None or ground.window != run.window:
            ground = Ground(thread, run.window, run.pins, calls=calls)
        report_progress = _counter(underway, name=run.policy, before=number, runs=len(chosen_runs))
        if run.policy == BASE:
            arrived(run, recorded(ground, progress=report_progress, cancelled=cancelled))
        else:
            arrived(run, _result(ground, run, report_progress, cancelled))


def _counter(
    underway: Callable[[ComparisonProgress], None], name: str, before: int, runs: int
) -> Callable[[int, int], None]:
    def tell(done: int, requests: int) -> None:
        if done % max(1, requests // 50) == 0:  # more often would not be visible
            underway(ComparisonProgress(name, done, requests, before, runs))

    return tell


def _result(
    ground: Ground,
    run: PolicyRun,
    progress: Callable[[int, int], None],
    cancelled: Callable[[], bool],
) -> Result:
    policy = find_policy(run.policy)
    try:
        settings = policy.settings(run.settings, run.window)
    except InspectorError as failure:
        return ImpossibleRun(str(failure))
    return replay_report(
        ground,
        policy=policy,
        settings=settings,
        answer=offline,
        remote=run.remote,
        progress=progress,
        cancelled=cancelled,
    )


# -- figures -----------------------------------------------------------------------------------------------------------

Unit: TypeAlias = Literal["count", "tokens", "money"]
Number: TypeAlias = int | Decimal


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a report, by which policies are compared."""

    name: str
    unit: Unit
    what: str
    """A description of the figure, in one sentence."""
    of: Callable[[ReplayReport], Number | None]
    """Returns the value of the figure; None if it is unknown."""
    words: Callable[[ReplayReport], str] = lambda _: ""
    """Returns the figure in words if the number alone would be too exact; otherwise an empty text."""


def _lost_words(report: ReplayReport) -> str:
    return "" if report.losses.is_readable else report.losses.lost_words


def _needed_words(report: ReplayReport) -> str:
    return "" if report.losses.is_readable else report.losses.needed_words


def _needed_later(report: ReplayReport) -> int | None:
    return report.losses.needed_later if report.losses.needs_are_known else None


def _summariser_tokens(report: ReplayReport) -> int:
    return report.spent.summariser_input + report.spent.summariser_output


FIGURES: tuple[Figure, ...] = (
    Figure(
        "compactions",
        unit="count",
        what="Steps that changed the buffer.",
        of=lambda report: len(report.compactions),
    ),
    Figure(
        "fullest request",
        unit="tokens",
        what="The largest prompt that was sent. A buffer that was compacted first does not count: it was not sent.",
        of=lambda report: report.peak,
    ),
    Figure(
        "sent",
        unit="tokens",
        what="Tokens of all buffers that were sent.",
        of=lambda report: report.spent.prompt,
    ),
    Figure(
        "cost",
        unit="money",
        what="This thread's requests and the calls for its summaries, estimated if the file records no usage. The Cost "
        "panel has the whole session, with titles and other side calls.",
        of=lambda report: report.spent.cost_usd,
    ),
    Figure(
        "facts lost",
        unit="count",
        what="Different facts that compactions removed and that the summaries do not repeat. An upper bound "
        "if a summary cannot be read.",
        of=lambda report: report.losses.lost,
        words=_lost_words,
    ),
    Figure(
        "needed again",
        unit="count",
        what="Different facts that were needed after they had been removed.",
        of=_needed_later,
        words=_needed_words,
    ),
    Figure(
        "pins kept",
        unit="count",
        what="Constraints and pins that never left the context.",
        of=lambda report: pins_kept(report.pins)[0],
    ),
    Figure(
        "overflows",
        unit="count",
        what="Requests that were refused at first, because they were larger than the window.",
        of=lambda report: report.overflows,
    ),
    Figure(
        "cache read",
        unit="tokens",
        what="Sent tokens that were read from the provider's cache.",
        of=lambda report: report.spent.cache_read,
    ),
    Figure(
        "cache written",
        unit="tokens",
        what="Sent tokens that were written to the cache.",
        of=lambda report: report.spent.cache_write,
    ),
    Figure(
        "summariser",
        unit="tokens",
        what="Tokens sent to and written by the model that summarises.",
        of=_summariser_tokens,
    ),
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The finished reports, in the order of the runs, and the report of the baseline."""

    reports: tuple[ReplayReport, ...] = ()
    base: ReplayReport | None = None
    impossible: tuple[tuple[str, str], ...] = ()
    """(name of the run, reason why it cannot begin)."""
    missing: tuple[PolicyRun, ...] = ()
    """Runs without a result yet."""

    def report(self, name: str) -> ReplayReport | None:
        """Return the report of a policy; None if there is none yet."""
        return next((report for report in self.reports if report.policy == name), None)

    def difference(self, figure: Figure, report: ReplayReport) -> Number | None:
        """Return a figure minus that of the recorded session; None if one of the two is not known exactly."""
        if self.base is None or figure.words(report) or figure.words(self.base):
            return None
        mine = figure.of(report)
        plainly = figure.of(self.base)
        return None if mine is None or plainly is None else mine - plainly


def comparison(chosen_runs: Sequence[PolicyRun], results: Results) -> Comparison:
    """Return the comparison of these runs, with the results that have arrived so far."""
    finished = [(run, results[run]) for run in chosen_runs if run in results]
    reports = tuple(
        _titled(result, run) for run, result in finished if isinstance(result, ReplayReport)
    )
    base = next((report for report in reports if report.policy == BASE), None)
    impossible = tuple(
        (run.name, result.why) for run, result in finished if isinstance(result, ImpossibleRun)
    )
    return Comparison(
        reports, base, impossible, missing=tuple(run for run in chosen_runs if run not in results)
    )


def _titled(report: ReplayReport, run: PolicyRun) -> ReplayReport:
    """Return a report under the name of its point if it belongs to a sweep; other reports unchanged."""
    return replace(report, policy=run.name, title=run.title) if run.number else report
