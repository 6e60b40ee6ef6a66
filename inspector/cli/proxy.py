"""`context-inspector proxy`: forward an agent's requests to its provider, and record them. Ctrl+C ends it.

For held requests a policy runs its due tiers, or the user is asked on the terminal. With neither a policy nor a
terminal, a held request is forwarded unchanged when its client's patience ends.
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
from inspector.core.tokens.pressure import Pressures, thread_pressures
from inspector.core.tokens.windows import find_window
from inspector.core.words import plural
from inspector.extensions.policies import find_policy
from inspector.extensions.windows import user_windows
from inspector.proxy.gate import Gate
from inspector.proxy.holds.compacting import Compactor, Proposal, proposal_words
from inspector.proxy.holds.hold import HoldInfo, Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.upstreams import AUTOMATIC

if TYPE_CHECKING:
    from inspector.proxy.relay.server import ProxyServer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--upstream",
        metavar="URL",
        default=AUTOMATIC,
        help="the provider's address; default: that of Anthropic, OpenAI or Gemini, whose API a request calls",
    )
    parser.add_argument(
        "--record", metavar="FILE", required=True, help="a new file, or a recording to append to"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="HOST",
        help="127.0.0.1 (the default), localhost or ::1",
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: any free one")
    parser.add_argument(
        "--pause-at",
        type=_ratio,
        metavar="RATIO",
        help="hold requests whose buffer fills this share of the window",
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
    """Forward and record until interrupted; then forward held requests, and wait for their answers.

    Raises InspectorError.
    """
    from inspector.proxy.ending import OpenExchanges, finish_exchanges

    lines: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
    exchanges = OpenExchanges()

    def hear(line: Mapping[str, Any]) -> None:
        exchanges.take(line)
        if arguments.json:
            lines.put(line)

    def stop(
        number: int, _: object
    ) -> None:  # ends after the current line; a second signal ends at once
        signal.signal(number, signal.default_int_handler)
        lines.put(None)

    server = _proxy_server(arguments, hear)
    told = Exchanges(arguments.window, holding_policy(arguments), tuple(arguments.set or ()))
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, stop)
    server.start()
    try:
        print(f"listening on {server.url}", flush=True)  # noqa: T201 - this line is the command's answer
        note(
            f"to {plain(arguments.upstream)}, recording into {plain(arguments.record)}; Ctrl+C stops the proxy."
        )
        for line in iter(lines.get, None):  # without --json the queue holds no lines
            _write(told.take(line))
        if exchanges.numbers:
            waiting = plural(len(exchanges.numbers), "request")
            note(
                f"waiting for the answers to {waiting}; held requests are forwarded unchanged. Ctrl+C "
                "stops the proxy at once."
            )
        finish_exchanges(server, exchanges)
        note("stopped.")
    finally:
        server.close()
    while not lines.empty():
        if (late := lines.get()) is not None:
            _write(told.take(late))


def _proxy_server(
    arguments: argparse.Namespace, hear: Callable[[Mapping[str, Any]], None]
) -> "ProxyServer":
    """Create the proxy that the arguments describe, with an attendant if it holds requests. Raises InspectorError."""
    from inspector.proxy.relay.server import ProxyServer

    rule = rule_of(arguments)
    gate = Gate() if rule is None else Holds(rule, user_windows())
    if isinstance(gate, Holds):
        Attendant(gate, arguments)
    recorded = (
        rule or Rule(window=arguments.window)
    ).document()  # the window and the rule for holding, written at the head of the file
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
"""Number of a thread's newest requests that are searched for an exchange."""


