"""End a proxy without costing an agent its turn: held requests are forwarded, and open exchanges are completed."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.server import ProxyServer

LOOK_S = 0.05
"""Seconds between two checks for open exchanges while the proxy ends."""


class OpenExchanges:
    """Tracks the exchanges that have no answer yet, from the lines of the recording."""

    def __init__(self) -> None:
        self.numbers: frozenset[int] = frozenset()

    def take(self, line: Mapping[str, Any]) -> bool:
        """Take a line of the recording. Return whether an exchange began or ended with it."""
        number = line.get("exchange")
        if line.get("type") == "request" and isinstance(number, int):
            self.numbers |= {number}
            return True
        if line.get("type") == "response":
            self.numbers -= {number}
            return True
        return False


def finish_exchanges(
    server: ProxyServer, exchanges: OpenExchanges, is_hurried: Callable[[], bool] = lambda: False
) -> None:
    """Accept no further requests, forward held ones unchanged, and wait for the open answers. Blocks.

    Args:
        server: The proxy.
        exchanges: Its open exchanges.
        is_hurried: Asked repeatedly; once it returns True, the waiting ends.
    """
    server.stop_accepting()
    while not is_hurried():
        if isinstance(server.gate, Holds):
            server.gate.forward_all()  # repeated, because a request may have been held since the last round
        if not server.is_busy and not exchanges.numbers:
            return
        time.sleep(LOOK_S)
