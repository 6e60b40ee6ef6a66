"""A traced agent watched in the window: the real OpenTelemetry SDK sends to the receiver, begun with a click."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import cast

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from inspector.core.errors import InspectorError
from inspector.core.usage import Usage
from inspector.gui.panels.proxy.panel import ProxyPanel
from inspector.gui.welcome import sample_path
from inspector.gui.window import MainWindow
from inspector.proxy.receiver import PORT, SpanReceiver
from inspector.workbench.gauge import reading
from tests.gui.hands import click
from tests.proxy.test_receiver import SmallAgent


@pytest.fixture
def panel(window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProxyPanel]:
    """The proxy's panel in Live, with the sample open."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    window.open_path(str(sample_path()))
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and window.docks.ready)
    window.docks.choose("Live")
    found = cast(ProxyPanel, window.docks.panels["Proxy"])
    qtbot.waitUntil(lambda: found.begin_receiving.isVisible())
    yield found
    window.proxies.close()


def test_a_click_listens_and_what_the_agent_sends_is_followed(
    panel: ProxyPanel, window: MainWindow, qtbot: QtBot
) -> None:
    bench = window.workbench
    click(panel.begin_receiving)
    qtbot.waitUntil(lambda: bench.state.receiver_is_open and panel.receiver.isVisible())
    row = panel.receiver
    assert row.address.text().startswith("http://127.0.0.1:")
    click(row.copy)
    assert QGuiApplication.clipboard().text() == row.address.text()
    assert row.how.isVisible()
    click(row.copy_lines)
    assert f"OTEL_EXPORTER_OTLP_ENDPOINT={row.address.text()}\n" in QGuiApplication.clipboard().text()
    assert not row.show_recording.isVisible()
    SmallAgent(row.address.text(), Compression.Gzip).work()
    qtbot.waitUntil(lambda: row.says.text().startswith("6 spans received"))
    assert not row.how.isVisible()
    session = bench.state.session
    qtbot.waitUntil(lambda: (now := bench.state.thread) is not None and len(now.requests) == 2)
    assert bench.state.following == "file"
    assert session is not None
    assert session.format == "otel"
    assert bench.state.thread is not None
    assert [request.usage for request in bench.state.thread.requests] == [Usage(100), Usage(130)]
    shown = reading(bench.state)
    assert shown is not None
    assert shown.pressure.tokens == 130
    record = bench.state.receiver.record if bench.state.receiver else ""
    window.open_path(str(sample_path()))
    qtbot.waitUntil(row.show_recording.isVisible)
    click(row.show_recording)
    qtbot.waitUntil(lambda: bench.state.receiver_is_open)
    click(row.stop)
    qtbot.waitUntil(lambda: bench.state.receiver is None and not row.isVisible())
    assert bench.state.session is not None
    assert bench.state.session.path == record


def test_where_the_usual_port_is_taken_another_is(
    panel: ProxyPanel, window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    with ExitStack() as others:
        with suppress(InspectorError):  # somebody else may have it already
            others.enter_context(SpanReceiver(tmp_path / "others.jsonl"))
        click(panel.begin_receiving)
        qtbot.waitUntil(panel.receiver.isVisible)
        assert not panel.receiver.address.text().endswith(f":{PORT}")
        url = panel.receiver.address.text()
        window.proxies.receive()  # listens already
        assert panel.receiver.address.text() == url
        window.proxies.stop_receiving()
        qtbot.waitUntil(lambda: window.workbench.state.receiver is None)
