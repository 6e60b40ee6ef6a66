"""Replays: a tier on a huge buffer, Roku over a long session, eight policies over a large one, a sweep on all cores.

Everything in one process and one thread but the sweep, so that two cores can only be quicker.
"""

import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from inspector.core.answering import offline
from inspector.core.buffer import Buffer
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.needs import drive
from inspector.core.policies.catalogue import POLICIES
from inspector.core.policies.context import PolicyContext
from inspector.core.replay.driver import Ground, replay_requests
from inspector.core.replay.report import replay_report
from inspector.core.session import Thread
from inspector.sweep import Sweep, sweep
from inspector.transcripts.files import open_transcript
from tests.bench.made import make_session
from tests.bench.run import Row
from tests.shared import transcripts

ROKU = POLICIES["roku"]
EIGHT = [name for name in POLICIES if name != "none"]
REMOVING = ("pi", "learn-claude-code", "codex", "opencode", "gemini")
"""These take messages away when the window fills up, so that the buffer stays as long as it is."""
CLEARING = ("roku", "pulse", "anthropic-editing")
"""These clear contents first, or never look at reported sizes: messages pile up."""
WINDOW = 200_000
MESSAGES, TOKENS = 5_000, 1_000_000
SESSIONS, POINTS = 10, 64


def main() -> list[Row]:
    """Rows of (what, figure, unit)."""
    rows = _tiers()
    with tempfile.TemporaryDirectory() as folder:
        rows += _roku(Path(folder)) + _policies(Path(folder)) + _sweep(Path(folder))
    return rows


def best_of(work: Callable[[], object], times: int = 5) -> float:
    """Seconds of the quickest of a few runs."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def _huge() -> Buffer:
    """5,000 messages of together a million tokens by Roku's estimate: calls, and results that fill the rest."""
    body = "x" * (TOKENS * 4 * 2 // MESSAGES - 80)
    messages = [Message("m0", "user", (Text("go"),))]
    for n in range(MESSAGES // 2):
        messages.append(
            Message(f"a{n}", "assistant", (ToolCall(f"c{n}", "Read", {"path": f"src/f{n}.py"}),))
        )
        messages.append(Message(f"t{n}", "tool", (ToolResult(f"c{n}", body),)))
    return Buffer(tuple(messages[:MESSAGES]))


def _tiers() -> list[Row]:
    buffer, settings = _huge(), ROKU.settings((), 1_000_000)
    running = ROKU.fresh(settings)
    context = PolicyContext(buffer, settings, running)
    tokens, _ = ROKU.measure(context)
    what = f"on {len(buffer.messages):,} messages of {tokens / 1e6:.2f} M tokens"
    return [
        (
            f"roku {tier} {what}",
            1000 * best_of(lambda tier=tier: drive(ROKU.tier(tier, context), offline)),  # type: ignore[misc]
            "ms (asked: < 20)",
        )
        for tier in ("L0", "L1")
    ]


def _first(thread: Thread, requests: int) -> Thread:
    """The thread up to so many requests."""
    assert len(thread.requests) > requests
    return Thread(
        "main",
        "",
        thread.model,
        thread.requests[:requests],
        thread.messages,
        thread.requests[requests].view,
    )


def _roku(folder: Path) -> list[Row]:
    def whole(thread: Thread) -> float:
        return best_of(
            lambda: list(
                replay_requests(Ground(thread, 200_000), ROKU, ROKU.settings((), 200_000), offline)
            ),
            3,
        )

    made = open_transcript(make_session(folder / "40.jsonl", 40)).main
    took = {count: whole(_first(made, count)) for count in (600, 1_800)}
    return [
        ("roku over 600 requests", took[600], "s (asked: < 2)"),
        (
            "roku, 1,800 / 600 requests: time a request",
            took[1_800] / took[600] / 3,
            "x (asked: about 1)",
        ),
    ]


def _all(thread: Thread, window: int | None, names: Sequence[str] = EIGHT) -> float:
    """Processor seconds of these policies with everything that a report holds, facts and prices included."""
    start = time.process_time()
    ground = Ground(thread, window)
    for name in names:
        policy = POLICIES[name]
        replay_report(ground, policy, policy.settings((), window), offline)
    return time.process_time() - start


def _policies(folder: Path) -> list[Row]:
    rows: list[Row] = []
    for path in transcripts("derived-merged/*/*.jsonl"):
        thread = open_transcript(path).main
        what = (
            f"{path.stem[:8]}, {path.stat().st_size / 1e6:.0f} MB: {len(EIGHT)} policies, one core"
        )
        rows.append((what, _all(thread, WINDOW), "s (asked: < 10)"))
    threads = [
        open_transcript(make_session(folder / f"{size}-all.jsonl", size)).main for size in (10, 40)
    ]
    for names in (REMOVING, CLEARING):
        took = [_all(thread, WINDOW, names) / len(thread.messages) for thread in threads]
        what = f"{', '.join(names)}, {len(threads[1].messages):,} / {len(threads[0].messages):,} messages"
        unit = "x (asked: about 1)" if names is REMOVING else "x (their buffers grow)"
        rows.append((f"{what}: time a message", took[1] / took[0], unit))
    return rows


def _sweep(folder: Path) -> list[Row]:
    files = tuple(str(make_session(folder / f"sweep-{n}.jsonl", 4)) for n in range(SESSIONS))
    grid = (
        ("mid_ratio", tuple(f"{0.3 + n * 0.05:.2f}" for n in range(8))),
        ("microcompact_retain_recent", tuple(map(str, range(1, POINTS // 8 + 1)))),
    )
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    before, start = _busy(), time.perf_counter()
    cells = sweep(Sweep(files, "roku", grid), workers=cores)
    took, busy = time.perf_counter() - start, _busy() - before
    assert not any(cell.error for cell in cells)
    worked = sum(cell.took_s for cell in cells)
    return [
        (f"sweep of {POINTS} settings x {SESSIONS} sessions on {cores} cores", took, "s"),
        (
            "the same: its processes at work",
            100 * worked / took / cores,
            "% of the time (asked: at least 80)",
        ),
        (
            "the same: processor time that they got (less, if others need the cores)",
            100 * busy / took / cores,
            "%",
        ),
    ]


def _busy() -> float:
    """Processor seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    for what, figure, unit in main():
        print(f"{what:75} {figure:10.2f} {unit}")
