"""The comparison as a user meets it: chips, run, cancel, curves, the table, the regrets."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from inspector.core.policies.catalogue import POLICIES
from inspector.core.replay.report import ReplayReport
from inspector.core.session import Request, Session, Thread
from inspector.gui.desk import Desk
from inspector.gui.panels.compare.panel import ComparePanel
from inspector.gui.panels.compare.plot import spread_places
from inspector.gui.window import MainWindow
from inspector.resources import resource
from inspector.workbench.compare import (
    BASE,
    DEFAULT,
    FIGURES,
    NAMES,
    PLAIN,
    ComparisonProgress,
    PolicyRun,
    compare,
    sweepable,
)
from tests.core.findings.test_lost import thread as sealed
from tests.core.policies.build import assistant
from tests.core.sessions import said
from tests.gui.conftest import Asked
from tests.gui.drawn import drawn
from tests.gui.hands import click, press, write

LONG = said(
    ("user", "go"),
    *[("read", f"src/f{n}.py {'word ' * 900} known_name_{n}") for n in range(30)],
    ("read", "src/f0.py word known_name_0"),
    ("answer", "known_name_1 was in src/f1.py"),
)
SHORT = said(("user", "go"), ("read", "a.py x"), ("answer", "done"))


def session(thread: Thread = LONG, path: str = "compared.jsonl") -> Session:
    return Session("test", (thread,), path=path)


class Clock:
    """Stands still, however busy the machine is, unless a test moves it on."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """By which the panel measures how long runs take."""
    made = Clock()
    monkeypatch.setattr("inspector.gui.panels.compare.panel.thread_time", made)
    return made


@pytest.fixture
def panel(desk: Desk, qtbot: QtBot) -> ComparePanel:
    """Visible, tall, told of every state."""
    made = ComparePanel(desk)
    qtbot.addWidget(made)
    made.resize(1_200, 600)
    made.show()
    qtbot.waitExposed(made)
    desk.workbench.subscribe(made.receive)
    return made


@pytest.fixture
def compared(panel: ComparePanel, desk: Desk, qtbot: QtBot) -> ComparePanel:
    """With the default policies run over the long session in a small window."""
    desk.workbench.open(session())
    desk.workbench.set_window(20_000)
    run(panel, qtbot)
    qtbot.waitUntil(lambda: panel.plot is not None)
    return panel


def run(panel: ComparePanel, qtbot: QtBot) -> None:
    """Have every chosen policy run: most are under way unasked."""
    if panel.bar.button.text().startswith("Run") and panel.bar.button.isEnabled():
        click(panel.bar.button)
    qtbot.waitUntil(lambda: not panel._job.busy and not panel._found.missing)


def names(panel: ComparePanel) -> list[str]:
    return [row.name for row in panel.table.rows]


def cells_of(panel: ComparePanel) -> list[list[str]]:
    model = panel.table.model()
    return [
        [model.index(n, m).data() for m in range(model.columnCount())]
        for n in range(model.rowCount())
    ]


def click_cell(panel: ComparePanel, row: int, column: int = 0) -> None:
    index = panel.table.model().index(row, column)
    panel.table.scrollTo(index)
    click(panel.table.viewport(), panel.table.visualRect(index).center())


def click_head(panel: ComparePanel, title: str) -> None:
    header = panel.table.horizontalHeader()
    column = 1 + [figure.name for figure in FIGURES].index(title)
    panel.table.scrollTo(panel.table.model().index(0, column))
    click(
        header.viewport(), QPoint(header.sectionViewportPosition(column) + 20, header.height() // 2)
    )


def at(desk: Desk) -> int | None:
    return desk.workbench.state.at


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
    assert panel.says.whole.startswith("Run drives 5 policies more. This takes about 10 seconds.")
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
    assert "Run drives 5 policies more." in panel.says.whole


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


# -- the table ---------------------------------------------------------------------------------------------------------


def test_policy_whose_requests_exceed_the_window_is_marked_infeasible(
    compared: ComparePanel,
) -> None:
    rows = {row.name: row for row in compared.table.rows}
    assert compared._found.base is not None
    assert compared._found.base.over > 0
    assert not rows[BASE].mark.startswith("infeasible"), (
        "what happened did happen: its window is at fault"
    )
    plain = rows[PLAIN].report
    assert rows[PLAIN].mark == f"infeasible: {plain.over} too large"
    assert rows["roku"].report.over == 0
    assert not rows["roku"].mark.startswith("infeasible")
    place = [row.name for row in compared.table.rows].index(PLAIN)
    assert rows[PLAIN].mark in compared.table.model().index(place, 0).data()
    click(
        compared.table.viewport(),
        compared.table.visualRect(compared.table.model().index(place, 0)).center(),
    )
    sentence = f"No compaction is infeasible: {plain.over} of 32 requests exceed the window of 20,000 tokens."
    assert sentence in compared.says.whole


def test_a_click_on_a_heading_sorts(compared: ComparePanel) -> None:
    chosen = names(compared)
    click_head(compared, "sent")
    sent = [row.report.spent.prompt for row in compared.table.rows[1:]]
    assert (names(compared)[0], sent) == (BASE, sorted(sent, reverse=True))
    model, across = compared.table.model(), Qt.Orientation.Horizontal
    assert [
        head
        for n in range(model.columnCount())
        if (head := model.headerData(n, across))[-1] in "▾▴"
    ] == ["Sent ▾"]
    click_head(compared, "sent")
    assert (names(compared)[0], [row.report.spent.prompt for row in compared.table.rows[1:]]) == (
        BASE,
        sorted(sent),
    )
    click_head(compared, "sent")
    assert names(compared) == chosen


def test_a_row_brings_its_curve_forward_and_its_regrets(compared: ComparePanel) -> None:
    for place, name in enumerate(names(compared)):
        click_cell(compared, place)
        one = compared._found.report(name)
        assert one is not None
        assert tuple(compared.regrets.rows) == one.losses.regrets
        assert compared.plot.curves[name].zValue() > 0
        others = [curve for other, curve in compared.plot.curves.items() if other != name]
        assert all(curve.opts["pen"].color().alpha() < 255 for curve in others)
        assert one.title in compared.says.whole
    assert any(row.report.losses.regrets for row in compared.table.rows), "or this says nothing"


def test_what_an_unreadable_summary_cost_is_no_number(
    panel: ComparePanel, desk: Desk, qtbot: QtBot
) -> None:
    desk.workbench.open(session(sealed("", assistant("What did the map say?")), "sealed.jsonl"))
    run(panel, qtbot)
    heads = ["policy", *(figure.name for figure in FIGURES)]
    rows = zip(panel.table.rows, cells_of(panel), strict=True)
    shown = {row.name: dict(zip(heads, cells, strict=True)) for row, cells in rows}
    assert (shown[BASE]["facts lost"], shown[BASE]["needed again"]) == ("at most 9", "unknown")
    assert shown["roku"]["facts lost"] == "0", "a difference from what nobody knows is none"
    panel._pick(BASE)
    assert panel.says.whole == (
        "Session as recorded: at most 9 of 9 facts lost."
        " A summary cannot be read here, so what was needed again is unknown."
    )
    assert "at most 9" in panel.table.copied()


def test_it_is_copied_for_a_spreadsheet(compared: ComparePanel) -> None:
    click(compared.copy)
    lines = [line.split("\t") for line in QGuiApplication.clipboard().text().split("\n")]
    assert lines[0][:3] == ["policy", "compactions", "compactions, difference"]
    assert [line[0] for line in lines[1:]] == names(compared)
    assert {len(line) for line in lines} == {1 + 2 * len(FIGURES)}
    roku = compared._found.report("roku")
    assert roku is not None
    assert lines[2][5] == str(roku.spent.prompt)


# -- the playhead ------------------------------------------------------------------------------------------------------


def test_a_click_on_a_curve_moves_the_playhead(
    compared: ComparePanel, desk: Desk, qtbot: QtBot
) -> None:
    qtbot.wait(50)
    view = compared.plot._graphics
    click(
        view.viewport(),
        view.mapFromScene(compared.plot.plot.getViewBox().mapViewToScene(QPointF(7, 4_000))),
    )
    qtbot.waitUntil(lambda: at(desk) == 7)
    assert compared.plot.overlay._at == 7


def test_a_regret_leads_to_its_need_and_to_its_loss(compared: ComparePanel, desk: Desk) -> None:
    place = next(n for n, row in enumerate(compared.table.rows) if row.report.losses.regrets)
    click_cell(compared, place)
    one = compared.regrets.rows[0]
    model = compared.regrets.model()
    click(compared.regrets.viewport(), compared.regrets.visualRect(model.index(0, 3)).center())
    assert (at(desk), desk.workbench.state.selected) == (one.needed_by, one.message)
    click(compared.regrets.viewport(), compared.regrets.visualRect(model.index(0, 1)).center())
    assert at(desk) == one.at.before_request
    assert model.index(0, 1).data() == f"{one.at.tier} before {one.at.before_request}"


# -- room and looks ----------------------------------------------------------------------------------------------------


def test_where_there_is_little_room_the_regrets_take_turns_with_the_curves(
    compared: ComparePanel,
) -> None:
    assert compared.regrets.isVisible()
    assert not compared.regretted.isVisible()
    assert compared.bar.chips["pi"].text() == "π Pi"
    compared.resize(700, 220)
    assert compared.bar.chips["pi"].text() == "π"
    assert (compared.regrets.isVisible(), compared.plot.isVisible()) == (False, True)
    click(compared.regretted)
    assert (compared.regrets.isVisible(), compared.plot.isVisible()) == (True, False)
    compared.resize(1_200, 220)
    assert (compared.regrets.isVisible(), compared.plot.isVisible()) == (True, True)


def test_both_themes(compared: ComparePanel, desk: Desk) -> None:
    for _ in range(2):
        desk.theme.toggle()
        compared.restyle()
        assert not compared.grab().isNull()


def test_letters_never_touch() -> None:
    found = spread_places([(5.0, "a"), (6.0, "b"), (90.0, "c"), (99.0, "d"), (100.0, "e")], 10, 100)
    assert found == [(5, "a"), (15, "b"), (80, "c"), (90, "d"), (100, "e")]


def test_the_palette_compares_the_sample(window: MainWindow, qtbot: QtBot) -> None:
    window.open_path(str(resource("sample.jsonl")))
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and not window.bridge.busy)
    window.open_palette()
    write(window.palette_box.line, "compare pol")
    press(window.palette_box.line, Qt.Key.Key_Return)
    panel = window.docks.panel("Compare")
    assert isinstance(panel, ComparePanel)
    qtbot.waitUntil(lambda: len(panel.table.rows) == len(DEFAULT) + 1 and not panel._job.busy)
    assert "claude-code" in names(panel)  # whose session it is
    assert panel.seen
    assert panel.height() > window.height() // 3
    thread = window.workbench.state.thread
    assert thread is not None
    for row in panel.table.rows:
        assert len(row.report.rows) == len(thread.requests)
        assert row.report.spent.prompt == sum(one.tokens for one in row.report.rows)
        assert bool(row.report.compactions) == (row.name != PLAIN)


def test_curve_that_leaves_the_plot_says_how_far_it_goes(
    compared: ComparePanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay = compared.plot.overlay
    reports = compared.plot._reports
    low = min(
        (report for report in reports if report.policy != PLAIN), key=lambda report: report.peak
    )
    compared.plot.show_reports(
        [report for report in reports if report.policy in (PLAIN, low.policy)], low.policy
    )
    overlay.grab()
    (plain,) = (report for report in compared.plot._reports if report.policy == PLAIN)
    assert plain.peak > compared.plot.plot.getViewBox().viewRange()[1][1], "it leaves the plot"
    words = {one.words for one in drawn(overlay, monkeypatch)}
    assert f"↑ No compaction, up to {plain.peak:,}" in words
