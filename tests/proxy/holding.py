"""A proxy that holds, in front of the simulated provider; clients in threads; waiting without guessing times."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from inspector.core.buffer import Buffer
from inspector.core.formats.proxy.reader import ProxyReader
from inspector.core.jsontext import loads
from inspector.core.message import Message, Text
from inspector.proxy.holds.hold import HoldInfo, Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.server import ProxyServer

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
    return [loads(line) for line in _PATHS[server].read_bytes().splitlines()]


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
