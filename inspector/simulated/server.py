"""The simulated provider as a server: on loopback only, in a thread of its own, stopped when asked."""

import asyncio
import logging
import socket
import threading
from types import TracebackType

from aiohttp import ClientError, web
from aiohttp.http_exceptions import HttpProcessingError

from inspector.core.errors import InspectorError
from inspector.simulated.app import application
from inspector.simulated.state import SimulatedServerState

HOST = "127.0.0.1"
START_S, STOP_S = 10.0, 5.0
LONGEST_LINE = 1 << 16
"""Bytes of one header: clients put whole JSON documents there."""
_LOG = logging.getLogger("context-inspector.simulated")
_LOG.addFilter(
    lambda record: (
        not (record.exc_info and isinstance(record.exc_info[1], ConnectionError | ClientError | HttpProcessingError))
    )
)
"""What a client does (leaves in the middle, speaks no HTTP) is no fault of ours, and no traceback."""


class SimulatedServer:
    """`with SimulatedServer() as server: server.url`. Port 0 = any free one."""

    def __init__(self, world: SimulatedServerState | None = None, port: int = 0) -> None:
        self.world = world or SimulatedServerState()
        self._socket = _bound(port)
        self.url = f"http://{HOST}:{self._socket.getsockname()[1]}"
        self._started = threading.Event()
        self._over = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._serve, name="simulated-provider", daemon=True)

    def start(self) -> "SimulatedServer":
        """Returns as soon as it accepts connections. Raises InspectorError where it does not come up."""
        self._thread.start()
        if not self._started.wait(START_S):
            self.stop()
            raise InspectorError("The simulated provider did not start.")
        return self

    def _serve(self) -> None:
        asyncio.run(self._until_over())

    async def _until_over(self) -> None:
        runner = web.AppRunner(
            application(self.world),
            access_log=None,
            logger=_LOG,
            auto_decompress=False,  # what came over the wire is looked at as it came
            handler_cancellation=True,  # nobody waits for a client that has gone
            shutdown_timeout=0.05,
            max_field_size=LONGEST_LINE,
            max_line_size=LONGEST_LINE,
        )
        await runner.setup()
        await web.SockSite(runner, self._socket).start()
        self._loop = asyncio.get_running_loop()
        self._started.set()
        await self._over.wait()
        await runner.cleanup()

    def stop(self) -> None:
        """End it, answers under way included. May be called twice."""
        if self._loop is not None and self._thread.is_alive() and self._thread is not threading.current_thread():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(STOP_S)
        self._socket.close()

    def __enter__(self) -> "SimulatedServer":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _bound(port: int) -> socket.socket:
    # with its protocol named, or asyncio would not switch Nagle's algorithm off: 40 ms on every answer
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
    except (OSError, OverflowError):
        found.close()
        raise InspectorError(f"Port {port} cannot be used; choose another with --port (0 = any free one).") from None
    return found
