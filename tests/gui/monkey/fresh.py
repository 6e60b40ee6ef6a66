"""Is what is seen the current state? Each panel is asked, and some are compared with one that was made this moment."""

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QTableView

from inspector.gui.panels.lists.recorded import ProblemsPanel
from inspector.gui.panels.lists.validity import ValidityPanel
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.window import MainWindow

COMPARED = (Gauge, ProblemsPanel, ValidityPanel)
"""Panels that show nothing but the state: another one that is given it must show the same."""


def stale(window: MainWindow) -> Iterator[str]:
    """What does not show the state, in words."""
    state = window.workbench.state
    if state.session is None:
        if window.pages.currentWidget() is not window.welcome:
            yield "nothing is open, but the panels are shown"
        return
    name = Path(state.session.path).name or state.session.format
    if not window.windowTitle().startswith(name):
        yield f"the title is {window.windowTitle()!r}, the session {name!r}"
    for panel in list(window.docks.panels.values()):  # more are built while we look
        if panel.cover is not None:
            if panel.cover.again.isHidden():  # otherwise the monkey cancelled the work
                yield f"{panel.TITLE}: {panel.cover.words.text()}"
        elif panel.seen and not window.docks.is_current(panel):
            yield f"{panel.TITLE} shows an older state"
        elif panel.seen and isinstance(panel, COMPARED):
            yield from _compared(window, panel)


def _compared(window: MainWindow, panel: Panel) -> Iterator[str]:
    fresh = type(panel)(panel.desk)
    fresh.resize(panel.size())
    fresh.show()
    state = window.workbench.state
    fresh.receive(state)
    for _ in range(100):
        QTest.qWait(10)
        if not window.bridge.busy:
            break
    QTest.qWait(1_000)
    same = window.workbench.state is state and words(fresh) == words(panel)
    if not same and window.workbench.state is state and not window.bridge.busy:
        yield f"{panel.TITLE} shows {words(panel)!r}, a new one {words(fresh)!r}"
    fresh.deleteLater()


def words(panel: Panel) -> list[str]:
    """All that can be read in it."""
    labels = [one.text() for one in panel.findChildren(QLabel) if one.isVisibleTo(panel)]
    tables = [
        str(table.model().index(row, column).data())
        for table in panel.findChildren(QTableView)
        for row in range(min(20, table.model().rowCount()))
        for column in range(table.model().columnCount())
    ]
    return labels + tables
