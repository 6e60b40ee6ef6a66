"""Kill the proxy at random moments while clients ask without a pause; compare the recording with what they received."""

import fcntl
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from inspector.core.jsontext import NotJson, loads
from tests.bench.proxy_contenders import upstream

CLIENTS = 4
WRITTEN_S = 60.0
"""Time for the writer to end after the proxy was killed."""
_ROOT = Path(__file__).resolve().parent.parent.parent
_CHUNK = re.compile(rb"[0-9a-f]+\r\n(.*?\n\n)\r\n", re.DOTALL)
_END = b"0\r\n\r\n"


@dataclass
class KillReport:
    """Counts over all kills, and a sentence for everything that went wrong."""

    kills: int = 0
    answers: int = 0
    """Answers that a client received to their last byte."""
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReceivedAnswer:
    """An answer that a client received in full."""

    mark: str
    """A word of the request that no other request has."""
    digest: str
    """SHA-256 of the body, without the marks of its chunks."""


class BusyClient(threading.Thread):
    """Asks one request after the other on one connection until that breaks."""

    def __init__(self, port: int, name: str, filling: int) -> None:
        super().__init__(name=name, daemon=True)
        self._port, self._filling = port, filling
        self.received: list[ReceivedAnswer] = []

    def run(self) -> None:
        """Called by the thread."""
        try:
            with socket.create_connection(("127.0.0.1", self._port)) as connection:
                connection.settimeout(30)
                while self._ask(connection, f"{self.name}-{len(self.received)}-"):
                    pass
        except OSError:
            return

    def _ask(self, connection: socket.socket, mark: str) -> bool:
        body = b'{"model":"m","messages":[{"role":"user","content":"%s%s"}]}' % (
            mark.encode(),
            b"x" * self._filling,
        )
        head = b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-events: 5\r\n"
        connection.sendall(head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        data = b""
        while not data.endswith(_END):
            more = connection.recv(1 << 16)
            if not more:
                return False
            data += more
        content = b"".join(_CHUNK.findall(data.partition(b"\r\n\r\n")[2]))
        self.received.append(ReceivedAnswer(mark, sha256(content).hexdigest()))
        return True


def run_kills(folder: Path, count: int, seed: int) -> KillReport:
    """Kill `count` proxies that record one after the other into the same file.

    Args:
        folder: An empty folder for the recording.
        count: How many proxies are killed.
        seed: Decides when they are killed and how large the requests are.
    """
    chance, report, path = random.Random(seed), KillReport(), folder / "record.jsonl"
    received: list[ReceivedAnswer] = []
    with upstream() as provider:
        for number in range(count):
            received += _kill_once(path, provider.port, number, chance, report)
    report.answers = len(received)
    _compare(path, received, report)
    return report


def _kill_once(
    path: Path, provider: int, number: int, chance: random.Random, report: KillReport
) -> Iterator[ReceivedAnswer]:
    with _proxy(path, provider) as (process, port):
        filling = chance.choice((10, 3_000, 100_000, 800_000))
        clients = [BusyClient(port, f"k{number}c{n}", filling) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(chance.uniform(0.02, 0.5))
        process.kill()
        process.wait()
    for client in clients:
        client.join(30)
        yield from client.received
    report.kills += 1
    _wait_for_writer(path, number, report)
    _check_end(path, number, report)


@contextmanager
def _proxy(path: Path, provider: int) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    command = [
        sys.executable,
        "-m",
        "inspector",
        "proxy",
        "--upstream",
        f"http://127.0.0.1:{provider}",
    ]
    command += ["--record", str(path)]
    with subprocess.Popen(
        command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline().rsplit(":", 1)[1])
        finally:
            process.kill()


def _wait_for_writer(path: Path, number: int, report: KillReport) -> None:
    """The writer holds a lock on the file until it has written everything."""
    until = time.monotonic() + WRITTEN_S
    with path.open("rb") as file:
        while time.monotonic() < until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.01)
            else:
                return
    report.failures.append(f"kill {number}: the writer did not end within {WRITTEN_S:g} s")


def _check_end(path: Path, number: int, report: KillReport) -> None:
    if not path.read_bytes().endswith(b"\n"):
        report.failures.append(f"kill {number}: the last line is torn")


def _compare(path: Path, received: list[ReceivedAnswer], report: KillReport) -> None:
    """Every answer that a client received in full is in the recording, and every line is JSON."""
    marks: dict[int, str] = {}
    recorded: dict[str, str] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            record = loads(line)
        except NotJson:
            report.failures.append(f"line {number} is torn: {line[:60]!r}")
            continue
        if record["type"] == "request":
            found = re.search(r"k\d+c\d+-\d+-", str(record.get("body")))
            marks[record["exchange"]] = found[0] if found else ""
        elif record["type"] == "response" and record["ended"] == "complete":
            recorded[marks.get(record["exchange"], "")] = record["sha256"]
    lost = [answer.mark for answer in received if answer.mark not in recorded]
    if lost:
        report.failures.append(
            f"{len(lost):,} of {len(received):,} answers are not recorded: {', '.join(lost[:5])}"
        )
    changed = [
        answer.mark
        for answer in received
        if recorded.get(answer.mark, answer.digest) != answer.digest
    ]
    if changed:
        report.failures.append(
            f"{len(changed):,} answers are recorded with other bytes: {', '.join(changed[:5])}"
        )
