"""Calls of the simulated provider through the real SDKs: how long they take, and how soon a cancel ends one."""

import statistics
import threading
from collections.abc import Iterator
from time import perf_counter, sleep

from inspector.core.buffer import Buffer, Prompt
from inspector.core.errors import Cancelled
from inspector.core.message import Message, Text
from inspector.core.needs import AskModel, Summarize
from inspector.providers.answerers import Answering, answerer
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import SimulatedServerState
from tests.bench.run import Row

NEED = Summarize("Summarise.", "a short text", timeout_s=60)
WORDS = "some words of a message that go on for a while " * 20
LONG = Buffer(
    tuple(
        Message(str(n), "user" if n % 2 == 0 else "assistant", (Text(f"{n} {WORDS}"),))
        for n in range(1_001)
    ),
    Prompt("", ()),
)


def main() -> list[Row]:
    """All rows."""
    world = SimulatedServerState(window=2_000_000, remember=5)
    with SimulatedServer(world) as server:
        return [
            row
            for wire in ("anthropic", "responses", "chat")
            for row in _rows(world, server.url, wire)
        ]


def _rows(world: SimulatedServerState, url: str, wire: str) -> Iterator[Row]:
    with answerer(f"{wire}+{url}", "m") as answer:
        yield f"{wire}: the first call, with the import of its SDK", _timed(answer, NEED), "s"
        yield (
            f"{wire}: a call",
            1000 * statistics.median(_timed(answer, NEED) for _ in range(20)),
            "ms",
        )
        _timed(answer, AskModel(LONG))
        yield (
            f"{wire}: a call with 1,001 messages, 225,000 tokens",
            _timed(answer, AskModel(LONG)),
            "s",
        )
        for fault in ("stall", "hang", "drip"):
            ended = max(_cancelled(world, answer, fault) for _ in range(5))
            yield (
                f"{wire}: cancel of a call whose server does `{fault}`",
                ended,
                "s, asked: at most 0.5",
            )


def _timed(answer: Answering, need: Summarize | AskModel) -> float:
    started = perf_counter()
    answer(need)
    return perf_counter() - started


def _cancelled(world: SimulatedServerState, answer: Answering, fault: str) -> float:
    ended: list[float] = []

    def ask() -> None:
        try:
            answer(NEED)
        except Cancelled:
            ended.append(perf_counter())

    world.seen.clear()
    world.faults.push(fault)
    thread = threading.Thread(target=ask)
    thread.start()
    while not world.seen:
        sleep(0.005)
    sleep(0.05)  # until its first events are there
    started = perf_counter()
    answer.cancel()
    thread.join()
    return ended[0] - started
