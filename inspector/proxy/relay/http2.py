"""A provider that speaks HTTP/2, through httpx2: as over HTTP/1.1, each client's connection has one of its own.

So a client that goes takes its stream with it, whatever state that is in: httpx2 would leave it open, unread, and the
model at work. The client's side stays HTTP/1.1: headers of a connection stop here (RFC 9110, section 7.6.1), bodies
pass as they are.
"""

import ssl
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from inspector.proxy.record.recorder import ExchangeLog
from inspector.proxy.record.records import Ended, Pairs
from inspector.proxy.relay.early_answer import Admission
from inspector.proxy.relay.http1 import NoAnswer
from inspector.proxy.relay.http_syntax import HeaderBlock, Http1Request
from inspector.proxy.relay.link import TcpLink
from inspector.proxy.relay.refusals import start
from inspector.proxy.relay.upload import Upload

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

    def request(self, request: Http1Request, target: str, upload: Upload, admitted: Admission | None) -> httpx2.Request:
        dropped = set(admitted.without()) if admitted is not None else set()
        stop = _STOP_HERE | {"host"} | set(request.head.tokens("connection")) | dropped
        headers = [(name, value) for name, value in request.head.pairs if name.lower() not in stop]
        headers += admitted.more() if admitted is not None else ()
        content: bytes | AsyncIterator[bytes] | None = None
        if admitted is not None:
            content = admitted.plain_body()
        elif not upload.is_done:
            content = _pieces(upload)
        extensions: dict[str, Any] = {"target": target.encode("latin-1"), "timeout": {}}
        return httpx2.Request(request.method, self._url, headers=headers, content=content, extensions=extensions)

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, when its head is here. Raises NoAnswer."""
        try:
            answer = await self._transport.handle_async_request(request)
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            raise NoAnswer(_reason(error)) from None
        self.is_new = False
        return answer


async def _pieces(upload: Upload) -> AsyncIterator[bytes]:
    while not upload.is_done:
        if not await upload.read():
            return  # the client has gone: the stream is cancelled with it
        yield upload.carried()


class Http2Exchange:
    """One request and its answer, over HTTP/2. Must run in a task of its own: it is cancelled when the client goes."""

    def __init__(
        self, connection: Http2, request: Http1Request, log: ExchangeLog, upload: Upload, down: TcpLink
    ) -> None:
        self._connection, self._request, self._log = connection, request, log
        self._upload, self._down = upload, down

    async def go(self, target: str, admitted: Admission | None) -> bool:
        """True where another request may follow. Raises NoAnswer."""
        if admitted is None and "100-continue" in self._request.head.tokens("expect") and not self._upload.has_unread():
            self._down.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request = self._connection.request(self._request, target, self._upload, admitted)
        self._log.handed_on()
        response = await self._connection.send(request)
        try:
            headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw)
            self._log.answered(response.status_code, headers)
            if admitted is not None and admitted.pending.begun:
                return await self._splice(response, headers, admitted)
            return await self._relay(response, headers)
        finally:
            await response.aclose()

    async def _relay(self, response: httpx2.Response, headers: Pairs) -> bool:
        down, log = self._down, self._log
        kept, has_chunks, persists = self._head(response.status_code, headers)
        length = HeaderBlock(b"", (), headers, "1.1").first("content-length")
        down.write(start(response.status_code, kept))
        try:
            async for data in response.aiter_raw():
                if not data:
                    continue
                log.down.add(data)
                down.write(b"%x\r\n%b\r\n" % (len(data), data) if has_chunks else data)
                if str(log.down.size) == length:  # the client may go now, before the provider says that it is done
                    log.finish("complete")
                await down.drain()
        except (httpx2.HTTPError, OSError) as error:
            return self._cut(error)
        down.write(b"0\r\n\r\n" if has_chunks else b"")
        log.finish("complete")
        return persists

    def _head(self, status: int, headers: Pairs) -> tuple[list[tuple[str, str]], bool, bool]:
        """Headers for the client, whether the body comes in chunks, whether the connection goes on."""
        kept = [(name, value) for name, value in headers if name.lower() not in _STOP_HERE]
        is_bare = self._request.method == "HEAD" or status in (204, 304)
        is_sized = is_bare or any(name.lower() == "content-length" for name, _ in kept)
        has_chunks = not is_sized and self._request.head.version == "1.1"
        persists = self._request.head.persists and self._upload.is_done and (is_sized or has_chunks)
        kept += [("transfer-encoding", "chunked")] if has_chunks else []
        kept += [] if persists else [("connection", "close")]
        return kept, has_chunks, persists

    async def _splice(self, response: httpx2.Response, headers: Pairs, admitted: Admission) -> bool:
        """After an answer that was begun early."""
        pending, status = admitted.pending, response.status_code
        encoding = HeaderBlock(b"", (), headers, "1.1").first("content-encoding")
        try:
            await pending.follow(status, encoding, response.aiter_raw())
        except (httpx2.HTTPError, OSError) as error:
            return self._cut(error)
        if status < 400:
            pending.end()
        self._log.finish("complete")
        return pending.persists

    def _cut(self, error: Exception) -> bool:
        """As a cut: no good end where there was none."""
        ended: Ended = "client closed" if self._down.gone else "upstream closed"
        self._log.finish(ended, f"The provider closed in the middle ({_reason(error)}).")
        return False


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).rstrip(".")
