"""`context-inspector simulate`: run a simulated provider on this machine, to try things out without a key."""

import argparse
import math
import threading
from contextlib import closing, nullcontext
from pathlib import Path

from inspector.cli.output import note
from inspector.core.errors import InspectorError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: any free one")
    parser.add_argument(
        "--window",
        type=int,
        default=200_000,
        metavar="N",
        help="size of the window in tokens (200000)",
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND[:NUMBER][*TIMES]",
        help="what goes wrong with the next request (429:7, 529, stall, cut, empty, overflow, ...); repeatable, in "
        "order; `ok` lets one through. A request can bring its own: header x-simulate-fault, ?fault=, model!FAULT",
    )
    parser.add_argument(
        "--usage-scale",
        type=float,
        default=1.0,
        metavar="X",
        help="factor on every reported token count; above 1.0 a client's window fills sooner (1.0)",
    )
    parser.add_argument(
        "--no-websocket", action="store_true", help="answer 426 if a client asks for a WebSocket"
    )
    parser.add_argument(
        "--log", metavar="FILE", help="log all bytes in both directions, without keys"
    )
    parser.add_argument(
        "--pause",
        type=float,
        default=0.0,
        metavar="MS",
        help="pause between the events of a stream",
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve until interrupted. Raises InspectorError."""
    from inspector.simulated.server import SimulatedServer
    from inspector.simulated.state import SimulatedServerState, WireLog

    if arguments.window < 1 or arguments.pause < 0:
        raise InspectorError("--window must be at least 1, and --pause at least 0.")
    if not (math.isfinite(arguments.usage_scale) and arguments.usage_scale > 0):
        raise InspectorError("--usage-scale must be more than 0.")
    with closing(WireLog(Path(arguments.log))) if arguments.log else nullcontext() as log:
        world = SimulatedServerState(
            arguments.window,
            arguments.pause / 1000,
            scale=arguments.usage_scale,
            websocket=not arguments.no_websocket,
            log=log,
        )
        for fault in arguments.fault:
            world.faults.push(fault)
        with SimulatedServer(world, arguments.port) as server:
            print(f"listening on {server.url}", flush=True)  # noqa: T201 - this line is the command's answer
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                note("stopped.")
