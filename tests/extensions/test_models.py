"""The user's table of model windows."""

from pathlib import Path

import pytest

from inspector.core.tokens.catalogue import BadModelTable
from inspector.extensions.windows import models_path, user_windows
from inspector.resources import resource


def test_a_table_is_read_from_the_configuration_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_windows() == {}
    models_path().parent.mkdir()
    models_path().write_text('[models."My-Model"]\nwindow = 5000\n')
    assert user_windows() == {"my-model": 5000}


def test_without_the_variable_it_is_below_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert models_path() == tmp_path / ".config/context-inspector/models.toml"


@pytest.mark.parametrize("data", [b"models = ", b"\xff\xfe", b'[models."m"]\nwindow = -1'])
def test_a_bad_table_names_its_file(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_bytes(data)
    with pytest.raises(BadModelTable, match=r"models\.toml"):
        user_windows(path)


def test_the_shipped_table_is_one() -> None:
    assert all(window > 1000 for window in user_windows(resource("models.toml")).values())
