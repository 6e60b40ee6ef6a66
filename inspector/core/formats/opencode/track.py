"""One session of opencode: its stored messages, which are written again and again until they are complete.

What is complete is laid once; what is not, each time somebody asks. Where a complete message says something else later
(a turn was taken back, an old one was edited), all is laid anew, from messages that are read already.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.core.buffer import View
from inspector.core.formats.opencode.build import SessionBuilder
from inspector.core.formats.opencode.content import StoredPart, created, read_assistant, read_user, string
from inspector.core.prefix import Prefix
from inspector.core.session import SideCall, Thread
from inspector.core.untyped import object_of

_PATIENCE = 8
"""So many messages later nobody completes one any more."""


class StoredRow:
    """A stored message and its parts, in order."""

    __slots__ = ("_last", "_ordered", "_unit", "info", "parts")

    def __init__(self) -> None:
        self.info: Mapping[str, Any] = {}
        self.parts: dict[str, Mapping[str, Any]] = {}
        self._ordered: list[Mapping[str, Any]] | None = None
        self._unit: StoredPart | None = None
        self._last = False

    def change(self) -> None:
        """It says something else from now on."""
        self._ordered = self._unit = None

    def ordered(self) -> list[Mapping[str, Any]]:
        """The parts, by their ids: those grow with time."""
        if self._ordered is None:
            self._ordered = [self.parts[name] for name in sorted(self.parts)]
        return self._ordered

    def unit(self, *, last: bool) -> StoredPart:
        """What it is to the model."""
        if self._unit is None or self._last != last:
            self._last = last
            if self.info.get("role") == "assistant":
                self._unit = read_assistant(self.info, self.ordered(), last=last)
            else:
                self._unit = read_user(self.info, self.ordered())
        return self._unit

    def complete(self) -> bool:
        """Will nothing more come?"""
        if self.info.get("role") != "assistant":
            return bool(self.parts)
        ended = "completed" in object_of(self.info, "time") or self.info.get("error") is not None
        states = (object_of(part, "state").get("status") for part in self.parts.values() if part.get("type") == "tool")
        return ended and all(status in ("completed", "error") for status in states)


class StoredTrack:
    """A session as rows of it come, in any order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.info: Mapping[str, Any] = {}
        self._stored: dict[str, StoredRow] = {}
        self._order: list[tuple[int, str]] = []
        """(time, id) of the stored messages that have come themselves."""
        self._build = SessionBuilder()
        self._laid: list[StoredPart] = []
        """What was laid, by place in the order."""
        self._asked: tuple[SessionBuilder, int] | None = None

    def take_message(self, info: Mapping[str, Any]) -> None:
        """A stored message, new or once more."""
        name = string(info, "id")
        stored = self._stored.setdefault(name, StoredRow())
        key = (created(info), name)
        if not stored.info or (created(stored.info), name) != key:
            if stored.info:
                self._order.remove((created(stored.info), name))
                self._lay_anew()
            at = bisect_right(self._order, key)
            if at < len(self._laid):
                self._lay_anew()
            self._order.insert(at, key)
        stored.info = info
        self._changed(stored)

    def take_part(self, part: Mapping[str, Any], message: str) -> None:
        """A part of a stored message, new or once more."""
        stored = self._stored.setdefault(message, StoredRow())
        stored.parts[string(part, "id")] = part
        self._changed(stored)

    def _changed(self, stored: StoredRow) -> None:
        self._asked = None
        stored.change()
        if not stored.info or not self._laid:
            return
        at = bisect_right(self._order, (created(stored.info), string(stored.info, "id"))) - 1
        if at < len(self._laid):
            former, unit = self._laid[at], stored.unit(last=False)
            if (former.messages, former.steps, former.sent) != (unit.messages, unit.steps, unit.sent):
                self._lay_anew()
            elif former.pruned != unit.pruned:
                fresh = tuple(one for one in unit.pruned if one not in former.pruned)
                self._build.note_pruned(StoredPart((), pruned=fresh))
                self._laid[at] = unit

    def _lay_anew(self) -> None:
        self._build, self._laid, self._asked = SessionBuilder(), [], None

    def _settle(self) -> None:
        order = self._order
        while len(self._laid) < len(order):
            at = len(self._laid)
            stored = self._stored[order[at][1]]
            if not stored.complete() and at + _PATIENCE >= len(order):
                return
            unit = stored.unit(last=False)
            self._build.take(stored.info, stored.ordered(), unit)
            self._laid.append(unit)

    def _soon(self) -> SessionBuilder:
        """A fork with what is not complete yet laid on it."""
        if self._asked is None:
            self._settle()
            fork = SessionBuilder(self._build)
            for at in range(len(self._laid), len(self._order)):
                stored = self._stored[self._order[at][1]]
                fork.take(stored.info, stored.ordered(), stored.unit(last=at == len(self._order) - 1))
            fork.prune()
            self._asked = fork, self._end(fork)
        return self._asked[0]

    def _end(self, fork: SessionBuilder) -> int:
        """The length of the buffer: shorter, where the user has taken turns back and not gone on yet."""
        reverted = string(object_of(self.info, "revert"), "messageID")
        start = fork.start(reverted) if reverted else None
        return len(fork.stretch) if start is None else start

    def reverted(self) -> bool:
        """Has the user taken turns back that are still in the file?"""
        return bool(string(object_of(self.info, "revert"), "messageID"))

    def aside(self, thread: str) -> list[SideCall]:
        """The calls that wrote summaries, as calls of that thread."""
        fork = self._soon()
        return [replace(call, thread=thread) for call in self._build.aside + fork.aside]

    def started(self, name: str) -> str:
        """The tool call that started the session of that name; empty where none tells."""
        for stored in self._stored.values():
            for part in stored.parts.values():
                state = object_of(part, "state")
                told = {object_of(one, "metadata").get("sessionId") for one in (state, part)}
                if name in told:
                    return string(part, "callID")
        return ""

    def thread(self, name: str, parent: str, parent_call: str) -> Thread:
        """The thread so far: it shares what is settled."""
        fork, build = self._soon(), self._build
        end = self._asked[1] if self._asked else len(fork.stretch)
        requests = Prefix(build.requests, then=fork.requests)
        model = requests[-1].model if requests else string(object_of(self.info, "model"), "id")
        return Thread(
            id=name,
            title=string(self.info, "title"),
            model=model,
            requests=requests,
            messages=Prefix(build.messages, then=fork.messages),
            end=View(fork.stretch, end),
            compactions=Prefix(build.compactions, then=fork.compactions),
            parent=parent,
            parent_call=parent_call,
        )

    @property
    def order(self) -> Sequence[tuple[int, str]]:
        """(time, id) of the stored messages."""
        return self._order
