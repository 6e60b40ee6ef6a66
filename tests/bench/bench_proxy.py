"""The proxy's overhead, recording on: against direct, mitmproxy and claude-tap, all in one run, interleaved.

ROUNDS in the environment: how often everything is measured (7). Times are medians over all rounds.
"""

import asyncio
import os
import re
import socket
import statistics
from time import monotonic_ns, perf_counter

from inspector.core.jsontext import dumps
from tests.bench.proxy_contenders import Contender, contenders, upstream
from tests.bench.run import Row

ROUNDS = int(os.environ.get("ROUNDS", "7"))
SIZES = {"11 KB": 11_000, "636 KB": 636_000, "2.1 MB": 2_100_000}
ASKED_EACH = 8
"""Requests of a size in a round, behind one that is not counted."""
EVENTS, GAP_MS = 120, 3
STREAMS, PER_STREAM = 100, 100
MANY, WARM = 10_000, 2_000
_SENT = re.compile(rb'"n":(\d+),"t":(\d+)')


def main() -> list[Row]:
    """All rows."""
    with upstream() as direct, contenders(direct) as found:
        first: dict[tuple[str, str], list[float]] = {}
        each: dict[str, list[float]] = {}
        for n in range(ROUNDS):
            turned = found[n % len(found) :] + found[: n % len(found)]
            for one in turned:
                for size in SIZES:
                    first.setdefault((one.name, size), []).extend(_first_bytes(one, size, n))
            for one in turned:
                each.setdefault(one.name, []).extend(_chunks(one))
        ours = found[1]
        return [
            *_told_first(found, first),
            *_told_chunks(found, each),
            *_concurrent(ours),
            *_memory(ours),
        ]


def _told_first(found: list[Contender], first: dict[tuple[str, str], list[float]]) -> list[Row]:
    rows: list[Row] = []
    for size in SIZES:
        median = {one.name: statistics.median(first[one.name, size]) for one in found}
        direct = median["direct"]
        rows.append((f"first byte, {size}: direct", direct, "ms"))
        rows += [
            (f"first byte, {size}: added by {one.name}", median[one.name] - direct, "ms")
            for one in found[1:]
        ]
        rivals = [median[one.name] - direct for one in found if one.name.startswith("mitmproxy")]
        if rivals:
            share = (median["ours"] - direct) / min(rivals)
            rows.append(
                (f"first byte, {size}: ours / mitmproxy's better", share, "asked: at most 0.5")
            )
    return rows


def _told_chunks(found: list[Contender], each: dict[str, list[float]]) -> list[Row]:
    median = {one.name: statistics.median(each[one.name]) for one in found}
    direct = median["direct"]
    rows: list[Row] = [("a streamed chunk: direct", direct, "ms")]
    rows += [
        (f"a streamed chunk: added by {one.name}", median[one.name] - direct, "ms")
        for one in found[1:]
    ]
    rivals = [median[one.name] - direct for one in found if one.name.startswith("mitmproxy")]
    if rivals:
        rows.append(
            (
                "a streamed chunk: ours / mitmproxy's better",
                (median["ours"] - direct) / min(rivals),
                "asked: < 1",
            )
        )
    return rows


def body_of(size: int, mark: str) -> bytes:
    """A request as an agent sends it: many messages, the last one new."""
    count = max(1, size // 3_000)
    messages = [
        {
            "role": ("user", "assistant")[n % 2],
            "content": [{"type": "text", "text": f"{n} " + "some words " * 260}],
        }
        for n in range(count)
    ]
    body = {"model": "m", "max_tokens": 100, "stream": True, "messages": messages}
    filling = max(0, size - len(dumps(body)) - 80)
    messages.append({"role": "user", "content": [{"type": "text", "text": mark + "x" * filling}]})
    return dumps(body).encode()


def _request(body: bytes, events: int, gap: float) -> bytes:
    return (
        b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-api-key: none\r\n"
        b"anthropic-version: 2023-06-01\r\nx-events: %d\r\nx-gap-ms: %g\r\nContent-Length: %d\r\n\r\n"
        % (events, gap, len(body))
    ) + body


def _connection(one: Contender) -> socket.socket:
    found = socket.create_connection(("127.0.0.1", one.port))
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    found.settimeout(60)
    return found


def _first_bytes(one: Contender, size: str, number: int) -> list[float]:
    """Milliseconds from the first byte sent to the first event received."""
    taken = []
    with _connection(one) as connection:
        for n in range(ASKED_EACH + 1):
            request = _request(body_of(SIZES[size], f"{one.name} {number} {n} "), 2, 0)
            began = perf_counter()
            connection.sendall(request)
            data = b""
            while b"data:" not in data:
                data += _some(connection)
            taken.append(1000 * (perf_counter() - began))
            while not data.endswith(b"0\r\n\r\n"):
                data += _some(connection)
    return taken[1:]


def _chunks(one: Contender) -> list[float]:
    """Milliseconds from the sending of each event to its arrival."""
    taken = []
    with _connection(one) as connection:
        connection.sendall(_request(body_of(11_000, one.name), EVENTS, GAP_MS))
        data = b""
        while not data.endswith(b"0\r\n\r\n"):
            more = _some(connection)
            now = monotonic_ns()
            taken += [(now - int(sent)) / 1e6 for _, sent in _SENT.findall(more)]
            data += more
    assert [int(n) for n, _ in _SENT.findall(data)] == list(range(EVENTS)), (
        f"{one.name} lost or shuffled events"
    )
    return taken[10:]


def _some(connection: socket.socket) -> bytes:
    data = connection.recv(1 << 18)
    assert data, "it closed"
    return data


def _concurrent(ours: Contender) -> list[Row]:
    """Streams at once: does every event arrive, in its order?"""

    async def ask(n: int) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", ours.port)
        writer.write(_request(body_of(11_000, f"stream {n}"), PER_STREAM, 5))
        data = b""
        while not data.endswith(b"0\r\n\r\n") and (more := await reader.read(1 << 16)):
            data += more
        writer.close()
        return [int(found) for found, _ in _SENT.findall(data)] == list(range(PER_STREAM))

    async def all_of_them() -> list[bool]:
        return await asyncio.gather(*map(ask, range(STREAMS)))

    began = perf_counter()
    whole = asyncio.run(all_of_them())
    return [
        (
            f"{STREAMS} streams at once: lost or shuffled",
            float(whole.count(False)),
            "streams, asked: at most 0",
        ),
        (f"{STREAMS} streams at once, {PER_STREAM} events 5 ms apart", perf_counter() - began, "s"),
    ]


def _memory(ours: Contender) -> list[Row]:
    """Does it grow with the requests?"""
    began, early = perf_counter(), 0.0
    with _connection(ours) as connection:
        for n in range(MANY):
            if n == WARM:
                early = ours.resident_mb()
            connection.sendall(_request(body_of(11_000, f"request {n} "), 2, 0))
            data = b""
            while not data.endswith(b"0\r\n\r\n"):
                data += _some(connection)
    taken = perf_counter() - began
    return [
        (f"memory after {WARM:,} requests", early, "MB"),
        (
            f"memory after {MANY:,} requests / after {WARM:,}",
            ours.resident_mb() / early,
            "asked: at most 1.1",
        ),
        ("requests through ours, one after the other", MANY / taken, "/s"),
    ]
