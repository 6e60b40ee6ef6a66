"""`context-inspector proxy`: sit between an agent and its provider, and record. Ctrl+C ends it.

Held requests: a policy does what is due, or the person is asked on the terminal. Without a policy and without a
terminal a held request waits until its client's patience ends, and then goes as it was.
"""

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from time import time
from typing import TYPE_CHECKING, Any

from inspector.agent.tools.common import Question
from inspector.agent.tools.writing import difference
from inspector.cli.asking import forget_typed, show
from inspector.cli.changes import drop_document
from inspector.cli.output import note, number, picked, plain, pressure_document, write_json
from inspector.cli.select import add_options, chosen_policy, policy_count
from inspector.core.buffer import Buffer
from inspector.core.dialects.neutral import write_part
from inspector.core.drops import Drops, thread_drops
from inspector.core.errors import InspectorError
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.proxy.reader import ProxyReader
from inspector.core.jsontext import dumps
from inspector.core.policies.catalogue import DEFAULT_POLICY, POLICIES
from inspector.core.policies.harness import Policy
from inspector.core.policies.settings import SettingPairs
from inspector.core.policies.settings import window_pairs as said_window
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, estimator
from inspector.core.tokens.pressure import Pressures, thread_pressures
from inspector.core.tokens.windows import find_window
from inspector.core.words import plural
from inspector.extensions.policies import find_policy
from inspector.extensions.windows import user_windows
from inspector.proxy.gate import Gate
from inspector.proxy.holds.compacting import Compactor, Proposal, told
from inspector.proxy.holds.hold import HoldInfo, Rule
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
    add_options(parser, "--window")
    add_options(parser, "--json", help="print a line of JSON for each exchange")
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
    """Forward and record until interrupted; then forward what is held, and wait for its answers.

    Raises InspectorError.
    """
    from inspector.proxy.ending import OpenExchanges, finish_exchanges

    lines: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
    exchanges = OpenExchanges()

    def hear(line: Mapping[str, Any]) -> None:
        exchanges.take(line)
        if arguments.json:
            lines.put(line)

    def stop(number: int, _: object) -> None:  # after the line that is being written; the second time at once
        signal.signal(number, signal.default_int_handler)
        lines.put(None)

    server = _proxy_server(arguments, hear)
    told = Exchanges(arguments.window, policy_of(arguments), tuple(arguments.set or ()))
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, stop)
    server.start()
    try:
        print(f"listening on {server.url}", flush=True)  # noqa: T201 - this line is the command's answer
        note(f"to {plain(arguments.upstream)}, recording into {plain(arguments.record)}; Ctrl+C ends it.")
        for line in iter(lines.get, None):  # without --json no other is put there
            _write(told.take(line))
        if exchanges.numbers:
            waiting = plural(len(exchanges.numbers), "request")
            note(f"waiting for the answers to {waiting}; what is held is forwarded unchanged. Ctrl+C ends it at once.")
        finish_exchanges(server, exchanges)
        note("stopped.")
    finally:
        server.close()
    while not lines.empty():
        if (late := lines.get()) is not None:
            _write(told.take(late))


def _proxy_server(arguments: argparse.Namespace, hear: Callable[[Mapping[str, Any]], None]) -> "ProxyServer":
    """Make the proxy that the arguments describe, with its attendant if it holds requests. Raises InspectorError."""
    from inspector.proxy.relay.server import ProxyServer

    rule = rule_of(arguments)
    gate = Gate() if rule is None else Holds(rule, user_windows())
    if isinstance(gate, Holds):
        Attendant(gate, arguments)
    recorded = (rule or Rule(window=arguments.window)).document()  # of the window and of holding, in the file's head
    if arguments.compact_with:
        recorded["hold"]["compact_with"] = arguments.compact_with
    server = ProxyServer(
        arguments.upstream,
        Path(arguments.record),
        host=arguments.host,
        port=arguments.port,
        gate=gate,
        heard=hear,
        rule=recorded,
    )
    if isinstance(gate, Holds):
        gate.note = partial(_note, server.recorder.note)
    return server


