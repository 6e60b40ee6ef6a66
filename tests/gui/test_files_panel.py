"""Files: every file of the session as it is known where the playhead is."""

import pytest
from pytestqt.qtbot import QtBot

from inspector.gui.panels.buffer.panel import BufferPanel
from inspector.gui.panels.lists.files import FilesPanel
from inspector.gui.window import MainWindow
from inspector.resources import resource


@pytest.fixture
def panel(window: MainWindow, qtbot: QtBot) -> FilesPanel:
    window.open_path(str(resource("sample.jsonl")))
    qtbot.waitUntil(
        lambda: (
            window.workbench.state.session is not None and window.workbench.state.opening is None
        )
    )
    window.show_panel("Files")
    found = window.docks.panel("Files")
    assert isinstance(found, FilesPanel)
    qtbot.waitUntil(lambda: bool(found.table.rows) and not window.bridge.busy)
    return found


def row_of(panel: FilesPanel, name: str) -> int:
    return next(n for n, row in enumerate(panel.table.rows) if row.name == name)


def test_files_at_a_request_are_those_known_by_then(panel: FilesPanel, window: MainWindow) -> None:
    last = {row.name for row in panel.table.rows}
    window.workbench.move(10)
    early = {row.name for row in panel.table.rows}
    assert early < last
    assert all(use.first <= 10 for row in panel.table.rows for use in row.file.uses)


def test_tokens_of_a_file_are_those_of_its_rows_in_the_buffer(
    panel: FilesPanel, window: MainWindow
) -> None:
    buffer = window.docks.panel("Buffer")
    assert isinstance(buffer, BufferPanel)
    panel.open(row_of(panel, "data/rates.csv"))
    rows = [buffer.model.row_at(n) for n in range(buffer.model.rowCount())]
    row = panel.table.rows[row_of(panel, "data/rates.csv")]
    assert 0 < len(rows) == len(row.held)
    assert sum(one.tokens for one in rows) == row.tokens


def test_file_that_is_chosen_selects_its_newest_message(
    panel: FilesPanel, window: MainWindow
) -> None:
    place = row_of(panel, "ledger/importers/statement.py")
    panel.choose(place)
    assert window.workbench.state.selected == panel.table.rows[place].held[-1].message.id


def test_file_after_a_compaction_is_no_longer_in_context(
    panel: FilesPanel, window: MainWindow
) -> None:
    window.workbench.move(78)
    before = {row.name: row.state for row in panel.table.rows}
    window.workbench.move(79)
    after = {row.name: row.state for row in panel.table.rows}
    gone = [
        name
        for name, state in before.items()
        if state != "not in context" and after[name] == "not in context"
    ]
    assert "ledger/report.py" in gone
