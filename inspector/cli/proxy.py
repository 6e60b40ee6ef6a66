"""`context-inspector proxy`: sit between an agent and its provider, and record. Ctrl+C ends it."""

import argparse
import signal
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from inspector.cli.holds import Attendant, rule_of
from inspector.cli.holds import add_arguments as add_hold_arguments
from inspector.cli.output import note, plain, write_json
from inspector.cli.select import add_window
from inspector.extensions.windows import user_windows
from inspector.proxy.gate import OpenGate
from inspector.proxy.holds.hold import Rule
from inspector.proxy.holds.holds import Holds

if TYPE_CHECKING:
    from inspector.proxy.relay.server import ProxyServer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--upstream", metavar="URL", required=True, help="the provider: https://api.anthropic.com, ...")
    parser.add_argument("--record", metavar="FILE", required=True, help="a new file, or a recording to append to")
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST", help="127.0.0.1 (the default), localhost or ::1")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: any free one")
    parser.add_argument(
        "--pause-at", type=_ratio, metavar="RATIO", help="hold requests whose buffer fills this share of the window"
    )
    add_window(parser)
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each exchange")
    add_hold_arguments(parser)


def _ratio(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value <= 10:
        raise argparse.ArgumentTypeError("a share of the window: 0.6, or 60%")
    return value


def run(arguments: argparse.Namespace) -> None:
    """Forward and record until interrupted. Raises InspectorError."""
    from inspector.cli.exchanges import Exchanges
    from inspector.proxy.relay.server import ProxyServer

    lines: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
    rule = rule_of(arguments)
    gate = OpenGate() if rule is None else Holds(rule, user_windows())
    if isinstance(gate, Holds):
        Attendant(gate, arguments)
    server = ProxyServer(
        arguments.upstream,
        Path(arguments.record),
        host=arguments.host,
        port=arguments.port,
        gate=gate,
        heard=lines.put if arguments.json else None,
        rule=_rule_document(arguments, rule),
    )
    told = Exchanges(arguments.window)
    if isinstance(gate, Holds):
        gate.note = partial(_note, server)

    def stop(number: int, _: object) -> None:  # after the line that is being written; the second time at once
        signal.signal(number, signal.default_int_handler)
        lines.put(None)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    server.start()
    try:
        print(f"listening on {server.url}", flush=True)  # noqa: T201 - this line is the command's answer
        note(f"to {plain(arguments.upstream)}, recording into {plain(arguments.record)}; Ctrl+C ends it.")
        for line in iter(lines.get, None):  # without --json no other is put there
            _write(told.take(line))
        note("stopped.")
    finally:
        server.close()
    while not lines.empty():
        if (late := lines.get()) is not None:
            _write(told.take(late))


def _note(server: "ProxyServer", what: str) -> None:
    server.recorder.note(what)
    note(plain(what))


def _rule_document(arguments: argparse.Namespace, rule: Rule | None) -> dict[str, Any]:
    """What the recording's head says of the window and of holding."""
    told = (rule or Rule(window=arguments.window)).document()
    if arguments.compact_with:
        told["hold"]["compact_with"] = arguments.compact_with
    return told


def _write(documents: Iterable[dict[str, Any]]) -> None:
    for document in documents:
        write_json(document)
        sys.stdout.flush()
