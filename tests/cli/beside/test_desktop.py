"""The menu entry, icon and file type of one user: written, valid, removed."""

import json
from pathlib import Path

import pytest

from inspector.__main__ import main


def test_files_are_written_for_the_user_and_removed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    program = tmp_path / "my programs" / "context-inspector"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    monkeypatch.setenv("PATH", str(program.parent))
    (data / "applications").mkdir(parents=True)
    other = data / "applications" / "other.desktop"
    other.write_text("[Desktop Entry]\n", "utf-8")

    assert main(["desktop", "--install", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written["action"] == "written"
    assert sorted(Path(name).suffix for name in written["files"]) == [".desktop", ".svg", ".xml"]
    entry = (data / "applications" / "context-inspector.desktop").read_text("utf-8")
    assert f'\nExec="{program}" %f\n' in entry

    assert main(["desktop", "--remove", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == written["files"]
    assert [path for path in data.rglob("*") if path.is_file()] == [other]
    assert main(["desktop", "--remove"]) == 0
    assert capsys.readouterr().out == "Nothing was installed.\n"
    assert main(["desktop"]) == 2
