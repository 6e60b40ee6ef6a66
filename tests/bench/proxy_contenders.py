"""Who is measured: direct, ours, others. Foreign programs come from the package index into a cache of their own."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_CACHE = (
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "context-inspector" / "bench"
)
_ROOT = Path(__file__).resolve().parent.parent.parent
_STREAMING = """
def responseheaders(flow):
    flow.response.stream = True
"""
START_S = 60.0


@dataclass(frozen=True)
class Contender:
    """A running way to the provider."""

    name: str
    port: int
    pid: int | None = None

    def resident_mb(self) -> float:
        """Memory of its process (and of the processes it started)."""
        pids = [self.pid] + [int(one) for one in _children(self.pid)]
        return sum(_resident(pid) for pid in pids if pid) / 1024


def _children(pid: int | None) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _resident(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0


def installed(package: str) -> Path | None:
    """The folder of its programs; None where it cannot be installed here. The first time takes a while."""
    place = _CACHE / package
    programs = place / "bin"
    if (place / "ready").exists():
        return programs
    shutil.rmtree(place, ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", str(place)],
        [
            str(programs / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            package,
        ],
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"  {package} cannot be installed here: {error}", flush=True)
            return None
        if done.returncode:
            print(
                f"  {package} cannot be installed here: {done.stderr.strip().splitlines()[-1:]}",
                flush=True,
            )
            return None
    (place / "ready").touch()
    return programs


@contextmanager
def upstream() -> Iterator[Contender]:
    """The provider itself: the direct way."""
    with _listening("direct", [sys.executable, "-m", "tests.bench.proxy_upstream"]) as one:
        yield one


@contextmanager
def contenders(direct: Contender) -> Iterator[list[Contender]]:
    """All that can be had here, ours first."""
    url = f"http://127.0.0.1:{direct.port}"
    with tempfile.TemporaryDirectory(prefix="bench-proxy-", ignore_cleanup_errors=True) as folder:
        record = str(Path(folder) / "record.jsonl")
        ours = [sys.executable, "-m", "inspector", "proxy", "--upstream", url, "--record", record]
        with _listening("ours", ours) as first:
            yield from _others(url, Path(folder), [direct, first])


def _others(url: str, folder: Path, found: list[Contender]) -> Iterator[list[Contender]]:
    from contextlib import ExitStack

    with ExitStack() as stack:
        if programs := installed("mitmproxy"):
            addon = folder / "streaming.py"
            addon.write_text(_STREAMING)
            for name, more in (
                ("mitmproxy, responses streamed", ["-s", str(addon)]),
                ("mitmproxy, all streamed", ["--set", "stream_large_bodies=1"]),
            ):
                port = _free_port()
                command = [
                    str(programs / "mitmdump"),
                    "-q",
                    "--mode",
                    f"reverse:{url}",
                    "-p",
                    str(port),
                ]
                command += ["--listen-host", "127.0.0.1", "--set", f"confdir={folder}", *more]
                found.append(stack.enter_context(_started(name, port, command)))
        if programs := installed("claude-tap"):
            port = _free_port()
            command = [
                str(programs / "claude-tap"),
                "--tap-no-launch",
                "--tap-port",
                str(port),
                "--tap-no-open",
            ]
            command += ["--tap-host", "127.0.0.1", "--tap-target", url, "--tap-no-live"]
            found.append(stack.enter_context(_started("claude-tap", port, command, home=folder)))
        for name in ("aiohttp", "httpx2"):
            command = [sys.executable, "-m", "tests.bench.proxy_others", name, url]
            found.append(stack.enter_context(_listening(f"plain {name}, no recording", command)))
        yield found


@contextmanager
def _listening(name: str, command: list[str]) -> Iterator[Contender]:
    """A program that says where it listens."""
    with subprocess.Popen(
        command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            port = int(line.rsplit(":", 1)[1].strip(" /\n"))
            threading.Thread(target=process.stdout.read, daemon=True).start()
            yield Contender(name, port, process.pid)
        finally:
            process.kill()


@contextmanager
def _started(
    name: str, port: int, command: list[str], home: Path | None = None
) -> Iterator[Contender]:
    """A program that is told where to listen."""
    environment = {**os.environ, **({"HOME": str(home)} if home else {})}
    quiet = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    cwd = home or _ROOT
    with subprocess.Popen(command, cwd=cwd, env=environment, **quiet) as process:  # type: ignore[call-overload]
        try:
            until = time.monotonic() + START_S
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > until:
                        raise RuntimeError(f"{name} did not start") from None
                    time.sleep(0.05)
            yield Contender(name, port, process.pid)
        finally:
            process.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])
