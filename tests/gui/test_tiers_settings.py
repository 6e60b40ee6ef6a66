"""What if: the form of settings, and the watermarks dragged with the mouse on gauge and timeline."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from inspector.core.policies.catalogue import POLICIES
from inspector.core.policies.settings import settable_fields
from inspector.gui.panels.tiers.blocks import SettingsForm
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.panels.timeline.panel import Timeline
from inspector.gui.window import MainWindow
from inspector.workbench.pressure.scale import firings, watermarks
from tests.gui import stepping
from tests.gui.hands import click, hold, let_go, press, pull, write
from tests.gui.made import session

MID = "mid_water_trigger_ratio"
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """The window with a made session, everything loaded."""
    window.workbench.open(session())
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and window.docks.ready)
    window.docks.bring("Tiers")
    qtbot.waitUntil(lambda: not window.bridge.busy)
    return window


@pytest.fixture
def form(opened: MainWindow) -> SettingsForm:
    """The form, in front."""
    opened.docks.bring("What if")
    panel = opened.docks.panel("What if")
    assert isinstance(panel, SettingsForm)
    return panel


def chosen(window: MainWindow) -> dict[str, str]:
    return dict(window.workbench.state.choices.settings)


def line(window: MainWindow, setting: str = MID) -> int:
    return next(
        line.tokens for line in watermarks(window.workbench.state) if line.setting == setting
    )


def retype(editor: QWidget, text: str) -> None:
    assert isinstance(editor, QLineEdit)
    editor.setFocus()
    editor.selectAll()
    write(editor, text)
    press(editor, Qt.Key.Key_Return)


# -- the form ------------------------------------------------------------------------------------------------------


def test_every_setting_has_a_row_what_one_plays_with_first(form: SettingsForm) -> None:
    own = POLICIES["roku"].settings((), 200_000)
    assert set(form.settings.rows) == {one.name for one in settable_fields(own)}
    assert list(form.settings.rows)[:4] == [
        "context_window_tokens",
        "mid_water_trigger_ratio",
        "compact_threshold_ratio",
        "microcompact_retain_recent",
    ]
    kinds = {name: type(row.editor) for name, row in form.settings.rows.items()}
    assert kinds["pin_last_user"] is QCheckBox
    assert kinds["mode"] is QComboBox
    assert kinds["compact_llm_timeout"] is QLineEdit
    assert not form.all_back.isVisible()


def test_a_value_is_typed_marked_and_reset(opened: MainWindow, form: SettingsForm) -> None:
    row = form.settings.rows[MID]
    assert not row.back.isVisible()
    retype(row.editor, "0.5")
    assert chosen(opened) == {MID: "0.5"}
    assert line(opened) == 100_000
    assert row.back.isVisible()
    assert row.name.property("role") == "changed"
    assert form.says.text() == "1 setting changed"
    click(row.back)
    assert chosen(opened) == {}
    assert isinstance(row.editor, QLineEdit)
    assert row.editor.text() == "0.6"
    assert not row.back.isVisible()


def test_what_cannot_be_is_told_and_not_taken(opened: MainWindow, form: SettingsForm) -> None:
    for name, text, told, fitting in (
        (MID, "1.5", "between 0 and 1", "0.4"),
        (MID, "1", "above 0 and below 1", "0.45"),
        (MID, "much", "a number", "0.5"),
        ("microcompact_retain_recent", "-1", "at least 0", "5"),
        ("context_window_tokens", "3,000,000", "2,000,000", "5"),
    ):
        before, row = chosen(opened), form.settings.rows[name]
        retype(row.editor, text)
        assert chosen(opened) == before
        assert row.trouble.isVisible()
        assert told in row.trouble.text()
        assert isinstance(row.editor, QLineEdit)
        assert row.editor.text() == text
        assert not opened.workbench.state.failure
        retype(row.editor, fitting)
        assert not row.trouble.isVisible()
        assert chosen(opened) != before


def test_choices_and_boxes(opened: MainWindow, form: SettingsForm) -> None:
    box, choice = form.settings.rows["pin_last_user"].editor, form.settings.rows["mode"].editor
    assert isinstance(box, QCheckBox)
    assert isinstance(choice, QComboBox)
    box.click()
    choice.setCurrentText("safe")
    choice.textActivated.emit("safe")
    assert chosen(opened) == {"pin_last_user": "yes", "mode": "safe"}
    click(form.all_back)
    assert chosen(opened) == {}
    assert not box.isChecked()
    assert choice.currentText() == "faithful"


def test_the_policys_own_value_is_no_change(opened: MainWindow, form: SettingsForm) -> None:
    retype(form.settings.rows[MID].editor, "0.5")
    retype(form.settings.rows[MID].editor, "0.60")
    assert chosen(opened) == {}


def test_the_window_may_be_the_models(opened: MainWindow, form: SettingsForm) -> None:
    """A number, or in one click that of the session's model; the row says whose it is."""

    def now() -> tuple[str, bool, str]:
        row = form.settings.rows["context_window_tokens"]
        assert isinstance(row.editor, QLineEdit)
        assert row.word is not None
        return row.editor.text(), row.word.isChecked(), row.what.text().rpartition("; ")[2]

    def click_model() -> None:
        button = form.settings.rows["context_window_tokens"].word
        assert button is not None
        click(button)

    assert now() == ("200,000", True, "now the model's")
    retype(form.settings.rows["context_window_tokens"].editor, "100,000")
    assert now() == ("100,000", False, "now as set")
    click_model()
    assert now() == ("200,000", True, "now the model's")
    assert chosen(opened) == {}
    click_model()
    assert now() == ("200,000", True, "now the model's")
    opened.workbench.stepping.choose(policy="pulse")
    assert now() == ("64,000", False, "now its own")
    assert line(opened, "compact_trigger") == 48_000
    click_model()
    assert now() == ("200,000", True, "now the model's")
    assert chosen(opened) == {"context_window_tokens": "model"}
    assert line(opened, "compact_trigger") == 150_000
    opened.workbench.set_window(80_000)
    assert line(opened, "compact_trigger") == 60_000
    click(form.settings.rows["context_window_tokens"].back)
    assert now() == ("80,000", False, "now as set")


