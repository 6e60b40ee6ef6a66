"""What the window remembers is its owner's."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings

from inspector.agent.plan import Plan
from inspector.gui.runs.dialog import remember, remembered
from inspector.gui.settings import Settings


@pytest.mark.parametrize("before", [None, 0o644])
def test_nobody_else_reads_the_settings(tmp_path: Path, before: int | None) -> None:
    """A new file, and one of an earlier version that all could read; and so it stays."""
    file = tmp_path / "deep" / "window.ini"
    if before is not None:
        file.parent.mkdir()
        file.write_text("[run]\n")
        file.chmod(before)
    mask = os.umask(0o022)
    try:
        store = QSettings(str(file), QSettings.Format.IniFormat)
        settings = Settings(store)
        for value in ("one", "two"):
            settings.keep_text("run/last", value)
            store.sync()
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
    finally:
        os.umask(mask)
    assert Settings(QSettings(str(file), QSettings.Format.IniFormat)).text("run/last") == "two"


def test_an_address_with_a_key_that_was_kept_once_is_forgotten(tmp_path: Path) -> None:
    settings = Settings(QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat))
    plan = Plan("", tmp_path, tmp_path / "run.jsonl", "http://127.0.0.1:9/v1?key=k", "m")
    remember(settings, plan)
    assert remembered(settings).provider == "simulated"
    remember(settings, replace(plan, provider="http://127.0.0.1:9/v1"))
    assert remembered(settings).provider == "http://127.0.0.1:9/v1"
