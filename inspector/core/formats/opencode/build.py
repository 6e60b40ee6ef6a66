"""The buffer of an opencode session as it goes: its messages, calls, summaries, and what was pruned.

After a summary opencode sends the question, the summary, the messages that were to stay, and what came later: not in
the order in which they were written. What is laid here is settled; the rest is laid on a fork, anew each time.
"""

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Any

from inspector.core.buffer import Stretch, View
from inspector.core.formats.opencode.content import StoredPart, cleared, created, string, time_of
from inspector.core.formats.times import iso_time
from inspector.core.message import Message
from inspector.core.session import Compaction, Request, SideCall
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
