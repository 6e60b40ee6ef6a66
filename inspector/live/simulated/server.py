"""The simulated provider as a server: on loopback only, in a thread of its own, stopped when asked."""

import asyncio
import socket
import threading
import time
from types import TracebackType

import uvicorn

from inspector.core.errors import InspectorError
from inspector.live.simulated.app import application
from inspector.live.simulated.world import World

HOST = "127.0.0.1"
START_S, STOP_S = 10.0, 5.0


class SimulatedServer:
    """`with SimulatedServer() as server: server.url`. Port 0 = any free one."""

    def __init__(self, world: World | None = None, port: int = 0) -> None:
        self.world = world or World()
        self._socket = _bound(port)
        self.url = f"http://{HOST}:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            application(self.world),
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="critical",
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="simulated-provider", daemon=True)

    def start(self) -> "SimulatedServer":
        """Returns as soon as it accepts connections. Raises InspectorError where it does not come up."""
        self._thread.start()
        until = time.monotonic() + START_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > until:
                self.stop()
                raise InspectorError("The simulated provider did not start.")
            time.sleep(0.002)
        return self

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def stop(self) -> None:
        """End it, answers under way included. May be called twice."""
        self._server.should_exit = True
        self._server.force_exit = True
        if self._thread.is_alive() and self._thread is not threading.current_thread():
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
