"""Both ends by hand: a provider that does what a test says, and a client that sends what a test says, byte for byte."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inspector.core.jsontext import loads
from inspector.proxy.gate import Gate
from inspector.proxy.relay.server import ProxyServer

END = b"\r\n\r\n"


class Wire:
    """One connection, read and written by hand. Reading ends with a clear failure after some seconds."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        connection.settimeout(15)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._unread = b""

    def send(self, data: bytes) -> None:
        """All of it."""
        self.socket.sendall(data)

    def receive(self) -> bytes:
        """What is there; empty at the end."""
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        try:
            return self.socket.recv(1 << 16)
        except ConnectionResetError:
            return b""

    def until(self, mark: bytes) -> bytes:
        """Up to and with `mark`; what there is at the end of the connection."""
        data = b""
        while mark not in data:
            more = self.receive()
            if not more:
                return data
            data += more
        at = data.index(mark) + len(mark)
        self._unread = data[at:] + self._unread
        return data[:at]

    def exactly(self, count: int) -> bytes:
        """So many bytes; fewer at the end."""
        data = b""
        while len(data) < count and (more := self.receive()):
            data += more
        self._unread = data[count:] + self._unread
        return data[:count]

    def rest(self) -> bytes:
        """Until the other end closes."""
        data = b""
        while more := self.receive():
            data += more
        return data

    def message(self) -> tuple[bytes, bytes]:
        """Head and body of a message, chunk marks and all."""
        head = self.until(END)
        return head, self.body(head)

    def body(self, head: bytes) -> bytes:
        """The body behind a head, as it is sent."""
        lower = head.lower()
        if b"transfer-encoding: chunked" in lower:
            data = b""
            while True:
                line = self.until(b"\n")
                size = int(line.split(b";")[0], 16)
                data += line + self.exactly(size + 2 if size else 0)
                if not size:
                    while (line := self.until(b"\n")) not in (b"\r\n", b""):  # trailers
                        data += line
                    return data + line
        if b"content-length:" in lower:
            return self.exactly(int(lower.split(b"content-length:")[1].split(b"\r\n")[0]))
        return b""

    def is_closed(self, seconds: float = 10) -> bool:
        """Does the other end close within that time?"""
        until = time.monotonic() + seconds
        self.socket.settimeout(0.05)
        try:
            while time.monotonic() < until:
                try:
                    if not self.socket.recv(1 << 16):
                        return True
                except TimeoutError:
                    continue
                except OSError:
                    return True
            return False
        finally:
            with contextlib.suppress(OSError):
                self.socket.settimeout(15)

    def close(self) -> None:
        """At once."""
        self.socket.close()


Behave = Callable[[Wire], object]


class Provider:
    """A server on loopback; `behave` has each connection to itself. What it raises is raised at the end of the test."""

    def __init__(self, behave: Behave) -> None:
        self._behave = behave
        self.connections = 0
        self.raised: list[BaseException] = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                self._behave(Wire(connection))
        except OSError:
            pass  # the other end went
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.raised.append(error)

    def close(self) -> None:
        """No more connections."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # closing alone would leave `accept` waiting
        self.listener.close()


@contextmanager
def provider(behave: Behave) -> Iterator[Provider]:
    """A provider that does as told."""
    made = Provider(behave)
    try:
        yield made
    finally:
        made.close()
    if made.raised:
        raise made.raised[0]


@contextmanager
def proxied(
    behave: Behave, folder: Path, gate: Gate | None = None
) -> Iterator[tuple[ProxyServer, Provider]]:
    """A proxy in front of a provider that does as told."""
    with (
        provider(behave) as upstream,
        ProxyServer(upstream.url, folder / "record.jsonl", gate=gate) as proxy,
    ):
        yield proxy, upstream


@contextmanager
def client(proxy: ProxyServer) -> Iterator[Wire]:
    """A connection to the proxy."""
    with socket.create_connection(("127.0.0.1", proxy.port)) as connection:
        yield Wire(connection)


def lines(proxy: ProxyServer) -> list[dict[str, Any]]:
    """What is recorded so far."""
    assert proxy.recorder.settle(10)
    return read_lines(proxy.recorder.path)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file, without a last line of which only a part is written yet."""
    return [
        loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")
    ]


def kinds(proxy: ProxyServer, kind: str, count: int = 1) -> list[dict[str, Any]]:
    """The records of one type, as soon as there are so many: the last byte is passed on before it is recorded."""

    def found() -> list[dict[str, Any]]:
        return [line for line in lines(proxy) if line["type"] == kind]

    eventually(lambda: len(found()) >= count)
    return found()


def eventually(check: Callable[[], Any], seconds: float = 10) -> Any:
    """What `check` says, as soon as it is true."""
    until = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.01)
    return found


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A response with a Content-Length."""
    return (
        f"HTTP/1.1 {status}\r\n{''.join(f'{one}{chr(13)}{chr(10)}' for one in headers)}".encode()
        + (b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    )


def post(path: str, body: bytes, *headers: str, host: str = "127.0.0.1") -> bytes:
    """A request with a Content-Length."""
    told = "".join(f"{one}\r\n" for one in headers)
    return (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\n{told}Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


def echo(seen: list[tuple[bytes, bytes]], *answers: bytes) -> Behave:
    """Notes each request; gives the answers in turn, the last one again and again."""
    left = list(answers)

    def behave(wire: Wire) -> None:
        while True:
            head, body = wire.message()
            if not head:
                return
            seen.append((head, body))
            wire.send(left.pop(0) if len(left) > 1 else left[0])

    return behave


BODY = b'{"model":"m","messages":[{"role":"user","content":"hi \xc3\xbc"}]}'


OK = answer(b'{"ok":true}', "Content-Type: application/json")
