"""`context-inspector proxy`: sit between an agent and its provider, and record. Ctrl+C ends it."""

import argparse
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from inspector.cli.holds import Attendant, rule_of
from inspector.cli.holds import add_arguments as add_hold_arguments
from inspector.cli.output import note, picked, plain, pressure_document, write_json
from inspector.cli.select import add_window
from inspector.core.drops import Drops, thread_drops
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.proxy.reader import ProxyReader
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import Pressures, thread_pressures
from inspector.core.tokens.windows import find_window
from inspector.extensions.windows import user_windows
from inspector.proxy.gate import Gate
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
    from inspector.proxy.relay.server import ProxyServer

    lines: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
    rule = rule_of(arguments)
    gate = Gate() if rule is None else Holds(rule, user_windows())
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


# -- what `--json` prints of an exchange -------------------------------------------------------------------------------


_LATE = 50
"""Requests of a thread, from its last one back, among which an exchange is looked for."""


class Exchanges:
    """Fed with lines of the recording; says each exchange when its response is there."""

    def __init__(self, window: int | None) -> None:
        self._reader = ProxyReader()
        self._window, self._models = window, user_windows()
        self._measure = estimator("roku")
        self._pressures: dict[str, Pressures] = {}
        self._drops: dict[str, Drops] = {}
        self._count = 0
        self._requests: dict[int, dict[str, Any]] = {}

    def take(self, line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """One line; gives the exchange that is over with it."""
        self._count += 1
        self._reader.feed(self._count, line)
        number = line.get("exchange")
        if line.get("type") == "request" and isinstance(number, int):
            self._requests[number] = {key: line.get(key) for key in ("time", "transport", "method", "path", "tag")}
        elif line.get("type") == "response" and isinstance(number, int) and number in self._requests:
            one = self._reader.exchange(number)
            yield {"exchange": number} | self._requests.pop(number) | _answered(line) | (self._told(one) if one else {})

    def _told(self, one: Exchange) -> dict[str, Any]:
        session = self._reader.session()
        placed, usage = _place(session, one), one.reply.usage if one.reply else None
        told = {
            "client": one.key.client,
            "session": one.key.session,
            "thread": placed[0].id if placed else None,
            "request": placed[1].index if placed else None,
            "model": one.model,
            "side_call": one.kind or None,
            "usage": picked(usage, "prompt input cache_read cache_write cache_write_1h output") if usage else None,
        }
        return told | (self._pressure(session, *placed) if placed else {})

    def _pressure(self, session: Session, thread: Thread, request: Request) -> dict[str, Any]:
        former = self._pressures.get(thread.id)
        pressures = self._pressures[thread.id] = thread_pressures(thread, self._measure, former)
        window = find_window(session, thread, request.index, self._window, self._models)
        return {
            "messages": len(request.view),
            **pressure_document(pressures, request.index, window.tokens),
            "drops": self._dropped(session, thread, request),
        }

    def _dropped(self, session: Session, thread: Thread, request: Request) -> list[dict[str, Any]]:
        """What this request no longer holds of the one before it, and which kind of loss that was."""
        drops = self._drops[thread.id] = thread_drops(thread, session, self._drops.get(thread.id))
        return [asdict(drop) for drop in drops.found if drop.request == request.index]


def _answered(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: line.get(name) for name in ("status", "ended", "error")},
        "ms": line.get("elapsed_ms"),
        "first_byte_ms": line.get("first_byte_ms"),
    }


def _place(session: Session, one: Exchange) -> tuple[Thread, Request] | None:
    """The thread and the request that it is; None for a side call."""
    for thread in session.threads:
        requests = thread.requests
        for at in range(len(requests) - 1, max(-1, len(requests) - _LATE), -1):
            if requests[at].line == one.line:
                return thread, requests[at]
    return None
