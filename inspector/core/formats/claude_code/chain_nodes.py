"""What is sent, or left out, as a whole in a buffer: words of the user's side, or one answer with its tool results.

The records of a file hang on each other by `parentUuid`; every record with a uuid belongs to one node, and nodes form a
chain. A node is open until it is laid into a stretch; after that its messages do not change.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, NOT_IN_FILE, Prompt, Stretch, View
from inspector.core.dialects.anthropic import read_edits
from inspector.core.dialects.anthropic_usage import has_counts, read_counts
from inspector.core.formats.claude_code.records import numbers
from inspector.core.message import Message, Part, Thinking, ToolCall
from inspector.core.usage import Usage, is_absurd


class ChainNode:
    """Messages that came into the buffer at one place."""

    __slots__ = ("again", "anchor", "end", "epoch", "messages", "prev", "stretch", "turn", "waits")

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self.messages = tuple(messages)
        self.again = False
        """Kept from before a boundary: its messages were counted there."""
        self.epoch = 0
        """How many boundaries lie before it."""
        self.anchor = object()
        """Identifies the nearest model call at or before it, or the root of its epoch: equal for all nodes between two
        calls. Not the node itself: a node that holds itself would outlive its session until the next collection.
        """
        self.prev: ChainNode | None = None
        """The node before it in the chain."""
        self.stretch: Stretch | None = None
        """Where it was laid, and the length of that stretch with it."""
        self.end = 0
        self.turn = 0
        """Where in that stretch the turn began before which thinking was taken out."""
        self.waits = ""
        """uuid of an ancestor that had not been read when this came."""

    def drafts(self) -> Sequence[Message]:
        """Return its messages, as far as they have come."""
        return self.messages

    def view(self) -> View:
        """Return the buffer up to and with this node."""
        return EMPTY_VIEW if self.stretch is None else View(self.stretch, self.end)

    def uuids(self) -> list[str]:
        """Return the records it was made of, in order."""
        return list(dict.fromkeys(_record_of(message) for message in self.messages))

    def part(self, uuids: Collection[str]) -> "ChainNode":
        """Return a copy with only the messages of these records."""
        copy = ChainNode([message for message in self.messages if _record_of(message) in uuids])
        copy.again = True
        return copy


def _record_of(message: Message) -> str:
    """Return the record of a message: the further messages of one record are called `uuid.something`."""
    return message.id.partition(".")[0]


_FINAL_AT_LAST = (2, 1, 8)
"""Up to this version the last line holds the final output although no stop reason was written."""


class AnswerNode(ChainNode):
    """One answer of the model, collected from its lines, and the results of its tool calls."""

    __slots__ = (
        *("edits", "finish", "id", "line", "lines", "model", "parts"),
        *("prompt", "real", "request", "results", "sent", "time", "version"),
        *("_counts", "_grew", "_output", "_usage"),
    )

    def __init__(self, id_: str, line: int, time: str, model: str, real: bool) -> None:
        super().__init__()
        self.id, self.line, self.time, self.model, self.real = id_, line, time, model, real
        self.parts: list[Part] = []
        self.lines: list[tuple[str, int]] = []
        """uuid of each line, and how many parts there were before it."""
        self.results: dict[str, Message] = {}
        """By tool call. It holds the result of a call that was answered late, too, which is in another node."""
        self.prompt: Prompt = NOT_IN_FILE
        self.sent: View = EMPTY_VIEW
        """What the model was sent with the call."""
        self.finish = self.version = ""
        self.request = ""
        """The provider's id of the call."""
        self.edits: Sequence[Mapping[str, Any]] = ()
        """What the provider says it cleared before the model read it."""
        self._counts: dict[str, Any] | None = None
        self._output = -1
        self._grew = False
        """What was reported, once it was asked for."""
        self._usage: Usage | None = None
        """What the counts come to, once somebody asked."""

    def drafts(self) -> Sequence[Message]:
        if self.messages:
            return self.messages
        if not self.parts:
            return tuple(self.results.values())
        return (self._answer(), *self.results.values())

    def _answer(self) -> Message:
        parts = tuple(self.parts)
        details = self._counts.get("output_tokens_details") if self._counts is not None else None
        tokens = details.get("thinking_tokens") if isinstance(details, dict) else None
        if tokens and type(tokens) is int:  # from 2.1.330 on
            parts = _with_thinking_tokens(parts, tokens)
        return Message(self.id, "assistant", parts, "", False, "", self.line, self.time)

    def add_figures(self, message: dict[str, Any], version: Any) -> bool:
        """Take what one more line reports of the call. False if it holds counts that there cannot be."""
        stop, counts = message.get("stop_reason"), message.get("usage")
        if isinstance(stop, str):
            self.finish = stop
        if isinstance(version, str):
            self.version = version
        if message.get("context_management"):
            self.edits = read_edits(message)
        is_repeated = counts == self._counts
        if is_repeated and counts is not None and not isinstance(stop, str):
            return True  # most lines repeat the one before
        self._usage = None
        if not is_repeated and is_absurd(counts):
            return False
        if isinstance(counts, dict):
            self._take_counts(counts)
        return True

    def _take_counts(self, counts: dict[str, Any]) -> None:
        """Take the counts of a line; of several lines those with the most output are kept."""
        output = counts.get("output_tokens")
        output = output if type(output) is int else 0
        if self._counts is not None and output < self._output:
            return
        if self._counts is not None and output > self._output:
            self._grew = True
        self._counts, self._output = counts, output

    def has_other_prompt(self, counts: Any) -> bool:
        """Do these counts report a prompt of another size than the lines so far?"""
        current = self.usage()
        if current is None or not has_counts(counts) or is_absurd(counts):
            return False
        return read_counts(counts, output_is_final=True).prompt != current.prompt

    def usage(self) -> Usage | None:
        """The call's usage; `output_is_final` False where only a lower bound of the output was recorded."""
        if self._usage is None and self._counts is not None and has_counts(self._counts):
            is_final = bool(self.finish) or (self._grew and numbers(self.version) <= _FINAL_AT_LAST)
            self._usage = read_counts(self._counts, output_is_final=is_final)
        return self._usage

    def holds(self, parts: Sequence[Part]) -> bool:
        """Does it have all of these blocks?"""
        return all(self._has(part) for part in parts)

    def add_line(self, uuid: str, parts: Sequence[Part]) -> list[ToolCall]:
        """Take the blocks of one line that are not there already (copies in resumed and forked sessions).

        Returns:
            The tool calls among those that were taken.
        """
        self.lines.append((uuid, len(self.parts)))
        if self.parts:
            parts = [part for part in parts if not self._has(part)]
        self.parts += parts
        return [part for part in parts if isinstance(part, ToolCall)]

    def _has(self, part: Part) -> bool:
        kind = part.__class__
        return any(kind is other.__class__ and part == other for other in self.parts[-_LOOK_BACK:])

    def add_result(self, message: Message) -> None:
        """Take a tool result, but not a second one for the same call."""
        result = message.result
        if result is not None:
            self.results.setdefault(result.call_id, message)

    def _by_line(self) -> list[tuple[str, Sequence[Part]]]:
        ends = [*(start for _, start in self.lines[1:]), len(self.parts)]
        return [
            (uuid, self.parts[start:end])
            for (uuid, start), end in zip(self.lines, ends, strict=False)
        ]

    def absorb(self, other: "AnswerNode") -> None:
        """Take the lines and results of another part of the same answer."""
        for uuid, parts in other._by_line():
            self.add_line(uuid, parts)
        for message in other.results.values():
            self.add_result(message)

    def uuids(self) -> list[str]:
        return [*(uuid for uuid, _ in self.lines), *map(_record_of, self.results.values())]

    def part(self, uuids: Collection[str]) -> "AnswerNode":
        copy = AnswerNode(self.id, self.line, self.time, self.model, real=False)
        copy.again = True
        for uuid, parts in self._by_line():
            if uuid in uuids:
                copy.add_line(uuid, parts)
        for message in self.results.values():
            if _record_of(message) in uuids:
                copy.add_result(message)
        return copy


