"""The diff: what a step did to every message, filtered, walked, compared; by click and by key."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QTextEdit
from pytestqt.qtbot import QtBot

from inspector.core.outcome import FateName
from inspector.gui.desk import Desk
from inspector.gui.panels.diff.panel import LEFT_OUT, UNCHANGED, DiffPanel
from inspector.gui.window import MainWindow
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from inspector.workbench.steps import ORIGIN
from tests.gui.hands import click, press
from tests.gui.stepping import open_it


@pytest.fixture
def panel(desk: Desk, qtbot: QtBot) -> DiffPanel:
    made = DiffPanel(desk)
    qtbot.addWidget(made)
    made.resize(1100, 400)
    made.show()
    open_it(desk.workbench)
    desk.workbench.subscribe(made.receive)
    return made


def lines(panel: DiffPanel) -> list[str]:
    return [panel.model.words_at(n) for n in range(panel.model.rowCount())]


def fates(panel: DiffPanel) -> list[str]:
    found = []
    for n in range(panel.model.rowCount()):
        of = panel.model.row_at(n).of
        found.append(of.fate.name[0] if of else "…")
    return found


def step(desk: Desk, panel: DiffPanel, qtbot: QtBot, tier: str) -> None:
    """Step, and wait until the diff shows it."""
    desk.workbench.stepping.step(tier)
    steps = desk.workbench.state.steps
    assert steps is not None
    arrived(panel, qtbot, steps.buffer)


def arrived(panel: DiffPanel, qtbot: QtBot, after: object) -> None:
    def shows() -> bool:
        found = panel.model.comparison
        return found is not None and found.sides.after is after

    qtbot.waitUntil(shows)


def chip(panel: DiffPanel, qtbot: QtBot, fate: FateName) -> None:
    """Click a fate's chip, and wait until the list shows it."""
    click(panel.bar.chips[fate])
    qtbot.waitUntil(
        lambda: panel.model.listing is not None and panel.model.listing.selected == panel.bar.fates
    )


def click_row(panel: DiffPanel, place: int) -> None:
    click(panel.view.viewport(), panel.view.visualRect(panel.model.index(place, 0)).center())


def test_without_a_step_it_says_what_to_do(panel: DiffPanel) -> None:
    assert not panel.bar.isVisible()
    told = [one.text() for one in panel.findChildren(QLabel) if one.isVisible()]
    assert any("Nothing compacted here yet" in one for one in told)


