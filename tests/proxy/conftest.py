"""A proxy that holds each request."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.proxy.holds.hold import Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.server import ProxyServer
from inspector.simulated.server import SimulatedServer
from tests.proxy.holding import (
    held_by,
)


@pytest.fixture
def gate() -> Holds:
    return Holds(Rule("each"))


@pytest.fixture
def proxy(gate: Holds, simulated: SimulatedServer, tmp_path: Path) -> Iterator[ProxyServer]:
    with held_by(gate, simulated.url, tmp_path) as server:
        yield server
