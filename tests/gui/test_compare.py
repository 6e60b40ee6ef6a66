"""The comparison as a user meets it: chips, run, cancel, curves, the table, the regrets."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from inspector.core.policies.catalogue import POLICIES
from inspector.core.replay.report import ReplayReport
from inspector.core.session import Request, Thread
from inspector.gui.desk import Desk
from inspector.gui.panels.compare.panel import ComparePanel
from inspector.workbench.compare import (
    BASE,
    DEFAULT,
    FIGURES,
    NAMES,
    ComparisonProgress,
    PolicyRun,
    compare,
    sweepable,
)
from tests.core.sessions import said
from tests.gui.comparisons import (
    LONG,
    Clock,
    click_cell,
    clock,
    compared,
    names,
    panel,
    run,
    session,
)
from tests.gui.conftest import Asked
from tests.gui.hands import click, press, write

__all__ = ["clock", "compared", "panel"]

SHORT = said(("user", "go"), ("read", "a.py x"), ("answer", "done"))


# -- what is there -----------------------------------------------------------------------------------------------------


def test_each_empty_state_is_one_sentence(panel: ComparePanel, desk: Desk) -> None:
    assert (
        panel._empty.text() == "Open a transcript to see how other policies would have fared on it."
    )
    assert not panel.bar.button.isEnabled()
    desk.workbench.open(session(Thread("main"), "empty.jsonl"))
    assert panel._empty.text() == "This thread has no request: there is nothing to replay."
    desk.workbench.open(session())
    assert panel._empty.text() == "Session as recorded: 0 of 32 requests …"
    assert panel._empty.isVisible()
    assert panel.bar.button.isEnabled()
    assert panel.bar.button.text() == "Cancel"


def test_comparison_when_the_thread_is_short_runs_all_chosen_policies_unasked(
    panel: ComparePanel, desk: Desk, qtbot: QtBot
) -> None:
    desk.workbench.open(session())
    qtbot.waitUntil(lambda: not panel._job.busy and not panel._found.missing)
    assert set(names(panel)) == set(DEFAULT)
    assert not panel.bar.button.isEnabled()
    click(panel.bar.chips["codex"])
    qtbot.waitUntil(lambda: not panel._job.busy and not panel._found.missing)
    assert "codex" in names(panel)


def test_comparison_when_it_takes_longer_than_three_seconds_says_how_long_and_waits_for_the_button(
    panel: ComparePanel, desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    real = compare

    def slow(
        thread: Thread,
        wanted: Sequence[PolicyRun],
        arrived: Callable[..., None],
        underway: Callable[[ComparisonProgress], None],
        cancelled: Callable[[], bool],
        calls: object = (),
    ) -> None:
        """Each policy takes two seconds for its 32 requests, what happened no time."""

        def after_a_while(progress: ComparisonProgress) -> None:
            if progress.policy != BASE:
                clock.now += 2 / 32
            underway(progress)

        real(thread, wanted, arrived, after_a_while, cancelled)

    monkeypatch.setattr("inspector.gui.panels.compare.panel.compare", slow)
    desk.workbench.open(session())
    qtbot.waitUntil(lambda: names(panel) == [BASE] and not panel._job.busy)
    assert panel.bar.button.text() == "Run 5 policies"
    assert panel.bar.button.isEnabled()
    assert panel.says.whole.startswith(
        "Not replayed yet: 5 policies. Press Run. This takes about 10 seconds."
    )
    desk.workbench.move(3)
    qtbot.wait(100)
    assert not panel._job.busy, "what was stopped does not start again by itself"
    for name in set(DEFAULT) - {BASE, "roku"}:
        click(panel.bar.chips[name])
    qtbot.waitUntil(lambda: not panel._job.busy and set(names(panel)) == {BASE, "roku"})
    assert not panel._found.missing, "one policy takes less than three seconds"


def test_comparison_when_the_user_cancels_it_waits_for_the_button(
    panel: ComparePanel, desk: Desk, qtbot: QtBot
) -> None:
    desk.workbench.open(session())
    click(panel.bar.button)
    desk.workbench.move(3)
    qtbot.wait(100)
    assert not panel._job.busy
    assert panel.bar.button.text() == "Run 5 policies"
    click(panel.bar.button)
    qtbot.waitUntil(lambda: not panel._job.busy and not panel._found.missing)
    assert set(names(panel)) == set(DEFAULT)


def test_a_row_and_a_curve_for_every_chosen_policy(compared: ComparePanel) -> None:
    assert names(compared) == [name for name in NAMES if name in DEFAULT]
    assert set(compared.plot.curves) == set(DEFAULT)
    for one in compared._found.reports:
        assert compared.plot.curves[one.policy].getData()[1].tolist() == [
            row.tokens for row in one.rows
        ]
    model = compared.table.model()
    sent = 1 + [figure.name for figure in FIGURES].index("sent")
    for place, row in enumerate(compared.table.rows):
        shown = model.index(place, sent).data()
        assert shown.startswith(f"{sum(one.tokens for one in row.report.rows):,}")
        assert shown.endswith(("%)", "(0)")) == (row.name != BASE)
    base = compared._found.base
    assert base is not None
    assert [row.tokens for row in base.rows] == [
        one.usage.prompt for one in LONG.requests if one.usage
    ]
    assert not compared.bar.button.isEnabled()


def test_what_was_written_for_an_hour_says_so(
    panel: ComparePanel, desk: Desk, qtbot: QtBot
) -> None:
    def hourly(request: Request, share: int) -> Request:
        assert request.usage is not None
        return replace(
            request, usage=replace(request.usage, cache_write_1h=request.usage.cache_write // share)
        )

    column = 1 + [figure.name for figure in FIGURES].index("cache written")
    written = SHORT.requests[0].usage.cache_write if SHORT.requests[0].usage else 0
    for share, words in ((1, " for 1 h"), (2, f", {written // 2:,} for 1 h")):
        first, *others = SHORT.requests
        requests = [
            hourly(first, share),
            *(hourly(one, 1) if share == 1 else one for one in others),
        ]
        desk.workbench.open(session(replace(SHORT, requests=requests), f"{share}.jsonl"))
        run(panel, qtbot)
        total = sum(one.usage.cache_write for one in requests if one.usage)
        assert panel.table.model().index(0, column).data() == f"{total:,}{words}"


def test_another_chip_runs_only_what_is_missing(compared: ComparePanel, qtbot: QtBot) -> None:
    before = {one.policy: one for one in compared._found.reports}
    click(compared.bar.chips["codex"])
    assert "codex" not in names(compared)
    run(compared, qtbot)
    assert "codex" in names(compared)
    assert all(compared._found.report(name) is one for name, one in before.items())
    click(compared.bar.chips["codex"])
    assert "codex" not in names(compared)
    assert "codex" not in compared.plot.curves
    click(compared.bar.chips[BASE])
    assert BASE in names(compared)


def test_the_settings_of_what_if_hold_for_their_policy(
    compared: ComparePanel, desk: Desk, qtbot: QtBot
) -> None:
    before = {one.policy: one for one in compared._found.reports}
    desk.workbench.stepping.choose(settings=(("context_window_tokens", "12000"),))
    assert "roku" not in names(compared)
    run(compared, qtbot)
    now = compared._found.report("roku")
    assert now is not None
    assert now.settings["context_window_tokens"] == 12_000
    assert now.peak < before["roku"].peak
    assert compared._found.report("pi") is before["pi"]
    desk.workbench.stepping.choose(settings=())
    assert compared._found.report("roku") is before["roku"]


def test_settings_that_cannot_be_are_told(compared: ComparePanel, desk: Desk, qtbot: QtBot) -> None:
    desk.workbench.stepping.choose(settings=(("context_window_tokens", "nonsense"),))
    run(compared, qtbot)
    assert "roku" not in names(compared)
    assert "Roku: " in compared.says.whole


def test_another_thread_forgets(compared: ComparePanel, desk: Desk) -> None:
    desk.workbench.open(session(SHORT, "other.jsonl"))
    assert names(compared) == []
    assert compared._results == {}
    assert compared._empty.isVisible()


def test_cancel_keeps_what_is_there(
    panel: ComparePanel, desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, stopped = Event(), Event()
    real = compare

    def slow(
        thread: Thread,
        wanted: object,
        arrived: Callable[..., None],
        underway: object,
        cancelled: Callable[[], bool],
        calls: object = (),
    ) -> None:
        real(thread, wanted[:1], arrived, underway, cancelled)  # type: ignore[index, arg-type]
        go_on.wait(20)
        assert cancelled()
        stopped.set()

    monkeypatch.setattr("inspector.gui.panels.compare.panel.compare", slow)
    desk.workbench.open(session())
    assert panel.bar.button.text() == "Cancel"
    assert panel.progress.isVisible()
    qtbot.waitUntil(lambda: names(panel) == [BASE])
    assert panel.says.whole.startswith("Session as recorded: 32 of 32 requests")
    click(panel.bar.button)
    go_on.set()
    qtbot.waitUntil(stopped.is_set)
    assert panel.bar.button.text().startswith("Run ")
    assert not panel.progress.isVisible()
    assert names(panel) == [BASE]
    assert "Not replayed yet: 5 policies. Press Run." in panel.says.whole


# -- the sweep ---------------------------------------------------------------------------------------------------------


def sweep(panel: ComparePanel, qtbot: QtBot, policy: str, *varied: tuple[str, str]) -> None:
    if not panel.sweeping.isChecked():
        click(panel.sweeping)
    panel.sweep.policies.setCurrentIndex(panel.sweep.policies.findData(policy))
    for n, (key, values) in enumerate(varied):
        panel.sweep.keys[n].setCurrentText(key)
        panel.sweep.values[n].clear()
        write(panel.sweep.values[n], values)
    click(panel.sweep.button)
    qtbot.waitUntil(lambda: not panel._job.busy and not panel._found.missing)


def test_a_sweep_is_a_row_a_curve_and_regrets_for_every_point(
    compared: ComparePanel, desk: Desk, qtbot: QtBot
) -> None:
    before = names(compared)
    sweep(
        compared,
        qtbot,
        "roku",
        ("context_window_tokens", "12000, 20000, 12000"),
        ("mode", "safe, faithful"),
    )
    assert not compared.bar.isVisible()
    points = [(window, mode) for window in ("12000", "20000") for mode in ("safe", "faithful")]
    assert [row.title for row in compared.table.rows[1:]] == [" · ".join(point) for point in points]
    assert set(compared.plot.curves) == set(names(compared))
    for row, point in zip(compared.table.rows[1:], points, strict=True):
        settings = (("context_window_tokens", point[0]), ("mode", point[1]))
        found = list[ReplayReport]()
        plain = PolicyRun(compared._wanted[0].thread, "roku", 20_000, settings)
        compare(LONG, (plain,), lambda _, one, into=found: into.append(one))  # type: ignore[misc]
        assert replace(row.report, policy="", title="") == replace(found[0], policy="", title="")
    click_cell(compared, 2)
    assert tuple(compared.regrets.rows) == compared.table.rows[2].report.losses.regrets
    assert compared.says.whole.startswith("12000 · faithful: ")
    click(compared.sweeping)
    assert names(compared) == before
    assert not compared.sweep.isVisible()


def test_a_point_of_a_sweep_is_taken_over(
    compared: ComparePanel, desk: Desk, qtbot: QtBot, asked: Asked
) -> None:
    sweep(compared, qtbot, "pi", ("reserve_tokens", "2000, 4000"))
    compared.table.setCurrentIndex(compared.table.model().index(2, 0))
    press(compared.table, Qt.Key.Key_Return)
    choices = desk.workbench.state.choices
    assert (choices.policy, choices.settings) == ("pi", (("reserve_tokens", "4000"),))
    assert asked.shown == ["What if"]


def test_a_sweep_that_cannot_be_says_why(compared: ComparePanel, qtbot: QtBot) -> None:
    sweep(compared, qtbot, "roku", ("context_window_tokens", "12000, many"))
    assert len(compared.table.rows) == 2
    assert "context_window_tokens takes" in compared.says.whole
    compared.sweep.values[0].clear()
    write(compared.sweep.values[0], ", ".join(str(10_000 + n) for n in range(70)))
    assert "64 at most" in compared._empty.text()
    assert not compared.sweep.button.isEnabled()


@pytest.mark.parametrize("name", [name for name in NAMES if name != BASE])
def test_every_policy_offers_settings_with_values_that_can_be(
    compared: ComparePanel, desk: Desk, name: str
) -> None:
    for key, values in sweepable(desk.workbench.state, name, 20_000).items():
        for value in values:
            assert POLICIES[name].settings([(key, value)], 20_000)


def test_the_policy_of_the_session_is_compared_and_swept(panel: ComparePanel, desk: Desk) -> None:
    for policy, wanted in (
        ("codex", {*DEFAULT, "codex"}),
        ("gemini", {*DEFAULT, "gemini"}),
        ("roku", {*DEFAULT}),
    ):
        desk.workbench.open(replace(session(replace(LONG), f"{policy}.jsonl"), policy=policy))
        assert {*panel.bar.chosen} == wanted
        assert panel.sweep.policy == policy
