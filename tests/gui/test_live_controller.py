"""What is started beside the window ends with it, whenever that closes."""

import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import pytest
from pytestqt.qtbot import QtBot

from inspector.gui.bridge import Bridge
from inspector.gui.proxies import receiving
from inspector.gui.window import MainWindow
from inspector.proxy.receiver import SpanReceiver


def refuses_connections(url: str) -> bool:
    where = urlsplit(url)
    try:
        with closing(socket.create_connection((where.hostname, where.port), 1)):
            return False
    except OSError:
        return True


def test_receiver_when_the_window_closes_while_it_starts_is_closed(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    start_receiver = receiving._start_receiver
    is_starting, may_start, started = Event(), Event(), list[SpanReceiver]()

    def start_late(record: Path, changed: Callable[[], None]) -> SpanReceiver:
        is_starting.set()
        may_start.wait(30)
        receiver = start_receiver(record, changed)
        started.append(receiver)
        return receiver

    monkeypatch.setattr(receiving, "_start_receiver", start_late)
    bridge, followed = Bridge(), list[str]()
    controller = receiving.ReceiverController(window.workbench, bridge, followed.append)
    controller.begin()
    qtbot.waitUntil(is_starting.is_set)
    controller.close()
    bridge.close()
    may_start.set()
    qtbot.waitUntil(lambda: bool(started))
    qtbot.waitUntil(lambda: refuses_connections(started[0].url))
    assert not followed


def test_receiver_when_it_cannot_start_leaves_room_for_the_next(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = tmp_path / "data"
    in_the_way.write_text("a file, no folder")
    monkeypatch.setenv("XDG_DATA_HOME", str(in_the_way))
    bench = window.workbench
    window.proxies.receive()
    qtbot.waitUntil(lambda: "cannot be created" in bench.state.failure)
    assert bench.state.receiver is None
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other"))
    window.proxies.receive()
    qtbot.waitUntil(lambda: bench.state.receiver_is_open)
    window.proxies.close()
