"""Time and memory of what others wrote: many images, joined emoji, very many records. The window goes on answering."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import thread_time
from typing import Any

import pytest
from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QPlainTextEdit
from pytestqt.qtbot import QtBot

from inspector.core.message import Image
from inspector.core.session import Compaction
from inspector.gui.bridge import Bridge
from inspector.gui.desk import Desk
from inspector.gui.look.visible import MOST_JOINED, visible
from inspector.gui.panels.timeline import mark_rows, tank
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.panels.timeline.panel import MANY, Timeline
from inspector.gui.widgets.images import MOST, MOST_BYTES, ImageStrip, Picture
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.text import PlainText
from inspector.gui.window import MainWindow
from inspector.gui.workspace import WORKSPACES
from inspector.workbench.message_rows import NO_CALLS
from inspector.workbench.state import State
from tests.gui.gaps import many_records, watched
from tests.gui.made import session

ROOT = Path(__file__).resolve().parents[2]


def picture(side: int) -> Image:
    image = QImage(side, side, QImage.Format.Format_Grayscale8)
    image.fill(7)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return Image("image/png", bytes(buffer.data().toBase64().data()).decode())


def _is_decoded(one: Picture) -> bool:
    return one.picture is not None


def kept(strip: ImageStrip) -> list[Picture]:
    return [one for one in strip.findChildren(Picture) if one.picture is not None]


def test_images_are_decoded_in_sight_and_within_a_budget(desk: Desk, qtbot: QtBot) -> None:
    one, bridge = picture(2_000), desk.bridge
    assert isinstance(bridge, Bridge)
    strip = ImageStrip(bridge)
    qtbot.addWidget(strip)
    strip.resize(400, 300)
    count = 40
    strip.show_images([one] * count)
    strip.show()
    qtbot.waitUntil(lambda: len(strip.findChildren(Picture)) == count and len(kept(strip)) == 1)
    size = kept(strip)[0].picture.sizeInBytes()  # type: ignore[union-attr]
    assert count * size > 1.5 * MOST_BYTES, "not all of them fit into the budget"
    most = 0
    for at in range(count):
        wanted = strip.findChildren(Picture)[at]
        strip.ensureWidgetVisible(wanted)
        qtbot.waitUntil(partial(_is_decoded, wanted))
        most = max(most, len(kept(strip)) * size)
    assert MOST_BYTES / 2 < most < MOST_BYTES + 3 * size  # those in sight come on top
    strip.show_images([picture(4)] * (MOST + 30))
    qtbot.waitUntil(lambda: len(strip.findChildren(Picture)) >= MOST and not bridge.busy)
    assert any(
        "30 more images not shown" in child.text()
        for child in strip.findChildren(type(strip._caption("")))
    )


TEXTS = {
    "one endless chain": "👨\u200d" * (5_000_000 // 7),
    "families": "👨\u200d👩\u200d👧\u200d👦" * (5_000_000 // 25),
    "flags": "🇩🇪" * (5_000_000 // 8),
    "skins in lines": ("👩🏽\u200d💻" * 200 + "\n") * 1_600,
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("wrap", [True, False])
def test_joined_emoji_are_painted_within_a_tenth_of_a_second(
    desk: Desk, qtbot: QtBot, name: str, wrap: bool
) -> None:
    text = PlainText(desk.theme)
    qtbot.addWidget(text)
    modes = QPlainTextEdit.LineWrapMode
    text.setLineWrapMode(modes.WidgetWidth if wrap else modes.NoWrap)
    text.resize(600, 600)
    text.show_sections([Section("text", "👨\u200d👩 warm the font up")])
    text.show()
    text.viewport().repaint()
    text.show_sections([Section("text", TEXTS[name])])
    for place in (0, 7, 40):
        text.verticalScrollBar().setValue(place)
        began = thread_time()
        text.viewport().repaint()
        assert thread_time() - began < 0.1


def test_a_chain_of_joined_pictures_that_nobody_uses_shows_its_joiners() -> None:
    family = "👨\u200d👩\u200d👧\u200d👦"
    assert visible(family * 50).text.count("⟨") == 0
    chain = "👨\u200d" * 40 + "👨"
    shown = visible(chain)
    assert shown.text.count("⟨U+200D⟩") == 40 // (MOST_JOINED + 1)
    assert shown.origin(0, len(shown.text)) == chain


@pytest.mark.parametrize("records", [200_000 if os.environ.get("LONG") else 24_000])
def test_many_records_are_opened_without_a_stall(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, records: int
) -> None:
    path = many_records(tmp_path / "many.jsonl", records)
    qtbot.waitUntil(lambda: window.docks.ready and not window.bridge.busy)
    with watched() as gaps:
        window.open_path(str(path))

        def state() -> State:
            return window.workbench.state

        qtbot.waitUntil(
            lambda: state().session is not None and state().opening is None, timeout=300_000
        )
        window.choose_workspace("Compact")
        qtbot.waitUntil(
            lambda: state().previews is not None and not window.bridge.busy, timeout=300_000
        )
        for at in (0, 5, records // 4, None):
            window.workbench.move(at)
            QApplication.processEvents()
        for name in WORKSPACES:
            window.choose_workspace(name)
            qtbot.waitUntil(lambda name=name: window.docks.current.name == name)  # type: ignore[misc]
            qtbot.waitUntil(lambda: not window.bridge.busy, timeout=300_000)
            window.workbench.move(records // 5)
            qtbot.waitUntil(lambda: not window.bridge.busy, timeout=300_000)
    assert len(state().session.main.requests) == records // 2  # type: ignore[union-attr]
    assert max(gaps.work) < 0.25
    assert all(panel.cover is None for panel in window.docks.panels.values())
    timeline = window.docks.panel("Timeline")
    assert len(timeline.plot.curves.series.reported) == records // 2  # type: ignore[attr-defined]
    assert window.docks.panel("Buffer").model._calls is not NO_CALLS  # type: ignore[attr-defined]


LOAD = """
from time import process_time
from inspector.core.tokens.exact import load_tokenizer
start = process_time()
load_tokenizer()
print(process_time() - start)
"""


def run_python(*words: str) -> str:
    """Return what a Python process of its own prints."""
    program = [sys.executable, *words]
    return subprocess.run(
        program, check=True, capture_output=True, timeout=300, cwd=ROOT, text=True
    ).stdout


@pytest.mark.parametrize("when", ["start", "later"])
def test_a_new_window_answers_while_it_reads(tmp_path: Path, when: str) -> None:
    """With all that is loaded and built for the first time then, which a process does once. A busy machine may stretch
    it; what the program itself does is there each time.

    A file named at the start is shown before the tokenizer is loaded, in which no other thread runs: that is one pause,
    by so much longer.
    """
    long = bool(os.environ.get("LONG"))
    path = many_records(tmp_path / "many.jsonl", 200_000 if long else 24_000)
    words = "-m", "tests.gui.stall", str(path), when, "15" if long else "3"
    longest = list[float]()
    while len(longest) < 3 and min(longest, default=1) >= 0.25:
        first, second, *_ = json.loads(run_python(*words))["shared"]
        load = float(run_python("-c", LOAD)) if when == "start" else 0.0
        longest.append(max(first - load, second))
    assert min(longest) < 0.25, longest


class CountingPainter(QPainter):
    """Notes how many lines and shapes it drew."""

    lines = 0

    def fillPath(self, *of: Any) -> None:
        """A shape, such as a notch."""
        CountingPainter.lines += 1
        super().fillPath(*of)

    def drawPolygon(self, *of: Any) -> None:
        """A shape, such as the mark of a compaction."""
        CountingPainter.lines += 1
        super().drawPolygon(*of)

    def drawLine(self, *of: Any) -> None:
        """A line between two points."""
        CountingPainter.lines += 1
        super().drawLine(*of)


def compacted(timeline: Timeline) -> int:
    """How many marks of compactions there are."""
    return sum(mark.kind == "compaction" for mark in timeline.plot.mark_rows.marks)


def lines_painted_by(widget: mark_rows.MarkRows | tank.Tank) -> int:
    """Paint the widget anew, and return how many lines and shapes that took."""
    CountingPainter.lines = 0
    widget.restyle()  # it keeps what it painted
    widget.grab()
    return CountingPainter.lines


def is_painted(widget: mark_rows.MarkRows | tank.Tank) -> bool:
    """Does the widget show marks, and not only its frame?"""
    return lines_painted_by(widget) > 5


def test_thousands_of_compactions_are_painted_once_a_pixel(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    many, made = MANY + 1_000, session(2)
    requests = [replace(made.main.requests[0], index=n) for n in range(many)]
    compactions = tuple(
        Compaction(n, "auto", tokens_before=20_000 + 20 * n) for n in range(1, many)
    )
    thread = replace(made.main, requests=requests, compactions=compactions)
    gauge, timeline = Gauge(desk), Timeline(desk)
    for panel in (gauge, timeline):
        qtbot.addWidget(panel)
        panel.resize(500, 400)
        panel.show()
        desk.workbench.subscribe(panel.receive)
    desk.workbench.open(replace(made, threads=(thread,), path="many.jsonl"))
    qtbot.waitUntil(lambda: timeline.plot is not None and compacted(timeline) == many - 1)
    for painted, module in ((timeline.plot.mark_rows, mark_rows), (gauge.tank, tank)):
        monkeypatch.setattr(module, "QPainter", CountingPainter)
        qtbot.waitUntil(partial(is_painted, painted))
        assert lines_painted_by(painted) < 1_000
