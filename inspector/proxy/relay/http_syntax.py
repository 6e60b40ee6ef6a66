"""Parse HTTP/1.1: heads, and where bodies end (RFC 9112). The bytes are read, never changed.

It is strict where two readers could disagree about the end of a message (section 6.3), and lenient elsewhere. h11 is
not suitable. It accepts `Content-Length: 5, 5`, two Content-Length headers, one next to Transfer-Encoding, chunks in
HTTP/1.0, and lines that end in LF or are folded. It does not give the original bytes, and it takes twice the time for a
head or a chunk.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from inspector.core.untyped import digits_of
from inspector.proxy.record.records import Pairs
from inspector.proxy.relay.link import TcpLink

Take: TypeAlias = Callable[[bytes], None]
_LONGEST_LINE = 1 << 16
_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}(?:[ \t]*;[^\r\0]*)?")
"""Matches the size line of a chunk, strictly."""


class BadFraming(ValueError):
    """The chunks of a body are malformed."""


class Length:
    """A body of as many bytes as Content-Length says; None: everything until the other end closes."""

    def __init__(self, length: int | None) -> None:
        self._left = length
        self.done = length == 0

    def feed(self, data: bytes, take: Take) -> int:
        part = data[: self._left]
        if part:
            take(part)
        if self._left is not None:
            self._left -= len(part)
            self.done = self._left == 0
        return len(part)

    def ends_well(self) -> bool:
        """Is the body complete if no more bytes come?"""
        return self.done or self._left is None


class Chunked:
    """A chunked body: each chunk follows a line with its size; after the last, of size 0, trailers and an empty line.

    `strict`: lines end in CR LF and hold nothing else, so that no other reader finds another end. A provider's answer
    is
    read less strictly, as clients read it.
    """

    def __init__(self, *, strict: bool) -> None:
        self.done = False
        self._is_strict = strict
        self._line = b""
        self._left = 0
        self._state = "size"

    def ends_well(self) -> bool:
        """Is the body complete if no more bytes come?"""
        return self.done

    def feed(self, data: bytes, take: Take) -> int:
        """Pass the content in `data` to `take`, and return how many bytes belong to the body. Raises BadFraming."""
        position = 0
        end = len(data)
        while position < end and not self.done:
            if self._state == "data":
                position += self._take_data(data, position, take)
                continue
            stop = data.find(b"\n", position)
            self._line += data[position:] if stop < 0 else data[position : stop + 1]
            if len(self._line) > _LONGEST_LINE:
                raise BadFraming("the size line of a chunk is too long")
            if stop < 0:
                return end
            position = stop + 1
            line, self._line = self._line, b""
            if self._is_strict and (not line.endswith(b"\r\n") or b"\r" in line[:-2]):
                raise BadFraming("a chunk's line does not end in CR LF")
            self._take_line(line[:-1].removesuffix(b"\r"))
        return position

    def _take_data(self, data: bytes, at: int, take: Take) -> int:
        """Pass on what `data` holds of the current chunk, starting at `at`, and return its length."""
        part = data[at : at + self._left] if at or len(data) > self._left else data
        take(part)
        self._left -= len(part)
        if not self._left:
            self._state = "behind"
        return len(part)

    def _take_line(self, line: bytes) -> None:
        if self._state == "behind":
            if line:
                raise BadFraming("a chunk is longer than its stated size")
            self._state = "size"
        elif self._state == "trailers":
            self.done = not line
        else:
            if self._is_strict and not _SIZE.fullmatch(line):
                raise BadFraming("a chunk does not say its size")
            self._left = _size(line)
            self._state = "data" if self._left else "trailers"


def _size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip(b" \t")
    if not 0 < len(digits) <= 15 or digits.strip(b"0123456789abcdefABCDEF"):
        raise BadFraming("a chunk does not say its size")
    return int(digits, 16)


Framing: TypeAlias = Length | Chunked


LARGEST = 1 << 20
"""Maximum number of bytes of a head."""
END = b"\r\n\r\n"
_BARE_LF = re.compile(rb"(?<!\r)\n")
_BLANK = " \t"
"""The blanks allowed around a value; Python's idea of white space is wider than HTTP's."""
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([^\x00-\x20\x7f]+) HTTP/(1\.[01])")
_STATUS = re.compile(rb"HTTP/(1\.[01]) ([1-9][0-9][0-9])(?: [^\r\n]*)?")


class BadMessage(ValueError):
    """The bytes are not HTTP/1.1 that can be passed on. `status` is the HTTP status of the answer to the client."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class HeaderBlock:
    """The header lines of a message."""

    pairs: Pairs
    version: str

    def all(self, name: str) -> list[str]:
        """Return the values of all headers with this name, given in lower case."""
        return [value for key, value in self.pairs if key.lower() == name]

    def first(self, name: str) -> str:
        """Return the value of the first header with this name, given in lower case; empty if there is none."""
        return next(iter(self.all(name)), "")

    def tokens(self, name: str) -> list[str]:
        """Return the words of a header that is a list, in lower case."""
        words = (
            word.strip(_BLANK).lower() for value in self.all(name) for word in value.split(",")
        )
        return [word for word in words if word]

    @property
    def persists(self) -> bool:
        """Does this end allow the connection to be used again?"""
        words = self.tokens("connection")
        return "close" not in words and (self.version == "1.1" or "keep-alive" in words)


