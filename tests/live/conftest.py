"""One simulated provider for all tests of this folder, as good as new for each."""

from collections.abc import Iterator

import pytest

from inspector.live.simulated.server import SimulatedServer
from inspector.live.simulated.world import WINDOW, World


@pytest.fixture(scope="session")
def simulated_server() -> Iterator[SimulatedServer]:
    """It runs as long as the tests do. The SDKs are imported before, so that no test's time limit pays for it."""
    import anthropic  # noqa: F401
    import openai  # noqa: F401

    with SimulatedServer(World(remember=100)) as server:
        yield server


@pytest.fixture
def simulated(simulated_server: SimulatedServer) -> SimulatedServer:
    """No faults wait, nothing is cached, the window is the usual one."""
    simulated_server.world.forget()
    simulated_server.world.window = WINDOW
    return simulated_server
