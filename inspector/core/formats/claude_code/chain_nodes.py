"""Nodes of a chain: each holds messages from the user's side, or one answer with its tool results.

A buffer holds a node as a whole or not at all. Records name their parents by `parentUuid`; every record with a uuid
belongs to one node, and the nodes form a chain. A node may grow until its messages are appended to a stretch.
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
    """Messages that enter the buffer together."""

    __slots__ = ("again", "anchor", "end", "epoch", "messages", "prev", "stretch", "turn", "waits")

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self.messages = tuple(messages)
        self.again = False
        """True for a copy that a boundary keeps: its messages were counted before the boundary."""
        self.epoch = 0
        """Number of boundaries before the node."""
        self.anchor = object()
        """Identifies the nearest model call at or before the node, or the root of its epoch: equal for all nodes
        between two calls. A plain object, because a node that refers to itself would live until the next collection.
        """
        self.prev: ChainNode | None = None
        """The previous node of the chain."""
        self.stretch: Stretch | None = None
        """The stretch that holds the node's messages; None while the node is pending."""
        self.end = 0
        """Length of the stretch up to and including this node, in messages."""
        self.turn = 0
        """Index in the stretch of the message that began the turn; thinking before that index was removed."""
        self.waits = ""
        """uuid of an ancestor that was not yet read when this node was added; empty if there is none."""

    def drafts(self) -> Sequence[Message]:
        """Return the messages of the node so far."""
        return self.messages

    def view(self) -> View:
        """Return the buffer up to and including this node."""
        return EMPTY_VIEW if self.stretch is None else View(self.stretch, self.end)

    def uuids(self) -> list[str]:
        """Return the uuids of the node's records, in order."""
        return list(dict.fromkeys(_record_of(message) for message in self.messages))

    def part(self, uuids: Collection[str]) -> "ChainNode":
        """Return a copy with only the messages of these records."""
        copy = ChainNode([message for message in self.messages if _record_of(message) in uuids])
        copy.again = True
        return copy


def _record_of(message: Message) -> str:
    """Return the uuid of a message's record. Later messages of the same record have ids like `uuid.something`."""
    return message.id.partition(".")[0]


_FINAL_AT_LAST = (2, 1, 8)
"""Last version whose final line reports the final output tokens without a stop reason."""


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
        """uuid of each line, and the number of parts before that line."""
        self.results: dict[str, Message] = {}
        """Tool results by id of the tool call, also late results, whose messages are in another node."""
        self.prompt: Prompt = NOT_IN_FILE
        self.sent: View = EMPTY_VIEW
        """The buffer that was sent with the call."""
        self.finish = self.version = ""
        self.request = ""
        """The provider's id of the call."""
        self.edits: Sequence[Mapping[str, Any]] = ()
        """Context edits that the provider reports: what it cleared before the model read the request."""
        self._counts: dict[str, Any] | None = None
        self._output = -1
        self._grew = False
        """True if a later line reported more output tokens than an earlier line."""
        self._usage: Usage | None = None
        """Cached result of `usage`; None until it is computed from `_counts`."""

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
        return Message(self.id, role="assistant", parts=parts, line=self.line, time=self.time)

    def add_figures(self, message: dict[str, Any], version: Any) -> bool:
        """Take stop reason, usage and edits that one more line reports. False if its token counts are impossible."""
        stop = message.get("stop_reason")
        counts = message.get("usage")
        if isinstance(stop, str):
            self.finish = stop
        if isinstance(version, str):
            self.version = version
        if message.get("context_management"):
            self.edits = read_edits(message)
        is_repeated = counts == self._counts
        if is_repeated and counts is not None and not isinstance(stop, str):
            return True  # most lines repeat the counts of the previous line
        self._usage = None
        if not is_repeated and is_absurd(counts):
            return False
        if isinstance(counts, dict):
            self._take_counts(counts)
        return True

    def _take_counts(self, counts: dict[str, Any]) -> None:
        """Take the token counts of a line. The counts with the most output tokens are kept."""
        output = counts.get("output_tokens")
        output = output if type(output) is int else 0
        if self._counts is not None and output < self._output:
            return
        if self._counts is not None and output > self._output:
            self._grew = True
        self._counts, self._output = counts, output

    def has_other_prompt(self, counts: Any) -> bool:
        """Do these counts report another prompt size than the lines so far?"""
        current = self.usage()
        if current is None or not has_counts(counts) or is_absurd(counts):
            return False
        return read_counts(counts, output_is_final=True).prompt != current.prompt

    def usage(self) -> Usage | None:
        """Return the call's usage. Its `output_is_final` is False if only a lower bound of the output was recorded."""
        if self._usage is None and self._counts is not None and has_counts(self._counts):
            is_final = bool(self.finish) or (self._grew and numbers(self.version) <= _FINAL_AT_LAST)
            self._usage = read_counts(self._counts, output_is_final=is_final)
        return self._usage

    def holds(self, parts: Sequence[Part]) -> bool:
        """Does the answer already contain all of these parts?"""
        return all(self._has(part) for part in parts)

    def add_line(self, uuid: str, parts: Sequence[Part]) -> list[ToolCall]:
        """Add the parts of one line. Skip copies, which resumed and forked sessions contain.

        Returns:
            The tool calls among the added parts.
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
        """Add a tool result. A second result for the same tool call is ignored."""
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
        """Add the lines and results of a copy that holds other lines of the same answer."""
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
    """Set the reported thinking tokens on the thinking block of an answer, if it has exactly one such block."""
    thinking = [part for part in parts if isinstance(part, Thinking)]
    if len(thinking) != 1:
        return parts
    return tuple(
        replace(part, tokens=tokens) if isinstance(part, Thinking) else part for part in parts
    )


_LOOK_BACK = 16
"""Number of last parts searched for a copy. Copies follow closely, and a full search is quadratic in long answers."""


def last_prompt(nodes: Sequence[ChainNode]) -> int | None:
    """Return the index of the last node in which the user speaks, not a tool or the client; None if none does."""
    for n in range(len(nodes) - 1, -1, -1):
        if any(message.role == "user" and not message.mark for message in nodes[n].messages):
            return n
    return None


def travelling_together(messages: list[Message]) -> list[Message]:
    """Mark adjacent messages of the user's side as one wire message, as the client sends them.

    Changes the list and returns it.
    """
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
            messages[n] = Message(
                m.id,
                m.role,
                m.parts,
                together=first,
                summary=m.summary,
                mark=m.mark,
                line=m.line,
                time=m.time,
            )
