"""Without a mouse, without eyes: Tab goes to what can be seen, as it is read; everything has a name and its numbers."""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from inspector.gui.look.colours import CONTRAST
from inspector.gui.panels.calibration.panel import CalibrationPanel
from inspector.gui.panels.lists.lost import AGAIN, LostPanel
from inspector.gui.window import MainWindow
from inspector.gui.workspace import PAGES, WORKSPACES
from tests.gui.hands import double_click, press

CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> MainWindow:
    window.open_sample()
    bench = window.workbench
    qtbot.waitUntil(
        lambda: (
            bench.state.session is not None and bench.state.opening is None and window.docks.ready
        )
    )
    qtbot.waitUntil(lambda: not window.bridge.busy)
    window.activateWindow()
    return window


def chain(window: MainWindow, back: bool = False) -> Iterator[QWidget]:
    """Where Tab leads from the first button on, until it is there again."""
    first = window.top.opener
    first.setFocus()
    for _ in range(120):
        at = QApplication.focusWidget()
        assert at is not None
        QTest.keyClick(at, Qt.Key.Key_Backtab if back else Qt.Key.Key_Tab)
        stop = QApplication.focusWidget()
        assert stop is not None
        yield stop
        if stop is first:
            return
    raise AssertionError("Tab never comes back")


def name_of(widget: QWidget, what: QAccessible.Text = QAccessible.Text.Name) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    assert interface is not None
    return interface.text(what)


def test_tab_goes_once_through_all_that_can_be_seen(opened: MainWindow, qtbot: QtBot) -> None:
    for name in WORKSPACES:
        opened.docks.choose(name)
        check_chain(opened, qtbot)


def check_chain(opened: MainWindow, qtbot: QtBot) -> None:
    """In the workspace that is shown."""
    qtbot.waitUntil(lambda: not opened.bridge.busy)
    qtbot.wait(20)
    stops = list(chain(opened))
    assert len(stops) == len(set(stops)) > 8
    for stop in stops:
        assert stop.isVisible()
        assert not stop.visibleRegion().isEmpty()
        assert name_of(stop), stop
        assert opened.rect().contains(
            stop.mapTo(opened, stop.visibleRegion().boundingRect().center())
        )
    assert list(chain(opened, back=True)) == [*reversed(stops[:-1]), stops[-1]]
    seen = {panel for panel in opened.docks.panels.values() if panel.seen}
    can = {
        one
        for one in seen
        if any(w.focusPolicy() & Qt.FocusPolicy.TabFocus for w in one.findChildren(QWidget))
    }
    assert {"Timeline", "Pressure"} <= {one.TITLE for one in can}
    reached = {panel for panel in seen for stop in stops if panel.isAncestorOf(stop)}
    assert {"Timeline", "Pressure"} <= {one.TITLE for one in reached}


def test_the_order_is_that_of_reading(opened: MainWindow, qtbot: QtBot) -> None:
    stops = list(chain(opened))
    panels = [
        panel.TITLE
        for stop in stops
        for panel in opened.docks.panels.values()
        if panel.isAncestorOf(stop) and panel.seen
    ]
    order = list(dict.fromkeys(panels))
    assert order == ["Pressure", "Timeline", "At a glance", "Buffer", "Message"]
    assert panels == sorted(panels, key=order.index)
    for one, other in pairwise(stops[:-1]):
        if one.parentWidget() is other.parentWidget() and one.y() == other.y():
            assert one.mapTo(opened, QPoint(0, 0)).x() < other.mapTo(opened, QPoint(0, 0)).x()


def test_a_panel_is_read_right_after_its_tabs(opened: MainWindow, qtbot: QtBot) -> None:
    """Whatever stands beside them: in Compact the diff has no tabs, and begins higher than the tiers."""
    opened.docks.choose("Compact")
    qtbot.waitUntil(lambda: not opened.bridge.busy)
    qtbot.wait(20)
    panels = [one for one in opened.docks.panels.values() if one.seen]
    told = [
        next((one.TITLE for one in panels if one.isAncestorOf(stop)), "") for stop in chain(opened)
    ]
    order = [title for title in dict.fromkeys(told) if title]
    assert order == ["Pressure", "Timeline", "Tiers", "Diff", "Lost"]


def focused_panel(window: MainWindow) -> str:
    """Title of the panel that has the focus; empty if none has it."""
    focus = QApplication.focusWidget()
    panels = window.docks.panels.values()
    return next(
        (one.TITLE for one in panels if focus and (one is focus or one.isAncestorOf(focus))), ""
    )


