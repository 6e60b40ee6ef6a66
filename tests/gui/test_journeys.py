"""What people come for, from the first click to the last, by mouse and keys alone: a full session understood; compacted
three ways and exported; a real client's request held, compacted and sent on."""

from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import anthropic
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from inspector.core.jsontext import loads
from inspector.gui.panels.cost.panel import CostPanel
from inspector.gui.panels.diff.panel import DiffPanel
from inspector.gui.panels.glance.panel import GlancePanel
from inspector.gui.panels.losses.panel import LossesPanel
from inspector.gui.panels.message.view import MessageView
from inspector.gui.panels.proxy.panel import EACH, ProxyPanel
from inspector.gui.panels.steps.panel import StepsPanel
from inspector.gui.panels.tiers.panel import TierPanel
from inspector.gui.proxies.dialog import ADDRESS, ProxyDialog
from inspector.gui.window import MainWindow
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import SimulatedServerState
from inspector.transcripts.files import open_transcript
from tests.gui.hands import choose, click, click_name, click_tab, press
from tests.gui.test_edit import in_dialog, typed
from tests.gui.test_lists import click_cell
from tests.proxy.holding import Later

CONTROL = Qt.KeyboardModifier.ControlModifier
P = TypeVar("P", bound=QWidget)


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """The sample, by the button of the welcome page."""
    click(window.welcome.sample)
    bench = window.workbench
    qtbot.waitUntil(
        lambda: (
            bench.state.session is not None and bench.state.opening is None and window.docks.ready
        )
    )
    return window


def panel(window: MainWindow, title: str, kind: type[P]) -> P:
    found = window.docks.panel(title)
    assert isinstance(found, kind)
    return found


def step(window: MainWindow, qtbot: QtBot, tier: str) -> None:
    """The button of a tier, and what it does."""
    tiers, bench = panel(window, "Tiers", TierPanel), window.workbench
    qtbot.waitUntil(lambda: tier in tiers.rows and bench.state.previews is not None)
    count = len(bench.state.steps.taken) if bench.state.steps else 0
    button = tiers.rows[tier].button
    qtbot.waitUntil(button.isEnabled)
    click(button, QPoint(6, 6))
    qtbot.waitUntil(lambda: bench.state.steps is not None and len(bench.state.steps.taken) > count)


def test_a_full_session_is_understood(opened: MainWindow, qtbot: QtBot) -> None:
    """What was lost is said before the first click; a click on its link leads to the call that needed it again."""
    cards = panel(opened, "At a glance", GlancePanel).cards
    qtbot.waitUntil(lambda: all(card.answer is not None for card in cards.values()))
    click(cards["lost"])
    lost = panel(opened, "What was lost", LossesPanel)
    qtbot.waitUntil(lambda: lost.seen and bool(lost.table.rows))
    click(lost.choices.views["Needed again"])
    click_cell(lost.table, 0)
    use = lost.selected[0].use
    assert use is not None
    click(lost.cards.again.link)
    qtbot.waitUntil(lambda: opened.workbench.state.at == use.request)
    assert panel(opened, "Message", MessageView).seen
    assert opened.workbench.state.selected == use.message
    press(opened, Qt.Key.Key_1, CONTROL)
    click(cards["cost"])
    cost = panel(opened, "Cost", CostPanel)
    qtbot.waitUntil(lambda: cost.seen and bool(cost.table.rows))
    assert cost.title.text() == "Cost of this thread: $8.63; of the whole session: $8.67"


