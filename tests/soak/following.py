"""A file that grows without a pause, and the real window that follows it: how far behind it is, and what that costs."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from inspector.core.jsontext import dumps
from tests.bench.made import session_lines

_ROOT = Path(__file__).resolve().parent.parent.parent
_MB = 1_000_000
_BEFORE_IDLE_S, _IDLE_S = 5.0, 10.0
_SINGLES, _SINGLE_S = 6, 4.0
_PATIENCE_S = 120.0
_CALM_S, _CALM_SHARE = 3.0, 0.03
"""Seconds, and share of a core, in which a window that has nothing to do uses no more."""


@dataclass(frozen=True)
class WindowReport:
    """What the window said of itself."""

    at: float
    """Seconds of the system's monotonic clock."""
    shown: int
    """Requests that it shows."""
    cpu: float
    """Seconds of processor time that its process has used."""


@dataclass
class FollowingReport:
    """What one campaign measured."""

    lags: list[float] = field(default_factory=list)
    """Seconds by which the window was behind, every two seconds while the file grew."""
    behind: list[int] = field(default_factory=list)
    """The same in requests."""
    requests: int = 0
    """Requests in the file at its end."""
    settled: float = 0.0
    """Seconds from the last byte until all requests were shown."""
    busy_share: float = 0.0
    """Share of one core that the window used while the file grew."""
    idle_share: float = 0.0
    """The same from five seconds after the last byte on."""
    calm: float = 0.0
    """Seconds from then until it did nothing any more."""
    rest_share: float = 0.0
    """Share of one core that the window used in the last of these seconds."""
    single: float = 0.0
    """Seconds of processor time that one request cost which was appended to the resting file, the median. What the
    window uses in the same time without it is left out."""
    single_late: float = 0.0
    """Seconds until it was shown, the median."""


class GrowingFile:
    """A generated session of which more and more is on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = _encoded_lines()
        self._written: list[float] = []
        """When the first line of each request was on disk."""
        self.size = 0
        path.touch()

    @property
    def requests(self) -> int:
        """Requests on disk."""
        return len(self._written)

    def written_at(self, request: int) -> float:
        """Return when a request was on disk, in seconds of the monotonic clock."""
        return self._written[request]

    def requests_at(self, moment: float) -> int:
        """Return how many requests were on disk at a moment."""
        return bisect_right(self._written, moment)

    def grow_to(self, size: int) -> None:
        """Append lines at once until the file has `size` bytes."""
        with self._path.open("ab") as file:
            while self.size < size:
                self._append_line(file)

    def grow_at(self, pace: int, size: int) -> None:
        """Append lines at `pace` bytes per second until the file has `size` bytes."""
        began, first = time.monotonic(), self.size
        with self._path.open("ab", buffering=0) as file:
            while self.size < size:
                self._append_line(file)
                time.sleep(max(0.0, began + (self.size - first) / pace - time.monotonic()))

    def append_request(self) -> None:
        """Append the lines of one request."""
        before = self.requests
        with self._path.open("ab", buffering=0) as file:
            while self.requests == before:
                self._append_line(file)
            for _ in range(3):
                self._append_line(file)

    def _append_line(self, file: Any) -> None:
        line, begins = next(self._lines)
        self.size += file.write(line)
        if begins:
            file.flush()
            self._written.append(time.monotonic())


def _encoded_lines() -> Iterator[tuple[bytes, bool]]:
    last = ""
    for line in session_lines():
        request = str(line.get("requestId", ""))
        yield dumps(line).encode() + b"\n", bool(request) and request != last
        last = request or last


class FollowedWindow:
    """The window in a process of its own, on a screen of its own if there is an Xvfb."""

    def __init__(self, path: Path, command: list[str] | None = None) -> None:
        self._screen, display = _start_screen()
        environment = {
            **os.environ,
            "DISPLAY": display,
            "QT_QPA_PLATFORM": "xcb" if display else "offscreen",
        }
        command = command or [sys.executable, "-m", "tests.soak.followed_window"]
        self._process = subprocess.Popen(
            [*command, str(path)], cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True
        )
        self.reports: list[WindowReport] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            self.reports.append(WindowReport(told["at"], told["shown"], told["cpu"]))

    @property
    def shown(self) -> int:
        """Requests that the window shows."""
        return self.reports[-1].shown if self.reports else 0

    @property
    def cpu(self) -> float:
        """Seconds of processor time so far, as the system counts them."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_for(self, requests: int) -> float:
        """Wait until so many requests are shown; return the seconds that it took. Raises TimeoutError."""
        began = time.monotonic()
        while self.shown < requests:
            if self._process.poll() is not None or time.monotonic() - began > _PATIENCE_S:
                raise TimeoutError(
                    f"{self.shown:,} of {requests:,} requests are shown, status {self._process.poll()}"
                )
            time.sleep(0.02)
        return time.monotonic() - began

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        if self._screen is not None:
            self._screen.terminate()
            self._screen.wait()


