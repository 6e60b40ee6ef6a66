"""The wire messages of one agent's requests, if its file records them (from 2.1.330 on).

Requests with the same beginning share a `WireLine`, as their buffers share a stretch: memory is O(messages), and a
request costs O(its new messages). The content of a wire message comes from an earlier request that sent the same hash,
from the blob record with its hash, or from the records since the previous request.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from inspector.core.buffer import EMPTY_VIEW, NOT_IN_FILE, Prompt, Stretch, Tool, View
from inspector.core.dialects.anthropic import read_anthropic_prompt, same_wire_message
from inspector.core.formats.claude_code.pieces import Pieces
from inspector.core.message import Message, Role
from inspector.core.untyped import list_of, object_of, text_at, texts_at, whole_of


@dataclass(frozen=True, slots=True)
class WireRequest:
    """An `api-request` record: the first `keep` wire messages of the request `base`, then the hashes in `tail`."""

    base: str
    keep: int
    tail: Sequence[str]


class WireRecords:
    """The wire records of a session and its sub-agents: shapes, requests and blobs."""

    def __init__(self) -> None:
        self._shapes: dict[str, Prompt] = {}
        self._of_request: dict[str, str] = {}
        self.requests: dict[str, WireRequest] = {}
        """Requests by id."""
        self.blobs: dict[str, Mapping[str, Any]] = {}
        """Wire messages that differ from every record of the file, by hash."""

    def add_shape(self, value: dict[str, Any]) -> Prompt:
        """Take an `api-request-shape` record. Return its system prompt and tools."""
        prompt = read_anthropic_prompt(object_of(value, "shape"))
        return self._shapes.setdefault(text_at(value, "shapeHash"), prompt)

    def add_request(self, value: dict[str, Any]) -> None:
        """Take an `api-request` record."""
        id_ = text_at(value, "id")
        keep = whole_of(value.get("keep"))
        tail = value.get("tail")
        self._of_request[id_] = text_at(value, "shapeHash")
        if (
            keep is not None
            and isinstance(tail, list)
            and all(isinstance(item, str) for item in tail)
        ):
            self.requests[id_] = WireRequest(text_at(value, "base"), keep, tail)

    def add_blob(self, value: dict[str, Any]) -> None:
        """Take an `api-request-blob` record."""
        message = object_of(value, "message")
        if text_at(message, "role"):
            self.blobs[text_at(value, "hash")] = message

    def prompt(self, request: str) -> Prompt | None:
        """Return the system prompt and tools of a request, by its id; None if not recorded."""
        return self._shapes.get(self._of_request.get(request, ""))


def read_snapshot(attachment: Mapping[str, Any], before: Prompt) -> Prompt:
    """Return the prompt of a `prompt_snapshot` attachment. Parts that it lacks are taken from `before`."""
    system = "\n\n".join(texts_at(attachment, "systemPrompt")) or before.system
    tools = attachment.get("tools")
    if not isinstance(tools, list):
        return Prompt(system, before.tools) if system is not None else NOT_IN_FILE
    schemas = [object_of(tool, "schema") or tool for tool in tools if isinstance(tool, dict)]
    return Prompt(system, tuple(Tool(text_at(tool, "name"), tool) for tool in schemas))


def read_replacements(value: dict[str, Any]) -> dict[str, str]:
    """Return the texts sent in place of tool results that were too large, by call id (`content-replacement`)."""
    texts: dict[str, str] = {}
    for replacement in list_of(value.get("replacements")):
        call_id = text_at(replacement, "toolUseId")
        text = text_at(replacement, "replacement")
        if call_id and text:
            texts[call_id] = text
    return texts


class WireLine:
    """A list of wire messages that only grows. It may continue the first messages of another line."""

    __slots__ = ("base", "below", "ends", "hashes", "stretch")

    def __init__(self, base: "WirePosition | None" = None) -> None:
        self.base = base
        self.below = base.number if base else 0
        self.stretch = Stretch(base.view() if base else None)
        self.hashes: list[str] = []
        self.ends: list[int] = []
        """Length of the stretch in messages after each wire message."""

    def add(self, hash_: str, messages: Sequence[Message]) -> None:
        """Append a wire message to the line."""
        last = next(self.stretch.view().backwards(), None)
        if last is not None and messages and same_wire_message(last, messages[0]):
            messages = [replace(message, together=messages[0].id) for message in messages]
        for message in messages:
            self.stretch.append(message)
        self.hashes.append(hash_)
        self.ends.append(len(self.stretch))


class WirePosition(NamedTuple):
    """A position in a line: after its first `number` wire messages."""

    line: WireLine
    number: int

    def settled(self) -> "WirePosition":
        """Return the same position, in the line that holds the last wire message itself."""
        line, number = self
        while line.base is not None and number <= line.below:
            line = line.base.line
        return WirePosition(line, number)

    def view(self) -> View:
        """Return the messages of all wire messages up to this position, in order."""
        line, number = self.settled()
        return View(line.stretch, line.ends[number - line.below - 1]) if number else EMPTY_VIEW

    def hashes(self, start: int = 0) -> list[str]:
        """Return the hashes of the wire messages from index `start` to this position. O(their number)."""
        line, end = self
        backwards: list[str] = []
        while True:
            backwards += reversed(
                line.hashes[max(0, start - line.below) : max(0, end - line.below)]
            )
            if line.base is None or start >= line.below:
                return backwards[::-1]
            line, end = line.base.line, min(end, line.below)

    def is_end(self) -> bool:
        """Is this position the end of its line, so that wire messages can be appended?"""
        line, number = self
        return (line.base is None and not number) or number == line.below + len(line.hashes)

    def holds(self, where: "WirePosition") -> bool:
        """Is the last wire message of `where` among the wire messages of this position?"""
        line, end = self
        while True:
            if line is where.line:
                return where.number <= end
            if line.base is None:
                return False
            line, end = line.base.line, min(end, line.below)


class SentRequests:
    """The wire messages of one agent's requests, and the buffers that they make."""

    def __init__(self, wire: WireRecords) -> None:
        self._wire = wire
        self._laid: dict[str, WirePosition] = {}
        """Position after the last wire message of each answered request, by request id."""
        self._newest = _NOTHING
        self._where: dict[str, WirePosition] = {}
        """Position of the wire message that last sent a message, by message id."""
        self._known: dict[str, list[_WireMessage]] = {}
        """Wire messages with the same content, by hash, in the order of first sending."""

    def view(
        self, request: str, stretch: Stretch, pending: Iterable[Message]
    ) -> tuple[View, int] | None:
        """Return the buffer of a request as it was sent, and how many of its messages an earlier request sent.

        Args:
            request: Id of the request.
            stretch: The messages that the agent's records hold; their ids name the sent messages.
            pending: Recorded messages that are not in the stretch yet.

        Returns:
            None if the file does not hold the request or the request that it continues.
        """
        sending = self._whole(request)
        if sending is None:
            return None
        place, tail = self._begin(sending)
        same = place.view().length
        if tail:
            below = stretch.base.length if stretch.base else 0
            recorded = stretch.view().tail(same if stretch is place.line.stretch else below)
            place = self._extend(place, tail, [*recorded, *pending])
        self._laid[request] = self._newest = place
        return place.view(), same

    def _whole(self, request: str) -> WireRequest | None:
        """Return the request, rewritten on an answered request or an empty base; None if a base is not recorded."""
        sending, seen = self._wire.requests.get(request), {request}
        while sending is not None and sending.base and sending.base not in self._laid:
            under = self._wire.requests.get(sending.base) if sending.base not in seen else None
            if under is None:
                return None
            seen.add(sending.base)
            tail = [*under.tail[: max(0, sending.keep - under.keep)], *sending.tail]
            sending = WireRequest(under.base, min(sending.keep, under.keep), tail)
        return sending

    def _begin(self, sending: WireRequest) -> tuple[WirePosition, Sequence[str]]:
        """Return the position up to which earlier requests sent the same, and the hashes of the new wire messages."""
        base = self._laid.get(sending.base, _NOTHING)
        keep = min(sending.keep, base.number) if sending.base else 0
        place = WirePosition(base.line, keep).settled()
        newest = self._newest
        if keep and WirePosition(newest.line, min(keep, newest.number)).settled() != place:
            return place, sending.tail
        same = 0
        for newest_hash, hash_ in zip(newest.hashes(keep), sending.tail, strict=False):
            if newest_hash != hash_:
                break
            same += 1
        if same:
            place = WirePosition(newest.line, keep + same).settled()
        return place, sending.tail[same:]

    def _extend(
        self, place: WirePosition, tail: Sequence[str], recorded: Sequence[Message]
    ) -> WirePosition:
        """Append wire messages at a position; start a new line if the position is not the end of its line.

        Args:
            place: Position up to which earlier requests sent the same wire messages.
            tail: Hashes of the wire messages to append.
            recorded: Messages that the records may add at this request; those sent before are skipped.

        Returns:
            The position after the last appended wire message.
        """
        end = place.view().length
        line = place.line
        continues_line = place.number and place.is_end() and len(line.stretch) <= end
        if not continues_line:
            line = WireLine(place if place.number else None)
        unsent = [message for message in recorded if not self._was_sent(message, place)]
        for wire in self._read(tail, place, unsent):
            messages = wire.messages or ()
            line.add(wire.hash, messages)
            wire.place = WirePosition(line, line.below + len(line.hashes))
            self._where.update((message.id, wire.place) for message in messages)
        return WirePosition(line, line.below + len(line.hashes))

    def _was_sent(self, message: Message, place: WirePosition) -> bool:
        """Was the message sent in one of the wire messages up to a position?"""
        where = self._where.get(message.id)
        return where is not None and place.holds(where)

    def _read(
        self, tail: Sequence[str], place: WirePosition, recorded: Sequence[Message]
    ) -> list["_WireMessage"]:
        """Return each wire message with its messages: sent before, from its blob, or from the records."""
        wires = [self._again(hash_, place) or self._new(hash_) for hash_ in tail]
        known_ids = {message.id for wire in wires for message in wire.messages or ()}
        pieces = Pieces(
            [message for message in recorded if message.id not in known_ids], self._where.keys()
        )
        self._read_blobs(wires, pieces)
        unknown = [wire for wire in wires if wire.messages is None]
        for wire, messages in zip(unknown, pieces.rest([wire.role for wire in wires]), strict=True):
            wire.messages = messages
        return wires

    def _read_blobs(self, wires: Sequence["_WireMessage"], pieces: Pieces) -> None:
        """Set the messages of wire messages that have none yet, from the blob record with the same hash, if any."""
        for wire in wires:
            blob = self._wire.blobs.get(wire.hash)
            if wire.messages is None and blob is not None:
                wire.messages = pieces.of(wire.hash, blob)

    def _new(self, hash_: str) -> "_WireMessage":
        wire = _WireMessage(hash_)
        self._known.setdefault(hash_, []).append(wire)
        return wire

    def _again(self, hash_: str, place: WirePosition) -> "_WireMessage | None":
        """Reserve and return an earlier wire message with this hash that is not in the buffer; None without one."""
        earliest = None
        for wire in reversed(self._known.get(hash_, ())):
            if wire.place is _TAKEN or place.holds(wire.place):
                break
            earliest = wire
        if earliest is not None:
            earliest.place = _TAKEN
        return earliest


class _WireMessage:
    """A wire message and the messages that it was read into."""

    __slots__ = ("hash", "messages", "place")

    def __init__(self, hash_: str) -> None:
        self.hash = hash_
        self.messages: Sequence[Message] | None = None
        """None until the content is read."""
        self.place = _TAKEN
        """Position after this wire message in the request that last sent it."""

    @property
    def role(self) -> Role | None:
        """The role of the messages; None until they are read."""
        if self.messages is None:
            return None
        return self.messages[0].role if self.messages else "user"


_NOTHING = WirePosition(WireLine(), number=0)
_TAKEN = WirePosition(WireLine(), number=1)
"""Position of a wire message that belongs to the request being read."""
