"""Servers that only this machine can reach: their addresses, the checks of requests, and the thread that runs them.

A web page in a browser on this machine can reach 127.0.0.1, too. Such a request is recognised by its Host header (a
name whose DNS entry is 127.0.0.1), by its Origin (another site), or, if there is no Origin (an image, a link), by its
Sec-Fetch-Site header.
"""

import asyncio
import ipaddress
import re
import socket
import threading
from collections.abc import Iterable
from typing import ClassVar, Self
from urllib.parse import urlsplit

from inspector.core.errors import InspectorError

START_S, STOP_S = 10.0, 5.0
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]/@\s]+)(?::\d{1,5})?")


def is_here(host: str) -> bool:
    """Does a Host header (`127.0.0.1:8080`, `localhost`, `[::1]:80`) name this machine?"""
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = match[1].removeprefix("[").removesuffix("]")
    return name.lower() == "localhost" or is_loopback(name)


def is_foreign(origin: str) -> bool:
    """Is an Origin header that of a web page of another site?

    `null` (a page without a site) counts as foreign; schemes other than http and https, which programs use, do not.
    """
    if not origin:
        return False
    if origin == "null":
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return True
    return parts.scheme in ("http", "https") and not is_here(parts.netloc)


def is_cross_site(sites: Iterable[str]) -> bool:
    """Do the Sec-Fetch-Site headers show that a web page of another site caused the request?"""
    return any("cross-site" in site.lower() for site in sites)


def is_loopback(name: str) -> bool:
    """Is a text a loopback address (not a name)?"""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class LoopbackServer:
    """A server that runs in a separate thread and event loop: `with Server(...) as server: server.url`, or `start` and
    `close`.

    Port 0: any free port. Raises InspectorError for an address that other machines could reach, and for a port that
    cannot be used.
    """

    NAME: ClassVar[str]
    """The server's name in a sentence: `proxy`."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        address = (
            "127.0.0.1" if host.lower() == "localhost" else host.removeprefix("[").removesuffix("]")
        )
        if not is_loopback(address):
            raise InspectorError(
                f"The {self.NAME} listens on this machine only: --host 127.0.0.1 or ::1, not {host}."
            )
        self.socket = _bind_socket(address, port)
        self.port: int = self.socket.getsockname()[1]
        self.url = f"http://{f'[{address}]' if ':' in address else address}:{self.port}"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live()), name=self.NAME, daemon=True
        )

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop of the server's thread. Only valid after `start`.

        Code on other threads must use its `call_soon_threadsafe`.
        """
        assert self._loop is not None
        return self._loop

    def start(self) -> Self:
        """Start the server, and return when it accepts connections. Raises InspectorError if it does not start."""
        self._thread.start()
        if not self._started.wait(START_S):
            self.close()
            raise InspectorError(f"The {self.NAME} did not start.")
        return self

    def close(self) -> None:
        """Stop the server, including requests in progress. May be called twice."""
        if (
            self._loop is not None
            and self._thread.is_alive()
            and self._thread is not threading.current_thread()
        ):
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(STOP_S)
        self.socket.close()

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._open()
        self._started.set()
        await self._over.wait()
        await self._end()

    async def _open(self) -> None:
        """Begin to accept connections on `socket`."""
        raise NotImplementedError

    async def _end(self) -> None:
        """Stop accepting connections, and close the open ones."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()


def _bind_socket(address: str, port: int) -> socket.socket:
    # the protocol is given explicitly: if not, asyncio leaves Nagle's algorithm on, which delays every answer by 40 ms
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((address, port))
    except (OSError, OverflowError):
        bound.close()
        raise InspectorError(
            f"Port {port} cannot be used; choose another with --port (0 = any free one)."
        ) from None
    return bound