def _start_screen() -> tuple["subprocess.Popen[str] | None", str]:
    """Start an Xvfb. Return it with its display; None and the display there is (empty if none) without one."""
    if shutil.which("Xvfb") is None:
        return None, os.environ.get("DISPLAY", "")
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "1920x1200x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    return server, f":{server.stdout.readline().strip()}"


def run_following(
    folder: Path,
    megabytes: int = 106,
    grow: int = 44,
    pace: int = 300_000,
    command: list[str] | None = None,
) -> FollowingReport:
    """Let a file of so many megabytes grow by `grow` megabytes at `pace` bytes per second, followed by a window."""
    report = FollowingReport()
    growing = GrowingFile(folder / "growing.jsonl")
    growing.grow_to(megabytes * _MB)
    window = FollowedWindow(folder / "growing.jsonl", command)
    try:
        window.wait_for(growing.requests)
        began, cpu = time.monotonic(), window.cpu
        growing.grow_at(pace, (megabytes + grow) * _MB)
        ended = time.monotonic()
        report.busy_share = (window.cpu - cpu) / (ended - began)
        report.requests = growing.requests
        report.settled = window.wait_for(growing.requests)
        _note_lags(report, growing, window.reports, began, ended)
        report.idle_share = _idle_share(window)
        _wait_until_calm(report, window)
        _append_singles(report, growing, window)
    finally:
        window.end()
    return report


def _note_lags(
    report: FollowingReport,
    growing: GrowingFile,
    reports: list[WindowReport],
    began: float,
    ended: float,
) -> None:
    due = began
    for told in reports:
        if not due <= told.at <= ended:
            continue
        due = told.at + 2
        behind = growing.requests_at(told.at) - told.shown
        report.behind.append(behind)
        report.lags.append(told.at - growing.written_at(told.shown) if behind > 0 else 0.0)


def _idle_share(window: FollowedWindow) -> float:
    time.sleep(_BEFORE_IDLE_S)
    began, cpu = time.monotonic(), window.cpu
    time.sleep(_IDLE_S)
    return (window.cpu - cpu) / (time.monotonic() - began)


def _wait_until_calm(report: FollowingReport, window: FollowedWindow) -> None:
    """Wait until the window does nothing any more."""
    began = time.monotonic()
    while time.monotonic() - began < _PATIENCE_S:
        report.rest_share = _share_of(window, _CALM_S)
        if report.rest_share < _CALM_SHARE:
            break
    report.calm = time.monotonic() - began


def _share_of(window: FollowedWindow, seconds: float) -> float:
    """Return the share of one core that the window uses in the next seconds."""
    first = window.reports[-1]
    time.sleep(seconds)
    last = window.reports[-1]
    return (last.cpu - first.cpu) / max(seconds / 2, last.at - first.at)


def _append_singles(report: FollowingReport, growing: GrowingFile, window: FollowedWindow) -> None:
    costs, late = [], []
    for _ in range(_SINGLES):
        began, first = time.monotonic(), window.reports[-1]
        growing.append_request()
        late.append(window.wait_for(growing.requests))
        time.sleep(max(0.0, began + _SINGLE_S - time.monotonic()))
        last = window.reports[-1]
        costs.append(last.cpu - first.cpu - report.rest_share * (last.at - first.at))
    report.single, report.single_late = median(costs), median(late)
