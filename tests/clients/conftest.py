"""The stage for real agents: skipped, with the reason, where this machine has none or the agent is not there."""

import pytest

from tests.clients.playing import unshare


@pytest.fixture(scope="session")
def spaces() -> list[str]:
    """The command that puts a play into a network of its own."""
    command = unshare()
    if command is None:
        pytest.skip("real agents are only run where they reach nothing: `unshare --net --pid` is not allowed here")
    return command
