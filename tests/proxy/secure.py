"""A provider that speaks TLS: HTTP/2 by hand, or HTTP/1.1. With a certificate of its own, made by openssl."""

import asyncio
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import StreamClosedError

Send = Callable[[bytes], None]


def certificate(folder: Path) -> tuple[Path, Path]:
    """(certificate, key) for 127.0.0.1 and localhost. Skips the test where there is no openssl."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl on this machine")
    key, made = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(made), "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    return made, key


@dataclass
class Asked:
    """A request as it came, stream by stream."""

    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)


class Http2Server(asyncio.Protocol):
    """Answers by its path: `/slow` an event at a time, `/cut` breaks off, `/hang` stays silent, `/echo` the body."""

    def __init__(self, seen: list[Asked], ended: list[bool]) -> None:
        self._seen, self._ended = seen, ended
        self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        self._asked: dict[int, Asked] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._h2.initiate_connection()
        transport.write(self._h2.data_to_send())

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        for event in self._h2.receive_data(data):
            if isinstance(event, RequestReceived):
                asked = Asked([(str(name), str(value)) for name, value in event.headers])
                self._asked[event.stream_id] = asked
                self._seen.append(asked)
            elif isinstance(event, DataReceived):
                self._asked[event.stream_id].body += event.data
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                asyncio.get_running_loop().create_task(self._answer(event.stream_id))
            elif isinstance(event, StreamReset):
                self._ended.append(True)
        self._transport.write(self._h2.data_to_send())

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop."""
        self._ended.append(True)

    async def _answer(self, stream: int) -> None:
        asked = self._asked[stream]
        path = dict(asked.headers)[":path"].partition("?")[0]
        kind = "text/event-stream" if path in ("/slow", "/cut", "/hang") else "application/json"
        headers = [(":status", "200"), ("content-type", kind), ("x-twice", "1"), ("x-twice", "2")]
        if path == "/echo":
            headers.append(("content-length", str(len(asked.body))))
        if path == "/none":
            self._h2.send_headers(stream, [(":status", "204")], end_stream=True)
            self._transport.write(self._h2.data_to_send())
            return
        self._h2.send_headers(stream, headers)
        try:
            for n in range(0 if path == "/echo" else 5):
                self._h2.send_data(stream, b"data: %d\n\n" % n)
                self._transport.write(self._h2.data_to_send())
                await asyncio.sleep(0.01)
            if path == "/cut":
                self._h2.reset_stream(stream)
            elif path == "/hang":
                return
            else:
                body = bytes(asked.body) if path == "/echo" else b""
                for at in range(0, len(body), 16_000):
                    while self._h2.local_flow_control_window(stream) < 16_000:
                        await asyncio.sleep(0.002)
                    self._h2.send_data(stream, body[at : at + 16_000])
                    self._transport.write(self._h2.data_to_send())
                self._h2.end_stream(stream)
        except StreamClosedError:
            return
        self._transport.write(self._h2.data_to_send())


class Http1Server(asyncio.Protocol):
    """Answers every request with the protocol that it was asked in."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        if b"upgrade: websocket" in data.lower():
            self._transport.write(b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n")
        elif data.endswith(b"\r\n\r\n"):
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhttp/1.1")


@contextmanager
def secure(folder: Path, make: Callable[[], asyncio.Protocol], protocols: list[str]) -> Iterator[str]:
    """The URL of a server that offers these protocols."""
    made, key = certificate(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made, key)
    context.set_alpn_protocols(protocols)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(make, "127.0.0.1", 0, ssl=context))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"https://localhost:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(_end, loop)
        thread.join(10)
        loop.close()


def _end(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.call_later(0.05, loop.stop)