def _note(record: Callable[[str], None], what: str) -> None:
    record(what)
    note(plain(what))


def _write(documents: Iterable[dict[str, Any]]) -> None:
    for document in documents:
        write_json(document)
        sys.stdout.flush()


_ANSWERED = ("status", "ended", "error", "elapsed_ms", "first_byte_ms")
_LATE = 50
"""Requests of a thread, from its last one back, among which an exchange is looked for."""


class Exchanges:
    """Fed with lines of the recording; says each exchange when its response is there."""

    def __init__(
        self,
        window: int | None,
        policy: Policy[Any, Any] = POLICIES[DEFAULT_POLICY],
        pairs: SettingPairs = (),
    ) -> None:
        self._reader = ProxyReader()
        self._policy, self._pairs = policy, pairs
        self._window, self._models = window, user_windows()
        self._measure = estimator(DEFAULT_ESTIMATOR)
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
            told = {key.removeprefix("elapsed_"): line.get(key) for key in _ANSWERED}
            yield {"exchange": number} | self._requests.pop(number) | told | (self._told(one) if one else {})

    def _told(self, one: Exchange) -> dict[str, Any]:
        session = self._reader.session()
        placed, usage = _place(session, one), one.reply.usage if one.reply else None
        told = {
            **picked(one.key, "client session"),
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
        believed = policy_count(self._policy, self._pairs, session, thread, request.index, pressures, window)
        drops = self._drops[thread.id] = thread_drops(thread, session, self._drops.get(thread.id))
        return {
            "messages": len(request.view),
            **pressure_document(pressures, request.index, window.tokens, believed),
            "drops": [drop_document(thread, pressures, one) for one in drops.found if one.request == request.index],
        }


def _place(session: Session, one: Exchange) -> tuple[Thread, Request] | None:
    """The thread and the request that it is; None for a side call."""
    placed = ((thread, request) for thread in session.threads for request in reversed(thread.requests[-_LATE:]))
    return next(((thread, request) for thread, request in placed if request.line == one.line), None)


KEYS = "[f]orward as it was, [c]ompact with {policy}, [s]how what that changes, [d]rop: "


def add_hold_arguments(parser: argparse.ArgumentParser) -> None:
    """What concerns held requests."""
    group = parser.add_argument_group("holding requests (changes what the provider reads)")
    group.add_argument("--pause-each", action="store_true", help="hold every request of a conversation")
    group.add_argument(
        "--compact-with",
        metavar="POLICY",
        help="do by this policy what is due on each held request, without asking; summaries are made offline",
    )
    add_options(group, "--policy", help="the policy that is offered for held requests, or your own: x.py")
    add_options(group, "--set", help="a setting of the policy")


def rule_of(arguments: argparse.Namespace) -> Rule | None:
    """When requests are to be held; None where nobody asked for it. Raises InspectorError."""
    if arguments.compact_with and arguments.pause_at is None and not arguments.pause_each:
        raise InspectorError("--compact-with needs --pause-at RATIO (or --pause-each): it acts on held requests.")
    if arguments.pause_each:
        return Rule("each", window=arguments.window)
    if arguments.pause_at is None:
        return None
    return Rule("watermark", arguments.pause_at, arguments.window, always=bool(arguments.compact_with))


def policy_of(arguments: argparse.Namespace) -> Policy[Any, Any]:
    """The policy that held requests are compacted by, or that is offered for them. Raises InspectorError."""
    if arguments.compact_with:
        return find_policy(arguments.compact_with)
    return chosen_policy(arguments)


class Attendant:
    """Looks after what is held, on a thread of its own. `ask` says what the person wants: f, c or d."""

    def __init__(self, holds: Holds, arguments: argparse.Namespace, ask: Callable[[str], str] | None = None) -> None:
        self._holds = holds
        policy = policy_of(arguments)
        self._compact = Compactor(policy.reference, (*said_window(arguments.window), *(arguments.set or ())))
        self._name = policy.name
        self._by_itself = bool(arguments.compact_with)
        self._ask = ask or (_ask if sys.stdin.isatty() and sys.stderr.isatty() else None)
        self._seen: set[int] = set()
        self._queue: SimpleQueue[HoldInfo] = SimpleQueue()
        holds.subscribe(self._listed)
        threading.Thread(target=self._work, name="attendant", daemon=True).start()

    def _listed(self, shown: tuple[HoldInfo, ...]) -> None:
        for hold in shown:
            if hold.id not in self._seen:
                self._seen.add(hold.id)
                self._queue.put(hold)

    def _work(self) -> None:
        while True:
            hold = self._queue.get()
            try:
                self._attend(hold)
            except InspectorError as failure:
                note(str(failure))
                with suppress(InspectorError):  # it may have gone by itself
                    self._holds.release(hold.id)

    def _attend(self, hold: HoldInfo) -> None:
        note(described(hold))
        if not self._by_itself and self._ask is None:
            return
        proposal: Proposal | None = None
        if not hold.cannot:
            predicted = partial(self._holds.predicted, hold.id)
            proposal = self._compact.propose(hold, self._holds.buffer(hold.id), predicted)
        if self._by_itself or self._ask is None:
            self._compacted(hold, None if proposal is None or proposal.is_small else proposal, proposal)
            return
        note(f"{self._name}: {hold.cannot if proposal is None else told(proposal, hold.window)}.")
        keys = KEYS.format(policy=self._name)
        while (said := self._ask(keys)[:1].lower()) == "s":
            show(changed(proposal), 0)
        match said:
            case "c":
                self._compacted(hold, proposal, proposal)
            case "d":
                self._holds.drop(hold.id)
                note(f"exchange {hold.exchange}: dropped.")
            case _:
                self._holds.release(hold.id)

    def _compacted(self, hold: HoldInfo, proposal: Proposal | None, looked: Proposal | None) -> None:
        """With what was proposed, or as it was; either way it is told."""
        if proposal is None or proposal.after is None:
            self._holds.release(hold.id)
            note(f"exchange {hold.exchange}: {hold.cannot if looked is None else looked.why}; it goes as it was.")
            return
        self._holds.release(hold.id, proposal.after, proposal.before)
        self._compact.keep(hold, proposal)
        note(f"exchange {hold.exchange}, by {self._name}: {told(proposal, hold.window)}.")


def described(hold: HoldInfo) -> str:
    """A held request in one sentence, with the time that is left."""
    size = "" if hold.tokens is None else f", {number(hold.tokens)} tokens"
    size += f" of {number(hold.window)}" if hold.tokens is not None and hold.window else ""
    if hold.band is not None:
        size += f" ({number(hold.band[0])} to {number(hold.band[1])})"
    who = plain(f"{hold.client} {hold.model}".strip(), 60)
    left = max(0, round(hold.until - time()))
    return f"held ({hold.why}): exchange {hold.exchange}, {who}{size}; it goes as it was in {left} s."


def changed(proposal: Proposal | None) -> Question:
    """What the policy would take out of the request and put into it, whole."""
    if proposal is None or proposal.after is None:
        return Question("Nothing would be changed.", "")
    before, after = (_lines(buffer).encode("utf-8", "backslashreplace") for buffer in (proposal.before, proposal.after))
    return Question("What would go (-) and come (+):", difference(before, after), is_diff=True)


def _lines(buffer: Buffer) -> str:
    """Every message, as it is read: a text as it stands, all else as JSON."""
    lines: list[str] = []
    for message in buffer.messages:
        lines.append(f"[{message.role}]")
        lines += [getattr(part, "text", None) or dumps(write_part(part)) for part in message.parts]
    return "".join(f"{line}\n" for line in lines)


def _ask(prompt: str) -> str:
    forget_typed()
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return sys.stdin.readline()
