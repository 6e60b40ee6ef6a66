"""Whose line is it: where the recorded agent compacted, and the policy that a session opens with."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFontMetricsF, QImage, QPainter
from pytestqt.qtbot import QtBot

from inspector.core.findings.triggers import trigger_words
from inspector.core.session import Compaction
from inspector.gui.panels.tiers.panel import TierPanel
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.panels.timeline.panel import Timeline
from inspector.gui.widgets.plot import area_of
from inspector.gui.window import MainWindow
from inspector.resources import resource
from tests.gui.hands import click
from tests.gui.stepping import session


@pytest.fixture(autouse=True)
def placed(window: MainWindow, qtbot: QtBot) -> None:
    """Panels come one after the other."""
    qtbot.waitUntil(lambda: window.docks.ready, timeout=60_000)


def opened(window: MainWindow, qtbot: QtBot, path: Path) -> None:
    window.open_path(str(path))
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and not window.bridge.busy)


def test_a_session_opens_with_its_own_agents_policy_and_line(window: MainWindow, qtbot: QtBot) -> None:
    opened(window, qtbot, resource("sample.jsonl"))
    tiers, timeline, gauge = (window.docks.panel(name) for name in ("Tiers", "Timeline", "Pressure"))
    assert isinstance(tiers, TierPanel)
    assert isinstance(timeline, Timeline)
    assert isinstance(gauge, Gauge)
    window.docks.bring("Tiers")
    assert tiers.caption.text().startswith("Claude Code")
    assert set(tiers.rows) == {"micro", "auto"}
    qtbot.waitUntil(lambda: timeline.plot is not None)
    qtbot.waitUntil(lambda: bool(timeline.plot.overlay.triggers))
    (trigger,) = timeline.plot.overlay.triggers
    assert (trigger.before_request, trigger.tokens, f"{trigger.ratio:.0%}") == (79, 153_212, "77%")
    reading = gauge.tank._reading
    assert reading is not None
    assert (
        gauge.tank._about(gauge.tank._y(153_212), reading)
        == "The recorded agent compacted at 153,212: 77% of the window"
    )
    click(tiers.rows["auto"].button)
    qtbot.waitUntil(lambda: window.workbench.state.stepped)
    first = window.workbench.state.buffer().messages[0]
    assert first.summary
    assert first.text.startswith("This session is being continued")
    next(one for one in tiers.caption.menu().actions() if one.text() == "Roku").trigger()
    assert set(tiers.rows) == {"L0", "L1", "L2", "L3a", "L3b", "L4"}
    assert timeline.plot.overlay.triggers == (trigger,)
    assert [line.tokens for line in timeline.plot.overlay.lines] == [120_000, 150_000]


class Spy(QPainter):
    """Keeps where each text would stand."""

    def __init__(self, image: QImage) -> None:
        super().__init__(image)
        self.texts: list[tuple[str, QRectF]] = []

    def drawText(self, at: QPointF | QRectF, *more: object) -> None:  # type: ignore[override]
        text = str(more[-1])
        if isinstance(at, QRectF):
            self.texts.append((text, at))
            return
        metrics = QFontMetricsF(self.font())
        height = metrics.ascent() - 2  # names of lines may stand as close as that
        self.texts.append((text, QRectF(at.x(), at.y() - height, metrics.horizontalAdvance(text), height)))


@pytest.mark.parametrize("sizes", [(155_000, 154_000), (135_000,), (199_000, 190_000, 170_000)])
def test_the_words_stand_apart_from_all_others(window: MainWindow, qtbot: QtBot, sizes: tuple[int, ...]) -> None:
    """Whatever is near: the window, both lines of the policy, compactions."""
    one = session()
    near = tuple(Compaction(n % 2 + 1, "auto", tokens_before=size) for n, size in enumerate(sizes))
    main = replace(one.main, compactions=near)
    window.workbench.set_window(200_000)
    window.workbench.open(replace(one, format="claude-code", client="Claude Code 2.1.14", threads=(main,)))
    window.workbench.set_window(200_000)
    timeline = window.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    qtbot.waitUntil(lambda: timeline.plot is not None)
    overlay = timeline.plot.overlay
    qtbot.waitUntil(lambda: len(overlay.triggers) == len(sizes) and len(overlay.lines) == 2)
    overlay.grab()  # it knows then what it covers
    image = QImage(1_280, 400, QImage.Format.Format_ARGB32)
    painter = Spy(image)
    overlay._paint(painter, area_of(timeline.plot._box))
    painter.end()
    found = painter.texts
    assert {"window 200,000", "78% compact", "68% micro"} <= {text for text, _ in found}
    mine = [place for text, place in found if text == trigger_words(overlay.triggers)]
    assert len(mine) == 1
    others = [text for text, place in found if place.intersects(mine[0])]
    assert others == [trigger_words(overlay.triggers)]
