"""A provider for measuring: as quick as can be, in a process of its own. `python -m tests.bench.proxy_upstream`.

Reads a request, answers with a stream of `x-events` events, `x-gap-ms` apart. Each event says its number and when it
was sent, by the clock that all processes of a machine share.
"""

import asyncio
import re
import time

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_LENGTH = re.compile(rb"(?i)content-length: (\d+)")
_EVENTS = re.compile(rb"(?i)x-events: (\d+)")
_GAP = re.compile(rb"(?i)x-gap-ms: ([\d.]+)")


class Upstream(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._head = b""
        self._left = -1

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        if self._left < 0:
            self._head += data
            if (end := self._head.find(b"\r\n\r\n")) < 0:
                return
            found = _LENGTH.search(self._head, 0, end)
            self._left = int(found[1]) if found else 0
            data = self._head[end + 4 :]
        self._left -= len(data)
        if self._left <= 0:
            head, self._head, self._left = self._head, b"", -1
            events, gap = _EVENTS.search(head), _GAP.search(head)
            self._transport.write(HEAD)
            self._send(0, int(events[1]) if events else 1, float(gap[1]) / 1000 if gap else 0.0)

    def _send(self, n: int, count: int, gap: float) -> None:
        loop = asyncio.get_running_loop()
        while n < count:
            self._transport.write(event(n))
            n += 1
            if gap:
                loop.call_later(gap, self._send, n, count, gap)
                return
        self._transport.write(b"0\r\n\r\n")


def event(n: int) -> bytes:
    """A chunk with one event of a usual size."""
    data = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",'
    data += b'"text":"some words"},"n":%d,"t":%d}\n\n' % (n, time.monotonic_ns())
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _main() -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0, backlog=1024)
    print(f"listening on http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
