"""Whose line is it: the product's own scale, the chosen policy's lines, and where the recorded client compacts."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from inspector.core.session import Compaction
from inspector.gui.panels.timeline.panel import Timeline
from inspector.gui.window import MainWindow
from inspector.resources import resource
from tests.gui.drawn import drawn
from tests.gui.stepping import session


@pytest.fixture(autouse=True)
def placed(window: MainWindow, qtbot: QtBot) -> None:
    """Panels come one after the other."""
    qtbot.waitUntil(lambda: window.docks.ready, timeout=60_000)


def opened(window: MainWindow, qtbot: QtBot, path: Path) -> None:
    window.open_path(str(path))
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and not window.bridge.busy)


def test_client_trigger_stays_whatever_policy_is_chosen(window: MainWindow, qtbot: QtBot) -> None:
    opened(window, qtbot, resource("sample.jsonl"))
    timeline = window.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    qtbot.waitUntil(lambda: timeline.plot is not None)
    for policy in ("claude-code", "roku", "none"):
        window.workbench.stepping.choose(policy=policy)
        qtbot.waitUntil(lambda: timeline.plot.canvas.lines.trigger is not None)
        trigger = timeline.plot.canvas.lines.trigger
        assert (trigger.label, trigger.tokens, trigger.basis) == (
            "Claude Code 76.6%",
            (153_212,),
            "observed once",
        )
        assert [line.label for line in timeline.plot.canvas.lines.watermarks[:2]] == [
            "60% L1, L2",
            "75% L3",
        ]


@pytest.mark.parametrize("sizes", [(155_000, 154_000), (135_000,), (199_000, 190_000, 170_000)])
def test_labels_of_lines_that_are_near_each_other_never_overlap(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...]
) -> None:
    """Whatever is near: the window, the scale, both lines of the policy, the client's own trigger."""
    window.workbench.stepping.choose(policy="claude-code")
    one = session()
    near = tuple(Compaction(n % 2 + 1, "auto", tokens_before=size) for n, size in enumerate(sizes))
    main = replace(one.main, compactions=near)
    window.workbench.set_window(200_000)
    window.workbench.open(
        replace(one, format="claude-code", client="Claude Code 2.1.14", threads=(main,))
    )
    window.workbench.set_window(200_000)
    timeline = window.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    qtbot.waitUntil(lambda: timeline.plot is not None)
    canvas = timeline.plot.canvas
    qtbot.waitUntil(
        lambda: canvas.lines.trigger is not None and len(canvas.lines.trigger.tokens) == len(sizes)
    )
    qtbot.waitUntil(lambda: len(canvas.lines.watermarks) == 4)
    timeline.resize(1_280, 340)
    qtbot.wait(20)
    places = {text.words: text.covers for text in drawn(canvas, monkeypatch)}
    names = {
        "60% L1, L2",
        "75% L3",
        "Claude Code 78%",
        "Claude Code 68%",
        canvas.lines.trigger.label,
    }
    assert names <= places.keys(), places.keys()
    assert any(name.startswith("Window 200,000") for name in places)
    for (one, room), (other, beside) in combinations([(name, places[name]) for name in names], 2):
        common = room & beside
        assert common.height() <= 2, (one, other)