def test_focus_when_the_pressed_button_disappears_stays_in_its_panel(
    opened: MainWindow, qtbot: QtBot
) -> None:
    opened.show_panel("Calibration")
    panel = opened.docks.panel("Calibration")
    assert isinstance(panel, CalibrationPanel)
    qtbot.waitUntil(panel.tokenizers.isVisible)
    panel.tokenizers.setFocus()
    press(panel.tokenizers, Qt.Key.Key_Space)
    assert not panel.tokenizers.isVisible()
    assert focused_panel(opened) == "Calibration"
    focus = QApplication.focusWidget()
    assert focus is not None
    press(focus, Qt.Key.Key_Tab)
    assert focused_panel(opened) == "Calibration"


def test_focus_when_a_control_disappears_is_never_in_the_top_bar(
    opened: MainWindow, qtbot: QtBot
) -> None:
    for name in (*WORKSPACES, *PAGES):
        opened.docks.choose(name)
        qtbot.waitUntil(lambda: not opened.bridge.busy)
        for stop in [stop for stop in chain(opened) if not opened.top.isAncestorOf(stop)]:
            if stop is opened.top.opener:
                continue
            for take, give in (
                (stop.hide, stop.show),
                (partial(stop.setEnabled, False), partial(stop.setEnabled, True)),
            ):
                if stop.isVisible() and stop.isEnabled():
                    stop.setFocus()
                    take()
                    focus = QApplication.focusWidget()
                    assert focus is None or not opened.top.isAncestorOf(focus), stop
                    give()


def test_focus_when_a_lost_fact_is_opened_stays_out_of_the_top_bar(
    opened: MainWindow, qtbot: QtBot
) -> None:
    opened.workbench.previous_compaction()
    opened.show_panel("Lost")
    panel = opened.docks.panel("Lost")
    assert isinstance(panel, LostPanel)
    qtbot.waitUntil(lambda: bool(panel.table.rows))
    for column in (4, AGAIN):
        place = panel.table.visualRect(panel.table.model().index(0, column)).center()
        double_click(panel.table.viewport(), place)
        qtbot.waitUntil(lambda: not opened.bridge.busy)
        assert focused_panel(opened) in ("Lost", "Diff", "Message")


def test_gauge_and_timeline_carry_their_numbers(opened: MainWindow, qtbot: QtBot) -> None:
    opened.workbench.move(131)
    spoken = "61.4 percent, 122,765 of 200,000, reported"
    plot = opened.docks.panel("Timeline").findChild(QWidget, "PlotView")
    assert isinstance(plot, QWidget)
    description = QAccessible.Text.Description
    assert name_of(opened.docks.panel("Pressure"), description) == spoken
    assert name_of(plot, description).startswith(
        f"request 131 of 132 requests: {spoken}. Marks: 1 compaction"
    )
    opened.workbench.move(0)
    assert name_of(plot, description).startswith("request 0 of 132 requests: ")
    assert spoken not in name_of(plot, description)


def test_letters_grow_and_shrink_and_are_remembered(opened: MainWindow) -> None:
    before = opened.theme.points
    heights = [opened.top.opener.fontMetrics().height()]
    for key in (Qt.Key.Key_Plus, Qt.Key.Key_Plus):
        press(opened, key, CONTROL)
        heights.append(opened.top.opener.fontMetrics().height())
    assert heights == sorted(set(heights))
    assert opened.settings.text("size") == "1.25"
    press(opened, Qt.Key.Key_Minus, CONTROL)
    assert opened.theme.points == pytest.approx(before * 1.1)
    press(opened, Qt.Key.Key_0, CONTROL)
    assert opened.theme.points == before


def test_high_contrast_is_one(opened: MainWindow) -> None:
    opened.theme.choose("contrast")
    assert opened.theme.colours is CONTRAST
    for ground in (CONTRAST.window, CONTRAST.raised, CONTRAST.hover, CONTRAST.selected):
        for ink in (
            CONTRAST.text,
            CONTRAST.quiet,
            CONTRAST.accent,
            CONTRAST.low,
            CONTRAST.good,
            CONTRAST.on_tool,
        ):
            assert ratio(ink, ground) >= (
                7 if ground in (CONTRAST.window, CONTRAST.raised) else 4.5
            ), (ink, ground)
    assert ratio(CONTRAST.line, CONTRAST.window) >= 3
    assert ratio(CONTRAST.on_accent, CONTRAST.accent) >= 7


def ratio(one: str, other: str) -> float:
    """WCAG 2.1's contrast ratio."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """WCAG 2.1's relative luminance."""
    parts = (QColor(colour).redF(), QColor(colour).greenF(), QColor(colour).blueF())
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
