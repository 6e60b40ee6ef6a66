"""Held requests on the command line: a policy does what is due, or the person is asked on the terminal.

Without a policy and without a terminal a held request waits until its client's patience ends, and then goes as it was.
"""

import argparse
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import time

from inspector.agent.tools.common import Question
from inspector.agent.tools.writing import difference
from inspector.cli.asking import forget_typed, show
from inspector.cli.output import note, number, plain
from inspector.cli.select import add_setting
from inspector.core.buffer import Buffer
from inspector.core.dialects.neutral import write_part
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.policies.settings import said as said_window
from inspector.proxy.holds.compacting import Compactor, Proposal, told
from inspector.proxy.holds.hold import HoldInfo, Rule
from inspector.proxy.holds.holds import Holds

KEYS = "[f]orward as it was, [c]ompact with {policy}, [s]how what that changes, [d]rop: "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What concerns held requests."""
    group = parser.add_argument_group("holding requests (changes what the provider reads)")
    group.add_argument("--pause-each", action="store_true", help="hold every request of a conversation")
    group.add_argument(
        "--compact-with",
        metavar="POLICY",
        help="do by this policy what is due on each held request, without asking; summaries are made offline",
    )
    add_setting(group, "a setting of that policy")


def rule_of(arguments: argparse.Namespace) -> Rule | None:
    """When requests are to be held; None where nobody asked for it. Raises InspectorError."""
    if arguments.compact_with and arguments.pause_at is None and not arguments.pause_each:
        raise InspectorError("--compact-with needs --pause-at RATIO (or --pause-each): it acts on held requests.")
    if arguments.pause_each:
        return Rule("each", window=arguments.window)
    if arguments.pause_at is None:
        return None
    return Rule("watermark", arguments.pause_at, arguments.window, always=bool(arguments.compact_with))


class Attendant:
    """Looks after what is held, on a thread of its own. `ask` says what the person wants: f, c or d."""

    def __init__(self, holds: Holds, arguments: argparse.Namespace, ask: Callable[[str], str] | None = None) -> None:
        self._holds = holds
        self._compact = Compactor(
            arguments.compact_with or "roku", (*said_window(arguments.window), *(arguments.set or ()))
        )
        self._name = arguments.compact_with or "roku"
        self._by_itself = bool(arguments.compact_with)
        self._ask = ask or (_ask if sys.stdin.isatty() and sys.stderr.isatty() else None)
        self._seen: set[int] = set()
        self._queue: SimpleQueue[HoldInfo] = SimpleQueue()
        holds.subscribe(self._told)
        threading.Thread(target=self._work, name="attendant", daemon=True).start()

    def _told(self, shown: tuple[HoldInfo, ...]) -> None:
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
                self._let_go(hold)

    def _attend(self, hold: HoldInfo) -> None:
        note(described(hold))
        if not self._by_itself and self._ask is None:
            return
        proposal = None if hold.cannot else self._proposed(hold)
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

    def _proposed(self, hold: HoldInfo) -> Proposal:
        return self._compact.propose(
            hold, self._holds.buffer(hold.id), lambda buffer: self._holds.predicted(hold.id, buffer)
        )

    def _compacted(self, hold: HoldInfo, proposal: Proposal | None, looked: Proposal | None) -> None:
        """With what was proposed, or as it was; either way it is told."""
        if proposal is None or proposal.after is None:
            self._holds.release(hold.id)
            note(f"exchange {hold.exchange}: {hold.cannot if looked is None else looked.why}; it goes as it was.")
            return
        self._holds.release(hold.id, proposal.after, proposal.before)
        self._compact.keep(hold, proposal)
        note(f"exchange {hold.exchange}, by {self._name}: {told(proposal, hold.window)}.")

    def _let_go(self, hold: HoldInfo) -> None:
        try:
            self._holds.release(hold.id)
        except InspectorError:
            return  # it has gone by itself


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
    told = (
        f"[{message.role}]\n"
        + "".join(f"{getattr(part, 'text', None) or dumps(write_part(part))}\n" for part in message.parts)
        for message in buffer.messages
    )
    return "".join(told)


def _ask(prompt: str) -> str:
    forget_typed()
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return sys.stdin.readline()
