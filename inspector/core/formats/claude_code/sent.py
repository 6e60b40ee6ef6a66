"""The wire messages of one agent, request by request, if its file records them (2.1.330 on).

Requests that begin alike share a line of wire messages, as their buffers share a stretch: memory is O(messages), and a
request costs what is new in it. A wire message is taken from its blob, from where it was sent before, or is what the
records say that came since.
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
    """An `api-request` record: the first `keep` wire messages of the request `base`, then those of `tail`, by hash."""

    base: str
    keep: int
    tail: Sequence[str]


class WireRecords:
    """The requests of a session, those of its sub-agents among them."""

    def __init__(self) -> None:
        self._shapes: dict[str, Prompt] = {}
        self._of_request: dict[str, str] = {}
        self.requests: dict[str, WireRequest] = {}
        """What was sent, by the request's id."""
        self.blobs: dict[str, Mapping[str, Any]] = {}
        """Wire messages that are not, word for word, a record of the file; by hash."""

    def add_shape(self, value: dict[str, Any]) -> Prompt:
        """Take an `api-request-shape` record."""
        prompt = read_anthropic_prompt(object_of(value, "shape"))
        return self._shapes.setdefault(text_at(value, "shapeHash"), prompt)

    def add_request(self, value: dict[str, Any]) -> None:
        """Take an `api-request` record."""
        id_, keep, tail = text_at(value, "id"), whole_of(value.get("keep")), value.get("tail")
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
        """The prompt of the request of that id, if recorded."""
        return self._shapes.get(self._of_request.get(request, ""))


def read_snapshot(attachment: Mapping[str, Any], before: Prompt) -> Prompt:
    """The prompt in a `prompt_snapshot` attachment: its parts; the tools come with a later one."""
    system = "\n\n".join(texts_at(attachment, "systemPrompt")) or before.system
    tools = attachment.get("tools")
    if not isinstance(tools, list):
        return Prompt(system, before.tools) if system is not None else NOT_IN_FILE
    schemas = [object_of(tool, "schema") or tool for tool in tools if isinstance(tool, dict)]
    return Prompt(system, tuple(Tool(text_at(tool, "name"), tool) for tool in schemas))


def read_replacements(value: dict[str, Any]) -> dict[str, str]:
    """Read a `content-replacement` record: tool results too large to be sent, by call id, and what was sent instead."""
    texts: dict[str, str] = {}
    for replacement in list_of(value.get("replacements")):
        call_id, text = text_at(replacement, "toolUseId"), text_at(replacement, "replacement")
        if call_id and text:
            texts[call_id] = text
    return texts


class WireLine:
    """Wire messages that are only appended to, on top of the first ones of another line."""

    __slots__ = ("base", "below", "ends", "hashes", "stretch")

    def __init__(self, base: "WirePosition | None" = None) -> None:
        self.base = base
        self.below = base.number if base else 0
        self.stretch = Stretch(base.view() if base else None)
        self.hashes: list[str] = []
        self.ends: list[int] = []
        """Length of the stretch with each of them."""

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
    """The first `number` wire messages of a line."""

    line: WireLine
    number: int

    def settled(self) -> "WirePosition":
        """Return the same position in the line that holds the last of these wire messages."""
        line, number = self
        while line.base is not None and number <= line.below:
            line = line.base.line
        return WirePosition(line, number)

    def view(self) -> View:
        """Return the messages of all wire messages, in order."""
        line, number = self.settled()
        return View(line.stretch, line.ends[number - line.below - 1]) if number else EMPTY_VIEW

    def hashes(self, start: int = 0) -> list[str]:
        """Return the hashes of all from the wire message `start` on. O(their number)."""
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
        """Can more be appended right here?"""
        line, number = self
        return (line.base is None and not number) or number == line.below + len(line.hashes)

    def holds(self, where: "WirePosition") -> bool:
        """Is the wire message that is the last one of `where` among these?"""
        line, end = self
        while True:
            if line is where.line:
                return where.number <= end
            if line.base is None:
                return False
            line, end = line.base.line, min(end, line.below)


class SentRequests:
    """The wire messages that one agent sent."""

    def __init__(self, wire: WireRecords) -> None:
        self._wire = wire
        self._laid: dict[str, WirePosition] = {}
        """Requests that were answered, by id."""
        self._newest = _NOTHING
        self._where: dict[str, WirePosition] = {}
        """By message id: the wire message in which it was sent last."""
        self._known: dict[str, list[_WireMessage]] = {}
        """By hash: the wire messages that say this, in the order in which they were sent first."""

    def view(
        self, request: str, stretch: Stretch, pending: Iterable[Message]
    ) -> tuple[View, int] | None:
        """Return the buffer of a request as it was sent, and how many of its messages were sent before.

        None if the file does not hold it, or the buffer that it continues.

        Args:
            request: Its id.
            stretch: With `pending`, what the records say that the agent had: they name the messages.
            pending: Messages that are not in the stretch yet.
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
        """Return the request on top of one that was answered, or of nothing."""
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
        """Return where the request departs from what was sent before, and the hashes of what is new in it."""
        base = self._laid.get(sending.base, _NOTHING)
        keep = min(sending.keep, base.number) if sending.base else 0
        place, newest = WirePosition(base.line, keep).settled(), self._newest
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
        """Append wire messages at a place; start a new line if the place is not the end of its line.

        Args:
            place: Where the request departs from what was sent before.
            tail: Hashes of the wire messages to append.
            recorded: Messages that the records may add at this request; those sent before are skipped.

        Returns:
            The place after the last appended message.
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
        """Is the message among the wire messages up to a place?"""
        where = self._where.get(message.id)
        return where is not None and place.holds(where)

    def _read(
        self, tail: Sequence[str], place: WirePosition, recorded: Sequence[Message]
    ) -> list["_WireMessage"]:
        """Return the messages of each wire message: as it was sent before, as its blob has it, as the records say."""
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
        """Read new wire messages whose content the wire records hold."""
        for wire in wires:
            blob = self._wire.blobs.get(wire.hash)
            if wire.messages is None and blob is not None:
                wire.messages = pieces.of(wire.hash, blob)

    def _new(self, hash_: str) -> "_WireMessage":
        wire = _WireMessage(hash_)
        self._known.setdefault(hash_, []).append(wire)
        return wire

    def _again(self, hash_: str, place: WirePosition) -> "_WireMessage | None":
        """Return the earliest wire message with this content that is no longer in the buffer."""
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
        """None while they are not known."""
        self.place = _TAKEN
        """Where it was last sent."""

    @property
    def role(self) -> Role | None:
        """The role of its messages; None while they are not known."""
        if self.messages is None:
            return None
        return self.messages[0].role if self.messages else "user"


_NOTHING = WirePosition(WireLine(), 0)
_TAKEN = WirePosition(WireLine(), 1)
"""It is being sent."""