class Exchanges:
    """Reads lines of the recording, and describes each exchange when its response is complete."""

    def __init__(
        self,
        window: int | None,
        policy: Policy[Any, Any] = POLICIES[DEFAULT_POLICY],
        pairs: SettingPairs = (),
    ) -> None:
        self._reader = ProxyReader()
        self._policy = policy
        self._pairs = pairs
        self._window = window
        self._models = user_windows()
        self._pressures: dict[str, Pressures] = {}
        self._drops: dict[str, Drops] = {}
        self._count = 0
        self._requests: dict[int, dict[str, Any]] = {}

    def take(self, line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Read one line, and yield the exchange that the line completes."""
        self._count += 1
        self._reader.feed(self._count, line)
        number = line.get("exchange")
        if line.get("type") == "request" and isinstance(number, int):
            self._requests[number] = {
                key: line.get(key) for key in ("time", "transport", "method", "path", "tag")
            }
        elif (
            line.get("type") == "response" and isinstance(number, int) and number in self._requests
        ):
            answer = {key.removeprefix("elapsed_"): line.get(key) for key in _ANSWERED}
            document = {"exchange": number, **self._requests.pop(number), **answer}
            exchange = self._reader.exchange(number)
            yield document if exchange is None else document | self._describe(exchange)

    def _describe(self, exchange: Exchange) -> dict[str, Any]:
        session = self._reader.session()
        thread, request = _place(session, exchange) or (None, None)
        usage = exchange.reply.usage if exchange.reply else None
        usage_document = None
        if usage:
            usage_document = picked(
                usage, "prompt input cache_read cache_write cache_write_1h output"
            )
        document = {
            **picked(exchange.key, "client session"),
            "thread": thread.id if thread is not None else None,
            "request": request.index if request is not None else None,
            "model": exchange.model,
            "side_call": exchange.kind or None,
            "usage": usage_document,
        }
        if thread is None or request is None:
            return document
        return document | self._pressure(session, thread, request)

    def _pressure(self, session: Session, thread: Thread, request: Request) -> dict[str, Any]:
        former = self._pressures.get(thread.id)
        pressures = self._pressures[thread.id] = thread_pressures(thread, former=former)
        window = find_window(session, thread, request.index, self._window, self._models)
        believed = policy_count(
            self._policy, self._pairs, session, thread, at=request.index, window=window
        )
        drops = self._drops[thread.id] = thread_drops(thread, session, self._drops.get(thread.id))
        return {
            "messages": len(request.view),
            **pressure_document(
                thread, pressures, at=request.index, window=window.tokens, believed=believed
            ),
            "drops": [
                drop_document(thread, pressures, drop)
                for drop in drops.found
                if drop.request == request.index
            ],
        }


def _place(session: Session, exchange: Exchange) -> tuple[Thread, Request] | None:
    """Return the thread and request of an exchange; None for a side call."""
    for thread in session.threads:
        for request in reversed(thread.requests[-_LATE:]):
            if request.line == exchange.line:
                return thread, request
    return None


KEYS = "[f]orward unchanged, [c]ompact with {policy}, [s]how what that changes, [d]rop: "


def add_hold_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for held requests."""
    group = parser.add_argument_group("holding requests (changes what the provider reads)")
    group.add_argument(
        "--pause-each", action="store_true", help="hold every request of a conversation"
    )
    group.add_argument(
        "--compact-with",
        metavar="POLICY",
        help=(
            "run the tiers that this policy finds due on each held request, without asking; summaries are "
            "made offline"
        ),
    )
    add_options(
        group, "--policy", help="the policy that is offered for held requests, or your own: x.py"
    )
    add_options(group, "--set", help="a setting of the policy")


def rule_of(arguments: argparse.Namespace) -> Rule | None:
    """Return the rule for holding requests; None to hold none. Raises InspectorError."""
    if arguments.compact_with and arguments.pause_at is None and not arguments.pause_each:
        raise InspectorError(
            "--compact-with needs --pause-at RATIO (or --pause-each): it acts on held requests."
        )
    if arguments.pause_each:
        return Rule("each", window=arguments.window)
    if arguments.pause_at is None:
        return None
    return Rule(
        "watermark", arguments.pause_at, arguments.window, always=bool(arguments.compact_with)
    )


def holding_policy(arguments: argparse.Namespace) -> Policy[Any, Any]:
    """Return the policy that compacts held requests, or is offered for them. Raises InspectorError."""
    if arguments.compact_with:
        return find_policy(arguments.compact_with)
    return chosen_policy(arguments)


class Attendant:
    """Handles held requests, in a separate thread. `ask` returns the user's choice: f, c or d."""

    def __init__(
        self, holds: Holds, arguments: argparse.Namespace, ask: Callable[[str], str] | None = None
    ) -> None:
        self._holds = holds
        policy = holding_policy(arguments)
        self._compact = Compactor(
            policy.reference, (*said_window(arguments.window), *(arguments.set or ()))
        )
        self._name = policy.name
        self._is_automatic = bool(arguments.compact_with)
        has_terminal = sys.stdin.isatty() and sys.stderr.isatty()
        self._ask = ask or (_ask_terminal if has_terminal else None)
        self._seen: set[int] = set()
        self._queue: SimpleQueue[HoldInfo] = SimpleQueue()
        holds.subscribe(self._queue_new_holds)
        threading.Thread(target=self._work, name="attendant", daemon=True).start()

    def _queue_new_holds(self, holds: tuple[HoldInfo, ...]) -> None:
        for hold in holds:
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
                with suppress(InspectorError):  # it may have been forwarded in the meantime
                    self._holds.release(hold.id)

    def _attend(self, hold: HoldInfo) -> None:
        note(hold_words(hold))
        proposal: Proposal | None = None
        if not hold.cannot and (self._is_automatic or self._ask is not None):
            predicted = partial(self._holds.predicted, hold.id)
            proposal = self._compact.propose(hold, self._holds.buffer(hold.id), predicted)
        if self._is_automatic:
            is_small = proposal is not None and proposal.is_small
            self._forward(hold, proposal, is_changed=not is_small)
        elif self._ask is not None:
            self._act_on_answer(hold, proposal, self._ask)

    def _act_on_answer(
        self, hold: HoldInfo, proposal: Proposal | None, ask: Callable[[str], str]
    ) -> None:
        """Ask the user what to do with a held request, and do it."""
        note(
            f"{self._name}: {hold.cannot if proposal is None else proposal_words(proposal, hold.window)}."
        )
        keys = KEYS.format(policy=self._name)
        while (key := ask(keys)[:1].lower()) == "s":
            show(change_question(proposal), 0)
        match key:
            case "c":
                self._forward(hold, proposal, is_changed=True)
            case "d":
                self._holds.drop(hold.id)
                note(f"exchange {hold.exchange}: dropped; its client was answered with an error.")
            case _:
                self._holds.release(hold.id)

    def _forward(self, hold: HoldInfo, proposal: Proposal | None, *, is_changed: bool) -> None:
        """Forward a held request, with the proposed change or unchanged, and report it."""
        if proposal is None or proposal.after is None or not is_changed:
            self._holds.release(hold.id)
            why = hold.cannot if proposal is None else proposal.why
            note(f"exchange {hold.exchange}: forwarded unchanged: {why.rstrip('.')}.")
            return
        self._holds.release(hold.id, proposal.after, proposal.before)
        self._compact.keep(hold, proposal)
        note(f"exchange {hold.exchange}, by {self._name}: {proposal_words(proposal, hold.window)}.")


def hold_words(hold: HoldInfo) -> str:
    """Describe a held request in one sentence, with the time until it is forwarded."""
    left = max(0, round(hold.until - time()))
    request = plain(f"{hold.client} {hold.model}".strip(), 60)
    if hold.tokens is not None:
        request += f", {number(hold.tokens)} tokens"
        request += f" of {number(hold.window)}" if hold.window else ""
    if hold.band is not None:
        request += f" ({number(hold.band[0])} to {number(hold.band[1])})"
    return f"held ({hold.why}): exchange {hold.exchange}, {request}; forwarded unchanged in {left} s unless you act."


def change_question(proposal: Proposal | None) -> Question:
    """Return everything that the policy would remove from the request and add to it, as a question."""
    if proposal is None or proposal.after is None:
        return Question("Nothing would change.", "")
    before, after = _lines(proposal.before), _lines(proposal.after)
    diff = difference(
        before.encode("utf-8", "backslashreplace"), after.encode("utf-8", "backslashreplace")
    )
    return Question("What would be removed (-) and added (+):", diff, is_diff=True)


def _lines(buffer: Buffer) -> str:
    """Return every message as lines: texts unchanged, everything else as JSON."""
    lines: list[str] = []
    for message in buffer.messages:
        lines.append(f"[{message.role}]")
        lines += [getattr(part, "text", None) or dumps(write_part(part)) for part in message.parts]
    return "".join(f"{line}\n" for line in lines)


def _ask_terminal(prompt: str) -> str:
    forget_typed()
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return sys.stdin.readline()
