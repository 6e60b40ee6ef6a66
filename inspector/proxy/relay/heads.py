"""The head of an HTTP/1.1 message: what it says, and its lines as they came, to be passed on as they are.

Strict where two readers could take a message's end for another byte (RFC 9112, section 6.3), lenient elsewhere.
"""

import re
from dataclasses import dataclass

from inspector.proxy.gate import Pairs
from inspector.proxy.relay.framing import Chunked, Framing, Length, Nothing, UntilClosed
from inspector.proxy.relay.link import Link

LARGEST = 1 << 20
"""Bytes of a head."""
END = b"\r\n\r\n"
_BLANK = " \t"
"""What may stand around a value; Python's own idea of white space is wider than HTTP's."""
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([^\x00-\x20\x7f]+) HTTP/(1\.[01])")
_STATUS = re.compile(rb"HTTP/(1\.[01]) ([1-9][0-9][0-9])(?: ([^\r\n]*))?")


class BadMessage(ValueError):
    """It is not HTTP/1.1 that can be passed on. `status` is what a client is told."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """`lines` are the header lines as they came, without their ends; `pairs` what they say."""

    start: bytes
    lines: tuple[bytes, ...]
    pairs: Pairs
    version: str

    def all(self, name: str) -> list[str]:
        """The values of all headers of that name (lower case)."""
        return [value for key, value in self.pairs if key.lower() == name]

    def first(self, name: str) -> str:
        """The first of them; empty where there is none."""
        return next(iter(self.all(name)), "")

    def tokens(self, name: str) -> list[str]:
        """The words of a header that is a list, in lower case."""
        words = (word.strip(_BLANK).lower() for value in self.all(name) for word in value.split(","))
        return [word for word in words if word]

    @property
    def persists(self) -> bool:
        """May the connection be used again, as far as this end is concerned?"""
        words = self.tokens("connection")
        return "close" not in words and (self.version == "1.1" or "keep-alive" in words)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request line, with its head."""

    method: str
    target: str
    head: Head


@dataclass(frozen=True, slots=True)
class StatusHead:
    """A status line, with its head. `raw` is all of it, as it came."""

    status: int
    reason: str
    head: Head
    raw: bytes


async def read_head(link: Link) -> bytes | None:
    """The bytes up to and with the empty line; None where the other end closed before the first.

    Raises BadMessage where it is too large, or ends in the middle.
    """
    data = b""
    while True:
        more = await link.read()
        if not more:
            if not data.strip(b"\r\n"):
                return None
            raise BadMessage(400, "the connection closed in the middle of the headers")
        looked = max(0, len(data) - 3)
        data = data + more if data else more
        if not looked and data[:1] in (b"\r", b"\n"):
            data = data.lstrip(b"\r\n")  # an empty line before a request is ignored (RFC 9112, 2.2)
        end = data.find(END, looked)
        if (len(data) if end < 0 else end + 4) > LARGEST:
            raise BadMessage(400, f"the headers are larger than {LARGEST:,} bytes")
        if end >= 0:
            link.unread(data[end + 4 :])
            return data[: end + 4]


def request_head(raw: bytes) -> RequestHead:
    """Raises BadMessage."""
    start, lines = _split(raw)
    found = _REQUEST.fullmatch(start)
    if found is None:
        raise BadMessage(400, "the request line is not HTTP/1.1")
    head = Head(start, lines, _pairs(lines), found[3].decode())
    return RequestHead(found[1].decode(), found[2].decode("latin-1"), head)


def status_head(raw: bytes) -> StatusHead:
    """Raises BadMessage."""
    start, lines = _split(raw)
    found = _STATUS.fullmatch(start)
    if found is None:
        raise BadMessage(502, "the provider's answer is not HTTP/1.1")
    head = Head(start, lines, _pairs(lines), found[1].decode())
    return StatusHead(int(found[2]), (found[3] or b"").decode("latin-1"), head, raw)


def _split(raw: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    start, *lines = raw[: -len(END)].split(b"\r\n")
    return start, tuple(lines)


def _pairs(lines: tuple[bytes, ...]) -> Pairs:
    return tuple(map(_pair, lines))


def _pair(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.fullmatch(name) or b"\0" in value or b"\n" in value or b"\r" in value:
        raise BadMessage(400, "a header line is malformed")
    return name.decode("latin-1"), value.strip(b" \t").decode("latin-1")


def request_framing(head: Head) -> Framing:
    """Where the body of a request ends: said once, in one way, or it is not passed on. Raises BadMessage."""
    coded, lengths = head.all("transfer-encoding"), head.all("content-length")
    if coded:
        if [value.lower() for value in coded] != ["chunked"] or lengths or head.version == "1.0":
            raise BadMessage(400, "Transfer-Encoding and Content-Length do not say where the body ends")
        return Chunked(strict=True)
    length = _number(lengths[0]) if len(lengths) == 1 else None
    if lengths and length is None:
        raise BadMessage(400, "Content-Length is not one number")
    return Length(length) if length else Nothing()


def status_framing(answer: StatusHead, method: str) -> Framing:
    """Where the body of a response ends. Raises BadMessage."""
    if method == "HEAD" or answer.status < 200 or answer.status in (204, 304):
        return Nothing()
    coded = answer.head.tokens("transfer-encoding")
    if coded:
        return Chunked(strict=False) if coded[-1] == "chunked" else UntilClosed()
    told = {one.strip(_BLANK) for value in answer.head.all("content-length") for one in value.split(",")}
    if not told:
        return UntilClosed()
    length = _number(told.pop())
    if told or length is None:
        raise BadMessage(502, "Content-Length is not one number")
    return Length(length) if length else Nothing()


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def forwarded_head(
    request: RequestHead, target: str, authority: str, without: tuple[str, ...] = (), more: Pairs = ()
) -> bytes:
    """The head as it came, for another host: the same lines, but for those in `without` (lower case), then `more`."""
    lines = [f"{request.method} {target} HTTP/{request.head.version}".encode("latin-1")]
    for line, (name, _) in zip(request.head.lines, request.head.pairs, strict=True):
        lower = name.lower()
        if lower not in without:
            lines.append(f"{name}: {authority}".encode("latin-1") if lower == "host" else line)
    lines += [f"{name}: {value}".encode("latin-1") for name, value in more]
    return b"\r\n".join(lines) + END
