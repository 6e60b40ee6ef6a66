"""A provider behind TLS, with a self-signed certificate made by openssl."""

import asyncio
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def certificate(folder: Path) -> tuple[Path, Path]:
    """(certificate, key) for 127.0.0.1 and localhost. Skips the test where there is no openssl."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl on this machine")
    key, certificate_file = folder / "key.pem", folder / "cert.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += [
        "-keyout",
        str(key),
        "-out",
        str(certificate_file),
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    return certificate_file, key


class TlsProvider(asyncio.Protocol):
    """Answer `/slow` an event at a time, `/cut` without an end, `/echo` with the body, anything else with the protocol.

    Args:
        chosen: receives the protocol that each connection chose (ALPN); None for none.
    """

    def __init__(self, chosen: "list[str | None]") -> None:
        self._chosen = chosen
        self._unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._chosen.append(transport.get_extra_info("ssl_object").selected_alpn_protocol())

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        self._unread += data
        head, end, body = self._unread.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if not end or len(body) < length:
            return
        self._unread = b""
        path = head.split(b" ")[1]
        if b"upgrade: websocket" in head.lower():
            self._transport.write(b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n")
        elif path in (b"/slow", b"/cut"):
            asyncio.get_running_loop().create_task(self._stream(path == b"/cut"))
        else:
            content = body if path == b"/echo" else str(self._chosen[-1]).encode()
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(content), content)
            )

    async def _stream(self, is_cut: bool) -> None:
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for n in range(5):
            self._transport.write(b"9\r\ndata: %d\n\n\r\n" % n)
            await asyncio.sleep(0.01)
        if is_cut:
            self._transport.close()
        else:
            self._transport.write(b"0\r\n\r\n")


@contextmanager
def secure(
    folder: Path, make: Callable[[], asyncio.Protocol], protocols: list[str]
) -> Iterator[str]:
    """Yield the URL of a server that offers these protocols."""
    certificate_file, key = certificate(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate_file, key)
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
