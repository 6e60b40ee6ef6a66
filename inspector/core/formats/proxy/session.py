"""What a recording holds: its threads by name, side calls with what came of them, notes."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.formats.proxy.conversations import Conversations
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.proxy.keys import ClientKey
from inspector.core.message import Message
from inspector.core.prefix import Prefix
from inspector.core.session import Problem, Session, SideCall, Thread

_NOTES = 20
_EARLY = 50
"""Side calls that wait for their thread, at most."""
_GIST = 160


class RecordingSession:
    """Knows which exchange belongs where, and says it."""

    def __init__(self, conversations: Conversations) -> None:
        self.missing: dict[int, int] = {}
        """Line of the requests, by exchange, that go on from a response which is not in the file."""
        self.held: list[Exchange] = []
        self.rewritten: dict[int, Exchange] = {}
        """Exchanges that were sent otherwise than asked, by line."""
        self._conversations = conversations
        self._threads: dict[int, Conversation] = {}
        self._asides: list[tuple[Exchange, int]] = []
        """With the number of threads that were known then."""
        self._early: list[Exchange] = []
        """Side calls whose thread has not begun yet: a title, a prewarm, a router."""
        self._notes: list[str] = []
        self._id = ""

    def begins(self, value: Mapping[str, Any]) -> None:
        """The first record."""
        self._id = self._id or (value["id"] if isinstance(value.get("id"), str) else "")

    def note(self, value: Mapping[str, Any]) -> None:
        """Something that the proxy wants said."""
        if isinstance(what := value.get("what"), str):
            self._notes.append(what)

    def placed(self, one: Exchange, thread: Conversation) -> None:
        """The exchange is a step of that thread."""
        self._threads[id(one)] = thread
        if len(thread.steps) == 1 and self._early:
            self._claim(thread)

    def aside(self, one: Exchange, thread: Conversation | None) -> None:
        """The exchange is a side call, made for that thread."""
        if thread is not None:
            self._threads[id(one)] = thread
        elif one.endpoint.dialect is not None:
            self._early = [*self._early[-_EARLY:], one]
        self._asides.append((one, len(self._conversations.all)))

    def _claim(self, begun: Conversation) -> None:
        """The early side calls that were made for a thread. Of a kind those that came on one connection: two clients
        may be given the same task."""
        taken: dict[str, tuple[int, int]] = {}
        for early in sorted(self._early, key=lambda one: one.connection not in begun.connections):
            if taken.get(early.kind, early.connection) == early.connection and self._conversations.owner(early, begun):
                taken[early.kind] = early.connection
                self._threads[id(early)] = begun
        self._early = [early for early in self._early if id(early) not in self._threads]

    def thread_of(self, one: Exchange) -> Conversation | None:
        """The thread that the exchange belongs to, as far as it is known."""
        return self._threads.get(id(one))

    # -- the session -------------------------------------------------------------------------------------------------

    def session(self, problems: Sequence[Problem]) -> Session:
        """Everything so far."""
        steps, singles = steps_and_singles([one for one in self._conversations.all if one.steps])
        for one in steps:
            self._conversations.adopt(one)
        names = _names(steps)
        several = sum(one.parent is None for one in steps) > 1
        threads = tuple(_thread(one, names, several) for one in steps)
        clients = dict.fromkeys(one.key.client for one in steps if one.key.client)
        return Session(
            "proxy",
            threads,
            problems,
            client=", ".join(clients),
            id=(steps[0].key.session if steps and steps[0].key.strong else "") or self._id,
            notes=tuple(self._sentences(several, len(steps))),
            side_calls=self._side_calls(names, singles),
        )

    def _side_calls(self, names: Mapping[int, str], singles: Sequence[Conversation]) -> Sequence[SideCall]:
        made = {
            id(call): n for one in self._conversations.all for n, each in enumerate(one.made) for call in each.calls
        }
        found: list[tuple[int, SideCall]] = []
        for one, known in self._asides:
            thread = self._threads.get(id(one)) or self._conversations.named_by(one, known)
            found.append((one.line, _aside(one, thread, names, made.get(id(one)))))
        owners: dict[ClientKey, Conversation] = {}
        for each in self._conversations.all if singles else ():
            if each.number in names:
                owners.setdefault(each.key, each)
        for single in singles:
            (one,) = single.steps
            found.append((one.line, _aside(one, owners.get(single.key), names, None, "call without tools")))
        return Prefix([call for _, call in sorted(found, key=lambda pair: pair[0])])

    def _sentences(self, several: bool, count: int) -> list[str]:
        told = []
        if several:
            told.append(f"The recording holds several sessions: {count} threads, each with its client in its title.")
        if self.missing:
            lines = ", ".join(map(str, list(self.missing.values())[:5])) + (", ..." if len(self.missing) > 5 else "")
            told.append(f"Line {lines}: goes on from a response that is not in the file; what was before is unknown.")
        told += islice(self._changed(), _NOTES)
        waiting = [one for one in self.held if not one.released and one.reply is None]
        told += [f"Exchange {one.number} (line {one.line}) is held: {one.held}." for one in waiting[:_NOTES]]
        return told + self._notes[:_NOTES]

    def _changed(self) -> Iterator[str]:
        """A sentence for each session of which something was forwarded otherwise than its client sent it."""
        found: dict[tuple[str, str], list[Exchange]] = {}
        for one in self.rewritten.values():
            found.setdefault((one.key.client, one.key.session), []).append(one)
        for (client, session), those in found.items():
            whose = " ".join(word for word in (client, session[:13]) if word)
            lead = f"{whose}: " if whose and len(found) > 1 else ""
            first, last = those[0], those[-1]
            if first is last:
                yield f"{lead}exchange {_place(first)} was not forwarded as the client sent it: {_sizes(first)}."
            else:
                yield (
                    f"{lead}{len(those):,} requests were not forwarded as the client sent them: exchange "
                    f"{_place(first)}, {_sizes(first)}, to exchange {_place(last)}, {_sizes(last)}."
                )


def _place(one: Exchange) -> str:
    return f"{one.number} (line {one.line})"


def _sizes(one: Exchange) -> str:
    return f"{one.asked.view.length:,} messages became {one.body.view.length:,}"


def _aside(
    one: Exchange, thread: Conversation | None, names: Mapping[int, str], made: int | None, kind: str = ""
) -> SideCall:
    if thread is None or thread.number not in names:
        found = one.side_call("", 0, made)
    else:
        before = bisect_left(thread.steps, one.line, key=lambda step: step.line)
        found = one.side_call(names[thread.number], before, made)
    return found if not kind else SideCall(kind, *[getattr(found, name) for name in SideCall.__slots__[1:]])


def steps_and_singles(found: list[Conversation]) -> tuple[list[Conversation], list[Conversation]]:
    """The threads, that of the first real work in front, and the single calls without tools beside such work of the
    same client's session (or, without keys, of the same scope)."""
    worked = [one for one in found if one.worked]
    sessions = {(one.key.session, one.key.client) for one in worked}
    singles, steps = list[Conversation](), list[Conversation]()
    for one in found:
        is_single = not one.worked and len(one.steps) == 1 and (one.key.session, one.key.client) in sessions
        (singles if is_single else steps).append(one)
    first = next((one for one in (*worked, *steps) if one.parent is None), None)
    return sorted(steps, key=lambda one: one is not first), singles