def test_a_step_shows_what_changed_with_a_little_around(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    step(desk, panel, qtbot, "L0")
    assert fates(panel) == ["k", *["k", "c"] * 7, "k", "k", "…"]
    assert lines(panel)[2].startswith("cleared: 2 result Bash cat src/part_0.py  src/part_0.py, ")
    assert lines(panel)[-1].startswith("4 kept · ")
    freed = sum(row.delta for row in panel.model.comparison.rows) if panel.model.comparison else 0
    assert freed < 0
    comparison = panel.model.comparison
    assert comparison is not None
    before, after = comparison.before_size.tokens or 0, comparison.after_size.tokens or 0
    assert after - before == freed
    assert panel.bar.headline.whole == f"L0: about {before:,} → about {after:,} tokens, 7 cleared"
    assert panel.bar.chips["cleared"].text() in ("C 7", "Cleared 7")
    assert not panel.bar.chips["dropped"].isVisible()
    assert not panel.findChildren(QTextEdit)


def test_of_what_changes_nothing_the_text_says_so(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    step(desk, panel, qtbot, "L0")
    step(desk, panel, qtbot, "L0")  # all that it clears is cleared
    qtbot.waitUntil(lambda: panel.reading.text.toPlainText() == UNCHANGED)
    assert fates(panel) == ["…"]
    desk.workbench.stepping.go(0)
    qtbot.waitUntil(lambda: "cleared: a placeholder" in panel.reading.text.toPlainText())
    panel.view.setCurrentIndex(panel.model.index(panel.model.rowCount() - 1, 0))
    qtbot.waitUntil(lambda: panel.reading.text.toPlainText() == LEFT_OUT)


def test_filtering_by_fate_and_hiding_what_is_kept(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    step(desk, panel, qtbot, "L0")
    chip(panel, qtbot, "kept")
    assert len(lines(panel)) == 21
    chip(panel, qtbot, "cleared")
    assert fates(panel).count("c") == 7, "a single row is never left out"
    chip(panel, qtbot, "kept")
    assert len(lines(panel)) == 1
    assert lines(panel)[0].startswith("14 kept, 7 cleared · −")


def test_filtering_keeps_the_place(desk: Desk, panel: DiffPanel, qtbot: QtBot) -> None:
    step(desk, panel, qtbot, "L0")
    click(panel.bar.next)
    click(panel.bar.next)
    stood = panel.chosen
    chip(panel, qtbot, "kept")
    assert panel.chosen is stood
    chip(panel, qtbot, "kept")
    assert panel.chosen is stood


def test_what_is_left_out_opens_by_click_and_by_enter(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    step(desk, panel, qtbot, "L0")
    last = panel.model.rowCount() - 1
    click_row(panel, last)
    assert "…" not in fates(panel)
    assert panel.model.rowCount() == 21
    chip(panel, qtbot, "cleared")
    panel.view.setCurrentIndex(panel.model.index(0, 0))
    press(panel.view, Qt.Key.Key_Return)
    assert panel.model.rowCount() == 21


def test_walking_from_change_to_change_selects_the_message(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    step(desk, panel, qtbot, "L0")
    recorded = desk.workbench.state.recorded().messages
    panel.view.setCurrentIndex(panel.model.index(0, 0))
    assert desk.workbench.state.selected == recorded[0].id
    click(panel.bar.next)
    assert desk.workbench.state.selected == recorded[2].id
    panel.step(1)
    assert desk.workbench.state.selected == recorded[4].id
    click(panel.bar.previous)
    assert desk.workbench.state.selected == recorded[2].id
    panel.walk(-1)
    assert desk.workbench.state.selected == recorded[2].id, "there is none before the first"
    press(panel.view, Qt.Key.Key_Down)
    assert desk.workbench.state.selected == recorded[3].id


def test_a_stretch_of_one_fate_is_one_change(desk: Desk, panel: DiffPanel, qtbot: QtBot) -> None:
    step(desk, panel, qtbot, "L1")
    assert fates(panel)[:3] == ["k", "i", "s"], "what stands in for the others comes first"
    first = panel.model.change_after(-1, 1)
    second = panel.model.change_after(first, 1)
    assert (fates(panel)[first], fates(panel)[second]) == ("i", "s")
    assert panel.model.change_after(second, 1) == -1


def test_the_text_of_a_changed_message_line_by_line(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    step(desk, panel, qtbot, "L0")
    click_row(panel, 2)
    qtbot.waitUntil(
        lambda: "+ [Old tool result content cleared]" in panel.reading.text.toPlainText()
    )
    shown = panel.reading.text.toPlainText()
    assert "C · cleared: a placeholder replaces the content" in shown
    assert "- ValueError: bad part 0 of <b>it</b>" in shown
    click(panel.bar.text)
    assert not panel.reading.isVisible()
    press(panel.view, Qt.Key.Key_Return)
    assert panel.reading.isVisible()


def test_the_text_is_searched_and_large_ones_are_shown_in_parts(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    from tests.core.policies.build import assistant, result, user
    from tests.gui.stepping import session

    large = [
        user("go"),
        assistant("look", ("c", "Bash", {})),
        result("c", "needle in it\n" + "some line\n" * 150_000),
    ]
    desk.workbench.open(
        session("large.jsonl", [*large, *(result(f"n{n}", "short") for n in range(3))])
    )
    step(desk, panel, qtbot, "L0")
    qtbot.waitUntil(lambda: panel.reading.rest.isVisible())
    press(panel.reading.text, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert panel.reading.find_bar.isVisible()
    click(panel.reading.rest)
    assert not panel.reading.rest.isVisible()


def test_f7_walks_from_anywhere_in_the_window(window: MainWindow, qtbot: QtBot) -> None:
    open_it(window.workbench)
    qtbot.waitUntil(lambda: window.workbench.state.session is not None)
    window.workbench.stepping.step("L0")
    qtbot.waitUntil(lambda: window.workbench.state.stepped)
    window.show_panel("Problems")
    diff = window.docks.panel("Diff")
    assert isinstance(diff, DiffPanel)
    recorded = window.workbench.state.recorded().messages
    press(window, Qt.Key.Key_F7)
    qtbot.waitUntil(lambda: diff.seen and diff.model.rowCount() > 0)
    press(window, Qt.Key.Key_F7)
    assert window.workbench.state.selected in {message.id for message in recorded}
    first = window.workbench.state.selected
    press(window, Qt.Key.Key_F7)
    press(window, Qt.Key.Key_F7, Qt.KeyboardModifier.ShiftModifier)
    assert window.workbench.state.selected == first


def test_the_selected_message_is_found_in_the_diff(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    step(desk, panel, qtbot, "L0")
    wanted = desk.workbench.state.recorded().messages[6]
    desk.workbench.select(wanted.id)
    assert panel.chosen is not None
    assert panel.chosen.fate.id == wanted.id


def test_compared_with_the_recorded_buffer_and_with_another_branch(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    step(desk, panel, qtbot, "L0")
    step(desk, panel, qtbot, "L1")
    names = [panel.bar.choice.itemText(n) for n in range(panel.bar.choice.count())]
    assert names == ["the step's start", "the recorded buffer", "1  L0"]
    since_start = counts(panel)
    assert "cleared" not in since_start
    panel.bar.choice.setFocus()
    press(panel.bar.choice, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: counts(panel) != since_start)
    assert desk.workbench.state.steps is not None
    assert desk.workbench.state.steps.compared == ORIGIN
    desk.workbench.stepping.go(ORIGIN)
    step(desk, panel, qtbot, "L3b")
    desk.workbench.stepping.compare(1)
    steps = desk.workbench.state.steps
    assert steps is not None
    qtbot.waitUntil(
        lambda: panel.model.comparison is not None and before(panel) is steps.taken[1].buffer
    )
    assert panel.bar.choice.currentText() == "2  L1"
    inserted = counts(panel).get("inserted")
    assert inserted == 1
    here, there = "1 only in this branch", "only in the other branch"
    assert here in panel.bar.chips["inserted"].toolTip()
    assert there in panel.bar.chips["summarised"].toolTip()
    assert here in panel.bar.headline.whole
    assert "inserted" not in panel.bar.headline.whole
    assert any(line.startswith("only in this branch: ") for line in lines(panel))


def stepped(desk: Desk) -> bool:
    return desk.workbench.state.stepped


def counts(panel: DiffPanel) -> dict[FateName, int]:
    return dict(panel.model.comparison.counts) if panel.model.comparison else {}


def before(panel: DiffPanel) -> object:
    return panel.model.comparison.sides.before if panel.model.comparison else None


def test_a_preview_is_shown_and_accepted_and_undone(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    desk.workbench.previews.look()
    desk.workbench.previews.point("L0")
    qtbot.waitUntil(lambda: panel.bar.headline.whole.startswith("Preview of L0: about "))
    assert not stepped(desk)
    assert [panel.bar.run.isEnabled(), panel.bar.undo.isEnabled()] == [True, False]
    place = panel.bar.run.geometry()
    click(panel.bar.run)
    assert stepped(desk)
    qtbot.waitUntil(lambda: panel.bar.headline.whole.startswith("L0: about "))
    assert [panel.bar.run.isEnabled(), panel.bar.undo.isEnabled()] == [False, True]
    assert panel.bar.run.geometry().contains(place.center()), (
        "a second press there does not undo the step"
    )
    click(panel.bar.run)
    assert stepped(desk)
    click(panel.bar.undo)
    assert not stepped(desk)


def test_a_buffer_of_a_hundred_thousand_messages_is_listed_and_only_what_is_seen_is_worked_out(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    from tests.gui.stepping import messages, session

    desk.workbench.open(session("large.jsonl", messages(50_000)))
    step(desk, panel, qtbot, "L0")
    chip(panel, qtbot, "kept")
    assert panel.model.rowCount() == 100_001
    panel.view.scrollToBottom()
    panel.view.viewport().repaint()
    assert len(panel.model._lines) < 500


def test_without_a_step_it_leads_to_the_recorded_compactions(
    desk: Desk, panel: DiffPanel, qtbot: QtBot
) -> None:
    desk.workbench.open(open_transcript(str(resource("sample.jsonl"))))
    desk.workbench.move(0)
    assert panel.recorded.text() == "Look at a recorded compaction (1)"
    click(panel.recorded)
    assert desk.workbench.state.at == 79
    qtbot.waitUntil(lambda: not panel.recorded.isVisible())