def test_one_buffer_is_compacted_three_ways_and_exported(
    opened: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    """The recorded compaction by C, two policies on the buffer before it, and one of the three as a session."""
    bench, path = opened.workbench, tmp_path / "compacted.jsonl"
    press(opened, Qt.Key.Key_Home)
    press(opened, Qt.Key.Key_2, CONTROL)
    opened.setFocus()
    press(opened, Qt.Key.Key_C)
    diff = panel(opened, "Diff", DiffPanel)
    steps = panel(opened, "Steps", StepsPanel)
    for name, tier in (("Claude Code", "auto"), ("Roku", "L1")):
        choose(qtbot, opened.top.policy, name)
        qtbot.waitUntil(
            lambda: diff.model.comparison is not None and diff.bar.undo.text() == "Go before"
        )
        click(diff.bar.undo)
        step(opened, qtbot, tier)
        click_tab(opened.docks.dock("Steps"))
        qtbot.waitUntil(
            lambda tier=tier: (  # type: ignore[misc]
                steps.seen and [row.name for row in steps.model.rows[2:]] == [tier]
            )
        )
        assert [row.depth for row in steps.model.rows] == [0, 1, 1], (
            "what was recorded and what is tried, side by side"
        )
        click_tab(opened.docks.dock("Tiers"))
    click_tab(opened.docks.dock("Steps"))

    def name_it(dialog: QFileDialog) -> None:
        field = dialog.findChild(QLineEdit, "fileNameEdit")
        assert field is not None
        typed(field, str(path))
        press(field, Qt.Key.Key_Return)

    QApplication.setAttribute(Qt.ApplicationAttribute.AA_DontUseNativeDialogs)
    entries = ("Export the buffer", "As a transcript the agent can resume…")
    in_dialog(qtbot, QFileDialog, name_it, lambda: choose(qtbot, steps.more, *entries))
    qtbot.waitUntil(path.exists)
    qtbot.waitUntil(lambda: not opened.bridge.busy)
    kept = open_transcript(str(path)).main.end.messages()
    assert [one.text for one in kept] == [one.text for one in bench.state.buffer().messages]


def test_a_clients_request_is_held_compacted_and_sent_on(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy from the welcome page, its rule, a tier in Compact, and back in Live what the steps made of it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    bench = window.workbench
    told: list[Any] = [{"role": "user", "content": "Read what there is."}]
    for n in range(12):
        asked = {"type": "tool_use", "id": f"t{n}", "name": "look", "input": {}}
        given = {
            "type": "tool_result",
            "tool_use_id": f"t{n}",
            "content": f"line {n} of code\n" * 150,
        }
        told += [{"role": "assistant", "content": [asked]}, {"role": "user", "content": [given]}]
    with SimulatedServer(SimulatedServerState(remember=9)) as provider, closing(window.proxies):

        def begin(dialog: ProxyDialog) -> None:
            click(dialog.chips.buttons[ADDRESS])
            typed(dialog.address, provider.url)
            click(dialog.go)

        in_dialog(qtbot, ProxyDialog, begin, lambda: click(window.welcome.watch))
        qtbot.waitUntil(lambda: bench.state.proxy_is_open and window.docks.ready)
        proxy = panel(window, "Proxy", ProxyPanel)
        qtbot.waitUntil(lambda: proxy.seen and "127.0.0.1" in proxy.address.text())
        click(proxy.rule.kind.buttons[EACH])

        def ask() -> str:
            with anthropic.Anthropic(
                api_key="k", base_url=proxy.address.text(), max_retries=0
            ) as client:
                answer = client.messages.create(
                    model="claude-simulated", max_tokens=300, messages=told
                )
                return str(answer.content[0].text)  # type: ignore[union-attr]

        call = Later(ask)
        qtbot.waitUntil(lambda: len(proxy.boxes) == 1 and bench.state.at == 0)
        assert window.docks.current.name == "Live"
        click_name(window.top.workspaces, "Compact")
        choose(qtbot, window.top.policy, "Roku")
        step(window, qtbot, "L0")
        click_name(window.top.workspaces, "Live ●")
        (box,) = proxy.boxes.values()
        qtbot.waitUntil(lambda: box.choice.title == "With your 1 step")
        click(box.forward)
        assert call.result()
        sent = loads(provider.world.seen[-1].body)["messages"]
        assert len(sent) == len(told)
        assert sum("line " in str(one) for one in sent) == 3, "L0 keeps the newest results"
        click(proxy.stop)
        qtbot.waitUntil(lambda: bench.state.proxy is None)