def _names(steps: Sequence[Conversation]) -> dict[int, str]:
    """Thread id by number of the conversation: stable, unique."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for n, one in enumerate(steps):
        own = one.key.thread if one.key.sub else one.key.session if one.key.strong and one.parent is None else ""
        name = "main" if n == 0 else own or f"thread-{one.number + 1}"
        names[one.number] = name if name not in taken else f"{name}-{one.number + 1}"
        taken.add(names[one.number])
    return names


def _thread(one: Conversation, names: Mapping[int, str], several: bool) -> Thread:
    parent = names.get(one.parent.number, "") if one.parent is not None else ""
    title = one.label or one.asked or (f"sub-agent of {parent}" if parent else "")
    if one.parent is None:
        whose = " ".join(word for word in (one.key.client, one.key.session[:13]) if word)
        title = f"{whose}: {title}".strip(": ") if several else ""
    return one.thread(names[one.number], title, parent, one.parent_call)


_INNER = re.compile(r"<(summary|state_snapshot)>\s*(.*)", re.DOTALL)


def gist(messages: Sequence[Message]) -> str:
    """How a summary begins, so that it is known again in the buffer it becomes part of; empty for a short answer."""
    text = "\n".join(message.text for message in messages if message.role == "assistant").strip()
    inner = _INNER.search(text)
    begun = (inner[2] if inner else text).partition("</")[0].strip()[:_GIST]
    return begun if len(begun) >= 20 else ""
