"""A provider that speaks HTTP/2, through httpx2: as over HTTP/1.1, each client's connection has one of its own.

So a client that goes takes its stream with it, whatever state that is in: httpx2 would leave it open, unread, and the
model at work. The client's side stays HTTP/1.1: headers of a connection stop here (RFC 9110, section 7.6.1), bodies
pass as they are.
"""

import ssl
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from inspector.proxy.record.records import Ended, Pairs
from inspector.proxy.relay.http1 import NoAnswer
from inspector.proxy.relay.http_syntax import HeaderBlock
from inspector.proxy.relay.refusals import start
from inspector.proxy.relay.request import AdmittedRequest, ClientRequest

_STOP_HERE = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "trailer", "expect")
)
KEPT_S = 45.0
"""Seconds after which an unused connection is not trusted any more: nobody reads it, so nobody sees it end."""


class Http2:
    """One connection to a provider, made when first used. `url` is its scheme and authority."""

    def __init__(self, url: str, context: ssl.SSLContext) -> None:
        self._url = url
        self.is_new = True
        """Has it not been used yet?"""
        limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEPT_S)
        self._transport = httpx2.AsyncHTTPTransport(verify=context, trust_env=False, http2=True, limits=limits)

    async def close(self) -> None:
        """End the connection, and what is under way on it."""
        await self._transport.aclose()

    async def pass_on(self, client: ClientRequest, target: str) -> bool:
        """One request and its answer; True where another may follow. Raises NoAnswer.

        Must run in a task of its own: it is cancelled when the client goes.
        """
        if client.admitted is None:
            client.go_on()
        request = self._request(client, target)
        client.log.handed_on()
        try:
            response = await self._transport.handle_async_request(request)
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            raise NoAnswer(_reason(error)) from None
        self.is_new = False
        try:
            headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw)
            client.log.answered(response.status_code, headers)
            if client.admitted is not None and client.admitted.begun:
                return await _splice(client, client.admitted, response, headers)
            return await _relay(client, response, headers)
        finally:
            await response.aclose()

    def _request(self, client: ClientRequest, target: str) -> httpx2.Request:
        admitted, syntax = client.admitted, client.syntax
        stop = _STOP_HERE | {"host"} | set(syntax.tokens("connection"))
        stop |= set(admitted.without()) if admitted is not None else set()
        headers = [(name, value) for name, value in syntax.pairs if name.lower() not in stop]
        content: bytes | AsyncIterator[bytes] | None = None
        if admitted is not None:
            headers += admitted.more()
            content = (admitted.raw or None) if admitted.changed is None else admitted.changed
        elif not client.is_done:
            content = _pieces(client)
        extensions: dict[str, Any] = {"target": target.encode("latin-1"), "timeout": {}}
        return httpx2.Request(syntax.method, self._url, headers=headers, content=content, extensions=extensions)


async def _pieces(client: ClientRequest) -> AsyncIterator[bytes]:
    while not client.is_done:
        if not await client.read():
            return  # the client has gone: the stream is cancelled with it
        yield client.carried()


async def _relay(client: ClientRequest, response: httpx2.Response, headers: Pairs) -> bool:
    down, log = client.link, client.log
    kept, has_chunks, is_bare, persists = _head(client, response.status_code, headers)
    length = HeaderBlock(headers, "1.1").first("content-length")
    last = start(response.status_code, kept)
    if not is_bare and length != "0":
        down.write(last)
        last = b"0\r\n\r\n" if has_chunks else b""
    try:
        async for data in response.aiter_raw():
            if not data:
                continue
            log.down.add(data)
            if str(log.down.size) == length:  # the client may go then, before the provider says that it is done
                log.finish("complete")
                await client.write_last(data)
            else:
                down.write(b"%x\r\n%b\r\n" % (len(data), data) if has_chunks else data)
                await down.drain()
    except (httpx2.HTTPError, OSError) as error:
        return _cut(client, error)
    log.finish("complete")
    await client.write_last(last)
    return persists


def _head(client: ClientRequest, status: int, headers: Pairs) -> tuple[list[tuple[str, str]], bool, bool, bool]:
    """Headers for the client; whether the body comes in chunks, there is none, the connection can be used again."""
    kept = [(name, value) for name, value in headers if name.lower() not in _STOP_HERE]
    is_bare = client.syntax.method == "HEAD" or status in (204, 304)
    is_sized = is_bare or any(name.lower() == "content-length" for name, _ in kept)
    has_chunks = not is_sized and client.syntax.version == "1.1"
    persists = client.syntax.persists and client.is_done and (is_sized or has_chunks)
    kept += [("transfer-encoding", "chunked")] if has_chunks else []
    kept += [] if persists else [("connection", "close")]
    return kept, has_chunks, is_bare, persists


async def _splice(client: ClientRequest, pending: AdmittedRequest, response: httpx2.Response, headers: Pairs) -> bool:
    """After an answer that was begun early."""
    status, encoding = response.status_code, HeaderBlock(headers, "1.1").first("content-encoding")
    try:
        await pending.follow(status, encoding, response.aiter_raw())
    except (httpx2.HTTPError, OSError) as error:
        return _cut(client, error)
    client.log.finish("complete")
    await client.write_last(pending.end_mark())
    return pending.persists


def _cut(client: ClientRequest, error: Exception) -> bool:
    """As a cut: no good end where there was none."""
    ended: Ended = "client closed" if client.link.gone else "upstream closed"
    client.log.finish(ended, f"The provider closed in the middle ({_reason(error)}).")
    return False


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).rstrip(".")
