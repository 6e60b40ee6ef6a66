"""A proxy that holds, in front of the simulated provider; clients in threads; waiting without guessing times."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from inspector.core.buffer import Buffer
from inspector.core.formats.proxy.reader import ProxyReader
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text
from inspector.core.tokens.prediction import Prediction
from inspector.proxy.gate import Forward, PendingRequest
from inspector.proxy.holds.hold import HoldInfo, Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.record.records import CapturedBody, RequestHead, ResponseRecord
from inspector.proxy.relay.server import ProxyServer
from tests.proxy.agents import Agent
from tests.proxy.raw import read_lines

_PATHS: WeakKeyDictionary[ProxyServer, Path] = WeakKeyDictionary()
SUMMARY = Message("summary", "user", (Text("In short: we said much."),), summary=True)


@contextmanager
def held_by(holds: Holds, upstream: str, tmp_path: Path) -> Iterator[ProxyServer]:
    """A proxy with this gate."""
    with ProxyServer(upstream, tmp_path / "recording.jsonl", gate=holds) as server:
        holds.note = server.recorder.note
        _PATHS[server] = tmp_path / "recording.jsonl"
        yield server


def until(told: Callable[[], Any], seconds: float = 15.0) -> Any:
    """What `told` says as soon as it says something."""
    end = time.monotonic() + seconds
    while not (found := told()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)
    return found


def the_hold(holds: Holds) -> HoldInfo:
    """The one request that waits."""
    found = until(holds.list)
    assert len(found) == 1
    hold: HoldInfo = found[0]
    return hold


class Later:
    """A call on a thread of its own; `result()` waits for it, and raises what it raised."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._value: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._call()
        except Exception as error:  # noqa: BLE001 - handed to the test
            self._error = error

    @property
    def is_under_way(self) -> bool:
        """Has it not ended yet?"""
        return self._thread.is_alive()

    def result(self) -> Any:
        """What came of it."""
        self._thread.join(30)
        assert not self._thread.is_alive(), "the call has not ended"
        if self._error is not None:
            raise self._error
        return self._value


def records(server: ProxyServer) -> list[dict[str, Any]]:
    """The recording so far."""
    assert server.recorder.settle()
    return read_lines(_PATHS[server])


def kinds(server: ProxyServer, exchange: int) -> list[str]:
    """Types of the records of one exchange, with what was done."""
    return [
        " ".join(str(one[key]) for key in ("type", "why", "how") if key in one)
        for one in records(server)
        if one.get("exchange") == exchange
    ]


def settled(server: ProxyServer, exchange: int) -> list[str]:
    """The same, as soon as its response is written down."""
    found: list[str] = until(lambda: "response" in (told := kinds(server, exchange)) and told)
    return found


def recorded(server: ProxyServer) -> Buffer:
    """The buffer at the end of the recorded session's last request, as the window sees it."""
    reader = ProxyReader()
    for n, line in enumerate(records(server)):
        reader.feed(n + 1, line)
    return reader.session().main.requests[-1].buffer()


WATERMARK = Rule("watermark", 0.5, 1_000)


class GateLog:
    """What the gate has recorded of one request."""

    def __init__(self) -> None:
        self.ways: list[str] = []
        self.tokens: int | None = None

    def held(self, why: str, tokens: int | None) -> None:
        """It waits."""
        self.ways.append(f"held {why}")
        self.tokens = tokens

    def released(self, how: str, size: Prediction | None = None) -> None:
        """It waits no longer."""
        self.ways.append(f"released {how}")

    def sent(self, body: bytes) -> None:
        """Something else goes on."""
        self.ways.append("sent")


class AtGate:
    """Agents at a gate, without a proxy around it: what it lets go is asked of the provider, whose answer it hears."""

    def __init__(self, gate: Holds, provider: str) -> None:
        self._gate, self._provider = gate, provider
        self.logs: list[GateLog] = []
        self._over = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._until_over()), daemon=True)
        self._thread.start()
        self._ready.wait()

    async def _until_over(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        await self._over.wait()

    def ask(self, agent: Agent) -> Any:
        """One request; its answer."""
        return asyncio.run_coroutine_threadsafe(self._ask(agent), self._loop).result(30)

    async def _ask(self, agent: Agent) -> Any:
        log: Any = GateLog()
        headers = (("content-type", "application/json"), *agent.headers.items())
        head = RequestHead(len(self.logs), 1, "http", "POST", agent.path, "", headers)
        self.logs.append(log)
        pending = PendingRequest(head, dumps(agent.body).encode(), log)
        assert self._gate.wants(head)
        decision = await self._gate.admit(pending)
        assert isinstance(decision, Forward)
        if decision.body is not None:
            log.sent(decision.body)
        answer = await asyncio.to_thread(agent.ask, self._provider, decision.body or pending.raw)
        body = CapturedBody.of([answer.content], len(answer.content), "")
        type_ = (("content-type", "application/json"),)
        self._gate.answered(
            head, ResponseRecord(0.0, head.exchange, 200, type_, 1.0, 1.0, body, "complete")
        )
        return answer.json()

    def close(self) -> None:
        """No more of it."""
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()


@contextmanager
def at_gate(gate: Holds, provider: str) -> Iterator[AtGate]:
    """Whoever asks there asks the gate itself."""
    made = AtGate(gate, provider)
    try:
        yield made
    finally:
        made.close()
