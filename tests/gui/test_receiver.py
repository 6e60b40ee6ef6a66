"""A traced agent watched in the window: the real OpenTelemetry SDK sends to the receiver, begun with a click."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from inspector.core.errors import InspectorError
from inspector.core.usage import Usage
from inspector.gui.panels.proxy.bar import ReceiverBar
from inspector.gui.panels.proxy.exchange_rows import COLUMNS, SUB, WATERFALL
from inspector.gui.panels.proxy.panel import ProxyPanel
from inspector.gui.welcome import sample_path
from inspector.gui.window import MainWindow
from inspector.proxy.receiver import PORT, SpanReceiver
from inspector.workbench.pressure.gauge import reading
from tests.gui.hands import click, double_click, press
from tests.gui.made import session as made_session
from tests.proxy.test_receiver import SmallAgent


@pytest.fixture
def panel(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ProxyPanel]:
    """The proxy's panel in Live, with the sample open."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    window.open_path(str(sample_path()))
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and window.docks.ready)
    window.docks.choose("Live")
    found = cast(ProxyPanel, window.docks.panel("Proxy"))
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
    assert (
        f"OTEL_EXPORTER_OTLP_ENDPOINT={row.address.text()}\n" in QGuiApplication.clipboard().text()
    )
    assert not row.show_recording.isVisible()
    bar = cast(ReceiverBar, window.receiver_bar)
    assert bar.isVisible()
    assert bar.says.whole.startswith(f"{row.address.text()} · 0 spans received, recorded in ")
    SmallAgent(row.address.text(), Compression.Gzip).work()
    qtbot.waitUntil(lambda: row.says.text().startswith("6 spans received"))
    assert " · 6 spans received, recorded in " in bar.says.whole
    assert not row.how.isVisible()
    session = bench.state.session
    qtbot.waitUntil(lambda: (now := bench.state.thread) is not None and len(now.requests) == 2)
    assert bench.state.following == "file"
    assert session is not None
    assert session.format == "otel"
    calls = panel.table
    qtbot.waitUntil(
        lambda: (
            calls.isVisible()
            and [one.what.usage for one in calls.rows if one.place.thread == "main"]
            == [Usage(130), Usage(100)]
        )
    )
    assert all((one.what.elapsed_ms or 0) > 0 for one in calls.rows)
    assert set(calls.bars()) == {one.id for one in calls.rows}
    assert not calls.isColumnHidden(WATERFALL)
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
    assert not bar.isVisible()
    assert bench.state.session is not None
    assert bench.state.session.path == record


def test_the_calls_of_what_is_open_lead_to_their_requests(
    panel: ProxyPanel, window: MainWindow, qtbot: QtBot
) -> None:
    calls, bench = panel.table, window.workbench
    qtbot.waitUntil(lambda: bench.state.opening is None)
    session = bench.state.session
    assert session is not None
    count = sum(len(thread.requests) for thread in session.threads)
    qtbot.waitUntil(lambda: len(calls.rows) == count > 0)
    times = [one.what.time for one in calls.rows]
    assert times == sorted(times, reverse=True)
    assert calls.isColumnHidden(WATERFALL)  # this transcript tells no durations
    assert not panel.filter.save.isVisible()

    def row(request: int, thread: str = "main") -> int:
        places = [(one.place.request, one.place.thread) for one in calls.rows]
        found = places.index((request, thread))
        calls.scrollTo(calls.model().index(found, 6))
        return found

    def middle(at: int) -> QPoint:
        return calls.visualRect(calls.model().index(at, 6)).center()

    click(calls.viewport(), middle(row(120)))
    assert bench.state.at == 120
    assert window.docks.current.name == "Live"
    press(calls, Qt.Key.Key_Down)
    assert bench.state.at == 119
    bench.move(7)
    qtbot.waitUntil(lambda: calls.viewport().rect().contains(middle(calls.currentIndex().row())))
    qtbot.waitUntil(lambda: calls.currentIndex().row() == row(7))
    press(calls, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert "\trequest 7\t" in QGuiApplication.clipboard().text()
    click(panel.filter.which.buttons[SUB])
    assert {one.place.thread for one in calls.rows} == {
        one.id for one in session.threads if one.parent
    }
    header = calls.horizontalHeader()
    output = next(n for n, one in enumerate(COLUMNS) if one.title == "output")
    click(
        header.viewport(),
        QPoint(header.sectionViewportPosition(output) + 9, header.viewport().height() // 2),
    )
    sizes = [one.what.usage.output for one in calls.rows if one.what.usage is not None]
    assert sizes == sorted(sizes)
    assert len(sizes) > 2
    other = calls.rows[2].place
    double_click(calls.viewport(), middle(2))
    qtbot.waitUntil(
        lambda: (bench.state.thread_id, bench.state.at) == (other.thread, other.request)
    )
    assert window.docks.current.name == "Read"


def test_the_welcome_page_offers_it(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    click(window.welcome.receive)
    qtbot.waitUntil(lambda: window.workbench.state.receiver_is_open)
    qtbot.waitUntil(lambda: window.docks.ready and window.docks.panel("Proxy").seen)
    window.proxies.close()


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


def test_calls_of_another_session_never_stand_there_as_this_ones(
    panel: ProxyPanel, window: MainWindow, qtbot: QtBot
) -> None:
    """The first session's rows are still being worked out when the second is opened."""
    bench = window.workbench
    qtbot.waitUntil(lambda: bench.state.opening is None and not window.bridge.busy)
    shown: list[int] = []
    panel.table.model().modelReset.connect(lambda: shown.append(len(panel.table.rows)))
    bench.open(made_session(12, "one.jsonl"))
    bench.open(made_session(5, "two.jsonl"))
    qtbot.waitUntil(lambda: len(panel.table.rows) == 8 and not window.bridge.busy)
    assert {count for count in shown if count} == {8}  # with the three of its sub-agent
    bench.open(made_session(9, "three.jsonl"))
    qtbot.waitUntil(lambda: len(panel.table.rows) == 12 and not window.bridge.busy)
    assert {count for count in shown if count} == {8, 12}
