"""Comparisons for tests: their sessions, and hands on their panel."""

import pytest
from pytestqt.qtbot import QtBot

from inspector.core.session import Session, Thread
from inspector.gui.desk import Desk
from inspector.gui.panels.compare.panel import ComparePanel
from tests.core.sessions import said
from tests.gui.hands import click

LONG = said(
    ("user", "go"),
    *[("read", f"src/f{n}.py {'word ' * 900} known_name_{n}") for n in range(30)],
    ("read", "src/f0.py word known_name_0"),
    ("answer", "known_name_1 was in src/f1.py"),
)


def session(thread: Thread = LONG, path: str = "compared.jsonl") -> Session:
    return Session("test", (thread,), path=path)


class Clock:
    """Stands still, however busy the machine is, unless a test moves it on."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def run(panel: ComparePanel, qtbot: QtBot) -> None:
    """Have every chosen policy run: most are under way unasked."""
    if panel.bar.button.text().startswith("Run") and panel.bar.button.isEnabled():
        click(panel.bar.button)
    qtbot.waitUntil(lambda: not panel._job.busy and not panel._found.missing)


def names(panel: ComparePanel) -> list[str]:
    return [row.name for row in panel.table.rows]


def click_cell(panel: ComparePanel, row: int, column: int = 0) -> None:
    index = panel.table.model().index(row, column)
    panel.table.scrollTo(index)
    click(panel.table.viewport(), panel.table.visualRect(index).center())


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
