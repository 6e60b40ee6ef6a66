"""Read a session of opencode before version 2: stored messages and their parts, rewritten until they are complete.

After a compaction opencode sends the question, the summary, the messages that stay, and the later messages. This is not
the order in which they are stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any, Self

from inspector.core.formats.opencode.content import (
    MessageUnit,
    cleared_result,
    created,
    read_assistant,
    read_opencode_user,
    string,
    time_of,
)
from inspector.core.formats.reading import iso_time
from inspector.core.formats.stored import SessionRows, ThreadLayer
from inspector.core.message import Message
from inspector.core.session import Compaction
from inspector.core.untyped import object_of, whole_of

_REWRITES = 20_000_000
"""Most messages examined because of pruned results, so that a damaged file cannot take for ever."""


class FirstSession(SessionRows):
    """The stored messages and parts of one session. Rows may come in any order."""

    def __init__(self, name: str) -> None:
        super().__init__(name, FirstLayer)
        self._stored: dict[str, _StoredMessage] = {}

    def take_message(self, info: Mapping[str, Any], row: Mapping[str, Any]) -> None:
        """Add a stored message, or replace it if its id is known."""
        stored = self._changed(string(info, "id"))
        stored.info, stored.place = info, whole_of(row.get("place"))

    def take_part(self, part: Mapping[str, Any], message: str) -> None:
        """Add a part of the stored message `message`, or replace it if its id is known."""
        self._changed(message).parts[string(part, "id")] = part

    def _changed(self, name: str) -> "_StoredMessage":
        stored = self._stored.setdefault(name, _StoredMessage())
        stored.unit = None
        return stored

    def _units(self) -> Sequence[MessageUnit]:
        stored_messages = [stored for stored in self._stored.values() if stored.info]
        stored_messages.sort(key=_StoredMessage.order)
        return [
            stored.read(last=n == len(stored_messages))
            for n, stored in enumerate(stored_messages, 1)
        ]

    def pruned_later(self) -> int:
        """Return 0, because this version records when each result was cleared."""
        return 0

    def started(self, name: str) -> str:
        """Return the id of the tool call that started the session `name`; empty if not recorded."""
        for stored in self._stored.values():
            for part in stored.parts.values():
                state = object_of(part, "state")
                names = {object_of(holder, "metadata").get("sessionId") for holder in (state, part)}
                if name in names:
                    return string(part, "callID")
        return ""


class _StoredMessage:
    """A stored message and its parts."""

    def __init__(self) -> None:
        self.info: Mapping[str, Any] = {}
        self.place: int | None = None
        """Index of the message in an export; None for a row of the database."""
        self.parts: dict[str, Mapping[str, Any]] = {}
        self.unit: tuple[MessageUnit, bool] | None = None
        """The result of `read`, and the value of `last` for which it was read; None if it must be read again."""

    def order(self) -> tuple[int, int, str]:
        """Return the sort key of a message: an export lists messages in order, rows are ordered by time."""
        if self.place is not None:
            return self.place, 0, ""
        return 0, created(self.info), string(self.info, "id")

    def read(self, *, last: bool) -> MessageUnit:
        """Return the message as it is sent to the model. `last` says that it is the last message of the session."""
        if self.unit is None or self.unit[1] != last:
            # Ids of rows grow with time.
            names = sorted(self.parts) if self.place is None else list(self.parts)
            parts = [self.parts[name] for name in names]
            is_answer = self.info.get("role") == "assistant"
            read = (
                read_assistant(self.info, parts, last=last)
                if is_answer
                else read_opencode_user(self.info, parts)
            )
            self.unit = self.unit[0] if self.unit and self.unit[0] == read else read, last
        return self.unit[0]


class FirstLayer(ThreadLayer):
    """Appends the stored messages of a session to its thread, in order."""

    def __init__(self) -> None:
        super().__init__()
        self._laid_units: list[tuple[str | None, int]] = []
        """Id of each stored message in the buffer (None for a summary), and its number of messages there."""
        self._marker: Mapping[str, Any] = {}
        """The compaction part whose summary has not been read yet; empty if there is none."""
        self._marked = ""
        self._pruned: list[tuple[int, str]] = []
        self._gone_through = 0

    def copy(self) -> Self:
        other = super().copy()
        other._laid_units, other._pruned = list(self._laid_units), list(self._pruned)
        return other

    def take(self, unit: MessageUnit) -> None:
        info = unit.info
        is_summary = info.get("role") == "assistant" and info.get("summary") is True
        if unit.steps and not is_summary:
            self._prune(created(info))
        for message in unit.pruned:
            heappush(self._pruned, message)
        if is_summary:
            self._take_summary(info, unit)
            return
        name = string(info, "id")
        if unit.marker:
            self._marker, self._marked = unit.marker, name
        self._laid_units.append((name, len(unit.messages) if unit.sent else 0))
        self._take_steps(info, unit)

    def end(self, about: Mapping[str, Any]) -> None:
        """Apply prunings since the last call, and cut off turns that the user has reverted."""
        self._prune()
        if not self.thread.calls:
            self.thread.model = string(object_of(about, "model"), "id")
        names = [name for name, _ in self._laid_units]
        reverted = string(object_of(about, "revert"), "messageID")
        if reverted in names:
            self.thread.cut(sum(count for _, count in self._laid_units[: names.index(reverted)]))

    def _take_steps(self, info: Mapping[str, Any], unit: MessageUnit) -> None:
        model = string(info, "modelID") or string(object_of(info, "model"), "modelID")
        time = unit.messages[0].time if unit.messages else ""
        laid = 0
        for step in unit.steps:
            self._lay(unit, laid, step.before)
            laid = step.before
            self.thread.call(
                step.usage,
                model,
                iso_time(step.begun) or time,
                step.finish,
                elapsed_ms=step.elapsed_ms,
                first_byte_ms=step.first_byte_ms,
            )
        self._lay(unit, laid, len(unit.messages))

    def _lay(self, unit: MessageUnit, start: int, end: int) -> None:
        if unit.sent:
            self.thread.say(unit.messages[start:end])
        else:
            self.thread.note(unit.messages[start:end])

    def _take_summary(self, info: Mapping[str, Any], unit: MessageUnit) -> None:
        """Take a summary, which replaces the messages before the question except the tail that stays."""
        is_done = bool(unit.messages) and bool(string(info, "finish")) and info.get("error") is None
        number = self.thread.compactions if is_done else None
        for step in unit.steps:
            model = string(info, "modelID")
            time = time_of(info)
            self.thread.aside("compaction", step.usage, model, time=time, compaction=number)
        if is_done:
            self._cut(info, replace(unit.messages[0], summary=True))
        self.thread.note(unit.messages[1:] if is_done else unit.messages)

    def _cut(self, info: Mapping[str, Any], summary: Message) -> None:
        """Replace the messages before the question by the summary, except the tail that stays."""
        marker = self._marker if self._marked == string(info, "parentID") else {}
        names = [name for name, _ in self._laid_units]
        question = names.index(self._marked) if marker and self._marked in names else len(names)
        tail_id = string(marker, "tail_start_id")
        tail = names.index(tail_id) if tail_id in names[:question] else question
        tail_start = self._message_place(tail)
        question_start = self._message_place(question)
        messages = self.thread.view().messages()
        stays = messages[tail_start:question_start]
        self._laid_units = [
            *self._laid_units[question:],
            (None, 1),
            *self._laid_units[tail:question],
        ]
        compaction = Compaction(
            before_request=0,
            trigger=_trigger(marker),
            summary=summary,
            kept=len(stays),
            time=summary.time,
        )
        self.thread.begin_again(messages[question_start:], compaction, stays)
        self._marker, self._marked = {}, ""

    def _message_place(self, unit: int) -> int:
        """Return the index in the buffer at which a stored message begins."""
        return sum(count for _, count in self._laid_units[:unit])

    def _prune(self, until: int | None = None) -> None:
        """Clear the results that were pruned until a time. O(buffer) if there are any.

        Args:
            until: Time in ms since 1970; None clears all pruned results.
        """
        ids: set[str] = set()
        while self._pruned and (until is None or self._pruned[0][0] <= until):
            ids.add(heappop(self._pruned)[1])
        if not ids or self._gone_through > _REWRITES:
            return
        messages = self.thread.view().messages()
        self._gone_through += len(messages)
        rewritten: dict[int, tuple[Message, Message]] = {}
        for n, message in enumerate(messages):
            if message.id in ids and message.mark != "placeholder":
                rewritten[n] = (message, cleared_result(message))
        if rewritten:
            self.thread.clear(rewritten, "prune")


def _trigger(marker: Mapping[str, Any]) -> str:
    """Return why a compaction was requested; empty if not recorded."""
    if not marker:
        return ""
    if marker.get("overflow") is True:
        return "overflow"
    return "manual" if marker.get("auto") is False else "auto"
