"""The proxy as a server: on loopback only, in a thread and a loop of its own. Window, command line and tests use it."""

import asyncio
import socket
import threading
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

from inspector.core.errors import InspectorError
from inspector.proxy.gate import Gate, OpenGate
from inspector.proxy.record.recorder import LineListener, Recorder, to_stderr
from inspector.proxy.relay.addresses import Upstream, loopback_address
from inspector.proxy.relay.connection import ClientConnection, ConnectionContext
from inspector.proxy.relay.link import TcpLink

BACKLOG = 1024
START_S, STOP_S = 10.0, 5.0
_LAST_S = 0.01
"""For connections that were closed just now to come to their end: the loop closes them in its next turns."""


class ProxyServer:
    """`port = server.start()`, later `server.close()`; or `with ProxyServer(...) as server`.

    `record` is a new file, or a recording that is continued. Raises InspectorError for an address, a port or a file
    that cannot be used; nothing is sent anywhere before a client asks. `heard`, `rule`: see `Recorder`.
    """

    def __init__(
        self,
        upstream: str,
        record: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        gate: Gate | None = None,
        tell: Callable[[str], None] = to_stderr,
        heard: LineListener | None = None,
        rule: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._upstream = Upstream(upstream)
        address = loopback_address(host)
        self._socket = _bound(address, port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://{f'[{address}]' if ':' in address else address}:{self.port}"
        self.gate = gate or OpenGate()
        try:
            self.recorder = Recorder(record, self._upstream.url, tell, heard, rule)
        except BaseException:
            self._socket.close()
            raise
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connections = count(1)
        self._context = ConnectionContext(self._upstream, self.recorder, self.gate, count(self.recorder.first_exchange))
        self._clients: dict[asyncio.Task[None], ClientConnection] = {}
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Where the gate is called; others reach it by `call_soon_threadsafe`. There is one once it was started."""
        assert self._loop is not None
        return self._loop

    def start(self) -> int:
        """Returns the port as soon as connections are accepted."""
        self._loop = asyncio.new_event_loop()
        self._thread.start()
        if not self._ready.wait(START_S):
            raise InspectorError("The proxy did not start.")
        return self.port

    def close(self) -> None:
        """End it, what is under way included; the recording is written to its end. May be called twice."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(STOP_S)
        self._socket.close()
        self.recorder.close()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await self.loop.create_server(lambda: TcpLink(self._welcome), sock=self._socket, backlog=BACKLOG)
        self._ready.set()
        await self._stop.wait()
        server.close()
        for client in self._clients.values():
            client.stop()
        if self._clients:
            for task in self._clients:
                task.cancel()
            await asyncio.wait(self._clients, timeout=STOP_S / 2)
        await asyncio.sleep(_LAST_S)

    def _welcome(self, link: TcpLink) -> None:
        client = ClientConnection(self._context, link, next(self._connections))
        task = self.loop.create_task(client.serve())
        self._clients[task] = client
        task.add_done_callback(self._clients.pop)

    def __enter__(self) -> "ProxyServer":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _bound(address: str, port: int) -> socket.socket:
    # with its protocol named, or asyncio would not switch Nagle's algorithm off: 40 ms on every answer
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((address, port))
    except (OSError, OverflowError):
        found.close()
        raise InspectorError(f"Port {port} cannot be used; choose another with --port (0 = any free one).") from None
    return found
