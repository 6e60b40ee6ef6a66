"""`context-inspector receive`: receive and record the spans that tracers on this machine send. Ctrl+C ends it."""

import argparse
import signal
import threading
from pathlib import Path

from inspector.cli.output import note, plain

_PORT = 4318


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--record", metavar="FILE", required=True, help="a new file, or a recording to append to"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="HOST",
        help="127.0.0.1 (the default), localhost or ::1",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=_PORT,
        metavar="N",
        help=f"{_PORT} (the default); 0: any free one",
    )


def run(arguments: argparse.Namespace) -> None:
    """Receive until interrupted. Raises InspectorError."""
    from inspector.proxy.receiver import SpanReceiver

    over = threading.Event()
    with SpanReceiver(Path(arguments.record), host=arguments.host, port=arguments.port) as receiver:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: over.set())
        print(f"listening on {receiver.url}", flush=True)  # noqa: T201 - this line is the command's answer
        note(
            f"OTEL_EXPORTER_OTLP_ENDPOINT={receiver.url}, recording into {plain(arguments.record)}; "
            "Ctrl+C stops the receiver."
        )
        over.wait()
    note(f"stopped; spans received: {receiver.spans:,}.")
