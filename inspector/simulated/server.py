"""The simulated provider as a server: on loopback only, in a thread of its own, stopped when asked."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aiohttp import web

from inspector.safety.web_server import WebServer
from inspector.simulated.app import application
from inspector.simulated.state import SimulatedServerState

LONGEST_LINE = 1 << 16
"""Bytes of one header: clients put whole JSON documents there."""


class SimulatedServer(WebServer):
    """`world`: what it remembers, its window, its faults."""

    NAME: ClassVar[str] = "simulated provider"
    OPTIONS: ClassVar[Mapping[str, Any]] = {
        "auto_decompress": False,  # what came over the wire is looked at as it came
        "handler_cancellation": True,  # nobody waits for a client that has gone
        "shutdown_timeout": 0.05,
        "max_field_size": LONGEST_LINE,
        "max_line_size": LONGEST_LINE,
    }

    def __init__(self, world: SimulatedServerState | None = None, port: int = 0) -> None:
        super().__init__(port=port)
        self.world = world or SimulatedServerState()

    def _application(self) -> web.Application:
        return application(self.world)
