"""What another reader could take for something else is refused, and so is what a web page sends."""

from pathlib import Path
from time import monotonic, sleep

import httpx2
import pytest

from inspector.proxy.relay.http_syntax import LARGEST
from inspector.simulated.server import SimulatedServer
from tests.proxy.raw import answer, client, echo, kinds, proxied

OK = answer(b'{"ok":true}', "Content-Type: application/json")
HEAD = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n"
CHUNKS = b"5\r\nabcde\r\n0\r\n\r\n"

FRAMINGS = [
    b"Transfer-Encoding: \x0bchunked\r\n\r\n" + CHUNKS,
    b"Transfer-Encoding: \xa0chunked\r\n\r\n" + CHUNKS,
    b"Transfer-Encoding: chunked\x0c\r\n\r\n" + CHUNKS,
    b"Transfer-Encoding: chunked\x85\r\n\r\n" + CHUNKS,
    b"Transfer-Encoding: ,chunked\r\n\r\n" + CHUNKS,
    b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n\r\n" + CHUNKS,
    b"Transfer-Encoding:\r\nContent-Length: 5\r\n\r\nabcde",
    b"Transfer-Encoding:\r\n\r\n",
    b"Content-Length: 5, 5\r\n\r\nabcde",
    b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde",
    b"Content-Length: \xa05\r\n\r\nabcde",
    b"Content-Length: 5\x0b\r\n\r\nabcde",
    b"Content-Length: 5\r\nContent_Length: 8\r\n\r\nabcde",
    b"Transfer_Encoding: chunked\r\n\r\n" + CHUNKS,
    b"Content-Length:\r\n\r\n",
    b"Content-Length: ,\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n5\nabcde\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\n",
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\nX: y\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n5;a\rb\r\nabcde\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n5\x0b\r\nabcde\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nabcde\r\n0\r\n\r\n",
]


@pytest.mark.parametrize("sent", FRAMINGS, ids=range(len(FRAMINGS)))
def test_a_body_that_could_end_elsewhere_is_refused(tmp_path: Path, sent: bytes) -> None:
    """400, and the connection ends: what follows is no request."""
    with proxied(echo([], OK), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(HEAD + sent)
        assert wire.rest().startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "pieces",
    [
        [b"GET /v1/models HTTP/1.1\nHost: localhost\n\n"],
        [HEAD[:-1], b"\n", b"X: y\n"],
        [HEAD, b"X: y", b"\n"],
        [HEAD[:-2], b"\n\r\n"],
        [HEAD, b"\n\r\n"],
    ],
)
def test_a_head_of_lines_that_end_in_lf_is_refused_at_once(
    tmp_path: Path, pieces: list[bytes]
) -> None:
    """Else its end would be waited for."""
    with proxied(echo([], OK), tmp_path) as (proxy, _), client(proxy) as wire:
        began = monotonic()
        for piece in pieces:
            wire.send(piece)
            sleep(0.02)
        assert wire.until(b"\r\n").startswith(b"HTTP/1.1 400 ")
        assert monotonic() - began < 5


def test_a_body_may_hold_lines_that_end_in_lf(tmp_path: Path) -> None:
    """Also the bytes behind a head that came with it."""
    with proxied(echo([], OK, OK), tmp_path) as (proxy, _), client(proxy) as wire:
        for pieces in (
            [HEAD + b"Content-Length: 4\r\n\r\n\na\n\n"],
            [HEAD + b"Content-Length: 4\r\n\r", b"\n\na\n\n"],
        ):
            for piece in pieces:
                wire.send(piece)
                sleep(0.02)
            assert b"200 OK" in wire.message()[0]


@pytest.mark.parametrize(
    "sent", [b"Content-Length:  5\t\r\n\r\nabcde", b"transfer-ENCODING:\tChunked \r\n\r\n" + CHUNKS]
)
def test_blanks_and_capitals_of_a_header_are_nothing(tmp_path: Path, sent: bytes) -> None:
    """Blanks and tabs around a value are no part of it."""
    with proxied(echo([], OK), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(HEAD + sent)
        assert b"200 OK" in wire.message()[0]


@pytest.mark.parametrize("step", [1 << 12, 1 << 17, 1 << 22])
def test_a_head_that_is_too_large_is_refused_however_fast_it_comes(
    tmp_path: Path, step: int
) -> None:
    """Also where all of it is there at the first look."""
    data = HEAD + b"X-Long: " + b"a" * LARGEST + b"\r\n\r\n"
    seen: list[tuple[bytes, bytes]] = []
    with proxied(echo(seen, OK), tmp_path) as (proxy, _), client(proxy) as wire:
        try:
            for at in range(0, len(data), step):
                wire.send(data[at : at + step])
        except OSError:
            pass  # it was answered before all of it was sent
        assert wire.until(b"\r\n").startswith(b"HTTP/1.1 400 ")
    assert seen == []


@pytest.mark.parametrize(
    ("site", "refused"),
    [
        ("cross-site", True),
        ("Cross-Site", True),
        ("none, cross-site", True),
        ("same-origin", False),
        ("none", False),
    ],
)
def test_a_web_page_cannot_make_it_ask(tmp_path: Path, site: str, refused: bool) -> None:
    """An image on any page sends no Origin, but browsers say where it comes from."""
    seen: list[tuple[bytes, bytes]] = []
    with proxied(echo(seen, OK), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(
            f"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: {site}\r\n\r\n".encode()
        )
        assert (b"403" in wire.message()[0]) is refused
        assert bool(seen) is not refused
        assert refused or kinds(proxy, "request")[0]["path"] == "/v1/models"
    with SimulatedServer() as simulated:
        status = httpx2.get(
            f"{simulated.url}/v1/models", headers={"Sec-Fetch-Site": site}
        ).status_code
    assert status == (403 if refused else 200)
