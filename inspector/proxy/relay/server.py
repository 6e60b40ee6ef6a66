"""The proxy as a server: on loopback only, in a thread and a loop of its own. Window, command line and tests use it."""

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from inspector.proxy.gate import Gate, OpenGate
from inspector.proxy.record.recorder import LineListener, Recorder, to_stderr
from inspector.proxy.relay.addresses import Upstream
from inspector.proxy.relay.connection import ClientConnection, ConnectionContext
from inspector.proxy.relay.link import TcpLink
from inspector.safety.loopback import STOP_S, LoopbackServer

BACKLOG = 1024
_LAST_S = 0.01
"""For connections that were closed just now to come to their end: the loop closes them in its next turns."""


class ProxyServer(LoopbackServer):
    """`record` is a new file, or a recording that is continued. Raises InspectorError for an address, a port or a file
    that cannot be used; nothing is sent anywhere before a client asks. `heard`, `rule`: see `Recorder`.
    """

    NAME: ClassVar[str] = "proxy"

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
        super().__init__(host, port)
        self.gate = gate or OpenGate()
        try:
            self.recorder = Recorder(record, self._upstream.url, tell, heard, rule)
        except BaseException:
            self.socket.close()
            raise
        self._connections = count(1)
        self._context = ConnectionContext(self._upstream, self.recorder, self.gate, count(self.recorder.first_exchange))
        self._clients: dict[asyncio.Task[None], ClientConnection] = {}

    def close(self) -> None:
        """End it; the recording is written to its end. May be called twice."""
        super().close()
        self.recorder.close()

    async def _open(self) -> None:
        self._server = await self.loop.create_server(lambda: TcpLink(self._welcome), sock=self.socket, backlog=BACKLOG)

    async def _end(self) -> None:
        self._server.close()
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