def _with_thinking_tokens(parts: tuple[Part, ...], tokens: int) -> tuple[Part, ...]:
    """Put the tokens reported for the thinking of an answer on its block, if there is just one."""
    thinking = [part for part in parts if isinstance(part, Thinking)]
    if len(thinking) != 1:
        return parts
    return tuple(
        replace(part, tokens=tokens) if isinstance(part, Thinking) else part for part in parts
    )


_LOOK_BACK = 16
"""Copies of a line follow closely; looking further back would make a long answer quadratic."""


def last_prompt(nodes: Sequence[ChainNode]) -> int | None:
    """Return the index of the last node in which the user speaks, not a tool or the client; None if none does."""
    for n in range(len(nodes) - 1, -1, -1):
        if any(message.role == "user" and not message.mark for message in nodes[n].messages):
            return n
    return None


def travelling_together(messages: list[Message]) -> list[Message]:
    """Mark neighbours from the user's side as one wire message, as the client sends them; returns the same list."""
    start = 0
    for n, message in enumerate(messages):
        role = message.role
        if role == "assistant" or role == "system":
            if n > start + 1:
                _join(messages, start, n)
            start = n + 1
    if len(messages) > start + 1:
        _join(messages, start, len(messages))
    return messages


def _join(messages: list[Message], start: int, end: int) -> None:
    first = messages[start].id
    for n in range(start, end):
        m = messages[n]
        if m.together != first:
            messages[n] = Message(m.id, m.role, m.parts, first, m.summary, m.mark, m.line, m.time)
