"""TCP connections to clients and to the provider. Bytes are passed on in the pieces in which they arrive, without
delay.

No proxy of the environment is used and no time limit is set. TLS is verified with the system's certificates, or those
of SSL_CERT_FILE. Only HTTP/1.1 is used with the provider; HTTP/2 is not offered.
"""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from inspector.core.errors import InspectorError
from inspector.safety.keys import address_trouble

T = TypeVar("T")

HIGH = 1 << 20
"""Maximum number of unread bytes that are buffered before the other end is made to wait."""


class TcpLink(asyncio.Protocol):
    """Reads and writes a connection, and notices at once when the other end closes, even while nothing is read.

    The methods of `asyncio.Protocol` are called by the loop.
    """

    def __init__(self, opened: "Callable[[TcpLink], None] | None" = None) -> None:
        self.gone = False
        """True if the other end has closed, or the connection broke."""
        self.failed = ""
        """Why the connection broke; empty if it was closed properly."""
        self.on_gone: Callable[[], object] | None = None
        self._opened = opened
        self._transport: asyncio.Transport | None = None
        self._pieces: list[bytes] = []
        self._size = 0
        self._reader: asyncio.Future[None] | None = None
        self._take: Callable[[bytes], bool] | None = None
        """The function of `pass_each` that takes data as soon as it arrives."""
        self._writer: asyncio.Future[None] | None = None
        self._is_full = self._is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._opened is not None:
            self._opened(self)

    def data_received(self, data: bytes) -> None:
        if self._take is not None:
            if self._take(data):
                self._take = None
                self._wake()
            return
        self._pieces.append(data)
        self._size += len(data)
        if self._size > HIGH and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Called by the loop. Return True to allow writing what is still pending."""
        self._close_seen("")
        return self._transport is not None and self._transport.get_extra_info("sslcontext") is None

    def connection_lost(self, exc: Exception | None) -> None:
        self._close_seen(_error_words(exc) if exc is not None else "")
        self.resume_writing()
        self._transport = None

    def _close_seen(self, why: str) -> None:
        first = not self.gone
        self.gone = True
        self.failed = self.failed or why
        self._wake()
        if first and self.on_gone is not None:
            self.on_gone()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)

    async def read(self) -> bytes:
        """Return all unread bytes, waiting for the first one. Empty if the other end has closed."""
        while not self._pieces:
            if self.gone or self._transport is None:
                return b""
            await self._wait()
        return self._unread_data()

    async def pass_each(self, take: Callable[[bytes], bool], target: "TcpLink") -> None:
        """Call `take` with the bytes that arrive, until it returns True or the other end closes.

        It is called as soon as bytes arrive, without another turn of the loop. While `target` has more to send than the
        network takes, nothing is read here. `take` must not raise.
        """
        is_over = False

        def take_at_once(data: bytes) -> bool:
            nonlocal is_over
            is_over = take(data)
            return is_over or target._is_full

        while not is_over:
            if self._pieces:
                is_over = take(self._unread_data())
            elif self.gone or self._transport is None:
                return
            else:
                self._take = take_at_once
                try:
                    await self._wait()
                finally:
                    self._take = None
            if not is_over:
                await target.drain()

    async def _wait(self) -> None:
        """Wait for bytes, or for the end of the connection."""
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None

    def _unread_data(self) -> bytes:
        """Return all unread bytes, and resume reading if it was paused."""
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        if self._is_paused:
            self._is_paused = False
            if self._transport is not None and not self._transport.is_closing():
                self._transport.resume_reading()
        return data

    def unread(self, data: bytes) -> None:
        """Put back bytes that were read but belong to the next message."""
        if data:
            self._pieces.insert(0, data)
            self._size += len(data)

    def has_unread(self) -> bool:
        return bool(self._pieces)

    def write(self, data: bytes) -> None:
        """Send bytes, at once if the network takes them. Bytes for a connection that was closed are dropped."""
        if self._transport is not None and data and not self._transport.is_closing():
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait while more is buffered for writing than the other end takes."""
        if self._is_full and self._transport is not None:
            self._writer = asyncio.get_running_loop().create_future()
            try:
                await self._writer
            finally:
                self._writer = None

    async def flush(self) -> None:
        """Wait until the network has taken everything that was written."""
        transport = self._transport
        if transport is None:
            return
        transport.set_write_buffer_limits(high=0)  # now the buffer counts as full until it is empty
        await self.drain()

    async def run_while_open(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Run `work`, and cancel it when the other end closes. Return the finished task."""
        task = asyncio.ensure_future(work)
        self.on_gone = task.cancel
        if self.gone:
            task.cancel()
        try:
            await asyncio.wait({task})
        finally:
            self.on_gone = None
            task.cancel()
        return task

    def is_usable(self) -> bool:
        return not self.gone and self._transport is not None and not self._transport.is_closing()

    def end(self) -> None:
        """Close the connection for writing; bytes can still be read."""
        if (
            self._transport is not None
            and self._transport.can_write_eof()
            and not self._transport.is_closing()
        ):
            with suppress(OSError):  # the other end closed first, and the loop does not know it yet
                self._transport.write_eof()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def info(self, name: str) -> object:
        """Return information about the transport (`peername`, `ssl_object`); None if there is none."""
        return self._transport.get_extra_info(name) if self._transport is not None else None


def _error_words(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")


class Unreachable(Exception):
    """The provider cannot be reached. `str(error)` is a sentence for the client."""


class Upstream:
    """The address of one provider: `http://host:port/prefix` or `https://...`. Raises InspectorError for anything
    else.
    """

    def __init__(self, url: str) -> None:
        if address_trouble(url):
            raise InspectorError(
                "The upstream is an address only: keys come from the client, with each request."
            )
        try:
            parts = urlsplit(url if "://" in url else f"https://{url}")
            port = parts.port
        except ValueError as error:
            raise InspectorError(f"{url} is not a URL: {error}.") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InspectorError(
                f"{url} is not a provider's address: an address begins with https:// or http://."
            )
        self.is_secure = parts.scheme == "https"
        self.host = parts.hostname
        self.port = port or (443 if self.is_secure else 80)
        self.prefix = parts.path.rstrip("/")
        self.authority = parts.netloc
        """Host and port as a Host header names them."""
        self.url = f"{parts.scheme}://{parts.netloc}{self.prefix}"
        self._context: ssl.SSLContext | None = None

    def target(self, path: str) -> str:
        """Return the path at the provider: the address's own prefix, then `path`."""
        return self.prefix + path if path.startswith("/") else path

    async def connect(self) -> TcpLink:
        """Open a new connection. Raises Unreachable."""
        loop = asyncio.get_running_loop()
        context = self._tls_context() if self.is_secure else None
        try:
            _, link = await loop.create_connection(
                TcpLink, self.host, self.port, ssl=context, happy_eyeballs_delay=0.25
            )
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"{self.url} cannot be reached: {_reason(error)}.") from None
        return link

    def _tls_context(self) -> ssl.SSLContext:
        """Return the TLS context of all connections. It is created once, because loading all certificates takes
        time.
        """
        if self._context is None:
            import httpx2  # it knows where this system's certificates are

            self._context = httpx2.create_ssl_context()
            self._context.set_alpn_protocols(["http/1.1"])
        return self._context


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}); SSL_CERT_FILE names more authorities"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or error})"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")
