"""Where a body ends, whatever pieces it comes in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.proxy.relay.http_syntax import (
    BadFraming,
    BadMessage,
    Chunked,
    Framing,
    Length,
    request_framing,
    request_head,
    status_framing,
    status_head,
)


def _fed(framing: Framing, data: bytes, step: int) -> tuple[bytes, int]:
    """What it carries, and how many bytes were its own."""
    taken: list[bytes] = []
    used = at = 0
    while at < len(data) and not framing.done:
        piece = data[at : at + step]
        count = framing.feed(piece, taken.append)
        used += count
        at += len(piece)
        assert framing.done or count == len(piece)
    return b"".join(taken), used


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=6),
    st.sampled_from([b"", b";a=b", b" ; c"]),
    st.lists(st.sampled_from([b"X: y\r\n", b"Z:\r\n"]), max_size=2),
    st.binary(max_size=9),
    st.integers(1, 60),
    st.booleans(),
)
def test_chunks_in_any_pieces(
    parts: list[bytes], more: bytes, trailers: list[bytes], behind: bytes, step: int, strict: bool
) -> None:
    sent = (
        b"".join(b"%X%b\r\n%b\r\n" % (len(one), more, one) for one in parts)
        + b"000\r\n"
        + b"".join(trailers)
        + b"\r\n"
    )
    framing = Chunked(strict=strict)
    assert not framing.ends_well()
    assert _fed(framing, sent + behind, step) == (b"".join(parts), len(sent))
    assert framing.done
    assert framing.ends_well()


@given(st.binary(max_size=60), st.integers(1, 9), st.booleans())
def test_whatever_is_said_to_be_chunks(data: bytes, step: int, strict: bool) -> None:
    """It is read, or refused; nothing else happens."""
    try:
        carried, used = _fed(Chunked(strict=strict), data, step)
    except BadFraming:
        return
    assert len(carried) <= used <= len(data)


def test_an_answer_is_read_as_clients_read_it() -> None:
    """Lines that end in LF alone, blanks behind a size: clients take them, so what passes is passed."""
    sent = b"3 \nabc\n0\nZ:\n\n"
    assert _fed(Chunked(strict=False), sent, 60) == (b"abc", len(sent))
    with pytest.raises(BadFraming):
        _fed(Chunked(strict=True), sent, 60)


@given(st.binary(max_size=60), st.integers(0, 70), st.integers(1, 9))
def test_sized_bodies(data: bytes, size: int, step: int) -> None:
    framing = Length(size)
    assert _fed(framing, data, step) == (data[:size], min(size, len(data)))
    assert framing.ends_well() == (len(data) >= size)
    assert _fed(Length(None), data, step) == (data, len(data))


@given(st.binary(max_size=120))
def test_whatever_is_said_to_be_a_head(data: bytes) -> None:
    for read in (request_head, status_head):
        try:
            read(data + b"\r\n\r\n")
        except BadMessage:
            continue


ANSWERS: list[tuple[str, bytes, int | str | None]] = [
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 3", 3),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 3, 3", 3),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0", 0),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 3", "chunks"),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked", "chunks"),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip", None),
    ("GET", b"HTTP/1.1 200 OK", None),
    ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 3", 0),
    ("GET", b"HTTP/1.1 204 No Content", 0),
    ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 3", 0),
    ("GET", b"HTTP/1.1 101 Switching Protocols", 0),
]


def _end(framing: Framing) -> int | str | None:
    return "chunks" if isinstance(framing, Chunked) else framing._left


@pytest.mark.parametrize(("method", "head", "end"), ANSWERS, ids=range(len(ANSWERS)))
def test_how_an_answer_ends(method: str, head: bytes, end: int | str | None) -> None:
    assert _end(status_framing(status_head(head + b"\r\n\r\n"), method)) == end


def test_how_a_request_ends() -> None:
    def end(more: bytes) -> int | str | None:
        return _end(
            request_framing(request_head(b"POST / HTTP/1.1\r\nHost: h" + more + b"\r\n\r\n"))
        )

    assert end(b"") == 0
    assert end(b"\r\ncontent-length:5") == 5
    assert end(b"\r\nTRANSFER-ENCODING: chunked") == "chunks"
    for bad in (
        b"\r\nContent-Length: -1",
        b"\r\nContent-Length: 1_0",
        b"\r\nTransfer-Encoding: chunked, chunked",
    ):
        with pytest.raises(BadMessage):
            end(bad)
