"""Runs for tests: a workspace, a model whose words are written down, and somebody who hears how it stands."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from inspector.agent.plan import Plan, RunLimits
from inspector.agent.runner import Runner
from inspector.agent.status import Breakpoints, RunStatus, TurnReport
from inspector.core.buffer import Buffer
from inspector.core.message import Message, ToolCall
from inspector.core.session import Session
from inspector.simulated.call import SimulatedAnswer, SimulatedCall
from inspector.simulated.server import SimulatedServer
from inspector.transcripts.files import open_transcript

PATIENCE_S = 60.0
"""A test that waits longer than this hangs."""
QUICK = RunLimits(backoff_s=0.01)


class Heard:
    """Everything a run told, in order."""

    def __init__(self) -> None:
        self.all: list[RunStatus] = []
        self._changed = threading.Condition()
        self._looked = 0

    def __call__(self, standing: RunStatus) -> None:
        with self._changed:
            self.all.append(standing)
            self._changed.notify_all()

    def until(self, wanted: Callable[[RunStatus], bool]) -> RunStatus:
        """The first standing of this kind that was not looked at before."""
        with self._changed:
            while True:
                while self._looked < len(self.all):
                    self._looked += 1
                    if wanted(self.all[self._looked - 1]):
                        return self.all[self._looked - 1]
                assert self._changed.wait(PATIENCE_S), f"it stands at {self.all[-1:]}"

    def state(self, name: str) -> RunStatus:
        """The next standing of this state."""
        return self.until(lambda standing: standing.state == name)

    def paused(self) -> RunStatus:
        """The next pause."""
        return self.state("paused")

    @property
    def reports(self) -> list[TurnReport]:
        """Each turn that is over, once."""
        told = {one.report.number: one.report for one in self.all if one.report is not None}
        return [told[number] for number in sorted(told)]

    @property
    def states(self) -> set[str]:
        return {one.state for one in self.all}


@contextmanager
def running(plan: Plan, breakpoints: Breakpoints | None = None) -> Iterator[tuple[Runner, Heard]]:
    """A run that is not started yet, closed after the test."""
    heard = Heard()
    runner = Runner(plan, heard, breakpoints)
    try:
        yield runner, heard
    finally:
        runner.close()


def finished(plan: Plan, breakpoints: Breakpoints | None = None) -> tuple[Heard, Session]:
    """Run it to its end without anybody touching it; what was heard, and the journal as it opens."""
    with running(plan, breakpoints) as (runner, heard):
        runner.start()
        heard.state("ended")
    return heard, opened(plan.record)


def opened(journal: Path) -> Session:
    """The journal, found out and read as any other transcript."""
    session = open_transcript(journal)
    assert session.format == "journal"
    return session


Move = str | SimulatedAnswer | Sequence[ToolCall] | Callable[[SimulatedCall], SimulatedAnswer]


def script(
    monkeypatch: pytest.MonkeyPatch, *moves: Move, then: str = "Done."
) -> list[SimulatedCall]:
    """What the simulated model says, call by call: words (the end), tool calls, or worked out from the call.

    What is asked without tools (summaries) it answers as ever. Returns the calls as they come.
    """
    from inspector.simulated import apis
    from inspector.simulated.talk import speak

    left, heard = list(moves), list[SimulatedCall]()

    def said(call: SimulatedCall) -> SimulatedAnswer:
        if not call.buffer.prompt.tools:
            return speak(call)
        heard.append(call)
        move = left.pop(0) if left else then
        if callable(move):
            return move(call)
        if isinstance(move, SimulatedAnswer):
            return move
        return (
            SimulatedAnswer(move)
            if isinstance(move, str)
            else SimulatedAnswer("Let me see.", tuple(move), "calls")
        )

    monkeypatch.setattr(apis, "speak", said)
    return heard


def call(name: str, id: str = "", **arguments: Any) -> ToolCall:  # noqa: A002
    """A tool call."""
    call.count += 1  # type: ignore[attr-defined]
    return ToolCall(id or f"call_{call.count:04}", name, arguments)  # type: ignore[attr-defined]


call.count = 0  # type: ignore[attr-defined]


def url(server: SimulatedServer, wire: str = "anthropic") -> str:
    """The provider that is this server."""
    return f"{wire}+{server.url}"


def texts(buffer: Buffer | Sequence[Message]) -> list[str]:
    """What stands in it: words, or the content of results."""
    messages = buffer.messages if isinstance(buffer, Buffer) else buffer
    return [message.result.content if message.result else message.text for message in messages]
