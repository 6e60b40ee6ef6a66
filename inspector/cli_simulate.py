"""`context-inspector simulate`: a provider on this machine, for trying things out without a key."""

import argparse
import threading

from inspector.cli_output import note
from inspector.core.errors import InspectorError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: any free one")
    parser.add_argument("--window", type=int, default=200_000, metavar="N", help="tokens of its window (200000)")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND[:NUMBER][*TIMES]",
        help="what goes wrong with the next request (429:7, 529, stall, cut, empty, overflow, ...); repeatable, in "
        "order; `ok` lets one through. A request can bring its own: header x-simulate-fault, ?fault=, model!FAULT",
    )
    parser.add_argument("--pause", type=float, default=0.0, metavar="MS", help="between the events of a stream")


def run(arguments: argparse.Namespace) -> None:
    """Serve until interrupted. Raises InspectorError."""
    from inspector.live.simulated.server import SimulatedServer
    from inspector.live.simulated.world import World

    if arguments.window < 1 or arguments.pause < 0:
        raise InspectorError("--window must be at least 1, and --pause at least 0.")
    world = World(arguments.window, arguments.pause / 1000)
    for fault in arguments.fault:
        world.faults.push(fault)
    with SimulatedServer(world, arguments.port) as server:
        print(f"listening on {server.url}", flush=True)  # noqa: T201 - this line is the command's answer
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            note("stopped.")