# -- dragging ------------------------------------------------------------------------------------------------------


def on_tank(tank: QWidget, tokens: int) -> QPoint:
    return QPoint(40, round(tank.height() - 1 - (tank.height() - 2) * tokens / 200_000))


def test_a_line_is_dragged_on_the_gauge(opened: MainWindow) -> None:
    gauge = opened.docks.panel("Pressure")
    assert isinstance(gauge, Gauge)
    tank = gauge.tank
    hold(tank, on_tank(tank, line(opened)))
    pull(tank, on_tank(tank, 80_000))
    assert abs(line(opened) - 80_000) < 1_500
    pull(tank, on_tank(tank, 40_000))
    assert abs(line(opened) - 40_000) < 1_500
    let_go(tank, on_tank(tank, 40_000))
    assert set(chosen(opened)) == {MID}
    pull(tank, on_tank(tank, 150_000))
    assert abs(line(opened) - 40_000) < 1_500
    QTest.mouseDClick(tank, LEFT, Qt.KeyboardModifier.NoModifier, on_tank(tank, line(opened)))
    assert line(opened) == 120_000


def test_escape_brings_it_back(opened: MainWindow) -> None:
    gauge = opened.docks.panel("Pressure")
    assert isinstance(gauge, Gauge)
    tank = gauge.tank
    opened.workbench.stepping.set(MID, "0.55")
    hold(tank, on_tank(tank, line(opened)))
    pull(tank, on_tank(tank, 30_000))
    assert chosen(opened) != {MID: "0.55"}
    press(opened, Qt.Key.Key_Escape)
    assert chosen(opened) == {MID: "0.55"}
    pull(tank, on_tank(tank, 60_000))
    let_go(tank, on_tank(tank, 60_000))
    assert chosen(opened) == {MID: "0.55"}


def test_a_press_beside_a_line_drags_nothing(opened: MainWindow) -> None:
    gauge = opened.docks.panel("Pressure")
    assert isinstance(gauge, Gauge)
    tank = gauge.tank
    hold(tank, on_tank(tank, 60_000))
    pull(tank, on_tank(tank, 30_000))
    let_go(tank, on_tank(tank, 30_000))
    assert chosen(opened) == {}


def test_a_line_is_dragged_on_the_timeline_and_marks_where_tiers_would_have_fired(
    opened: MainWindow, qtbot: QtBot
) -> None:
    opened.workbench.open(stepping.session())
    qtbot.waitUntil(lambda: opened.workbench.state.place == 1 and not opened.bridge.busy)
    opened.workbench.set_window(3_000)
    qtbot.waitUntil(lambda: line(opened) == 1_800)
    timeline = opened.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    qtbot.waitUntil(lambda: timeline.plot is not None and timeline.plot.isVisible())
    # what the policy believes is drawn when it is worked out, and takes its room on the scale
    qtbot.waitUntil(lambda: opened.workbench.state.believed is not None and not opened.bridge.busy)
    QApplication.processEvents()
    viewport = timeline.plot.canvas

    def spot(tokens: float) -> QPoint:
        return QPoint(round(viewport.across.pixel(0)), round(viewport.up.pixel(tokens)))

    at = opened.workbench.state.at
    hold(viewport, spot(1_800))
    for tokens in (1_750, 1_500, 1_000, 500):
        pull(viewport, spot(tokens))
    let_go(viewport, spot(500))
    assert abs(line(opened) - 500) < 60
    assert opened.workbench.state.at == at  # the playhead stood still
    low, _ = firings(opened.workbench.state)
    assert low.runs == ((0, 1),)
    assert timeline.plot.firings[0] == low
    above = 5_000  # far above both lines: there a drag moves the playhead
    hold(viewport, spot(above))
    for tokens in (above + 500, above - 1_000, above + 1_000):
        pull(viewport, spot(tokens))
    let_go(viewport, spot(above + 1_000))
    assert opened.workbench.state.at == 0


def test_the_effect_of_a_step_stays_on_the_timeline(opened: MainWindow, qtbot: QtBot) -> None:
    timeline = opened.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    qtbot.waitUntil(lambda: timeline.plot is not None)
    opened.workbench.move(9)
    opened.workbench.stepping.step("L0")
    qtbot.waitUntil(lambda: opened.workbench.state.stepped)
    opened.workbench.move(3)
    (effect,) = timeline.plot.canvas.effects
    assert (effect.at, effect.name) == (9, "L0")
    assert effect.after < effect.before
