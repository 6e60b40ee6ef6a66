"""Policies side by side: what is run, what came of it, and what differs from what happened."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from inspector.core.errors import Cancelled
from inspector.core.replay.report import ReplayReport
from inspector.core.session import Session, Thread
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from inspector.workbench.compare import (
    BASE,
    DEFAULT,
    FIGURES,
    NAMES,
    PLAIN,
    Comparison,
    ComparisonProgress,
    PolicyRun,
    Result,
    compare,
    comparison,
    runs,
)
from inspector.workbench.state import Choices, State
from inspector.workbench.workbench import Workbench
from tests.core.sessions import said

LONG = said(
    ("user", "go"),
    *[("read", f"src/f{n}.py {'word ' * 900}") for n in range(30)],
    ("answer", "done"),
)
SHORT = said(("user", "go"), ("read", "a.py x"), ("read", "b.py y"), ("answer", "done"))
WINDOW = 20_000


def state(thread: Thread, choices: Choices = Choices()) -> State:  # noqa: B008  # frozen
    return State(session=Session("test", (thread,)), choices=choices)


def driven(thread: Thread, wanted: Sequence[PolicyRun]) -> Comparison:
    results: dict[PolicyRun, Result] = {}
    compare(thread, wanted, results.__setitem__)
    return comparison(wanted, results)


def test_the_base_line_is_always_there_and_the_order_is_the_catalogues() -> None:
    wanted = runs(state(LONG), ("pi", "roku"), WINDOW)
    assert [run.policy for run in wanted] == [BASE, "roku", "pi"]
    assert runs(State(), DEFAULT, WINDOW) == ()
    assert runs(state(Thread("main")), DEFAULT, WINDOW) == ()


def test_settings_hold_for_the_policy_they_were_set_for() -> None:
    choices = Choices(policy="pi", settings=(("reserve_tokens", "5000"),), remote=True)
    wanted = {run.policy: run for run in runs(state(LONG, choices), DEFAULT, WINDOW)}
    assert wanted["pi"].settings == choices.settings
    assert wanted["roku"].settings == ()
    assert all(run.remote and run.window == WINDOW for run in wanted.values())
    plain = runs(state(LONG, Choices(policy="pi", remote=True)), DEFAULT, WINDOW)
    assert {run.policy for run in set(wanted.values()) - set(plain)} == {"pi"}


@pytest.mark.parametrize("thread", [LONG, SHORT])
def test_sums_over_requests_are_the_totals(thread: Thread) -> None:
    found = driven(thread, runs(state(thread), NAMES, WINDOW))
    assert [one.policy for one in found.reports] == list(NAMES)
    figures = {figure.name: figure for figure in FIGURES}
    for one in found.reports:
        assert figures["sent"].of(one) == sum(row.tokens for row in one.rows)
        assert figures["fullest request"].of(one) == max(row.tokens for row in one.rows)
        assert figures["cache read"].of(one) == sum(row.spent.cache_read for row in one.rows)
        assert figures["cache written"].of(one) == sum(row.spent.cache_write for row in one.rows)
        assert figures["cost"].of(one) == sum(row.spent.cost_usd or 0 for row in one.rows)
        assert figures["needed again"].of(one) == one.losses.needed_later
        for figure in FIGURES:
            mine, plainly = figure.of(one), figure.of(found.base) if found.base else None
            assert mine is not None
            assert plainly is not None
            assert found.difference(figure, one) == mine - plainly


def test_the_base_line_is_the_recorded_session() -> None:
    found = driven(LONG, runs(state(LONG), (), WINDOW))
    assert found.base is not None
    assert [row.tokens for row in found.base.rows] == [
        one.usage.prompt for one in LONG.requests if one.usage
    ]
    assert {found.difference(figure, found.base) for figure in FIGURES} == {0}


def test_a_policy_that_never_fires_differs_in_nothing() -> None:
    found = driven(SHORT, runs(state(SHORT), NAMES, 200_000))
    for one in found.reports:
        assert {found.difference(figure, one) for figure in FIGURES} == {0}


def test_every_policy_starts_from_the_same_recording() -> None:
    together = driven(LONG, runs(state(LONG), NAMES, WINDOW))
    for run in runs(state(LONG), NAMES, WINDOW):
        alone = driven(LONG, [run])
        assert alone.report(run.policy) == together.report(run.policy)


def test_impossible_settings_stop_only_their_own_policy() -> None:
    good = runs(state(LONG), DEFAULT, WINDOW)
    bad = [
        replace(run, settings=(("reserve_tokens", "many"),)) if run.policy == "pi" else run
        for run in good
    ]
    found = driven(LONG, bad)
    assert [name for name, _ in found.impossible] == ["pi"]
    assert found.impossible[0][1].endswith(".")
    assert len(found.reports) == len(DEFAULT) - 1
    assert found.missing == ()


def test_it_tells_how_far_it_is_and_stops_when_told() -> None:
    wanted, told, results = (
        runs(state(LONG), ("roku",), WINDOW),
        list[ComparisonProgress](),
        dict[PolicyRun, Result](),
    )
    compare(LONG, wanted, results.__setitem__, told.append)
    shares = [one.share for one in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert {one.policy for one in told} == {"roku", BASE}
    kept: dict[PolicyRun, Result] = {}
    wanted = wanted[::-1]
    with pytest.raises(Cancelled):
        compare(LONG, wanted, kept.__setitem__, cancelled=lambda: bool(kept))
    assert list(kept) == list(wanted[:1])
    assert comparison(wanted, kept).missing == wanted[1:]
    assert comparison(wanted, kept).base is None
    report = kept[wanted[0]]
    assert isinstance(report, ReplayReport)
    assert comparison(wanted, kept).difference(FIGURES[0], report) is None


def tokens(bench: Workbench) -> int | None:
    window = bench.end_window
    return window.tokens if window else None


def test_the_window_at_the_end_wherever_we_stand() -> None:
    bench = Workbench()
    assert tokens(bench) is None
    bench.open(Session("test", (LONG,)))
    assert tokens(bench) == 200_000
    bench.move(0)
    assert tokens(bench) == 200_000
    bench.set_window(WINDOW)
    assert tokens(bench) == WINDOW


def test_the_sample_adds_up() -> None:
    thread = open_transcript(str(resource("sample.jsonl"))).main
    found = driven(thread, runs(state(thread), NAMES, 200_000))
    compacted = min(one.before_request for one in thread.compactions if one.kind == "summary")
    assert found.base is not None
    reported = [one.usage.prompt for one in thread.requests if one.usage][:compacted]
    assert [row.tokens for row in found.base.rows][:compacted] == reported
    for one in found.reports:
        assert one.spent.prompt == sum(row.tokens for row in one.rows)
        assert bool(one.compactions) == (one.policy != PLAIN)
        assert all(
            0 <= regret.at.before_request <= regret.needed_by < len(one.rows)
            for regret in one.losses.regrets
        )
