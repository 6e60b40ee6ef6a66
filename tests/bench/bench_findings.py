"""What a session tells by itself: the commands against `info` on the largest real session, repeats against a floor.

Processor time, of a process of its own for each command; ratios, as machines differ.
"""

import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from inspector.core.buffer import Buffer
from inspector.core.findings.breakdown import ToolCalls
from inspector.core.findings.repeats import repeats
from inspector.core.message import Message, ToolResult
from inspector.core.session import Thread
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.sizing import sizer
from tests.bench.made import make_instructed_session, make_session
from tests.bench.run import Row, keeping_bytecode
from tests.shared import transcripts

SIZES = (100, 300)
"""Megabytes; about 84 compactions in the smaller one."""
COMMANDS = ("breakdown", "cost", "pins")
ALL = ("info", "lost", "pins", "cost", "breakdown")
INSTRUCTED = (10, 30)
"""Megabytes of a session with some 700 instructions, and three times as many."""
TEXT = 20_000_000
READ, LINES, COPIES = 100, 500, 8
"""Files, lines of each, and how often each is read; the rest of the text stands once."""


def main() -> list[Row]:
    """Rows of (what, figure, unit)."""
    rows: list[Row] = []
    for path in transcripts("derived-merged/*/*.jsonl"):
        info = _command("info", path)
        rows += [
            (f"{path.stem[:8]}: {name} / info", _command(name, path) / info, "x (asked: at most 3)")
            for name in COMMANDS
        ]
        size = f"{path.stat().st_size / 1e6:.0f} MB of a real session"
        rows += [
            (f"{size}: info", info, "s of processor time (asked: at most 1.5)"),
            (f"{size}: info / reading", info / _command("buffer", path), "x"),
        ]
    return rows + _generated() + _instructed() + _begins_subject()


def _generated() -> list[Row]:
    """Every command on generated sessions with many compactions, and how its time grows with them."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = (make_session(Path(folder) / f"{size}.jsonl", size, 66) for size in SIZES)
        reading = _command("buffer", small)
        seconds = {name: _command(name, small) for name in ALL}
        rows = [
            ("generated, 100 MB: info", seconds["info"], "s of processor time (asked: at most 3)")
        ]
        for name in ALL:
            asked = "x (asked: at most 2)" if name in ("lost", "pins") else "x"
            rows.append((f"generated, 100 MB: {name} / reading", seconds[name] / reading, asked))
        for name in ALL:
            grown = _command(name, large, times=1) / seconds[name] * SIZES[0] / SIZES[1]
            what = f"generated: {name} a megabyte, {SIZES[1]} MB / {SIZES[0]} MB"
            rows.append((what, grown, "x (asked: at most 1.3)"))
    return rows


def _instructed() -> list[Row]:
    """`pins` and `lost` where the user asks for something else all the time."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        small, large = (
            make_instructed_session(Path(folder) / f"{size}.jsonl", size) for size in INSTRUCTED
        )
        reading = _command("buffer", large)
        for name in ("pins", "lost"):
            taken = _command(name, large)
            grown = taken / _command(name, small) * INSTRUCTED[0] / INSTRUCTED[1]
            rows += [
                (
                    f"many instructions, 30 MB: {name} / reading",
                    taken / reading,
                    "x (asked: at most 2)" if name == "pins" else "x",
                ),
                (
                    f"many instructions: {name} a megabyte, {INSTRUCTED[1]} MB / {INSTRUCTED[0]} MB",
                    grown,
                    "x (asked: at most 1.3)",
                ),
            ]
    return rows


def _command(name: str, path: Path, times: int = 3) -> float:
    """Processor seconds of the quickest of a few runs."""
    found = []
    for _ in range(times):
        before = os.times()
        subprocess.run(
            [sys.executable, "-m", "inspector", name, str(path), "--json"],
            check=True,
            stdout=subprocess.DEVNULL,
            env=keeping_bytecode(),
        )
        after = os.times()
        found.append(
            after.children_user
            - before.children_user
            + after.children_system
            - before.children_system
        )
    return min(found)


def _begins_subject() -> list[Row]:
    messages = _messages()
    size = sizer(known_pressures(Thread("main")), None)
    calls = ToolCalls("", {}, {}, {})
    texts = [result.content for message in messages if (result := message.result)]
    buffer = Buffer(tuple(messages))
    found = _best(lambda: repeats(size, buffer, calls))
    floor = _best(lambda: [hashlib.sha256(text.encode()).digest() for text in texts])
    what = f"repeats in {sum(map(len, texts)) / 1e6:.0f} MB of text"
    return [
        (what, found, "s of processor time (asked: < 1)"),
        (f"{what} / its SHA-256", found / floor, "x"),
    ]


def _messages() -> list[Message]:
    """Files read again and again with line numbers, and lines that stand once."""
    some = random.Random(20)
    files = [
        [f"    {some.random()} = value({n}, {line})" for line in range(LINES)] for n in range(READ)
    ]
    shown = [
        "\n".join(f"{n:6}→{line}" for n, line in enumerate(lines[some.randrange(LINES // 2) :]))
        for lines in files * COPIES
    ]
    total = sum(map(len, shown))
    while total < TEXT:
        shown.append(
            "\n".join(f"{some.random()} stands once, as most lines do" for _ in range(1_000))
        )
        total += len(shown[-1])
    some.shuffle(shown)
    return [Message(f"r{n}", "tool", (ToolResult(f"c{n}", text),)) for n, text in enumerate(shown)]


def _best(work: Callable[[], object]) -> float:
    """Processor seconds of the quickest of three."""
    found = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)
