"""The floor under every test: no screen, no network, no user.

Set before Qt is imported anywhere: the offscreen platform and a home folder of the test run's own. Every test gets its
own folders for settings and data, so that none can see another's, let alone the user's. A connection to anything but
this machine is refused, and the test that tried it fails, even where the code under test swallows the refusal.
"""

import gc
import ipaddress
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from inspector.core.tokens.exact import load_tokenizer
from inspector.proxy.record import recorder
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import WINDOW, SimulatedServerState
from tests.shared import TRANSCRIPTS
from tests.warm_writer import start_warm

gc.disable()
"""Until all tests are collected: nothing of a million new objects is garbage (`pytest_collection_finish`)."""

_HOMES = (
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
)
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
_AGENTS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CODEX_HOME", "CLAUDE_CONFIG_DIR")
_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30
"""Files in memory, and the bytes that must be free there: on a disk ten thousand folders cost minutes."""
if (
    not os.environ.get("TMPDIR")
    and os.access(_MEMORY, os.W_OK)
    and shutil.disk_usage(_MEMORY).free > _ROOM
):
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)
_RUN = tempfile.TemporaryDirectory(prefix="context-inspector-test-")

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["LANGUAGE"] = (
    "C"  # else argparse looks on the disk for a translation of each of its words, at each command
)
os.environ.update(dict.fromkeys(_HOMES, _RUN.name))
for _name in _SCREENS + _AGENTS:
    os.environ.pop(_name, None)

# As in the background of a shell: programs would inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Time limits on single examples say more about the machine than about the code. In CI the examples are the same each
# time, so that a red run can be repeated; at home they are new each time, so that they find something.
hypothesis.settings.register_profile("house", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("house")

load_tokenizer()  # windows show a rough first picture while it is not there: no test compares numbers with that

_REFUSED: list[str] = []


def _is_here(host: object) -> bool:
    """Does `host` name this machine? None and "" are what a server binds to."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str):
        return host is None
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ("", "localhost")


def _refuse_the_network(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook: sees every connection and look-up in this process, from whatever library."""
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        # A local socket's address is a path.
        host = address[0] if isinstance(address, tuple) else None
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if not _is_here(host):
        _REFUSED.append(str(host))
        raise ConnectionRefusedError(f"tests do not reach the network: {host}")


sys.addaudithook(_refuse_the_network)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exclude the tests themselves from garbage collection: every full collection would visit a million objects.

    What a test makes is mostly freed without a collection, so collections are rarer than Python's (`application` sets
    the usual threshold again).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, *gc.get_threshold()[1:])
    gc.enable()


_GROWTH = 256 << 20
"""Bytes by which a test process grows before its frozen objects are collected, too."""


class _Memory:
    """The resident memory of this process, on systems that have /proc."""

    def __init__(self) -> None:
        self._file = Path("/proc/self/statm")
        self._is_known = self._file.exists()
        self._most = self.measure_bytes() + _GROWTH

    def measure_bytes(self) -> int:
        """Return the resident bytes; 0 on other systems."""
        if not self._is_known:
            return 0
        return int(self._file.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def free_cycles(self) -> None:
        """Collect all garbage if the process has grown much.

        The reader and the window freeze what is there, which suits a program with one session. A test process opens
        hundreds, and the cycles that were frozen with them would stay.
        """
        if self.measure_bytes() > self._most:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            self._most = self.measure_bytes() + _GROWTH


_MEMORY_USE = _Memory()


def pytest_runtest_logfinish() -> None:
    """Keep a test process small between two tests."""
    _MEMORY_USE.free_cycles()


@pytest.fixture(autouse=True)
def refused() -> Iterator[list[str]]:
    """Addresses elsewhere that the running test tried to reach: there must be none."""
    _REFUSED.clear()
    yield _REFUSED
    assert not _REFUSED, f"the test tried to reach {', '.join(_REFUSED)}"


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, this test's own: the environment points at it, and so do Qt's settings."""
    folder = tmp_path_factory.mktemp("home")
    for name in _HOMES:
        monkeypatch.setenv(
            name, str(folder if name == "HOME" else folder / name.removeprefix("XDG_").lower())
        )
    (folder / "runtime_dir").mkdir(mode=0o700)
    if core := sys.modules.get("PySide6.QtCore"):
        for kind in (core.QSettings.Format.NativeFormat, core.QSettings.Format.IniFormat):
            core.QSettings.setPath(
                kind, core.QSettings.Scope.UserScope, str(folder / "config_home")
            )
    return folder


@pytest.fixture(autouse=True)
def warm_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings are written by writers that need no start: hundreds of tests make one."""
    monkeypatch.setattr(recorder, "_start", start_warm)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real transcripts, or of made-up ones where this machine has none."""
    return TRANSCRIPTS


@pytest.fixture(scope="session")
def screen() -> Iterator[str]:
    """The name of a virtual screen (for DISPLAY), to run the whole program on with QT_QPA_PLATFORM=xcb.

    For programs that a test starts: the test's own process has its one Qt platform already. Skipped without Xvfb.
    """
    if not shutil.which("Xvfb"):
        pytest.skip("no Xvfb on this machine")
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "1400x900x24", "-nolisten", "tcp"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout
        number = server.stdout.readline().strip()  # written once it takes connections
        if not number:
            server.kill()
            pytest.fail("Xvfb did not start")
        yield f":{number}"
        server.terminate()


@pytest.fixture(scope="session")
def simulated_server() -> Iterator[SimulatedServer]:
    """It runs as long as the tests do. The SDKs are imported before, so that no test's time limit pays for it."""
    import anthropic  # noqa: F401
    import openai  # noqa: F401

    with SimulatedServer(SimulatedServerState(remember=100)) as server:
        yield server


@pytest.fixture
def simulated(simulated_server: SimulatedServer) -> SimulatedServer:
    """No faults wait, nothing is cached, the window is the usual one."""
    simulated_server.world.forget()
    simulated_server.world.window = WINDOW
    return simulated_server
