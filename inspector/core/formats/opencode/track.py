"""One session of opencode: its stored messages, which are written again and again until they are complete.

What is complete is laid once; what is not, each time somebody asks. Where a complete message says something else later
(a turn was taken back, an old one was edited), all is laid anew, from messages that are read already.

After a summary opencode sends the question, the summary, the messages that were to stay, and what came later: not in
the order in which they were written.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

from inspector.core.buffer import Stretch, View
from inspector.core.formats.opencode.content import (
    StoredPart,
    cleared,
    created,
    read_assistant,
    read_user,
    string,
    time_of,
)
from inspector.core.formats.times import iso_time
from inspector.core.message import Message
from inspector.core.prefix import Prefix
from inspector.core.session import Compaction, Request, SideCall, Thread
from inspector.core.untyped import object_of

_REWRITES = 20_000_000
"""Messages that may be copied because results were pruned: a damaged file must not take for ever."""


class SessionBuilder:
    """Takes the stored messages in order."""

    def __init__(self, below: "SessionBuilder | None" = None) -> None:
        self._below = below
        self.messages: list[Message] = []
        self.requests: list[Request] = []
        self.compactions: list[Compaction] = []
        self.aside: list[SideCall] = []
        """The calls that wrote summaries."""
        self.stretch: Stretch = Stretch(below.stretch.view() if below else None)
        self._starts: dict[str, int] = {}
        """Where a stored message begins in the buffer; below, where it is not here."""
        self._before = len(below.requests) if below else 0
        self._compacted = len(below.compactions) if below else 0
        self._marker: Mapping[str, Any] = below._marker if below else {}
        """The compaction part that waits for its summary."""
        self._marked: str = below._marked if below else ""
        self._pruned: list[tuple[int, str]] = list(below._pruned) if below else []
        self._copied = 0

    def start(self, name: str) -> int | None:
        """Where a stored message begins in the buffer; None where it does not stand in it."""
        at = self._starts.get(name)
        if at is None and self._below is not None:
            return self._below.start(name)
        return at if at is None or at >= 0 else None

    def take(self, info: Mapping[str, Any], parts: list[Mapping[str, Any]], unit: StoredPart) -> None:
        """The next stored message."""
        name = string(info, "id")
        if unit.steps and info.get("summary") is not True:
            self.prune(created(info))
        self.note_pruned(unit)
        if info.get("role") == "assistant" and info.get("summary") is True:
            self._take_summary(info, unit)
            return
        self._starts[name] = len(self.stretch)
        for part in parts:
            if info.get("role") != "assistant" and part.get("type") == "compaction":
                self._marker, self._marked = part, name
        self.messages += unit.messages
        self._take_steps(info, unit)

    def _take_steps(self, info: Mapping[str, Any], unit: StoredPart) -> None:
        model = string(info, "modelID") or string(object_of(info, "model"), "modelID")
        time = unit.messages[0].time if unit.messages else ""
        laid = 0
        for step in unit.steps:
            self._lay(unit, laid, step.before)
            laid = step.before
            index = self._before + len(self.requests)
            view = self.stretch.view()
            begun = iso_time(step.begun) or time
            first, whole = step.first_byte_ms, step.elapsed_ms
            self.requests.append(
                Request(
                    index, view, usage=step.usage, model=model, time=begun, finish=step.finish, elapsed_ms=whole,
                    first_byte_ms=first,
                )
            )  # fmt: skip
        self._lay(unit, laid, len(unit.messages))

    def _lay(self, unit: StoredPart, start: int, end: int) -> None:
        for message in unit.messages[start:end] if unit.sent else ():
            self.stretch.append(message)

    # ---- summaries ---------------------------------------------------------------------------------------------------

    def _take_summary(self, info: Mapping[str, Any], unit: StoredPart) -> None:
        """A summary takes the place of what stood before the question, but for the tail that is to stay."""
        done = bool(unit.messages) and bool(string(info, "finish")) and info.get("error") is None
        made = self._compacted + len(self.compactions) if done else None
        index, model, time = self._before + len(self.requests), string(info, "modelID"), time_of(info)
        self.aside += [
            SideCall("compaction", "", index, made, model=model, usage=step.usage, time=time) for step in unit.steps
        ]
        if not unit.messages:
            return
        first = unit.messages[0]
        summary = Message(first.id, first.role, first.parts, "", done, first.mark, 0, first.time)
        self.messages += (summary, *unit.messages[1:])
        if done:
            self._cut(info, summary)

    def _cut(self, info: Mapping[str, Any], summary: Message) -> None:
        marker = self._marker if self._marked == string(info, "parentID") else {}
        question = self.start(self._marked) if marker else None
        tail = self.start(string(marker, "tail_start_id"))
        view = self.stretch.view()
        length = view.length
        question = length if question is None else question
        tail = question if tail is None or tail > question else tail
        messages = view.tail(tail)
        stays, asked = messages[: question - tail], messages[question - tail :]
        moved = {name: at - tail + len(asked) + 1 for name, at in self._since(tail) if at < question}
        moved |= {name: at - question for name, at in self._since(question)}
        self.stretch = Stretch(own=(*asked, summary, *stays))
        self._forget(moved)
        how = "overflow" if marker.get("overflow") is True else "manual" if marker.get("auto") is False else "auto"
        self.compactions.append(
            Compaction(
                before_request=self._before + len(self.requests),
                trigger=how if marker else "",
                summary=summary,
                kept=len(stays),
                time=summary.time,
            )
        )
        self._marker, self._marked = {}, ""

    def _since(self, start: int) -> list[tuple[str, int]]:
        """The stored messages that begin at `start` or later."""
        below = self._below._since(start) if self._below else []
        own = [(name, at) for name, at in self._starts.items() if at >= start]
        return [(name, at) for name, at in below if name not in self._starts] + own

    def _forget(self, moved: dict[str, int]) -> None:
        """Only these stand in the buffer now."""
        gone = {name: -1 for name, _ in self._below._since(0)} if self._below else {}
        self._starts = gone | moved

    # ---- pruning -----------------------------------------------------------------------------------------------------

    def note_pruned(self, unit: StoredPart) -> None:
        """Answers of tools that were cleared at some time."""
        for one in unit.pruned:
            heappush(self._pruned, one)

    def prune(self, until: int | None = None) -> None:
        """Clear what had been pruned by then (ms since 1970; None = ever). O(buffer), where there is anything."""
        ids: set[str] = set()
        while self._pruned and (until is None or self._pruned[0][0] <= until):
            ids.add(heappop(self._pruned)[1])
        if not ids:
            return
        view = self.stretch.view()
        messages = view.messages()
        found = [n for n, message in enumerate(messages) if message.id in ids and message.mark != "placeholder"]
        self._copied += view.length
        if not found or self._copied > _REWRITES:
            return
        changed = [cleared(message) if message.id in ids else message for message in messages[found[0] :]]
        self.stretch = Stretch(View(self.stretch, found[0]), changed)
        names = tuple(messages[n].id for n in found)
        index = self._before + len(self.requests)
        self.compactions.append(Compaction(index, "prune", "micro", cleared=names))


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
