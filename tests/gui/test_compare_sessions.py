"""Compare over several sessions, in the window."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from inspector.gui.panels.compare.panel import ComparePanel
from inspector.gui.window import MainWindow
from inspector.replay_files import compare_over_sessions
from inspector.resources import resource
from tests.gui.hands import click


def test_comparison_over_sessions_when_files_are_added_shows_means_with_intervals(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = resource("sample.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    paths = [str(tmp_path / name) for name in ("first.jsonl", "second.jsonl")]
    for path, count in zip(paths, (90, 120), strict=True):
        Path(path).write_text("".join(lines[:count]), encoding="utf-8")
    window.open_path(paths[0])
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and window.docks.ready)
    panel = window.docks.panel("Compare")
    assert isinstance(panel, ComparePanel)
    window.docks.choose("Compare")
    click(panel.over)
    page = panel.sessions
    assert page.paths == paths[:1]
    assert not page.start.isEnabled()
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *given: (paths, ""))
    click(page.add)
    assert page.paths == paths
    assert page.start.text() == "Compare over 2 sessions"
    click(page.start)
    assert page.progress.isVisible()
    assert "% done: replaying " in page.done.text()
    qtbot.waitUntil(lambda: bool(page.table.rows) and not window.bridge.busy)
    names = [name for name in panel.bar.chosen if name != "recorded"]
    assert page.table.rows == compare_over_sessions(paths, names).summaries
    assert "2 sessions cannot separate policies with similar results" in page.says.text()
    click(page.start)
    click(page.start)
    assert "Cancelled" in page.says.text()
    click(panel.sweeping)
    assert not panel.over.isChecked()
