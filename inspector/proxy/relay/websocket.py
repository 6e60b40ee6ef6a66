"""WebSocket frames (RFC 6455, with permessage-deflate of RFC 7692), read from a copy of the bytes that pass.

What passes stays as it came; frames are made only where the gate changed a message, or has something to say.
"""

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
LARGEST = 64_000_000
"""Bytes of one message, unpacked."""
_TAIL = b"\x00\x00\xff\xff"


class BadFrames(ValueError):
    """These are no WebSocket frames, or too large ones: what follows is not understood."""


@dataclass(frozen=True, slots=True)
class Packing:
    """What was agreed on compression: for each side, whether it goes on from message to message."""

    is_on: bool = False
    client_goes_on: bool = True
    server_goes_on: bool = True


def packing(extensions: str) -> Packing:
    """By the Sec-WebSocket-Extensions of the answer."""
    for one in extensions.split(","):
        name, *parameters = [word.strip().lower().partition("=")[0] for word in one.split(";")]
        if name == "permessage-deflate":
            return Packing(
                True, "client_no_context_takeover" not in parameters, "server_no_context_takeover" not in parameters
            )
    return Packing()


@dataclass(frozen=True, slots=True)
class Message:
    """A whole message, or a control frame. `raw` is how it came, all its frames."""

    kind: int
    data: bytes
    raw: bytes


class Frames:
    """One direction. `feed(bytes)` gives the messages that are whole with them. Raises BadFrames."""

    def __init__(self, is_packed: bool, goes_on: bool) -> None:
        self._is_packed, self._goes_on = is_packed, goes_on
        self._inflater = zlib.decompressobj(-15)
        self._waiting = bytearray()
        self._parts: list[bytes] = []
        self._raws: list[bytes] = []
        self._kind = 0
        self._is_compressed = False

    def at_boundary(self) -> bool:
        """Does a frame begin with the next byte? Only there may another one be put in."""
        return not self._waiting

    def feed(self, data: bytes) -> Iterator[Message]:
        """Messages in order; control frames may come between the frames of a message."""
        self._waiting += data
        while (found := self._frame()) is not None:
            first, payload, raw = found
            kind, is_last = first & 0x0F, bool(first & 0x80)
            if kind >= CLOSE:
                yield Message(kind, payload, raw)
                continue
            if kind:
                self._kind, self._is_compressed = kind, bool(first & 0x40)
                self._parts, self._raws = [], []
            self._parts.append(payload)
            self._raws.append(raw)
            if sum(map(len, self._parts)) > LARGEST:
                raise BadFrames(f"a message is larger than {LARGEST:,} bytes")
            if is_last:
                yield Message(self._kind, self._whole(), b"".join(self._raws))

    def _frame(self) -> tuple[int, bytes, bytes] | None:
        """(first byte, payload, the frame as it came); None until it is whole."""
        waiting = self._waiting
        if len(waiting) < 2:
            return None
        length, at = waiting[1] & 0x7F, 2
        if length > 125:
            at = 4 if length == 126 else 10
            if len(waiting) < at:
                return None
            length = int.from_bytes(waiting[2:at], "big")
        if length > LARGEST:
            raise BadFrames(f"a frame is larger than {LARGEST:,} bytes")
        is_masked = bool(waiting[1] & 0x80)
        start = at + 4 * is_masked
        if len(waiting) < start + length:
            return None
        raw = bytes(waiting[: start + length])
        del waiting[: start + length]
        payload = masked(raw[start:], raw[at:start]) if is_masked else raw[start:]
        return raw[0], payload, raw

    def _whole(self) -> bytes:
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        if not (self._is_packed and self._is_compressed):
            return data
        try:
            plain = self._inflater.decompress(data + _TAIL, LARGEST)
        except zlib.error as error:
            raise BadFrames(f"a message cannot be unpacked ({error})") from None
        if self._inflater.unconsumed_tail:
            raise BadFrames(f"a message is larger than {LARGEST:,} bytes")
        if not self._goes_on or self._inflater.eof:
            self._inflater = zlib.decompressobj(-15)
        return plain


def masked(data: bytes, key: bytes) -> bytes:
    """Mask or unmask: the same."""
    size = len(data)
    stretched = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(stretched, "big")).to_bytes(size, "big")


def text_frame(data: bytes, *, is_client: bool) -> bytes:
    """One text message in one frame, not compressed; masked where a client sends it."""
    size = len(data)
    mask = 0x80 if is_client else 0
    if size < 126:
        head = bytes((0x80 | TEXT, mask | size))
    elif size < 1 << 16:
        head = bytes((0x80 | TEXT, mask | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | TEXT, mask | 127)) + size.to_bytes(8, "big")
    if not is_client:
        return head + data
    key = os.urandom(4)
    return head + key + masked(data, key)