@dataclass(frozen=True, slots=True)
class Http1Request(HeaderBlock):
    """The head of a request. `lines` are its header lines as they came, without line ends."""

    method: str
    target: str
    lines: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Http1Response(HeaderBlock):
    """The head of a response. `raw` holds its bytes as they came."""

    status: int
    raw: bytes


async def read_head(link: TcpLink) -> bytes | None:
    """Return the bytes up to and including the empty line; None if the other end closed before the first byte.

    Raises BadMessage if the head is too large, ends in the middle, or has a line that ends in LF alone. Other programs
    take such a line end as the end of the head, and would not send the end that is waited for here.
    """
    data = b""
    while True:
        more = await link.read()
        if not more:
            if not data.strip(b"\r\n"):
                return None
            raise BadMessage(status=400, why="the connection closed in the middle of the headers")
        looked = max(0, len(data) - 3)
        data = data + more if data else more
        if not looked and data[:1] in (b"\r", b"\n"):
            data = data.lstrip(b"\r\n")  # an empty line before a request is ignored (RFC 9112, 2.2)
        end = data.find(END, looked)
        if _BARE_LF.search(data, looked, max(looked, end) if end >= 0 else len(data)):
            raise BadMessage(status=400, why="a line of the headers does not end in CR LF")
        if (len(data) if end < 0 else end + 4) > LARGEST:
            raise BadMessage(status=400, why=f"the headers are larger than {LARGEST:,} bytes")
        if end >= 0:
            link.unread(data[end + 4 :])
            return data[: end + 4]


def request_head(raw: bytes) -> Http1Request:
    """Read the head of a request. Raises BadMessage."""
    start, *lines = raw[: -len(END)].split(b"\r\n")
    match = _REQUEST.fullmatch(start)
    if match is None:
        raise BadMessage(status=400, why="the request line is not HTTP/1.1")
    method = match[1].decode()
    target = match[2].decode("latin-1")
    version = match[3].decode()
    return Http1Request(tuple(map(_pair, lines)), version, method, target, lines=tuple(lines))


def status_head(raw: bytes) -> Http1Response:
    """Read the head of an answer. Raises BadMessage."""
    start, *lines = raw[: -len(END)].split(b"\r\n")
    match = _STATUS.fullmatch(start)
    if match is None:
        raise BadMessage(status=502, why="the provider's answer is not HTTP/1.1")
    return Http1Response(
        tuple(map(_pair, lines)), version=match[1].decode(), status=int(match[2]), raw=raw
    )


def _pair(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.fullmatch(name) or b"\0" in value or b"\n" in value or b"\r" in value:
        raise BadMessage(status=400, why="a header line is malformed")
    return name.decode("latin-1"), value.strip(b" \t").decode("latin-1")


def request_framing(head: HeaderBlock) -> Framing:
    """Return how the body of a request ends. Raises BadMessage unless the head says it exactly once, in one way."""
    coded = head.all("transfer-encoding")
    lengths = head.all("content-length")
    # CGI-like programs read these as the headers with hyphens.
    if head.all("content_length") or head.all("transfer_encoding"):
        raise BadMessage(
            status=400, why="a header looks like Content-Length or Transfer-Encoding and is neither"
        )
    if coded:
        if [value.lower() for value in coded] != ["chunked"] or lengths or head.version == "1.0":
            raise BadMessage(
                status=400,
                why="Transfer-Encoding and Content-Length do not say where the body ends",
            )
        return Chunked(strict=True)
    length = digits_of(lengths[0]) if len(lengths) == 1 else None
    if lengths and length is None:
        raise BadMessage(status=400, why="Content-Length is not one number")
    return Length(length or 0)


def status_framing(answer: Http1Response, method: str) -> Framing:
    """Return how the body of a response ends. Raises BadMessage."""
    if method == "HEAD" or answer.status < 200 or answer.status in (204, 304):
        return Length(0)
    coded = answer.tokens("transfer-encoding")
    if coded:
        return Chunked(strict=False) if coded[-1] == "chunked" else Length(length=None)
    lengths = {
        length.strip(_BLANK)
        for value in answer.all("content-length")
        for length in value.split(",")
    }
    if not lengths:
        return Length(length=None)
    length = digits_of(lengths.pop())
    if lengths or length is None:
        raise BadMessage(status=502, why="Content-Length is not one number")
    return Length(length)


def forwarded_head(
    request: Http1Request,
    target: str,
    authority: str,
    without: tuple[str, ...] = (),
    more: Pairs = (),
) -> bytes:
    """Return the head for another host: the same lines except Host and those named in `without` (lower case), then
    `more`.
    """
    lines = [f"{request.method} {target} HTTP/{request.version}".encode("latin-1")]
    for line, (name, _) in zip(request.lines, request.pairs, strict=True):
        lower = name.lower()
        if lower not in without:
            lines.append(f"{name}: {authority}".encode("latin-1") if lower == "host" else line)
    lines += [f"{name}: {value}".encode("latin-1") for name, value in more]
    return b"\r\n".join(lines) + END
