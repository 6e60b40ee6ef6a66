"""How a proxy ends without costing an agent its turn: what is held is forwarded, what is under way is answered."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.server import ProxyServer

LOOK_S = 0.05
"""Seconds between two looks at what is still under way when the proxy ends."""


class OpenExchanges:
    """The exchanges that have no answer yet, by the lines of the recording."""

    def __init__(self) -> None:
        self.numbers: frozenset[int] = frozenset()

    def take(self, line: Mapping[str, Any]) -> bool:
        """Note a line of the recording. Did an exchange begin or end with it?"""
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
    """Take no further request, forward what is held as it is, and wait for the answers under way. Blocks.

    Args:
        is_hurried: asked again and again; once it says yes, nothing more is waited for.
    """
    server.take_no_more()
    while not is_hurried():
        if isinstance(server.gate, Holds):
            server.gate.let_all_go()  # each time: a request may just have been on its way to be held
        if not server.is_busy and not exchanges.numbers:
            return
        time.sleep(LOOK_S)
