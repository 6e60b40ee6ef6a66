"""What conftest.py promises to every test."""

import os
import socket
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, QStandardPaths


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "example.invalid"])
def test_nothing_elsewhere_is_reached(host: str, refused: list[str]) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, 443), timeout=1)
    assert refused == [host]
    refused.clear()


def test_this_machine_is_reached() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
    ):
        pass


def test_the_users_folders_are_the_tests_own(home: Path) -> None:
    assert Path.home() == home
    assert not any(home.rglob("*.jsonl"))
    for place in (
        QStandardPaths.StandardLocation.ConfigLocation,
        QStandardPaths.StandardLocation.HomeLocation,
    ):
        assert Path(QStandardPaths.writableLocation(place)).is_relative_to(home)


def test_settings_are_the_tests_own(home: Path) -> None:
    settings = QSettings("context-inspector", "floor")
    assert Path(settings.fileName()).is_relative_to(home)


def test_there_is_no_screen() -> None:
    assert os.environ["QT_QPA_PLATFORM"] == "offscreen"
    assert "DISPLAY" not in os.environ
